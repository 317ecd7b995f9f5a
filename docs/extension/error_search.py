"""The site's own search: an index of words, and the messages that ``explain`` knows.

Sphinx's search wants every word of a query on one page, which no pasted log has. This one adds up
what words are worth (BM25), prefers pages that have more of them, and puts the rule of a known
message first, by the very table that ``ltocompat explain`` reads. A rule's page is found as a
whole, any other section by section, so that the answer is in sight. It needs no server: pages load
``_static/search-index.js``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from explain_tables import explain_tables
from sphinx.application import Sphinx

from ltocompat.rules.prose import rule_ids

_WORDS = re.compile(r"[0-9]+(?:\.[0-9]+)+|[A-Za-z0-9_]+")  # a version is one word
_PARTS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")  # of CUDA_ERROR_NO_BINARY and of NoBinaryForGpu
_BRANCH = re.compile(r"R[0-9]{3}")  # of drivers; R535 is found by 535, too
_TITLE = 5  # a word of a title counts as often
_MESSAGE = 3  # and one of a rule's messages
_LONGEST_WORD = 60
_SUMMARY = 180  # characters of a page's first paragraph
_BACKGROUND = re.compile(
    r"CHANGELOG|ARCHITECTURE|survey|embed|found-in-the-wild|limits|reference/(facts|beside)"
)
_WORTH = ((_BACKGROUND, 0.4), (re.compile(r"rules/"), 0.7), (re.compile(""), 1))  # of a page


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
        for address, title, texts in _parts(app.env.get_doctree(name), whole=name in rules):
            counts = _counts(title, texts, of_rule=name in rules)
            for word, number in counts.items():
                postings.setdefault(word, []).append([len(pages), number])
            summary = _summary(texts)
            worth = next(number for pages, number in _WORTH if pages.match(name))
            page = [f"{name}.html{address}", title, summary, rules.get(name), counts.total(), worth]
            pages.append(page)
    return {"pages": pages, "words": postings, **explain_tables()}


def _parts(doctree: nodes.document, *, whole: bool) -> Iterator[tuple[str, str, list[nodes.Text]]]:
    """The address in the page, the title and the texts of what the search finds."""
    texts: dict[nodes.Node, list[nodes.Text]] = {}
    for text in doctree.findall(nodes.Text):
        sections, node = list[nodes.Node](), text.parent
        while node is not None:
            sections += [node] if isinstance(node, nodes.section) else []
            node = node.parent
        if sections:
            texts.setdefault(sections[-1 if whole or len(sections) < 2 else -2], []).append(text)
    page = _title(doctree)
    for section, found in texts.items():
        title = _title(section)
        top = title == page
        yield ("", page, found) if top else (f"#{section['ids'][0]}", f"{title} - {page}", found)


def words_of(text: str) -> list[str]:
    """The words of a text as they stand in the index; ``search.js`` has the same."""
    found = []
    for word in _WORDS.findall(text):
        if "." in word:
            found.append(word)
            continue
        parts = _PARTS.findall(word)
        # CUDA_ERROR_NO_BINARY_FOR_GPU is NoBinaryForGpu in the bindings of some languages.
        name = "".join(parts).lower().removeprefix("cudaerror")
        found += [name, *parts] if len(parts) > 1 else parts
        found += [word[1:]] if _BRANCH.fullmatch(word) else []
    return [_stem(word.lower()) for word in found]


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _counts(title: str, texts: list[nodes.Text], *, of_rule: bool) -> Counter[str]:
    """What the words of a part count; the headings inside are alike on many pages."""
    counts = Counter(words_of(title))
    for node in texts:
        weight = 1
        if isinstance(node.parent, nodes.title) and node in title:
            weight = _TITLE
        elif of_rule and isinstance(node.parent, nodes.literal_block):
            weight = _MESSAGE
        for word in words_of(node.astext()):
            if len(word) <= _LONGEST_WORD:
                counts[word] += weight
    return counts


def _title(node: nodes.Element) -> str:
    title = next(iter(node.findall(nodes.title)), None)
    return title.astext() if title is not None else ""


def _summary(texts: list[nodes.Text]) -> str:
    """The first paragraph that stands in no table."""
    for text in texts:
        node = text.parent
        while node is not None and not isinstance(node, nodes.paragraph):
            node = node.parent
        if node is not None and not isinstance(node.parent, nodes.entry):
            words = " ".join(node.astext().split())
            return words if len(words) <= _SUMMARY else f"{words[:_SUMMARY].rsplit(' ', 1)[0]} ..."
    return ""
