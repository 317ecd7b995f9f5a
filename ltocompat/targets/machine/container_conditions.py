"""The little language of NVIDIA_REQUIRE_CUDA, evaluated with what is known of a host.

Spaces part alternatives, commas part conditions that hold together; a condition is a name
(``cuda``, ``driver``, ``arch``, ``brand``), one of ``= != < <= > >=``, and a value. Read in
NVIDIA/libnvidia-container (``src/cli/dsl.c``) and NVIDIA/nvidia-container-toolkit
(``internal/requirements``).
"""

from __future__ import annotations

import re

from msgspec import Struct

from ltocompat.targets.versions.comparisons import COMPARE

_CONDITION = re.compile(r"([A-Za-z_]+)(!=|<=|>=|=|<|>)([^<>=!]+)")
_NUMBERS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})*")
_FROM_WORST = (False, None, True)


class ContainerHost(Struct, frozen=True):
    """Facts that a requirement is compared with; None where one isn't known.

    Attributes:
        cuda: the CUDA release of the driver, ``13.0``.
        driver: its version, ``580.95.05``.
        archs: the compute capabilities of the GPUs, ``9.0``.
        brands: the brands of the GPUs, ``geforce``.
    """

    cuda: str | None = None
    driver: str | None = None
    archs: tuple[str, ...] = ()
    brands: tuple[str, ...] = ()


def satisfied(requirement: str, host: ContainerHost) -> bool | None:
    """Return whether a host has what a requirement asks; None where an unknown fact decides.

    Raises:
        ValueError: a condition can't be read; the text is that condition.
    """
    alternatives = [
        [_condition(text, host) for text in part.split(",") if text]
        for part in requirement.split(" ")
        if part
    ]
    found = [min(together, key=_FROM_WORST.index, default=True) for together in alternatives]
    return max(found, key=_FROM_WORST.index, default=True)


def _condition(text: str, host: ContainerHost) -> bool | None:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise ValueError(text)
    name, sign, value = match.groups()
    known = {
        "cuda": (host.cuda,) if host.cuda else (),
        "driver": (host.driver,) if host.driver else (),
        "arch": host.archs,
        "brand": host.brands,
    }.get(name.lower())
    if known is None:
        raise ValueError(text)
    if not known:
        return None
    # A container may be given any of the GPUs: only where all agree is the answer known.
    answers = {_compared(name.lower(), sign, value, of_gpu) for of_gpu in known}
    return answers.pop() if len(answers) == 1 else None


def _compared(name: str, sign: str, value: str, known: str) -> bool:
    if name == "brand":
        if sign not in ("=", "!="):
            raise ValueError(f"{name}{sign}{value}")
        return (value.lower() == known.lower()) is (sign == "=")
    if _NUMBERS.fullmatch(value) is None:
        raise ValueError(f"{name}{sign}{value}")
    return COMPARE[sign](_numbers(known), _numbers(value))


def _numbers(text: str) -> tuple[int, ...]:
    """Without zeros at the end: 535 and 535.0 are the same."""
    numbers = [int(part) for part in text.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
