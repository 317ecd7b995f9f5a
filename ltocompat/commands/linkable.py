"""Judge a link before a linker is asked: as ``check --together`` does, of bytes at hand."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from msgspec import Struct

from ltocompat.commands.advice import ASK_LINKER
from ltocompat.commands.evaluator import Evaluator
from ltocompat.commands.options import as_tuple
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.model.verdict import Finding, Result, Route, Verdict
from ltocompat.scan.sources import Source, source_names


class LinkVerdict(Struct, frozen=True):
    """The verdict on one link.

    Attributes:
        verdict: the verdict. ``fail``: the linker refuses the link, or the driver refuses its
            result. ``unknown``: ``reasons`` name the missing facts.
        reasons: one sentence for each reason; empty for ``ok``.
        remedy: the fix for the first reason; empty if there is nothing to do.
        fragments: positions of the fragments to which the reasons apply; empty if the reasons apply
            to all fragments.
        result: the whole result of ``check`` for the link.
    """

    verdict: Verdict
    reasons: tuple[str, ...]
    remedy: str
    fragments: tuple[int, ...]
    result: Result


def linkable(
    fragments: Source | Sequence[Source],
    *,
    linker: str,
    arch: str,
    driver: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> LinkVerdict:
    """Say whether nvJitLink links these fragments, without running it.

    It is the verdict of ``check(fragments, ..., together=True, route="link")``. Ten small
    fragments take 2 to 4 ms.

    Args:
        fragments: all inputs of the link (LTO-IR, PTX, relocatable cubins, fatbins, objects and
            archives), given as bytes, open files or paths.
        linker: the release of nvJitLink: ``12.4``, ``12.4.127``, or a set of releases
            (``>=12.4,<13``).
        arch: the target of the link: ``sm_90``, ``sm_90a``, or a GPU by name.
        driver: the driver that loads the result: ``570.124.06``. None: the load is not checked.
        limits: upper limits on sizes, counts and time for reading one fragment.

    Raises:
        UnreadableInput: a fragment can't be opened.
        UsageError: an argument is invalid, or there is no fragment.
    """
    sources = as_tuple(fragments)
    results = _evaluator(str(linker), arch, driver, limits).check(*sources, together=True)
    result = max(results, key=lambda result: result.verdict)
    deciding = [each for each in result.findings if each.verdict is result.verdict > Verdict.JIT]
    names = source_names(sources)
    return LinkVerdict(
        result.verdict,
        tuple(finding.message for finding in deciding),
        # Whoever calls this has the linker at hand, but no command line for an option.
        next((f.remedy.partition(ASK_LINKER)[0] for f in deciding if f.remedy), ""),
        tuple(sorted({at for finding in deciding for at in _at_fault(finding, names)})),
        result,
    )


@functools.lru_cache(maxsize=64)
def _evaluator(linker: str, arch: str, driver: str | None, limits: Limits) -> Evaluator:
    operator = "" if linker[:1] in "<>=~!" else "="
    target = f"nvjitlink{operator}{linker},gpu={arch}"
    with_driver = target if driver is None else f"{target},driver={driver}"
    return Evaluator(with_driver, route=Route.LINK, limits=limits)


def _at_fault(finding: Finding, names: Sequence[str]) -> set[int]:
    """The positions of the fragments that a finding is about."""
    paths = {place.path for place in finding.places or (finding.example,) if place is not None}
    return {at for at, name in enumerate(names) if name in paths}
