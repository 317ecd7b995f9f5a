"""What a smaller package lost, and what it kept, as values."""

from __future__ import annotations

import enum
from collections import Counter

from msgspec import Struct, field

from ltocompat.model.arch import ArchForm, SmArch
from ltocompat.model.location import Location
from ltocompat.model.row import Tabular
from ltocompat.model.verdict import Route, Verdict


class RemovalReason(enum.StrEnum):
    """A reason why code was removed; each byte is counted under one reason only.

    An image is for another CPU if all GPUs that use it need a CPU of another architecture than the
    library's. An image is unused if no known GPU uses it. An image is a second copy if an earlier
    image in the module is for the same GPUs.
    """

    OTHER_GPU = "other-gpu"
    NEVER_TAKEN = "never-taken"
    OTHER_CPU = "other-cpu"
    SECOND_COPY = "second-copy"
    PACKED = "packed"


class Removal(Tabular, frozen=True):
    """Bytes of device code that were removed for one reason.

    Attributes:
        reason: the reason.
        images: number of removed images.
        size: stored size in bytes, including headers and padding.
    """

    reason: RemovalReason
    images: int
    size: int


class Untouched(Tabular, frozen=True):
    """Device code that ``slim`` never changes.

    Attributes:
        reason: one sentence.
        modules: number of modules.
        size: stored size in bytes.
        example: the place of the first unchanged module.
    """

    reason: str
    modules: int
    size: int
    example: Location


class LostGpu(Tabular, frozen=True):
    """An architecture that was not kept, and the number of modules that lost code for it.

    Attributes:
        arch: the architecture.
        lost: number of modules that had code for the architecture and have none now.
        compiled: number of modules that now have PTX instead of SASS; a driver compiles the PTX.
    """

    arch: SmArch
    lost: int
    compiled: int


class KeptVerdict(Tabular, frozen=True):
    """The verdicts before and after the change, on one file, target and GPU.

    Attributes:
        member: the path of the file in the artifact.
        gpu: name of the GPU; None if the verdict is about no GPU.
        route: the route.
        before: the verdict on the old file.
        after: the verdict on the new file.
    """

    member: Location
    target: str
    gpu: str | None
    route: Route | None
    before: Verdict
    after: Verdict


class CodeTally(Struct, repr_omit_defaults=True):
    """Totals of what changed in the device code of a package.

    Attributes:
        images: number of removed images, by reason.
        sizes: size of the removed images in bytes, by reason, including headers and padding.
        left: for each reason, the number of unchanged modules, their size in bytes, and the place
            of the first unchanged module.
        gpus: for each compute capability that is not kept, a pair of numbers of modules. The
            modules of the first number now have no code for such GPUs. The modules of the second
            number now have PTX instead of SASS.
        stored: size in bytes of all device code before the change.
        zeros: number of bytes at the ends of shortened regions; these bytes are zero now.
        kept: number of images in changed regions that are unchanged, as their SHA-256 proves.
        zstd: number of ``kept`` images that were already compressed with Zstandard.
        more_zstd: number of ``kept`` images that ``slim`` compressed with Zstandard.
    """

    images: Counter[RemovalReason] = field(default_factory=Counter)
    sizes: Counter[RemovalReason] = field(default_factory=Counter)
    left: dict[str, tuple[int, int, Location]] = field(default_factory=dict)
    gpus: dict[int, tuple[int, int]] = field(default_factory=dict)
    stored: int = 0
    zeros: int = 0
    kept: int = 0
    zstd: int = 0
    more_zstd: int = 0


class Slimmed(Struct, frozen=True, kw_only=True):
    """A file, package or folder that ``slim`` wrote.

    Attributes:
        path: the input, as the user named it.
        output: the new file, package or folder. With ``in_place``, the folder for the original
            files; it exists only if files were changed.
        size: size in bytes before the change; for a folder, the size of its files.
        new_size: size in bytes after the change.
        files: number of files that were changed.
        code: what changed in the device code.
        verdicts: the verdicts on kept GPUs.
        zstd_driver: the minimum driver that reads Zstandard (rule FB-01).
        void: signatures in the old package that the new package leaves out, since they are no
            longer valid.
        in_place: True if files of a folder were replaced.
    """

    path: str
    output: str
    size: int
    new_size: int
    files: int
    code: CodeTally
    verdicts: tuple[KeptVerdict, ...]
    zstd_driver: str
    void: tuple[str, ...] = ()
    in_place: bool = False

    @property
    def saved(self) -> int:
        """The number of bytes of device code that were removed."""
        return self.code.sizes.total()

    @property
    def images(self) -> int:
        """The number of images in changed regions that are unchanged, as their SHA-256 proves."""
        return self.code.kept

    @property
    def removed(self) -> tuple[Removal, ...]:
        """The removed code for each reason; the reason with the most bytes is first."""
        sizes = self.code.sizes.most_common()
        return tuple(Removal(reason, self.code.images[reason], size) for reason, size in sizes)

    @property
    def untouched(self) -> tuple[Untouched, ...]:
        """The unchanged code for each reason; the reason with the most bytes is first."""
        rows = (Untouched(reason, *row) for reason, row in self.code.left.items())
        return tuple(sorted(rows, key=lambda row: -row.size))

    @property
    def lost(self) -> tuple[LostGpu, ...]:
        """Architectures with less code than before."""
        gpus = sorted(self.code.gpus.items())
        return tuple(LostGpu(SmArch(number, "", ArchForm.REAL), *row) for number, row in gpus)
