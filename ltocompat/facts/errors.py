"""Error numbers of the CUDA driver: what a load on a GPU answers."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ltocompat.facts.tables import table


@dataclass(frozen=True, slots=True)
class CudaError:
    """One error of the CUDA driver API.

    Attributes:
        number: 209.
        name: ``CUDA_ERROR_NO_BINARY_FOR_GPU``.
        text: what cuGetErrorString() says, without a full stop.
        source: where the row is from.
    """

    number: int
    name: str
    text: str
    source: str


@functools.cache
def _errors() -> dict[int, CudaError]:
    return {
        row["number"]: CudaError(row["number"], row["name"], row["text"], row["source"])
        for row in table("errors")["error"]
    }


def cuda_error(number: int) -> CudaError | None:
    """The error of a number; None where cuda.h has none. 35 is of the CUDA runtime alone."""
    return _errors().get(number)
