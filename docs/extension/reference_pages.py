"""Parts of the reference that are read out of the program: help texts, schemas, tables of facts."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from html import escape
from importlib import resources
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from ltocompat.cli import run
from ltocompat.facts import table

_MOST_ROWS = 70  # of a table that is shown; longer ones are counted


class VerbHelp(Directive):
    """``{verb-help} check``: what ``ltocompat check --help`` prints."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The text as a block."""
        written = io.StringIO()
        with redirect_stdout(written):
            run([self.arguments[0], "--help"])
        return [nodes.literal_block("", written.getvalue().rstrip(), language="text")]


class Schemas(Directive):
    """``{schemas}``: the published JSON Schemas, each with what it describes."""

    def run(self) -> list[nodes.Node]:
        """A list of links to the files, which lie beside the style of the site."""
        return [nodes.raw("", "\n".join(self._items()), format="html")]

    def _items(self) -> Iterator[str]:
        root = "../" * self.state.document.settings.env.docname.count("/")
        yield "<ul>"
        folder = resources.files("ltocompat.report") / "schemas"
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            about = json.loads(file.read_text("utf-8")).get("description", "")
            name = escape(file.name)
            yield f'<li><a href="{root}_static/{name}">{name}</a>: {escape(about)}</li>'
        yield "</ul>"


class Facts(Directive):
    """``{facts} drivers``: every list of a table of facts."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The lists as tables; long ones are counted."""
        name = self.arguments[0]
        lists = {key: rows for key, rows in table(name).items() if isinstance(rows, list)}
        text = "\n".join(_table(name, key, rows) for key, rows in lists.items())
        return [nodes.raw("", text, format="html")]


def _table(name: str, key: str, rows: list[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    title = f"<p><strong>{escape(key)}</strong>, {len(rows)} rows: {escape(', '.join(columns))}</p>"
    if len(rows) > _MOST_ROWS:
        return title
    heads = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    lines = "".join(
        "<tr>"
        + "".join(f"<td>{escape(_text(row.get(column, '')))}</td>" for column in columns)
        + "</tr>"
        for row in rows
    )
    label = f"{escape(name)}, {escape(key)}"
    return (
        f'{title}<div class="grid facts" role="region" aria-label="{label}" tabindex="0"><table>'
        f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def tables_of_facts() -> tuple[str, ...]:
    """The names of all tables of facts."""
    files = (resources.files("ltocompat") / "facts").iterdir()
    return tuple(
        sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_directive("verb-help", VerbHelp)
    app.add_directive("schemas", Schemas)
    app.add_directive("facts", Facts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
