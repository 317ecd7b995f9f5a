"""The frame of an HTML page that needs nothing else: no network, no server, no script to be read.

Pages are made of the templates in this folder. Every value that stands in one passes ``_escaped``;
a policy in the page forbids all that it does not bring itself, so that even a name that slipped
through could load and run nothing.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
from collections.abc import Sequence
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup
from msgspec import Struct

from ltocompat.model.version import VERSION, rule_url
from ltocompat.model.words import count
from ltocompat.report.document import SHAPES
from ltocompat.report.text import binary_size, safe_text, span


class Section(Struct, frozen=True):
    """A landmark with a heading.

    Attributes:
        id: the ID of its element.
        title: its heading.
        template: the template file of its contents.
        word: its name in the list of sections; empty for the title.
    """

    id: str
    title: str
    template: str
    word: str = ""


def rendered(
    sections: Sequence[Section], styles: Sequence[str], script: str, **values: object
) -> str:
    """Make a page.

    Args:
        sections: the sections of the page.
        styles: style sheets next to this file.
        script: an optional script that makes it easier to use.
        values: the values for the templates: ``title``, the heading; ``tab``, the text of a tab or
            bookmark; ``lede``, the template of the answer in one line; and all values of sections.
    """
    style, program = "".join(map(_asset, styles)), _asset(script)
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(program)}; "
        "base-uri 'none'; form-action 'none'"
    )
    page = environment().get_template("page.html")
    return page.render(sections=sections, style=style, script=program, policy=policy, **values)


@functools.cache
def environment() -> Environment:
    """Return the environment that reads templates of pages and pictures."""
    made = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        finalize=_escaped,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    made.filters["thousands"] = "{:,}".format
    made.filters["breakable"] = lambda name: _escaped(name).replace("_", Markup("_<wbr>"))
    made.globals |= {
        "binary_size": binary_size,
        "count": count,
        "rule_url": rule_url,
        "shapes": SHAPES,
        # A sentence without the path of the artifact that it is about, wherever members follow.
        "shorten": lambda text, path: text.replace(f"{path}::", ""),
        "span": span,
        "version": VERSION,
    }
    return made


def _escaped(value: object) -> Markup:
    """A value that may hold anything, as HTML; also good inside of a quoted attribute."""
    return value if isinstance(value, Markup) else Markup(html.escape(safe_text(str(value))))  # noqa: S704


def _asset(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")


def _template(name: str) -> str:
    """A template, whose lines are joined; those of frames and pictures stay lines."""
    text = _asset(name)
    whole = name in ("page.html", "matrix.svg")
    return text if whole else "".join(map(str.strip, text.splitlines()))


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
