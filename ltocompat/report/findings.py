"""Findings of many results, each once, with where they hold; as diagnostics of three lines."""

from __future__ import annotations

import functools
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress

from msgspec import Struct, field
from msgspec.structs import replace

from ltocompat.commands.advice import ASK_LINKER
from ltocompat.model.location import Location
from ltocompat.model.requirement import Required
from ltocompat.model.target import ANY_TARGET, PolicyLines, Target
from ltocompat.model.verdict import (
    LONGEST_HEADLINE,
    THE_TARGET_HAS,
    Extent,
    Finding,
    Level,
    Prose,
    Result,
    Verdict,
)
from ltocompat.model.words import count, function_name, truncate_list
from ltocompat.report import Failure, Options
from ltocompat.report.cells import Cell, CellNames, EvaluatedArtifact, cell_of, labels
from ltocompat.report.document import (
    Block,
    Code,
    Diagnostic,
    Paragraph,
    Style,
    Styled,
    left_out,
    separated,
    style_of,
)
from ltocompat.report.text import common_folder, first_clauses, truncate
from ltocompat.rules.prose import rule_prose

# Records that formats for findings read: the targets, the results, and facts about them.
FindingRecord = Target | Result | Required | PolicyLines | Failure

# The loudest first.
LEVELS = tuple(Level)

_GENCODE = re.compile(r"-gencode [\w=,]{1,99}")
_MOST_COMPARED = 200  # findings of one rule that are compared with each other
_MOST_VALUES = 6  # words that stand in one place of a joined sentence
_ERROR = re.compile(r"\berror \d{2,3}\b|\bNVJITLINK_ERROR_\w+")
_COMMAND = re.compile(rf"{ASK_LINKER}.*|(?:^|; )[^;]*\bltocompat [^;]*")
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
    _read: dict[str, int] = field(default_factory=dict)
    _read_in_cell: dict[tuple[str, Cell], int] = field(default_factory=dict)
    _in_cell: dict[tuple[str, Cell], int] = field(default_factory=dict)

    def add(self, result: Result, finding: Finding) -> None:
        """Add the same finding in another cell, or in another file of the artifact."""
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
        for mine, theirs in ((self.modules, other.modules), (self._read, other._read)):
            for path, modules in theirs.items():
                _raise(mine, path, modules)
        self.kernels |= other.kernels
        self.packages |= other.packages
        self.places = other.places | self.places
        self.cells |= other.cells
        self.messages |= other.messages
        self.files |= other.files
        self.headlines |= other.headlines
        self.remedies |= other.remedies
        self.judged = max(self.judged, other.judged)

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
            return (same.pop().replace("-gencode", " ".join(options), 1),)
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


@functools.cache
def prose_of(rule_id: str) -> Prose | None:
    """Return the prose of a rule in the catalogue; None for a rule of a policy."""
    with suppress(KeyError):
        return rule_prose(rule_id)
    return None


def title_of(rule_id: str) -> str:
    """Return the title of a rule; empty for a rule outside of the catalogue."""
    prose = prose_of(rule_id)
    return "" if prose is None else prose.title


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


_MOST_FINDINGS = 20
_MOST_NAMED = 4  # artifacts of one finding
_MOST_KERNELS = 3  # of a finding
_NAME = 50  # characters of the name of a kernel
_PLACE = 80  # characters of a place with all its folders
_FIX = 110  # characters of what to do; explain tells the rest


class FindingTally(Struct):
    """A printer of findings that counts them for the last line.

    Args:
        options: the reader's options.
    """

    _options: Options
    _counts: Counter[str] = field(default_factory=Counter)
    _rules: dict[str, Verdict] = field(default_factory=dict)

    def blocks(self, groups: Iterable[GroupedFinding], cells: CellNames) -> Iterator[Block]:
        """Yield the findings, the worst verdict first; then notes, if requested."""
        shown, groups = [], list(groups)
        root = long_root(groups)
        # In the order of ``grouped_findings`` otherwise.
        for group in sorted(
            groups, key=lambda group: (group.finding.level is Level.NOTE, -group.finding.verdict)
        ):
            word = _word(group)
            self._counts[word] += 1
            if word != _NOTE:
                self._rules.setdefault(group.finding.rule, group.finding.verdict)
            if word != _NOTE or self._options.notes:
                shown.append(group)
        for group in shown[:_MOST_FINDINGS]:
            yield diagnostic(group, cells, self._options, root)
        if more := left_out(len(shown) - _MOST_FINDINGS):
            yield Paragraph((more,))

    def closing(self) -> Iterator[Block]:
        """``1 fail, 0 unknown, 1 note (--notes) · ltocompat explain PTX-01``."""
        notes = self._counts[_NOTE]
        words: list[str] = [] if self._rules else ["no findings"]
        for word, style in _STYLES.items():
            number = self._counts[word]
            text = count(number, word) if word in {*Level} else f"{number:,} {word}"
            if number:
                words.append(Styled(text, style))
            elif self._rules and word in _ALWAYS:
                words.append(text)
        if notes:
            words.append(count(notes, "note") + (" (--notes)" if not self._options.notes else ""))
        parts = separated(words)
        if any(map(title_of, self._rules)):
            worst = max(self._rules, key=lambda rule: self._rules[rule])
            parts += (" · ", Code(f"ltocompat explain {worst}"))
        if not (self._options.quiet and not self._rules):
            yield Paragraph(parts)


_NOTE = "note"
_ALWAYS = ("fail", "unknown")  # told where something is found, were it none
_STYLES = {
    "error": Style.FAIL,
    "fail": Style.FAIL,
    "unknown": Style.UNKNOWN,
    "undocumented": Style.UNDOCUMENTED,
    "warning": Style.UNDOCUMENTED,
}


def _word(group: GroupedFinding) -> str:
    """The verdict; of what changes none, how loud it is."""
    finding = group.finding
    if finding.level is Level.NOTE:
        return _NOTE
    return str(finding.level if finding.verdict < Verdict.UNDOCUMENTED else finding.verdict)


def diagnostic(
    group: GroupedFinding, cells: CellNames, options: Options, root: str = ""
) -> Diagnostic:
    """A finding in three lines.

    Args:
        group: the finding.
        cells: the names of its cells.
        options: the reader's options.
        root: the common folder of all artifacts, which places leave
            out.
    """
    finding = group.finding
    word, headline = _word(group), group.headline
    style = Style.FAIL if word == "error" else style_of(finding.verdict, finding.level)
    name = cells.only_target(group.cells)
    return Diagnostic(
        word,
        style,
        finding.rule,
        headline.replace(THE_TARGET_HAS, f"{name} has") if name else headline,
        tuple(_where(group, cells.words(group.cells), root, packages=options.packages)),
        group.remedy if options.why else _short(group.remedy),
        tuple(_reasons(group)) if options.why else (),
    )


def _short(remedy: str) -> str:
    """The first things to do; a command of ours that does it is never cut or left out."""
    command = _COMMAND.search(remedy)
    others = remedy[: command.start()] if command else remedy
    return f"{first_clauses(others, _FIX)}{command[0] if command else ''}"


def _reasons(group: GroupedFinding) -> Iterator[tuple[str, str]]:
    for text in list(group.messages)[:_MOST_NAMED]:
        if text != group.headline:
            yield "why", truncate(text)
    if group.finding.evidence and group.finding.example is not None:  # else it is the place
        yield "evidence", truncate(group.finding.evidence)


def _where(
    group: GroupedFinding, cells: str, root: str, *, packages: bool
) -> Iterator[tuple[str, ...]]:
    """The first place, how many modules, which targets and GPUs, and what else is told of it."""
    finding = group.finding
    paths = list(group.modules)
    if finding.example or paths[0]:
        yield (Code(short_place(_place(group), root)),)
    if finding.example is None and finding.evidence not in ("", paths[0]):
        yield (Code(truncate(finding.evidence)),)
    # The file name of a wheel names its package already.
    named = packages and not all(
        _is_named_after(path, group.packages.get(path, "")) for path in paths
    )
    if named:
        yield (_of_packages(group),)
    if modules := _modules(group):
        yield (modules,)
    if cells:
        yield (f"on {cells}",)
    if kernels := tuple(_kernels(group)):
        yield kernels
    paths = paths if len(paths) > 1 else [*dict.fromkeys(file for file, _ in group.files.values())]
    if len(paths) > 1 and not named:
        yield ("also in ", *_others(paths))


def long_root(groups: Sequence[GroupedFinding]) -> str:
    """Return the common folder of all artifacts, if a place with it is long; else empty."""
    longest = max((len(str(_place(group))) for group in groups), default=0)
    paths = (path for group in groups for path in group.modules)
    return common_folder(paths) if longest > _PLACE else ""


def short_place(place: Location, root: str) -> Location:
    """Return the place without the common folder of all artifacts."""
    return replace(place, path=place.path.removeprefix(root))


def _place(group: GroupedFinding) -> Location:
    return group.finding.example or Location(next(iter(group.modules)))


def _is_named_after(path: str, package: str) -> bool:
    """Return whether a file is called ``cupy_cuda12x-14.2.0...``, or belongs to no package."""
    name, _, version = package.partition(" ")
    stem = f"{name}-{version}".replace("-", "_").lower() if package else ""
    return posixpath.basename(path).replace("-", "_").lower().startswith(stem)


def _modules(group: GroupedFinding) -> str:
    """``1 of 794 modules``, ``15 modules in 5 artifacts``; empty if it is about no module."""
    number, artifacts = group.module_count, len(group.modules)
    if artifacts > 1:
        within = f"{count(number, 'module')} in " if number else ""
        return f"{within}{count(artifacts, 'file' if group.packages else 'artifact')}"
    if 0 < number <= group.judged:
        return str(Extent(number, group.judged))
    return count(number, "module") if number > 1 else ""


def _of_packages(group: GroupedFinding) -> str:
    """``of cupy-cuda12x 14.2.0``, ``of cupy-cuda12x 14.2.0 (2 files), bitsandbytes 0.50.2``."""
    files = Counter(group.packages.values())
    names = [f"{name} ({number} files)" if number > 1 else name for name, number in files.items()]
    return f"of {truncate_list(names, _MOST_NAMED)}"


def _kernels(group: GroupedFinding) -> Iterator[str]:
    """``kernels a, b and 5 more in 60 of them``, where kernels of all were not read."""
    every = len(group.kernels)
    shown = dict.fromkeys(function_name(kernel, _NAME) for kernel in group.kernels)
    names = list(shown)[:_MOST_KERNELS]
    if names:
        yield "kernel " if every == 1 else "kernels "
    yield from separated(map(Code, names))
    if every > len(names):
        yield f" and {every - len(names):,} more"
    if names and group.kernel_modules < group.module_count:
        yield f" in {group.kernel_modules:,} of them"


def _others(paths: Sequence[str]) -> Iterator[str]:
    """Where else it is, without the folder that is told already."""
    shown = [str(Location(path)) for path in paths]
    folder = common_folder(shown)
    yield from separated(Code(path.removeprefix(folder)) for path in shown[1:_MOST_NAMED])
    if len(paths) > _MOST_NAMED:
        yield f" and {len(paths) - _MOST_NAMED:,} more"
