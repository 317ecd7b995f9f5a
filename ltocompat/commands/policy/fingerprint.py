"""The key of a finding, the same in every build of an artifact: SARIF and GitLab hash it.

A key is made of the rule, the distribution without its version, the member without versions in its
name, what the finding is about, the route, and the keys of the deploy target. So a rebuild of a
package keeps it, whatever offsets, sizes and tools it changes. How bad a finding is, and on which
GPUs, is its extent.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import astuple

from ltocompat.model.file_name import NUMBER, unversioned, without_versions
from ltocompat.model.location import folders_around
from ltocompat.model.target import ANY_TARGET, Target
from ltocompat.model.verdict import WHOLE_ARTIFACT, Finding, Result
from ltocompat.packages.values import normalized
from ltocompat.rules.engine.findings import subject_of
from ltocompat.targets.inline import COMPARED

# File names of packages: PEP 427, PEP 625, and the manuals of conda, Debian, RPM and NuGet.
_PACKAGES = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"(?P<name>[^-]+)-[^-]+(?:-[0-9][^-]*)?-[^-]+-[^-]+-[^-]+\.whl",
        r"(?P<name>.+)-[^-]+-[^-]+\.(?:conda|tar\.bz2|rpm)",
        r"(?P<name>[^_]+)_[^_]+_[^_]+\.deb",
        rf"(?P<name>.+?)[-_.]{NUMBER}[^/]*\.(?:tar\.gz|tgz|tar\.xz|tar\.zst|tar|zip|nupkg)",
    )
)

_INSTALLED = re.compile(r".*/(?:site|dist)-packages/(?P<inside>.+)", re.DOTALL)


class FindingKey(Struct, frozen=True):
    """The identity of a finding: findings with equal keys are the same finding.

    Attributes:
        rule: ID of the rule.
        distribution: name of the package without the version; for a file outside a package, the
            path of the file in the project.
        member: the path of the file inside the package, without version numbers. ``::`` separates
            an archive from the path inside it. Empty for a file outside a package, and for findings
            about the package itself.
        subject: what the finding is about.
        route: ``load`` or ``link``; empty if each module has only one route.
        target: the keys of the deploy target, without its name and its GPUs.
    """

    rule: str
    distribution: str
    member: str
    subject: str
    route: str
    target: str

    @property
    def digest(self) -> str:
        """The first 128 bits of the SHA-256 of the key, as 32 hexadecimal digits."""
        text = "\0".join(astuple(self)).encode("utf-8", "surrogatepass")
        return hashlib.sha256(text).hexdigest()[:32]

    @property
    def place(self) -> str:
        """The location in the form for policies: ``nvidia-cusparse::nvidia/lib/libcusparse.so``."""
        return "::".join(filter(None, (self.distribution, self.member)))


def key_of(result: Result, finding: Finding) -> FindingKey:
    """Return the key of a finding in its result."""
    place = finding.example
    artifact = result.path.split("::", maxsplit=1)[0]
    outer = artifact if place is None else place.path
    known_as = result.known_as if outer == artifact else ""
    name, installed = _distribution(result.distribution, outer, known_as)
    members = () if place is None or finding.subject == WHOLE_ARTIFACT else place.members
    return FindingKey(
        finding.rule,
        name,
        "::".join([*installed, *map(_member, members)]),
        finding.subject or subject_of(finding.message),
        "" if result.route is None else str(result.route),
        target_key(result.target),
    )


@functools.lru_cache(maxsize=256)
def target_key(target: Target) -> str:
    """Return the keys of a deploy target in one spelling and order.

    A new name or an additional GPU doesn't change them.
    """
    if target == ANY_TARGET:
        return target.name
    known = ((key, getattr(target, key)) for key in COMPARED)
    keys = [f"{key}={_spelled(versions.text)}" for key, versions in known if versions is not None]
    return ",".join([f"os={target.system}", *keys, *([] if target.lto else ["lto=off"])])


def _spelled(versions: str) -> str:
    """``550`` for ``R550`` and ``== 550``; clauses and alternatives in order."""
    plain = re.sub(r"\s+|(?<![<>!~=])==(?!=)|\b[rR](?=[0-9])", "", versions)
    mark = next((mark for mark in ",+|" if mark in plain), ",")
    return mark.join(sorted(plain.split(mark)))


def _distribution(package: str, path: str, known_as: str) -> tuple[str, tuple[str, ...]]:
    """The name of the package that a file is or was installed from, and where it lies there."""
    if not package:
        return distribution(known_as or path_in_project(path)), ()
    name = normalized(package.partition(" ")[0])
    installed = _INSTALLED.fullmatch(os.path.abspath(path).replace(os.sep, "/"))
    if installed is None or _is_package(path):
        return name, ()
    return name, (unversioned(installed["inside"]),)


def distribution(path: str) -> str:
    """Return the normalized name of a package file without version; for other files, the path.

    A package is the same in any folder; a separate file is not, since many have the same name. Only
    the last part of its path loses its version, since files of several folders differ.
    """
    path = path.replace(os.sep, "/")
    folder, mark, base = path.rpartition("/")
    for pattern in _PACKAGES:
        if found := pattern.fullmatch(base):
            return normalized(found["name"])
    return f"{folder}{mark}{without_versions(base)}"


def path_in_project(path: str, project: str | None = None) -> str:
    """Return the path of a file relative to a folder; the absolute path without a folder.

    Args:
        path: the typed path; a word that is no file stays unchanged.
        project: the folder; None: the root of the repository around the current folder.
    """
    outer = path.split("::", maxsplit=1)[0]
    if not os.path.lexists(outer):
        return os.path.normpath(outer).replace(os.sep, "/")
    folder, base = os.path.split(os.path.abspath(outer))
    real = os.path.join(os.path.realpath(folder), base)
    root = _repository(os.getcwd()) if project is None else os.path.realpath(project)
    named = real
    with suppress(ValueError):  # another drive
        named = real if root is None else os.path.relpath(real, root)
    return named.replace(os.sep, "/")


@functools.lru_cache(maxsize=16)
def _repository(folder: str) -> str | None:
    """The nearest folder with a ``.git``, here or above."""
    found = (each for each in folders_around(folder) if os.path.lexists(os.path.join(each, ".git")))
    return next(map(os.path.realpath, found), None)


def _member(name: str) -> str:
    """A package inside a package goes by its name alone."""
    return distribution(name) if _is_package(name) else unversioned(name)


def _is_package(path: str) -> bool:
    base = path.replace(os.sep, "/").rsplit("/", 1)[-1]
    return any(pattern.fullmatch(base) for pattern in _PACKAGES)
