"""Several paths, or the files of a folder, read at the same time by workers."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Protocol

from ltocompat.files.regular import read_regular
from ltocompat.model.generic import R, T
from ltocompat.model.limits import MIB
from ltocompat.model.location import Location
from ltocompat.scan import slices, workers
from ltocompat.scan.workers import Pool

# Below this, handing files to a process and its answers back takes longer than reading them.
_WORTH_A_PROCESS = 16 * MIB
_ELF = b"\x7fELF"


class Settings(Protocol):
    """Settings for reading files."""

    @property
    def jobs(self) -> int | None:
        """The number of processes that read at the same time; None: one per core."""

    def report(self, path: str, done: int, total: int) -> None:
        """Report the progress of a file."""


def read(
    work: Callable[[T], Iterable[R]],
    items: Iterable[T],
    path_of: Callable[[T], str | None],
    settings: Settings,
    *,
    in_slices: bool = False,
) -> Iterator[Iterable[R]]:
    """Yield the results of ``work`` for each item, in the order of the items.

    Args:
        work: reads one item; its results have to be picklable.
        items: the items to read.
        path_of: returns the file or folder of an item; None if it has none.
        settings: settings for reading, with the number of processes.
        in_slices: True if ``work`` itself reads large programs and libraries with several
            processes.
    """
    most = workers.available(settings.jobs)

    def shared(items: list[T]) -> Iterator[Iterable[R]]:
        sizes = [_size(path_of(item)) for item in items]
        if sum(sizes) - max(sizes) < _WORTH_A_PROCESS:
            yield from map(work, items)
            return
        # The largest first, so that none is left for one core at the end.
        order = sorted(range(len(items)), key=sizes.__getitem__, reverse=True)
        name = f"in {len(items):,} files"

        def waiting(read: Sequence[int]) -> None:
            settings.report(name, sum(map(min, read, sizes)), sum(sizes))

        with Pool(lambda item: list(work(item)), items, most, order, waiting=waiting) as pool:
            for item, size, found in zip(items, sizes, pool, strict=True):
                yield work(item) if found is None else found
                settings.report(path_of(item) or "", size, size)

    if most < 2:
        yield from map(work, items)
        return
    for here, group in groupby(items, lambda item: _for_us(path_of(item), in_slices=in_slices)):
        if here:
            yield from map(work, group)
        else:
            yield from shared(list(group))


def _for_us(path: str | None, *, in_slices: bool) -> bool:
    """Return whether this process reads it: what can be read once, and what it reads in slices."""
    with suppress(OSError, ValueError):
        if path is None or os.path.isdir(path):
            return False
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return True
        if in_slices and status.st_size >= slices.LARGE:
            return read_regular(path, len(_ELF)).startswith((_ELF, b"MZ"))
    return False


def _size(path: str | None) -> int:
    """Bytes to read; a folder counts as much as is worth a process."""
    with suppress(OSError, ValueError):
        if path is not None:
            return _WORTH_A_PROCESS if os.path.isdir(path) else os.stat(path).st_size
    return 0


def path_of_text(text: str) -> str:
    """Return the path of a place as a user writes it; for standard input, no file's path."""
    return os.devnull if text == "-" else Location.parse(text).path
