"""A machine as a file describes it, and names of GPUs as these files spell them."""

from __future__ import annotations

import functools
import re

from msgspec import Struct

from ltocompat.facts.gpus import models_beginning, models_named
from ltocompat.model.errors import UsageError
from ltocompat.targets.pins import Pin

# gpu-feature-discovery's marks behind a product: GPUs that are shared, and several MIG profiles;
# GKE's for a faster network and for workstations (nvidia-h100-mega-80gb, nvidia-l4-vws).
_MARKS = re.compile(r"-(?:SHARED|MIG-INVALID|MEGA|VWS)\b", re.IGNORECASE)
_CUT = re.compile(r"[ .]*\.\.\.$")
_VENDOR = re.compile(r"^(?:nvidia|geforce|tesla|quadro) ")
_CAPABILITY = re.compile(r"([0-9]{1,2})\.([0-9])")
_SHOWN = 60


# A driver as tools print it; without a driver, they print a word.
DRIVER = re.compile(r"[0-9]{3}\.[0-9]{1,4}(?:\.[0-9]{1,4})?")


# A GPU without name and capability.
UNTOLD = ("", "")


class Node(Struct, frozen=True):
    """A machine or an image, described by a file.

    Attributes:
        keys: the keys of a deploy target except GPUs, with values as in the inline form; empty if
            unknown.
        gpus: the name of each GPU and its compute capability, each empty if unknown; an image has
            no GPU, a machine at least one.
        name: the name of the machine; empty if the file has none.
        pins: the packages that are installed there.
        problem: a contradiction about its driver.
    """

    keys: dict[str, str]
    gpus: tuple[tuple[str, str], ...] = ()
    name: str = ""
    pins: tuple[Pin, ...] = ()
    problem: str = ""

    @property
    def gpu(self) -> str:
        """The value of ``gpu=``; empty for an image.

        Raises:
            UsageError: one of them has no name, or is unknown.
        """
        return "+".join(dict.fromkeys(gpu_spelling(*gpu) for gpu in dict.fromkeys(self.gpus)))


@functools.lru_cache(maxsize=1024)  # nodes of a fleet have the same ones
def gpu_spelling(name: str, capability: str) -> str:
    """Return the value of ``gpu=`` for a GPU as a tool prints it: ``t4``, ``rtx 4090``, ``sm_80``.

    Args:
        name: ``Tesla T4``, ``NVIDIA-A100-SXM4-40GB-MIG-1g.5gb``, ``Tesla V100-SXM2...``; may be
            empty.
        capability: its compute capability, ``8.0``, if the tool also prints that.

    Raises:
        UsageError: it has no name, no known model or models of several architectures have the name,
            or the compute capability differs.
    """
    if not (name.strip() or capability.strip()):
        raise UsageError("no GPU is named; add gpu=, for example gpu=sm_90")
    whole = _MARKS.sub("", name.strip())
    cut = _CUT.search(whole)
    models = models_beginning(whole[: cut.start()]) if cut else models_named(whole)
    numbers = {model.number for model in models}
    if match := _CAPABILITY.fullmatch(capability.strip()):
        told = 10 * int(match[1]) + int(match[2])
        if numbers and told not in numbers:
            raise UsageError(
                f"{name[:_SHOWN]!r} and compute capability {capability} contradict each other; "
                "add gpu=, for example gpu=sm_90"
            )
        numbers = {told}
    if len(numbers) != 1:
        unknown = "can be one of several GPUs" if models else "is not a known GPU"
        reason = "is cut off" if cut else unknown
        raise UsageError(f"{name[:_SHOWN]!r} {reason}; add gpu=, for example gpu=sm_90")
    (number,) = numbers
    names = {model.name.lower() for model in models if model.number == number}
    return _short(names.pop()) if len(names) == 1 else f"sm_{number}"


def _short(name: str) -> str:
    """``t4`` for ``tesla t4``, where that means the same GPU."""
    short = _VENDOR.sub("", name)
    return short if len(models_named(short)) == 1 else name
