"""Problems of a package itself, wherever it goes, as a result of its own."""

from __future__ import annotations

import copy
import functools
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ltocompat.commands.options import StrPath
from ltocompat.files.byteview import ByteView
from ltocompat.model.artifact_summary import ArtifactSummary, of_package
from ltocompat.model.image import Origin
from ltocompat.model.limits import Limits
from ltocompat.model.location import Location
from ltocompat.model.requirement import Required
from ltocompat.model.target import ANY_TARGET
from ltocompat.model.verdict import Coverage, Result, Verdict, worst
from ltocompat.packages.reading import package_of, packages_at, packages_beside
from ltocompat.packages.values import Kind, Package, Shipped
from ltocompat.rules.builtin_rules import TARGET_LEAVES_OPEN
from ltocompat.rules.engine.findings import finding_of_problem, machine_result, with_problems
from ltocompat.rules.engine.judge_artifact import results, with_origins

if TYPE_CHECKING:
    from ltocompat.model.policy import Promise
    from ltocompat.rules.rule import Problem

NO_SOURCES: Mapping[str, ByteView] = {}
_LOOKED = "its metadata and promises, compared with the contents"


class Packages:
    """Compares the promises of packages with their contents.

    Args:
        paths: the inputs, as the user named them; a place inside a package is not enough to check
            it.
        beside: packages that will be installed together with the given packages.
        limits: bounds for reading metadata.
        sources: bytes to read instead of some paths.

    Raises:
        UsageError: a path in ``beside`` is not a package.
    """

    def __init__(
        self,
        paths: Sequence[StrPath],
        beside: Sequence[StrPath],
        limits: Limits,
        sources: Mapping[str, ByteView] = NO_SOURCES,
    ) -> None:
        places = [
            Location.parse(path) for each in paths if (path := os.fspath(each)) not in sources
        ]
        self._parts = {place.path for place in places if not place.is_file}
        self._beside = packages_beside(beside, limits)
        self._named_beside = tuple(beside)
        self._limits = limits
        self._sources = sources
        self._installed: dict[str, tuple[Package, list[ArtifactSummary]]] = {}

    def package_of(self, path: str) -> Package | None:
        """Return the package at a path, or the one that installed it; None for none."""
        return package_of(path, self._limits, self._sources.get(path))

    def problems(self, shipped: Shipped | None) -> tuple[Problem, ...]:
        """Return all problems of a package's promises; None if it is not a package."""
        if shipped is None:
            return ()
        # Imported here: most files are no package, and ask for none of its rules.
        from ltocompat.rules.engine.judge_package import problems

        return self._with_repairs(shipped, problems(shipped))

    def _with_repairs(self, shipped: Shipped, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
        """Problems with the command that repairs the wheel, where it cures them."""
        path = shipped.package.path
        if path in self._sources or not any(problem.mend for problem in problems):
            return problems
        from ltocompat.rewrite.mends import plan

        _, known = plan(replace(shipped, promise=None), problems)
        mended = {(each.rule, each.message) for each in known if not each.reason}
        beside = [f"--with {shlex.quote(os.fspath(other))}" for other in self._named_beside]
        command = " ".join(["ltocompat repair", shlex.quote(path), *beside, "-o repaired/"])
        return tuple(
            replace(problem, remedy=f"{finding_of_problem(problem).remedy}. Or run {command}")
            if (problem.rule, problem.message) in mended
            else problem
            for problem in problems
        )

    def shipped(
        self,
        summary: ArtifactSummary,
        package: Package | None,
        ask: Callable[[], Required] | None = None,
        promise: Promise | None = None,
    ) -> Shipped | None:
        """Return a package with its bytes, as rules need it; None if there is nothing to check."""
        if package is None or summary.path in self._parts:
            return None
        if not summary.modules and any(s.place == Location(summary.path) for s in summary.skipped):
            return None  # an archive that can't be read has other troubles than its metadata
        from ltocompat.rules.engine.collect_requirements import required
        from ltocompat.rules.engine.judge_package import shipped_of

        return shipped_of(
            package,
            summary,
            ask or functools.cache(functools.partial(required, summary)),
            others=self._beside,
            promise=promise,
            limits=self._limits,
        )

    def results(
        self, summary: ArtifactSummary, *, shipped: bool, brought: frozenset[str]
    ) -> Iterator[Result]:
        """Yield the problems of the package, if the artifact is one.

        The files of an installed package are kept until all are known.

        Args:
            summary: the artifact.
            shipped: True if packages that are not installed are checked, too.
            brought: the needed libraries that a loader finds already, so that no dependency has to
                install them.
        """
        package = self.package_of(summary.path)
        if package is not None and package.kind is Kind.INSTALLED:
            summary = copy.copy(summary)
            summary.hosts = [
                replace(host, needed=tuple(name for name in host.needed if name not in brought))
                for host in summary.hosts
            ]
            self._installed.setdefault(package.path, (package, []))[1].append(summary)
        elif shipped and (problems := self.problems(self.shipped(summary, package))):
            yield result_of(summary.path, problems, summary.origins)

    def installed_results(self, folders: Sequence[str] = ()) -> Iterator[Result]:
        """Yield the problems of installed packages after ``results`` got all their files.

        Args:
            folders: the folders of an environment; its packages without device code are checked,
                too.
        """
        for package in (each for path in folders for each in packages_at(path, self._limits)):
            self._installed.setdefault(package.path, (package, []))
        for path, (package, files) in self._installed.items():
            if problems := self.problems(self.shipped(of_package(path, files), package)):
                yield replace(result_of(path, problems, {}), distribution=str(package))


def on_any_target(summary: ArtifactSummary, problems: Sequence[Problem]) -> Result:
    """Return the verdict on an artifact without any fact that depends on a target."""
    found = [finding for result in results(summary, ANY_TARGET) for finding in result.findings]
    kept = tuple(dict.fromkeys(finding for finding in found if finding.rule != TARGET_LEAVES_OPEN))
    least = Verdict.OK if kept or problems or summary.modules else Verdict.UNKNOWN
    verdict = worst((least, *(finding.verdict for finding in kept)))
    coverage = Coverage(summary.modules)
    result = Result(summary.path, ANY_TARGET, None, None, verdict, coverage, (), kept, (_LOOKED,))
    return with_origins(with_problems(result, problems), summary.origins)


def result_of(path: str, problems: Sequence[Problem], origins: Mapping[str, Origin]) -> Result:
    """Return problems of an artifact on every target, and the origins of files in an image."""
    return with_origins(machine_result(path, ANY_TARGET, problems, _LOOKED), origins)
