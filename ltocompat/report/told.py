"""What was found, each thing told once for all cells and artifacts that it holds for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from ltocompat.model.verdict import Finding, Level, Result, Verdict
from ltocompat.report.document import Block, Code, Items, Paragraph
from ltocompat.report.joining import joined
from ltocompat.report.matrix_cells import Cell, cell_of
from ltocompat.report.text import brief, count

_MOST_FINDINGS = 20
_MOST_NOTES = 6
_MOST_JOINED = 200  # findings of one rule that are compared with each other

SayCells = Callable[[Iterable[Cell]], str]


@dataclass(slots=True)
class _Told:
    """A finding, its modules by artifact (the most of any cell), and its cells."""

    finding: Finding
    of_artifact: dict[str, int] = field(default_factory=dict)
    cells: dict[Cell, None] = field(default_factory=dict)
    messages: dict[str, None] = field(default_factory=dict)
    remedies: dict[str, None] = field(default_factory=dict)

    def add(self, path: str, cell: Cell, one: Finding) -> None:
        self.of_artifact[path] = max(self.of_artifact.get(path, 0), one.module_count)
        self.cells.setdefault(cell)
        self.messages.setdefault(one.message)
        self.remedies.setdefault(one.remedy)

    def takes(self, other: _Told) -> bool:
        """The other is the same in other cells, with one word replaced.

        In the same cell it would be about other modules.
        """
        mine, its = self.finding, other.finding
        return (
            (mine.rule, mine.verdict, mine.level) == (its.rule, its.verdict, its.level)
            and self.of_artifact.keys() == other.of_artifact.keys()
            and self.cells.keys().isdisjoint(other.cells)
            and joined([*self.messages, *other.messages]) is not None
        )

    def take(self, other: _Told) -> None:
        for path, modules in other.of_artifact.items():
            self.of_artifact[path] = max(self.of_artifact[path], modules)
        self.cells |= other.cells
        self.messages |= other.messages
        self.remedies |= other.remedies

    @property
    def modules(self) -> int:
        return sum(self.of_artifact.values())

    @property
    def message(self) -> str:
        return brief(joined([*self.messages]) or self.finding.message)

    @property
    def remedy(self) -> str:
        return brief(joined([*self.remedies]) or self.finding.remedy)


@dataclass(slots=True)
class Telling:
    """Gathers the findings and reasons of one artifact, or of several."""

    _found: dict[tuple[object, ...], _Told] = field(default_factory=dict)
    _why: dict[str, dict[Cell, None]] = field(default_factory=dict)

    def add(self, result: Result, *, why: bool) -> None:
        """Take the findings of a cell; its reasons too when they are asked for."""
        cell = cell_of(result)
        for one in result.findings:
            key = (one.rule, one.verdict, one.level, one.message)
            self._found.setdefault(key, _Told(one)).add(result.path, cell, one)
        if why:
            for line in result.why:
                self._why.setdefault(line, {}).setdefault(cell)

    def blocks(self, say: SayCells) -> Iterator[Block]:
        """Findings worst first, then notes, then reasons; ``say`` names cells."""
        told = sorted(
            _joined(self._found.values()),
            key=lambda one: (-one.finding.verdict, one.finding.level, -one.modules),
        )
        loud = [one for one in told if one.finding.level is not Level.NOTE]
        quiet = [one for one in told if one.finding.level is Level.NOTE]
        if loud:
            yield _items("findings", [_loud(one, say) for one in loud], _MOST_FINDINGS)
        else:
            yield Paragraph(("no findings",))
        if quiet:
            yield _items("notes", [_quiet(one, say) for one in quiet], _MOST_NOTES)
        if self._why:
            lines = [_reason(line, say(cells)) for line, cells in self._why.items()]
            yield Items("why", tuple(lines))


def _joined(found: Iterable[_Told]) -> list[_Told]:
    """Findings that differ by the version that a target has, or by a GPU, as one."""
    left: list[_Told] = []
    for one in found:
        near = (other for other in left[-_MOST_JOINED:] if other.takes(one))
        before = next(near, None)
        if before is None:
            left.append(one)
        else:
            before.take(one)
    return left


def _items(title: str, lines: list[tuple[str, ...]], most: int) -> Items:
    left_out = len(lines) - most
    more = f"and {left_out:,} more; --format json lists all" if left_out > 0 else None
    return Items(title, tuple(lines[:most]), more)


def _loud(told: _Told, say: SayCells) -> tuple[str, ...]:
    one = told.finding
    word = one.level if one.verdict < Verdict.UNDOCUMENTED else one.verdict
    remedy = (". Remedy: ", told.remedy) if told.remedy else ()
    return (*_opening(f"{word} {one.rule}", told, say), told.message, *_where(told), *remedy)


def _quiet(told: _Told, say: SayCells) -> tuple[str, ...]:
    return (*_opening(told.finding.rule, told, say), told.message, *_where(told))


def _opening(word: str, told: _Told, say: SayCells) -> tuple[str, ...]:
    cells = say(told.cells)
    return (f"{word} on ", cells, ": ") if cells else (f"{word}: ",)


def _where(told: _Told) -> tuple[str, ...]:
    example = told.finding.example
    said = [count(told.modules, "module")] if told.modules > 1 else []
    if len(told.of_artifact) > 1:
        said.append(f"in {count(len(told.of_artifact), 'artifact')}")
    number = " ".join(said)
    if example is None:
        return (f" ({number})",) if number else ()
    return (f" ({number}, first at " if number else " (at ", Code(example), ")")


def _reason(line: str, cells: str) -> tuple[str, ...]:
    return (cells, ": ", brief(line)) if cells else (brief(line),)
