"""Elements of an HTML page: everything that comes from a file passes ``escaped`` on its way."""

from __future__ import annotations

import html
from collections.abc import Iterable

from ltocompat.model.place import Place
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
    return text.replace(f"{Place(path)}::", "")


def section(name: str, title: str, parts: Iterable[str]) -> str:
    """A landmark with a heading."""
    inner = "\n".join(parts)
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{title}</h2>\n{inner}\n</section>'
    )


def table(kind: str, head: str, body: str, caption: str = "") -> str:
    """A table of rows that are HTML; its caption is heard, and not seen."""
    about = f'<caption class="unseen">{caption}</caption>' if caption else ""
    return f'<table class="{kind}">{about}<thead>{head}</thead><tbody>{body}</tbody></table>'


def scrolling(label: str, table: str) -> str:
    """A table that may be wider than the page; the keyboard reaches it to scroll."""
    about = f'role="region" tabindex="0" aria-label="{escaped(label)}"'
    return f'<div class="scroll" {about}>{table}</div>'
