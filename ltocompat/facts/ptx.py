"""PTX ISA versions and the CUDA releases that brought them."""

from __future__ import annotations

import functools

from ltocompat.facts.tables import table
from ltocompat.model.arch import Release


@functools.cache
def _cuda() -> dict[str, Release]:
    rows = [(row["isa"], Release.parse(row["cuda"])) for row in table("ptx")["isa"]]
    return dict(sorted(rows, key=lambda row: row[1]))


def ptx_cuda(isa: str) -> Release | None:
    """The CUDA release that brought a PTX ISA: 12.4 of 8.4; None for versions not in the table.

    It is the least driver, nvJitLink, ptxas and nvPTXCompiler that reads such PTX.
    """
    return _cuda().get(isa)


def newest_ptx() -> str:
    """The newest PTX ISA in the table."""
    return next(reversed(_cuda()))


def cuda_ptx(cuda: Release) -> str | None:
    """The newest PTX ISA that a CUDA release reads: 8.5 of 12.6.

    A release newer than the table reads at least the newest row's; None for one before the first.
    """
    known = [isa for isa, release in _cuda().items() if release <= cuda]
    return known[-1] if known else None
