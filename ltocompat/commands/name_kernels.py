"""Findings with the kernels behind them; read once verdicts stand, they judge nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from ltocompat.model.limits import Limits
from ltocompat.model.place import Place
from ltocompat.model.verdict import Finding, Result, Verdict

_MOST_PLACES = 20
_MOST_NAMES = 20

R = TypeVar("R")
"""What is no result, and passes by."""


def with_kernel_names(records: Sequence[R | Result], limits: Limits) -> list[R | Result]:
    """The same, where findings on modules that may not work name the kernels of the first of them.

    Reading kernels is dear, so that it is done for the first findings of an artifact only.
    """
    results = [record for record in records if isinstance(record, Result)]
    places = list(dict.fromkeys(_places(results)))[:_MOST_PLACES]
    if not places:
        return list(records)
    # Imported here: most artifacts have no such finding.
    from ltocompat.scan.second_pass import kernel_names

    names = kernel_names(places, limits)
    return [_named(record, names) if isinstance(record, Result) else record for record in records]


def _places(results: Iterable[Result]) -> Iterable[Place]:
    for result in results:
        for finding in result.findings:
            if _is_of_modules(result, finding) and finding.example is not None:
                yield finding.example


def _is_of_modules(result: Result, finding: Finding) -> bool:
    """Whether it is about single modules: what an artifact lacks as a whole has no kernels."""
    return result.extent.modules > 0 < finding.module_count and finding.verdict >= Verdict.UNKNOWN


def _named(result: Result, names: Mapping[Place, tuple[str, ...]]) -> Result:
    findings = [
        _with_names(finding, names.get(finding.example, ()))
        if finding.example is not None and _is_of_modules(result, finding)
        else finding
        for finding in result.findings
    ]
    return replace(result, findings=tuple(findings))


def _with_names(finding: Finding, names: tuple[str, ...]) -> Finding:
    return replace(finding, kernels=names[:_MOST_NAMES], kernel_count=len(names))
