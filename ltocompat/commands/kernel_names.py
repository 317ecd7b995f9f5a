"""Add the names of kernels to verdicts that stand."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ltocompat.model.generic import R
from ltocompat.model.limits import Limits
from ltocompat.model.location import Location
from ltocompat.model.verdict import Finding, Result, Verdict
from ltocompat.rules.builtin_rules import BYTES_UNREAD

if TYPE_CHECKING:
    from ltocompat.commands.policy.values import PolicyException
    from ltocompat.files.archives.spool import MemberCache
    from ltocompat.scan.second_pass import ModuleKernels


_MOST_PLACES = 60  # of an artifact


def with_kernel_names(
    records: Sequence[R | Result],
    limits: Limits,
    exceptions: Sequence[PolicyException] = (),
    kept: MemberCache | None = None,
) -> list[R | Result]:
    """Return the same results; findings on modules that may fail name the kernels of these modules.

    Reading kernels is slow, so only some modules of an artifact are read: the first of each
    finding, then the second of each. If an exception has a kernel pattern, all are read.

    Args:
        records: the results of one artifact, and other records.
        limits: upper limits on sizes, counts and time for reading one file.
        exceptions: the exceptions of a policy.
        kept: the members that were unpacked when the artifact was read.
    """
    results = [record for record in records if isinstance(record, Result)]
    by_kernel = [each for each in exceptions if each.by_kernel]
    pairs = [(result, finding) for result in results for finding in result.findings]
    # They are forgiven if all of their kernels match.
    matched = [pair[1] for pair in pairs if any(each.concerns(*pair) for each in by_kernel)]
    whole = set(itertools.chain.from_iterable(map(_modules, matched)))
    some = _in_turn(finding for result, finding in pairs if _is_of_modules(result, finding))
    if not some and not whole:
        return list(records)
    # Imported here: most artifacts have no such finding.
    from ltocompat.scan.second_pass import kernel_names
    from ltocompat.scan.walk import ScanSettings

    wanted = dict.fromkeys(some, False) | dict.fromkeys(whole, True)
    names = kernel_names(wanted, ScanSettings(limits=limits, kept=kept))
    return [
        _named(record, names, by_kernel) if isinstance(record, Result) else record
        for record in records
    ]


def _modules(finding: Finding) -> tuple[Location, ...]:
    """The places of modules; where nothing could be read there are none."""
    return () if finding.rule == BYTES_UNREAD else finding.places


def _is_of_modules(result: Result, finding: Finding) -> bool:
    """Return whether it is about modules: what an artifact lacks as a whole has no kernels."""
    return result.extent.modules > 0 < finding.module_count and finding.verdict >= Verdict.UNKNOWN


def _in_turn(findings: Iterable[Finding]) -> list[Location]:
    """Places of all findings, as many as are read."""
    rows = itertools.zip_longest(*{_modules(finding): None for finding in findings})
    places: dict[Location, None] = {}
    for place in filter(None, itertools.chain.from_iterable(rows)):
        if len(places) == _MOST_PLACES:  # of libraries with 20,000 modules the others cost time
            break
        places.setdefault(place)
    return [*places]


def _named(
    result: Result, names: Mapping[Location, ModuleKernels], by_kernel: Sequence[PolicyException]
) -> Result:
    findings = [
        _with_names(finding, names)
        if _is_of_modules(result, finding) or any(e.concerns(result, finding) for e in by_kernel)
        else finding
        for finding in result.findings
    ]
    return replace(result, findings=tuple(findings))


def _with_names(finding: Finding, names: Mapping[Location, ModuleKernels]) -> Finding:
    places = _modules(finding)
    found = [names[place] for place in places if place in names]
    sure = len(set(places)) == finding.module_count == len(found)
    return replace(
        finding,
        kernels=tuple(dict.fromkeys(name for each in found for name in each.names)),
        kernel_modules=len(found),
        all_kernels=sure and all(each.names and each.all_read for each in found),
    )
