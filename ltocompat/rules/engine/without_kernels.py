"""Modules without kernels: where they count, where they don't, and that they are never silent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Finding, Verdict
from ltocompat.rules.builtin_rules import NO_KERNELS
from ltocompat.rules.engine.findings import note
from ltocompat.rules.engine.module_verdict import GroupVerdict

_EVIDENCE = "symbols of the cubin, .entry directives of the PTX"


def with_neutral(judged: Sequence[GroupVerdict]) -> list[GroupVerdict]:
    """The modules' verdicts, without those on modules that nobody asks for by themselves.

    The runtime registers them, and no launch asks for them. A library or a package may have them
    for its links only, and something else in it has to serve then. What the user names is judged
    by every rule: the driver refuses it, kernels or not.
    """
    served = _serves(judged)
    return [
        _neutral(each)
        if each.module_verdict.without_kernels and _is_neutral(each, served=served)
        else each
        for each in judged
    ]


def _is_neutral(group_verdict: GroupVerdict, *, served: bool) -> bool:
    group = group_verdict.group
    return bool(group.signature.registered) or (served and not group.named)


def _serves(judged: Sequence[GroupVerdict]) -> bool:
    """Return whether kernels get onto the GPU, or may."""
    return any(each.for_gpu and not each.module_verdict.without_kernels for each in judged)


def _neutral(group_verdict: GroupVerdict) -> GroupVerdict:
    module_verdict = group_verdict.module_verdict
    by_itself = max(module_verdict.findings, key=lambda finding: finding.verdict, default=None)
    why = module_verdict.why if module_verdict.how == "none" else "no kernels in it"
    left = replace(
        module_verdict,
        verdict=Verdict.NOT_FOR_GPU,
        findings=(),
        not_judged=frozenset(),
        why=why,
    )
    return replace(group_verdict, module_verdict=left, neutral=True, by_itself=by_itself)


def misses_all(judged: Sequence[GroupVerdict]) -> bool:
    """Return whether no kernel is for the GPU; where there are no kernels, none of the code."""
    counted = [each for each in judged if not each.neutral]
    counted = [each for each in counted if not each.module_verdict.without_kernels] or counted
    missing = any(each.module_verdict.how == "none" for each in counted)
    return missing and not any(each.for_gpu for each in counted)


def notes_of_empty(judged: Sequence[GroupVerdict], gpu: Gpu | None) -> Iterator[Finding]:
    """Notes: no kernels are served; and what in a library or package would not load by itself."""
    empty = [each for each in judged if each.module_verdict.without_kernels]
    if empty and len(empty) == len(judged):
        where = "" if gpu is None else f" for {gpu.arch}"
        what = "empty kernels" if any(map(has_empty_kernels, empty)) else "device functions"
        yield _note(f"no kernels{where}: it holds {what} and variables at most", empty)
    for group_verdict in empty:
        reason = group_verdict.by_itself
        hollow = has_empty_kernels(group_verdict)
        is_told = hollow or not group_verdict.group.signature.registered
        if is_told and reason and reason.verdict > Verdict.JIT:
            what = "with empty kernels alone" if hollow else "without kernels"
            yield _note(
                f"{what}, and not to be loaded by itself: {reason.message}", [group_verdict]
            )


def has_empty_kernels(group_verdict: GroupVerdict) -> bool:
    """Return whether the modules have kernels that only return, and no others."""
    module_verdict = group_verdict.module_verdict
    return module_verdict.without_kernels and any(
        image.empty_kernels for image in module_verdict.picked
    )


def _note(message: str, groups: Sequence[GroupVerdict]) -> Finding:
    count = sum(each.group.count for each in groups)
    return note(NO_KERNELS, message, count, groups[0].group.example, _EVIDENCE)
