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
    one_of,
)


class Step(Record):
    """One step, as it was done.

    Attributes:
        way: What is linked, and to what; null where it makes no difference.
        target: Architecture; null where it makes no difference.
        gpu: Index of the GPU; null where none is used.
        detail: What was found or done, or why not.
        seconds: Time in the library; null where it was not measured.
    """

    step: Annotated[
        str,
        one_of("driver", "NVRTC", "nvJitLink", "compile", "link", "load", "run"),
        From("name"),
    ]
    way: Annotated[str, one_of("PTX", "LTO", "LTO to PTX")] | None
    target: Annotated[str, Meta(pattern="^sm_[0-9]+[af]?$")] | None
    gpu: Count | None
    result: Annotated[str, one_of("passed", "failed", "missing")]
    detail: str
    seconds: Seconds | None


class Summary(Record):
    """Counts of results, and the first step that did not pass.

    Attributes:
        stopped_at: Name of that step; null when all passed.
    """

    passed: Count
    failed: Count
    missing: Count
    stopped_at: str | None
    errors: tuple[Failure, ...]


class Selftest(Document, tag="ltocompat/selftest/v1"):
    """Steps of compiling, linking, loading and running; none that needs a failed or missing one."""

    steps: tuple[Step, ...]
    summary: Summary
