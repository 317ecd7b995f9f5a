"""Findings of many results, each once, with the targets and GPUs where they hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from ltocompat.model.location import Location
from ltocompat.model.verdict import LONGEST_HEADLINE, THE_TARGET_HAS, Finding, Level, Result
from ltocompat.model.words import count
from ltocompat.report.cells import Cell, cell_of
from ltocompat.report.text import first_clauses, truncate

# The loudest first.
LEVELS = tuple(Level)

_GENCODE = re.compile(r"-gencode [\w=,]{1,99}")
_MOST_COMPARED = 200  # findings of one rule that are compared with each other
_MOST_VALUES = 6  # words that stand in one place of a joined sentence
_ERROR = re.compile(r"\berror \d{2,3}\b|\bNVJITLINK_ERROR_\w+")
# Punctuation, brackets and blanks are words of their own, so that they are no part of a difference.
_WORD = re.compile(r"[\s:;,()]+|[^\s:;,()]+")


def finding_key(finding: Finding) -> tuple[Hashable, ...]:
    """Return the key by which findings of several cells are combined."""
    return (finding.rule, finding.verdict, finding.level, finding.message)


def headline_of(finding: Finding) -> str:
    """Return the problem in a few words, with the values and the error that users search for."""
    headline = finding.headline or first_clauses(finding.message, LONGEST_HEADLINE)
    error = _ERROR.search(finding.message)
    return headline if error is None or error[0] in headline else f"{headline} ({error[0]})"


class GroupedFinding(Struct):
    """A finding and the cells in which it holds.

    Attributes:
        finding: the first finding.
        apart: the key that separates it from equal findings.
        modules: number of its modules by artifact, the largest of all cells.
        places: the first place in each file.
        cells: targets, GPUs and routes.
        messages: the problem; several messages if findings were joined.
        headlines: the problem in a few words.
        remedies: the fixes of all cells, each once.
        judged: number of checked modules of an artifact, the largest of all cells.
        kernels: the kernels of its modules, as far as they were read.
        packages: the package of each artifact, if known.
        files: message -> the file inside, and the package that installed it.
    """

    finding: Finding
    apart: Hashable = None
    modules: dict[str, int] = field(default_factory=dict)
    places: dict[tuple[str, tuple[str, ...]], Location] = field(default_factory=dict)
    cells: dict[Cell, None] = field(default_factory=dict)
    messages: dict[str, None] = field(default_factory=dict)
    headlines: dict[str, None] = field(default_factory=dict)
    remedies: dict[str, None] = field(default_factory=dict)
    judged: int = 0
    kernels: dict[str, None] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)
    files: dict[str, tuple[str, str]] = field(default_factory=dict)
    _added: list[tuple[Result, Finding]] = field(default_factory=list)
    _read: dict[str, int] = field(default_factory=dict)
    _read_in_cell: dict[tuple[str, Cell], int] = field(default_factory=dict)
    _in_cell: dict[tuple[str, Cell], int] = field(default_factory=dict)

    def add(self, result: Result, finding: Finding) -> None:
        """Add the same finding in another cell, or in another file of the artifact."""
        self._added.append((result, finding))
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
        if file := _file_of(finding):
            self.files.setdefault(finding.message, (file, _installed_by(finding)))
        self.headlines.setdefault(headline_of(finding))
        if finding.remedy:
            self.remedies.setdefault(finding.remedy)

    def may_join(self, other: GroupedFinding) -> bool:
        """Return whether the other finding is the same in other cells, with one word replaced.

        In the same cell, it would be about other modules.
        """
        mine, finding = self.finding, other.finding
        return (
            (mine.rule, mine.verdict, mine.level) == (finding.rule, finding.verdict, finding.level)
            and self.modules.keys() == other.modules.keys()
            and self.cells.keys().isdisjoint(other.cells)
            and joined([*self.short, *other.short]) is not None
        )

    def join(self, other: GroupedFinding) -> None:
        """Add everything of the other finding."""
        for result, finding in other._added:
            self.add(result, finding)

    @property
    def module_count(self) -> int:
        """Modules of all artifacts."""
        return sum(self.modules.values())

    @property
    def kernel_modules(self) -> int:
        """The number of modules of all artifacts whose kernels were read."""
        return sum(self._read.values())

    @property
    def short(self) -> list[str]:
        """The problem in a few words; for several files, one sentence for all."""
        files = dict(self.files.values())
        if len(files) < 2:
            return [*self.headlines]
        by = next(iter(files.values()))
        each = f"each of {count(len(files), 'file')}{f' from {by}' if by else ''}"
        told = (text.replace(file, each) for text, (file, _) in self.files.items())
        short = (headline_of(replace(self.finding, message=text, headline="")) for text in told)
        return [*dict.fromkeys(short)]

    @property
    def headline(self) -> str:
        """The problem in a few words, for all of its cells."""
        return truncate(joined(self.short) or self.short[0])

    @property
    def remedy(self) -> str:
        """The fix in one sentence for all of its cells; empty if there is nothing to do."""
        return truncate(next(iter(self.fixes), ""))

    @property
    def fixes(self) -> tuple[str, ...]:
        """The fixes of all cells; one fix for all GPUs, if the fixes differ only by the GPU."""
        options = dict.fromkeys(code for text in self.remedies for code in _GENCODE.findall(text))
        same = {_GENCODE.sub("-gencode", text) for text in self.remedies}
        if len(same) == 1 < len(options) == len(self.remedies):  # an option for each GPU
            lowest = min(options, key=lambda option: (len(option), option))
            # LTO-IR for the lowest architecture links for all others.
            every = [lowest] if "code=lto_" in lowest else options
            return (same.pop().replace("-gencode", " ".join(every), 1),)
        one = joined([*self.remedies])
        return (*self.remedies,) if one is None else (one,)


def _file_of(finding: Finding) -> str:
    """The file inside an artifact that a finding is about; empty if it is about none."""
    file = "" if finding.example is None else finding.example.innermost
    return file if file and file == finding.subject else ""


def _installed_by(finding: Finding) -> str:
    """The distribution of a container image that a finding is about; else its layer."""
    return next((each.distribution or each.layer for each in finding.origins), "")


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
        results: the results with the findings.
        apart: combine equal findings if this gives the same value for both.
        join: True to also combine findings that differ only by a target's version or a GPU.
    """
    groups: dict[tuple[Hashable, ...], GroupedFinding] = {}
    for result in results:
        for finding in result.findings:
            # Joined ones differ by their headline, those on files of a package by the rest of it.
            text: Hashable = headline_of(finding) if join else finding.message
            if join and (file := _file_of(finding)):
                text = (finding.message.replace(file, ""), _installed_by(finding), result.path)
            key = (finding.rule, finding.verdict, finding.level, text, apart(result, finding))
            groups.setdefault(key, GroupedFinding(finding, key[-1])).add(result, finding)
    found: list[GroupedFinding] = []
    for group in groups.values():
        near = found[-_MOST_COMPARED:] if join else ()
        before = next((each for each in near if each.may_join(group)), None)
        if before is None:
            found.append(group)
        else:
            before.join(group)
    found.sort(key=lambda group: (-group.finding.verdict, -group.module_count))
    return sorted(found, key=lambda group: LEVELS.index(group.finding.level))


def joined(sentences: Sequence[str]) -> str | None:
    """Return one sentence for all; None if they differ in more than a word.

    The word may occur several times in a sentence, but must be the same each time: ``the targets
    have 550.54.14, 580.95.05``.
    """
    distinct = list(dict.fromkeys(sentences))
    if len(distinct) < 2:
        return next(iter(distinct), None)
    words = [_WORD.findall(sentence) for sentence in distinct]
    if len({len(word) for word in words}) != 1:
        return None
    places = [n for n, column in enumerate(zip(*words, strict=True)) if len(set(column)) > 1]
    variants = [{sentence[place] for place in places} for sentence in words]
    values = list(dict.fromkeys(sentence[places[0]] for sentence in words))
    # Several keys with their values, such as driver=550, are no value of one key.
    if {*map(len, variants)} != {1} or not all(v[0].isalnum() and "=" not in v for v in values):
        return None
    text = ", ".join(values[:_MOST_VALUES]) + (" .." if len(values) > _MOST_VALUES else "")
    sentence = "".join(text if place in places else word for place, word in enumerate(words[0]))
    return sentence.replace(f"{THE_TARGET_HAS} {text}", f"the targets have {text}")
