"""The results of workers, as ``parallel.read`` takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ltocompat.model.generic import R, T
from ltocompat.scan.workers import Pool


def in_order(
    work: Callable[[T], R], items: Sequence[T], number: int, order: Sequence[int] | None = None
) -> Iterator[R | None]:
    """Yield the results of a pool whose workers start with the first request for a result."""
    with Pool(work, items, number, order) as pool:
        yield from pool
