"""`ltocompat/require/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model import requirement
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    Count,
    Document,
    Failure,
    Record,
    one_of,
    published,
)
from ltocompat.model.records_v1.verdict import Coverage


@published(requirement.LinkerFloor)
class LinkerFloor(Record):
    """The minimum nvJitLink that links all inputs.

    Attributes:
        possible: No older nvJitLink can link all inputs.
        sure: The minimum that surely works; null if a compiler is newer than all tables.
        ceiling: The first major for which NVIDIA no longer documents that the link works.
        tried: True if trial links found the minimum.
        rules: The rules that set the minimum.
        newest_producer: The minimum holds if no release after this one made the scrambled LTO-IR.
    """

    sure: str | None
    exact: bool
    ceiling: int
    newest_producer: str | None = None


@published(requirement.RouteFloor)
class RouteFloor(Record):
    """One line of check for a GPU, and the minimum versions with which it passes.

    Attributes:
        driver: The minimum driver; null if no known driver works.
        last_driver: The newest driver branch that works, such as R580.
        nvjitlink: The minimum nvJitLink; null if none is needed or known.
        last_nvjitlink: The newest nvJitLink that works.
        verdict: The verdict of check with these versions.
        set_by: The rules that refuse the next older version, or every version if none works.
        doubts: The rules that make the verdict undocumented or worse.
        or_older: True if the tables begin with this driver, so that an older one may work.
    """

    coverage: Coverage
    or_older: bool = False


@published(requirement.Service, "number")
class Service(Record):
    """The code and the minimum versions for one GPU architecture.

    Attributes:
        name: The GPU generation; next means one after all known ones.
        driver: The minimum driver for all routes.
        beyond: True if no known driver is new enough.
        nvjitlink: The minimum nvJitLink together with that driver.
        routes: The minimum versions by route; driver and nvjitlink satisfy all routes that can be
            satisfied.
        hardly: True if few modules have code for the architecture, compared with another one
            (IMG-04).
        last_driver: The newest driver branch that works, such as R580.
        last_nvjitlink: The newest nvJitLink that works.
        or_older: True if the tables begin with this driver, so that an older one may work.
    """

    arch: str
    how: Annotated[str, one_of("sass", "ptx", "link", "none")]
    hardly: bool = False


@published(requirement.Asked, "names_compiler")
class Requirement(Record):
    """One requirement."""

    axis: Annotated[str, From("component")]


@published(requirement.PasteLine)
class Line(Record):
    """A line to paste.

    Attributes:
        met: True if the package's metadata already have this requirement or a tighter one; text is
            then their own line.
    """

    met: bool = False


@published(requirement.VariantFloors, "driver_or_older")
class Variant(Record):
    """Requirements of one variant, together with the files that belong to no variant.

    Attributes:
        name: Its file or folder in the artifact.
        nvjitlink: The minimum nvJitLink; null if nothing is linked.
    """


@published(requirement.Required)
class Artifact(Record):
    """All requirements of one artifact.

    Attributes:
        nvjitlink: The minimum nvJitLink; null if nothing is linked.
        no_nvjitlink: The reason why code is linked but no nvJitLink is named; else empty.
        driver_sass: The minimum driver for the SASS; null if there is no SASS or no known minimum.
        driver_ptx: The minimum driver that compiles all PTX with kernels; null if there is no such
            PTX or no known minimum.
        ptx_beyond: True if some PTX is newer than every known driver.
        skipped: Places that could not be read, so that their requirements are missing.
        variants: The variants. The artifact's own code opens one of them; the drivers above are
            those for the variant with the lowest minimum.
        driver_or_older: sass, ptx or both, if the tables begin with that driver, so that an older
            one may work.
    """

    requirements: Annotated[tuple[Requirement, ...], From("asked")]
    driver_or_older: tuple[str, ...] = ()


@published(requirement.FloorSetter)
class FloorSetter(Record):
    """A distribution whose code sets a minimum version of all artifacts together (--why).

    Attributes:
        floor: The minimum: ">= 580.65.06", "no known driver", or "no code" for a GPU.
        distribution: Name and version; the file, if it belongs to no distribution.
        place: The first module that needs the minimum; else the library.
        archs: Architectures for which the distribution sets the minimum: 90; empty for nvJitLink.
        subject: The code that needs the minimum; empty if code is missing.
        without: The minimum without that distribution; empty for none.
        release: The newest release of the distribution with a lower minimum in the survey; empty
            for none.
    """

    component: Annotated[str, one_of("driver", "nvJitLink", "GPU")]
    archs: tuple[int, ...]


class Summary(Record):
    """Counts and errors.

    Attributes:
        without_device_code: Number of files without device code.
    """

    artifacts: Count
    without_device_code: Count
    errors: tuple[Failure, ...]


class Require(Document, tag="ltocompat/require/v1"):
    """The requirements of each artifact, for every deploy target."""

    artifacts: tuple[Artifact, ...]
    summary: Summary
    setters: tuple[FloorSetter, ...] = ()
