"""Which cells of a check (targets, GPUs, routes) a thing holds for, in few words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count, groupby, product
from string import ascii_uppercase

from msgspec import Struct

from ltocompat.model.matrix import Matrix
from ltocompat.model.target import Target, VersionSet
from ltocompat.model.verdict import Result
from ltocompat.report.text import clip, grouped

_LONGEST_NAME = 16  # of a target's name that is used as it is


class Cell(Struct, frozen=True):
    """One cell of an artifact.

    Attributes:
        target: name of the deploy target.
        gpu: name of the GPU; empty where the target names none.
        route: ``load`` or ``link``; empty where modules go one way only.
    """

    target: str
    gpu: str
    route: str


def cell_of(result: Result) -> Cell:
    """The cell that a result stands in."""
    return Cell(
        result.target.name,
        result.gpu.name if result.gpu else "",
        str(result.route) if result.route else "",
    )


def labels(names: Sequence[str]) -> dict[str, str]:
    """Return labels of targets for tables: names, or letters where a name is long."""
    if all(len(name) <= _LONGEST_NAME for name in names):
        return {name: name for name in names}
    # A, B .. Z, AA, AB .. as spreadsheets count.
    letters = ("".join(word) for size in count(1) for word in product(ascii_uppercase, repeat=size))
    return dict(zip(names, letters, strict=False))


class CellNames(Struct, frozen=True):
    """Names of the cells of an answer.

    Attributes:
        every: all of them.
        names: of the targets.
    """

    every: Sequence[Cell] = ()
    names: Mapping[str, str] = {}

    def words(self, some: Iterable[Cell]) -> str:
        """``all``, ``h100 and rtx4090``, ``A (h100), B``; empty where there is one cell in all."""
        held = set(some)
        if len(self.every) < 2:
            return ""
        if held.issuperset(self.every):
            return "all"
        one_target = len({cell.target for cell in self.every}) == 1
        words = []
        for target in dict.fromkeys(cell.target for cell in self.every if cell in held):
            of_target = [cell for cell in self.every if cell.target == target]
            inner = [cell for cell in of_target if cell in held]
            if one_target:
                words.append(_within(inner))
            elif len(inner) == len(of_target):
                words.append(self.names[target])
            else:
                words.append(f"{self.names[target]} ({_within(inner)})")
        return ", ".join(words)

    def only_target(self, some: Iterable[Cell]) -> str:
        """The name of the target, where there are several and these cells are of one; else none."""
        targets = {cell.target for cell in some}
        if len({cell.target for cell in self.every}) < 2 or len(targets) != 1:
            return ""
        return self.names[targets.pop()]


def _within(cells: Iterable[Cell]) -> str:
    """Cells as their target calls them: ``h100, l4 by link``."""
    routes = grouped((cell.gpu, cell.route) for cell in cells)
    gpus = grouped((" and ".join(filter(None, ways)), gpu) for gpu, ways in routes.items())
    words = []
    for way, names in gpus.items():
        by = f"by {way}" if way else ""
        words.append(" ".join(part for part in (", ".join(filter(None, names)), by) if part))
    return "; ".join(words)


def target_facts(target: Target) -> str:
    """List the values of a target and their sources, for a target whose name does not show them."""
    words = []
    for word, known in (
        ("driver", target.driver),
        ("cuda-compat", target.compat),
        ("nvJitLink", target.nvjitlink),
        ("NVRTC", target.nvrtc),
        ("nvlink", target.nvlink),
    ):
        if known is not None:
            words.append(f"{word} {_version(known)} ({known.source})")
    if target.gpus:
        sources = dict(target.sources)
        source = f" ({sources['gpu']})" if "gpu" in sources else ""
        words.append(f"GPU {', '.join(map(str, target.gpus))}{source}")
    words.append(f"on {target.system}")
    return ", ".join(words)


def where_files_go(target: Target) -> str:
    """Describe a target that names no system as files for Windows see it; empty for other files."""
    if target.system.name != "windows" or "os" in dict(target.sources):
        return ""
    known = target.driver
    driver = f"driver {_version(known)} ({known.source})" if known else "no driver is known"
    return f"on windows: {driver}"


def _version(known: VersionSet[object]) -> str:
    """As it was written; where that is no version, what it came to."""
    values = ", ".join(map(str, known.values[:3])) + (", .." if len(known.values) > 3 else "")
    return known.text if known.text[:1].isdigit() or not values else clip(values, 40)


def sources_are_plain(target: Target) -> bool:
    """Everything was given inline and is its name."""
    return "=" in target.name and all(source == "given" for _, source in target.sources)


def subject(matrix: Matrix) -> str:
    """Describe the verdicts that a matrix holds."""
    what = "linked by each nvJitLink" if matrix.what == "nvJitLink" else "loaded by each driver"
    tried = ", tried with each linker" if matrix.tried else ""
    return f"{what} for each architecture{tried}"


def runs(values: Sequence[object]) -> list[range]:
    """Neighbours that are equal, as ranges of their indices."""
    groups = ([*group] for _, group in groupby(range(len(values)), key=values.__getitem__))
    return [range(group[0], group[-1] + 1) for group in groups]


def row_runs(matrix: Matrix) -> list[range]:
    """Neighbouring rows with equal verdicts."""
    return runs([[result.verdict for result in row] for row in matrix.cells])
