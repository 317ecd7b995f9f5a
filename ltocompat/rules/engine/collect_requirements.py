"""The requirements of an artifact on every target: floors on every GPU, and their reasons."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from ltocompat.facts import nvjitlink_minors
from ltocompat.facts.gpus import gpus_in_use, sm
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import (
    ArtifactSummary,
    ModuleGroup,
    VariantParts,
    own_linker,
    variant_parts,
)
from ltocompat.model.image import HostBinary, ImageKind
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.model.location import Location
from ltocompat.model.projection import project
from ltocompat.model.requirement import (
    NEXT,
    NO_NVJITLINK,
    GpuSupport,
    LinkerFloor,
    ModuleRequirement,
    Required,
    RouteFloor,
    VariantFloors,
)
from ltocompat.model.target import DriverVersion, Gpu
from ltocompat.model.trial_answer import narrowed
from ltocompat.model.verdict import Route, Verdict
from ltocompat.rules.artifact_code import linked_by_driver
from ltocompat.rules.builtin_rules import SPARSE_COVERAGE
from ltocompat.rules.constraints import LinkerOfKnownMaker, least_version
from ltocompat.rules.engine.driver_floors import driver_floors, loaded
from ltocompat.rules.engine.engine import Engine
from ltocompat.rules.engine.find_floors import (
    Checked,
    LineFloors,
    asked_linkers,
    joint_floors,
    line_floors,
)
from ltocompat.rules.engine.paste_lines import on_windows, paste_lines
from ltocompat.rules.engine.picked_code import PickedCode
from ltocompat.rules.engine.routes import routes
from ltocompat.rules.linker_traits import traits_of
from ltocompat.rules.rule import Component, Constraint, Requirement, Unbounded
from ltocompat.rules.selection import Selection
from ltocompat.rules.services import HOW
from ltocompat.targets.versions.drivers import later

if TYPE_CHECKING:
    from ltocompat.packages.values import Package

_LISTED = (Component.DRIVER, Component.LINKER)
_DRIVER = "LTO-IR of CUDA 11, which only a driver links (cuLinkAddData, deprecated)"


class _Row(Struct, frozen=True):
    """One GPU: its generation, and the floors of each line that ``check`` has for it."""

    gpu: Gpu
    lines: tuple[LineFloors, ...]

    @property
    def served(self) -> bool:
        """Return whether a known driver works for it, on its first route with code."""
        served = [line for line in self.lines if line.result.coverage.served]
        return bool(served) and served[0].driver is not None

    @property
    def unlinked(self) -> bool:
        """Return whether no nvJitLink is known for its link."""
        return any(line.result.coverage.link and line.driver is None for line in self.lines)

    @property
    def sparse_coverage(self) -> bool:
        """Return whether under half of the kernels, or few modules, serve it, unlike others."""
        return any(
            finding.rule == SPARSE_COVERAGE
            and 2 * line.result.coverage.kernels <= line.result.coverage.best_kernels
            for line in self.lines
            for finding in line.result.findings
        )

    @property
    def linker(self) -> Release:
        """The minimum nvJitLink that links for it; the newest if none is known."""
        linked = [line for line in self.lines if line.result.coverage.link]
        floors = [line.linker.first for line in linked if line.linker is not None]
        return floors[0] if floors else nvjitlink_minors()[-1]


class _Tally(Struct):
    """Requirements of one artifact, each once, with how many modules ask it.

    Attributes:
        asked: what a requirement says -> it, as it is told.
        counted: pairs of that and a group of modules.
        linkers: what is asked of nvJitLinks, whatever the GPU.
        ltoir_is_linked: for some GPU.
    """

    asked: dict[tuple[str, ...], ModuleRequirement] = field(default_factory=dict)
    counted: set[tuple[tuple[str, ...], int]] = field(default_factory=set)
    linkers: list[Constraint] = field(default_factory=list)
    ltoir_is_linked: bool = False

    def add(self, code: PickedCode, group: ModuleGroup) -> None:
        """Count the requirements of modules for any GPU."""
        kinds = {image.kind for image in code.images}
        self.ltoir_is_linked |= code.selection is Selection.LINK and ImageKind.LTOIR in kinds
        for requirement in code.requirements:
            if requirement.component not in _LISTED or requirement.constraint.of_gpu:
                continue
            if requirement.component is Component.LINKER:
                self.linkers.append(requirement.constraint)
            self.count(requirement, group.example, group.count, id(group))

    def add_host(self, requirement: Requirement, host: HostBinary) -> None:
        """Count the requirements of a host file."""
        if requirement.component is Component.LINKER:
            self.linkers.append(requirement.constraint)
        if requirement.component is not Component.NONE:
            self.count(requirement, host.place, 0, id(host))

    def count(self, requirement: Requirement, example: Location, count: int, asker: int) -> None:
        """Count the requirements of modules or a host file."""
        constraint = requirement.constraint
        key = (requirement.rule, str(constraint), requirement.subject, requirement.consequence)
        before = self.asked.get(key)
        evidence = [] if before is None else before.evidence.split("; ")
        told = requirement.text("evidence").split("; ")
        evidence += [part for part in told if part not in evidence]
        again = (key, asker) in self.counted
        self.counted.add((key, asker))
        self.asked[key] = ModuleRequirement(
            str(requirement.component),
            str(constraint),
            requirement.rule,
            requirement.subject,
            requirement.text("consequence"),
            "; ".join(evidence),
            (before.module_count if before else 0) + (0 if again else count),
            before.example if before else example,
            constraint.names_compiler,
        )

    def listed(self) -> tuple[ModuleRequirement, ...]:
        """Return every requirement, by rule and then by number of modules."""
        asked = self.asked.values()
        return tuple(sorted(asked, key=lambda a: (a.component, a.rule, -a.module_count)))


def required(
    summary: ArtifactSummary,
    engine: Engine | None = None,
    *,
    package: Package | None = None,
    limits: Limits = DEFAULT_LIMITS,
    starts: bool = False,
) -> Required:
    """The requirements of an artifact.

    Args:
        summary: the artifact.
        engine: the engine with known facts about its modules; None: a new one.
        package: the package that it is, whose metadata its lines never loosen; None for none.
        limits: bounds for reading these.
        starts: True to also require drivers on which a container image starts (NVIDIA_REQUIRE_*).
    """
    # An image may refuse drivers, and the libcuda in it may hide theirs: its code asks for neither.
    starts_on = summary.starts_on if starts else ()
    summary = replace(summary, starts_on=starts_on, platform="", compat=None, own_driver=None)
    engine = engine or Engine()
    groups = [_settled(group) for group in summary.groups]
    settled = replace(summary, groups=groups)
    tally = _Tally()
    for host, requirements in engine.host_needs(summary).items():
        for requirement in requirements:
            tally.add_host(requirement, host)
    asks_linker = bool(tally.linkers) and own_linker(summary) is None
    checked = Checked(settled, engine)
    floors = functools.partial(line_floors, checked, asks_linker=asks_linker)
    rows = list(map(_Row, gpus_in_use(), map(tuple, map(floors, gpus_in_use()))))
    for row, group in product(rows, groups):
        for code in (*loaded(engine, group, row.gpu), *_linked(engine, group, row)):
            tally.add(code, group)
    for row in rows:
        _add_what_older_linkers_would_take(engine, tally, groups, row)
    linker, no_linker = _linker_floor(summary, rows, tally, asks_linker=asks_linker)
    driver = driver_floors(settled, engine)
    found = Required(
        path=summary.path,
        modules=summary.modules,
        nvjitlink=linker,
        driver_sass=driver.sass,
        driver_ptx=driver.ptx,
        ptx_beyond=driver.beyond,
        services=tuple(_service(checked, row, linker, summary) for row in rows),
        link_options=("-lto",) if tally.ltoir_is_linked else (),
        asked=tally.listed(),
        skipped=summary.skipped_count,
        no_nvjitlink=no_linker,
        variants=tuple(_variant_floors(parts, engine) for parts in variant_parts(summary)),
        driver_or_older=driver.or_older,
    )
    found = _by_branches(found) if on_windows(summary) else found
    found = replace(found, lines=tuple(paste_lines(settled, found)))
    if package is None:
        return found
    # Imported here: it needs packaging, and most files are no package.
    from ltocompat.rules.engine.metadata_lines import beside_metadata

    return beside_metadata(found, package, limits)


def _by_branches(found: Required) -> Required:
    """Name drivers by their branches: Windows drivers have other numbers than those of Linux."""

    def named(driver: DriverVersion | None) -> DriverVersion | None:
        return driver and DriverVersion(driver.numbers, f"R{driver.branch}")

    services: list[GpuSupport] = []
    for service in found.services:
        routes = tuple(replace(each, driver=named(each.driver)) for each in service.routes)
        services.append(replace(service, driver=named(service.driver), routes=routes))
    sass, ptx = named(found.driver_sass), named(found.driver_ptx)
    return replace(found, driver_sass=sass, driver_ptx=ptx, services=tuple(services))


def _variant_floors(parts: VariantParts, engine: Engine) -> VariantFloors:
    needs = required(parts.used, engine)
    linker = needs.nvjitlink
    return project(
        VariantFloors,
        needs,
        name=parts.variant.name,
        modules=parts.alone.modules,
        nvjitlink=None if linker is None else linker.at_least,
    )


def _settled(group: ModuleGroup) -> ModuleGroup:
    """A group whose makers are narrowed by all that linkers answered."""
    signature = group.signature
    for (linker, _), outcome in group.trials.items():
        if isinstance(linker, Release):
            signature = narrowed(signature, linker, outcome)
    return replace(group, signature=signature)


def _add_what_older_linkers_would_take(
    engine: Engine, tally: _Tally, groups: Iterable[ModuleGroup], row: _Row
) -> None:
    """Count what sets a floor although no linker from there on takes it.

    An older linker ignores the suffix of an architecture, say, and refuses what it takes for it.
    """
    for line in row.lines:
        if line.linker is None:
            continue
        older = max((each for each in nvjitlink_minors() if each < line.linker.first), default=None)
        missing = {*line.linker.set_by} - {asked.rule for asked in tally.asked.values()}
        if older is None or not missing:
            continue
        for group in groups:
            if Route.LINK not in routes(group.signature):
                continue
            code = engine.linked_code(group.signature, row.gpu, traits_of(older))
            for requirement in code.requirements:
                if requirement.rule in missing and not requirement.constraint.of_gpu:
                    tally.count(requirement, group.example, group.count, id(group))


def _linked(engine: Engine, group: ModuleGroup, row: _Row) -> Iterator[PickedCode]:
    """The code that a linker takes of a module."""
    if Route.LINK in routes(group.signature):
        code = engine.linked_code(group.signature, row.gpu, traits_of(row.linker))
        if code.images:
            yield code


def _linker_floor(
    summary: ArtifactSummary, rows: Sequence[_Row], tally: _Tally, *, asks_linker: bool
) -> tuple[LinkerFloor | None, str]:
    """The least nvJitLink of an artifact, that of the GPUs with the least; or why there is none."""
    own = own_linker(summary)
    lines = [line for row in rows for line in row.lines]
    links = asks_linker or any(line.result.coverage.link for line in lines)
    if own is not None or not links:
        return None, f"its own copy of {own.text}" if own and links else ""
    if linked_by_driver(summary):
        return None, _DRIVER
    served = [row for row in rows if row.served]
    promised = [row for row in served if not row.sparse_coverage]
    whole = [row for row in promised if not row.unlinked]
    tiers = (
        list(asked_linkers(row.lines for row in some)) for some in (whole, promised, served, rows)
    )
    floors = next(filter(None, tiers), None)
    if floors is None:
        return None, NO_NVJITLINK
    bounds = [least_version([constraint]) for constraint in dict.fromkeys(tally.linkers)]
    if Unbounded.NOT_KNOWN in bounds and all(isinstance(bound, Unbounded) for bound in bounds):
        return None, "it is unknown which nvJitLink links it"
    least = min(floors, key=lambda floor: (floor.verdict, floor.first))
    alike = [f for f in floors if (f.verdict, f.first) == (least.verdict, least.first)]
    tried = any(group.trials for group in summary.groups)
    limits = [each.newest for each in tally.linkers if isinstance(each, LinkerOfKnownMaker)]
    return LinkerFloor(
        min(floor.possible for floor in alike),
        least.first if least.verdict < Verdict.UNKNOWN else None,
        least.first.major + 1,
        tried,
        tuple(sorted({rule for floor in alike for rule in floor.set_by})),
        None if tried else max(limits, default=None),
    ), ""


def _service(
    checked: Checked, row: _Row, floor: LinkerFloor | None, summary: ArtifactSummary
) -> GpuSupport:
    own = own_linker(summary)
    routes = tuple(_route(line, floor, own.value if own else None) for line in row.lines)
    first = next((route for route in routes if route.coverage.served), routes[0])
    counts = first.coverage
    wanted = None if floor is None else floor.at_least
    joint = None if first.driver is None else joint_floors(checked, row.gpu, row.lines, wanted)
    asked = next((route.nvjitlink for route in routes if route.nvjitlink), None)
    generation = sm(row.gpu.arch.number)
    return GpuSupport(
        row.gpu.arch.number,
        NEXT if generation is None else generation.name,
        next((how for how in HOW if getattr(counts, how)), "none"),
        sass=counts.sass,
        ptx=counts.ptx,
        link=max(route.coverage.link for route in routes),
        none=min(route.coverage.none for route in routes),
        driver=joint.driver if joint else None,
        beyond=bool(counts.served) and joint is None,
        nvjitlink=joint.linker if joint and floor and joint.linker else asked,
        routes=routes,
        hardly=row.sparse_coverage,
        last_driver=_branch(joint.last_driver) if joint else None,
        last_nvjitlink=joint.last_linker if joint and asked else None,
        or_older=joint is not None and joint.or_older,
    )


def _branch(driver: DriverVersion) -> DriverVersion:
    """All of its branch, which rules judge alike: ``R580``."""
    return DriverVersion(later(driver.branch).numbers, f"R{driver.branch}")


def _route(line: LineFloors, floor: LinkerFloor | None, inside: Release | None) -> RouteFloor:
    coverage, driver, linker = line.result.coverage, line.driver, line.linker
    served = coverage.served > 0 or coverage.idle
    objecting = [f for f in line.result.findings if f.verdict > Verdict.JIT]
    worse = {f.rule for f in objecting if f.verdict > Verdict.UNDOCUMENTED}
    mild = {f.rule for f in objecting} - worse
    set_by = {
        *(driver.set_by if driver else ()),
        *(linker.set_by if linker and floor else ()),
        *(f.rule for f in objecting if driver is None and f.verdict is Verdict.FAIL),
    }
    least = inside if coverage.link and inside else linker.first if linker and floor else None
    return RouteFloor(
        line.route,
        coverage,
        driver.first if driver and served else None,
        _branch(driver.last) if driver and served else None,
        least,
        linker.last if linker and least else None,
        line.result.verdict,
        set_by=tuple(sorted(set_by)) if served else (),
        doubts=tuple(sorted({f.rule for f in objecting})) if driver else (),
        undocumented=tuple(sorted(mild)) if driver else (),
        or_older=driver is not None and served and driver.or_older,
        possible_driver=driver.possible if driver and served else None,
    )
