"""The requirements of several artifacts on a machine that runs all of them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet

from ltocompat.model.cuda_tag import tagged_path, without_tags
from ltocompat.model.generic import grouped
from ltocompat.model.requirement import GpuSupport, LinkerFloor, PasteLine, Required
from ltocompat.model.words import count
from ltocompat.rules.engine.metadata_lines import joint_versions
from ltocompat.rules.engine.paste_lines import conda_linker, machine_lines
from ltocompat.rules.services import (
    HOW,
    installed_linker,
    lacks_kernels,
    least_driver,
    promised,
    runs_anywhere,
    verdict_of,
)

_HOW = (*HOW, "none")


def joint(several: Sequence[Required]) -> Required:
    """Return the requirements of artifacts on a machine that runs all of them.

    The machine has a GPU with code in each artifact that doesn't run anywhere, and a driver for the
    code of each. Links of different majors of nvJitLink have no common minimum.
    """
    if len(several) == 1:
        return several[0]
    number, several = len(several), one_of_variants(several)
    left_out = f" (without {number - len(several)} of other CUDA releases)"
    coded = [each for each in several if each.modules]
    coded = [each for each in coded if not runs_anywhere(each)] or coded
    rows = grouped((s.number, (each, s)) for each in coded for s in each.services).values()
    linkers = grouped(
        (floor.ceiling, floor) for each in several if (floor := installed_linker(each))
    )
    floors = [_joint_linker(linkers[ceiling]) for ceiling in sorted(linkers)]
    beyond = next((each.no_nvjitlink for each in several if each.nvjitlink_beyond), "")
    wheels = ", others ".join(floor.wheel for floor in floors)
    apart = f"some need {wheels} (for exceptions, see each artifact)" if len(floors) > 1 else ""
    whole = Required(
        path=f"all {count(number, 'artifact')}{left_out if number > len(several) else ''}",
        modules=sum(each.modules for each in several),
        nvjitlink=None if beyond or apart or not floors else floors[0],
        no_nvjitlink=beyond or apart,
        services=tuple(map(_joint_service, rows)),
        asked=(),
        skipped=sum(each.skipped for each in several),
    )
    return replace(whole, lines=tuple(_lines(several, whole, floors)))


def one_of_variants(several: Sequence[Required]) -> list[Required]:
    """Leave one of the variants that differ in the CUDA release of their names.

    An environment has one of them: the least demanding one, as of the variants in a package.
    """
    left: list[Required] = []
    for alike in grouped((_family(each.path), each) for each in several).values():
        by_release = grouped((_release(each.path), each) for each in alike)
        left += min(by_release.values(), key=lambda some: max(map(_demand, some)))
    return sorted(left, key=several.index)


def _family(path: str) -> str:
    """The name of a wheel's project without a CUDA release; of another file, its path without."""
    project = posixpath.basename(path).partition("-")[0] if path.endswith(".whl") else ""
    name = without_tags(project.lower())
    return re.sub(r"[-_]?cu(?:da)?[-_]?v?\*$", "", name) if project else without_tags(path)


def _release(path: str) -> str:
    tagged = tagged_path(posixpath.basename(path) if path.endswith(".whl") else path)
    return tagged.version if tagged else ""


def _demand(needs: Required) -> tuple[bool, tuple[int, ...]]:
    driver = least_driver(needs, promised(needs.services))
    return driver is None, driver.numbers if driver else ()


def _joint_linker(floors: Sequence[LinkerFloor]) -> LinkerFloor:
    sure = [floor.sure for floor in floors if floor.sure]
    producers = [floor.newest_producer for floor in floors if floor.newest_producer]
    return LinkerFloor(
        max(floor.possible for floor in floors),
        max(sure) if len(sure) == len(floors) else None,
        floors[0].ceiling,
        tried=all(floor.tried for floor in floors),
        newest_producer=max(producers, default=None),
    )


def _joint_service(row: Sequence[tuple[Required, GpuSupport]]) -> GpuSupport:
    """The support for one GPU by several artifacts, of which each has to work."""
    several = sorted((service for _, service in row), key=verdict_of, reverse=True)
    coded = [service for needs, service in row if not lacks_kernels(needs)] or several
    how = max((service.how for service in coded), key=_HOW.index)
    drivers = [service.driver for service in several if service.driver]
    ends = [service.last_driver for service in several if service.last_driver]
    works = len(drivers) == len(several) and max(drivers) <= min(ends, default=max(drivers))
    linking = [service for needs, service in row if installed_linker(needs)]
    return replace(
        several[0],
        how=how,
        driver=max(drivers) if works else None,
        last_driver=min(ends, default=None) if works else None,
        beyond=how != "none" and not works,
        nvjitlink=max((s.nvjitlink for s in linking if s.nvjitlink), default=None),
        last_nvjitlink=min((s.last_nvjitlink for s in linking if s.last_nvjitlink), default=None),
        routes=tuple(chain.from_iterable(service.routes for service in several)),
        hardly=any(service.hardly for service in several),
        or_older=all(service.or_older for service in several),
    )


def _lines(
    several: Sequence[Required], whole: Required, floors: Sequence[LinkerFloor]
) -> Iterator[PasteLine]:
    """The lines that the metadata of all artifacts have, then those that some metadata lack."""
    every = list(dict.fromkeys(line for each in several for line in each.lines))
    yield from (line for line in every if line.met)
    lacking = {line.where for line in every if line.text and not line.met}
    made = [*machine_lines(whole), *(line for line in every if "sm_arch" in line.text)]
    if not any(service.driver for service in promised(whole.services)):
        text = "no known GPU and driver run all artifacts"
        made += [PasteLine(where, "", text) for where in ("conda", "container")]
    if len(floors) > 1:
        made += [PasteLine("pip", floor.wheel) for floor in floors]
        apart = " and ".join(map(conda_linker, floors))
        made.append(PasteLine("conda", "", f"{apart} exclude each other: no environment has both"))
    yield from (_tightened(line, every) for line in made if line.where in lacking)


def _tightened(line: PasteLine, every: Sequence[PasteLine]) -> PasteLine:
    """A line that allows no more than a line that the metadata of an artifact tighten."""
    name, bound, _ = line.text.partition(">=")
    alike = [each.text for each in every if each.text.startswith(f"{name}{bound}")]
    if not bound or line.where == "container":
        return line
    versions = joint_versions(*(SpecifierSet(text.removeprefix(name)) for text in alike))
    return replace(line, text=f"{name}{versions}") if versions else line
