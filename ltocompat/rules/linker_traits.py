"""What picks and rules see of the release of a linker, so that releases alike are judged once."""

from __future__ import annotations

import functools

from msgspec import Struct

from ltocompat.facts import gpus
from ltocompat.model.arch import Release
from ltocompat.model.signature import ModuleSignature
from ltocompat.rules import floors

# From these releases on, nvJitLink minds the suffix of an LTO-IR entry, and of a cubin.
_SUFFIX_MINDED = Release(13, 0)
_SUFFIX_OF_SASS_MINDED = Release(13, 1)
# From this release on, it compares the architecture of bare LTO-IR with that of the target.
_LTOIR_ARCH_CHECKED = Release(12, 2)


class LinkerTraits(Struct, frozen=True, eq=False):
    """What is the same of several releases; all else a rule asks of a linker by a constraint.

    Attributes:
        major: the major release.
        archs: the numbers of all architectures that came with it or before.
        checks_arch: it compares the architecture of bare LTO-IR with that of the target.
        minds_suffix: an LTO-IR entry with a suffix is for the targets of the suffix only.
        minds_suffix_of_sass: and so is a cubin.
        links_all_for_family: it links every instruction of a family for a target with suffix ``f``.
    """

    major: int
    archs: frozenset[int]
    checks_arch: bool
    minds_suffix: bool
    minds_suffix_of_sass: bool
    links_all_for_family: bool

    def seen_by(self, signature: ModuleSignature) -> LinkerTraits:
        """What of it can matter to a module; the same for linkers that it can't tell apart."""
        archs, suffixed, stored = _traits_of_module(signature)
        return _alike(
            self.major,
            self.archs & archs,
            self.checks_arch or stored,
            self.minds_suffix or not suffixed,
            self.minds_suffix_of_sass or not suffixed,
            self.links_all_for_family,
        )


@functools.lru_cache(maxsize=4096)
def _traits_of_module(signature: ModuleSignature) -> tuple[frozenset[int], bool, bool]:
    """Its architectures; whether one has a suffix; whether any has an entry in a fatbin."""
    archs = [image.arch for image in signature.images if image.arch is not None]
    numbers = frozenset(arch.number for arch in archs)
    stored = any(image.in_fatbin for image in signature.images)
    return numbers, any(arch.suffix for arch in archs), stored


@functools.cache
def traits_of(release: Release) -> LinkerTraits:
    """The traits of a release of nvJitLink or nvlink; the same value for releases alike."""
    return _alike(
        release.major,
        frozenset(sm.number for sm in gpus.sms() if sm.first_toolkit <= release),
        release >= _LTOIR_ARCH_CHECKED,
        release >= _SUFFIX_MINDED,
        release >= _SUFFIX_OF_SASS_MINDED,
        release >= floors.linker("family-tcgen05-linker"),
    )


_alike = functools.cache(LinkerTraits)
