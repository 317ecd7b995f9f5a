"""`ltocompat/selftest/v1`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    Count,
    Document,
    Failure,
    Record,
    Seconds,
    described,
    one_of,
)


class Step(Record):
    """One step, as it was done."""

    step: Annotated[
        str,
        From("name"),
        one_of("driver", "NVRTC", "nvJitLink", "compile", "link", "load", "run"),
    ]
    way: Annotated[
        Annotated[str, one_of("PTX", "LTO", "LTO to PTX")] | None,
        described("What is linked, and to what; null where it makes no difference."),
    ]
    target: Annotated[
        Annotated[str, Meta(pattern=r"^sm_[0-9]+[af]?$")] | None,
        described("Architecture; null where it makes no difference."),
    ]
    gpu: Annotated[Count | None, described("Index of the GPU; null where none is used.")]
    result: Annotated[str, one_of("passed", "failed", "missing")]
    detail: Annotated[str, described("What was found or done, or why not.")]
    seconds: Annotated[
        Seconds | None, described("Time in the library; null where it was not measured.")
    ]


class Summary(Record):
    """Counts of results, and the first step that did not pass."""

    passed: Count
    failed: Count
    missing: Count
    stopped_at: Annotated[str | None, described("Name of that step; null when all passed.")]
    errors: tuple[Failure, ...]


class Selftest(Document, tag="ltocompat/selftest/v1"):
    """Steps of compiling, linking, loading and running; none that needs a failed or missing one."""

    steps: tuple[Step, ...]
    summary: Summary
