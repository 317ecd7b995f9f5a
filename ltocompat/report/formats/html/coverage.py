"""Which GPU architectures an artifact serves, and by what, as a picture in an HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter

from msgspec import Struct

from ltocompat.model.requirement import NEXT, Required
from ltocompat.model.verdict import Result
from ltocompat.report.sorted_records import SortedRecords

_STEPS = 10


class _Column(Struct, frozen=True):
    """An architecture and what serves it.

    Attributes:
        arch: ``sm_90``, or ``next`` for the one after all that are known.
        name: the generation; empty if it isn't known.
        sass: number of modules whose SASS runs on this architecture.
        ptx: number of modules whose PTX the driver compiles for this architecture.
        link: number of modules that are linked for this architecture.
        driver: the least one there; empty if nothing serves or no floor is known.
    """

    arch: str
    name: str
    sass: int
    ptx: int
    link: int
    driver: str


class Picture(Struct, frozen=True):
    """The coverage of an artifact.

    Attributes:
        path: the path of the artifact.
        modules: number of its modules.
        runs: ranges of neighbouring architectures with the same support.
    """

    path: str
    modules: int
    runs: tuple[tuple[_Column, ...], ...]

    def step(self, number: int) -> int:
        """The shade of a number of its modules."""
        return max(1, round(_STEPS * min(number / self.modules, 1)))


def pictures(answer: SortedRecords) -> Iterator[Picture]:
    """Yield a picture for each artifact; none if nothing is known."""
    artifacts = answer.artifacts
    for path in dict.fromkeys((*artifacts, *answer.required)):
        required = answer.required.get(path)
        own = artifacts[path].results if path in artifacts else []
        columns = list(_required_columns(required) if required else _columns_of_targets(own))
        modules = required.modules if required else max(result.coverage.modules for result in own)
        if columns and modules:
            alike = groupby(columns, key=attrgetter("sass", "ptx", "link", "driver"))
            yield Picture(path, modules, tuple(tuple(run) for _, run in alike))


def _required_columns(required: Required) -> Iterator[_Column]:
    for service in required.services:
        driver = f"{service.driver}" if service.driver else "none known" if service.beyond else ""
        arch = NEXT if service.name == NEXT else f"sm_{service.number}"
        name = "" if service.name == NEXT else service.name
        yield _Column(arch, name, service.sass, service.ptx, service.link, driver)


def _columns_of_targets(results: Iterable[Result]) -> Iterator[_Column]:
    """The architectures of the targets' GPUs; of several verdicts on one, the most modules."""
    found: dict[str, _Column] = {}
    for result in results:
        if result.gpu is None:
            continue
        arch, served = str(result.gpu.arch), result.coverage
        old = found.get(arch, _Column(arch, "", 0, 0, 0, ""))
        numbers = (max(old.sass, served.sass), max(old.ptx, served.ptx), max(old.link, served.link))
        found[arch] = _Column(arch, "", *numbers, "")
    yield from sorted(found.values(), key=lambda column: (len(column.arch), column.arch))
