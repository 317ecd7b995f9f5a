"""Grouped findings as blocks: what is wrong, worst first, then notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ltocompat.model.place import Place
from ltocompat.model.verdict import Level, Verdict
from ltocompat.report.document import Block, Code, Items, Paragraph
from ltocompat.report.grouped_findings import GroupedFinding
from ltocompat.report.matrix_cells import Cell
from ltocompat.report.text import clip, count

_MOST_FINDINGS = 20
_MOST_NOTES = 6
_MOST_NAMED = 4  # artifacts of one finding
_MOST_KERNELS = 3  # of the first module of a finding
_NAME = 60  # characters of the name of a kernel

CellWords = Callable[[Iterable[Cell]], str]
"""Names some cells in few words; empty where there is only one."""


def finding_blocks(groups: Iterable[GroupedFinding], cell_words: CellWords) -> Iterator[Block]:
    """What is wrong, the worst verdict first, then notes; that there is nothing is said, too."""
    worst_first = sorted(
        groups,
        key=lambda group: (-group.finding.verdict, group.finding.level, -group.module_count),
    )
    loud = [group for group in worst_first if group.finding.level is not Level.NOTE]
    notes = [group for group in worst_first if group.finding.level is Level.NOTE]
    if loud:
        yield first_lines("findings", [_loud(group, cell_words) for group in loud], _MOST_FINDINGS)
    else:
        yield Paragraph(("no findings",))
    if notes:
        yield first_lines("notes", [_note(group, cell_words) for group in notes], _MOST_NOTES)


def first_lines(title: str, lines: Sequence[tuple[str, ...]], most: int) -> Items:
    """Up to ``most`` lines, and how many were left out."""
    left_out = len(lines) - most
    more = f"and {left_out:,} more; --format json lists all" if left_out > 0 else None
    return Items(title, tuple(lines[:most]), more)


def _loud(group: GroupedFinding, cell_words: CellWords) -> tuple[str, ...]:
    finding = group.finding
    word = finding.level if finding.verdict < Verdict.UNDOCUMENTED else finding.verdict
    remedy = (". Remedy: ", group.remedy) if group.remedy else ()
    opening = _opening(f"{word} {finding.rule}", group, cell_words)
    return (*opening, group.message, *_where(group), *remedy)


def _note(group: GroupedFinding, cell_words: CellWords) -> tuple[str, ...]:
    return (*_opening(group.finding.rule, group, cell_words), group.message, *_where(group))


def _opening(word: str, group: GroupedFinding, cell_words: CellWords) -> tuple[str, ...]:
    cells = cell_words(group.cells)
    return (f"{word} on ", cells, ": ") if cells else (f"{word}: ",)


def _where(group: GroupedFinding) -> tuple[str, ...]:
    """``(3 modules, first at x.so@0x40)``, ``(at x.so@0x40)``, ``(in a.whl, b.whl)``."""
    example = group.finding.example
    number = count(group.module_count, "module") if group.module_count > 1 else ""
    if example is None:
        return (f" ({number} in " if number else " (in ", *_artifacts(group), ")")
    kernels = tuple(_kernels(group))
    if len(group.modules) > 1:
        return (f" ({number} in ", *_artifacts(group), ", first at ", Code(example), *kernels, ")")
    return (f" ({number}, first at " if number else " (at ", Code(example), *kernels, ")")


def _kernels(group: GroupedFinding) -> Iterator[str]:
    """``: kernels a, b and 5 more``, of the first module."""
    finding = group.finding
    names = finding.kernels[:_MOST_KERNELS]
    if names:
        yield ": kernel " if finding.kernel_count == 1 else ": kernels "
    for position, name in enumerate(names):
        yield from (", ", Code(clip(name, _NAME))) if position else (Code(clip(name, _NAME)),)
    if finding.kernel_count > len(names):
        yield f" and {finding.kernel_count - len(names):,} more"


def _artifacts(group: GroupedFinding) -> Iterator[str]:
    paths = list(group.modules)
    for position, path in enumerate(paths[:_MOST_NAMED]):
        yield from (", ", Code(Place(path))) if position else (Code(Place(path)),)
    if len(paths) > _MOST_NAMED:
        yield f" and {len(paths) - _MOST_NAMED:,} more"
