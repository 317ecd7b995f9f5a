"""Promises of a package, held against its bytes: summaries -> problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.errors import LimitExceeded
from ltocompat.model.limits import DEFAULT_LIMITS, Budget, Limits
from ltocompat.model.requirement import Required
from ltocompat.model.watchdog import watched
from ltocompat.packages.python_packages import installed_around, may_load_libraries
from ltocompat.packages.values import Kind, Shipped
from ltocompat.rules.catalogue import found_about
from ltocompat.rules.rule import Problem

if TYPE_CHECKING:
    from ltocompat.model.policy import Promise
    from ltocompat.packages.values import Package


def shipped_of(
    package: Package,
    summary: ArtifactSummary,
    ask: Callable[[], Required],
    *,
    others: Sequence[Package] = (),
    promise: Promise | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Shipped:
    """Return a package with its bytes, as rules need it.

    Args:
        package: the package, or the package of an installed file.
        summary: its summary.
        ask: returns its requirements, with or without trials.
        others: other packages, from ``packages_beside``.
        promise: the promises of its project.
        limits: bounds for checking it.
    """
    needs = any(library.how == "needed" for host in summary.hosts for library in host.libraries)
    there, asked = installed_around(package)
    return Shipped(
        package=package,
        ask=ask,
        hosts=tuple(summary.hosts),
        signatures=tuple((group.signature, group.count) for group in summary.groups),
        others=tuple(other for other in (*others, *there) if other.path != package.path),
        promise=promise,
        compat=summary.compat is not None,
        in_front=summary.in_front,
        searched=summary.searched,
        skipped=tuple(summary.skipped),
        asked=asked,
        loads=needs and may_load_libraries(package, Budget(limits)),
        budget=Budget(limits),
    )


def problems(shipped: Shipped) -> tuple[Problem, ...]:
    """Collect the problems that all rules find, each once, worst first."""
    found: list[Problem] = []
    # The type by which the rules call it.
    what = "Installed" if shipped.in_environment else "Shipped"
    what = "ShippedImage" if shipped.package.kind is Kind.IMAGE else what
    try:
        with watched(shipped.budget):
            found += found_about(what, shipped)
    except LimitExceeded as error:
        from ltocompat.rules.catalogue.package_promises import not_judged

        found.append(not_judged(shipped.package, f"the metadata is too large to check: {error}"))
    return tuple(sorted(dict.fromkeys(found), key=lambda problem: -problem.verdict))
