"""Processor time and progress of all trials of one run, whichever linkers and drivers are asked."""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct

from ltocompat.model.failure import OnStep, Progress, reporter
from ltocompat.model.limits import Limits

_SHARES = 4

# Called with the bytes of answered requests, twice a second or more.
Watch = Callable[[int], None]


class TrialRun(Struct, eq=False):
    """The remaining CPU time of all trials of a run, and their progress callback.

    A request gets at most a quarter of the time, so that an endless request leaves time to others.

    Args:
        cpu_seconds: CPU time of all children together; each may take a second more.
        progress: called with the current trial, bytes done and bytes in all.
    """

    cpu_seconds: float = math.inf
    progress: OnStep | None = None
    _used: float = 0.0
    _reserved: int = 0

    @classmethod
    def of(cls, limits: Limits, progress: Callable[[Progress], None] | None = None) -> TrialRun:
        """Return a run with these limits, which reports to ``progress``."""
        return cls(limits.trial_cpu_seconds, reporter(progress))

    def watch(self, what: str, total: int) -> Watch | None:
        """Return a callback for the tried bytes out of ``total``; None without ``progress``."""
        progress = self.progress
        return None if progress is None else lambda done: progress(what, done, total)

    def most(self, cpu_seconds: float) -> float:
        """The share of a request while enough is left; ``cpu_seconds`` is its own limit."""
        return min(cpu_seconds, self.cpu_seconds / _SHARES)

    def reserve(self, cpu_seconds: float) -> float | None:
        """Return the time for a child's next requests; None: nothing is left at the moment."""
        left = self.cpu_seconds - self._used
        if left <= 0:
            return None
        share = min(self.most(cpu_seconds), left)
        self._used += share
        self._reserved += 1
        return share

    @property
    def used_up(self) -> bool:
        """Return whether nothing is left, and no child can give time back."""
        return self._used >= self.cpu_seconds and not self._reserved

    def give_back(self, share: float, used: float) -> None:
        """Book the used part of a reserved share."""
        self._used -= share - used
        self._reserved -= 1
