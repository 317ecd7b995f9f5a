"""`ltocompat/require/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    Count,
    Document,
    Failure,
    PlaceText,
    Record,
    described,
    one_of,
)
from ltocompat.model.records_v1.verdict import Coverage, VerdictWord


class LinkerFloor(Record):
    """The least nvJitLink that links all of it."""

    possible: Annotated[str, described("No older one can link it all.")]
    sure: Annotated[
        str | None, described("This one surely can; null where a maker is newer than all tables.")
    ]
    exact: bool
    ceiling: Annotated[int, described("The major from which on it is no longer documented.")]
    tried: Annotated[bool, described("Trial links settled it.")]
    rules: Annotated[tuple[str, ...], described("The rules that set it.")]


_OR_OLDER = "The tables begin with this driver, and an older one is not known to fail."


class RouteFloor(Record):
    """One line of check for a GPU, and the least versions with which it passes."""

    route: Annotated[str, one_of("load", "link")] | None
    coverage: Coverage
    driver: Annotated[str | None, described("The least driver; null where no known one does.")]
    last_driver: Annotated[
        str | None, described("The newest branch of drivers that does, as R580.")
    ]
    nvjitlink: Annotated[
        str | None,
        described("The least nvJitLink; null where none is asked for or known."),
    ]
    last_nvjitlink: Annotated[str | None, described("The newest nvJitLink that does as well.")]
    verdict: Annotated[VerdictWord, described("What check says with these.")]
    set_by: Annotated[
        tuple[str, ...],
        described(
            "The rules that object one step below; where no version does, those that object."
        ),
    ]
    doubts: Annotated[
        tuple[str, ...], described("The rules by which the verdict is no better than undocumented.")
    ]
    or_older: Annotated[bool, described(_OR_OLDER)] = False


class Service(Record):
    """How one GPU architecture is served."""

    arch: Annotated[str, From("number", "sm_{}".format)]
    name: Annotated[str, described("The generation; next: after all that are known.")]
    how: Annotated[str, one_of("sass", "ptx", "link", "none")]
    sass: Count
    ptx: Count
    link: Count
    none: Count
    driver: Annotated[str | None, described("The least driver there that meets all routes.")]
    beyond: Annotated[bool, described("No known driver is new enough there.")]
    nvjitlink: Annotated[str | None, described("The least nvJitLink with it.")]
    routes: Annotated[
        tuple[RouteFloor, ...],
        described("The floors by each route; driver and nvjitlink meet all that can be met."),
    ]
    hardly: Annotated[
        bool, described("Few modules serve it, beside those that serve another one (IMG-04).")
    ] = False
    last_driver: Annotated[
        str | None, described("The newest branch of drivers that does, as R580.")
    ] = None
    last_nvjitlink: Annotated[str | None, described("The newest nvJitLink that does.")] = None
    or_older: Annotated[bool, described(_OR_OLDER)] = False


class Requirement(Record):
    """One requirement."""

    axis: Annotated[str, From("component")]
    constraint: str
    rule: str
    subject: str
    consequence: str
    evidence: str
    module_count: Count
    example: PlaceText


class Line(Record):
    """A line to paste."""

    where: str
    text: str
    note: str


class Variant(Record):
    """What one of several variants asks, with all that is in no variant."""

    name: Annotated[str, described("Its file or folder in the artifact.")]
    modules: Count
    driver_sass: str | None
    driver_ptx: str | None
    ptx_beyond: bool
    nvjitlink: Annotated[str | None, described("The least nvJitLink; null: nothing is linked.")]


class Artifact(Record):
    """All that one artifact asks."""

    path: str
    modules: Count
    nvjitlink: Annotated[
        LinkerFloor | None, described("The least nvJitLink; null where nothing is linked.")
    ]
    no_nvjitlink: Annotated[
        str, described("Why no nvJitLink is named for what is linked; empty where one is.")
    ]
    driver_sass: Annotated[
        str | None,
        described("The least driver for its SASS; null where it has none or no floor is known."),
    ]
    driver_ptx: Annotated[
        str | None,
        described("The least driver that compiles all of its PTX with kernels; likewise."),
    ]
    ptx_beyond: Annotated[bool, described("Some PTX is newer than every known driver compiles.")]
    services: tuple[Service, ...]
    link_options: tuple[str, ...]
    requirements: Annotated[tuple[Requirement, ...], From("asked")]
    lines: tuple[Line, ...]
    skipped: Annotated[
        Count, described("Places that could not be read and are missing from all this.")
    ]
    variants: Annotated[
        tuple[Variant, ...],
        described(
            "Of these its loader opens one; the drivers above are those of the one that asks least."
        ),
    ]
    driver_or_older: Annotated[
        tuple[str, ...],
        described("Those of sass and ptx whose driver the tables begin with; an older one may do."),
    ] = ()


class Summary(Record):
    """How it went."""

    artifacts: Count
    without_device_code: Annotated[Count, described("Files that are not among the artifacts.")]
    errors: tuple[Failure, ...]


class Require(Document, tag="ltocompat/require/v1"):
    """What each artifact asks of wherever it goes."""

    artifacts: tuple[Artifact, ...]
    summary: Summary
