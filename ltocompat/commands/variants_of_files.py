"""Variants among the files of an installed package, each of which has a row of its own.

Its loader opens one of them. What becomes of the others is told and does not count; a file's own
verdict stays what it is alone.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.files.objects import read_host
from ltocompat.model.artifact_summary import Variant, variant_of
from ltocompat.model.cuda_tag import tagged_path
from ltocompat.model.errors import LtocompatError
from ltocompat.model.failure import Failure, Note
from ltocompat.model.generic import grouped
from ltocompat.model.image import HostBinary
from ltocompat.model.library_name import library_major, library_name
from ltocompat.model.limits import Budget, Limits
from ltocompat.model.location import Location
from ltocompat.model.verdict import OTHER_VARIANT, Level, Result, VariantVerdict, Verdict
from ltocompat.packages.values import Kind, Package
from ltocompat.rules.engine.judge_artifact import note_of_variants, variant_verdict
from ltocompat.scan.walk import opened


class EvaluatedFile(Struct, frozen=True):
    """The results of one file.

    Attributes:
        path: the file.
        package: the package that installed it; empty if unknown.
        results: its results.
        notes: its other records.
        of_image: True if it is a container image.
    """

    path: str
    package: str
    results: Sequence[Result | Failure]
    notes: tuple[Note, ...] = ()
    of_image: bool = False


class InstalledVariants(Struct):
    """Holds back the files that may be variants until it is known which files their packages open.

    Args:
        limits: upper limits on sizes, counts and time for reading one file.
    """

    _limits: Limits
    _held: dict[str, list[tuple[str, EvaluatedFile]]] = {}
    _packages: dict[str, tuple[Package, frozenset[str]]] = {}

    def hold(self, file: EvaluatedFile, package: Package | None) -> bool:
        """Take a file of a package if it may be a variant by its name."""
        if package is None or package.kind is not Kind.INSTALLED:
            return False
        if package.path not in self._packages:
            self._packages[package.path] = package, may_be_variants(package.files)
        inside = package.listed(file.path)
        may_be_one = inside in self._packages[package.path][1]
        if may_be_one:
            self._held.setdefault(package.path, []).append((inside, file))
        return may_be_one

    def files(self) -> Iterator[EvaluatedFile]:
        """Yield the files that were taken, with the files that their packages open."""
        for path, files in self._held.items():
            yield from _aggregated(files, _variants_of(self._packages[path][0], self._limits))


def _variants_of(package: Package, limits: Limits) -> tuple[Variant, ...]:
    """The variants among all files of a package; none if a file of it can't be read."""
    from ltocompat.scan.variants import find_variants

    site = os.path.dirname(os.path.abspath(package.path))
    hosts: list[HostBinary] = []
    for file in package.files:
        if not file.endswith((".so", ".pyd", ".dll")) and ".so." not in file:
            continue
        try:
            with opened(os.path.join(site, file), limits) as view:
                host = read_host(view, Budget(limits))
                if host is not None:
                    exports = tagged_path(file) is not None
                    hosts.append(host.describe(Location(package.path, (file,)), exports=exports))
        except LtocompatError:
            return ()
    return find_variants(hosts)


def may_be_variants(files: Sequence[str]) -> frozenset[str]:
    """Return the files of a package that are variants by their names, without reading them.

    Their paths differ only in the CUDA version, or they lie in neighbouring folders with the same
    CUDA library in several majors.
    """
    majors: dict[tuple[str, str], dict[str, int]] = {}
    tagged = {path: each for path in files if (each := tagged_path(path)) is not None}
    versions = grouped((each.pattern, each.version) for each in tagged.values())
    if any(len({*several}) > 1 for several in versions.values()):
        return frozenset(tagged)
    for path in files:
        folder, file = posixpath.split(path)
        name, major = library_name(file), library_major(file)
        if folder and name is not None and major is not None:
            majors.setdefault((posixpath.dirname(folder), name), {})[folder] = major
    differing = (each for each in majors.values() if len({*each.values()}) > 1)
    folders = tuple(f"{folder}/" for each in differing for folder in each)
    return frozenset(path for path in files if path.startswith(folders))


def _aggregated(
    files: Sequence[tuple[str, EvaluatedFile]], variants: Sequence[Variant]
) -> Iterator[EvaluatedFile]:
    """The files with what becomes of each variant, GPU by GPU of each target."""
    homes = {inside: variant_of(Location("", (inside,)), variants) for inside, _ in files}
    cells: dict[tuple[object, ...], dict[str, list[Result]]] = {}
    for inside, file in files:
        variant = homes[inside]
        for result in file.results if variant is not None and variant.whole else ():
            if isinstance(result, Result):
                cell = cells.setdefault(_cell(result), {})
                cell.setdefault(variant.version if variant else "", []).append(result)
    outcomes = {cell: _outcome(found, variants) for cell, found in cells.items()}
    for inside, file in files:
        variant = homes[inside]
        if variant is None:
            yield file
            continue
        results = [
            _settled(result, variant, outcomes.get(_cell(result), ()))
            if isinstance(result, Result)
            else result
            for result in file.results
        ]
        yield replace(file, results=results)


def _cell(result: Result) -> tuple[object, ...]:
    return result.target.name, result.gpu, result.route


def _outcome(
    found: Mapping[str, Sequence[Result]], variants: Sequence[Variant]
) -> tuple[VariantVerdict, ...]:
    """The outcome of each variant on one GPU of a target, oldest first."""
    judged = [
        variant_verdict(variant, results, serves=any(each.coverage.served for each in results))
        for variant in variants
        if (results := found.get(variant.version))
    ]
    choices = [each for each in judged if each.serves] or judged
    best = min(reversed(choices), key=lambda each: (each.verdict, len(each.rules)))
    return tuple(replace(each, serves=each in choices, decides=each is best) for each in judged)


def _settled(result: Result, variant: Variant, outcome: Sequence[VariantVerdict]) -> Result:
    """The result, which does not count where another variant is opened."""
    if len(outcome) < 2:
        return result
    own = next((each for each in outcome if each.version == variant.version), None)
    note = note_of_variants(outcome)
    if own is not None and own.decides:
        return replace(result, findings=(*result.findings, note), variants=tuple(outcome))
    eased = tuple(
        replace(finding, verdict=Verdict.OK, level=Level.NOTE, forgiven=OTHER_VARIANT)
        for finding in result.findings
    )
    return replace(result, findings=(*eased, note), forgiven=OTHER_VARIANT, variants=tuple(outcome))
