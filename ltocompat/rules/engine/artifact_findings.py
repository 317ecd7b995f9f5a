"""Findings about an artifact as a whole, not about single modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from msgspec.structs import replace

from ltocompat.facts import horizon, nvjitlink_minors
from ltocompat.facts.drivers import production_drivers
from ltocompat.facts.gpus import sm
from ltocompat.facts.horizon import Position
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup
from ltocompat.model.generic import grouped
from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import DriverVersion, Gpu
from ltocompat.model.verdict import (
    WHOLE_ARTIFACT,
    Finding,
    Level,
    Result,
    Route,
    Verdict,
)
from ltocompat.model.words import truncate_list
from ltocompat.rules import artifact_code
from ltocompat.rules.builtin_rules import (
    ABSENT_FROM_DEVICE_LINK,
    BYTES_UNREAD,
    NOT_IN_TABLES,
    NOTHING_SERVES,
    ROUTE_IMPOSSIBLE,
    SPARSE_COVERAGE,
    TARGET_LEAVES_OPEN,
)
from ltocompat.rules.catalogue import found_about, rules_about
from ltocompat.rules.constraints import FIRST_NVJITLINK
from ltocompat.rules.engine.coverage import KernelCoverage, findings_of_coverage
from ltocompat.rules.engine.engine import Case
from ltocompat.rules.engine.findings import finding_by_engine
from ltocompat.rules.engine.idle_modules import has_empty_kernels, misses_all, notes_of_empty
from ltocompat.rules.engine.module_verdict import GroupVerdict
from ltocompat.rules.engine.routes import own_target, routes
from ltocompat.rules.linker_traits import traits_of
from ltocompat.rules.rule import OF_DRIVERS, Component, Problem
from ltocompat.rules.selection import Selection, SelectionFailure
from ltocompat.targets.inline import EXAMPLE, is_inline, split

_BY_ARCHS = "architectures in entry headers"
_UPDATE = "update ltocompat, or try to load the code on such a GPU; no key of the target helps"
_WRITE_BODIES = "compile the kernels' bodies for this GPU, too: see the uses of __CUDA_ARCH__"


def artifact_findings(
    case: Case, summary: ArtifactSummary, judged: list[GroupVerdict], kernels: KernelCoverage | None
) -> Iterator[Finding]:
    """Findings about an artifact as a whole, not about single modules."""
    gpu = case.gpu
    if summary.skipped_count:  # what serves may lie where nothing could be read
        yield _unreadable(summary)
    elif misses_all(judged):
        yield _nothing_serves(summary, judged, gpu or _newest(judged))
    elif gpu is not None and kernels is not None:
        yield from _unserved_libraries(kernels, gpu)
    yield from _lacking(case, judged, single_link=summary.single_link)
    yield from notes_of_empty(judged)
    yield from _notes_of_versions(case, judged)
    if not summary.single_link:  # whose inputs are told one by one
        yield from findings_of_coverage(case, judged, kernels)


def _newest(judged: list[GroupVerdict]) -> Gpu:
    """The newest architecture for which modules were to be linked, where no GPU is named."""
    aims = (own_target(each.group.signature) for each in judged)
    return max(filter(None, aims), key=lambda aim: aim.arch.number)


def target_independent_findings(summary: ArtifactSummary) -> Iterator[Problem]:
    """Find missing and superfluous parts of an artifact that don't depend on the target."""
    if not summary.single_link:
        kinds = frozenset(artifact_code.kinds(summary.groups))
        yield from found_about("ArtifactSummary", summary, kinds)


def _lacking(case: Case, judged: list[GroupVerdict], *, single_link: bool) -> Iterator[Finding]:
    """Objects that have nothing for the target of a device link, beside others that do."""
    waiting = [each for each in judged if each.group.signature.needs_device_link]
    missing = [each for each in waiting if each.module_verdict.selection is Selection.NONE]
    if case.gpu is None or not missing or len(missing) == len(waiting):
        return
    known, offline = case.target.linker_of(objects=True)
    if single_link and known is not None:
        return  # the rule on the whole link knows what becomes of it
    # nvlink goes on without them; nvJitLink takes no object that has nothing for its target.
    refused = known is not None and not offline
    end = (
        "are refused by nvJitLink"
        if refused
        else "are left out of the device link, so calls to their functions stay undefined"
    )
    yield finding_by_engine(
        ABSENT_FROM_DEVICE_LINK,
        Verdict.FAIL if refused else Verdict.UNKNOWN,
        f"objects without code for {case.gpu.arch} {end}",
        evidence=_BY_ARCHS,
        **artifact_code.counted([each.group for each in missing]),
        subject="objects",
    )


def _nothing_serves(summary: ArtifactSummary, judged: list[GroupVerdict], gpu: Gpu) -> Finding:
    """The finding that no module is for a GPU, by a rule that excludes all images, if one does."""
    empty = [each.group.example for each in judged if has_empty_kernels(each)]
    other = Selection.OTHER_ROUTE
    judged = [e for e in judged if e.module_verdict.selection is not other and not e.neutral]
    excluded = [
        (str(image), *exclusion(image, gpu, each.route))
        for each in judged
        for image in dict.fromkeys(each.group.signature.images)
        if image.has_kernels is False or each.module_verdict.why != SelectionFailure.GUARDED
    ]
    obstacles = {rule_id for _, rule_id, _ in excluded}
    (only,) = obstacles if len(obstacles) == 1 else (NOTHING_SERVES,)
    route = judged[0].route
    objects = all(group_verdict.group.signature.needs_device_link for group_verdict in judged)
    by_route = only if route is Route.LINK else NOTHING_SERVES
    guarded = all(each.module_verdict.why == SelectionFailure.GUARDED for each in judged)
    refused = route is Route.LOAD and not guarded
    cure = {"remedy": _WRITE_BODIES} if guarded else {}
    end = f" ({_error(each.group for each in judged)})" if refused else ""
    loose = not summary.single_link and all(each.group.loose for each in judged)
    open_ = loose and summary.has_sources
    if loose:
        files = _unique(place.innermost for each in judged for place in each.group.places)
        end = ", and it is unknown whether the package compiles its sources" if open_ else end
        end += f"; all its device code is in {truncate_list(files, 2)}"
    reasons = [*grouped((image, f"{image} {reason}") for image, _, reason in excluded).values()]
    listed = "; ".join(told[0] for told in reasons[:4])
    more = f"; and {len(reasons) - 4} more" if len(reasons) > 4 else ""
    hollow = f"; the kernels of {empty[0]} are empty" if empty else ""
    found = finding_by_engine(
        ABSENT_FROM_DEVICE_LINK if objects else by_route,
        Verdict.UNKNOWN if open_ else Verdict.FAIL,
        f"no code for {gpu.arch}{end}{f': {listed}' if listed else ''}{more}{hollow}",
        evidence=_BY_ARCHS,
        **artifact_code.counted([each.group for each in judged]),
        places=tuple(chain.from_iterable(each.group.places for each in judged)),
        subject=WHOLE_ARTIFACT,
        **cure,
    )
    return _told_for(found, gpu)


def _error(groups: Iterable[ModuleGroup]) -> str:
    """The error of launches; the driver links the objects of a device-linked module again."""
    if all(any(image.prelinked for image in group.signature.images) for group in groups):
        return "error 500, named symbol not found, or error 300"
    return "error 209, no kernel image is available"


def _told_for(finding: Finding, gpu: Gpu) -> Finding:
    """The finding with the architecture in its remedy, whose options can then be pasted."""
    row, remedy = sm(gpu.arch.number), finding.remedy.replace("XY", str(gpu.arch.number))
    if row is not None and (last := row.last_toolkit) is not None:
        by_link = f"lto_{gpu.arch.number}" in remedy
        if not by_link or last >= FIRST_NVJITLINK:
            remedy = f"with CUDA {last} or older, {remedy}"
    return replace(finding, remedy=remedy)


def _unserved_libraries(coverage: KernelCoverage, gpu: Gpu) -> Iterator[Finding]:
    """Libraries of a package that would fail alone: what serves the GPU beside them has no part."""
    for library in coverage.libraries:
        groups = library.groups
        file = groups[0].example.innermost
        images = _unique(str(image) for group in groups for image in group.signature.images)
        found = finding_by_engine(
            NOTHING_SERVES,
            Verdict.FAIL,
            f"{file} has no code for {gpu.arch} ({_error(groups)}): "
            f"it has only {truncate_list(images, 4)}",
            example=groups[0].example,
            places=tuple(chain.from_iterable(group.places for group in groups)),
            kernels=tuple(sorted(library.kernels)),
            subject=file,
        )
        yield _told_for(found, gpu)


def lacks_only_libraries(result: Result) -> bool:
    """Return whether a GPU fails only because some libraries have no code for it."""
    failing = [finding for finding in result.findings if finding.verdict > Verdict.JIT]
    return bool(failing) and all(map(_is_of_library, failing))


def _is_of_library(finding: Finding) -> bool:
    library = "" if finding.example is None else finding.example.innermost
    return finding.rule == NOTHING_SERVES and finding.subject == library


def without_libraries(left_out: Sequence[Result]) -> Finding:
    """Return the warning about GPUs that are not checked, since the target names none.

    Args:
        left_out: the verdicts for these GPUs, for which only some of its libraries have code.
    """
    gpus, files = _gpus_and_libraries(left_out)
    headline = f"not checked on {gpus}: no code in {files}"
    return finding_by_engine(
        SPARSE_COVERAGE,
        Verdict.OK,
        f"{headline}, but other libraries have code (add gpu={left_out[0].gpu} to the target)",
        example=left_out[0].findings[0].example,
        level=Level.WARNING,
        headline=headline,
        # It names them, so that a baseline forgives no further GPU and no other library.
        subject=headline,
    )


def _gpus_and_libraries(left_out: Sequence[Result]) -> tuple[str, str]:
    """The GPUs, and the libraries that have nothing for them, as a sentence lists them."""
    gpus = (str(result.gpu) for result in left_out)
    found = (finding for each in left_out for finding in each.findings)
    files = (finding.subject for finding in found if _is_of_library(finding))
    return truncate_list(_unique(gpus), 4), truncate_list(_unique(files), 4)


def _unique(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def serves_no_gpu(possible: Sequence[Result], summary: ArtifactSummary) -> Result:
    """Return the verdict if an artifact has no code for any possible GPU of a target.

    Args:
        possible: the verdicts for these GPUs, all of them ``fail``.
        summary: the artifact.
    """
    first, last = possible[0], possible[-1]
    alone = replace(last, gpu=None, route=last.route if first.route is last.route else None)
    images = (image for group in summary.groups for image in group.signature.images)
    partly = list(filter(lacks_only_libraries, possible))
    finding = finding_by_engine(
        NOTHING_SERVES,
        Verdict.FAIL,
        "no GPU of the target has code in every library: {1} has none for {0}".format(
            *_gpus_and_libraries(partly)
        )
        if partly
        else f"no code for any GPU that the target can have ({first.gpu} to {last.gpu}), "
        f"only {truncate_list(_unique(map(str, images)), 4) or 'modules without images'}",
        module_count=last.coverage.modules,
        example=summary.groups[0].example,
        subject="",
    )
    return replace(alone, findings=(finding,))


def exclusion(image: ImageSignature, gpu: Gpu, route: Route) -> tuple[str, str]:
    """Return the rule by which an image is not for a GPU, and its reason in a few words."""
    kinds = None if route is Route.LINK else frozenset({image.kind})
    for rule in rules_about("ImageSignature", kinds):
        if rule.kind is image.kind and (reason := rule.function(image, gpu, route)):
            return rule.id, reason
    if image.kind is ImageKind.LTOIR and route is Route.LOAD:
        return NOTHING_SERVES, "is not linked by the driver"
    if image.empty_kernels:
        return NOTHING_SERVES, "has kernels that only return, so that launches do nothing"
    if image.prelinked:
        return NOTHING_SERVES, "links with other objects, and an object has no code for the GPU"
    return NOTHING_SERVES, "is not picked" if image.has_kernels else "has no kernels"


def left_open(
    case: Case, summary: ArtifactSummary, halves: frozenset[str], *, alone: bool
) -> Finding:
    """Return the finding that a target has missing keys; the verdict if nothing was checked."""
    words, keys = [], []
    if "link" in halves:
        offline = any(group.signature.needs_device_link for group in summary.groups)
        keys.append("nvlink= or nvjitlink=" if offline else "nvjitlink=")
        words.append("linking")
    if "load" in halves:
        asked = (("gpu=", case.gpu), ("driver=", case.target.driver))
        keys += [key for key, known in asked if not known]
        words.append("loading" if keys else f"loading {_unknown_kind(summary)}")
    lacks = f": the target has no {' and no '.join(keys)}" if keys else ""
    found = finding_by_engine(
        TARGET_LEAVES_OPEN,
        Verdict.UNKNOWN if alone else Verdict.OK,
        f"{' and '.join(words)} can't be checked{lacks}",
        subject=WHOLE_ARTIFACT,
        asked=tuple(sorted(halves)),
    )
    example = f", for example {_example(case, summary, keys)}" if keys else ""
    added = f"add {' and '.join(keys)} to the target{example}"
    return replace(found, remedy=added if keys else _UPDATE)


def _example(case: Case, summary: ArtifactSummary, keys: Iterable[str]) -> str:
    """A target with these keys: the one that was checked, if it is typed and not named.

    The versions are the newest that take the code, since these take the most.
    """
    values, target = split(EXAMPLE), case.target.name
    for key, known in (("nvjitlink", nvjitlink_minors()), ("driver", production_drivers())):
        fit = (each for each in known[::-1] if _takes(case, summary, each))
        values[key] = str(next(fit, known[-1]))
    values["nvlink"] = values["nvjitlink"]
    named = (key.partition("=")[0] for key in keys)
    added = ",".join(f"{name}={values[name]}" for name in named)
    return f"{target},{added}" if is_inline(target) else added


def _takes(case: Case, summary: ArtifactSummary, version: Release | DriverVersion) -> bool:
    """Return whether no code or library of an artifact refuses an nvJitLink or a driver."""
    gpu, links = case.gpu, isinstance(version, Release)
    asked = [*chain.from_iterable(case.engine.host_needs(summary, gpu).values())]
    for group in summary.groups:
        if gpu and (Route.LINK if links else Route.LOAD) in routes(group.signature):
            linker = traits_of(version) if isinstance(version, Release) else None
            code = case.engine.linked_code(group.signature, gpu, linker)
            asked += (code if links else case.engine.loaded_code(group.signature, gpu)).requirements
    parts = (Component.LINKER,) if links else OF_DRIVERS
    return all(
        each.constraint.judge(version) is not Verdict.FAIL
        for each in asked
        if each.component in parts
    )


def _unknown_kind(summary: ArtifactSummary) -> str:
    """The code of an artifact that can't be checked though the target says enough."""
    kinds = {*artifact_code.kinds(summary.groups)}
    if ImageKind.TILEIR in kinds:
        return "its Tile IR"
    if ImageKind.UNKNOWN in kinds:
        return "its images of an unknown kind"
    return "it with an unknown driver"


def impossible_route(judged: list[GroupVerdict], route: Route) -> Finding:
    """Return the finding that no module uses the requested route."""
    other, reason = (
        (Route.LINK, "loaded: its objects still need a device link")
        if route is Route.LOAD
        else (Route.LOAD, "linked: the CUDA runtime loads the modules that a program registers")
    )
    return finding_by_engine(
        ROUTE_IMPOSSIBLE,
        Verdict.UNKNOWN,
        f"none of this code is {reason}",
        **artifact_code.counted([each.group for each in judged]),
        subject=WHOLE_ARTIFACT,
        remedy=f"leave out --route {route}, or use --route {other}",
    )


def _unreadable(summary: ArtifactSummary) -> Finding:
    first, number = next(iter(summary.skipped), None), summary.skipped_count
    reason = f": {first.reason}" if first else ""
    places = "one place" if number == 1 else f"{number:,} places"
    return finding_by_engine(
        BYTES_UNREAD,
        Verdict.UNKNOWN,
        f"{places} can't be read and may hold device code{reason}",
        module_count=number,
        example=first.place if first else None,
        subject=WHOLE_ARTIFACT,
        level=Level.ERROR,
        places=tuple(each.place for each in summary.skipped),
    )


def _notes_of_versions(case: Case, judged: Sequence[GroupVerdict]) -> Iterator[Finding]:
    """A note for each linker and driver of a target that the tables don't have.

    Of a new major of a linker nothing is concluded, so that other findings speak of it.
    """
    selections = {each.module_verdict.selection for each in judged}
    arch = "the target" if case.gpu is None else str(case.gpu.arch)
    if Selection.LINK in selections:
        waiting = any(each.group.signature.needs_device_link for each in judged)
        linkers, offline = case.target.linker_of(objects=waiting)
        title = "nvlink" if offline else "nvJitLink"
        for release in () if linkers is None else linkers.values:
            if not horizon.is_new_major(release):
                where = horizon.of_linker(release)
                yield from _note(f"{title} {release}", where, arch, "minor-version")
    loaded = not selections.isdisjoint((Selection.SASS, Selection.PTX))
    if loaded and case.target.driver is not None:
        for driver in case.target.driver.values:
            yield from _note(f"driver {driver}", horizon.of_driver(driver), arch, "backward")


def _note(
    version: str, where: Position[Release] | Position[int], arch: str, documented: str
) -> Iterator[Finding]:
    if where.known:
        return
    if where.beyond:
        text = (
            f"is newer than {where.below}, the newest entry in our tables; the verdict relies on "
            f"documented {documented} compatibility, but this version may have dropped {arch}"
        )
    elif where.below is None:
        text = f"is not in our tables: it counts as older than {where.above}, their oldest entry"
    else:
        text = f"is not in our tables: it counts as between {where.below} and {where.above}"
    yield finding_by_engine(NOT_IN_TABLES, Verdict.OK, f"{version} {text}")
