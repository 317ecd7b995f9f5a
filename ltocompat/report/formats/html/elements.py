"""Elements of an HTML page: everything that comes from a file passes ``escaped`` on its way."""

from __future__ import annotations

import html
from collections.abc import Sequence

from msgspec import Struct

from ltocompat.model.location import Location
from ltocompat.model.verdict import Level, Verdict
from ltocompat.report.document import SHAPES
from ltocompat.report.text import safe_text


def escaped(text: object) -> str:
    """A text that may hold anything, as HTML; also good inside of a quoted attribute."""
    return html.escape(safe_text(str(text)))


def code(text: object) -> str:
    """A place, a path or a version."""
    return f"<code>{escaped(text)}</code>"


def badge(word: Verdict | Level, more: str = "") -> str:
    """A verdict or a level: its shape and its word.

    Args:
        word: the verdict or level.
        more: HTML behind the word.
    """
    behind = f" {more}" if more else ""
    shape = f'<use href="#s-{word}"/>'  # for eyes alone
    icon = f'<svg class="icon" viewBox="-8 -8 16 16" aria-hidden="true">{shape}</svg>'
    return f'<span class="badge is-{word}">{icon}<span>{word}</span>{behind}</span>'


def forgiven(why: str) -> str:
    """Behind a badge: that it does not count, and why."""
    return f"<small>({why})</small>" if why else ""


def sprite() -> str:
    """All shapes, for ``badge`` to refer to."""
    symbols = "".join(f'<path id="s-{name}" d="{path}"/>' for name, path in SHAPES.items())
    return f'<svg class="sprite" aria-hidden="true"><defs>{symbols}</defs></svg>'


def shorten(text: str, path: str) -> str:
    """A sentence without the path of the artifact that it is about, wherever members follow."""
    return text.replace(f"{Location(path)}::", "")


class Section(Struct, frozen=True):
    """A landmark with a heading.

    Attributes:
        id: of its element.
        title: its heading, HTML.
        parts: what stands in it, HTML.
        word: for it in the list of sections, HTML; empty for the title.
    """

    id: str
    title: str
    parts: Sequence[str]
    word: str = ""

    @property
    def link(self) -> str:
        """Its line in the list of sections."""
        return f'<li><a href="#{self.id}">{self.word or self.title}</a></li>'

    def __str__(self) -> str:
        inner = "\n".join(self.parts)
        return (
            f'<section id="{self.id}" aria-labelledby="{self.id}-title">\n'
            f'<h2 id="{self.id}-title">{self.title}</h2>\n{inner}\n</section>\n'
        )


def table(kind: str, head: str, body: str, caption: str = "") -> str:
    """A table of rows that are HTML; its caption is heard, and not seen."""
    about = f'<caption class="unseen">{caption}</caption>' if caption else ""
    return f'<table class="{kind}">{about}<thead>{head}</thead><tbody>{body}</tbody></table>'


def scrolling(label: str, table: str) -> str:
    """A table that may be wider than the page; the keyboard reaches it to scroll."""
    about = f'role="region" tabindex="0" aria-label="{escaped(label)}"'
    return f'<div class="scroll" {about}>{table}</div>'
