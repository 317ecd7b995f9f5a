"""`ltocompat/weigh/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model import weight
from ltocompat.model.image import ImageLayer
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    Count,
    Document,
    Failure,
    Record,
    published,
)


@published(weight.ArchWeight)
class Arch(Record):
    """The images of one kind for one architecture.

    Attributes:
        stored_size: Bytes in the files, without headers and padding.
    """

    stored_size: Annotated[Count, From("stored")]


@published(weight.LibraryWeight)
class Library(Record):
    """The device code of one library, or of all objects of an archive.

    Attributes:
        stored_size: Bytes in the file, headers and padding included.
        saved: Bytes of these that could be saved.
        host_debug_size: Bytes of debug sections of its host code.
    """

    stored_size: Annotated[Count, From("stored")]
    host_debug_size: Annotated[Count, From("host_debug")]


@published(weight.Saving)
class Saving(Record):
    """Bytes that could be saved for one reason; no byte is in two of them.

    Attributes:
        estimated: A part of it was not compressed to see; else it is measured.
    """


@published(weight.KernelWeight)
class Kernel(Record):
    """The kernels of one name.

    Attributes:
        demangled: Null without ltocompat[demangle].
        code_size: Bytes of SASS, once unpacked, in all cubins.
        count: Cubins that have it.
    """

    code_size: Annotated[Count, From("code")]


@published(ImageLayer, "place", "files", "packages", "searched")
class Layer(Record):
    """One layer of a container image.

    Attributes:
        history: The line that made it: RUN pip install torch; empty where the image has none.
        size: Bytes of its files, unpacked.
        hidden_size: Bytes of these that later layers replace or remove; they ship all the same.
        stored_size: Bytes of the device code in those that a container sees.
    """

    hidden_size: Annotated[Count, From("hidden")]
    stored_size: Annotated[Count, From("stored")]


@published(weight.Weight)
class Artifact(Record):
    """Weight of the device code of one path.

    Attributes:
        size: Bytes of the file, or of all files of a folder.
        stored_size: Bytes of all device code: those of archs, and overhead_size.
        overhead_size: Bytes of fatbin headers and padding.
        saved: Bytes that all savings together are.
        slim_saved: Bytes that slim takes out with the same --keep-gpu; null without one, and of
            what slim does not write.
        kernels: Empty unless asked for.
        unsized_images: Images that nothing records the end of; they count for no bytes.
        skipped: Places that could not be read.
        layers: Of a container image, the lowest first.
    """

    stored_size: Annotated[Count, From("stored")]
    overhead_size: Annotated[Count, From("overhead")]
    libraries: tuple[Library, ...]
    saved: Count
    unsized_images: Annotated[Count, From("unsized")]


class Summary(Record):
    """Sums over all paths."""

    artifacts: Count
    stored_size: Count
    saved: Count
    errors: tuple[Failure, ...]


class Weigh(Document, tag="ltocompat/weigh/v1"):
    """Weight of device code, and what could be saved. Members may be added before 1.0."""

    artifacts: tuple[Artifact, ...]
    summary: Summary
