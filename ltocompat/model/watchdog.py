"""The last resort: ends a process that still reads a file long after the time for it was used up.

Every reader looks at the clock itself (``Budget.check_time``), so that this never happens; where it
does, it is a bug, and a process that ends in one sentence is better than one that never ends.
Calls into C can't be ended so: they are bounded by the length of what they are given.
"""

from __future__ import annotations

import atexit
import signal
import time
from collections.abc import Callable, Iterable, Iterator

from ltocompat.model.generic import T
from ltocompat.model.limits import Budget

# Seconds for which a reader may continue after its time was used up.
GRACE = 60.0

_EVERY = 1.0  # seconds between two looks
_at_work: list[tuple[Budget, float]] = []  # each with when it was begun, on the monotonic clock
_grace: list[float] = []  # empty until it was begun

# Further actions at each look; they interrupt the main thread.
at_each_look: list[Callable[[], None]] = []


class Overdue(BaseException):
    """A reader exceeded its time by far; not an ``Exception``, so that no reader catches it."""


def begin(grace: float = GRACE, every: float = _EVERY) -> None:
    """Watch this process from now on; only the main thread may ask for it.

    Args:
        grace: seconds for which a reader may continue after its time.
        every: seconds between two checks.
    """
    _grace[:] = [grace]
    if hasattr(signal, "setitimer"):  # Windows has none
        signal.signal(signal.SIGALRM, _look)
        signal.setitimer(signal.ITIMER_REAL, every, every)
        atexit.register(end)


def end() -> None:
    """Stop watching: when Python exits, nothing handles the signal any more."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)


def rearm_after_fork() -> None:
    """Watch a forked process if its parent is watched, since timers are not inherited."""
    _at_work.clear()
    at_each_look.clear()
    if _grace:
        begin(_grace[0])


class watched:  # noqa: N801 - used like a function, as contextlib.suppress is
    """Expect the reader in this block to end within the time of its budget."""

    __slots__ = ("_budget",)

    def __init__(self, budget: Budget) -> None:
        self._budget = budget

    def __enter__(self) -> None:
        _at_work.append((self._budget, time.monotonic()))

    def __exit__(self, *_: object) -> None:
        _at_work.pop()


def watched_steps(values: Iterable[T], budget: Budget) -> Iterator[T]:
    """Yield the values, and expect each step to end within the time of the budget."""
    rest, step = iter(values), watched(budget)
    while True:
        with step:
            try:
                value = next(rest)
            except StopIteration:
                return
        yield value


def _look(*_: object) -> None:
    for act in at_each_look:
        act()
    now = time.monotonic()
    for budget, begun in _at_work:
        if now > max(budget.deadline, begun) + _grace[0]:
            end()
            raise Overdue(
                f"a file is still being read {_grace[0]:g} s after its time limit of "
                f"{budget.limits.seconds:g} s; this is a bug of ltocompat: please report it with "
                "the file"
            )
