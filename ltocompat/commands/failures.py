"""Errors of single paths, as values among the records; the public functions raise them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from ltocompat.model.errors import LtocompatError
from ltocompat.model.failure import Failure

R = TypeVar("R")
OnError = Callable[[LtocompatError], None]


def with_failures(read: Callable[[OnError], Iterable[R]]) -> Iterator[R | Failure]:
    """What ``read`` yields; the errors of single paths stand where they happened."""
    errors: list[LtocompatError] = []
    for record in read(errors.append):
        yield from map(Failure.of, errors)
        errors.clear()
        yield record
    yield from map(Failure.of, errors)


def answers(records: Iterable[R | Failure], on_error: OnError | None) -> Iterator[R]:
    """The records without the failures.

    Args:
        records: what a command yields.
        on_error: gets the error of each failure, while the others go on; None: it is raised.

    Raises:
        LtocompatError: a path gave no answer, and ``on_error`` is None.
    """
    for record in records:
        if not isinstance(record, Failure):
            yield record
            continue
        error = record.error or LtocompatError(record.message)
        if on_error is None:
            raise error
        on_error(error)
