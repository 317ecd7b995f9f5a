"""Sequences whose members are made when they are looked at."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import overload

from ltocompat.model.generic import T_co


class MadeWhenRead(Sequence[T_co]):
    """A sequence that builds each member and each slice when it is read."""

    __slots__ = ()

    @abstractmethod
    def member(self, number: int) -> T_co:
        """Build the member of this number, from 0 on."""

    def part(self, members: Iterable[T_co]) -> Sequence[T_co]:
        """Return a sequence of the members of a slice."""
        return tuple(members)

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | Sequence[T_co]:
        if isinstance(index, slice):
            return self.part(map(self.member, range(*index.indices(len(self)))))
        return self.member(index)

    def __iter__(self) -> Iterator[T_co]:
        return map(self.member, range(len(self)))


class LateLines(MadeWhenRead[str]):
    """A tuple of sentences. It is built at the first reading, and pickled as a plain tuple.

    Args:
        build: returns the sentences; called at most once, and its result must not depend on the
            time.
    """

    __slots__ = ("_build", "_lines")

    def __init__(self, build: Callable[[], Iterable[str]]) -> None:
        self._build: Callable[[], Iterable[str]] | None = build
        self._lines: tuple[str, ...] = ()

    def _built(self) -> tuple[str, ...]:
        if self._build is not None:
            self._lines = tuple(self._build())
            self._build = None  # what it was made of is needed no more
        return self._lines

    def member(self, number: int) -> str:
        """Return the sentence of this number."""
        return self._built()[number]

    def __len__(self) -> int:
        return len(self._built())

    def __eq__(self, other: object) -> bool:
        return self._built() == (other._built() if isinstance(other, LateLines) else other)

    def __hash__(self) -> int:
        return hash(self._built())

    def __repr__(self) -> str:
        return repr(self._built())

    def __reduce__(self) -> tuple[type, tuple[tuple[str, ...]]]:
        return tuple, (self._built(),)
