"""The answer of ``check`` as blocks: a word a cell, then what was found, worst first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import NamedTuple

from ltocompat.model.place import Place
from ltocompat.model.target import ANY_TARGET, Target
from ltocompat.model.verdict import Coverage, Extent, Result, Verdict
from ltocompat.report import Failure, Options
from ltocompat.report.document import (
    Block,
    Code,
    Column,
    Heading,
    Items,
    Listing,
    Paragraph,
    Row,
    Table,
    Toned,
    tone_of,
)
from ltocompat.report.finding_blocks import FindingTally
from ltocompat.report.grouped_findings import (
    FindingReport,
    Judgement,
    grouped_findings,
)
from ltocompat.report.matrix_cells import (
    Cell,
    CellNames,
    cell_of,
    labels,
    sources_are_plain,
    target_facts,
)
from ltocompat.report.text import brief, common_folder, count

_PIPED = 120  # columns that a table with a column a cell may take where nothing limits them
_PATH = 24  # the least columns of a path
_WORD = 12  # columns of the longest verdict
_WORDS = 16  # of one that some of the GPUs have: ``fail 1 of 9``
_LONG_ROOT = 16  # characters of a folder that is worth to be told once
_GAP = 2


class _CellVerdict(NamedTuple):
    """What a table shows of a result."""

    verdict: Verdict
    coverage: Coverage
    not_judged: tuple[str, ...]
    extent: Extent
    forgiven: str = ""

    @property
    def verdict_word(self) -> str:
        """``ok``, ``fail 1 of 794 modules``, ``fail (known)``."""
        word = f"{self.verdict} {self.extent}" if self._in_part else str(self.verdict)
        return f"{word} ({self.forgiven})" if self.forgiven else word

    @property
    def _in_part(self) -> bool:
        """Whether to tell how many modules have it: what works is told by who is served."""
        return self.verdict > Verdict.JIT and self.extent.partial

    def word(self) -> str:
        """``ok 1,617/2,638``, ``fail 1 of 794 modules``, ``fail``, ``ok, not judged: load``."""
        word = self.verdict_word
        if self.verdict < Verdict.UNKNOWN and self.coverage.modules > 1 and not self._in_part:
            word += f" {self.coverage.served:,}/{self.coverage.modules:,}"
        return word + (f", not judged: {', '.join(self.not_judged)}" if self.not_judged else "")


@dataclass(slots=True)
class _Artifact:
    """What is kept of one artifact."""

    path: str
    modules: int = 0
    cells: dict[Cell, _CellVerdict] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)

    def add(self, result: Result) -> None:
        self.modules = max(self.modules, result.coverage.modules)
        cell = _CellVerdict(
            result.verdict, result.coverage, result.not_judged, result.extent, result.forgiven
        )
        self.cells[cell_of(result)] = cell
        self.results.append(result)

    @property
    def worst(self) -> Verdict:
        return max(cell.verdict for cell in self.cells.values())

    def title(self, options: Options) -> tuple[str, ...]:
        text = count(self.modules, "module") if self.modules else "no module was read"
        name = brief(self.path) if options.together else Place(self.path)
        return (Code(name), f": {text}")


def blocks(records: Iterable[Judgement], options: Options) -> Iterator[Block]:
    """A row an artifact as they come, where that fits, else a table each; then findings.

    Args:
        records: the targets, then the results, artifact by artifact.
        options: what the reader asked for.
    """
    answer = _Answer(records, options)
    first = list(islice(answer.artifacts, 2))
    if first:
        if not options.quiet:
            yield from _targets(answer.targets, answer.names)
        yield from _artifacts(answer, first)
        yield from answer.tally.closing()
    if answer.empty and not options.quiet:
        yield Paragraph((f"{count(len(answer.empty), 'file')} without device code",))
    if not first and not answer.empty:
        yield Paragraph(("nothing was judged",))
    elif first and not answer.has_modules:
        yield Paragraph(("no device code was judged",))


class _Answer:
    """The records of an answer, taken as they come.

    Attributes:
        options: what the reader asked for.
        tally: what is found.
        targets: the deploy targets, once the first artifact is there.
        names: what to call them, and what holds on any target.
        empty: files without device code, so far.
        has_modules: device code was judged, so far.
        artifacts: what is judged, each when all of it is known.
    """

    def __init__(self, records: Iterable[Judgement], options: Options) -> None:
        self.options = options
        self.tally = FindingTally(options)
        self.targets: list[Target] = []
        self.names: dict[str, str] = {}
        self.empty: set[str] = set()
        self.has_modules = False
        self.artifacts = self._complete(records)

    def _complete(self, records: Iterable[Judgement]) -> Iterator[_Artifact]:
        current: _Artifact | None = None
        for record in records:
            if isinstance(record, Target) and record != ANY_TARGET:
                self.targets.append(record)
                self.names |= labels([target.name for target in self.targets])
            elif isinstance(record, Result) and record.without_device_code:
                self.empty.add(record.path)
            elif isinstance(record, Result):
                if current is not None and current.path != record.path:
                    yield current
                    current = None
                current = current or _Artifact(record.path)
                self._add(current, record)
        if current is not None:
            yield current

    def _add(self, artifact: _Artifact, result: Result) -> None:
        self.names.setdefault(result.target.name, result.target.name)
        self.has_modules |= result.coverage.modules > 0
        artifact.add(result)


def _targets(targets: Sequence[Target], names: dict[str, str]) -> Iterator[Block]:
    if not targets:
        yield Paragraph(("judged is what holds on any target",))
        return
    if len(targets) == 1:
        (target,) = targets
        # Beside what holds on any target, the only one has its letter, too.
        lettered = len(names) > 1 and names[target.name] != target.name
        yield Paragraph(("target ", *_target(target, names[target.name] if lettered else "")))
    else:
        named = [(goal, names[goal.name]) for goal in targets]
        lines = [_target(goal, label if label != goal.name else "") for goal, label in named]
        yield Items("targets", tuple(lines))


def _target(target: Target, label: str) -> tuple[str, ...]:
    letter = (label, " ") if label else ()
    facts = () if sources_are_plain(target) else (": ", target_facts(target))
    return (*letter, Code(target.name), *facts)


def _artifacts(answer: _Answer, first: list[_Artifact]) -> Iterator[Block]:
    """A row each, where there are several and that fits, then what was found; else a table each."""
    columns = _columns(answer, first) if len(first) > 1 else ()
    if not columns:
        for artifact in chain(first, answer.artifacts):
            if not answer.options.quiet:
                yield from _alone(artifact, answer)
            yield from _findings([artifact], answer)
        return
    seen: list[_Artifact] = []
    root = common_folder(str(Place(artifact.path)) for artifact in first)
    root = root if len(root) >= _LONG_ROOT else ""
    rows = _rows_as_they_come(chain(first, answer.artifacts), columns, root, seen)
    if answer.options.quiet:
        list(rows)
    else:
        where = f"artifact in {brief(root)}" if root else "artifact"
        heads = (
            *(Column(each.head, width=each.width) for each in columns),
            Column(where, place=True),
        )
        yield Listing(heads, rows, notes=False)
        yield Paragraph((_summary(seen),))
    yield from _findings(seen, answer)


def _alone(artifact: _Artifact, answer: _Answer) -> Iterator[Block]:
    """An artifact and its table; a table of one word is none."""
    title = artifact.title(answer.options)
    table = _own_table(artifact, answer.names, answer.options)
    if len(table.columns) == len(table.rows) == 1:
        yield Heading((*title, ": ", table.rows[0][0]))
    else:
        yield Heading(title)
        yield table


def _findings(artifacts: list[_Artifact], answer: _Answer) -> Iterator[Block]:
    every = list(dict.fromkeys(cell for artifact in artifacts for cell in artifact.cells))
    cells = CellNames(every, answer.names)
    results = [result for artifact in artifacts for result in artifact.results]
    yield from answer.tally.blocks(grouped_findings(results, join=True), cells)
    if answer.options.why:
        yield from _reasons(results, cells)


def _reasons(results: Iterable[Result], names: CellNames) -> Iterator[Block]:
    """The reasoning, each line once, with the cells that it holds for."""
    cells_of_line: dict[str, dict[Cell, None]] = {}
    for result in results:
        for line in result.why:
            cells_of_line.setdefault(line, {}).setdefault(cell_of(result))
    if cells_of_line:
        lines = [(names.words(cells), brief(line)) for line, cells in cells_of_line.items()]
        yield Items(
            "why", tuple((cells, ": ", line) if cells else (line,) for cells, line in lines)
        )


def _summary(artifacts: list[_Artifact]) -> str:
    worst = [artifact.worst for artifact in artifacts]
    parts = [f"{worst.count(v):,} {v}" for v in reversed(Verdict) if v in worst]
    return f"{count(len(artifacts), 'artifact')}: {', '.join(parts)}"


def _fits(columns: Sequence[str], rows: Iterable[Sequence[str]], width: int | None) -> bool:
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    return sum(size + _GAP for size in widths) <= (width or _PIPED)


class _CellColumn(NamedTuple):
    """A column of verdicts: of a GPU of a target, or of a whole target."""

    target: str
    gpu: str | None
    head: str

    @property
    def width(self) -> int:
        return max(len(self.head), _WORD if self.gpu is not None else _WORDS)

    def holds(self, cell: Cell) -> bool:
        """Whether it shows the verdict of a cell."""
        return cell.target == self.target and self.gpu in (None, cell.gpu)


def _columns(answer: _Answer, first: list[_Artifact]) -> tuple[_CellColumn, ...]:
    """A column a target and GPU, or one a target; none where even that is too wide."""
    cells = [cell for artifact in first for cell in artifact.cells]
    by_gpu = [
        _CellColumn(target, gpu, _head(target, gpu, answer.names))
        for target, gpu in dict.fromkeys((cell.target, cell.gpu) for cell in cells)
    ]
    by_target = [
        _CellColumn(target, None, _head(target, "", answer.names))
        for target in dict.fromkeys(cell.target for cell in cells)
    ]
    room = (answer.options.width or _PIPED) - _PATH
    for columns in (by_gpu, by_target):
        if sum(column.width + _GAP for column in columns) <= room:
            return tuple(columns)
    return ()


def _rows_as_they_come(
    artifacts: Iterable[_Artifact],
    columns: Sequence[_CellColumn],
    root: str,
    seen: list[_Artifact],
) -> Iterator[Row]:
    """A row for each artifact and route, which is also kept in ``seen``."""
    for artifact in artifacts:
        seen.append(artifact)
        place = str(Place(artifact.path)).removeprefix(root)
        for route in dict.fromkeys(cell.route for cell in artifact.cells):
            of_route = {c: v for c, v in artifact.cells.items() if c.route == route}
            words = [
                _toned([v for cell, v in of_route.items() if column.holds(cell)])
                for column in columns
            ]
            yield Row((*words, Code(place + _more_of(route, of_route, columns))))


def _more_of(route: str, cells: Mapping[Cell, _CellVerdict], columns: Sequence[_CellColumn]) -> str:
    """What a row has no column for: ``  by load  (not judged: link)``."""
    by = f"  by {route}" if route else ""
    halves = dict.fromkeys(half for verdict in cells.values() for half in verdict.not_judged)
    forgiven = dict.fromkeys(verdict.forgiven for verdict in cells.values() if verdict.forgiven)
    others = [
        f"{cell.target}: {verdict.verdict}"
        for cell, verdict in cells.items()
        if not any(column.holds(cell) for column in columns)
    ]
    more = [*([f"not judged: {', '.join(halves)}"] if halves else []), *forgiven, *others]
    return f"{by}  ({'; '.join(more)})" if more else by


def _toned(several: list[_CellVerdict]) -> str:
    """The worst verdict of several GPUs, and how many fare so."""
    if not several:
        return ""
    worst = max(cell.verdict for cell in several)
    number = sum(cell.verdict is worst for cell in several)
    text = str(worst) if number == len(several) else f"{worst} {number} of {len(several)}"
    return Toned(text, tone_of(worst))


def _head(target: str, gpu: str, names: dict[str, str]) -> str:
    if len(names) == 1:
        return gpu or "verdict"
    return f"{names[target]} {gpu}".strip()


def _own_table(artifact: _Artifact, names: dict[str, str], options: Options) -> Table:
    """Targets by GPUs where several targets share them, else a row a verdict."""
    targets = list(dict.fromkeys(cell.target for cell in artifact.cells))
    gpus = list(dict.fromkeys(cell.gpu for cell in artifact.cells))
    routes = list(dict.fromkeys(cell.route for cell in artifact.cells))
    full = len(targets) * len(gpus) * len(routes) == len(artifact.cells)
    if full and len(targets) > 1 and len(gpus) > 1:
        rows = [
            (
                names[target],
                *([route] if any(routes) else []),
                *(_word(artifact.cells[Cell(target, gpu, route)]) for gpu in gpus),
            )
            for target in targets
            for route in routes
        ]
        heads = ["target", *(["route"] if any(routes) else []), *gpus]
        if _fits(heads, rows, options.width):
            return Table(tuple(map(Column, heads)), tuple(rows))
    return _rows(artifact, names, routed=any(routes))


def _word(cell: _CellVerdict) -> Toned:
    return Toned(cell.word(), tone_of(cell.verdict))


def _rows(artifact: _Artifact, names: dict[str, str], *, routed: bool) -> Table:
    """A row a verdict; GPUs of a target that fare alike share it."""
    alike: dict[tuple[str, str, _CellVerdict], list[str]] = {}
    for cell, judged in artifact.cells.items():
        alike.setdefault((cell.target, cell.route, judged), []).append(cell.gpu)
    partly = any(judged.not_judged for judged in artifact.cells.values())
    unnamed = ("none named", "")  # what is no module goes to no GPU
    named = any(cell.gpu for cell in artifact.cells)
    columns = (
        *([Column("target")] if len(names) > 1 else []),
        *([Column("GPU", width=10)] if named else []),
        *([Column("route")] if routed else []),
        Column("verdict"),
        *([Column("modules"), Column("picked", width=8)] if named else []),
        *([Column("not judged")] if partly else []),
    )
    rows = tuple(
        (
            *([names[target]] if len(names) > 1 else []),
            *([", ".join(gpus) or unnamed[not judged.coverage.modules]] if named else []),
            *([route] if routed else []),
            Toned(judged.verdict_word, tone_of(judged.verdict)),
            *(_picked(judged.coverage) if named else []),
            *([", ".join(judged.not_judged)] if partly else []),
        )
        for (target, route, judged), gpus in alike.items()
    )
    return Table(columns, rows)


def _picked(coverage: Coverage) -> tuple[str, str]:
    if not coverage.modules:
        return "", ""
    ways = (("SASS", coverage.sass), ("PTX", coverage.ptx), ("link", coverage.link))
    used = [(word, number) for word, number in ways if number]
    text = used[0][0] if len(used) == 1 else ", ".join(f"{word} {n:,}" for word, n in used)
    return f"{coverage.served:,} of {coverage.modules:,}", text


def _document(records: Iterable[Target | Result | Failure], options: Options) -> Iterator[str]:
    # Imported here: a table needs no JSON.
    from ltocompat.report.verbs.check_json import document

    return document(records, options)


REPORT: FindingReport[Target | Result] = FindingReport(blocks, _document, iter)
