"""Alternatives of a pattern that a text rules out change nothing of what the pattern finds."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from ltocompat.rules.literals import likely_in, literals, places, small

ATOMS = (
    "a",
    "b",
    "ab",
    "abc",
    r"\.",
    r"\\",
    r"\b",
    r"\d",
    ".",
    "[ab]",
    "[^]a]",
    r"[\]b]",
    "1",
    "^",
    "$",
)
REPEATS = ("", "", "", "?", "*", "+", "{0,2}", "{,2}", "{1,2}", "{2}", "??", "+?", "{1,2}?")
GROUPS = ("(", "(?:", "(?=", "(?!", "(?<=a|", "(?<!a|", "(?i:", "(?-i:", "(?P<name>")


def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(st.lists(parts, max_size=4).map("".join), min_size=1, max_size=3).map("|".join)


def repeated(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(part, st.sampled_from(REPEATS)).map("".join)


def grouped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.tuples(st.sampled_from(GROUPS), joined(inner)).map(lambda part: f"{''.join(part)})")
    return repeated(group) | inner


PATTERNS = joined(st.recursive(repeated(st.sampled_from(ATOMS)), grouped, max_leaves=6))


def is_pattern(text: str) -> bool:
    try:
        re.compile(text, re.ASCII)
    except re.error:  # a name twice, a look behind of any width
        return False
    return True


@given(
    st.tuples(st.sampled_from(("", "(?i)")), PATTERNS).map("".join).filter(is_pattern),
    st.text("aAbBc1.\\", max_size=8),
)
def test_a_pattern_finds_the_same_without_them(pattern: str, text: str) -> None:
    found = [*re.finditer(pattern, text, re.ASCII)]
    assert [match.span() for match in places(pattern, text)] == [match.span() for match in found]
    assert not found or any(string in small(text) for string in literals(pattern))


def test_a_text_without_the_words_of_any_alternative_is_not_searched() -> None:
    assert likely_in("all is well", "(?:cannot|can't) open|version \\d+") is None
    assert likely_in("It CANNOT open x", "(?:cannot|can't) open|version \\d+") is not None
