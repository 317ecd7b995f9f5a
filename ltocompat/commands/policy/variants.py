"""Files of one package of which its loader opens one: the one that fits best decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.place import Place
from ltocompat.model.target import Target
from ltocompat.model.verdict import Result
from ltocompat.rules.engine.judge_artifact import results


def results_by_variant(
    summary: ArtifactSummary, target: Target, patterns: Sequence[str]
) -> Iterator[Result]:
    """The results of ``results``; of several variants that of the one that fits best.

    Args:
        summary: the package.
        target: where it goes.
        patterns: names of the files that are variants of each other.
    """
    parts = _parts(summary, patterns)
    if len(parts) < 2:
        yield from results(summary, target)
        return
    by_cell: dict[tuple[object, object], list[tuple[str, Result]]] = {}
    for name, part in parts.items():
        for result in results(part, target):
            by_cell.setdefault((result.gpu, result.route), []).append((name, result))
    for found in by_cell.values():
        name, best = min(found, key=lambda pair: (pair[1].verdict, -pair[1].coverage.served))
        others = ", ".join(f"{other} {result.verdict}" for other, result in found if other != name)
        why = f"variant {name} decides" + (f"; the others: {others}" if others else "")
        yield replace(best, why=(why, *best.why))


def _parts(summary: ArtifactSummary, patterns: Sequence[str]) -> dict[str, ArtifactSummary]:
    """What is in use with each variant: the variant itself, and all that is none."""
    places = [*(group.example for group in summary.groups), *(host.place for host in summary.hosts)]
    variants = dict.fromkeys(name for place in places if (name := _variant(place, patterns)))
    return {
        variant: replace(
            summary,
            groups=[g for g in summary.groups if _variant(g.example, patterns) in ("", variant)],
            hosts=[h for h in summary.hosts if _variant(h.place, patterns) in ("", variant)],
        )
        for variant in variants
    }


def _variant(place: Place, patterns: Sequence[str]) -> str:
    """The file of the package that a place is in, where it is a variant; else empty."""
    if not place.members:
        return ""
    member = place.members[0].replace("\\", "/")
    base = member.rsplit("/", 1)[-1]
    matched = any(fnmatchcase(member, text) or fnmatchcase(base, text) for text in patterns)
    return member if matched else ""
