"""Comparisons of versions: ``>=12.4,<13`` -> clauses that admit a version or don't.

A partial version is the set of its releases, so versions are compared in as many numbers as are
written: ``>12.4`` leaves out 12.4.127 (pip would let it in), ``<=550`` lets in 550.54.15.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from ltocompat.model.errors import UsageError

Numbers = tuple[int, ...]

_NUMBERS = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6}){0,3}")
_CLAUSE = re.compile(rf"(>=|<=|==|~=|!=|>|<)\s*({_NUMBERS.pattern})(\.\*)?")
COMPARE: Mapping[str, Callable[[Numbers, Numbers], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


def read_numbers(text: str) -> Numbers | None:
    """``550.54.15`` -> (550, 54, 15); None if ``text`` is not a version."""
    text = text.strip()
    if _NUMBERS.fullmatch(text) is None:
        return None
    return tuple(int(number) for number in text.split("."))


def trimmed(text: str) -> Numbers:
    """Return the numbers of a version without zeros at the end: 535 and 535.0 are the same."""
    numbers = [int(number) for number in text.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def is_range(text: str) -> bool:
    """Return whether ``text`` starts with an operator."""
    return text.lstrip().startswith(("<", ">", "=", "!", "~"))


class Clause(Struct, frozen=True):
    """One comparison.

    Attributes:
        comparison: ``>=``, ``~=`` ...
        numbers: the version on its right side.
    """

    comparison: str
    numbers: Numbers

    @property
    def is_low_end(self) -> bool:
        """Return whether the version itself is the lowest admitted one."""
        return self.comparison in (">=", "==", "~=")

    def admits(self, numbers: Numbers) -> bool:
        """Return whether a version satisfies this."""
        if self.comparison == "~=":
            return numbers >= self.numbers and numbers[: len(self.numbers) - 1] == self.numbers[:-1]
        padded = (numbers + (0,) * len(self.numbers))[: len(self.numbers)]
        return COMPARE[self.comparison](padded, self.numbers)


def read_clauses(text: str) -> tuple[Clause, ...]:
    """Return the clauses of a range.

    Raises:
        UsageError: a clause is not a comparison with a version.
    """
    return tuple(_clause(piece.strip(), text) for piece in text.split(","))


def _clause(piece: str, text: str) -> Clause:
    match = _CLAUSE.fullmatch(piece)
    numbers = read_numbers(match[2]) if match else None
    if match is None or numbers is None:
        raise UsageError(
            f"{piece!r} in {text!r} is not a comparison with a version; write it like >=12.4,<13"
        )
    if match[3] and match[1] not in ("==", "!="):
        raise UsageError(f"{piece!r} ends in .*, which only == and != accept; leave out the .*")
    if match[1] == "~=" and len(numbers) < 2:
        raise UsageError(f"{piece!r} needs a second number; write it like ~=12.4")
    return Clause(match[1], numbers)


def admitted(numbers: Numbers, clauses: tuple[Clause, ...]) -> bool:
    """Return whether a version satisfies every clause."""
    return all(clause.admits(numbers) for clause in clauses)
