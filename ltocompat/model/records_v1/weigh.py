"""`ltocompat/weigh/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model import weight
from ltocompat.model.image import ImageLayer
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import Count, Document, Record, RunSummary, published


@published(weight.ArchWeight)
class Arch(Record):
    """The images of one kind for one architecture.

    Attributes:
        stored_size: Size of the images in bytes, without headers and padding.
    """

    stored_size: Annotated[Count, From("stored")]


@published(weight.LibraryWeight)
class Library(Record):
    """The device code of one library, or of all objects of an archive.

    Attributes:
        stored_size: Size of the images in bytes, including headers and padding.
        saved: Number of bytes that could be saved.
        host_debug_size: Size in bytes of the debug sections of host code.
    """

    stored_size: Annotated[Count, From("stored")]
    host_debug_size: Annotated[Count, From("host_debug")]


@published(weight.Saving)
class Saving(Record):
    """Bytes that could be saved for one reason; no byte is counted twice.

    Attributes:
        estimated: True if the number is an estimate, because a part was not compressed for the
            measurement.
    """


@published(weight.KernelWeight)
class Kernel(Record):
    """All kernels that have the same name.

    Attributes:
        demangled: The C++ name; null if ltocompat[demangle] is not installed.
        code_size: Size in bytes of the kernel's unpacked SASS in all cubins.
        count: Number of cubins with the kernel.
    """

    code_size: Annotated[Count, From("code")]


@published(ImageLayer, "place", "files", "packages", "searched")
class Layer(Record):
    """One layer of a container image.

    Attributes:
        history: The Dockerfile line that made the layer, such as RUN pip install torch; empty if
            the image records none.
        size: Size in bytes of the unpacked files.
        hidden_size: Size in bytes of files that later layers replace or remove; the image still
            contains them.
        stored_size: Bytes of device code in the files that a container sees.
    """

    hidden_size: Annotated[Count, From("hidden")]
    stored_size: Annotated[Count, From("stored")]


@published(weight.Weight)
class Artifact(Record):
    """The size of the device code at one path.

    Attributes:
        size: Size in bytes of the file, or of all files of a folder.
        stored_size: Size in bytes of all device code: the sum of archs and overhead_size.
        overhead_size: Size in bytes of fatbin headers and padding.
        saved: Sum of all savings.
        slim_saved: Number of bytes that ``slim --keep-gpu`` would remove for the same GPUs. Null if
            no --keep-gpu was given, or if slim does not write this kind of file.
        kernels: The kernels; empty unless requested.
        unsized_images: Number of images of unknown length, which are not counted in bytes.
        skipped: Number of places that could not be read.
        layers: The layers of a container image, the lowest first.
    """

    stored_size: Annotated[Count, From("stored")]
    overhead_size: Annotated[Count, From("overhead")]
    libraries: tuple[Library, ...]
    saved: Count
    unsized_images: Annotated[Count, From("unsized")]


class Summary(RunSummary):
    """Sums for all paths together."""

    artifacts: Count
    stored_size: Count
    saved: Count


class Weigh(Document, tag="ltocompat/weigh/v1"):
    """Size of device code, and the bytes that could be saved. Members may be added before 1.0."""

    artifacts: tuple[Artifact, ...]
    summary: Summary
