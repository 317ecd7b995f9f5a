"""What an artifact asks of any target: the rules' requirements, gathered instead of judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ltocompat.facts import drivers, gpus
from ltocompat.model.arch import ArchForm, Release, SmArch
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup, own_linker
from ltocompat.model.requirement import Asked, LinkerFloor, PasteLine, Required, Service
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.target import DriverVersion, Gpu
from ltocompat.model.trial_answer import narrowed
from ltocompat.model.verdict import Route
from ltocompat.rules.catalogue import RULES, requirements_of
from ltocompat.rules.constraints import (
    DriverFrom,
    DriverOfCuda,
    KernelKnows,
    LinkerFrom,
    LinkerNotOlderThan,
    LinkerTargets,
)
from ltocompat.rules.constraints_linker import LinkerOfCubin
from ltocompat.rules.constraints_loader import LinkerExporting, LinkerNamed
from ltocompat.rules.engine.judge_module import ways
from ltocompat.rules.rule import Component, Requirement, Subject
from ltocompat.rules.selection import pick_for_driver, pick_for_linker

# Architectures that no toolkit since 12.0 targets are left out: nothing made today serves them.
_OLDEST_TOOLKIT = Release(12, 0)
_NEXT = "next"


@dataclass(slots=True)
class _Tally:
    """Requirements of one artifact, with how many modules ask each."""

    asked: dict[Requirement, tuple[int, ModuleGroup]] = field(default_factory=dict)
    counted: set[tuple[Requirement, int]] = field(default_factory=set)

    def add(self, requirement: Requirement, group: ModuleGroup) -> None:
        """Count a requirement, once for each group of modules, whatever GPU it was found for."""
        # Remedies name the GPU, which stands for all others here.
        requirement = replace(requirement, remedy="")
        key = (requirement, id(group))
        if key in self.counted:
            return
        self.counted.add(key)
        count, first = self.asked.get(requirement, (0, group))
        self.asked[requirement] = (count + group.count, first)


def required(summary: ArtifactSummary) -> Required:
    """All that an artifact asks."""
    groups = [_settled(group) for group in summary.groups]
    tally = _Tally()
    services = tuple(_service(groups, gpu, name, tally) for gpu, name in _gpus())
    askeds = tuple(
        Asked(
            str(requirement.component),
            str(requirement.constraint),
            requirement.rule,
            requirement.subject,
            requirement.consequence,
            requirement.evidence,
            count,
            group.example,
        )
        for requirement, (count, group) in sorted(tally.asked.items(), key=_order)
        if requirement.component is not Component.OPTIONS
    )
    tried = any(group.trials for group in groups)
    linker = None
    if own_linker(summary) is None:
        linker = _linker_floor([*tally.asked, *_of_hosts(summary)], tried=tried)
    sass, ptx = _driver_floors(tally.asked)
    beyond = any(_unmeetable(each_requirement) for each_requirement in tally.asked)
    options = _link_options(tally.asked)
    lines = tuple(_lines(linker, sass or ptx, beyond=beyond))
    return Required(
        summary.path,
        summary.modules,
        linker,
        sass,
        ptx,
        beyond,
        services,
        options,
        askeds,
        lines,
        summary.skipped_count,
    )


def _of_hosts(summary: ArtifactSummary) -> Iterator[Requirement]:
    """What the host files ask of nvJitLink: the symbols that they import, the names they open."""
    for host in summary.hosts:
        for rule in RULES:
            if rule.of_host is not None:
                yield from rule.of_host(host)


def _order(item: tuple[Requirement, tuple[int, ModuleGroup]]) -> tuple[str, str, int]:
    requirement, (count, _) = item
    return (requirement.component, requirement.rule, -count)


def _settled(group: ModuleGroup) -> ModuleGroup:
    """A group whose makers are narrowed by all that linkers said."""
    signature = group.signature
    for (record, _), tried in group.trials.items():
        if isinstance(record, Release):
            signature = narrowed(signature, record, tried)
    return replace(group, signature=signature)


def _gpus() -> Iterator[tuple[Gpu, str]]:
    """Every architecture in use, then one after all that are known."""
    for row in gpus.sms():
        if row.last_toolkit is None or row.last_toolkit >= _OLDEST_TOOLKIT:
            yield _gpu(row.number, tegra=row.tegra), row.name
    yield _gpu(10 * (gpus.newest_sm() // 10 + 1)), _NEXT


def _gpu(number: int, *, tegra: bool = False) -> Gpu:
    arch = SmArch(number, "", ArchForm.REAL)
    return Gpu(str(arch), arch, data_center=True, tegra=tegra)


def _service(groups: list[ModuleGroup], gpu: Gpu, name: str, tally: _Tally) -> Service:
    counts = {"sass": 0, "ptx": 0, "link": 0, "none": 0}
    floors: list[DriverVersion] = []
    beyond = False
    for group in groups:
        found = [_on(group.signature, gpu, route) for route in ways(group.signature)]
        served = [how for how, _ in found if how not in (None, "none")]
        if not served and any(how == "none" for how, _ in found):
            counts["none"] += group.count
        for how in served[:1]:
            counts[how or "none"] += group.count
        subjects = [subject for _, subject in found if subject is not None]
        for requirement in (
            each_requirement
            for subject in subjects
            for each_requirement in requirements_of(subject)
        ):
            if _of_artifact(requirement):
                tally.add(requirement, group)
            beyond = beyond or _unmeetable(requirement)
            floor = _driver_floor(requirement)
            if floor is not None:
                floors.append(floor)
    how = next((kind for kind in ("sass", "ptx", "link") if counts[kind]), "none")
    number = gpu.arch.number
    driver = max(floors, default=None) if how != "none" and not beyond else None
    numbers = (counts["sass"], counts["ptx"], counts["link"], counts["none"])
    return Service(number, name, how, *numbers, driver, beyond)


def _on(signature: ModuleSignature, gpu: Gpu, route: Route) -> tuple[str | None, Subject | None]:
    """How a module serves a GPU, and what rules look at; None for a module without kernels."""
    if route is Route.LOAD:
        pick = pick_for_driver(signature, gpu.arch.number)
        if pick.images and all(image.has_kernels is False for image in pick.images):
            return None, None
        how = str(pick.images[0].kind) if pick.images else "none"
    else:
        pick = pick_for_linker(signature, gpu.arch, None)
        how = "link" if pick.images else "none"
    if not signature.images:
        return None, None
    if pick.missed is not None:
        return "none", None
    return how, Subject(signature, route, gpu, pick.images, pick.missed)


def _of_artifact(requirement: Requirement) -> bool:
    """Whether it is the artifact that asks it, rather than the GPU that stands for all others."""
    of_gpu = isinstance(requirement.constraint, LinkerTargets)
    return not of_gpu and requirement.component in (
        Component.DRIVER,
        Component.LINKER,
        Component.OPTIONS,
    )


def _driver_floor(requirement: Requirement) -> DriverVersion | None:
    """The least driver that a requirement allows, None where it allows any or no known one."""
    constraint = requirement.constraint
    if isinstance(constraint, DriverFrom):
        return constraint.floor
    if isinstance(constraint, DriverOfCuda):
        branch = drivers.cuda_branch(constraint.cuda)
        return None if branch is None else drivers.first_production(branch)
    if isinstance(constraint, KernelKnows):
        row = gpus.sm(constraint.number)
        branch = row.first_branch if row else None
        return None if branch is None else drivers.first_production(branch)
    return None


def _unmeetable(requirement: Requirement) -> bool:
    """A driver that no table knows is asked for."""
    constraint = requirement.constraint
    return isinstance(constraint, DriverOfCuda) and drivers.cuda_branch(constraint.cuda) is None


def _linker_floor(requirements: Iterable[Requirement], *, tried: bool) -> LinkerFloor | None:
    possible: list[Release] = []
    sure: list[Release | None] = []
    for requirement in requirements:
        constraint = requirement.constraint
        if isinstance(constraint, LinkerFrom | LinkerExporting):
            possible.append(constraint.floor)
            sure.append(constraint.floor)
        elif isinstance(constraint, LinkerNamed):
            # A name such as libnvJitLink.so.13 means any minor of that major.
            possible.append(Release(constraint.majors[-1], 0))
            sure.append(Release(constraint.majors[-1], 0))
        elif isinstance(constraint, LinkerOfCubin):
            possible.append(constraint.writer)
            sure.append(constraint.writer)
        elif isinstance(constraint, LinkerNotOlderThan):
            possible += constraint.releases[:1]
            sure.append(constraint.releases[-1] if constraint.releases else None)
    if not possible:
        return None
    known = [floor for floor in sure if floor is not None]
    certain = max(known) if len(known) == len(sure) else None
    least = max(possible)
    return LinkerFloor(least, certain, (certain or least).major + 1, tried)


def _driver_floors(
    requirements: Iterable[Requirement],
) -> tuple[DriverVersion | None, DriverVersion | None]:
    """The least driver for SASS and for PTX."""
    found: dict[bool, list[DriverVersion]] = {True: [], False: []}
    for requirement in requirements:
        floor = _driver_floor(requirement)
        if floor is not None and requirement.component is Component.DRIVER:
            found[isinstance(requirement.constraint, DriverOfCuda)].append(floor)
    return max(found[False], default=None), max(found[True], default=None)


def _link_options(requirements: Iterable[Requirement]) -> tuple[str, ...]:
    found = {
        requirement.subject
        for requirement in requirements
        if requirement.component is Component.OPTIONS and requirement.rule == "LTO-06"
    }
    return ("-lto",) if found else ()


def _lines(
    linker: LinkerFloor | None, driver: DriverVersion | None, *, beyond: bool
) -> Iterator[PasteLine]:
    if linker is not None:
        floor = linker.sure or linker.possible
        suffix = "-cu12" if floor.major == _OLDEST_TOOLKIT.major else ""
        doubt = "" if linker.exact else f"perhaps {linker.possible} is enough; ask: --trial-link"
        yield PasteLine("pip", f"nvidia-nvjitlink{suffix}>={floor},<{linker.ceiling}", doubt)
        yield PasteLine("conda", f"libnvjitlink >={floor},<{linker.ceiling}", doubt)
    if driver is None:
        return
    cuda = drivers.branch_cuda(driver.branch)
    if cuda is None or beyond:
        return
    note = f"driver {driver} or newer"
    yield PasteLine("conda", f"__cuda >={cuda}", note)
    yield PasteLine("container", f"NVIDIA_REQUIRE_CUDA=cuda>={cuda}", note)
