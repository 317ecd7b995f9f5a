"""The site's own search: an index of words, and the messages that ``explain`` knows.

Sphinx's search wants every word of a query on one page, which no pasted log has. This one adds up
what words are worth (BM25), and puts the rule of a known message first, by the very table that
``ltocompat explain`` reads. It needs no server: pages load ``_static/search-index.js``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from docutils import nodes
from explain_tables import explain_tables
from sphinx.application import Sphinx

from ltocompat.rules.prose import rule_ids

_WORDS = re.compile(r"[A-Za-z0-9_]+")
_PARTS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")  # of CUDA_ERROR_NO_BINARY and of NoBinaryForGpu
_TITLE = 5  # a word of a title counts as often
_MESSAGE = 3  # and one of a block of messages
_LONGEST_WORD = 60
_SUMMARY = 180  # characters of a page's first paragraph


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", _leave_out_the_other_index)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _leave_out_the_other_index(app: Sphinx) -> None:
    if app.builder.format == "html":
        app.builder.search = False


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        text = json.dumps(index(app), separators=(",", ":"), sort_keys=True)
        path = Path(app.outdir) / "_static" / "search-index.js"
        path.write_text(f"const searchIndex = {text};\n", "utf-8")


def index(app: Sphinx) -> dict[str, Any]:
    """What ``search.js`` reads."""
    rules = {f"rules/{rule_id.lower()}": rule_id for rule_id in rule_ids()}
    pages, postings = [], {}
    for name in sorted(app.env.found_docs):
        doctree = app.env.get_doctree(name)
        counts = _counts(doctree)
        for word, number in counts.items():
            postings.setdefault(word, []).append([len(pages), number])
        pages.append([name, _title(doctree), _summary(doctree), rules.get(name), counts.total()])
    return {"pages": pages, "words": postings, **explain_tables()}


def words_of(text: str) -> list[str]:
    """The words of a text as they stand in the index; ``search.js`` has the same."""
    found = []
    for word in _WORDS.findall(text):
        parts = _PARTS.findall(word)
        # CUDA_ERROR_NO_BINARY_FOR_GPU is NoBinaryForGpu in the bindings of some languages.
        name = "".join(parts).lower().removeprefix("cudaerror")
        found += [name, *parts] if len(parts) > 1 else parts
    return [_stem(word.lower()) for word in found]


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _counts(doctree: nodes.document) -> Counter[str]:
    counts: Counter[str] = Counter()
    for node in doctree.findall(nodes.Text):
        weight = 1
        if isinstance(node.parent, nodes.title):
            weight = _TITLE
        elif isinstance(node.parent, nodes.literal_block):
            weight = _MESSAGE
        for word in words_of(node.astext()):
            if len(word) <= _LONGEST_WORD:
                counts[word] += weight
    return counts


def _title(doctree: nodes.document) -> str:
    title = next(iter(doctree.findall(nodes.title)), None)
    return title.astext() if title is not None else ""


def _summary(doctree: nodes.document) -> str:
    paragraph = next(iter(doctree.findall(nodes.paragraph)), None)
    text = " ".join(paragraph.astext().split()) if paragraph is not None else ""
    return text if len(text) <= _SUMMARY else f"{text[:_SUMMARY].rsplit(' ', 1)[0]} ..."
