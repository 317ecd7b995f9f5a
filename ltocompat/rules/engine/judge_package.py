"""What a package promises, held against its bytes: paths and studies -> flaws."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ltocompat.model.artifact_summary import Study
from ltocompat.model.errors import UsageError
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.model.requirement import Required
from ltocompat.packages.promise import Promise
from ltocompat.packages.reading import package_of
from ltocompat.packages.values import Package, Shipped
from ltocompat.rules.catalogue import RULES
from ltocompat.rules.rule import Flaw


def flaws_of(
    path: str,
    study: Study,
    required: Required,
    *,
    others: Sequence[Package] = (),
    promise: Promise | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[Flaw, ...]:
    """Everything that is wrong with the promises of a package, worst first.

    Args:
        path: the package, or a file of an installed one.
        study: what is left of it for verdicts.
        required: what it asks for; with or without trials.
        others: packages beside it, as ``packages_beside`` reads them.
        promise: what its project promises.
        limits: what reading its metadata may cost.

    Returns:
        The flaws; none for a path that is no package.
    """
    package = package_of(path, limits)
    if package is None:
        return ()
    shipped = Shipped(
        package=package,
        required=required,
        hosts=tuple(study.hosts),
        shapes=tuple((group.shape, group.count) for group in study.groups),
        others=tuple(one for one in others if one.path != package.path),
        promise=promise,
    )
    return flaws(shipped)


def flaws(shipped: Shipped) -> tuple[Flaw, ...]:
    """What all rules find, each once, worst first."""
    found = [one for rule in RULES if rule.of_package for one in rule.of_package(shipped)]
    return tuple(sorted(dict.fromkeys(found), key=lambda one: -one.verdict))


def packages_beside(
    paths: Sequence[str | os.PathLike[str]], limits: Limits = DEFAULT_LIMITS
) -> tuple[Package, ...]:
    """The packages of ``--with``.

    Raises:
        UsageError: a path is no package.
    """
    found = []
    for path in (os.fspath(one) for one in paths):
        package = package_of(path, limits)
        if package is None:
            raise UsageError(
                f"{path} is no package; give a wheel, a conda package or a *.dist-info folder"
            )
        found.append(package)
    return tuple(found)
