"""Findings of many results, each once, with the artifacts and cells that it holds for."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeVar

from msgspec import Struct, field

from ltocompat.model.place import Place
from ltocompat.model.policy_lines import PolicyLines
from ltocompat.model.requirement import Required
from ltocompat.model.target import ANY_TARGET, Target
from ltocompat.model.verdict import LONGEST_HEADLINE, Finding, Level, Result
from ltocompat.report import FINDING_FORMATS, Failure, Report
from ltocompat.report.matrix_cells import Cell, cell_of, labels
from ltocompat.report.text import first_clauses, truncate
from ltocompat.report.verdict_rows import JudgedArtifact
from ltocompat.rules.prose import Prose, rule_prose

if TYPE_CHECKING:
    pass

Judgement = Target | Result | Required | PolicyLines | Failure
"""Records that formats for findings read: the targets, the results, and facts about them."""

R = TypeVar("R")


class FindingReport(Report[R], frozen=True):
    """The faces of the answer of a verb that has findings; every format can write it.

    Attributes:
        judgements: what the records come to, for formats that write findings.
    """

    formats: ClassVar[tuple[str, ...]] = FINDING_FORMATS
    judgements: Callable[[Iterable[R | Failure]], Iterable[Judgement]]


LEVELS = tuple(Level)
"""The loudest first."""

_MOST_COMPARED = 200  # findings of one rule that are compared with each other
_MOST_VALUES = 6  # words that stand in one place of a joined sentence
_ERROR = re.compile(r"\berror \d{2,3}\b|\bNVJITLINK_ERROR_\w+")
# Punctuation, brackets and blanks are words of their own, so that they are no part of a difference.
_WORD = re.compile(r"[\s:;,()]+|[^\s:;,()]+")


def finding_key(finding: Finding) -> tuple[Hashable, ...]:
    """Return the key by which findings of several cells are one."""
    return (finding.rule, finding.verdict, finding.level, finding.message)


def headline_of(finding: Finding) -> str:
    """Return the problem in a few words, with the values and the error that users search for."""
    headline = finding.headline or first_clauses(finding.message, LONGEST_HEADLINE)
    error = _ERROR.search(finding.message)
    return headline if error is None or error[0] in headline else f"{headline} ({error[0]})"


class GroupedFinding(Struct):
    """A finding and where it holds.

    Attributes:
        finding: the first that was met.
        apart: what keeps it apart from equal findings.
        modules: number of its modules by artifact: the most of any cell.
        places: the first place in each file.
        cells: targets, GPUs and routes.
        messages: what is wrong; several where findings were joined.
        headlines: the same in a few words.
        remedies: what to do; of several cells each once.
        judged: modules of an artifact that were judged: the most of any cell.
        kernels: of its modules, as far as they were read.
        packages: the package of each artifact, where it is known.
    """

    finding: Finding
    apart: Hashable = None
    modules: dict[str, int] = field(default_factory=dict)
    places: dict[tuple[str, tuple[str, ...]], Place] = field(default_factory=dict)
    cells: dict[Cell, None] = field(default_factory=dict)
    messages: dict[str, None] = field(default_factory=dict)
    headlines: dict[str, None] = field(default_factory=dict)
    remedies: dict[str, None] = field(default_factory=dict)
    judged: int = 0
    kernels: dict[str, None] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)
    _read: dict[str, int] = field(default_factory=dict)
    _read_in_cell: dict[tuple[str, Cell], int] = field(default_factory=dict)
    _in_cell: dict[tuple[str, Cell], int] = field(default_factory=dict)

    def add(self, result: Result, finding: Finding) -> None:
        """Take the same finding in another cell, or in another file of the artifact."""
        cell = cell_of(result)
        inside = (result.path, cell)
        self._in_cell[inside] = self._in_cell.get(inside, 0) + finding.module_count
        _raise(self.modules, result.path, self._in_cell[inside])
        if result.distribution:
            self.packages[result.path] = result.distribution
        self._read_in_cell[inside] = self._read_in_cell.get(inside, 0) + finding.kernel_modules
        _raise(self._read, result.path, self._read_in_cell[inside])
        self.kernels |= dict.fromkeys(finding.kernels)
        if finding.example is not None:
            self.places.setdefault((finding.example.path, finding.example.members), finding.example)
        self.cells.setdefault(cell)
        self.judged = max(self.judged, result.extent.judged)
        self.messages.setdefault(finding.message)
        self.headlines.setdefault(headline_of(finding))
        if finding.remedy:
            self.remedies.setdefault(finding.remedy)

    def may_join(self, other: GroupedFinding) -> bool:
        """The other is the same in other cells, with one word replaced.

        In the same cell it would be about other modules.
        """
        mine, finding = self.finding, other.finding
        return (
            (mine.rule, mine.verdict, mine.level) == (finding.rule, finding.verdict, finding.level)
            and self.modules.keys() == other.modules.keys()
            and self.cells.keys().isdisjoint(other.cells)
            and joined([*self.headlines, *other.headlines]) is not None
        )

    def join(self, other: GroupedFinding) -> None:
        """Take all of the other."""
        for path, modules in other.modules.items():
            _raise(self.modules, path, modules)
        for path, modules in other._read.items():
            _raise(self._read, path, modules)
        self.kernels |= other.kernels
        self.packages |= other.packages
        self.places = other.places | self.places
        self.cells |= other.cells
        self.messages |= other.messages
        self.headlines |= other.headlines
        self.remedies |= other.remedies
        self.judged = max(self.judged, other.judged)

    @property
    def module_count(self) -> int:
        """Modules of all artifacts."""
        return sum(self.modules.values())

    @property
    def kernel_modules(self) -> int:
        """Modules of all artifacts whose kernels were read."""
        return sum(self._read.values())

    @property
    def headline(self) -> str:
        """The problem in a few words, for all of its cells."""
        return truncate(joined([*self.headlines]) or next(iter(self.headlines)))

    @property
    def remedy(self) -> str:
        """One sentence for all of its cells; empty when there is nothing to do."""
        return truncate(joined([*self.remedies]) or next(iter(self.remedies), ""))


def _raise(modules: dict[str, int], path: str, number: int) -> None:
    modules[path] = max(modules.get(path, 0), number)


def grouped_findings(
    results: Iterable[Result],
    apart: Callable[[Result, Finding], Hashable] = lambda _result, _finding: None,
    *,
    join: bool = False,
) -> list[GroupedFinding]:
    """Findings, the loudest first.

    Args:
        results: whose findings.
        apart: equal findings are one where this gives the same for both.
        join: findings that differ by the version that a target has, or by a GPU, are one, too.
    """
    groups: dict[tuple[Hashable, ...], GroupedFinding] = {}
    for result in results:
        for finding in result.findings:
            # Who joins them tells them by their headline.
            text = headline_of(finding) if join else finding.message
            kind = (finding.rule, finding.verdict, finding.level)
            key = (*kind, text, apart(result, finding))
            groups.setdefault(key, GroupedFinding(finding, key[-1])).add(result, finding)
    found = _joined_groups(groups.values()) if join else [*groups.values()]
    return sorted(found, key=_badness)


def _badness(group: GroupedFinding) -> tuple[int, int, int]:
    return (LEVELS.index(group.finding.level), -group.finding.verdict, -group.module_count)


def _joined_groups(groups: Iterable[GroupedFinding]) -> list[GroupedFinding]:
    left: list[GroupedFinding] = []
    for group in groups:
        before = next((near for near in left[-_MOST_COMPARED:] if near.may_join(group)), None)
        if before is None:
            left.append(group)
        else:
            before.join(group)
    return left


def joined(sentences: Sequence[str]) -> str | None:
    """One sentence for all, None where they differ in more than a word.

    That word may stand in several places of a sentence, but must be the same in all of them:
    ``the target has 550.54.14, 580.95.05``.
    """
    distinct = list(dict.fromkeys(sentences))
    if not distinct:
        return None
    if len(distinct) == 1:
        return distinct[0]
    words = [_WORD.findall(sentence) for sentence in distinct]
    if len({len(word) for word in words}) != 1:
        return None
    places = [n for n, column in enumerate(zip(*words, strict=True)) if len(set(column)) > 1]
    variants = [{sentence[place] for place in places} for sentence in words]
    if any(len(variant) != 1 for variant in variants):
        return None
    values = list(dict.fromkeys(sentence[places[0]] for sentence in words))
    if not all(value[0].isalnum() for value in values):
        return None
    text = ", ".join(values[:_MOST_VALUES]) + (" .." if len(values) > _MOST_VALUES else "")
    return "".join(text if place in places else word for place, word in enumerate(words[0]))


@functools.cache
def prose_of(rule_id: str) -> Prose | None:
    """Return what a rule of the catalogue says of itself; None of one of a policy."""
    try:
        return rule_prose(rule_id)
    except KeyError:
        return None


def title_of(rule_id: str) -> str:
    """Return the title of a rule; empty for one outside of the catalogue."""
    prose = prose_of(rule_id)
    return "" if prose is None else prose.title


class Judgements(Struct):
    """All that a report tells, sorted by what it is.

    Attributes:
        targets: the deploy targets.
        results: the verdicts, without those on files that hold no device code.
        required: what artifacts ask, by path.
        failures: what gave no answer.
        policy: where the targets stand in a policy; None where there is none.
        empty: files without device code.
    """

    targets: list[Target] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    required: dict[str, Required] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    policy: PolicyLines | None = None
    empty: set[str] = field(default_factory=set)

    @property
    def artifacts(self) -> dict[str, JudgedArtifact]:
        """The results of each artifact, by its path."""
        found: dict[str, JudgedArtifact] = {}
        for result in self.results:
            found.setdefault(result.path, JudgedArtifact(result.path)).add(result)
        return found

    @property
    def names(self) -> dict[str, str]:
        """Labels of targets in tables; ``ANY_TARGET`` keeps its name."""
        named = labels([target.name for target in self.targets])
        return {**named, ANY_TARGET.name: ANY_TARGET.name}


def sort_out(records: Iterable[Judgement]) -> Judgements:
    """Take records to the end."""
    judgements = Judgements()
    for record in records:
        match record:
            case Target() if record != ANY_TARGET:
                judgements.targets.append(record)
            case Required():
                judgements.required[record.path] = record
            case PolicyLines():
                judgements.policy = record
            case Failure():
                judgements.failures.append(record)
            case Result() if record.without_device_code:
                judgements.empty.add(record.path)
            case Result():
                judgements.results.append(record)
    return judgements
