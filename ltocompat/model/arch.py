"""GPU architectures as compilers name them, and CUDA releases: two small ordered values."""

from __future__ import annotations

import enum
import functools
import re

from msgspec import Struct

from ltocompat.model.errors import UsageError


class ArchForm(enum.StrEnum):
    """The kind of an architecture name, as its prefix says: ``sm_``, ``compute_`` or ``lto_``."""

    REAL = "sm"
    VIRTUAL = "compute"
    LTO = "lto"


_RELEASE = re.compile(r"\s*([0-9]{1,9})\.([0-9]{1,9})(?:\.|\s*$)")
# As many digits as a 32-bit number of an image has: what we print of it is read again.
_ARCH = re.compile(r"(?:(sm|compute|lto)_?)?([0-9]{1,10})([af]?)")


def version_numbers(version: str) -> tuple[int, ...]:
    """``12.4.127`` as (12, 4, 127), to compare it."""
    return tuple(map(int, version.split(".")))


class SmArch(Struct, frozen=True, order=True, repr_omit_defaults=True):
    """One architecture, such as ``sm_90a``: number 90, suffix ``a``, form real.

    Attributes:
        number: 10 * major + minor of the compute capability.
        suffix: ``""``, ``"a"`` (this architecture only) or ``"f"`` (its family).
        form: real (SASS), virtual (PTX, Tile IR) or LTO (LTO-IR).
    """

    number: int
    suffix: str = ""
    form: ArchForm = ArchForm.REAL

    def __str__(self) -> str:
        return f"{self.form}_{self.number}{self.suffix}"

    @property
    def major(self) -> int:
        """Major compute capability: 9 for sm_90, 12 for sm_120."""
        return self.number // 10

    @property
    def minor(self) -> int:
        """Minor compute capability: 6 for sm_86."""
        return self.number % 10

    @classmethod
    def parse(cls, text: str, form: ArchForm = ArchForm.REAL) -> SmArch:
        """Read ``sm_90a``, ``compute_80`` or ``lto_75``.

        A bare ``90a`` gets the form in ``form``.
        """
        match = _ARCH.fullmatch(text.strip().lower())
        if match is None:
            raise UsageError(f"{text!r} is not an architecture; write it like sm_90a or compute_80")
        prefix, number, suffix = match.groups()
        return cls(int(number), suffix, ArchForm(prefix) if prefix else form)


@functools.lru_cache(maxsize=1024)
def shared_arch(number: int, suffix: str) -> SmArch:
    """Return an ``SmArch`` from a cache, since thousands of images share a few."""
    return SmArch(number, suffix)


class Release(Struct, frozen=True, order=True):
    """A CUDA release without its patch level: 12.4."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @classmethod
    def parse(cls, text: str) -> Release:
        """Read a release, such as ``12.4``. A patch level, as in ``12.4.127``, is dropped."""
        match = _RELEASE.match(text) if isinstance(text, str) else None
        if match is None:
            raise UsageError(f"{text!r:.42} is not a CUDA release; write it like '12.4'")
        return cls(int(match[1]), int(match[2]))

    @classmethod
    def from_code(cls, code: int) -> Release:
        """Return the release for NVIDIA's number ``10 * major + minor``: 12.4 for 124."""
        return cls(code // 10, code % 10)
