"""The task of one distribution: whatever happens to it, its rows are the answer."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct

from ltocompat.commands.survey.distribution import Distribution, Measures
from ltocompat.commands.survey.facts_version import facts_version
from ltocompat.commands.survey.read_package import read_package
from ltocompat.commands.survey.rows import RowMaker
from ltocompat.commands.survey.sources import sha256_of
from ltocompat.commands.survey.tables import Surveyed
from ltocompat.model.errors import LimitExceeded, LtocompatError
from ltocompat.model.limits import DEFAULT_LIMITS, Limits


class TaskOptions(Struct, frozen=True):
    """What every task of a run is asked.

    Attributes:
        targets: spellings of deploy targets; none: those of each package's platforms.
        limits: what reading one package may cost.
    """

    targets: tuple[str, ...] = ()
    limits: Limits = DEFAULT_LIMITS


class _Clock:
    """Measures a task."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._cpu = time.process_time()

    def measures(self, **known: int | str | None) -> Measures:
        return Measures(
            ended=datetime.now(UTC),
            seconds=time.monotonic() - self._began,
            cpu_seconds=time.process_time() - self._cpu,
            peak_memory=_peak_memory(),
            **known,  # type: ignore[arg-type] # their names are those of Measures
        )


def survey_file(distribution: Distribution, options: TaskOptions) -> Surveyed:
    """The rows of a distribution whose file is on this machine."""
    clock = _Clock()
    path = distribution.source
    make = RowMaker(distribution, facts_version())
    try:
        sha256 = distribution.sha256 or sha256_of(path)
        answers = read_package(path, options.targets, options.limits)
        measures = clock.measures(size=os.path.getsize(path), looked_at="whole")
        return make.surveyed(answers, sha256, measures)
    except (LtocompatError, OSError) as error:
        limit = error.limit if isinstance(error, LimitExceeded) else None
        return make.failed("read", str(error), clock.measures(), passing=False, limit=limit)


def survey_files(distributions: Sequence[Distribution], options: TaskOptions) -> list[Surveyed]:
    """The rows of several."""
    return [survey_file(distribution, options) for distribution in distributions]


def _peak_memory() -> int:
    """The largest resident memory of this process so far, bytes; 0 where nothing tells."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
