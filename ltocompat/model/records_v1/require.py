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
    """The minimum nvJitLink that links all of it.

    Attributes:
        possible: No older one can link it all.
        sure: This one surely can; null where a maker is newer than all tables.
        ceiling: The major from which on it is no longer documented.
        tried: Trial links settled it.
        rules: The rules that set it.
        newest_producer: It holds if no release after this one made the scrambled LTO-IR.
    """

    sure: str | None
    exact: bool
    ceiling: int
    newest_producer: str | None = None


@published(requirement.RouteFloor)
class RouteFloor(Record):
    """One line of check for a GPU, and the minimum versions with which it passes.

    Attributes:
        driver: The minimum driver; null where no known one does.
        last_driver: The newest branch of drivers that does, as R580.
        nvjitlink: The minimum nvJitLink; null where none is asked for or known.
        last_nvjitlink: The newest nvJitLink that does as well.
        verdict: What check says with these.
        set_by: The rules that object one step below; where no version does, those that object.
        doubts: The rules by which the verdict is no better than undocumented.
        or_older: The tables begin with this driver, and an older one is not known to fail.
    """

    coverage: Coverage
    or_older: bool = False


@published(requirement.Service, "number")
class Service(Record):
    """How one GPU architecture is served.

    Attributes:
        name: The generation; next: after all that are known.
        driver: The minimum driver there that meets all routes.
        beyond: No known driver is new enough there.
        nvjitlink: The minimum nvJitLink with it.
        routes: The floors by each route; driver and nvjitlink meet all that can be met.
        hardly: Few modules serve it, beside those that serve another one (IMG-04).
        last_driver: The newest branch of drivers that does, as R580.
        last_nvjitlink: The newest nvJitLink that does.
        or_older: The tables begin with this driver, and an older one is not known to fail.
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
        met: The package's own metadata say so already, or more; text is as they have it.
    """

    met: bool = False


@published(requirement.VariantFloors, "driver_or_older")
class Variant(Record):
    """Requirements of one of several variants, with all that is in no variant.

    Attributes:
        name: Its file or folder in the artifact.
        nvjitlink: The minimum nvJitLink; null: nothing is linked.
    """


@published(requirement.Required)
class Artifact(Record):
    """All that one artifact asks.

    Attributes:
        nvjitlink: The minimum nvJitLink; null where nothing is linked.
        no_nvjitlink: Why no nvJitLink is named for what is linked; empty where one is.
        driver_sass: The minimum driver for its SASS; null where it has none or no floor is known.
        driver_ptx: The minimum driver that compiles all of its PTX with kernels; likewise.
        ptx_beyond: Some PTX is newer than every known driver compiles.
        skipped: Places that could not be read and are missing from all this.
        variants: Of these its loader opens one; the drivers above are those of the one that asks
            least.
        driver_or_older: Those of sass and ptx whose driver the tables begin with; an older one may
            do.
    """

    requirements: Annotated[tuple[Requirement, ...], From("asked")]
    driver_or_older: tuple[str, ...] = ()


@published(requirement.FloorSetter)
class FloorSetter(Record):
    """A distribution whose code sets a floor of all artifacts together (--why).

    Attributes:
        floor: ">= 580.65.06", "no known driver" or, of a GPU, "no code".
        distribution: Name and version; the file, where it is of none.
        place: The first of its modules that ask it; else its library.
        archs: Architectures on which it is so, 90; empty for nvJitLink.
        subject: What asks; empty where it is the lack of code.
        without: The floor without that distribution; empty for none.
        release: Its newest release with a lower floor in the survey; empty for none.
    """

    component: Annotated[str, one_of("driver", "nvJitLink", "GPU")]
    archs: tuple[int, ...]


class Summary(Record):
    """How it went.

    Attributes:
        without_device_code: Files that are not among the artifacts.
    """

    artifacts: Count
    without_device_code: Count
    errors: tuple[Failure, ...]


class Require(Document, tag="ltocompat/require/v1"):
    """Requirements of each artifact on wherever it goes."""

    artifacts: tuple[Artifact, ...]
    summary: Summary
    setters: tuple[FloorSetter, ...] = ()
