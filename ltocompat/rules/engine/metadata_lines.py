"""Lines to paste beside the metadata that a package has already, which they never loosen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from msgspec.structs import replace
from packaging.specifiers import Specifier, SpecifierSet
from packaging.version import Version

from ltocompat.model.errors import LimitExceeded
from ltocompat.model.limits import Budget, Limits
from ltocompat.model.requirement import PasteLine, Required
from ltocompat.packages.resolving import dependencies_always, together, ways_to
from ltocompat.packages.values import Dependency, Kind, Package, normalized

_BOUNDED = re.compile(r"(?P<name>[\w-]+)(?P<blank> ?)(?P<versions>>=\S+)")
_CUDA_BOUND = re.compile(r"(nvidia :: cuda_version_lower_bound :: )(\S+)")
_DESTINATIONS = {Kind.WHEEL: ("pip", "variant"), Kind.INSTALLED: ("pip",), Kind.CONDA: ("conda",)}
_LOWER, _UPPER = (">=", ">"), ("<", "<=")


def beside_metadata(required: Required, package: Package, limits: Limits) -> Required:
    """Return requirements whose lines are at least as tight as the package's metadata.

    Args:
        required: the requirements of the artifact.
        package: the package that it is or belongs to.
        limits: bounds for reading the metadata.
    """
    budget = Budget(limits)
    with suppress(LimitExceeded):  # PKG-12 says so
        lines = tuple(
            _beside(line, package, budget)
            if line.where in _DESTINATIONS.get(package.kind, ())
            else line
            for line in required.lines
        )
        required = replace(required, lines=lines)
    return required


def _beside(line: PasteLine, package: Package, budget: Budget) -> PasteLine:
    if line.where == "variant":
        return _beside_variant(line, package)
    match = _BOUNDED.fullmatch(line.text)
    if match is None:
        return line
    name, ours = match["name"], SpecifierSet(match["versions"])
    conda = package.kind is Kind.CONDA  # has no markers, and limits without installing
    every = package.requires if conda else dependencies_always(package, budget)
    present = [dependency for dependency in every if dependency.name == normalized(name)]
    met = next(_installing(ours, package, budget), None) if "nvjitlink" in name else None
    met = met or next((each.line for each in present if _is_met(ours, each)), None)
    if met is not None:
        needed = f"the metadata says so already; the code needs {line.text}"
        text = met.partition(": ")[2].partition(" -> ")[0]
        return replace(line, text=text, note="; ".join(filter(None, (needed, line.note))), met=True)
    for dependency in present:
        joint = joint_versions(ours, *map(SpecifierSet, dependency.versions))
        if len(dependency.versions) == 1 and joint not in ("", joint_versions(ours)):
            text = f"{name}{match['blank']}{joint}"
            note = f"no looser than {dependency.line}"
            return replace(line, text=text, note="; ".join(filter(None, (note, line.note))))
    return line


def _beside_variant(line: PasteLine, package: Package) -> PasteLine:
    """A property, of which the metadata may have a higher bound."""
    bound = _CUDA_BOUND.fullmatch(line.text)
    for declared in package.declared:
        text = declared.source.removeprefix("variant.json: ")
        if text == line.text:
            return replace(line, met=True)
        match = _CUDA_BOUND.fullmatch(text)
        if bound and match and Version(match[2]) > Version(bound[2]):
            return replace(line, text=text, met=True)
    return line


def _installing(ours: SpecifierSet, package: Package, budget: Budget) -> Iterator[str]:
    """The lines that bring an nvJitLink within bounds, those without an extra first."""
    ways = together(ways_to("nvjitlink", package, budget=budget))
    for way in sorted(ways, key=lambda way: way.extra is not None):
        allowed = way.allowed
        inside = all(ours.contains(str(release)) for release in allowed.releases)
        if allowed.releases and inside and not allowed.later_major and not way.only_limits:
            yield way.line


def _is_met(ours: SpecifierSet, dependency: Dependency) -> bool:
    """Return whether bounds forbid nothing that a dependency admits.

    One that installs nothing is none, but for what conda knows of the machine (``__cuda``).
    """
    binding = not dependency.only_limits or dependency.name.startswith("-")
    versions = [SpecifierSet(text) for text in dependency.versions]
    return binding and all(
        joint_versions(each, ours) == joint_versions(each) != "" for each in versions
    )


def joint_versions(*sets: SpecifierSet) -> str:
    """Return the specifiers that combine several; empty if they exclude each other.

    Of equal bounds, the first is written.
    """
    clauses = [clause for each in sets for clause in each]
    lower = max((c for c in clauses if c.operator in _LOWER), key=_tightness, default=None)
    upper = min((c for c in clauses if c.operator in _UPPER), key=_tightness, default=None)
    others = sorted(str(c) for c in clauses if c.operator not in (*_LOWER, *_UPPER))
    found = ",".join([*map(str, filter(None, (lower, upper))), *others])
    both = SpecifierSet(found, prereleases=True)
    return found if any(both.contains(at) for clause in clauses for at in _around(clause)) else ""


def _around(clause: Specifier) -> Iterator[Version]:
    """Versions at the bound of a clause: itself, one just behind it, and the next minor."""
    if clause.operator == "===":  # compares texts
        return
    base = Version(clause.version.removesuffix(".*"))
    yield base
    yield Version(".".join(map(str, (*base.release, 0, 0, 1))))
    yield Version(f"{base.major}.{base.minor + 1}")


def _tightness(clause: Specifier) -> tuple[Version, bool]:
    """The order of lower bounds; of upper ones, which exclude more the less they are."""
    return Version(clause.version), clause.operator in (">", "<=")
