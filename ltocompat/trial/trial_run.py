"""Processor time and progress of all trials of one run, whichever linkers and drivers are asked."""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct

from ltocompat.model.failure import Progress, reporter
from ltocompat.model.limits import Limits

_SHARES = 4


class TrialRun(Struct, eq=False):
    """The CPU time left to the children of all trials of a run, and who is told how far they are.

    A request gets a quarter of the time at most, so that one that never ends leaves some to others.

    Args:
        cpu_seconds: CPU time of all children together; they may take a second more each.
        progress: called with what is tried, bytes done and bytes in all.
    """

    cpu_seconds: float = math.inf
    progress: Callable[[str, int, int], None] | None = None
    _used: float = 0.0
    _reserved: int = 0

    @classmethod
    def of(cls, limits: Limits, progress: Callable[[Progress], None] | None = None) -> TrialRun:
        """A run with these limits, which tells ``progress`` how far its trials are."""
        return cls(limits.trial_cpu_seconds, reporter(progress))

    def watch(self, what: str, total: int) -> Callable[[int], None] | None:
        """Tells how many of ``total`` bytes were tried; None if nobody asks."""
        progress = self.progress
        return None if progress is None else lambda done: progress(what, done, total)

    def most(self, cpu_seconds: float) -> float:
        """The share of a request as long as enough is left; ``cpu_seconds`` is its own limit."""
        return min(cpu_seconds, self.cpu_seconds / _SHARES)

    def reserve(self, cpu_seconds: float) -> float | None:
        """The time for a child's next requests; None: nothing is left, unless others leave some."""
        left = self.cpu_seconds - self._used
        if left <= 0:
            return None
        share = min(self.most(cpu_seconds), left)
        self._used += share
        self._reserved += 1
        return share

    @property
    def used_up(self) -> bool:
        """Return whether nothing is left, and no child has something to give back."""
        return self._used >= self.cpu_seconds and not self._reserved

    def give_back(self, share: float, used: float) -> None:
        """Book what was used of a reserved share."""
        self._used -= share - used
        self._reserved -= 1
