"""Fixed strings of regular expressions: a pattern is neither compiled nor tried without them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
_TOKEN = re.compile(r"\\u\w{4}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?(?:<?[=!]|:|P<\w+>)|\{[\d,]+\}|.")
_ANY = frozenset({""})


@functools.cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern whose classes of letters are those of ASCII."""
    return re.compile(pattern, re.ASCII)


def places(pattern: str, text: str) -> Iterator[re.Match[str]]:
    """Return the matches of a pattern in a text."""
    known = any(map(text.__contains__, literals(pattern)))
    return compiled(pattern).finditer(text) if known else iter(())


class Index(Generic[T]):
    """Fixed strings, and who looks at a text that has one of them."""

    def __init__(self, users: Iterable[tuple[str, T]]) -> None:
        self._known: dict[str, list[tuple[str, T]]] = {}
        for string, user in users:
            first = string[:3] if len(string) > 2 else ""
            self._known.setdefault(first, []).append((string, user))

    def users(self, text: str) -> set[T]:
        """Return the users of all strings that are in a text."""
        threes = {"", *map("".join, zip(text, text[1:], text[2:], strict=False))}
        return {
            user
            for three in self._known.keys() & threes
            for string, user in self._known[three]
            if string in text
        }


@functools.cache
def literals(pattern: str) -> frozenset[str]:
    """Return strings of which each match of a pattern has one: the empty one where any will do."""
    return _ANY if "(?i" in pattern else _of_group(_TOKEN.findall(pattern)[::-1])


def _of_group(tokens: list[str]) -> frozenset[str]:
    """Take the alternatives of a group from its tokens, of which the first stands last."""
    found = _of_sequence(tokens)
    while tokens and tokens.pop() == "|":
        found |= _of_sequence(tokens)
    return found


def _of_sequence(tokens: list[str]) -> frozenset[str]:
    best, run = _ANY, ""
    while tokens and tokens[-1] not in "|)":
        token = tokens.pop()
        letter = token[-1] if re.fullmatch(r"[^\\.^$[(]|\\[^\w\s]", token) else ""
        strings = _of_group(tokens) if token[0] == "(" else _ANY
        repeat = tokens.pop() if tokens and tokens[-1][0] in "*+?{" else ""
        if repeat[:1] in ("*", "?") or repeat.startswith("{0"):
            letter, strings = "", _ANY
        if repeat and tokens and tokens[-1] == "?":  # as few as can be
            tokens.pop()
        run += letter
        if repeat or not letter:
            strings = _ANY if token.endswith("!") else strings
            best, run = max(best, strings, frozenset({run}), key=_worth), ""
    return max(best, frozenset({run}), key=_worth)


def _worth(strings: frozenset[str]) -> tuple[int, int]:
    """Long strings are rare, and few are fast."""
    return min(3, *map(len, strings)), -len(strings)
