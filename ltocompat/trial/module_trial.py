"""A trial of modules: a question about some modules, and an answer for each.

Real linkers and drivers are asked while the modules' bytes are at hand.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from ltocompat.model.trial_answer import TrialKey, TrialOutcome, Trials
from ltocompat.scan.walk import Modules

# Tries modules of one file with linkers or drivers; returns the answers to each, in order.
TryModules = Callable[[Modules], Sequence[Trials]]
# Begins a file; its trials depend on no other file.
Tries = Callable[[], TryModules]


def all_of(tries: Sequence[Tries]) -> Tries | None:
    """Return several kinds of trials as one; None for none."""
    return None if not tries else lambda: functools.partial(_try_all, [begin() for begin in tries])


def _try_all(tries: Sequence[TryModules], modules: Modules) -> list[Trials]:
    found: list[dict[TrialKey, TrialOutcome]] = [{} for _ in modules]
    for ask in tries:
        for answers, more in zip(found, ask(modules), strict=True):
            answers.update(more)
    return list(found)
