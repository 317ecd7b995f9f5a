"""Findings of many results, each once, with the artifacts and cells that it holds for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

from ltocompat.model.place import Place
from ltocompat.model.requirement import Required
from ltocompat.model.target import ANY_TARGET, Target
from ltocompat.model.verdict import Finding, Level, Result
from ltocompat.report import Failure
from ltocompat.report.matrix_cells import Cell, cell_of, labels

Judgement = Target | Result | Required | Failure
"""What flows into formats for judgements: the targets, then the results; ``Required`` if wanted."""

LEVELS = tuple(Level)
"""The loudest first."""


@dataclass(slots=True)
class Gathered:
    """A finding and where it holds.

    Attributes:
        finding: the first that was met.
        modules: number of its modules by artifact: of each file in it, of several cells the most.
        places: the first place in each file.
        cells: targets, GPUs and routes.
        remedies: what to do; of several cells each once.
    """

    finding: Finding
    modules: dict[str, int] = field(default_factory=dict)
    places: dict[tuple[str, tuple[str, ...]], Place] = field(default_factory=dict)
    cells: dict[Cell, None] = field(default_factory=dict)
    remedies: dict[str, None] = field(default_factory=dict)
    _counts: dict[tuple[str, tuple[str, ...]], int] = field(default_factory=dict)

    def add(self, result: Result, finding: Finding) -> None:
        """Take the same finding in another cell."""
        inside = (result.path, finding.example.members if finding.example else ())
        more = max(finding.module_count - self._counts.get(inside, 0), 0)
        self._counts[inside] = self._counts.get(inside, 0) + more
        self.modules[result.path] = self.modules.get(result.path, 0) + more
        if finding.example is not None:
            self.places.setdefault((finding.example.path, finding.example.members), finding.example)
        self.cells.setdefault(cell_of(result))
        if finding.remedy:
            self.remedies.setdefault(finding.remedy)

    @property
    def module_count(self) -> int:
        """Modules of all artifacts."""
        return sum(self.modules.values())


def gather(
    results: Iterable[Result], apart: Callable[[Result, Finding], Hashable]
) -> list[Gathered]:
    """Findings, worst first; equal ones are one where ``apart`` gives the same for both."""
    found: dict[tuple[Hashable, ...], Gathered] = {}
    for result in results:
        for finding in result.findings:
            key = (
                finding.rule,
                finding.verdict,
                finding.level,
                finding.message,
                apart(result, finding),
            )
            found.setdefault(key, Gathered(finding)).add(result, finding)
    return sorted(found.values(), key=_badness)


def _badness(gathered: Gathered) -> tuple[int, int, int]:
    return (LEVELS.index(gathered.finding.level), -gathered.finding.verdict, -gathered.module_count)


@dataclass(slots=True)
class Judgements:
    """All that a report tells, sorted by what it is.

    Attributes:
        targets: the deploy targets.
        results: the verdicts, without those on files that hold no device code.
        required: what artifacts ask, by path.
        failures: what gave no answer.
        empty: files without device code.
    """

    targets: list[Target] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    required: dict[str, Required] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    empty: set[str] = field(default_factory=set)

    @property
    def names(self) -> dict[str, str]:
        """What to call targets in tables; what holds on any of them has its name."""
        named = labels([target.name for target in self.targets])
        return {**named, ANY_TARGET.name: ANY_TARGET.name}


def sort_out(records: Iterable[Judgement]) -> Judgements:
    """Take records to the end."""
    all_ = Judgements()
    for record in records:
        match record:
            case Target() if record != ANY_TARGET:
                all_.targets.append(record)
            case Required():
                all_.required[record.path] = record
            case Failure():
                all_.failures.append(record)
            case Result() if record.without_device_code:
                all_.empty.add(record.path)
            case Result():
                all_.results.append(record)
    return all_
