"""Parts of the reference that are read out of the program: help texts, schemas, tables of facts."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from html import escape
from importlib import resources
from itertools import takewhile
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from ltocompat.cli import VERBS, run
from ltocompat.facts import table

GROUPS = ("linkers", "survey")
_MOST_ROWS = 70  # of a table that is shown; longer ones are counted


class Verbs(Directive):
    """``{verbs}``: a section a verb, with what its ``--help`` prints."""

    def run(self) -> list[nodes.Node]:
        """The sections, in the order of the help."""
        return [
            _section(name, f"ltocompat {name}", nodes.literal_block("", _help(name)))
            for name in VERBS
        ]


def _help(verb: str) -> str:
    written = io.StringIO()
    with redirect_stdout(written):
        run([verb, "--help" if verb in GROUPS else "--help-all"])
    return written.getvalue().rstrip()


def _section(name: str, title: str, *inside: nodes.Node) -> nodes.section:
    section = nodes.section("", nodes.title("", title), *inside, ids=[name], names=[name])
    for block in section.findall(nodes.literal_block):
        block["language"] = "text"
    return section


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
    """``{facts}``: a section a table of facts, with what its head says and its lists."""

    def run(self) -> list[nodes.Node]:
        """The sections, by name; long lists are counted."""
        folder = resources.files("ltocompat") / "facts"
        files = sorted(
            (file for file in folder.iterdir() if file.name.endswith(".toml")),
            key=lambda file: file.name,
        )
        return [_facts(file.name.removesuffix(".toml"), file.read_text("utf-8")) for file in files]


def _facts(name: str, text: str) -> nodes.section:
    head = takewhile(lambda line: line.startswith("#"), text.splitlines())
    about = " ".join(line.lstrip("# ") for line in head)
    lists = {key: rows for key, rows in table(name).items() if isinstance(rows, list)}
    shown = "\n".join(_table(name, key, rows) for key, rows in lists.items())
    raw = nodes.raw("", shown, format="html")
    return _section(f"facts-{name}", name, nodes.paragraph("", about), raw)


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


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_directive("verbs", Verbs)
    app.add_directive("schemas", Schemas)
    app.add_directive("facts", Facts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
