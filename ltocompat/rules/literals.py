"""Fixed strings of regular expressions, without which an alternative is neither compiled nor tried.

An alternative whose fixed strings are not all in a text has no match there, and the others match
as they do beside it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from ltocompat.model.generic import grouped

_Strings = tuple[str, ...]
_FIXED = r"(?:[^\\.^$*+?{()|\[]|\\[^\w\s])"
_REPEATED = r"(?:[*+?]|\{[\d,]+\})\??"
# What has no fixed string, then a fixed string, the beginning of a group, or an alternative's end.
_TOKEN = re.compile(
    rf"(?:(?:\\u\w{{4}}|\\x\w\w|\\\w|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P=\w+\)|[.^$]"
    rf"|{_FIXED}(?=[*+?{{]))(?:{_REPEATED})?)*+"
    rf"({_FIXED}+(?![*+?{{])|\((?:\?(?:<?[=!]|-?\w*:|P<\w+>))?|\||\)(?:{_REPEATED})?|\Z)"
)
_ESCAPED = re.compile(r"\\(.)")
_OPTIONAL = re.compile(r"\)[*?]|\)\{[0,]")
_ANY = ("",)


@functools.lru_cache(maxsize=4)
def small(text: str) -> str:
    """Return a text in lower case with the same length."""
    return text.replace("İ", "I").lower()  # whose small letter is two


@functools.cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern whose character classes are ASCII only."""
    return re.compile(pattern, re.ASCII)


def places(pattern: str, text: str, *part: int) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern in a text or a part of it."""
    likely = likely_in(text, pattern)
    return likely.finditer(text, *part) if likely else iter(())


@functools.lru_cache(maxsize=512)
def likely_in(text: str, pattern: str) -> re.Pattern[str] | None:
    """Return the alternatives of a pattern whose fixed strings are in a text; None without any."""
    flag, alternatives = _parted(pattern)
    letters, found = small(text), []
    for alternative, needs in alternatives:
        for strings in needs:
            for string in strings:
                if string in letters:
                    break
            else:
                break
        else:
            found.append(alternative)
    return compiled(flag + "|".join(found)) if found else None


def literals(pattern: str) -> Iterator[str]:
    """Yield lower-case strings of which each match of a pattern has one; the empty one: any."""
    return chain.from_iterable(_rarest(needs) for _, needs in _parted(pattern)[1])


class Index:
    """Fixed strings, each with the numbers of the rows that need it."""

    def __init__(self, strings: Iterable[Iterable[str]]) -> None:
        edges = ((s.lower() if s[2:] else "", s, of) for of, own in enumerate(strings) for s in own)
        self._known = grouped((low[:3], (low[-3:], s, of)) for low, s, of in edges)

    def numbers(self, text: str) -> set[int]:
        """Return the numbers of all strings that are in a text."""
        threes = _threes(small(text))
        return {
            number
            for begin in self._known.keys() & threes
            for end, string, number in self._known[begin]
            if end in threes and string in text
        }


@functools.lru_cache(maxsize=2)
def _threes(text: str) -> set[str]:
    """Every three letters of a text, and none."""
    return {"", *map("".join, zip(text, text[1:], text[2:], strict=False))}


@functools.cache
def _parted(pattern: str) -> tuple[str, list[tuple[str, list[_Strings]]]]:
    """The flag before a pattern, and its alternatives, each with what it needs."""
    flag = "(?i)" if pattern.startswith("(?i)") else ""
    tokens = _TOKEN.finditer(pattern, len(flag))
    found, begin, bar = [], len(flag), "|"
    while bar:
        needs, end = _needs(tokens)
        found.append((pattern[begin : end.start(1)], needs))
        begin, bar = end.end(), end[1]
    return flag, found


def _needs(tokens: Iterator[re.Match[str]]) -> tuple[list[_Strings], re.Match[str]]:
    """Strings, one of each tuple of which an alternative has, and its end."""
    found: list[_Strings] = []
    while (text := (token := next(tokens))[1])[:1] not in "|)":
        strings: _Strings = (_ESCAPED.sub(r"\1", text).lower(),)
        if text[0] == "(":
            strings, end = (), "|"
            while end == "|":
                needs, closing = _needs(tokens)
                strings += _rarest(needs)
                end = closing[1]
            if text[-1] == "!" or _OPTIONAL.match(end):
                strings = _ANY
        if "" not in strings:
            found.append(strings)
    return found, token


def _rarest(needs: list[_Strings]) -> _Strings:
    """The strings that a text is least likely to have: long ones are rare, and few are fast."""
    return max([*needs] or [_ANY], key=lambda strings: (min(6, *map(len, strings)), -len(strings)))
