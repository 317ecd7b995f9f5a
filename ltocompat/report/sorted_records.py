"""The records of an answer with findings, sorted by class: the formats for findings read them."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from ltocompat.model.requirement import Required
from ltocompat.model.target import ANY_TARGET, PolicyLines, Target
from ltocompat.model.verdict import Result
from ltocompat.report import Failure
from ltocompat.report.cell_rows import EvaluatedArtifact
from ltocompat.report.cells import labels

# Records that formats for findings read: the targets, the results, and facts about them.
FindingRecord = Target | Result | Required | PolicyLines | Failure


class SortedRecords(Struct):
    """All contents of a report, sorted by class.

    Attributes:
        targets: the deploy targets.
        results: the verdicts, without verdicts on files without device code.
        required: the requirements of artifacts, by path.
        failures: the paths without an answer.
        policy: the lines of the targets in a policy; None without a policy.
        empty: files without device code.
    """

    targets: list[Target] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    required: dict[str, Required] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    policy: PolicyLines | None = None
    empty: set[str] = field(default_factory=set)

    @property
    def artifacts(self) -> dict[str, EvaluatedArtifact]:
        """The results of each artifact, by its path."""
        found: dict[str, EvaluatedArtifact] = {}
        for result in self.results:
            found.setdefault(result.path, EvaluatedArtifact(result.path)).add(result)
        return found

    @property
    def names(self) -> dict[str, str]:
        """Labels of targets in tables; ``ANY_TARGET`` keeps its name."""
        named = labels([target.name for target in self.targets])
        return {**named, ANY_TARGET.name: ANY_TARGET.name}


def sort_records(records: Iterable[FindingRecord]) -> SortedRecords:
    """Collect all records."""
    answer = SortedRecords()
    for record in records:
        match record:
            case Target() if record != ANY_TARGET:
                answer.targets.append(record)
            case Required():
                answer.required[record.path] = record
            case PolicyLines():
                answer.policy = record
            case Failure():
                answer.failures.append(record)
            case Result() if record.without_device_code:
                answer.empty.add(record.path)
            case Result():
                answer.results.append(record)
    return answer
