"""`ltocompat/selftest/v1`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import Count, Document, Record, RunSummary, Seconds, one_of


class Step(Record):
    """One step and its result.

    Attributes:
        way: The way to link: "PTX", "LTO" or "LTO to PTX"; null if the step is the same for all
            three ways.
        target: Architecture; null if the step doesn't depend on it.
        gpu: Index of the GPU; null if none is used.
        detail: The result of the step, or the reason why it failed.
        seconds: The time spent in the library; null if it was not measured.
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


class Summary(RunSummary):
    """The number of steps for each result, and the first step that did not pass.

    Attributes:
        stopped_at: Name of the first step that did not pass; null if all passed.
    """

    passed: Count
    failed: Count
    missing: Count
    stopped_at: str | None


class Selftest(Document, tag="ltocompat/selftest/v1"):
    """The steps of the test: compile, link, load and run.

    Steps after a failed step are left out.
    """

    steps: tuple[Step, ...]
    summary: Summary
