"""Real linkers and drivers asked about modules, while the modules' bytes are at hand."""

from __future__ import annotations

from collections.abc import Sequence

from ltocompat.model import Module
from ltocompat.regions import StoredModule
from ltocompat.studying import Try
from ltocompat.trying.cache import TrialCache
from ltocompat.trying.links import Trier
from ltocompat.trying.loads import LoadTrier
from ltocompat.verdicts.trials import TrialKey, Trials, Tried

__all__ = ["LoadTrier", "TrialCache", "Trier", "all_of"]


def all_of(tries: Sequence[Try]) -> Try | None:
    """Several ways of trying as one; None for none."""
    if not tries:
        return None

    def try_all(modules: Sequence[tuple[StoredModule, Module]]) -> list[Trials]:
        found: list[dict[TrialKey, Tried]] = [{} for _ in modules]
        for one in tries:
            for said, answers in zip(found, one(modules), strict=True):
                said.update(answers)
        return list(found)

    return try_all
