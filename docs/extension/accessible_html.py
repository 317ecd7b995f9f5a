"""What the theme leaves out for keyboards, screen readers and phones, put into every page."""

from __future__ import annotations

import re
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

# A browser would break a line behind the dashes of an option.
_CODE = re.compile(r'<pre[^>]*>.*?</pre>|<span class="pre">[^<]*</span>', re.DOTALL)
_OPTION = re.compile(r"(?<=[\s>(\[])--[a-z][a-z-]*")


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
        text = _CODE.sub(_options_kept_whole, text)
        page.write_text(text, "utf-8")


def _options_kept_whole(code: re.Match[str]) -> str:
    return _OPTION.sub(r'<span class="long-option">\g<0></span>', code[0])
