"""How the verdicts on modules fold into one on an artifact."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup, own_linker
from ltocompat.model.image import Host, ImageKind
from ltocompat.model.place import Place
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import Gpu, Quantifier, Target, VersionSet
from ltocompat.model.verdict import (
    LEVELS,
    Coverage,
    Extent,
    Finding,
    Level,
    Result,
    Route,
    Verdict,
    worst,
)
from ltocompat.rules.catalogue import RULES, rule
from ltocompat.rules.emitted import (
    ABSENT_FROM_DEVICE_LINK,
    BYTES_UNREAD,
    NOTHING_SERVES,
    ROUTE_IMPOSSIBLE,
    TARGET_LEAVES_OPEN,
)
from ltocompat.rules.engine.fold_variants import JudgedVariant, best_of, judged_apart
from ltocompat.rules.engine.group_verdict import GroupVerdict
from ltocompat.rules.engine.implied_gpus import gpus_to_judge, serves
from ltocompat.rules.engine.judge_host import judge_host
from ltocompat.rules.engine.judge_link import findings_of_link, leaves_symbols_open
from ltocompat.rules.engine.judge_module import judge
from ltocompat.rules.engine.loaded_by_choice import with_choices
from ltocompat.rules.engine.module_verdict import OTHER_ROUTE, ModuleVerdict, off_route
from ltocompat.rules.engine.problems import finding_of_flaw
from ltocompat.rules.engine.ways import possible_ways, ways_on
from ltocompat.rules.engine.without_kernels import (
    has_empty_kernels,
    misses_all,
    note_of_sliver,
    notes_of_empty,
    with_neutral,
)
from ltocompat.rules.rule import Problem

HALVES = ("load", "link")
SYMBOLS = "symbols"


def routes(
    summary: ArtifactSummary, target: Target, wanted: Route | None
) -> tuple[Route | None, ...]:
    """The lines that an artifact gets: one, or one a route where modules can go both ways."""
    if wanted is not None or summary.one_link:
        return (wanted,)
    both = any(len(ways_on(group.signature, target)) > 1 for group in summary.groups)
    return (Route.LOAD, Route.LINK) if both else (None,)


def results(
    summary: ArtifactSummary, target: Target, wanted: Route | None = None, *, why: bool = True
) -> Iterator[Result]:
    """The verdicts on an artifact for every GPU of a target.

    Of a target that names none, for every GPU there that the artifact serves.

    Args:
        summary: the artifact.
        target: where it is going.
        wanted: the route; None judges each that its modules go.
        why: put the reasoning into words.
    """
    if _is_for_windows(summary):
        target = target.on_windows
    gpus = () if summary.one_link else gpus_to_judge(target)
    if target.gpus or not gpus:
        yield from _results_on(target.gpus or (None,), summary, target, wanted, why=why)
        return
    served = [
        result
        for gpu in gpus
        for result in _results_on((gpu,), summary, target, wanted, why=why)
        if serves(result)
    ]
    yield from served or _results_on((None,), summary, target, wanted, why=why)


def _is_for_windows(summary: ArtifactSummary) -> bool:
    """Whether all its libraries and programs are."""
    linked = [host for host in summary.hosts if host.linked]
    return bool(linked) and all(host.format == "PE" for host in linked)


def _results_on(
    gpus: Sequence[Gpu | None],
    summary: ArtifactSummary,
    target: Target,
    wanted: Route | None,
    *,
    why: bool,
) -> Iterator[Result]:
    # One link takes all that is given to it.
    variants = () if summary.one_link else judged_apart(summary)
    whole = _Goal.of(summary, target)
    goals = [
        (each.variant, _Goal.of(each.used, target), _Goal.of(each.alone, target))
        for each in variants
    ]
    for gpu in gpus:
        for route in routes(summary, whole.target, wanted):
            on = functools.partial(_on_gpu, gpu=gpu, route=route, asked=wanted is not None)
            result = (
                best_of(
                    [
                        JudgedVariant(variant, on(used, why=why), on(alone, why=False))
                        for variant, used, alone in goals
                    ]
                )
                if goals
                else on(whole, why=why)
            )
            yield result if result.target is target else replace(result, target=target)


class _Goal(NamedTuple):
    """What is judged, where, and what it lacks wherever it goes.

    Attributes:
        summary: an artifact, or what is in use with one of its variants.
        target: with the nvJitLink that it brings itself.
        missing: what it lacks.
    """

    summary: ArtifactSummary
    target: Target
    missing: tuple[Finding, ...]

    @classmethod
    def of(cls, summary: ArtifactSummary, target: Target) -> _Goal:
        missing = tuple(map(finding_of_flaw, _missing(summary)))
        return cls(summary, _with_own_linker(summary, target), missing)


def _on_gpu(goal: _Goal, gpu: Gpu | None, route: Route | None, *, asked: bool, why: bool) -> Result:
    judged = [
        _judge_in_link(group, goal.target, gpu, route)
        if goal.summary.one_link
        else _judge(group, goal.target, gpu, route, asked=asked)
        for group in goal.summary.groups
    ]
    return _result(goal.summary, judged, goal.target, gpu, route, missing=goal.missing, why=why)


def _with_own_linker(summary: ArtifactSummary, target: Target) -> Target:
    """The target with the nvJitLink that the artifact brings itself."""
    own = own_linker(summary)
    if own is None or own.version is None:
        return target
    release = Release.parse(own.version)
    known = VersionSet(own.version, (release,), quantifier=Quantifier.ALL, source=own.evidence)
    return replace(target, nvjitlink=known)


def _result(
    summary: ArtifactSummary,
    judged: list[GroupVerdict],
    target: Target,
    gpu: Gpu | None,
    route: Route | None,
    *,
    missing: Sequence[Finding],
    why: bool,
) -> Result:
    judged = with_choices(with_neutral(judged))
    hosts = [
        (host, host_verdict)
        for host in summary.hosts
        if (host_verdict := judge_host(host, target, gpu)) is not None
    ]
    parts = [
        *(group_verdict.module_verdict for group_verdict in judged),
        *(module_verdict for _, module_verdict in hosts),
    ]
    not_judged = frozenset[str]().union(*(part.not_judged for part in parts))
    findings = _counted(judged, apart=summary.apart)
    of_modules = len(findings)
    findings += [
        replace(each_finding, example=host.place)
        for host, each_module_verdict in hosts
        for each_finding in each_module_verdict.findings
    ]
    findings += _of_whole(summary, judged, target, gpu)
    findings += findings_of_link(summary, judged, target, gpu)
    findings += missing
    if (
        route is not None
        and judged
        and all(part.module_verdict.how == OTHER_ROUTE for part in judged)
    ):
        findings.append(_impossible(judged, route))
    known = [each_part.verdict for each_part in parts if each_part.verdict is not None]
    nothing = _nothing_judged(judged, hosts, not_judged)
    if not_judged:
        findings.append(_left_open(summary, target, gpu, not_judged, alone=nothing))
    known += [Verdict.UNKNOWN] if nothing else []
    verdict = worst((*known, *(finding.verdict for finding in findings)))
    around = [finding.verdict for finding in findings[of_modules:]]
    around += [needs.verdict for _, needs in hosts if needs.verdict is not None]
    findings.sort(key=lambda finding: (-finding.verdict, -finding.module_count, finding.rule))
    return Result(
        summary.path,
        target,
        gpu,
        route,
        verdict,
        _coverage(judged),
        _open_parts(not_judged, symbols=leaves_symbols_open(summary, judged, target, gpu)),
        tuple(findings),
        tuple(_reasons(judged, hosts)) if why else (),
        _extent(judged, verdict, of_whole=summary.one_link or worst(around) is verdict),
    )


def _open_parts(halves: frozenset[str], *, symbols: bool) -> tuple[str, ...]:
    """What was not judged: halves, and the names of functions that LTO-IR doesn't show."""
    known = tuple(half for half in HALVES if half in halves)
    return (*known, SYMBOLS) if symbols else known


def _judge(
    group: ModuleGroup, target: Target, gpu: Gpu | None, route: Route | None, *, asked: bool
) -> GroupVerdict:
    natural = ways_on(group.signature, target)
    way = natural[0] if route is None else route
    if way not in (possible_ways(group.signature) if asked else natural):
        elsewhere = judge(group.signature, target, gpu, natural[0], group.trials)
        serves = not asked and elsewhere.verdict is not None
        return GroupVerdict(group, off_route(way, serves_elsewhere=serves), way)
    return GroupVerdict(group, judge(group.signature, target, gpu, way, group.trials), way)


def _judge_in_link(
    group: ModuleGroup, target: Target, gpu: Gpu | None, route: Route | None
) -> GroupVerdict:
    """All that can be linked is; what has nothing for the target makes the linker refuse."""
    possible = possible_ways(group.signature)
    way = route or (Route.LINK if Route.LINK in possible else Route.LOAD)
    found = _judge(group, target, gpu, way, asked=True)
    missed = found.module_verdict.how == "none" and not found.module_verdict.not_judged
    if way is not Route.LINK or gpu is None or not missed or group.signature.needs_device_link:
        return found
    images = group.signature.images
    reasons = [_excluded(image, gpu, way) for image in images] or [(NOTHING_SERVES, "is empty")]
    source = rule(reasons[0][0])
    listed = "; ".join(f"{image} {text}" for image, (_, text) in zip(images, reasons, strict=False))
    refused = Finding(
        source.id,
        Verdict.FAIL,
        Level.ERROR,
        f"the link for {gpu.arch} fails on one input: {listed or 'it is empty'}",
        source.remedy,
        "architectures of the images",
        source.source,
    )
    failed = replace(found.module_verdict, verdict=Verdict.FAIL, findings=(refused,))
    return found._replace(module_verdict=failed)


def _nothing_judged(
    judged: list[GroupVerdict], hosts: list[tuple[Host, ModuleVerdict]], not_judged: frozenset[str]
) -> bool:
    """Whether no device code was judged; what has no kernels is judged by their absence."""
    if not judged:
        return all(module_verdict.verdict is None for _, module_verdict in hosts)
    with_kernels = [each for each in judged if not each.module_verdict.without_kernels]
    return bool(not_judged) and all(
        each.module_verdict.verdict is None for each in with_kernels or judged
    )


def _of_whole(
    summary: ArtifactSummary, judged: list[GroupVerdict], target: Target, gpu: Gpu | None
) -> Iterator[Finding]:
    """What is said of an artifact rather than of its modules one by one."""
    if summary.skipped_count:  # what serves may lie where nothing could be read
        yield _unreadable(summary)
    elif gpu is not None and misses_all(judged):
        yield _nothing_serves(judged, gpu)
    yield from _lacking(judged, target, gpu, one_link=summary.one_link)
    yield from notes_of_empty(judged, gpu)
    yield from note_of_sliver(judged, gpu)


def _missing(summary: ArtifactSummary) -> Iterator[Problem]:
    """What an artifact lacks, or has left over, wherever it goes; of a link its inputs say it."""
    if not summary.one_link:
        for each in RULES:
            if each.of_artifact is not None:
                yield from each.of_artifact(summary)


def _lacking(
    judged: list[GroupVerdict], target: Target, gpu: Gpu | None, *, one_link: bool
) -> Iterator[Finding]:
    """Objects that have nothing for the target of a device link, beside others that do."""
    waiting = [
        group_verdict for group_verdict in judged if group_verdict.group.signature.needs_device_link
    ]
    missing = [
        each_group_verdict
        for each_group_verdict in waiting
        if each_group_verdict.module_verdict.how == "none"
    ]
    if gpu is None or not missing or len(missing) == len(waiting):
        return
    if one_link and target.nvlink is not None:
        return  # the rule on the whole link knows whether something needs them
    source = rule(ABSENT_FROM_DEVICE_LINK)
    # nvlink goes on without them; nvJitLink takes no object that has nothing for its target.
    refused = target.nvlink is None and target.nvjitlink is not None
    verdict = Verdict.FAIL if refused else Verdict.UNKNOWN
    end = (
        "are refused by nvJitLink"
        if refused
        else "are left out of the device link, and what is called in them is then undefined"
    )
    yield Finding(
        source.id,
        verdict,
        LEVELS[verdict],
        f"objects without code for {gpu.arch} {end}",
        source.remedy,
        "architectures in entry headers",
        source.source,
        sum(group_verdict.group.count for group_verdict in missing),
        missing[0].group.example,
    )


def _reasons(judged: list[GroupVerdict], hosts: list[tuple[Host, ModuleVerdict]]) -> Iterator[str]:
    if not judged:
        yield "it holds no device code"
    yield from dict.fromkeys(
        _why(group_verdict.group, group_verdict.module_verdict) for group_verdict in judged
    )
    for _, needs in hosts:
        word = "not judged" if needs.verdict is None else needs.verdict
        yield f"{word}: {needs.why}"


def _why(group: ModuleGroup, judged: ModuleVerdict) -> str:
    text = "not for this GPU" if judged.verdict is None else str(judged.verdict)
    if judged.not_judged and judged.verdict is None:
        text = "not judged"
    modules = f"{group.count:,} module{'s' if group.count != 1 else ''}"
    return f"{modules} (e.g. {group.example}): {text}: {judged.why}"


def _coverage(judged: list[GroupVerdict]) -> Coverage:
    counts: dict[str, int] = {}
    for group_verdict in judged:
        counts[group_verdict.module_verdict.how] = (
            counts.get(group_verdict.module_verdict.how, 0) + group_verdict.group.count
        )
    return Coverage(
        sum(counts.values()),
        counts.get("sass", 0),
        counts.get("ptx", 0),
        counts.get("link", 0),
        counts.get("without kernels", 0),
        counts.get("none", 0),
    )


def _extent(judged: list[GroupVerdict], verdict: Verdict, *, of_whole: bool) -> Extent:
    """How many modules have the verdict; one ``of_whole`` says nothing of single modules."""
    counts: dict[Verdict, int] = {}
    for each in judged:
        if each.module_verdict.verdict is not None:
            counts[each.module_verdict.verdict] = (
                counts.get(each.module_verdict.verdict, 0) + each.group.count
            )
    bad = verdict is not Verdict.OK
    return Extent(0 if of_whole and bad else counts.get(verdict, 0), sum(counts.values()))


def _counted(judged: list[GroupVerdict], *, apart: bool) -> list[Finding]:
    """Findings of all modules, each once, with how many modules it holds for.

    ``apart``: each once for every innermost file.
    """
    found: dict[tuple[object, ...], tuple[Finding, list[ModuleGroup]]] = {}
    for group_verdict in judged:
        group = group_verdict.group
        inside = group.example.members if apart else ()
        for finding in group_verdict.module_verdict.findings:
            key = (finding.rule, finding.verdict, finding.message, inside)
            found.setdefault(key, (finding, []))[1].append(group)
    return [
        replace(
            finding,
            module_count=sum(group.count for group in groups),
            example=groups[0].example,
            places=tuple(place for group in groups for place in group.places),
        )
        for finding, groups in found.values()
    ]


def _nothing_serves(judged: list[GroupVerdict], gpu: Gpu) -> Finding:
    """Why no module is for a GPU: by the rule that excludes all images, where one does."""
    reasons: dict[str, str] = {}
    obstacles: set[str] = set()
    empty = [each.group.example for each in judged if has_empty_kernels(each)]
    judged = [
        each for each in judged if each.module_verdict.how != OTHER_ROUTE and not each.neutral
    ]
    for group_verdict in judged:
        for image in group_verdict.group.signature.images:
            rule_id, reason = _excluded(image, gpu, group_verdict.way)
            obstacles.add(rule_id)
            reasons.setdefault(str(image), reason)
    (only,) = obstacles if len(obstacles) == 1 else (NOTHING_SERVES,)
    route = judged[0].way
    objects = all(group_verdict.group.signature.needs_device_link for group_verdict in judged)
    source = rule(
        ABSENT_FROM_DEVICE_LINK if objects else only if route is Route.LINK else NOTHING_SERVES
    )
    end = " (error 209, no kernel image is available)" if route is Route.LOAD else ""
    listed = "; ".join(f"{image} {reason}" for image, reason in list(reasons.items())[:4])
    more = f"; and {len(reasons) - 4} more" if len(reasons) > 4 else ""
    return Finding(
        source.id,
        Verdict.FAIL,
        Level.ERROR,
        f"nothing in it is for {gpu.arch}{end}{f': {listed}' if listed else ''}{more}"
        f"{_hollow(empty)}",
        source.remedy,
        "architectures in entry headers",
        source.source,
        sum(each_group_verdict.group.count for each_group_verdict in judged),
        judged[0].group.example,
        places=tuple(place for each in judged for place in each.group.places),
    )


def _hollow(places: list[Place]) -> str:
    return f"; the kernels of {places[0]} only return" if places else ""


@functools.lru_cache(maxsize=4096)  # the same for every driver and linker
def _excluded(image: ImageSignature, gpu: Gpu, way: Route) -> tuple[str, str]:
    for each_rule in RULES:
        reason = each_rule.excludes(image, gpu, way) if each_rule.excludes else None
        if reason:
            return each_rule.id, reason
    if image.kind is ImageKind.LTOIR and way is Route.LOAD:
        return NOTHING_SERVES, "is not linked by the driver"
    return NOTHING_SERVES, "is not picked"


def _left_open(
    summary: ArtifactSummary,
    target: Target,
    gpu: Gpu | None,
    halves: frozenset[str],
    *,
    alone: bool,
) -> Finding:
    """Which keys a target lacks; the verdict itself, where nothing else could be judged."""
    words, keys = [], []
    if "link" in halves:
        offline = any(group.signature.needs_device_link for group in summary.groups)
        keys.append("nvlink= or nvjitlink=" if offline else "nvjitlink=")
        words.append("its links")
    if "load" in halves:
        keys += [key for key, known in (("gpu=", gpu), ("driver=", target.driver)) if not known]
        words.append("loading it" if keys else f"loading {_unknown_kind(summary)}")
    lacks = f": the target lacks {' and '.join(keys)}" if keys else ""
    verdict = Verdict.UNKNOWN if alone else Verdict.OK
    rule_ = rule(TARGET_LEAVES_OPEN)
    return Finding(
        rule_.id,
        verdict,
        LEVELS[verdict],
        f"{' and '.join(words)} can't be judged{lacks}",
        f"add {' and '.join(keys)} to the deploy target" if keys else rule_.remedy,
        "the keys of the target",
        rule_.source,
    )


def _unknown_kind(summary: ArtifactSummary) -> str:
    """What of an artifact can't be judged though the target says enough."""
    kinds = {image.kind for group in summary.groups for image in group.signature.images}
    if ImageKind.TILEIR in kinds:
        return "its Tile IR"
    if ImageKind.UNKNOWN in kinds:
        return "its images of an unknown kind"
    return "it with a driver that is not known"


def _impossible(judged: list[GroupVerdict], route: Route) -> Finding:
    """No module goes the route that was asked for."""
    other, reason = (
        (Route.LINK, "loaded: its objects wait for a device link")
        if route is Route.LOAD
        else (Route.LOAD, "linked: the CUDA runtime loads what a program registers")
    )
    source = rule(ROUTE_IMPOSSIBLE)
    return Finding(
        source.id,
        Verdict.UNKNOWN,
        LEVELS[Verdict.UNKNOWN],
        f"none of it is {reason}",
        f"leave out --route {route}, or give --route {other}",
        "how the file keeps its device code",
        source.source,
        sum(part.group.count for part in judged),
        judged[0].group.example,
    )


def _unreadable(summary: ArtifactSummary) -> Finding:
    first = next(iter(summary.skipped), None)
    reason = f": {first.reason}" if first else ""
    source = rule(BYTES_UNREAD)
    return Finding(
        BYTES_UNREAD,
        Verdict.UNKNOWN,
        Level.ERROR,
        f"{_places(summary.skipped_count)} can't be read and may hold device code{reason}",
        source.remedy,
        "the bytes there",
        source.source,
        summary.skipped_count,
        first.place if first else None,
    )


def _places(count: int) -> str:
    return "one place" if count == 1 else f"{count:,} places"
