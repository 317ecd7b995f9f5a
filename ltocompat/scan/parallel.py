"""Several large paths read at the same time, each by a process of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ltocompat.model.errors import LtocompatError
from ltocompat.model.limits import MIB
from ltocompat.model.place import Place

T = TypeVar("T")
OnError = Callable[[LtocompatError], None]

# Below this, handing a path to a process and its answer back takes longer than reading it.
_WORTH_A_PROCESS = 16 * MIB


def worth_it(texts: Sequence[str]) -> bool:
    """Whether processes would be done sooner: several cores, and at least two large paths.

    Only on Linux: elsewhere a new process would run the caller's own program from its beginning.
    """
    if sys.platform != "linux" or len(texts) < 2 or "-" in texts or _cores() < 2:
        return False
    return sorted(map(_size, texts))[-2] > _WORTH_A_PROCESS


def read(
    texts: Sequence[str],
    work: Callable[[str], list[T]],
    progress: Callable[[str, int, int], None] | None,
    on_error: OnError | None,
) -> Iterator[T]:
    """What ``work`` finds for each path, in the order of the paths.

    Args:
        texts: the paths.
        work: reads one of them; it runs in another process, and so do its arguments and results.
        progress: called with the path, how many are done, and how many there are.
        on_error: gets what goes wrong with a path; None: it is raised.
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    workers = min(_cores(), len(texts))
    # The largest first, so that none is left for one core at the end.
    order = sorted(range(len(texts)), key=lambda number: _size(texts[number]), reverse=True)
    with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
        todo = {number: pool.submit(work, texts[number]) for number in order}
        for number, text in enumerate(texts):
            try:
                yield from todo[number].result()
            except LtocompatError as error:
                if on_error is None:
                    raise
                on_error(error)
            if progress is not None:
                progress(text, number + 1, len(texts))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _size(text: str) -> int:
    path = Place.parse(text).path
    if os.path.isdir(path):
        return _WORTH_A_PROCESS + 1
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
