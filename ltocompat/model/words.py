"""Numbers and lists of names as every message writes them."""

from __future__ import annotations

from collections.abc import Sequence


def count(number: int, noun: str) -> str:
    """``1 image``, ``6,374 images``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def first_of(names: Sequence[str], most: int, *, link: str = "and") -> str:
    """The first of some names, and how many more there are: ``f, g and 4 more``.

    Args:
        names: in the order in which they are shown.
        most: how many of them are shown.
        link: the word before the number.
    """
    shown, rest = ", ".join(names[:most]), len(names) - most
    return f"{shown} {link} {rest:,} more" if rest > 0 else shown
