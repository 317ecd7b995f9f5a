"""GPU architectures and GPUs by name, and how a user's spelling finds one."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable
from typing import Annotated

from msgspec import Struct

from ltocompat.facts import floor, horizon, table
from ltocompat.facts.drivers import branch_of
from ltocompat.model.arch import Release, SmArch, version_numbers
from ltocompat.model.errors import UsageError
from ltocompat.model.generic import grouped
from ltocompat.model.projection import From, from_rows
from ltocompat.model.target import DriverVersion, Gpu

# Words that nvidia-smi and the kernel driver write around a name, and others that tell no GPU.
# (A GRID RTX is a Turing; without that word, Ada and Blackwell have the same numbers.)
_NOISE = (
    r"\b(?:mig(?: [0-9]+c)? [0-9]+g [0-9]+gb(?: (?:me|gfx|all))*|[0-9]+ ?gb?|"
    r"nvidia|nvgpu|grid(?! rtx)|[dh]gx|station|hbm[0-9a-z]*|3e|sxm[0-9]*|pcie|nvl[0-9]*|ac|lc|ls|"
    r"active|laptop|mobile|notebook|embedded|oem|gpu|graphics|max q|with|design|generation|edition|"
    r"engineering|reference|developer|kit|devkit)\b"
)
# The beginning of a name that has a MIG profile alone: mig-1g.10gb, 3g.20gb.
MIG = re.compile(r"\bmig\b|[1-7]g\.")
# A vGPU: the size of its frame buffer and its kind, behind the name; on MIG the slices before that.
_VGPU = r"-(?:[0-9]-)?[0-9]{1,3}(?:[ABCQ]|CME)$"
_VENDOR = frozenset({"geforce", "tesla", "quadro"})
# Words that users leave out.
_OPTIONAL = _VENDOR | {
    "jetson", "agx", "rtx", "gtx", "gt", "mx", "pro", "ada", "blackwell", "pascal", "workstation",
}  # fmt: skip
_Words = tuple[str, ...]


@functools.lru_cache(maxsize=1024)
def _words(text: str) -> _Words:
    """``RTX A4000-8GB`` as (``rtx``, ``a``, ``4000``)."""
    plain = re.sub(_VGPU, "", text.strip(), flags=re.IGNORECASE).lower()
    plain = re.sub(r"\b([0-9]{3,4}) ?([gr]tx)\b", r"\2 \1", plain)  # 1050gtx ti
    spaced = re.sub(r"[^0-9a-z]+|(?<=rtx)(?=a[0-9])", " ", plain)
    return tuple(re.findall(r"[a-z]+|[0-9]+", re.sub(_NOISE, " ", spaced)))


def _left_out(words: _Words, full: _Words) -> set[str] | None:
    """The words of ``full`` that ``said`` leaves out; None if it isn't a short form of it."""
    missing: set[str] = set()
    kept = 0
    for number, word in enumerate(full):
        if kept < len(words) and words[kept] == word:
            before = full[number - 1] if number else ""
            # The A of A4000 belongs to its number, the RTX of RTX 4000 doesn't.
            if word.isdecimal() and len(before) == 1 and before in missing:
                return None
            kept += 1
        else:
            missing.add(word)
    return missing if kept == len(words) else None


def _meant(text: str, names: tuple[str, ...]) -> list[str]:
    """The names that a text can mean, by the strictest reading that finds any.

    That is: word by word; else without words that users leave out (``RTX 4000`` is Quadro RTX 4000,
    RTX 4000 Ada and RTX PRO 4000 Blackwell); else as any part of a name, in order (``titan``).
    """
    words = _words(text)
    exact = [name for name in names if _words(name) == words]
    if exact:
        return exact
    words = tuple(word for word in words if word not in _VENDOR)
    if not words:
        return []
    near = (name for name in names if words[0] in _words(name) and words[-1] in _words(name))
    left_out = ((name, _left_out(words, _words(name))) for name in near)
    found = {name: missing for name, missing in left_out if missing is not None}
    # One word without a number (titan, orin) is a range of models, never the plainest of them.
    if len(words) > 1 or words[0].isdecimal():
        usual = [name for name, missing in found.items() if missing <= _OPTIONAL]
        if usual:
            return usual
    return list(found)


class Sm(Struct, frozen=True):
    """One GPU architecture.

    Attributes:
        number: 90 of sm_90.
        first_toolkit: the first CUDA release that can target it.
        last_toolkit: the last one; None if the newest does.
        family: the numbers that run its ``f`` code, itself included, ascending.
        tegra: True for an integrated GPU (Jetson, DRIVE).
        name: NVIDIA's name of the architecture,
            ``Hopper``.
        first_branch: the first driver branch that runs it, from its first toolkit; None if unknown.
        last_branch: the last driver branch that runs it; None if the newest does.
    """

    number: int
    first_toolkit: Release
    last_toolkit: Release | None
    family: tuple[int, ...]
    tegra: bool
    name: str
    first_branch: int | None
    last_branch: int | None


class GpuModel(Struct, frozen=True):
    """A GPU model.

    Attributes:
        name: its name without NVIDIA, ``GeForce RTX 4090``.
        number: 89 of sm_89.
        data_center: True if cuda-compat supports it (data centre, Jetson); None for workstation
            GPUs, of which some can use it.
        tegra: True for an integrated GPU (Jetson).
        cpu: ``arm`` if it is sold with Arm cores in one
            package.
    """

    name: str
    number: Annotated[int, From("sm")]
    data_center: bool | None
    tegra: bool
    cpu: str | None


@functools.cache
def _sms() -> dict[int, Sm]:
    ascending = sorted(table("sm")["sm"], key=lambda row: row["number"])
    families = grouped([(row.get("family", row["number"]), row["number"]) for row in ascending])
    whole = [{**row, "family": families[row.get("family", row["number"])]} for row in ascending]
    return {row.number: row for row in from_rows(Sm, whole)}


def sms() -> tuple[Sm, ...]:
    """Every architecture from sm_30 on, ascending."""
    return tuple(_sms().values())


def sm(number: int) -> Sm | None:
    """Return the architecture of a number; None if the table doesn't have it."""
    return _sms().get(number)


def first_ptx(arch: SmArch, isa: tuple[int, ...]) -> str | None:
    """The first PTX ISA with an architecture; None if no compiler wrote it in PTX of that ISA."""
    known = (*table("sm")["sm"], *table("sm")["ptx_targets"])
    row: dict[str, str] = next((row for row in known if row["number"] == arch.number), {})
    if arch.suffix and (
        arch.number < int(floor(f"suffix-{arch.suffix}-sm"))
        or isa < version_numbers(floor(f"suffix-{arch.suffix}-ptx"))
    ):
        return None
    return None if isa > version_numbers(row.get("last_ptx", "99")) else row.get("first_ptx")


def newest_sm() -> int:
    """The highest number in the table."""
    return max(_sms())


def is_tegra(number: int) -> bool:
    """Return whether an architecture is of an integrated GPU (Jetson, DRIVE), if known."""
    row = sm(number)
    return row is not None and row.tegra


def arm_only(number: int) -> bool:
    """Return whether every GPU of an architecture has Arm cores: Jetson, DRIVE, GB10."""
    models = [model for model in gpu_models() if model.number == number]
    return is_tegra(number) or (bool(models) and all(m.tegra or m.cpu == "arm" for m in models))


# Thor, which is sm_110 since CUDA 13.0: not a separate GPU.
RENAMED = 101


def runs(sm: Sm, driver: DriverVersion) -> bool:
    """Return whether a driver runs an architecture, as far as the tables tell."""
    branch = branch_of(driver)
    return (sm.first_branch is None or sm.first_branch <= branch) and (
        sm.last_branch is None or branch <= sm.last_branch
    )


@functools.lru_cache(maxsize=256)
def linker_targets(release: Release) -> frozenset[int]:
    """Return the architectures for which nvJitLink and nvlink of a release can make code.

    A release outside the table counts as supporting all architectures of the row before it.
    """
    row = horizon.of_linker(release).below or release
    return frozenset(
        sm.number
        for sm in sms()
        if sm.first_toolkit <= release and (sm.last_toolkit is None or row <= sm.last_toolkit)
    )


@functools.cache
def gpu_models() -> tuple[GpuModel, ...]:
    """Every GPU with a known name, newest architectures first."""
    models = [
        {**row, "name": name, "tegra": is_tegra(row["sm"])}
        for row in table("gpus")["gpu"]
        for name in row["names"]
    ]
    return from_rows(GpuModel, models)


# sm_90, sm90, 90, 90a; 9.0, 12.0a
_NUMBER = r"(sm[-_ ]?)?([0-9]{1,4})([af]?)"
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
    known = {model.name: model for model in gpu_models()}
    return tuple(known[name] for name in _meant(text, tuple(known)))


def models_beginning(text: str) -> tuple[GpuModel, ...]:
    """Return the models of a name truncated after ``text``: ``Tesla V100-SXM2``: V100 or V100S.

    Drivers before 470 write Tesla before names; newer drivers don't. A last word without a number,
    such as the SX of ``A100-SX``, may be part of a word that names no GPU.
    """
    words = _words(text[:_LONGEST])
    while words:
        start = "".join(words)
        every = ((model, "".join(_words(model.name))) for model in gpu_models())
        found = tuple(
            m for m, name in every if name.startswith(start) or f"tesla{name}".startswith(start)
        )
        if found or words[-1].isdecimal():
            return found
        words = words[:-1]
    return ()


def _by_name(text: str) -> Gpu | None:
    """The GPU of a name; None if no model has it.

    Raises:
        UsageError: models of several architectures have it.
    """
    models = models_named(text)
    if not models:
        return None
    named = {model.number: model.name for model in reversed(models)}  # the first of each
    numbers = sorted(named)
    if len(numbers) > 1:
        each = [f"{named[number]} (sm_{number})" for number in numbers]
        raise UsageError(
            f"{text!r} can mean {', '.join(each[:-1])} or {each[-1]}: write the whole name or the "
            "sm_ number"
        )
    arch = SmArch(numbers[0])
    arm = all(model.tegra or model.cpu == "arm" for model in models)
    return Gpu(text, arch, _common(m.data_center for m in models), models[0].tegra, arm)


def _by_number(text: str, number: int, suffix: str) -> Gpu:
    """The GPU of an sm_ number.

    Raises:
        UsageError: there is no such architecture, or it has no such suffix.
    """
    if sm(number) is None and not newest_sm() < number <= _HIGHEST:
        near = sorted(sorted(_sms(), key=lambda other: abs(other - number))[:3])
        names = ", ".join(f"sm_{other}" for other in near)
        raise UsageError(f"{text!r}: there is no sm_{number}; the nearest are {names}")
    if suffix:
        first = floor(f"suffix-{suffix}-sm")
        if number < int(first):
            raise UsageError(
                f"{text!r} is not an architecture: the first architecture with the suffix "
                f"{suffix} is sm_{first}{suffix}; write sm_{number}"
            )
    models = [model.data_center for model in gpu_models() if model.number == number]
    return Gpu(text, SmArch(number, suffix), _common(models), is_tegra(number))


def _without_vendor(name: str) -> str:
    return "".join(word for word in _words(name) if word not in _VENDOR)


# NVIDIA's lists have the GPUs that everybody knows; others are models for one country, boards ...
_LISTED = ("developer.nvidia.com/cuda-gpus)", "developer.nvidia.com/cuda-legacy-gpus)", "cores)")


def _unknown(text: str) -> UsageError:
    short = text[:_LONGEST]
    listed = [row["names"] for row in table("gpus")["gpu"] if row["source"].endswith(_LISTED)]
    spelled = {_without_vendor(name): name for names in listed for name in names}
    named = re.search(r"[a-z]", short, re.IGNORECASE)  # numbers name no model that is near
    near = difflib.get_close_matches(_without_vendor(short), spelled, n=3) if named else ()
    hint = f"is it {' or '.join(map(spelled.__getitem__, near))}? " if near else ""
    write = "write its architecture, such as sm_90"
    if MIG.match(short.lower()):
        write = "write also the GPU of the MIG instance, as in a100-mig-1g.5gb"
    return UsageError(f"{short!r} is not a known GPU: {hint}{write}")


def find_gpu(text: str) -> Gpu:
    """Return the GPU that a user's text means.

    Args:
        text: a name in any usual spelling (``h100``, ``rtx-4090``, ``NVIDIA A100-SXM4-80GB``), an
            architecture (``sm_90``, ``sm_90a``, ``90``) or a compute capability (``9.0``).

    Returns:
        The GPU, under the text as its name. ``data_center`` is None if the possible models differ,
        or none is known.

    Raises:
        UsageError: no GPU has this name or number, or models of several architectures have it.
    """
    text = text.strip()
    plain = text.lower()
    if other := re.fullmatch(r"(?:compute|lto)[-_ ]?([0-9].*)", plain):
        raise UsageError(f"{text!r} is not a GPU but a form of code; write sm_{other[1]}")
    if len(text) > _LONGEST:
        raise _unknown(text)
    if match := re.fullmatch(r"([0-9]{1,2})\.([0-9])([af]?)", plain):
        major, minor, suffix = match.groups()
        return _by_number(text, 10 * int(major) + int(minor), suffix)
    match = re.fullmatch(_NUMBER, plain)
    if match and (match[1] or int(match[2]) in _sms()):
        return _by_number(text, int(match[2]), match[3])
    gpu = _by_name(text)  # 4090 and 980 are names
    if gpu is not None:
        return gpu
    if match:
        return _by_number(text, int(match[2]), match[3])
    raise _unknown(text)


def may_be_consumer(gpu: Gpu) -> bool:
    """Return whether a GPU may be a GeForce or TITAN, by its name or its architecture."""
    if gpu.data_center is not None:
        return not gpu.data_center
    known = models_named(gpu.name) or gpu_models()
    models = [model for model in known if model.number == gpu.arch.number]
    return not models or any(model.data_center is False for model in models)


@functools.cache
def gpus_in_use() -> tuple[Gpu, ...]:
    """Return a GPU of every architecture in use, ascending, then one after all known ones.

    They are not models, which make no difference for drivers and linkers.
    """
    # Nothing made today serves what no toolkit since 12.0 targets.
    since = Release(12, 0)
    used = (row for row in sms() if row.last_toolkit is None or row.last_toolkit >= since)
    to_come = 10 * (newest_sm() // 10 + 1)
    numbers = (*((row.number, row.tegra) for row in used), (to_come, False))
    return tuple(Gpu(f"sm_{number}", SmArch(number), None, tegra) for number, tegra in numbers)
