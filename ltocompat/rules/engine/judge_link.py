"""What is said of a link as a whole: of what its inputs are to each other, and for its target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.image import ImageKind
from ltocompat.model.link_options import disagreements
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import Gpu, Target, VersionSet
from ltocompat.model.verdict import Finding, Route, worst
from ltocompat.rules.catalogue import RULES
from ltocompat.rules.engine.evaluate import evaluate
from ltocompat.rules.engine.group_verdict import GroupVerdict
from ltocompat.rules.engine.judge_module import ModuleVerdict, finding_of, over
from ltocompat.rules.rule import Link


def findings_of_link(
    summary: ArtifactSummary, judged: Sequence[GroupVerdict], target: Target, gpu: Gpu | None
) -> tuple[Finding, ...]:
    """What rules find in all that is linked, for the releases that the target's linker can be."""
    linked = [each for each in judged if each.way is Route.LINK and each.said.how == "link"]
    offline = any(each.group.signature.needs_device_link for each in linked) and target.nvlink
    known = target.nvlink if offline else target.nvjitlink
    if not linked or known is None:
        return ()
    found = [
        _judged(_link(summary, linked, gpu, linker, offline=bool(offline)), target, linker)
        for linker in known.values
    ]
    example = _beside_ltoir(linked) or linked[0]
    folded = _folded(known, found)
    return tuple(replace(each, example=each.example or example.group.example) for each in folded)


def _link(
    summary: ArtifactSummary,
    linked: Sequence[GroupVerdict],
    gpu: Gpu | None,
    linker: Release,
    *,
    offline: bool,
) -> Link:
    counts: dict[ImageSignature, int] = {}
    for each in linked:
        for image in each.said.picked:
            counts[image] = counts.get(image, 0) + each.group.count
    archs = {image.arch for image in counts if image.kind is ImageKind.LTOIR}
    options = [image for image in summary.options if image.arch in archs]
    return Link(
        tuple(counts.items()),
        tuple(disagreements(options)),
        gpu,
        linker,
        offline,
        summary.one_link,
    )


def _judged(link: Link, target: Target, linker: Release) -> list[Finding]:
    rulings = (
        evaluate(requirement, target, link.gpu, linker, offline=link.offline)
        for rule in RULES
        if rule.of_link is not None
        for requirement in rule.of_link(link)
    )
    return [finding_of(ruling) for ruling in rulings if ruling.message]


def _folded(known: VersionSet[Release], found: list[list[Finding]]) -> Iterator[Finding]:
    """Each rule once, over all releases."""
    for rule_id in dict.fromkeys(finding.rule for each in found for finding in each):
        of_rule = [tuple(finding for finding in each if finding.rule == rule_id) for each in found]
        said = [ModuleVerdict(worst(f.verdict for f in each), "link", each) for each in of_rule]
        yield from over(known, said).findings


def _beside_ltoir(linked: Sequence[GroupVerdict]) -> GroupVerdict | None:
    """The first module without LTO-IR, where others have some."""
    plain = [each for each in linked if each.said.picked[0].kind is not ImageKind.LTOIR]
    return plain[0] if plain and len(plain) < len(linked) else None
