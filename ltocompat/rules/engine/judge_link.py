"""Findings on a link as a whole: on its inputs beside each other, and for its target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.image import ImageKind
from ltocompat.model.link_options import disagreements
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import Gpu
from ltocompat.model.trial_answer import TrialOutcome, link_key
from ltocompat.model.verdict import LEVELS, Finding, Route, Verdict, worst
from ltocompat.rules.builtin_rules import (
    ABSENT_FROM_DEVICE_LINK,
    DEFINED_TWICE,
    TRIAL_DISAGREES,
    TRIAL_REFUSED,
)
from ltocompat.rules.catalogue import found_about
from ltocompat.rules.engine.engine import Case
from ltocompat.rules.engine.findings import finding_by_engine
from ltocompat.rules.engine.module_verdict import GroupVerdict
from ltocompat.rules.link_selection import passed_over_by_nvlink
from ltocompat.rules.rule import Link
from ltocompat.rules.selection import Selection

# What LTO-IR defines and calls, no byte of it shows.
_UNSEEN = frozenset({"unresolved", "duplicate symbol", "lost kernels"})


def findings_of_link(
    case: Case, summary: ArtifactSummary, judged: Sequence[GroupVerdict]
) -> tuple[Finding, ...]:
    """Return findings about the whole link, with the answer of a linker to all inputs."""
    target, gpu = case.target, case.gpu
    linked = [each for each in judged if each.route is Route.LINK and _is(each, Selection.LINK)]
    given = judged if summary.single_link else linked
    waiting = any(each.group.signature.needs_device_link for each in given)
    known, offline = target.linker_of(objects=waiting)
    if not linked or known is None:
        return ()
    linker, tried = known.value, None
    if gpu is not None:
        key = link_key(linker, gpu.arch, offline=offline, lto=target.lto)
        tried = summary.link_trials.get(key)
    left_out = [each for each in judged if _is_left_out(each)]
    link = _link(summary, judged, linked, gpu, linker, offline=offline)
    rulings = case.rulings(found_about("Link", link), linker, offline=offline)
    by_bytes = case.findings(rulings)
    found = [*_settled(by_bytes, tried)]
    if tried is not None and tried.worked and not any(f.rule == DEFINED_TWICE for f in found):
        found += _only_printed(tried)
    examples = {ABSENT_FROM_DEVICE_LINK: left_out[0].group.example} if left_out else {}
    plain = [each for each in linked if each.module_verdict.picked[0].kind is not ImageKind.LTOIR]
    # The first module without LTO-IR, where others have some.
    example = (plain or linked)[0].group.example
    verdicts = (each.module_verdict.verdict for each in judged if each.route is Route.LINK)
    by_rules = worst((*verdicts, *(finding.verdict for finding in by_bytes)))
    refusal = () if tried is None else _refusal(tried, by_rules)
    return (
        *(replace(each, example=examples.get(each.rule, example)) for each in found),
        *(replace(each, example=example) for each in refusal),
    )


def _is(each: GroupVerdict, selection: Selection) -> bool:
    return each.module_verdict.selection is selection


def _is_left_out(each: GroupVerdict) -> bool:
    """Return whether an object that waits for the device link has nothing for its target."""
    return each.group.signature.needs_device_link and _is(each, Selection.NONE)


def _settled(findings: Sequence[Finding], tried: TrialOutcome | None) -> Sequence[Finding]:
    """Findings of rules that are left where a linker answered to all of it.

    What bytes don't show, it has seen; what nobody promises works, and stays unpromised.
    """
    if tried is None or tried.outcome in ("crashed", "timed out"):
        return findings
    if tried.outcome == "accepted":
        return [_still_open(each, tried) if _hidden(each) else each for each in findings]
    left = [each for each in findings if not _hidden(each)]
    return [_unpromised(each) for each in left] if tried.proves else left


def _hidden(finding: Finding) -> bool:
    """Return whether bytes don't show it, and a trial link does."""
    return finding.verdict is Verdict.UNKNOWN and finding.decided_by_trial


def _still_open(finding: Finding, tried: TrialOutcome) -> Finding:
    """The finding after a link without kernels, for which a linker looks for no function."""
    message = f"{tried.subject} accepts the inputs, but {tried.reason}; {finding.message}"
    return replace(finding, message=message, decided_by_trial=False)


def _unpromised(finding: Finding) -> Finding:
    if finding.verdict is not Verdict.UNKNOWN or finding.nondeterministic:
        return finding
    return replace(finding, verdict=Verdict.UNDOCUMENTED, level=LEVELS[Verdict.UNDOCUMENTED])


def _only_printed(tried: TrialOutcome) -> Iterator[Finding]:
    """A second definition, which the rules can't see in LTO-IR, and a linker only prints."""
    if tried.cause is not None:
        yield finding_by_engine(
            DEFINED_TWICE,
            Verdict.UNDOCUMENTED,
            f"{tried.subject} links all inputs, but its log has an error: {tried.reason}",
            evidence="a trial link of all inputs",
            subject=tried.cause,
        )


def _refusal(tried: TrialOutcome, by_rules: Verdict) -> Iterator[Finding]:
    """The refusal of a linker that was given all of it."""
    answered = tried.outcome in ("refused", "lost")
    if tried.worked or (answered and by_rules is Verdict.FAIL):
        return
    expected = by_rules is Verdict.UNKNOWN or tried.cause in _UNSEEN or not answered
    said = {"refused": "refuses", "lost": "loses kernels in"}
    what = said.get(tried.outcome, f"{tried.outcome} on")
    yield finding_by_engine(
        TRIAL_REFUSED if expected else TRIAL_DISAGREES,
        Verdict.FAIL if answered else Verdict.UNKNOWN,
        f"{tried.subject} {what} the link of all inputs: {tried.reason}",
        evidence="a trial link of all inputs",
        subject=tried.cause or tried.outcome,
    )


def _link(
    summary: ArtifactSummary,
    judged: Sequence[GroupVerdict],
    linked: Sequence[GroupVerdict],
    gpu: Gpu | None,
    linker: Release,
    *,
    offline: bool,
) -> Link:
    counts: Counter[ImageSignature] = Counter()
    options, passed_over = [], []
    for each in linked:
        for image in each.module_verdict.picked:
            if offline and gpu is not None and passed_over_by_nvlink(image, gpu.arch):
                passed_over.append(image)
            else:
                counts[image] += each.group.count
                options.append((image.options, each.group.example))
    return Link(
        tuple(counts.items()),
        tuple(disagreements(options)),
        gpu,
        linker,
        offline,
        summary.single_link,
        (
            *passed_over,
            *(i for each in judged if _is_left_out(each) for i in each.group.signature.images),
        ),
        tuple(
            image
            for each in judged
            if _is(each, Selection.UNREAD)  # it lies where no linker looks
            for image in each.module_verdict.picked or each.group.signature.images
        ),
        any(each.group.inner and each.group.signature.needs_device_link for each in linked),
    )
