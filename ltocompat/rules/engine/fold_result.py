"""The fold of the verdicts on modules into one on an artifact."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.facts.drivers import branch_cuda
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup, own_linker
from ltocompat.model.generic import grouped
from ltocompat.model.image import HostBinary, ImageKind
from ltocompat.model.late_lines import LateLines
from ltocompat.model.target import Target, VersionSet, exactly
from ltocompat.model.verdict import Coverage, Extent, Finding, Result, Route, Verdict, worst
from ltocompat.model.words import count
from ltocompat.rules.artifact_code import linked_by_driver
from ltocompat.rules.engine.artifact_findings import (
    artifact_findings,
    impossible_route,
    left_open,
    target_independent_findings,
)
from ltocompat.rules.engine.coverage import KernelCoverage, Kernels
from ltocompat.rules.engine.engine import Case, Engine
from ltocompat.rules.engine.evaluate import Ruling
from ltocompat.rules.engine.findings import finding_of_problem, in_order
from ltocompat.rules.engine.idle_modules import with_choices, with_neutral
from ltocompat.rules.engine.judge_link import findings_of_link
from ltocompat.rules.engine.module_verdict import GroupVerdict, ModuleVerdict
from ltocompat.rules.engine.routes import possible_routes
from ltocompat.rules.rule import Component, Requirement
from ltocompat.rules.selection import SERVING, Selection
from ltocompat.targets.versions.drivers import driver_version_in_name

HALVES = ("load", "link")
_INSIDE = "in the image"


class Part(Struct, frozen=True):
    """An artifact, or its files that are used with one of its variants.

    Attributes:
        summary: what is in it.
        missing: what it lacks wherever it goes.
        linker: the nvJitLink that it brings itself; None for none.
        by_driver: the driver links its LTO-IR, whatever nvJitLink is there.
        kernels: the names of its kernels; None if nobody read them.
        engine: the memory of judging.
    """

    summary: ArtifactSummary
    missing: tuple[Finding, ...]
    linker: VersionSet[Release] | None
    by_driver: bool
    kernels: Kernels | None
    engine: Engine

    @property
    def mixed(self) -> bool:
        """Return whether LTO-IR of it has SASS or PTX next to it."""
        kinds = (group.signature.kinds for group in self.summary.groups)
        return any(ImageKind.LTOIR in each and len(each) > 1 for each in kinds)

    @classmethod
    def of(cls, summary: ArtifactSummary, engine: Engine) -> Part:
        """Return the part, with the findings that no target changes."""
        missing = tuple(map(finding_of_problem, target_independent_findings(summary)))
        linker, by_driver = own_linker(summary), linked_by_driver(summary)
        return cls(summary, missing, linker, by_driver, Kernels.of(summary, engine), engine)

    def with_own_libraries(self, target: Target) -> Target:
        """Return the target with the artifact's own nvJitLink and cuda-compat."""
        own = self.linker is not None or self.by_driver
        target = replace(target, nvjitlink=self.linker) if own else target
        compat, driver = self.summary.compat, target.driver
        inside = None if compat is None else driver_version_in_name(compat.innermost)
        if inside is None or target.compat or driver is None or target.system.name != "linux":
            return target
        listed = self.summary.compat_listed and driver.value != inside
        in_front = listed or driver.value.branch < inside.branch
        release = branch_cuda(inside.branch) if in_front else None
        return target if release is None else replace(target, compat=exactly(release, _INSIDE))


def aggregate(case: Case, part: Part, judged: list[GroupVerdict], route: Route | None) -> Result:
    """Return the verdict on an artifact, from the verdicts on its modules and host files.

    Args:
        case: the target, with the artifact's own nvJitLink.
        part: the artifact, or its files that are used with one of its variants.
        judged: its modules, with their verdicts.
        route: the route; None if every module has only one.
    """
    summary = part.summary
    coverage = None if part.kernels is None else part.kernels.on(judged, case.gpu)
    judged = with_choices(case, summary, with_neutral(judged))
    hosts = _judged_hosts(case, summary)
    parts = [*(each.module_verdict for each in judged), *(needs for _, needs in hosts)]
    not_judged = frozenset[str]().union(*(part.not_judged for part in parts))
    nothing_judged = _nothing_judged(judged, hosts, left_open=bool(not_judged))
    of_artifact = [
        *(replace(each, example=host.place) for host, needs in hosts for each in needs.findings),
        *artifact_findings(case, summary, judged, coverage),
        *findings_of_link(case, summary, judged),
        *part.missing,
    ]
    all_elsewhere = all(each.module_verdict.selection is Selection.OTHER_ROUTE for each in judged)
    if route is not None and judged and all_elsewhere:
        of_artifact.append(impossible_route(judged, route))
    if not_judged:
        of_artifact.append(left_open(case, summary, not_judged, alone=nothing_judged))
    findings = in_order([*_counted(judged, summary), *of_artifact])
    verdict = worst(
        (
            Verdict.OK,  # nothing in it goes this way to the GPU, and another line judges what does
            *(part.verdict for part in parts),
            *((Verdict.UNKNOWN,) if nothing_judged else ()),
            *(finding.verdict for finding in findings),
        )
    )
    not_of_modules = [finding.verdict for finding in of_artifact]
    not_of_modules += [needs.verdict for _, needs in hosts]
    return Result(
        summary.path,
        case.target,
        case.gpu,
        route,
        verdict,
        _coverage(judged, coverage),
        tuple(half for half in HALVES if half in not_judged),
        findings,
        LateLines(functools.partial(_reasons, judged, hosts)),
        _extent(judged, verdict, of_whole=summary.single_link or worst(not_of_modules) is verdict),
    )


_HostVerdicts = list[tuple[HostBinary, ModuleVerdict]]


def _judged_hosts(case: Case, summary: ArtifactSummary) -> _HostVerdicts:
    """The host files that need something of the target, each with the verdict on its needs."""
    needs = case.engine.host_needs(summary, case.gpu).items()
    return [(host, _host_part(case, asked, _idle(host, summary))) for host, asked in needs if asked]


def _host_part(case: Case, asks: Iterable[Requirement], idle: Iterable[Component]) -> ModuleVerdict:
    """The verdict on a host file, which doesn't use the ``idle`` parts of the target."""
    linker = case.target.nvjitlink.value if case.target.nvjitlink else None
    rulings = case.rulings(asks, linker)
    unanswered = (each.requirement.component for each in rulings if each.verdict is None)
    # NVRTC's builtins are neither half.
    open_ = [component for component in unanswered if component not in (Component.NVRTC, *idle)]
    held = "; ".join(f"{r.subject}: {r.component} {r.constraint} ({r.rule})" for r in asks)
    return ModuleVerdict(
        worst(each.verdict for each in rulings if each.verdict is not None and _is_verdict(each)),
        Selection.HOST,
        case.findings(rulings),
        frozenset("link" if part is Component.LINKER else "load" for part in open_),
        why=f"the host file needs: {held}",
    )


def _is_verdict(ruling: Ruling) -> bool:
    """Return whether a ruling is a verdict, rather than a remark that holds on every target."""
    asked = ruling.requirement
    mild = asked.component is Component.NONE or asked.conditional
    return ruling.verdict is not Verdict.OK or not mild


def _idle(host: HostBinary, summary: ArtifactSummary) -> tuple[Component, ...]:
    """The linker, if a host file loads nvJitLink and calls nothing in it, with nothing to link."""
    calls = bool(host.nvjitlink_imports) or any(
        library.name == "libnvJitLink" and library.how != "needed" for library in host.libraries
    )
    links = calls or any(Route.LINK in possible_routes(group.signature) for group in summary.groups)
    return () if links else (Component.LINKER,)


def _nothing_judged(judged: list[GroupVerdict], hosts: _HostVerdicts, *, left_open: bool) -> bool:
    """Return whether no device code was checked; what has no kernels is judged by their absence."""
    if not judged:
        return all(module_verdict.verdict is Verdict.NOT_FOR_GPU for _, module_verdict in hosts)
    with_kernels = [each for each in judged if not each.module_verdict.without_kernels]
    return left_open and all(
        each.module_verdict.verdict is Verdict.NOT_FOR_GPU for each in with_kernels or judged
    )


def _counted(judged: list[GroupVerdict], summary: ArtifactSummary) -> list[Finding]:
    """Findings of all modules, each once, or once a file, with how many modules it holds for.

    What is wrong with the cuda-compat of a container image lies there.
    """
    found: dict[tuple[object, ...], tuple[Finding, list[ModuleGroup]]] = {}
    for group_verdict in judged:
        group = group_verdict.group
        for finding in group_verdict.module_verdict.findings:
            inside = group.example.members if summary.apart else ()
            told = finding
            if summary.compat is not None and finding.subject == Component.COMPAT:
                told, inside = replace(finding, places=(summary.compat,)), ()
            key = (told.rule, told.verdict, told.message, inside)
            found.setdefault(key, (told, []))[1].append(group)
    return [
        replace(
            finding,
            module_count=sum(group.count for group in groups),
            example=(*finding.places, groups[0].example)[0],
            places=finding.places or tuple(chain.from_iterable(g.places for g in groups)),
        )
        for finding, groups in found.values()
    ]


def _coverage(judged: list[GroupVerdict], kernels: KernelCoverage | None) -> Coverage:
    counts: Counter[Selection] = Counter()
    for each in judged:
        selection = each.module_verdict.selection
        counts[Selection.WITHOUT_KERNELS if each.neutral else selection] += each.group.count
    return Coverage(
        counts.total(),
        *map(counts.__getitem__, (*SERVING, Selection.WITHOUT_KERNELS, Selection.NONE)),
        *((kernels.every - len(kernels.lost), kernels.every) if kernels else ()),
    )


def _extent(judged: list[GroupVerdict], verdict: Verdict, *, of_whole: bool) -> Extent:
    """The number of modules with the verdict; one ``of_whole`` says nothing of single modules."""
    counts: Counter[Verdict] = Counter()
    for each in judged:
        counts[each.module_verdict.verdict] += each.group.count
    del counts[Verdict.NOT_FOR_GPU]
    bad = verdict is not Verdict.OK
    return Extent(0 if of_whole and bad else counts[verdict], counts.total())


def _reasons(judged: list[GroupVerdict], hosts: _HostVerdicts) -> Iterator[str]:
    if not judged:
        yield "it holds no device code"
    alike = grouped((_why(each), each.group) for each in judged)
    for why, groups in alike.items():
        number = sum(group.count for group in groups)
        yield f"{count(number, 'module')} (e.g. {groups[0].example.shown}): {why}"
    for _, needs in hosts:
        word = "not checked" if needs.verdict is Verdict.NOT_FOR_GPU else needs.verdict
        yield f"{word}: {needs.why}"


def _why(each: GroupVerdict) -> str:
    judged = each.module_verdict
    unjudged = judged.not_judged and judged.verdict is Verdict.NOT_FOR_GPU
    return f"{'not checked' if unjudged else judged.verdict}: {judged.why}"
