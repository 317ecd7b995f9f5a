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
    """Traits that several releases share; all else a rule asks of a linker by a constraint.

    Attributes:
        major: the major release.
        archs: the numbers of all architectures whose entries it finds.
        passes_concatenated: it finds other entries beside a concatenated one.
        sees_concatenated: it sees the images in concatenated entries.
        checks_arch: it compares the architecture of bare LTO-IR with that of the target.
        knows_family: it tells entries with suffix ``f`` from those without.
        minds_suffix: an entry with a suffix is for the targets of the suffix only.
        minds_suffix_of_sass: and so is a bare cubin.
        joins_tegra: SASS of 8.x links for integrated and discrete GPUs alike.
        links_upward: bare SASS links for later GPUs of its family, and sm_70 for sm_75.
        links_all_for_family: it links every instruction of a family for a target with suffix ``f``.
        lto: it is asked with ``-lto``, so that it takes LTO-IR before all else.
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
        """Keep the traits that can matter to a module, which are equal for linkers alike to it."""
        archs = [image.arch for image in signature.images if image.arch is not None]
        suffixed = any(arch.suffix for arch in archs)
        has_sass = any(image.kind is ImageKind.SASS for image in signature.images)
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
    """The traits of a release of nvJitLink or nvlink; the same value for releases alike.

    Args:
        release: of the linker.
        lto: whether it is asked with ``-lto``.
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
    """Those of the newest release that is known, whose rules a linker that isn't named goes by."""
    return traits_of(nvjitlink_minors()[-1])


_alike = functools.cache(LinkerTraits)
