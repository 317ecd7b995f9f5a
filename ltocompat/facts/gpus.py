"""GPU architectures and GPUs by name, and how a user's spelling finds one."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from ltocompat.facts import spelling
from ltocompat.facts.floors import floor
from ltocompat.facts.tables import table
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.errors import UsageError
from ltocompat.model.target import Gpu


@dataclass(frozen=True, slots=True)
class Sm:
    """One GPU architecture.

    Attributes:
        number: 90 of sm_90.
        first_toolkit: the first CUDA release that can target it.
        last_toolkit: the last one; None while the newest does.
        first_ptx: the PTX ISA that first names it, ``7.8``.
        family: the numbers that its ``f`` code is shared with, itself included, ascending.
        tegra: an integrated GPU (Jetson, DRIVE).
        name: NVIDIA's name of the architecture, ``Hopper``.
        first_branch: the first driver branch that runs it; None where nothing tells.
        first_branch_derived: that branch is only the one of its first toolkit.
        last_branch: the last driver branch that runs it; None while the newest does.
        source: where the row is from.
    """

    number: int
    first_toolkit: Release
    last_toolkit: Release | None
    first_ptx: str
    family: tuple[int, ...]
    tegra: bool
    name: str
    first_branch: int | None
    first_branch_derived: bool
    last_branch: int | None
    source: str


@dataclass(frozen=True, slots=True)
class GpuModel:
    """One GPU as it is sold.

    Attributes:
        name: without the maker's, ``GeForce RTX 4090``.
        number: 89 of sm_89.
        data_center: cuda-compat is made for it (data centre, Jetson); None for workstation GPUs,
            of which some can use it.
        tegra: an integrated GPU (Jetson).
        source: where the row is from.
    """

    name: str
    number: int
    data_center: bool | None
    tegra: bool
    source: str


@functools.cache
def _sms() -> dict[int, Sm]:
    rows = sorted(table("sm")["sm"], key=lambda row: row["number"])
    families: dict[str, tuple[int, ...]] = {}
    for row in rows:
        if "family" in row:
            families[row["family"]] = (*families.get(row["family"], ()), row["number"])
    return {
        row["number"]: Sm(
            number=row["number"],
            first_toolkit=Release.parse(row["first_toolkit"]),
            last_toolkit=Release.parse(row["last_toolkit"]) if "last_toolkit" in row else None,
            first_ptx=row["first_ptx"],
            family=families.get(row.get("family"), (row["number"],)),
            tegra=row["tegra"],
            name=row["name"],
            first_branch=row.get("first_branch"),
            first_branch_derived="first_branch" in row,  # no row has a documented one
            last_branch=row.get("last_branch"),
            source=row["source"],
        )
        for row in rows
    }


def sms() -> tuple[Sm, ...]:
    """Every architecture from sm_30 on, ascending."""
    return tuple(_sms().values())


def sm(number: int) -> Sm | None:
    """The architecture of a number; None for one that the table doesn't have."""
    return _sms().get(number)


def newest_sm() -> int:
    """The highest number in the table."""
    return max(_sms())


@functools.lru_cache(maxsize=256)
def linker_targets(release: Release) -> frozenset[int]:
    """The architectures that nvJitLink and nvlink of a release can make code for.

    A release newer than the table is taken to target what the newest one does.
    """
    return frozenset(
        each_sm.number
        for each_sm in sms()
        if each_sm.first_toolkit <= release
        and (each_sm.last_toolkit is None or release <= each_sm.last_toolkit)
    )


@functools.cache
def gpu_models() -> tuple[GpuModel, ...]:
    """Every GPU that is known by name, newest architectures first."""
    return tuple(
        GpuModel(
            name,
            row["sm"],
            row.get("data_center"),
            _sms()[row["sm"]].tegra,
            row["source"],
        )
        for row in table("gpus")["gpu"]
        for name in row["names"]
    )


@functools.cache
def _models() -> dict[str, GpuModel]:
    return {model.name: model for model in gpu_models()}


# sm_90, sm90, 90, 90a; 9.0, 12.0a
_NUMBER = re.compile(r"(sm[-_ ]?)?([0-9]{1,4})([af]?)")
_CAPABILITY = re.compile(r"([0-9]{1,2})\.([0-9])([af]?)")
_OTHER_FORM = re.compile(r"(?:compute|lto)[-_ ]?([0-9].*)")
# Beyond the table, up to here a number is taken for a newer architecture, not for a slip.
_HIGHEST = 199
_LONGEST = 80


def _common(values: Iterable[bool | None]) -> bool | None:
    kinds = set(values)
    return kinds.pop() if len(kinds) == 1 else None


def models_named(text: str) -> tuple[GpuModel, ...]:
    """The models that a text can mean; a text of more than 80 characters means none."""
    if len(text) > _LONGEST:
        return ()
    return tuple(_models()[name] for name in spelling.meant(text, tuple(_models())))


def _by_name(text: str) -> Gpu | None:
    """The GPU of a name; None where no model has it.

    Raises:
        UsageError: models of several architectures have it.
    """
    models = models_named(text)
    if not models:
        return None
    numbers = sorted({model.number for model in models})
    if len(numbers) > 1:
        each = [
            f"{next(m.name for m in models if m.number == number)} (sm_{number})"
            for number in numbers
        ]
        raise UsageError(
            f"{text!r} can be {', '.join(each[:-1])} or {each[-1]}: write the whole name or the "
            "sm_ number"
        )
    arch = SmArch(numbers[0])
    return Gpu(text, arch, _common(m.data_center for m in models), models[0].tegra)


def _by_number(text: str, number: int, suffix: str) -> Gpu:
    """The GPU of an sm_ number.

    Raises:
        UsageError: there is no such architecture, or it has no such suffix.
    """
    known = sm(number)
    if known is None and not newest_sm() < number <= _HIGHEST:
        near = sorted(sorted(_sms(), key=lambda other: abs(other - number))[:3])
        names = ", ".join(f"sm_{other}" for other in near)
        raise UsageError(f"{text!r}: there is no sm_{number}; near it are {names}")
    if suffix:
        first = floor(f"suffix-{suffix}-sm").value
        if number < int(first):
            raise UsageError(
                f"{text!r}: sm_{number} has no form {suffix!r}, which starts with "
                f"sm_{first}{suffix}; write sm_{number}"
            )
    models = [model.data_center for model in gpu_models() if model.number == number]
    return Gpu(text, SmArch(number, suffix), _common(models), known is not None and known.tegra)


def _unknown(text: str) -> UsageError:
    short = text[:_LONGEST]
    near = spelling.near(short, tuple(_models()))
    hint = f"is it {' or '.join(near)}? " if near else ""
    return UsageError(
        f"{short!r} is no GPU that is known: {hint}write its architecture, such as sm_90"
    )


def find_gpu(text: str) -> Gpu:
    """The GPU that a user's text means.

    Args:
        text: a name in any usual spelling (``h100``, ``rtx-4090``, ``NVIDIA A100-SXM4-80GB``), an
            architecture (``sm_90``, ``sm_90a``, ``90``) or a compute capability (``9.0``).

    Returns:
        The GPU, under the text as its name. ``data_center`` is None where the models that the text
        can mean differ, or none is known.

    Raises:
        UsageError: nothing has this name or number, or models of several architectures have it.
    """
    text = text.strip()
    plain = text.lower()
    if other := _OTHER_FORM.fullmatch(plain):
        raise UsageError(f"{text!r} is no GPU but a form of code; write sm_{other[1]}")
    if len(text) > _LONGEST:
        raise _unknown(text)
    if match := _CAPABILITY.fullmatch(plain):
        major, minor, suffix = match.groups()
        return _by_number(text, 10 * int(major) + int(minor), suffix)
    match = _NUMBER.fullmatch(plain)
    if match and (match[1] or int(match[2]) in _sms()):
        return _by_number(text, int(match[2]), match[3])
    gpu = _by_name(text)  # 4090 and 980 are names
    if gpu is not None:
        return gpu
    if match:
        return _by_number(text, int(match[2]), match[3])
    raise _unknown(text)
