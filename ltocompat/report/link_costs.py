"""What links cost: their times, summed and in percentiles, and what a kernel costs of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from ltocompat.commands.link import Linked
    from ltocompat.targets.linkers import Linker


class LinkCost(Struct):
    """Links that gave an output, with one linker in one way.

    Attributes:
        linker: who was asked.
        way: ``lto`` or ``plain``.
        times: seconds of each.
        kernels: in all outputs.
        kernel_time: seconds of the links whose outputs hold kernels.
    """

    linker: Linker
    way: str
    times: list[float] = field(default_factory=list)
    kernels: int = 0
    kernel_time: float = 0.0

    @property
    def total(self) -> float:
        """Seconds of all links."""
        return sum(self.times)

    def percentile(self, percent: int) -> float:
        """Seconds that so many of a hundred links did not exceed; by nearest rank."""
        rank = math.ceil(len(self.times) * percent / 100)
        return sorted(self.times)[max(rank, 1) - 1]


class LinkCosts:
    """Sums as the links come."""

    def __init__(self) -> None:
        self._costs: dict[tuple[Linker, str], LinkCost] = {}

    def add(self, linked: Linked) -> None:
        """Let a link count, if it gave an output."""
        from ltocompat.commands.link import seconds

        answer = linked.answer
        if answer.output_size is None:
            return
        key = (linked.linker, linked.way)
        cost = self._costs.setdefault(key, LinkCost(*key))
        cost.times.append(seconds(answer))
        if answer.kernels_in_output:
            cost.kernels += answer.kernels_in_output
            cost.kernel_time += cost.times[-1]

    def all(self) -> tuple[LinkCost, ...]:
        """One for each linker and way, in the order of the first link."""
        return tuple(self._costs.values())
