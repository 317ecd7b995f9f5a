"""What a smaller package lost, and what it kept, as values."""

from __future__ import annotations

import enum

from msgspec import Struct

from ltocompat.model.arch import SmArch
from ltocompat.model.location import Location
from ltocompat.model.row import Tabular
from ltocompat.model.verdict import Route, Verdict


class RemovalReason(enum.StrEnum):
    """A reason for bytes to go; each byte counts for one.

    An image for another CPU is taken by no GPU that its library's CPU can have beside it; one that
    is never taken, by no GPU that is known; a second copy stands behind one for the same GPUs.
    """

    OTHER_GPU = "other-gpu"
    NEVER_TAKEN = "never-taken"
    OTHER_CPU = "other-cpu"
    SECOND_COPY = "second-copy"
    PACKED = "packed"


class Removal(Tabular, frozen=True):
    """Bytes of device code that went for one reason.

    Attributes:
        reason: the reason.
        images: how many images.
        size: bytes in the files, headers and padding included.
    """

    reason: RemovalReason
    images: int
    size: int


class Untouched(Tabular, frozen=True):
    """Device code that stays as it is, whatever was asked for.

    Attributes:
        reason: one sentence.
        modules: how many.
        size: bytes in the files.
        example: the place of the first of them.
    """

    reason: str
    modules: int
    size: int
    example: Location


class LostGpu(Tabular, frozen=True):
    """An architecture that was not kept, and modules that serve it no more, or worse.

    Attributes:
        arch: the architecture.
        lost: modules that had code for it and have none.
        compiled: modules whose SASS for it went, so that a driver compiles PTX.
    """

    arch: SmArch
    lost: int
    compiled: int


class KeptVerdict(Tabular, frozen=True):
    """The verdict on one file, target and GPU, before and after.

    Attributes:
        member: the file, as it lies in what was named.
        gpu: its name; None where the verdict is on no GPU.
        route: the route.
        before: the verdict on the file as it was.
        after: the verdict on the new one.
    """

    member: Location
    target: str
    gpu: str | None
    route: Route | None
    before: Verdict
    after: Verdict


class Slimmed(Struct, frozen=True):
    """A file, package or folder that was written anew.

    Attributes:
        path: what was named.
        output: the new one; with ``in_place`` the folder that has the old files.
        size: bytes of it, before.
        new_size: bytes of the new one.
        zeros: bytes of its files that are zeros now, where regions ended before.
        stored: bytes of all device code, before.
        files: files in it that were changed.
        images: images that stay in changed regions, and were compared by SHA-256.
        removed: what went, the largest first.
        untouched: what stays as it is, and why, the largest first.
        lost: architectures that are served no more, or worse.
        verdicts: on kept GPUs.
        zstd: how many of the compared images were packed by Zstandard before.
        new_zstd: how many of them are now.
        zstd_driver: the least driver that reads those (rule FB-01).
        void: signatures that were left out, as they were of what is no more.
    """

    path: str
    output: str
    size: int
    new_size: int
    zeros: int
    stored: int
    files: int
    images: int
    removed: tuple[Removal, ...]
    untouched: tuple[Untouched, ...]
    lost: tuple[LostGpu, ...]
    verdicts: tuple[KeptVerdict, ...]
    zstd: int
    new_zstd: int
    zstd_driver: str
    void: tuple[str, ...] = ()

    @property
    def saved(self) -> int:
        """Bytes of device code that went."""
        return sum(part.size for part in self.removed)
