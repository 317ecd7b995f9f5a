"""Filters of images by kind, architecture and producer."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from ltocompat.model.arch import ArchForm, SmArch
from ltocompat.model.errors import UsageError
from ltocompat.model.image import Image, ImageKind, Producer

UNKNOWN = "unknown"

_VERSION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})*")
_NAME = re.compile(r"[A-Za-z][\w.+-]*")


class ArchFilter(Struct, frozen=True):
    """One architecture to select.

    Attributes:
        number: 10 * major + minor of the compute capability, such as 90 for ``sm_90a``.
        suffix: the exact suffix, ``a`` for ``sm_90a``. The filter ``90`` does not match ``sm_90a``.
        form: real, virtual or LTO; if None, any form matches.
    """

    number: int
    suffix: str
    form: ArchForm | None

    def matches(self, arch: SmArch | None) -> bool:
        """Return whether ``arch`` matches; an unknown architecture never matches."""
        return (
            arch is not None
            and arch.number == self.number
            and arch.suffix == self.suffix
            and self.form in (None, arch.form)
        )

    @classmethod
    def parse(cls, text: str) -> ArchFilter:
        """Read ``sm_90a`` (that form only) or ``90a`` (any form).

        Raises:
            UsageError: the text is not an architecture.
        """
        arch = SmArch.parse(text)
        named = arch == SmArch.parse(text, ArchForm.LTO)  # else a default
        return cls(arch.number, arch.suffix, arch.form if named else None)


class ImageFilter(Struct, frozen=True, repr_omit_defaults=True):
    """A selection of images.

    For every attribute, an image must match at least one of the given values.

    Attributes:
        kinds: kinds of images; if empty, any kind matches.
        archs: architectures; if empty, any architecture matches.
        made_by: releases (``12.4``), exact versions (``13.3.73``), names of tools or roles
            (``nvlink``, ``linker``) or ``unknown``; if empty, any image matches.
    """

    kinds: frozenset[ImageKind] = frozenset()
    archs: tuple[ArchFilter, ...] = ()
    made_by: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.kinds or self.archs or self.made_by)

    def matches(self, image: Image) -> bool:
        """Return whether ``image`` matches the filter."""
        return (
            (not self.kinds or image.kind in self.kinds)
            and (not self.archs or any(arch.matches(image.arch) for arch in self.archs))
            and (not self.made_by or any(_made_by(image, wanted) for wanted in self.made_by))
        )

    @classmethod
    def parse(
        cls, *, kinds: Iterable[str] = (), archs: Iterable[str] = (), made_by: Iterable[str] = ()
    ) -> ImageFilter:
        """Read the values of ``--kind``, ``--arch`` and ``--made-by``; commas separate values.

        Raises:
            UsageError: a value is invalid; the message names the valid values.
        """
        return cls(
            frozenset(_kind(text) for text in _split(kinds)),
            tuple(ArchFilter.parse(text) for text in _split(archs)),
            tuple(_maker(text) for text in _split(made_by)),
        )


def _split(values: Iterable[str]) -> list[str]:
    return [part.strip() for value in values for part in value.split(",")]


def _kind(text: str) -> ImageKind:
    try:
        return ImageKind(text.lower())
    except ValueError:
        valid = ", ".join(ImageKind)
        raise UsageError(f"{text!r} is not a kind of image; give one of: {valid}") from None


def _maker(text: str) -> str:
    if _VERSION.fullmatch(text) or _NAME.fullmatch(text):
        return text
    raise UsageError(
        f"{text!r} does not say what made an image; give a release (12.4), version (13.3.73), "
        "tool (nvlink), role (compiler, linker, finalizer) or unknown"
    )


def _made_by(image: Image, wanted: str) -> bool:
    if wanted.lower() == UNKNOWN:
        return not image.made_by
    return any(_is(maker, wanted) for maker in image.made_by)


def _is(maker: Producer, wanted: str) -> bool:
    if not _VERSION.fullmatch(wanted):
        return wanted.lower() in (maker.role, (maker.tool or "").lower())
    # The dot keeps 12.4 from matching 12.40.
    known = [maker.version or "", *map(str, maker.releases)]
    return any(f"{version}.".startswith(f"{wanted}.") for version in known)
