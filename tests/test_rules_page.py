"""docs/rules.md: the catalogue as a page, read back by a Markdown parser."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from every_case import every
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ltocompat.model.version import RULES_URL, rule_url
from ltocompat.rules.catalogue import RULES
from ltocompat.rules.prose import rules_left_out
from ltocompat.rules.rule import Rule

DOCS = Path(__file__).parents[1] / "docs"


def text_of(token: Token) -> str:
    """What a reader sees of a paragraph or a heading."""
    return "".join(child.content for child in token.children or ())


@pytest.fixture(scope="module")
def sections() -> dict[str, list[str]]:
    """Heading of the third level -> the texts below it."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    level = ""
    for token in MarkdownIt("gfm-like", {"linkify": False}).parse((DOCS / "rules.md").read_text()):
        if token.type == "heading_open":
            level = token.tag
        elif token.type == "inline" and level == "h3":
            current = found.setdefault(text_of(token), [])
            level = ""
        elif token.type == "inline":
            current.append(text_of(token))
    return found


def test_the_page_is_current() -> None:
    command = [sys.executable, str(DOCS / "generate_rules.py"), "--check"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")


def test_the_page_has_each_rule_once_in_the_order_of_the_catalogue(
    sections: dict[str, list[str]],
) -> None:
    built, left_out = [rule.id for rule in RULES], [rule.id for rule in rules_left_out()]
    assert list(sections) == built + left_out
    assert (DOCS / "rules.md").read_text().count("\n### ") == len(sections)


@every("rule", RULES)
def test_a_reader_sees_what_a_rule_says_letter_by_letter(
    sections: dict[str, list[str]], rule: Rule
) -> None:
    texts = sections[rule.id]
    assert texts[0] == f"{rule.title}. {rule.statement}"
    assert f"When: {rule.condition}" in texts
    assert f"Remedy: {rule.remedy}" in texts
    assert f"Source: {rule.source}" in texts
    assert set(rule.messages) <= set(texts)


@every("rule", RULES)
def test_the_address_of_a_rule_leads_to_its_heading(rule: Rule) -> None:
    # GitHub's anchor of a heading: lower case, without what is neither letter, digit nor hyphen.
    anchor = re.sub(r"[^a-z0-9-]", "", rule.id.lower())
    assert RULES_URL.endswith("docs/rules.md#")
    assert rule_url(rule.id) == RULES_URL + anchor
