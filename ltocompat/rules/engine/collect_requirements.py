"""What an artifact asks of any target: the floors of the rules' constraints, folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ltocompat.facts import drivers, gpus, nvjitlink_minors
from ltocompat.model.arch import ArchForm, Release, SmArch
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup, own_linker
from ltocompat.model.image import ImageKind
from ltocompat.model.requirement import Asked, LinkerFloor, PasteLine, Required, Service
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.target import DriverVersion, Gpu
from ltocompat.model.trial_answer import narrowed
from ltocompat.model.verdict import Route, Verdict, worst
from ltocompat.rules.catalogue import RULES, requirements_of
from ltocompat.rules.engine.fold_floors import LeastVersion, least_version
from ltocompat.rules.engine.judge_module import ways
from ltocompat.rules.rule import Component, Constraint, Requirement, Subject, Unbounded
from ltocompat.rules.selection import pick_for_driver, pick_for_linker

# Architectures that no toolkit since 12.0 targets are left out: nothing made today serves them.
_OLDEST_TOOLKIT = Release(12, 0)
_NEXT = "next"
_DRIVERS = (Component.DRIVER, Component.KERNEL)
_NO_LINKER = "no nvJitLink that is known links all of it"
_OPEN_LINKER = "which nvJitLink links it is not known"


@dataclass(slots=True)
class _Tally:
    """Requirements of one artifact, with how many modules ask each."""

    counts: dict[Requirement, tuple[int, ModuleGroup]] = field(default_factory=dict)
    counted: set[tuple[Requirement, int]] = field(default_factory=set)
    drivers: dict[str, list[Constraint]] = field(default_factory=dict)
    ltoir_is_linked: bool = False

    def add(self, subject: Subject, how: str, group: ModuleGroup) -> None:
        """Count what a subject asks of any GPU, once for each group of modules."""
        linked = subject.route is Route.LINK
        ltoir = any(image.kind is ImageKind.LTOIR for image in subject.picked)
        self.ltoir_is_linked = self.ltoir_is_linked or (linked and ltoir)
        for requirement in requirements_of(subject):
            asked = requirement.component in (Component.DRIVER, Component.LINKER)
            if requirement.constraint.of_gpu or not asked:
                continue
            if requirement.component is Component.DRIVER:
                self.drivers.setdefault(how, []).append(requirement.constraint)
            self._count(requirement, group)

    def add_drivers(self, subject: Subject, group: ModuleGroup) -> None:
        """Count what code of a known linker asks of drivers."""
        for requirement in requirements_of(subject):
            if requirement.component is Component.DRIVER:
                self._count(requirement, group)

    def _count(self, requirement: Requirement, group: ModuleGroup) -> None:
        # Remedies name the GPU, which stands for all others here.
        requirement = replace(requirement, remedy="")
        key = (requirement, id(group))
        if key not in self.counted:
            self.counted.add(key)
            count, first = self.counts.get(requirement, (0, group))
            self.counts[requirement] = (count + group.count, first)


@dataclass(frozen=True, slots=True)
class _Way:
    """One route of equal modules to a GPU: what rules look at, and how it serves."""

    group: ModuleGroup
    how: str
    subject: Subject


@dataclass(slots=True)
class _Row:
    """One GPU: the routes to it, and how many modules are served in which way.

    Attributes:
        gpu: the GPU.
        name: its generation.
        ways: the routes that modules take to it.
        unpicked: modules of which the newest linker picks nothing for it; older ones may.
        counts: ``sass``, ``ptx``, ``link`` or ``none`` -> number of modules.
        linker: the least nvJitLink that links for it; None where nothing is linked or none does.
    """

    gpu: Gpu
    name: str
    ways: list[_Way] = field(default_factory=list)
    unpicked: list[ModuleSignature] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    linker: Release | None = None

    @property
    def links(self) -> list[_Way]:
        """The ways that are links."""
        return [way for way in self.ways if way.subject.route is Route.LINK]

    @property
    def how(self) -> str:
        """The best way that any module has."""
        return next((kind for kind in ("sass", "ptx", "link") if self.counts.get(kind)), "none")


def required(summary: ArtifactSummary) -> Required:
    """All that an artifact asks."""
    groups = [_settled(group) for group in summary.groups]
    rows = [_row(groups, gpu, name) for gpu, name in _gpus()]
    tally = _Tally()
    for row in rows:
        for way in row.ways:
            tally.add(way.subject, way.how, way.group)
    tried = any(group.trials for group in groups)
    linker, no_linker = _linker_floor(summary, rows, tally, tried=tried)
    services = tuple(_service(row, tally) for row in rows)
    sass, ptx = (least_version(tally.drivers.get(how, ())) for how in ("sass", "ptx"))
    return Required(
        path=summary.path,
        modules=summary.modules,
        nvjitlink=linker,
        driver_sass=sass.sure,
        driver_ptx=ptx.sure,
        ptx_beyond=ptx.unbounded is Unbounded.NONE_KNOWN,
        services=services,
        link_options=("-lto",) if tally.ltoir_is_linked else (),
        asked=_asked(tally),
        lines=(*_linker_lines(linker), *_driver_lines(sass, ptx, services)),
        skipped=summary.skipped_count,
        no_nvjitlink=no_linker,
    )


def _asked(tally: _Tally) -> tuple[Asked, ...]:
    def order(item: tuple[Requirement, tuple[int, ModuleGroup]]) -> tuple[str, str, int]:
        requirement, (count, _) = item
        return (requirement.component, requirement.rule, -count)

    return tuple(
        Asked(
            str(requirement.component),
            str(requirement.constraint),
            requirement.rule,
            requirement.subject,
            requirement.consequence,
            requirement.evidence,
            count,
            group.example,
            requirement.constraint.names_compiler,
        )
        for requirement, (count, group) in sorted(tally.counts.items(), key=order)
    )


def _of_hosts(summary: ArtifactSummary) -> list[Constraint]:
    """What the host files ask of nvJitLink: the symbols that they import, the names they open."""
    return [
        requirement.constraint
        for host in summary.hosts
        for rule in RULES
        if rule.of_host is not None
        for requirement in rule.of_host(host)
        if requirement.component is Component.LINKER
    ]


def _settled(group: ModuleGroup) -> ModuleGroup:
    """A group whose makers are narrowed by all that linkers answered."""
    signature = group.signature
    for (linker, _), outcome in group.trials.items():
        if isinstance(linker, Release):
            signature = narrowed(signature, linker, outcome)
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


def _row(groups: list[ModuleGroup], gpu: Gpu, name: str) -> _Row:
    row = _Row(gpu, name)
    with_kernels = [group for group in groups if not _without_kernels(group.signature, gpu)]
    if not any(_on(group, gpu, way)[1] for group in with_kernels for way in ways(group.signature)):
        groups = with_kernels or groups  # what has no kernels doesn't serve in their place
    for group in groups:
        found = [_on(group, gpu, route) for route in ways(group.signature)]
        served = [how for how, _ in found if how not in (None, "none")]
        if served or any(how == "none" for how, _ in found):
            how = served[0] if served else "none"
            row.counts[how or "none"] = row.counts.get(how or "none", 0) + group.count
        if (Route.LINK in ways(group.signature)) and not any(
            subject is not None and subject.route is Route.LINK for _, subject in found
        ):
            row.unpicked.append(group.signature)
        row.ways += [
            _Way(group, how or "none", subject) for how, subject in found if subject is not None
        ]
    return row


def _on(group: ModuleGroup, gpu: Gpu, route: Route) -> tuple[str | None, Subject | None]:
    """How modules serve a GPU, and what rules look at; None where they have no kernels to miss."""
    signature = group.signature
    if route is Route.LOAD:
        pick = pick_for_driver(signature, gpu.arch.number)
        if pick.images and _without_kernels(signature, gpu) and not group.named:
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


def _without_kernels(signature: ModuleSignature, gpu: Gpu) -> bool:
    """Whether what the driver picks has no kernels; where it picks nothing, whether nothing has."""
    images = pick_for_driver(signature, gpu.arch.number).images or signature.images
    return bool(images) and all(image.has_kernels is False for image in images)


def _linker_floor(
    summary: ArtifactSummary, rows: list[_Row], tally: _Tally, *, tried: bool
) -> tuple[LinkerFloor | None, str]:
    """The least nvJitLink of an artifact, or why none is known; that of each row is set there."""
    own = own_linker(summary)
    if own is not None:
        for row in rows:
            row.linker = Release.parse(own.version) if row.links and own.version else None
        return None, ""
    hosts = _of_hosts(summary)
    constraints = [each.constraint for each in tally.counts if each.component is Component.LINKER]
    least: LeastVersion[Release] = least_version([*constraints, *hosts])
    start = least.sure or least.possible
    if start is None:
        links = any(row.links for row in rows)
        known = least.unbounded is Unbounded.NONE_KNOWN
        return None, (_NO_LINKER if known else _OPEN_LINKER) if links else ""
    linked = [row for row in rows if row.links]
    for row in linked:
        row.linker = _least_for_row(row, start)
    if linked and all(row.linker is None for row in linked):
        return None, _NO_LINKER
    # No older one can make code for any of the GPUs.
    lowest = min((row.linker for row in linked if row.linker is not None), default=start)
    possible = lowest if lowest > start else least.possible or start
    sure = None if least.sure is None else max(least.sure, lowest)
    return LinkerFloor(possible, sure, (sure or possible).major + 1, tried), ""


def _least_for_row(row: _Row, start: Release) -> Release | None:
    """The least release from the artifact's floor on that links for a GPU."""
    releases = sorted({start, *(minor for minor in nvjitlink_minors() if minor > start)})
    undecided = None
    for release in releases:
        verdict = _link_verdict(row, release)
        if verdict <= Verdict.UNDOCUMENTED:
            return release
        if verdict is Verdict.UNKNOWN and undecided is None:
            undecided = release
    return undecided


def _link_verdict(row: _Row, linker: Release) -> Verdict:
    """What a linker makes of all that is linked for a GPU, whatever the driver."""
    needed = [_linked_by(way.subject.signature, row.gpu, linker) for way in row.links]
    if None in needed:
        return Verdict.FAIL
    others = [_linked_by(signature, row.gpu, linker) for signature in row.unpicked]
    return worst(
        requirement.constraint.judge(linker)
        for subject in (*needed, *others)
        if subject is not None
        for requirement in requirements_of(subject)
        if requirement.component in (Component.LINKER, Component.NONE)
    )


def _linked_by(signature: ModuleSignature, gpu: Gpu, linker: Release) -> Subject | None:
    """A link by a known linker, which may pick another image; None where it picks none."""
    pick = pick_for_linker(signature, gpu.arch, linker)
    if pick.missed:
        return None
    return Subject(signature, Route.LINK, gpu, pick.images, linker=linker)


def _service(row: _Row, tally: _Tally) -> Service:
    constraints = [
        requirement.constraint
        for subject in _driven(row, tally)
        for requirement in requirements_of(subject)
        if requirement.component in (*_DRIVERS, Component.NONE)
    ]
    least: LeastVersion[DriverVersion] = least_version(constraints)
    served = row.how != "none"
    return Service(
        row.gpu.arch.number,
        row.name,
        row.how,
        sass=row.counts.get("sass", 0),
        ptx=row.counts.get("ptx", 0),
        link=row.counts.get("link", 0),
        none=row.counts.get("none", 0),
        driver=least.sure if served else None,
        beyond=served and least.unbounded is Unbounded.NONE_KNOWN,
        nvjitlink=row.linker,
    )


def _driven(row: _Row, tally: _Tally) -> Iterator[Subject]:
    """What the driver meets: loaded code, and what the least linker makes of linked code."""
    for way in row.ways:
        if way.subject.route is Route.LOAD or row.linker is None:
            yield way.subject
            continue
        subject = _linked_by(way.subject.signature, row.gpu, row.linker)
        if subject is not None:
            tally.add_drivers(subject, way.group)
            yield subject


def _linker_lines(linker: LinkerFloor | None) -> Iterator[PasteLine]:
    if linker is None:
        return
    floor = linker.sure or linker.possible
    suffix = "-cu12" if floor.major == _OLDEST_TOOLKIT.major else ""
    how = "no trial could tell" if linker.tried else "--trial-link tells"
    doubt = "" if linker.exact else f"perhaps {linker.possible} is enough; {how}"
    yield PasteLine("pip", f"nvidia-nvjitlink{suffix}>={floor},<{linker.ceiling}", doubt)
    yield PasteLine("conda", f"libnvjitlink >={floor},<{linker.ceiling}", doubt)


def _driver_lines(
    sass: LeastVersion[DriverVersion], ptx: LeastVersion[DriverVersion], services: Iterable[Service]
) -> Iterator[PasteLine]:
    """For the driver that runs the SASS, else the PTX, on a GPU that it serves."""
    how, least = ("sass", sass) if sass.sure else ("ptx", ptx)
    if least.sure is None or ptx.unbounded is Unbounded.NONE_KNOWN:
        return
    served = [service.driver for service in services if service.how == how and service.driver]
    if not served:
        return
    driver = max(least.sure, min(served))
    cuda = drivers.branch_cuda(driver.branch)
    if cuda is not None:
        note = f"driver {driver} or newer"
        yield PasteLine("conda", f"__cuda >={cuda}", note)
        yield PasteLine("container", f"NVIDIA_REQUIRE_CUDA=cuda>={cuda}", note)
