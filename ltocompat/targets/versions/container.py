"""NVIDIA_REQUIRE_CUDA of a container image: its conditions, and the drivers that it admits.

It is a little language, evaluated with what is known of a host. Spaces part alternatives, commas
part conditions that hold together; a condition is a name (``cuda``, ``driver``, ``arch``,
``brand``), one of ``= != < <= > >=``, and a value. Read in NVIDIA/libnvidia-container
(``src/cli/dsl.c``) and NVIDIA/nvidia-container-toolkit (``internal/requirements``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from msgspec import Struct

from ltocompat.facts import drivers
from ltocompat.model.errors import UsageError
from ltocompat.model.target import DriverVersion, Quantifier, VersionSet
from ltocompat.targets.versions.comparisons import COMPARE, trimmed

_PARTS = re.compile(r"([A-Za-z_]+)(!=|<=|>=|=|<|>)([^<>=!]+)")
_NUMBERS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})*")
_FROM_WORST = (False, None, True)
DISABLE = "NVIDIA_DISABLE_REQUIRE"
TRUE = ("1", "t", "T", "TRUE", "true", "True")  # strconv.ParseBool of Go


class ContainerHost(Struct, frozen=True):
    """Facts of a host for a requirement; None if unknown.

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
    """Return whether a host meets a requirement; None if an unknown fact decides.

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
    match = _PARTS.fullmatch(text)
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
    return COMPARE[sign](trimmed(known), trimmed(value))


_NO_BRAND = "none"  # of NVIDIA's
_EXAMPLE = "container=cuda>=12.4"
_NUMBERED = r"(?:cuda|driver|arch)(?:!=|<=|>=|=|<|>)[0-9]{1,9}(?:\.[0-9]{1,9}){0,3}"
_CONDITION = rf"(?:{_NUMBERED}|brand!?=[a-z]+)"
_REQUIREMENT = re.compile(rf"{_CONDITION}(?:[ ,]{_CONDITION})*", re.ASCII | re.IGNORECASE)


def read_container(text: str, source: str) -> VersionSet[DriverVersion]:
    """Return the oldest driver of each CUDA release with which an image starts on any GPU.

    Args:
        text: the value of NVIDIA_REQUIRE_CUDA, or of NVIDIA_REQUIRE_DRIVER.
        source: the source of the value.

    Raises:
        UsageError: it can't be read, or admits no known driver.
    """
    if _REQUIREMENT.fullmatch(text.strip()) is None:
        raise UsageError(
            f"container={text} can't be read; write {_EXAMPLE}, as in NVIDIA_REQUIRE_CUDA"
        )
    # A condition on brands and architectures admits hosts that have them.
    found = [*_admitted([text.strip()])]
    if not found:
        raise UsageError(f"container={text} excludes every known driver; write {_EXAMPLE}")
    return VersionSet(text, tuple(found), quantifier=Quantifier.ALL, source=source)


def least_admitted(requirements: Sequence[str]) -> DriverVersion | None:
    """Return the oldest driver with which an image starts on GPUs of any brand.

    NVIDIA's images admit older branches for some brands, because of the cuda-compat inside. The
    condition for any brand fits the toolkit of their code. If there is no condition for any brand,
    some brand decides.

    Args:
        requirements: values of variables NVIDIA_REQUIRE_*, which all have to hold.

    Raises:
        ValueError: a condition can't be read; the text is that condition.
    """
    every = (_admitted(requirements, brands) for brands in ((_NO_BRAND,), ()))
    return next(chain.from_iterable(every), None)


def _admitted(requirements: Sequence[str], brands: tuple[str, ...] = ()) -> Iterator[DriverVersion]:
    """The oldest driver that all of these admit, of each CUDA release before 11 and each branch."""
    known = [(cuda, [version]) for cuda, version in drivers.earlier_drivers().items()]
    for branch in drivers.driver_branches():
        releases = {drivers.first_production(branch), *drivers.driver_releases(branch)}
        known.append((str(drivers.branch_cuda(branch)), sorted(releases)))
    for cuda, versions in known:
        hosts = ((each, ContainerHost(cuda, str(each), brands=brands)) for each in versions)
        yield from islice((each for each, host in hosts if _admit(requirements, host)), 1)


def _admit(requirements: Sequence[str], host: ContainerHost) -> bool:
    """Return whether none of these surely keeps an image from starting on a host."""
    return all(satisfied(text, host) is not False for text in requirements)
