"""Errors of single paths, as values among the records; the public functions raise them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from ltocompat.model.errors import LtocompatError, UsageError
from ltocompat.model.failure import Failure, Note

R = TypeVar("R")
OnError = Callable[[LtocompatError], None]


def named(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Paths as texts.

    Raises:
        UsageError: there are none, as of a pattern that matches nothing.
    """
    texts = [os.fspath(path) for path in paths]
    if not texts:
        raise UsageError("no path is named; name a file, a folder or a package")
    return texts


def answers(records: Iterable[R | Failure | Note], on_error: OnError | None) -> Iterator[R]:
    """The records without failures and notes.

    Args:
        records: what a command yields.
        on_error: gets the error of each failure, while the others go on; None: it is raised.

    Raises:
        LtocompatError: a path gave no answer, and ``on_error`` is None.
    """
    for record in records:
        if not isinstance(record, Failure):
            if not isinstance(record, Note):
                yield record
            continue
        error = record.error or LtocompatError(record.message)
        if on_error is None:
            raise error
        on_error(error)
