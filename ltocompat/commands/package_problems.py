"""What is wrong with a package itself, wherever it goes, as a result of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ltocompat.model.artifact_summary import Study
from ltocompat.model.limits import Limits
from ltocompat.model.place import Place
from ltocompat.model.requirement import Required
from ltocompat.model.target import ANY_TARGET
from ltocompat.model.verdict import Coverage, Result, Verdict, worst
from ltocompat.packages.promise import Promise
from ltocompat.packages.reading import package_of
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.rules.engine.judge_artifact import LEFT_OPEN, results
from ltocompat.rules.engine.judge_package import flaws_of, packages_beside
from ltocompat.rules.engine.problems import machine_result, with_flaws
from ltocompat.rules.rule import Flaw

_LOOKED = "its metadata and promises held against what is inside"


class Packages:
    """Holds what packages promise against their bytes.

    Args:
        paths: what is judged, as the user named it; of a place inside a package too little is read.
        beside: packages that are installed with them.
        limits: what reading metadata may cost.

    Raises:
        UsageError: one of those beside is no package.
    """

    def __init__(
        self,
        paths: Sequence[str | os.PathLike[str]],
        beside: Sequence[str | os.PathLike[str]],
        limits: Limits,
    ) -> None:
        places = [Place.parse(os.fspath(path)) for path in paths]
        self._parts = {one.path for one in places if one.members or one.offset is not None}
        self._beside = packages_beside(beside, limits)
        self._limits = limits

    def flaws(
        self, study: Study, asked: Required | None = None, promise: Promise | None = None
    ) -> tuple[Flaw, ...]:
        """Everything that is wrong with the promises of a package."""
        if study.path in self._parts or study.path == "-":
            return ()
        if package_of(study.path, self._limits) is None:
            return ()
        return flaws_of(
            study.path,
            study,
            asked or required(study),
            others=self._beside,
            promise=promise,
            limits=self._limits,
        )


def on_any_target(study: Study, flaws: Sequence[Flaw]) -> Result:
    """What is wrong with an artifact wherever it goes: nothing that only a target could tell."""
    found = [one for result in results(study, ANY_TARGET) for one in result.findings]
    kept = tuple(dict.fromkeys(one for one in found if one.rule != LEFT_OPEN))
    something = kept or flaws or study.modules
    verdict = worst(one.verdict for one in kept) if something else Verdict.UNKNOWN
    coverage = Coverage(study.modules)
    result = Result(study.path, ANY_TARGET, None, None, verdict, coverage, (), kept, (_LOOKED,))
    return with_flaws(result, flaws)


def result_of(path: str, flaws: Sequence[Flaw]) -> Result:
    """Flaws that an artifact has on any target."""
    return machine_result(path, ANY_TARGET, flaws, _LOOKED)
