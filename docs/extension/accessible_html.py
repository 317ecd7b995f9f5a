"""What the theme leaves out for keyboards and screen readers, put into every page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

_REPLACED = {
    # What scrolls sideways can be reached by keyboard.
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper colwidths-auto docutils container">': (
        '<div class="table-wrapper colwidths-auto docutils container" tabindex="0">'
    ),
    # Landmarks have names, headings a level.
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Site">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="This page">',
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
}


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("build-finished", _amend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _amend(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text("utf-8")
        for old, new in _REPLACED.items():
            text = text.replace(old, new)
        page.write_text(text, "utf-8")
