"""Verdicts on artifacts as rows of a table: a column for each GPU of a target, or each target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from ltocompat.model.generic import grouped
from ltocompat.model.target import ANY_TARGET
from ltocompat.model.verdict import OTHER_VARIANT, Result, Verdict, worst
from ltocompat.model.words import count
from ltocompat.report import Options
from ltocompat.report.cells import Cell, cell_of, where_files_go
from ltocompat.report.document import Code, Row, Styled, style_of
from ltocompat.report.text import common_folder, truncate

# The width up to which a table may have one column per cell, if there is no terminal.
PIPED = 120
_PATH = 24  # the least columns of a path
_WORD = 12  # columns of the longest verdict
_WORDS = 18  # of one that some of the GPUs have: ``fail 12 of 17 GPUs``
# Blanks between columns.
GAP = 2


def counts(result: Result) -> bool:
    """Return whether it affects its package."""
    return result.forgiven != OTHER_VARIANT


def verdict_word(result: Result) -> str:
    """``ok``, ``fail 1 of 794 modules``, ``fail (known)``."""
    word = str(result.verdict)
    # How many modules have what works is told by who is served.
    if result.verdict > Verdict.JIT and result.extent.partial:
        word += f" {result.extent}"
    return f"{word} ({result.forgiven})" if result.forgiven else word


def deciding_variant(result: Result) -> str:
    """``cu13 (of 2)``: the variant that decides; empty if there is no choice."""
    names = (variant.name.rsplit("/", 1)[-1] for variant in result.variants if variant.decides)
    return next((f"{name} (of {len(result.variants)})" for name in names), "")


class EvaluatedArtifact(Struct):
    """The verdicts on one artifact."""

    path: str
    cells: dict[Cell, Result] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)

    def add(self, result: Result) -> None:
        """Add the result of one more cell."""
        self.cells[cell_of(result)] = result
        self.results.append(result)

    @property
    def distribution(self) -> str:
        """Its package; empty if unknown."""
        return next((r.distribution for r in self.results if r.distribution), "")

    @property
    def worst(self) -> Verdict:
        """The worst of its verdicts."""
        return worst((Verdict.OK, *(cell.verdict for cell in self.cells.values() if counts(cell))))

    def title(self) -> tuple[str, ...]:
        """Its name, and its number of modules."""
        modules = max(result.coverage.modules for result in self.results)
        text = count(modules, "module") if modules else "no device code"
        elsewhere = dict.fromkeys(filter(None, (where_files_go(r.target) for r in self.results)))
        return (Code(truncate(self.path)), f": {text}", *(f"; {words}" for words in elsewhere))


class CellColumn(Struct, frozen=True):
    """A column of verdicts for a GPU of a target, or for a whole target, or for all targets.

    Attributes:
        target: the target; None for all.
        gpu: the GPU; None for all of the target.
        head: its heading.
        width: its columns of a terminal.
    """

    target: str | None
    gpu: str | None
    head: str
    width: int

    def holds(self, cell: Cell) -> bool:
        """Return whether it shows the verdict of a cell."""
        return self.target in (None, cell.target) and self.gpu in (None, cell.gpu)


def columns_of(
    artifacts: Sequence[EvaluatedArtifact], names: Mapping[str, str], options: Options
) -> tuple[CellColumn, ...]:
    """Return a column per target and GPU, or per target, or else for all targets or none.

    Args:
        artifacts: the artifacts with the verdicts.
        names: the names of the targets.
        options: the reader's options. Packages need one table, of which these are all artifacts:
            its columns are as narrow as their verdicts, and one column for all targets stands where
            even these are too wide.
    """
    cells = [cell for artifact in artifacts for cell in _telling(artifact.cells)]
    by_gpu: list[tuple[str, str | None]] = [(cell.target, cell.gpu) for cell in cells]
    by_target = [(target, None) for target, _ in by_gpu]
    verdicts = (cell.verdict for file in artifacts for cell in file.cells.values())
    word = max(len(str(verdict)) for verdict in verdicts) if options.packages else _WORD
    for pairs, size in ((by_gpu, word), (by_target, _WORDS)):
        columns = tuple(
            CellColumn(name, gpu, head := _head(name, gpu, names), max(len(head), size))
            for name, gpu in dict.fromkeys(pairs)
        )
        if sum(column.width + GAP for column in columns) <= (options.width or PIPED) - _PATH:
            return columns
    return (CellColumn(None, None, "verdict", word),) if options.packages else ()


def _telling(cells: Mapping[Cell, Result]) -> dict[Cell, Result]:
    """Return the cells without an ``ok`` on every target, if there is a cell of a target, too."""
    of_targets = {c: result for c, result in cells.items() if c.target != ANY_TARGET.name}
    worse = any(result.verdict > Verdict.OK for c, result in cells.items() if c not in of_targets)
    return of_targets if of_targets and not worse else {**cells}


_Columns = Sequence[CellColumn]


def rows_as_they_come(
    artifacts: Iterable[EvaluatedArtifact],
    columns: _Columns,
    root: str,
    seen: list[EvaluatedArtifact],
) -> Iterator[Row]:
    """Yield a row for each artifact and route, which is also kept in ``seen``."""
    for artifact in artifacts:
        seen.append(artifact)
        yield from _rows_of(artifact, columns, artifact.path.removeprefix(root))


def rows_by_package(artifacts: Sequence[EvaluatedArtifact], columns: _Columns) -> Iterator[Row]:
    """Yield a row for each package, the worst first; below it, its files that have a problem.

    A package with a single file has only its name: findings have the place.
    """
    for package, files in by_package(artifacts):
        if len(files) == 1:
            yield from _rows_of(files[0], columns, package)
            continue
        cells = [(cell, judged) for file in files for cell, judged in file.cells.items()]
        words = [_worst_word(j for cell, j in cells if column.holds(cell)) for column in columns]
        yield Row((*words, Code(f"{package}: {count(len(files), 'file')}")))
        if max(file.worst for file in files) > Verdict.JIT:
            folder = common_folder(file.path for file in files)
            for file in (file for file in files if file.worst > Verdict.JIT):
                yield from _rows_of(file, columns, f"  {file.path.removeprefix(folder)}")


def by_package(artifacts: Iterable[EvaluatedArtifact]) -> list[tuple[str, list[EvaluatedArtifact]]]:
    """Return the artifacts of each package, the worst first; other artifacts are alone."""
    packages = grouped((file.distribution or file.path, file) for file in artifacts)
    for files in packages.values():
        files.sort(key=lambda file: _verdicts([file]), reverse=True)
    return sorted(packages.items(), key=lambda package: _verdicts(package[1]), reverse=True)


def _verdicts(artifacts: Iterable[EvaluatedArtifact]) -> list[Verdict]:
    """The worst verdict on each GPU of each target, the worst first."""
    cells = (cell for artifact in artifacts for cell in artifact.cells.items())
    of_cell = grouped((cell, judged.verdict) for cell, judged in cells if counts(judged))
    return sorted(map(max, of_cell.values()), reverse=True)


def _rows_of(artifact: EvaluatedArtifact, columns: _Columns, name: str) -> Iterator[Row]:
    """A row for each route."""
    for route in dict.fromkeys(cell.route for cell in artifact.cells):
        of_route = {c: v for c, v in artifact.cells.items() if c.route == route}
        words = [
            (_styled if column.target else _worst_word)(
                [v for cell, v in of_route.items() if column.holds(cell)]
            )
            for column in columns
        ]
        yield Row((*words, Code(name + _more_of(route, of_route, columns))))


def _worst_word(several: Iterable[Result]) -> str:
    verdicts = [judged.verdict for judged in several if counts(judged)]
    return Styled(str(max(verdicts)), style_of(max(verdicts))) if verdicts else ""


def _more_of(route: str, cells: Mapping[Cell, Result], columns: _Columns) -> str:
    """Return the facts that a row has no column for: ``  by load  (not checked: link)``."""
    by = f"  by {route}" if route else ""
    halves = dict.fromkeys(half for verdict in cells.values() for half in verdict.not_judged)
    forgiven = dict.fromkeys(verdict.forgiven for verdict in cells.values() if verdict.forgiven)
    others = [
        f"{cell.target}: {verdict.verdict}"
        for cell, verdict in _telling(cells).items()
        if not any(column.holds(cell) for column in columns)
    ]
    more = [*([f"not checked: {', '.join(halves)}"] if halves else []), *forgiven, *others]
    return f"{by}  ({'; '.join(more)})" if more else by


def _styled(several: list[Result]) -> str:
    """The worst verdict of several GPUs, and how many fare so."""
    if not several:
        return ""
    worst = max(cell.verdict for cell in several)
    of_gpus = [cell.verdict for cell in several if cell.gpu]
    number, every = of_gpus.count(worst), len(of_gpus)
    text = f"{worst} {number} of {every} GPUs" if 0 < number < every else str(worst)
    return Styled(text, style_of(worst))


def _head(target: str, gpu: str | None, names: Mapping[str, str]) -> str:
    if target == ANY_TARGET.name and len(names) > 1:
        return "packaging"
    return gpu or "verdict" if len(names) == 1 else f"{names[target]} {gpu or ''}".strip()
