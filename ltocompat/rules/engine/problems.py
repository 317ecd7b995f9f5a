"""Problems of a machine, of a library on it, or of a package, as findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ltocompat.model.target import Target
from ltocompat.model.verdict import Coverage, Result, Verdict, worst
from ltocompat.rules.engine.findings import finding_of_problem
from ltocompat.rules.rule import Problem


def with_problems(result: Result, problems: Sequence[Problem]) -> Result:
    """A result with what is wrong around the artifact.

    A problem knows more than the same rule did about the file alone, and takes its place.
    """
    if not problems:
        return result
    known = {problem.rule for problem in problems}
    others = [each_finding for each_finding in result.findings if each_finding.rule not in known]
    findings = sorted(
        [*map(finding_of_problem, problems), *others],
        key=lambda finding: (-finding.verdict, -finding.module_count, finding.rule),
    )
    verdict = worst((result.verdict, *(problem.verdict for problem in problems)))
    of_whole = any(problem.verdict is verdict for problem in problems)
    extent = replace(result.extent, modules=0) if of_whole else result.extent
    return replace(result, verdict=verdict, findings=tuple(findings), extent=extent)


def machine_result(name: str, target: Target, problems: Iterable[Problem], looked: str) -> Result:
    """What is wrong with a machine, whatever is to run on it, as a result of its own.

    ``looked`` says how it was looked at.
    """
    findings = tuple(map(finding_of_problem, problems))
    verdict = worst((Verdict.OK, *(finding.verdict for finding in findings)))
    return Result(name, target, None, None, verdict, Coverage(0), (), findings, (looked,))
