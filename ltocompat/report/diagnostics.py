"""Findings as diagnostics of three lines: the problem, where it is, and the fix."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from ltocompat.commands.advice import ASK_LINKER
from ltocompat.model.location import Location
from ltocompat.model.verdict import THE_TARGET_HAS, Extent, Level, Verdict
from ltocompat.model.words import count, function_name, truncate_list
from ltocompat.report import Options
from ltocompat.report.cells import CellNames
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
from ltocompat.report.grouped_findings import GroupedFinding
from ltocompat.report.text import common_folder, first_clauses, truncate
from ltocompat.rules.prose import title_of

_COMMAND = re.compile(rf"{ASK_LINKER}.*|(?:^|; )[^;]*\bltocompat [^;]*")
# What mends a whole wheel, and is told once of it.
_REPAIR = re.compile(r"\. Or run ltocompat repair .*")

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
    _repairs: set[str] = field(default_factory=set)

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
            yield self._with_new_command(diagnostic(group, cells, self._options, root))
        if more := left_out(len(shown) - _MOST_FINDINGS):
            yield Paragraph((more,))

    def _with_new_command(self, found: Diagnostic) -> Diagnostic:
        """The finding without the command that repairs its wheel, if an earlier one has it."""
        command = _REPAIR.search(found.fix)
        if command is not None and command[0] in self._repairs:
            return replace(found, fix=found.fix[: command.start()])
        self._repairs |= {command[0]} if command else set()
        return found

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
        yield (Code(_place(group).shown.removeprefix(root)),)
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
    longest = max((len(_place(group).shown) for group in groups), default=0)
    paths = (path for group in groups for path in group.modules)
    return common_folder(paths) if longest > _PLACE else ""


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
    folder = common_folder(paths)
    yield from separated(Code(path.removeprefix(folder)) for path in paths[1:_MOST_NAMED])
    if len(paths) > _MOST_NAMED:
        yield f" and {len(paths) - _MOST_NAMED:,} more"
