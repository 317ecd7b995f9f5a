"""`ltocompat/require/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model import requirement
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import Count, Document, Record, RunSummary, one_of, published
from ltocompat.model.records_v1.verdict import Coverage


@published(requirement.LinkerFloor)
class LinkerFloor(Record):
    """The minimum nvJitLink that links all inputs.

    Attributes:
        possible: The oldest nvJitLink that may be able to link all inputs; no older release can
            link them.
        sure: The oldest nvJitLink that is certain to link all inputs. Null if the tables lack a
            compiler that made an input.
        ceiling: The first major version of nvJitLink with which the link is no longer documented to
            work.
        tried: True if trial links found the minimum.
        rules: The rules that set the minimum.
        newest_producer: The minimum holds if this CUDA release, or an older one, made the scrambled
            LTO-IR.
    """

    sure: str | None
    exact: bool
    ceiling: int
    newest_producer: str | None = None


@published(requirement.RouteFloor, "possible_driver")
class RouteFloor(Record):
    """The minimum versions for one GPU and route. With older versions, ``check`` doesn't pass.

    Attributes:
        driver: The minimum driver; null if no known driver works.
        last_driver: The newest driver branch that works, such as R580.
        nvjitlink: The minimum nvJitLink; null if no nvJitLink is needed, or no minimum is known.
        last_nvjitlink: The newest nvJitLink that works.
        verdict: The verdict of ``check`` with these versions.
        set_by: The rules that object to the version just before the minimum. If no version works,
            the rules with the verdict "fail".
        doubts: The rules that make the verdict "undocumented" or worse.
        or_older: True if this is the oldest driver in the tables; an older driver may work.
    """

    coverage: Coverage
    or_older: bool = False


@published(requirement.GpuSupport, "number")
class Service(Record):
    """The code and the minimum versions for one GPU architecture.

    Attributes:
        name: The GPU generation; "next" stands for the generation after all known ones.
        driver: The minimum driver for all routes.
        beyond: True if no known driver is new enough.
        nvjitlink: The minimum nvJitLink, if the driver is the minimum driver.
        routes: The minimum versions for each route. With the driver and the nvJitLink of this row,
            all routes work, except routes for which no known version works.
        hardly: True if far fewer modules have code for this architecture than for another
            architecture (IMG-04).
        last_driver: The newest driver branch that works, such as R580.
        last_nvjitlink: The newest nvJitLink that works.
        or_older: True if this is the oldest driver in the tables; an older driver may work.
    """

    arch: str
    how: Annotated[str, one_of("sass", "ptx", "link", "none")]
    hardly: bool = False


@published(requirement.ModuleRequirement, "names_compiler")
class Requirement(Record):
    """One requirement."""

    axis: Annotated[str, From("component")]


@published(requirement.PasteLine)
class Line(Record):
    """A line to paste.

    Attributes:
        met: True if the package's metadata already have this requirement or a tighter requirement.
            If so, the text is the line from the metadata.
    """

    met: bool = False


@published(requirement.VariantFloors, "driver_or_older")
class Variant(Record):
    """Requirements of one variant and of the files that belong to no variant.

    Attributes:
        name: File or folder of the variant in the artifact.
        nvjitlink: The minimum nvJitLink; null if nothing is linked.
    """


@published(requirement.Required)
class Artifact(Record):
    """All requirements of one artifact.

    Attributes:
        nvjitlink: The minimum nvJitLink; null if nothing is linked.
        no_nvjitlink: The reason why no nvJitLink is named although code is linked; else empty.
        driver_sass: The minimum driver for the SASS; null if there is no SASS or no known minimum.
        driver_ptx: The minimum driver that compiles all PTX that has kernels; null if there is no
            such PTX or no known minimum.
        ptx_beyond: True if some PTX has a version that no known driver compiles.
        skipped: Number of places that could not be read; the answer does not include their
            requirements.
        variants: The variants; at run time, the artifact loads one variant. driver_sass and
            driver_ptx are those of the variant that requires the oldest drivers.
        driver_or_older: "sass" if driver_sass is the oldest driver in the tables, and "ptx" if
            driver_ptx is. An older driver may then work.
    """

    requirements: Annotated[tuple[Requirement, ...], From("asked")]
    driver_or_older: tuple[str, ...] = ()


@published(requirement.FloorSetter)
class FloorSetter(Record):
    """With --why: a distribution whose code determines a minimum version of the whole answer.

    Attributes:
        floor: The minimum: ">= 580.65.06", "no known driver", or "no code" for a GPU.
        distribution: Name and version; the path of the file, if it belongs to no distribution.
        place: The first module that needs the minimum, or its library.
        archs: Architectures for which the distribution sets the minimum, such as 90; empty for
            nvJitLink.
        subject: The code that needs the minimum; empty if the distribution has no code for the GPU.
        without: The minimum that the other distributions set together; empty if they set none.
        release: The newest release of the distribution in the survey that has a lower minimum;
            empty if there is none.
    """

    component: Annotated[str, one_of("driver", "nvJitLink", "GPU")]
    archs: tuple[int, ...]


class Summary(RunSummary):
    """Numbers of files, and the errors.

    Attributes:
        without_device_code: Number of files without device code.
    """

    artifacts: Count
    without_device_code: Count


class Require(Document, tag="ltocompat/require/v1"):
    """The requirements of each artifact. These requirements hold on every deploy target."""

    artifacts: tuple[Artifact, ...]
    summary: Summary
    setters: tuple[FloorSetter, ...] = ()
