"""What a finding is, whichever build of an artifact it is found in: the key of baselines.

A fingerprint is made of the rule, the distribution without its version, the member without
versions in its name, the kind and architecture of the device code, and the deploy target. So a
rebuild of a package keeps it, whatever offsets, sizes and tools it changes.
"""

from __future__ import annotations

import hashlib
import os
import re

from msgspec import Struct
from msgspec.structs import astuple

from ltocompat.model.verdict import Finding

_NUMBER = r"v?[0-9]+(?:\.[0-9]+)+"

# File names of packages: PEP 427, PEP 625, and the manuals of conda, Debian, RPM and NuGet.
_PACKAGES = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"(?P<name>[^-]+)-[^-]+(?:-[0-9][^-]*)?-[^-]+-[^-]+-[^-]+\.whl",
        r"(?P<name>.+)-[^-]+-[^-]+\.(?:conda|tar\.bz2|rpm)",
        r"(?P<name>[^_]+)_[^_]+_[^_]+\.deb",
        rf"(?P<name>.+?)[-_.]{_NUMBER}[^/]*\.(?:tar\.gz|tgz|tar\.xz|tar\.zst|tar|zip|nupkg)",
    )
)

# What changes in the name of a file when it is built again, and what is left of it.
_VERSIONS = tuple(
    (re.compile(pattern, re.IGNORECASE), left)
    for pattern, left in (
        (r"(?<=\.so)(?:\.[0-9]+)+$", ""),  # libx.so.12
        (r"-(?:[0-9a-f]{8}|[0-9a-f]{32})(?=\.(?:so|dll|dylib)$)", ""),  # by auditwheel, delvewheel
        (r"(?:_[0-9]+)+(?=\.dll$)", ""),  # nvJitLink_130_0.dll
        (r"(?<=\bcpython-)[0-9]+(?=-)", ""),  # x.cpython-311-x86_64-linux-gnu.so
        (r"(?<=\.cp)[0-9]+(?=-)", ""),  # x.cp311-win_amd64.pyd
        (r"^(python)[0-9]+(?:\.[0-9]+)?$", r"\1"),  # lib/python3.11
        (rf"[-_.]?{_NUMBER}", ""),  # cuda-12.4, libx-1.2.3.a
    )
)

_KIND = re.compile(r"\b(?:LTO-IR|SASS|PTX|Tile IR)\b")
_ARCH = re.compile(r"\b(?:sm|compute|lto)_[0-9]+[af]?\b")


class FindingIdentity(Struct, frozen=True):
    """What makes two findings the same one.

    Attributes:
        rule: ID of the rule.
        distribution: name of the package without its version, or path of a loose file likewise.
        member: files entered inside it, without versions, ``::`` between them; may be empty.
        kind: ``LTO-IR``, ``SASS``, ``PTX`` or ``Tile IR``, as the finding names it; may be empty.
        arch: the first architecture that the finding names; may be empty.
        target: name of the deploy target.
    """

    rule: str
    distribution: str
    member: str
    kind: str
    arch: str
    target: str

    @property
    def digest(self) -> str:
        """128 bits of SHA-256 as 32 hexadecimal digits."""
        text = "\0".join(astuple(self)).encode("utf-8", "surrogateescape")
        return hashlib.sha256(text).hexdigest()[:32]


def identity(path: str, target: str, finding: Finding) -> FindingIdentity:
    """What makes a finding on an artifact the same in another build.

    Args:
        path: the artifact, as ``Result.path`` says it.
        target: name of the deploy target.
        finding: what was found.
    """
    place = finding.example
    outer = path.split("::", maxsplit=1)[0] if place is None else place.path
    members = () if place is None else place.members
    return FindingIdentity(
        finding.rule,
        distribution(outer),
        "::".join(_member(name) for name in members),
        _first(_KIND, finding.message),
        _first(_ARCH, finding.message),
        target,
    )


def fingerprint(path: str, target: str, finding: Finding) -> str:
    """The digest of ``identity()``, which takes the same arguments."""
    return identity(path, target, finding).digest


def distribution(path: str) -> str:
    """The normalized name of a package file, without its version; of any other file its path.

    A name is normalized as PEP 503 says. A package is the same wherever it lies; a loose file is
    not, since many have the same name.
    """
    path = path.replace(os.sep, "/")
    base = path.rsplit("/", 1)[-1]
    for pattern in _PACKAGES:
        if found := pattern.fullmatch(base):
            return re.sub(r"[-_.]+", "-", found["name"]).lower()
    return unversioned(os.path.normpath(path).replace(os.sep, "/"))


def unversioned(name: str) -> str:
    """A path without the versions in it: ``nvidia/lib/libx.so`` of ``nvidia/lib/libx.so.12``."""
    return "/".join(_bare(part) for part in name.split("/"))


def _member(name: str) -> str:
    """A package inside a package goes by its name alone."""
    base = name.rsplit("/", 1)[-1]
    packed = any(pattern.fullmatch(base) for pattern in _PACKAGES)
    return distribution(name) if packed else unversioned(name)


def _bare(part: str) -> str:
    bare = part
    for pattern, left in _VERSIONS:
        bare = pattern.sub(left, bare)
    return bare or part


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[0] if found else ""
