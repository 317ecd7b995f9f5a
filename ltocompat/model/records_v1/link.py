"""`ltocompat/link/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    Count,
    Document,
    Failure,
    PlaceText,
    Positive,
    Record,
    Seconds,
    Skipped,
    one_of,
)


class NvJitLink(Record):
    """The nvJitLink that made the link."""

    version: str
    path: str


class Linker(Record):
    """The linker that made the link."""

    tool: Annotated[str, one_of("nvjitlink", "nvlink")]
    version: str
    path: str


class LinkTimes(Record):
    """The time spent in the library, in seconds.

    Attributes:
        again: Time of the same link in a process that has linked before.
    """

    create: Seconds | None
    add: Seconds | None
    complete: Seconds | None
    again: Seconds | None


class Result(Record):
    """One link.

    Attributes:
        nvjitlink: The nvJitLink that made the link; null if nvlink made it.
        place: The image that was linked alone; null if all inputs were linked together.
        registers: The highest number of registers per thread in any kernel of the output.
        sandbox: The mechanisms that confined the linker's process: Landlock, seccomp.
    """

    nvjitlink: NvJitLink | None
    way: Annotated[str, one_of("lto", "plain")]
    arch: str
    place: str | None
    outcome: Annotated[
        str,
        one_of(
            *("accepted", "compiled", "linked", "lost", "unresolved", "refused", "crashed"),
            "timed out",
        ),
    ]
    step: Annotated[str, one_of("create", "add", "complete", "get", "destroy")]
    input: Annotated[str | None, From("input_name")]
    code: int | None
    code_name: str | None
    signal: str | None
    reason: str | None
    unresolved: tuple[str, ...]
    log: str
    seconds: LinkTimes
    output_size: int | None
    kernels: Annotated[int | None, From("kernels_in_output")]
    confirmed: bool
    linker: Linker
    registers: Count | None
    sandbox: tuple[str, ...]


class OptionValue(Record):
    """A value of the option, and the images that were compiled with it."""

    value: str | None
    places: tuple[PlaceText, ...]


class Disagreement(Record):
    """A compile option whose value differs between LTO-IR images."""

    option: str
    values: tuple[OptionValue, ...]


class Cost(Record):
    """Times of the successful links with one linker, with or without LTO.

    Attributes:
        seconds: Total time of all links; each link was the first in its process.
        ninetieth: The 90th percentile: nine of ten links took at most this time.
    """

    linker: Linker
    way: str
    links: Count
    kernels: Count
    seconds: Seconds
    median: Seconds
    ninetieth: Seconds
    slowest: Seconds


class Summary(Record):
    """The number of results for each outcome."""

    outcomes: dict[str, Positive]
    skipped: Count
    errors: tuple[Failure, ...]
    costs: tuple[Cost, ...]


class Link(Document, tag="ltocompat/link/v1"):
    """The result of each linker: for all inputs together, or for each image."""

    results: tuple[Result, ...]
    disagreements: tuple[Disagreement, ...]
    skipped: tuple[Skipped, ...]
    summary: Summary
