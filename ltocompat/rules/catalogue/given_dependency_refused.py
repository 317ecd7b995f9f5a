"""PKG-12: a package that is given beside another is not one that its metadata admit."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.packages.values import Dependency, Package, Shipped
from ltocompat.rules.rule import Problem, Rule


def of_package(shipped: Shipped) -> Iterator[Problem]:
    """One for each dependency that the package given under its name doesn't meet."""
    given = {each_other.name: each_other for each_other in shipped.others}
    for package in (shipped.package, *shipped.others):
        for require in package.requires:
            other = given.get(require.name)
            if other is not None and not require.marker and not _admits(require, other):
                yield Problem(
                    RULE.id,
                    Verdict.FAIL,
                    f"{package} asks for {require.name} {' or '.join(require.versions)}, "
                    f"but {other} is given beside it",
                    "give the one that installers take, or change the line",
                    require.line,
                )


def _admits(dependency: Dependency, other: Package) -> bool:
    """Whether a version is admitted; one that can't be read counts, since it may be."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        version = Version(other.version)
    except InvalidVersion:
        return True
    return any(
        SpecifierSet(text).contains(version, prereleases=True) for text in dependency.versions
    )


RULE = Rule(
    id="PKG-12",
    title="Given dependency that the metadata refuse",
    statement="A package is judged together with the packages that are given beside it. Where "
    "its metadata exclude the version of one of them, installers take another, and the judgement "
    "is about something that is never installed.",
    condition="--with gives a package under the name of a dependency, whose version the line "
    "excludes. Lines with markers are left out.",
    evidence="Requires-Dist or depends; the version of the package that is given.",
    verdict="fail",
    messages=("ResolutionImpossible", "but you have", "which is incompatible"),
    remedy="Give the version that is installed, or change the line.",
    source="PEP 440; PEP 508",
    of_package=of_package,
)
