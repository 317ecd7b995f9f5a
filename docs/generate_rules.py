"""Write docs/rules.md out of the catalogue: python docs/generate_rules.py [--check]."""  # noqa: INP001 - a script

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from generated_page import write_or_check

from ltocompat.rules.catalogue import FAMILIES
from ltocompat.rules.prose import rules_left_out
from ltocompat.rules.rule import Rule

PAGE = Path(__file__).with_name("rules.md")
_INTRODUCTION = """\
# Rules

What ltocompat judges by. `ltocompat explain ID` prints the same, and `ltocompat explain TEXT` finds
the rules behind an error message.

This page is written by `python docs/generate_rules.py` out of `ltocompat/rules/catalogue`; a change
belongs there.
"""
_LEFT_OUT = """\
## Not built

Rules that would say nothing new, or that no file shows.
"""
# Within a word, Markdown takes an underscore as it is.
_SPECIAL = re.compile(r"([\\`*<>\[\]$~|]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")


def page() -> str:
    """The whole page."""
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    yield _INTRODUCTION
    for family in FAMILIES:
        yield f"## {_heading(family.name)}\n"
        for rule in family.rules:
            yield "\n\n".join(_paragraphs(rule)) + "\n"
    yield _LEFT_OUT
    for left_out in rules_left_out():
        yield f"### {left_out.id}\n\n**{_plain(left_out.title)}.** {_plain(left_out.why)}\n"


def _heading(family: str) -> str:
    """The first line of the family's module, which says what its rules are about."""
    module = importlib.import_module(f"ltocompat.rules.catalogue.{family}")
    first, *_ = (module.__doc__ or family).splitlines()
    return _plain(first.rstrip("."))


def _paragraphs(rule: Rule) -> Iterator[str]:
    yield f"### {rule.id}"
    yield f"**{_plain(rule.title)}.** {_plain(rule.statement)}"
    yield "\n".join(
        f"* {name}: {_plain(text)}"
        for name, text in (
            ("When", rule.condition),
            ("Verdict", rule.verdict),
            ("Level", str(rule.level)),
            ("Evidence", rule.evidence),
            ("Remedy", rule.remedy),
            ("Source", rule.source),
        )
    )
    if rule.messages:
        yield "Messages:"
        yield "\n".join(f"* {_code(message)}" for message in rule.messages)


def _plain(text: str) -> str:
    """A text without Markdown of its own."""
    return _SPECIAL.sub(r"\\\1", text)


def _code(text: str) -> str:
    """A text between more backticks than it has in a row."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    inner = f" {text} " if text.startswith("`") or text.endswith("`") else text
    return f"{fence}{inner}{fence}"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page(), __doc__))
