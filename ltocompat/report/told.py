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

    def add(self, path: str, cell: Cell, finding: Finding) -> None:
        self.of_artifact[path] = max(self.of_artifact.get(path, 0), finding.module_count)
        self.cells.setdefault(cell)
        self.messages.setdefault(finding.message)
        self.remedies.setdefault(finding.remedy)

    def takes(self, other: _Told) -> bool:
        """The other is the same in other cells, with one word replaced.

        In the same cell it would be about other modules.
        """
        mine, finding = self.finding, other.finding
        return (
            (mine.rule, mine.verdict, mine.level) == (finding.rule, finding.verdict, finding.level)
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
        for finding in result.findings:
            key = (finding.rule, finding.verdict, finding.level, finding.message)
            self._found.setdefault(key, _Told(finding)).add(result.path, cell, finding)
        if why:
            for line in result.why:
                self._why.setdefault(line, {}).setdefault(cell)

    def blocks(self, say: SayCells) -> Iterator[Block]:
        """Findings worst first, then notes, then reasons; ``say`` names cells."""
        told = sorted(
            _joined(self._found.values()),
            key=lambda one: (-one.finding.verdict, one.finding.level, -one.modules),
        )
        loud = [line for line in told if line.finding.level is not Level.NOTE]
        quiet = [each_line for each_line in told if each_line.finding.level is Level.NOTE]
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
    for line in found:
        near = (other for other in left[-_MOST_JOINED:] if other.takes(line))
        before = next(near, None)
        if before is None:
            left.append(line)
        else:
            before.take(line)
    return left


def _items(title: str, lines: list[tuple[str, ...]], most: int) -> Items:
    left_out = len(lines) - most
    more = f"and {left_out:,} more; --format json lists all" if left_out > 0 else None
    return Items(title, tuple(lines[:most]), more)


def _loud(line: _Told, say: SayCells) -> tuple[str, ...]:
    finding = line.finding
    word = finding.level if finding.verdict < Verdict.UNDOCUMENTED else finding.verdict
    remedy = (". Remedy: ", line.remedy) if line.remedy else ()
    return (*_opening(f"{word} {finding.rule}", line, say), line.message, *_where(line), *remedy)


def _quiet(line: _Told, say: SayCells) -> tuple[str, ...]:
    return (*_opening(line.finding.rule, line, say), line.message, *_where(line))


def _opening(word: str, line: _Told, say: SayCells) -> tuple[str, ...]:
    cells = say(line.cells)
    return (f"{word} on ", cells, ": ") if cells else (f"{word}: ",)


def _where(line: _Told) -> tuple[str, ...]:
    example = line.finding.example
    words = [count(line.modules, "module")] if line.modules > 1 else []
    if len(line.of_artifact) > 1:
        words.append(f"in {count(len(line.of_artifact), 'artifact')}")
    number = " ".join(words)
    if example is None:
        return (f" ({number})",) if number else ()
    return (f" ({number}, first at " if number else " (at ", Code(example), ")")


def _reason(line: str, cells: str) -> tuple[str, ...]:
    return (cells, ": ", brief(line)) if cells else (brief(line),)
