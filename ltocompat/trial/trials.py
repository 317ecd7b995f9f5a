"""Real linkers and drivers asked about modules, while the modules' bytes are at hand."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ltocompat.model.trial_answer import TrialKey, TrialOutcome, Trials
from ltocompat.scan.walk import Modules
from ltocompat.trial.answer_cache import TrialCache
from ltocompat.trial.module_trial import Tries, TryModules
from ltocompat.trial.try_links import LinkTrial
from ltocompat.trial.try_loads import LoadTrial

__all__ = ["LinkTrial", "LoadTrial", "TrialCache", "all_of"]


def all_of(tries: Sequence[Tries]) -> Tries | None:
    """Several ways of trying as one; None for none."""
    if not tries:
        return None

    def for_file() -> TryModules:
        return functools.partial(_try_all, [begin() for begin in tries])

    return for_file


def _try_all(tries: Sequence[TryModules], modules: Modules) -> list[Trials]:
    found: list[dict[TrialKey, TrialOutcome]] = [{} for _ in modules]
    for ask in tries:
        for answers, more in zip(found, ask(modules), strict=True):
            answers.update(more)
    return list(found)
