"""Who sets a floor: the distribution, library and code behind the minimum driver or nvJitLink."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.model.arch import version_numbers
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.cuda_tag import without_tags
from ltocompat.model.generic import grouped
from ltocompat.model.location import Location
from ltocompat.model.requirement import NEXT, FloorSetter, GpuSupport, Required
from ltocompat.model.target import System
from ltocompat.packages.reading import owner
from ltocompat.packages.values import Kind, Package
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.rules.rule import Component
from ltocompat.rules.services import lacks_kernels

_NONE, _NO_CODE = (1,), (2,)
"""Floors above all others: no known version works, and no version works."""


class Library(Struct, frozen=True):
    """A library, or another file with device code, and its requirements.

    Attributes:
        distribution: the distribution that installed it, ``torch 2.4.0``; else the named file.
        place: its place.
        needs: its requirements.
        system: its operating system.
    """

    distribution: str
    place: Location
    needs: Required
    system: System


def libraries_of(
    summary: ArtifactSummary, whole: Required, package: Package | None, system: System
) -> Iterator[Library]:
    """Yield the libraries of an artifact, each by itself.

    Args:
        summary: the artifact, with the modules of different files apart.
        whole: the requirements of the whole artifact.
        package: the package that it is or belongs to.
        system: its operating system.
    """
    package = package or owner(summary.path)
    image = package is not None and package.kind == Kind.IMAGE
    named = "" if package is None or image else f"{package.name} {package.version}".strip()
    files = grouped((group.example.members[:1], group) for group in summary.groups)
    for members, groups in files.items():
        hosts = [host for host in summary.hosts if host.place.members[:1] == members]
        part = replace(summary, groups=groups, hosts=hosts, variants=())
        needs = whole if len(files) == 1 else required(part)
        place, origin = Location(summary.path, members), summary.origins.get("".join(members))
        inside = (origin.distribution if origin else "") or str(place)
        yield Library(inside if image else named or summary.path, place, needs, system)


def surveyed(pinned: Sequence[Package], folder: str, system: System) -> list[Library]:
    """Return the releases that a lock pins, as far as a survey has read their code.

    Raises:
        UnreadableInput: there is no survey in the folder, or it can't be read.
    """
    # Imported here: without a survey nobody needs DuckDB.
    from ltocompat.commands.survey.releases import Releases

    releases = Releases(folder)
    found = ((f"{each.name} {each.version}", releases.needs(each, system)) for each in pinned)
    return [Library(name, Location(needs.path), needs, system) for name, needs in found if needs]


# The minimum of one part of a target for a library: an order, its words, and its rules.
_Asked = tuple[tuple[Any, ...], str, tuple[str, ...]]
Floor = Callable[[Required], "_Asked | None"]


def floor_setters(libraries: Sequence[Library]) -> Iterator[FloorSetter]:
    """Yield the setter of each minimum of all libraries together.

    Args:
        libraries: of an environment, an image, a lock or several artifacts.
    """
    numbers = (each.number for lib in libraries for each in lib.needs.services if each.name != NEXT)
    known = dict.fromkeys(numbers)
    found_of = [_serving(each.needs, n) for n in known for each in libraries]
    served = dict.fromkeys(each.number for each in found_of if each and each.how != "none")
    found = [
        (setter, number)
        for number in served
        for component, floor in (("driver", _driver), ("GPU", _gpu))
        for setter in _setters(component, partial(floor, number), _opened(libraries, number))
    ]
    setters = [replace(setter, archs=tuple(archs)) for setter, archs in grouped(found).items()]
    setters += _setters("nvJitLink", _linker, libraries)
    # First what one distribution alone asks, last what several do.
    yield from sorted(
        setters, key=lambda each: (each.without == each.floor, each.component == "GPU")
    )


def _opened(libraries: Sequence[Library], number: int) -> list[Library]:
    """Leave one of the files that differ in the CUDA release of their names: the one that fits."""
    families = grouped(
        ((each.distribution, without_tags(str(each.place))), each) for each in libraries
    )
    order = lambda library: (_driver(number, library.needs) or (_NO_CODE,))[0]  # noqa: E731
    return [min(several, key=order) for several in families.values()]


def _setters(component: str, floor: Floor, libraries: Sequence[Library]) -> Iterator[FloorSetter]:
    """The distributions with the highest floor, each by the library that sets it."""
    asked = [(each, found) for each in libraries if (found := floor(each.needs)) is not None]
    highest = max((found[0] for _, found in asked), default=())
    setting = {each.distribution: each for each, found in asked[::-1] if found[0] == highest}
    for distribution, library in setting.items():
        _, text, rules = next(found for each, found in asked if each is library)
        others = [found[:2] for each, found in asked if each.distribution != distribution]
        named = [need for need in library.needs.asked if need.rule in rules]
        code = next((need for need in named if need.constraint == text), (*named, None)[0])
        place, subject = (code.example, code.subject) if code else (library.place, "")
        _, without = max(others, default=((), ""))
        yield FloorSetter(component, text, distribution, place, (), rules, subject, without)


def _serving(needs: Required, number: int) -> GpuSupport | None:
    found = (service for service in needs.services if service.number == number)
    code = (each for each in found if each.how != "none" or each.driver)
    return next((each for each in code if not each.hardly), None)


def _driver(number: int, needs: Required) -> _Asked | None:
    service = _serving(needs, number)
    if service is None:
        return None
    linking = {need.rule for need in needs.asked if need.component == Component.LINKER}
    setting = (rule for route in service.routes for rule in route.set_by)
    rules = tuple(dict.fromkeys(rule for rule in setting if rule not in linking))
    if service.driver is None:
        return _NONE, "no known driver", rules
    return (0, service.driver.numbers), f">= {service.driver}", rules


def _gpu(number: int, needs: Required) -> _Asked | None:
    missing = not lacks_kernels(needs) and needs.modules and _serving(needs, number) is None
    return (_NONE, "no code", ()) if missing else None


def _linker(needs: Required) -> _Asked | None:
    least = needs.nvjitlink
    return ((0, least.at_least), f">= {least.at_least}", least.rules) if least else None


def with_releases(libraries: Sequence[Library], folder: str | None) -> Iterator[FloorSetter]:
    """Add to each setter its newest release in a survey with a lower minimum.

    Args:
        libraries: of an environment, an image, a lock or several artifacts.
        folder: the survey's dataset; None for none.

    Raises:
        UnreadableInput: there is no dataset, or it can't be read.
    """
    if folder is None:
        yield from floor_setters(libraries)
        return
    # Imported here: without a survey nobody needs DuckDB.
    from ltocompat.commands.survey.releases import Releases

    releases = Releases(folder)
    systems = {each.place.path: each.system for each in libraries}
    for setter in floor_setters(libraries):
        name = setter.distribution.partition(" ")[0]
        known = setter.floor.startswith(">= ")
        below = version_numbers(setter.floor.removeprefix(">= ")) if known else None
        part = "nvJitLink" if setter.component == "nvJitLink" else "driver"
        archs = [f"sm_{number}" for number in setter.archs]
        release = releases.newest(name, part, archs, below, systems[setter.place.path])
        yield replace(setter, release=release)
