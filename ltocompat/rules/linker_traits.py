"""Traits of linkers that picks and rules see, so that releases alike are judged once."""

from __future__ import annotations

import functools

from msgspec import Struct

from ltocompat.facts import gpus, nvjitlink_minors
from ltocompat.model.arch import Release
from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ModuleSignature
from ltocompat.rules import floors

# From this release on, nvJitLink minds the suffix of a bare cubin.
_SUFFIX_OF_SASS_MINDED = Release(13, 1)
# Architectures in the middle of those that 13.0 dropped, whose entries two releases do not find.
_FORGOTTEN = frozenset({72, 101})


class LinkerTraits(Struct, frozen=True, eq=False):
    """Traits that several releases share; rules check everything else with constraints.

    Attributes:
        major: the major release.
        archs: the numbers of all architectures whose entries it finds.
        passes_concatenated: True if it finds other entries next to a concatenated one.
        sees_concatenated: True if it sees the images in concatenated entries.
        checks_arch: True if it compares the architecture of bare LTO-IR with the target.
        knows_family: True if it distinguishes entries with and without suffix ``f``.
        minds_suffix: True if an entry with a suffix is only for the targets of the suffix.
        minds_suffix_of_sass: True if this also holds for a bare cubin.
        joins_tegra: True if SASS of 8.x links for both integrated and discrete GPUs.
        links_upward: True if bare SASS links for later GPUs of its family, and sm_70 for sm_75.
        links_all_for_family: True if it links every instruction of a family for a target with
            suffix ``f``.
        lto: True with ``-lto``, so that it prefers LTO-IR.
    """

    major: int
    archs: frozenset[int]
    passes_concatenated: bool
    sees_concatenated: bool
    checks_arch: bool
    knows_family: bool
    minds_suffix: bool
    minds_suffix_of_sass: bool
    joins_tegra: bool
    links_upward: bool
    links_all_for_family: bool
    lto: bool

    def seen_by(self, signature: ModuleSignature) -> LinkerTraits:
        """Keep only the traits that affect a module, which are equal for equivalent linkers."""
        archs = [image.arch for image in signature.images if image.arch is not None]
        suffixed = any(arch.suffix for arch in archs)
        has_sass = ImageKind.SASS in signature.kinds
        concatenated = any(image.concatenated for image in signature.images)
        return _alike(
            self.major,
            self.archs.intersection(arch.number for arch in archs),
            self.passes_concatenated or not concatenated,
            self.sees_concatenated or not concatenated,
            self.checks_arch or any(image.in_fatbin for image in signature.images),
            self.knows_family or not suffixed,
            self.minds_suffix or not (suffixed or has_sass),
            self.minds_suffix_of_sass or not suffixed,
            self.joins_tegra or not has_sass,
            self.links_upward or not has_sass,
            self.links_all_for_family,
            self.lto or all(image.kind is not ImageKind.LTOIR for image in signature.images),
        )


@functools.cache
def traits_of(release: Release, *, lto: bool = True) -> LinkerTraits:
    """Return the traits of a release of nvJitLink or nvlink; equal releases have the same value.

    Args:
        release: the release of the linker.
        lto: True with ``-lto``.
    """
    came = frozenset(sm.number for sm in gpus.sms() if sm.first_toolkit <= release)
    minds_suffix = release >= floors.linker("suffix-entry-linker")
    forgotten = minds_suffix and release < floors.linker("forgotten-entries-linker")
    return _alike(
        release.major,
        came - _FORGOTTEN if forgotten else came,
        release >= floors.linker("concat-passed-linker"),
        release >= floors.linker("concat-seen-linker"),
        release >= floors.linker("arch-check-linker"),
        release >= floors.linker("family-linker"),
        minds_suffix,
        release >= _SUFFIX_OF_SASS_MINDED,
        release >= floors.linker("tegra-sass-linker"),
        release != floors.linker("family-sass-gap-linker"),
        release >= floors.linker("family-tcgen05-linker"),
        lto,
    )


@functools.cache
def newest_traits() -> LinkerTraits:
    """Return the traits of the newest known release, which stand for an unnamed linker."""
    return traits_of(nvjitlink_minors()[-1])


_alike = functools.cache(LinkerTraits)
