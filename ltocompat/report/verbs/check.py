"""The answer of ``check`` as blocks: a word a cell, then what was found, worst first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ltocompat.model.place import Place
from ltocompat.model.target import Target
from ltocompat.model.verdict import Coverage, Extent, Result, Verdict
from ltocompat.report import Failure, Options
from ltocompat.report.document import (
    Block,
    Code,
    Column,
    Heading,
    Items,
    Paragraph,
    Table,
    Toned,
    tone_of,
)
from ltocompat.report.finding_blocks import FindingTally
from ltocompat.report.grouped_findings import (
    FindingReport,
    Judgement,
    Judgements,
    grouped_findings,
    sort_out,
)
from ltocompat.report.matrix_cells import (
    Cell,
    CellNames,
    cell_of,
    labels,
    sources_are_plain,
    target_facts,
)
from ltocompat.report.text import brief, count

_PIPED = 120  # columns that a table with a column a cell may take where nothing limits them
_PATH = 24  # the least columns of a path
_MANY = 4  # artifacts from which on one table that tells less is better than a table each
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
    """One table of all artifacts where it fits, else a table each; then findings.

    Args:
        records: the targets, then the results.
        options: what the reader asked for.
    """
    judgements = sort_out(records)
    artifacts: dict[str, _Artifact] = {}
    for result in judgements.results:
        artifact = artifacts.setdefault(result.path, _Artifact(result.path))
        artifact.add(result)
    if artifacts:
        names = _target_names(judgements)
        tally = FindingTally(options)
        if not options.quiet:
            yield from _targets(judgements.targets, names)
        yield from _tables(list(artifacts.values()), names, options, tally)
        yield from tally.closing()
    if judgements.empty and not options.quiet:
        yield Paragraph((f"{count(len(judgements.empty), 'file')} without device code",))
    if not artifacts and not judgements.empty:
        yield Paragraph(("nothing was judged",))
    elif artifacts and not any(artifact.modules for artifact in artifacts.values()):
        yield Paragraph(("no device code was judged",))


def _target_names(judgements: Judgements) -> dict[str, str]:
    """What to call the targets; what holds on any target is none of the user's: no letter."""
    in_results = (result.target.name for result in judgements.results)
    named = labels([target.name for target in judgements.targets])
    return {name: name for name in in_results} | named


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


def _tables(
    artifacts: list[_Artifact], names: dict[str, str], options: Options, tally: FindingTally
) -> Iterator[Block]:
    together = _one_table(artifacts, names, options) if len(artifacts) > 1 else None
    if together is not None:
        if not options.quiet:
            yield Paragraph((_summary(artifacts),))
            yield together
        yield from _findings(artifacts, names, options, tally)
        return
    for artifact in artifacts:
        if not options.quiet:
            yield Heading(artifact.title(options))
            yield _own_table(artifact, names, options)
        yield from _findings([artifact], names, options, tally)


def _findings(
    artifacts: list[_Artifact], names: dict[str, str], options: Options, tally: FindingTally
) -> Iterator[Block]:
    every = list(dict.fromkeys(cell for artifact in artifacts for cell in artifact.cells))
    cells = CellNames(every, names)
    results = [result for artifact in artifacts for result in artifact.results]
    yield from tally.blocks(grouped_findings(results, join=True), cells)
    if options.why:
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


def _fits(
    columns: Sequence[str], rows: Iterable[Sequence[str]], first: int, width: int | None
) -> bool:
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    return first + sum(size + _GAP for size in widths) <= (width or _PIPED)


def _one_table(artifacts: list[_Artifact], names: dict[str, str], options: Options) -> Table | None:
    """A row an artifact (and route), a column a target and GPU; None where that is too wide.

    Of many artifacts a column may stand for a whole target.
    """
    table = _wide_table(artifacts, names, options, by_gpu=True)
    if table is None and len(artifacts) >= _MANY:
        return _wide_table(artifacts, names, options, by_gpu=False)
    return table


def _wide_table(
    artifacts: list[_Artifact], names: dict[str, str], options: Options, *, by_gpu: bool
) -> Table | None:
    every = [cell for artifact in artifacts for cell in artifact.cells]
    keys = list(dict.fromkeys((c.target, c.gpu) if by_gpu else (c.target, "") for c in every))
    heads = [_head(target, gpu, names) for target, gpu in keys]
    routed = any(cell.route for cell in every)
    rows = []
    for artifact in artifacts:
        for route in dict.fromkeys(cell.route for cell in artifact.cells):
            words = [
                _toned(
                    [
                        judged
                        for cell, judged in artifact.cells.items()
                        if (cell.target, cell.route) == (target, route)
                        and (cell.gpu == gpu or not by_gpu)
                    ]
                )
                for target, gpu in keys
            ]
            rows.append((Code(Place(artifact.path)), *([route] if routed else []), *words))
    longest = max(len(row[0]) for row in rows)
    offset = 2 if routed else 1
    first = min(longest, _PATH) + (8 if routed else 0)
    if not _fits(heads, [row[offset:] for row in rows], first, options.width):
        return None
    columns = [Column("artifact", width=_PATH), *([Column("route")] if routed else [])]
    return Table((*columns, *map(Column, heads)), tuple(rows))


def _toned(several: list[_CellVerdict]) -> Toned:
    worst = max((cell.verdict for cell in several), default=Verdict.OK)
    return Toned(_word(several), tone_of(worst))


def _word(several: list[_CellVerdict]) -> str:
    """The word of one cell; of the GPUs of a target the worst, and how many fare so."""
    words = list(dict.fromkeys(cell.word() for cell in several))
    if len(words) <= 1:
        return "".join(words)
    worst = max(cell.verdict for cell in several)
    number = sum(cell.verdict is worst for cell in several)
    return str(worst) if number == len(several) else f"{worst} on {number} of {len(several)}"


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
                *(_toned([artifact.cells[Cell(target, gpu, route)]]) for gpu in gpus),
            )
            for target in targets
            for route in routes
        ]
        heads = ["target", *(["route"] if any(routes) else []), *gpus]
        if _fits(heads, rows, 0, options.width):
            return Table(tuple(map(Column, heads)), tuple(rows))
    return _rows(artifact, names, routed=any(routes))


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
