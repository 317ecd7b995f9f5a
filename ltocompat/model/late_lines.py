"""Sentences that most readers of a value skip, put into words when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import overload


class LateLines(Sequence[str]):
    """A tuple of sentences that is built when it is first read; pickled as that tuple.

    Args:
        build: gives the sentences; called once at most, and it must not depend on when.
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

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        return self._built()[index]

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
