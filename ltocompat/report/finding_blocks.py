"""Grouped findings as diagnostics of three lines, worst first; notes; and the line that counts."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ltocompat.commands.advice import ASK_LINKER
from ltocompat.model.place import Place
from ltocompat.model.verdict import THE_TARGET_HAS, Extent, Level, Verdict
from ltocompat.model.words import count, first_of
from ltocompat.report import Options
from ltocompat.report.document import (
    Block,
    Code,
    Diagnostic,
    Paragraph,
    Style,
    Styled,
    separated,
    style_of,
)
from ltocompat.report.grouped_findings import GroupedFinding, title_of
from ltocompat.report.matrix_cells import CellNames
from ltocompat.report.text import clip, common_folder, first_clauses, truncate

_MOST_FINDINGS = 20
_MOST_NAMED = 4  # artifacts of one finding
_MOST_KERNELS = 3  # of a finding
_NAME = 60  # characters of the name of a kernel
_FIX = 110  # characters of what to do; explain tells the rest


class FindingTally:
    """Shows findings, and counts them for the last line.

    Args:
        options: what the reader asked for.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._counts: Counter[str] = Counter()
        self._rules: dict[str, Verdict] = {}

    def blocks(self, groups: Iterable[GroupedFinding], cells: CellNames) -> Iterator[Block]:
        """Yield the findings, the worst verdict first; then notes, where they are wanted."""
        shown = []
        for group in sorted(groups, key=_badness):
            word = _word(group)
            self._counts[word] += 1
            if word != _NOTE:
                self._rules.setdefault(group.finding.rule, group.finding.verdict)
            if word != _NOTE or self._options.notes:
                shown.append(group)
        for group in shown[:_MOST_FINDINGS]:
            yield diagnostic(group, cells, self._options)
        if len(shown) > _MOST_FINDINGS:
            left_out = len(shown) - _MOST_FINDINGS
            yield Paragraph((f"and {left_out:,} more; --format json lists all",))

    def closing(self) -> Iterator[Block]:
        """``1 fail, 0 unknown, 1 note (--notes) · ltocompat explain PTX-01``."""
        notes = self._counts[_NOTE]
        parts: list[str] = []
        if self._rules:
            for word, style in _STYLES.items():
                text = f"{self._counts[word]:,} {word}"
                if self._counts[word]:
                    parts += [", ", Styled(text, style)]
                elif word in _ALWAYS:
                    parts += [", ", text]
            del parts[0]
        else:
            parts += ["no findings"]
        if notes:
            hint = "" if self._options.notes else " (--notes)"
            parts += [", ", f"{count(notes, 'note')}{hint}"]
        if any(map(title_of, self._rules)):
            worst = max(self._rules, key=lambda rule: self._rules[rule])
            parts += [" · ", Code(f"ltocompat explain {worst}")]
        if not (self._options.quiet and not self._rules):
            yield Paragraph(tuple(parts))


_NOTE = "note"
_ALWAYS = ("fail", "unknown")  # told where something is found, were it none
_STYLES = {
    "error": Style.FAIL,
    "fail": Style.FAIL,
    "unknown": Style.UNKNOWN,
    "undocumented": Style.UNDOCUMENTED,
    "warning": Style.UNDOCUMENTED,
}


def _badness(group: GroupedFinding) -> tuple[bool, int, Level, int]:
    finding = group.finding
    return (finding.level is Level.NOTE, -finding.verdict, finding.level, -group.module_count)


def _word(group: GroupedFinding) -> str:
    """The verdict; of what changes none, how loud it is."""
    finding = group.finding
    if finding.level is Level.NOTE:
        return _NOTE
    return str(finding.level if finding.verdict < Verdict.UNDOCUMENTED else finding.verdict)


def diagnostic(group: GroupedFinding, cells: CellNames, options: Options) -> Diagnostic:
    """A finding in three lines.

    Args:
        group: the finding.
        cells: what to call the cells that it holds for.
        options: what the reader asked for.
    """
    finding = group.finding
    style = Style.FAIL if _word(group) == "error" else style_of(finding.verdict, finding.level)
    name = cells.only_target(group.cells)
    headline = group.headline
    return Diagnostic(
        _word(group),
        style,
        finding.rule,
        headline.replace(THE_TARGET_HAS, f"{name} has") if name else headline,
        tuple(_where(group, cells.words(group.cells), packages=options.packages)),
        group.remedy if options.why else _short(group.remedy),
        tuple(_reasons(group)) if options.why else (),
    )


def _short(remedy: str) -> str:
    """The first things to do; that a trial link decides is never left out."""
    others, trial, command = remedy.partition(ASK_LINKER)
    return f"{first_clauses(others, _FIX)}{trial}{command}"


def _reasons(group: GroupedFinding) -> Iterator[tuple[str, str]]:
    for text in list(group.messages)[:_MOST_NAMED]:
        if text != group.headline:
            yield "why", truncate(text)
    if group.finding.evidence and group.finding.example is not None:  # else it is the place
        yield "evidence", truncate(group.finding.evidence)


def _where(group: GroupedFinding, cells: str, *, packages: bool) -> Iterator[tuple[str, ...]]:
    """The first place, how many modules, which targets and GPUs, and what else is told of it."""
    finding = group.finding
    paths = list(group.modules)
    if finding.example or paths[0]:
        yield (Code(finding.example or Place(paths[0])),)
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
    if len(paths) > 1 and not named:
        yield ("also in ", *_others(paths))


def _is_named_after(path: str, package: str) -> bool:
    """Return whether a file is called ``cupy_cuda12x-14.2.0...``, or belongs to no package."""
    name, _, version = package.partition(" ")
    stem = f"{name}-{version}".replace("-", "_").lower() if package else ""
    return posixpath.basename(path).replace("-", "_").lower().startswith(stem)


def _modules(group: GroupedFinding) -> str:
    """``1 of 794 modules``, ``15 modules in 5 artifacts``; empty where it is about no module."""
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
    return f"of {first_of(names, _MOST_NAMED)}"


def _kernels(group: GroupedFinding) -> Iterator[str]:
    """``kernels a, b and 5 more in 60 of them``, where kernels of all were not read."""
    names, every = [*group.kernels][:_MOST_KERNELS], len(group.kernels)
    if names:
        yield "kernel " if every == 1 else "kernels "
    yield from separated(Code(clip(name, _NAME)) for name in names)
    if every > len(names):
        yield f" and {every - len(names):,} more"
    if names and group.kernel_modules < group.module_count:
        yield f" in {group.kernel_modules:,} of them"


def _others(paths: Sequence[str]) -> Iterator[str]:
    """Where else it is, without the folder that is told already."""
    shown = [str(Place(path)) for path in paths]
    folder = common_folder(shown)
    yield from separated(Code(path.removeprefix(folder)) for path in shown[1:_MOST_NAMED])
    if len(paths) > _MOST_NAMED:
        yield f" and {len(paths) - _MOST_NAMED:,} more"
