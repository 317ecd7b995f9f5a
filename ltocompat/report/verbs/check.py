"""The answer of ``check`` as blocks: a word a cell, then what was found, worst first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from ltocompat.model.place import Place
from ltocompat.model.target import Target
from ltocompat.model.verdict import Coverage, Result, Verdict
from ltocompat.report import Failure, Options, Report
from ltocompat.report.document import Block, Code, Column, Heading, Items, Paragraph, Table
from ltocompat.report.matrix_cells import (
    Cell,
    cell_of,
    labels,
    said_cells,
    sources_are_plain,
    target_facts,
)
from ltocompat.report.text import brief, count
from ltocompat.report.told import Telling

_PIPED = 120  # columns that a table with a column a cell may take where nothing limits them
_PATH = 24  # the least columns of a path
_MANY = 4  # artifacts from which on one table that tells less is better than a table each
_GAP = 2


class _Said(NamedTuple):
    """What a table shows of a result."""

    verdict: Verdict
    coverage: Coverage
    not_judged: tuple[str, ...]

    def word(self) -> str:
        """``ok 1,617/2,638``, ``fail``, ``ok, not judged: load``."""
        word = str(self.verdict)
        if self.verdict < Verdict.UNKNOWN and self.coverage.modules > 1:
            word += f" {self.coverage.served:,}/{self.coverage.modules:,}"
        return word + (f", not judged: {', '.join(self.not_judged)}" if self.not_judged else "")


@dataclass(slots=True)
class _Artifact:
    """What is kept of one artifact."""

    path: str
    modules: int = 0
    cells: dict[Cell, _Said] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)

    def add(self, result: Result) -> None:
        self.modules = max(self.modules, result.coverage.modules)
        cell = _Said(result.verdict, result.coverage, result.not_judged)
        self.cells[cell_of(result)] = cell
        self.results.append(result)

    @property
    def worst(self) -> Verdict:
        return max(cell.verdict for cell in self.cells.values())

    def title(self, options: Options) -> tuple[str, ...]:
        text = count(self.modules, "module") if self.modules else "no module was read"
        name = brief(self.path) if options.together else Place(self.path)
        return (Code(name), f": {text}")


def blocks(records: Iterable[Target | Result | Failure], options: Options) -> Iterator[Block]:
    """One table of all artifacts where it fits, else a table each; then findings.

    Args:
        records: the targets, then the results.
        options: what the reader asked for.
    """
    targets: list[Target] = []
    artifacts: dict[str, _Artifact] = {}
    empty: set[str] = set()
    for record in records:
        if isinstance(record, Failure):
            continue
        if isinstance(record, Target):
            targets.append(record)
        elif record.without_device_code:
            empty.add(record.path)
        else:
            artifacts.setdefault(record.path, _Artifact(record.path)).add(record)
    if artifacts:
        names = labels([target.name for target in targets])
        # What holds on any target is no target of the user's, and needs no letter.
        cells = (cell for artifact in artifacts.values() for cell in artifact.cells)
        names = {cell.target: cell.target for cell in cells} | names
        yield from _targets(targets, names)
        yield from _tables(list(artifacts.values()), names, options)
    if empty:
        yield Paragraph((f"{count(len(empty), 'file')} without device code",))
    if not artifacts and not empty:
        yield Paragraph(("nothing was judged",))
    elif artifacts and not any(each_artifact.modules for each_artifact in artifacts.values()):
        yield Paragraph(("no device code was judged",))


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
        named = [(each_target, names[each_target.name]) for each_target in targets]
        lines = [_target(one, label if label != one.name else "") for one, label in named]
        yield Items("targets", tuple(lines))


def _target(target: Target, label: str) -> tuple[str, ...]:
    letter = (label, " ") if label else ()
    facts = () if sources_are_plain(target) else (": ", target_facts(target))
    return (*letter, Code(target.name), *facts)


def _tables(artifacts: list[_Artifact], names: dict[str, str], options: Options) -> Iterator[Block]:
    together = _one_table(artifacts, names, options) if len(artifacts) > 1 else None
    if together is not None:
        yield Paragraph((_summary(artifacts),))
        yield together
        yield from _told(artifacts, names, options)
        return
    for artifact in artifacts:
        yield Heading(artifact.title(options))
        yield _own_table(artifact, names, options)
        yield from _told([artifact], names, options)


def _told(artifacts: list[_Artifact], names: dict[str, str], options: Options) -> Iterator[Block]:
    telling = Telling()
    every = list(dict.fromkeys(cell for each_artifact in artifacts for cell in each_artifact.cells))
    for artifact in artifacts:
        for result in artifact.results:
            telling.add(result, why=options.why)
    yield from telling.blocks(partial(said_cells, every=every, names=names))


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
    every = [cell for each_artifact in artifacts for cell in each_artifact.cells]
    keys = list(dict.fromkeys((c.target, c.gpu) if by_gpu else (c.target, "") for c in every))
    heads = [_head(target, gpu, names) for target, gpu in keys]
    routed = any(cell.route for cell in every)
    rows = []
    for artifact in artifacts:
        for route in dict.fromkeys(cell.route for cell in artifact.cells):
            words = [
                _word(
                    [
                        each_cell
                        for cell, each_cell in artifact.cells.items()
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


def _word(several: list[_Said]) -> str:
    """The word of one cell; of the GPUs of a target the worst, and how many fare so."""
    words = list(dict.fromkeys(cell.word() for cell in several))
    if len(words) <= 1:
        return "".join(words)
    worst = max(each_cell.verdict for each_cell in several)
    number = sum(said.verdict is worst for said in several)
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
                *(artifact.cells[Cell(target, gpu, route)].word() for gpu in gpus),
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
    alike: dict[tuple[str, str, _Said], list[str]] = {}
    for cell, said in artifact.cells.items():
        alike.setdefault((cell.target, cell.route, said), []).append(cell.gpu)
    partly = any(each_cell.not_judged for each_cell in artifact.cells.values())
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
            *([", ".join(gpus) or unnamed[not said.coverage.modules]] if named else []),
            *([route] if routed else []),
            str(said.verdict),
            *(_picked(said.coverage) if named else []),
            *([", ".join(said.not_judged)] if partly else []),
        )
        for (target, route, said), gpus in alike.items()
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


REPORT: Report[Target | Result] = Report(blocks, _document)
