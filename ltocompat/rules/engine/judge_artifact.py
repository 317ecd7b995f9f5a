"""The verdicts on an artifact: each of its modules, for every GPU and route of a target."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.model.artifact_summary import (
    ArtifactSummary,
    ModuleGroup,
    Variant,
    variant_parts,
)
from ltocompat.model.generic import grouped
from ltocompat.model.image import Origin
from ltocompat.model.late_lines import LateLines
from ltocompat.model.target import Gpu, Target
from ltocompat.model.verdict import (
    WHOLE_ARTIFACT,
    Finding,
    Result,
    Route,
    VariantVerdict,
    Verdict,
    worst,
)
from ltocompat.model.words import truncate_list
from ltocompat.rules.builtin_rules import (
    NOTHING_SERVES,
    ROUTE_IMPOSSIBLE,
    TARGET_LEAVES_OPEN,
    VARIANT_DECIDES,
)
from ltocompat.rules.engine.artifact_findings import (
    exclusion,
    lacks_only_libraries,
    serves_no_gpu,
    without_libraries,
)
from ltocompat.rules.engine.engine import Case, Engine
from ltocompat.rules.engine.findings import finding_by_engine
from ltocompat.rules.engine.fold_result import Part, aggregate
from ltocompat.rules.engine.fold_versions import over_versions
from ltocompat.rules.engine.implied_gpus import gpus_to_judge, serves
from ltocompat.rules.engine.judge_module import judge_linked, judge_loaded
from ltocompat.rules.engine.module_verdict import GroupVerdict, ModuleVerdict
from ltocompat.rules.engine.routes import possible_routes, routes_on
from ltocompat.rules.selection import Selection


def results(
    summary: ArtifactSummary, target: Target, wanted: Route | None = None
) -> Iterator[Result]:
    """Yield the verdicts on an artifact for every GPU of a target.

    If the target names no GPU, this is every possible GPU that the artifact serves.

    Args:
        summary: the artifact.
        target: the deploy target.
        wanted: the route; None checks each route of its modules.
    """
    return ArtifactJudge(summary, Engine()).results(target, wanted)


class ArtifactJudge:
    """Judges one artifact for any number of targets; findings independent of targets are made once.

    Args:
        summary: the artifact, which is not changed any more.
        engine: the memory of judging.
        advises: True to also judge a link without -lto after a failure, and advise it if it is
            better.
    """

    def __init__(self, summary: ArtifactSummary, engine: Engine, *, advises: bool = True) -> None:
        self._advises = advises
        formats = {host.format for host in summary.hosts if host.linked}
        self._for_windows = formats == {"PE"}  # all its libraries and programs are
        self._whole = Part.of(summary, engine)
        self._variants = [
            (each.variant, Part.of(each.used, engine), Part.of(each.alone, engine))
            # One link takes all that is given to it.
            for each in (() if summary.single_link else variant_parts(summary))
        ]

    def results(
        self, target: Target, wanted: Route | None = None, *, line: Route | None = None
    ) -> Iterator[Result]:
        """Yield the verdicts on the artifact: by GPU, then by route.

        Args:
            target: the deploy target.
            wanted: the route; None checks each route of its modules.
            line: the only route to check if a GPU has a result for each route; None: all.
        """
        if target.untold:
            return self._on_unknown_machines(target)
        if self._for_windows:
            target = target.on_windows
        judge = self._on_gpus if target.gpus else self._on_possible_gpus
        exact = functools.partial(judge, wanted=wanted, line=line)
        found, summary = over_versions(target, exact), self._whole.summary
        known_system = "os" in dict(target.sources) or any(gpu.arm for gpu in target.gpus)
        if summary.starts_on or summary.platform or known_system:
            from ltocompat.rules.engine.container_start import starting  # late: few need it

            found = (starting(each, summary) for each in found)
        known = summary.origins
        return (with_origins(each, known) for each in found) if known else found

    def _on_unknown_machines(self, target: Target) -> Iterator[Result]:
        """The verdict on machines of which a file tells too little, whatever the artifact is."""
        finding = finding_by_engine(
            TARGET_LEAVES_OPEN,
            Verdict.UNKNOWN,
            f"{truncate_list(target.nodes, 4)}: {target.untold}",
            subject=WHOLE_ARTIFACT,
            remedy="check them with a separate --deploy-target, such as gpu=t4,driver=R550",
            asked=target.nodes,
        )
        (found,) = self._on_gpus(target, None, Route.LOAD, (None,))
        if not found.without_device_code:
            found = replace(found, verdict=Verdict.UNKNOWN, findings=(finding,), route=None)
        yield replace(found, not_judged=(), why=())

    def _on_possible_gpus(
        self, target: Target, wanted: Route | None, line: Route | None
    ) -> Iterator[Result]:
        """The verdicts on a target that names no GPU; each of its parts has one version at most.

        There is one for each GPU that it can have and that the artifact (of a package, each of its
        libraries) has code for. Where there is no such GPU, that is the verdict.
        """
        gpus = gpus_to_judge(target, single_link=self._whole.summary.single_link)
        possible = list(self._on_gpus(target, wanted, line, gpus))
        served = [result for result in possible if serves(result) or self._is_named(result.gpu)]
        idle = [each for each in possible if each.coverage.modules == each.coverage.without_kernels]
        partly = [result for result in served if lacks_only_libraries(result)]
        whole = [result for result in served if not lacks_only_libraries(result)]
        if whole:
            told = (without_libraries(partly),) if partly else ()
            yield from (replace(each, findings=(*each.findings, *told)) for each in whole)
        elif idle and len(idle) == len(possible):
            # No GPU is asked for: what the host files ask for is the same for each.
            lines = {each.route: each for each in sorted(idle, key=lambda one: one.verdict)}
            yield from (replace(each, gpu=None) for each in lines.values())
        elif possible and all(result.verdict is Verdict.FAIL for result in possible):
            yield serves_no_gpu(possible, self._whole.summary)
        else:
            yield from self._on_gpus(target, wanted, line, (None,))

    def _is_named(self, gpu: Gpu | None) -> bool:
        """Return whether an input of a link has code for that architecture, linked or refused."""
        summary = self._whole.summary
        return summary.single_link and any(
            gpu is not None and image.arch is not None and image.arch.number == gpu.arch.number
            for group in summary.groups
            for image in group.signature.images
        )

    def _on_gpus(
        self,
        target: Target,
        wanted: Route | None,
        line: Route | None,
        gpus: Sequence[Gpu | None] = (),
    ) -> Iterator[Result]:
        """The verdicts on these GPUs, or on all of a target whose parts have one version each."""
        whole, routes = self._whole, [wanted]
        if wanted is None and not whole.summary.single_link:
            known, groups = whole.with_own_libraries(target), whole.summary.groups
            if any(len(routes_on(group.signature, known)) > 1 for group in groups):
                routes = [Route.LOAD, Route.LINK]  # a line for each, where modules go both ways
        lines = [route for route in routes if line is None or route in (line, None)]
        for gpu, route in itertools.product(gpus or target.gpus, lines):
            on = functools.partial(
                self._on_gpu, target=target, gpu=gpu, route=route, route_given=wanted is not None
            )
            variants = [
                JudgedVariant(variant, on(used), on(alone))
                for variant, used, alone in self._variants
            ]
            yield select_variant(variants) if variants else on(whole)

    def _on_gpu(
        self, part: Part, target: Target, gpu: Gpu | None, route: Route | None, *, route_given: bool
    ) -> Result:
        """Judge for one GPU; where a link fails and one without -lto does not, advise that."""
        summary, known = part.summary, part.with_own_libraries(target)
        case = Case(part.engine, known, gpu)
        judge = functools.partial(_judge, case, wanted=route, route_given=route_given)
        if summary.single_link:
            objects = any(each.signature.needs_device_link for each in summary.groups)
            in_link = Case(part.engine, known.for_link(objects=objects), gpu)
            judge = functools.partial(_judge_in_link, in_link, wanted=route)
        judged = list(map(judge, summary.groups))
        found = aggregate(case, part, judged, route)
        links = route is not Route.LOAD and (known.nvjitlink or known.nvlink)
        fails = found.verdict is Verdict.FAIL
        if not (self._advises and fails and target.lto and part.mixed and links):
            return found
        without = replace(target, lto=False)
        other = self._on_gpu(part, without, gpu, route, route_given=route_given)
        if other.verdict > Verdict.UNDOCUMENTED:
            return found
        findings = (
            replace(each, remedy=_WITHOUT_LTO) if each.verdict is Verdict.FAIL else each
            for each in found.findings
        )
        return replace(found, findings=tuple(findings))


def with_origins(result: Result, known: Mapping[str, Origin]) -> Result:
    """Return a result with the origins of its findings' files in a container image.

    Args:
        result: the result.
        known: path in the image -> the origin of the file; empty for other artifacts.
    """
    findings = []
    for each in result.findings if known else ():
        places = each.places or filter(None, (each.example,))
        paths = {"".join(place.members[:1]): None for place in places}
        origins = tuple(known[path] for path in paths if path in known)
        findings.append(replace(each, origins=origins))
    return replace(result, findings=tuple(findings)) if known else result


_WITHOUT_LTO = "link without -lto to use the SASS and PTX instead (lto=off in the target)"


_JUDGES = {Route.LOAD: judge_loaded, Route.LINK: judge_linked}


def _judge(
    case: Case, group: ModuleGroup, wanted: Route | None, *, route_given: bool
) -> GroupVerdict:
    """The verdict on equal modules on the wanted route, or else on the first that they go."""
    natural = routes_on(group.signature, case.target)
    route = natural[0] if wanted is None else wanted
    if route in (possible_routes(group.signature) if route_given else natural):
        return GroupVerdict(group, _JUDGES[route](case, group.signature, group.trials), route)
    elsewhere = _JUDGES[natural[0]](case, group.signature, group.trials)
    serves = not route_given and elsewhere.verdict is not Verdict.NOT_FOR_GPU
    why = f"it is {'linked' if route is Route.LOAD else 'loaded'}; another row checks that"
    aside = ModuleVerdict(selection=Selection.OTHER_ROUTE, why=why, serves_elsewhere=serves)
    return GroupVerdict(group, aside, route)


def _judge_in_link(case: Case, group: ModuleGroup, wanted: Route | None) -> GroupVerdict:
    """The verdict on equal modules in one link of all that can be linked.

    What has nothing for the target makes the linker refuse.
    """
    possible, gpu = possible_routes(group.signature), case.gpu
    route = wanted or (Route.LINK if Route.LINK in possible else Route.LOAD)
    found = _judge(case, group, route, route_given=True)
    verdict = found.module_verdict
    missed = verdict.selection is Selection.NONE and not verdict.not_judged
    if route is not Route.LINK or gpu is None or not missed or group.signature.needs_device_link:
        return found
    images = group.signature.images
    reasons = [exclusion(image, gpu, route) for image in images] or [(NOTHING_SERVES, "is empty")]
    listed = "; ".join(f"{image} {text}" for image, (_, text) in zip(images, reasons, strict=False))
    refused = finding_by_engine(
        reasons[0][0],
        Verdict.FAIL,
        f"the link for {gpu.arch} fails on one input: {listed or 'it is empty'}",
        evidence="architectures of the images",
        subject="an input of the link",
    )
    return found.but(verdict=Verdict.FAIL, findings=(refused,))


class JudgedVariant(Struct, frozen=True):
    """A variant on one target, GPU and route.

    Attributes:
        variant: the variant.
        result: the verdict on the variant, together with the files that belong to no variant.
        alone: the verdict on the variant by itself.
    """

    variant: Variant
    result: Result
    alone: Result


def select_variant(judged: Sequence[JudgedVariant]) -> Result:
    """Return the result of the best variant, with the verdicts on the others.

    Args:
        judged: every variant, oldest first.
    """
    serving = [each for each in judged if each.alone.coverage.served]
    with_code = [each for each in judged if each.alone.coverage.modules]
    this_way = [each for each in with_code if ROUTE_IMPOSSIBLE not in each.alone.rules]
    choices = serving or this_way or with_code or judged
    best = min(reversed(choices), key=_order)
    if best.result.without_device_code:
        return best.result
    outcome = tuple(
        variant_verdict(each.variant, (each.result,), serves=each in choices, decides=each is best)
        for each in judged
    )
    note = note_of_variants(outcome)
    findings = (*best.result.findings, note)
    why = LateLines(functools.partial(chain, (note.message,), best.result.why))
    return replace(best.result, findings=findings, variants=outcome, why=why)


def _order(judged: JudgedVariant) -> tuple[Verdict, int, int, int]:
    """The better verdict; then more that is known, less that is wrong, and more that serves."""
    result = judged.result
    wrong = sum(finding.verdict is result.verdict for finding in result.findings)
    return result.verdict, len(result.not_judged), wrong, -result.coverage.served


def variant_verdict(
    variant: Variant, results: Sequence[Result], *, serves: bool, decides: bool = False
) -> VariantVerdict:
    """Return the verdict on a variant: the worst result of its files, and rules against them."""
    findings = chain.from_iterable(result.findings for result in results)
    against = dict.fromkeys(each.rule for each in findings if each.verdict > Verdict.JIT)
    verdict = worst(result.verdict for result in results)
    return VariantVerdict(variant.name, variant.version, verdict, tuple(against), serves, decides)


def note_of_variants(every: Sequence[VariantVerdict]) -> Finding:
    """Return the note about the variant that decides, and the others.

    Args:
        every: all variants, oldest first; one decides.
    """
    alike = grouped((each.outcome, each.version) for each in every if not each.decides)
    others = "; ".join(f"{', '.join(versions)} {outcome}" for outcome, versions in alike.items())
    name = next(each.name for each in every if each.decides)
    return finding_by_engine(
        VARIANT_DECIDES,
        Verdict.OK,
        f"the verdict is for {name}, the best of {len(every)} variants; others: {others}",
        headline=f"the verdict is for {name}; the other variants: {others}",
        subject=WHOLE_ARTIFACT,
    )
