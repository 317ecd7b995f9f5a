"""The cells of an answer, each a target, a GPU and a route: their names, and facts on targets."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from string import ascii_uppercase

from msgspec import Struct

from ltocompat.model.generic import grouped
from ltocompat.model.target import ANY_DRIVER, Target, VersionSet
from ltocompat.model.verdict import Result
from ltocompat.report.text import clip

_LONGEST_NAME = 16  # of a target's name that is used as it is


class Cell(Struct, frozen=True):
    """One cell of an artifact.

    Attributes:
        target: name of the deploy target.
        gpu: name of the GPU; empty if the target names none.
        route: ``load`` or ``link``; empty if modules go one way only.
    """

    target: str
    gpu: str
    route: str


def cell_of(result: Result) -> Cell:
    """Return the cell of a result."""
    gpu = result.gpu.name if result.gpu else ""
    return Cell(result.target.name, gpu, str(result.route or ""))


def labels(names: Sequence[str]) -> dict[str, str]:
    """Return labels of targets for tables: names, or letters if a name is long."""
    if all(len(name) <= _LONGEST_NAME for name in names):
        return {name: name for name in names}
    # A, B .. Z, AA, AB .. as spreadsheets count.
    sized = (product(ascii_uppercase, repeat=size) for size in itertools.count(1))
    letters = map("".join, itertools.chain.from_iterable(sized))
    return dict(zip(names, letters, strict=False))


class CellNames(Struct, frozen=True):
    """Names of the cells of an answer.

    Attributes:
        every: all cells.
        names: the names of the targets.
    """

    every: Sequence[Cell] = ()
    names: Mapping[str, str] = {}

    def words(self, some: Iterable[Cell]) -> str:
        """``all targets``, ``h100, l4``, ``A (h100), B``; empty if there is one cell in all."""
        held = set(some)
        if len(self.every) < 2:
            return ""
        one_target = len({cell.target for cell in self.every}) == 1
        if held.issuperset(self.every):
            one_gpu = len({cell.gpu for cell in self.every}) == 1
            return "all targets" if not one_target else "all routes" if one_gpu else "all GPUs"
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
        """The name of the target, if these cells are of one target out of several; else empty."""
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
        words.append(" ".join(part for part in (gpu_names(filter(None, names)), by) if part))
    return "; ".join(words)


def gpu_names(gpus: Iterable[str]) -> str:
    """Return GPUs in a row, with ``sm_`` in front of the first alone: ``sm_80, 86, 89``."""
    names = [*gpus]
    text = ", ".join(names)
    return text.replace(", sm_", ", ") if all(name.startswith("sm_") for name in names) else text


def target_facts(target: Target) -> list[str]:
    """Return the values of a target and their sources."""
    words, sources = list[str](), dict(target.sources)
    for word in ("driver", "cuda-compat", "nvJitLink", "NVRTC", "nvlink"):
        key = word.lower().removeprefix("cuda-")
        known: VersionSet[object] | None = getattr(target, key)
        if known is not None:
            words.append(f"{word} {_version(known)} ({sources.get(key, known.source)})")
    if not target.lto:
        words.append("links without -lto")
    if target.gpus:
        source = f" ({sources['gpu']})" if "gpu" in sources else ""
        words.append(f"GPU {', '.join(map(str, target.gpus))}{source}")
    return [*words, f"on {target.system}"]


def where_files_go(target: Target) -> str:
    """Describe a target without a system for Windows files; empty for other files."""
    if target.system.name != "windows" or "os" in dict(target.sources):
        return ""
    known = target.driver
    driver = f"driver {_version(known)} ({known.source})" if known else "no driver is known"
    return f"on windows: {driver}"


def _version(known: VersionSet[object]) -> str:
    """As it was written; where that is not a version, what it came to."""
    values = (", " if known.every else " or ").join(map(str, known.values[:3]))
    cut = clip(values + ", .." * (len(known.values) > 3), 40)
    return known.text if known.text[:1].isdigit() or known.text == ANY_DRIVER or not values else cut


def sources_are_plain(target: Target) -> bool:
    """Return whether its name says everything: the inline values, or why nothing is known."""
    given = "=" in target.name and all(source == "given" for _, source in target.sources)
    return given or bool(target.untold)
