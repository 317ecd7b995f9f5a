"""``python -m torch.utils.collect_env``, vLLM's likewise, and ``nvidia-smi -L`` -> a machine.

Fields: torch/utils/collect_env.py, ``env_info_fmt``; vLLM pads them before the colon.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ltocompat.targets.inventory.node import DRIVER, UNTOLD, Node
from ltocompat.targets.pins import Pin

_DRIVER = re.compile(r"Nvidia driver version *+: *+(.*)")
_GPU = re.compile(r"(?:GPU models and configuration *+: *+)?GPU [0-9]{1,3}: (.*)")
_MARKS = ("GPU models and configuration", "Nvidia driver version")
_LISTED = re.compile(r"GPU [0-9]{1,3}: .{1,80} \(UUID: ")
_PACKAGE = re.compile(r"\[(?:pip3?|conda)\] ([\w.-]+)(?:==| +)([0-9][\w.+!-]*).*")
_PLATFORM = re.compile(r"(?:OS|Python platform) *: *(.*)")


def is_collected(lines: Sequence[str]) -> bool:
    """Return whether lines are of collect_env, or list GPUs with their UUIDs."""
    return any(line.startswith(_MARKS) or _LISTED.match(line) for line in lines)


def read_collected(lines: Sequence[str]) -> Iterator[Node]:
    """The machine, and the CUDA libraries among its packages."""
    drivers = [match[1].strip() for line in lines if (match := _DRIVER.fullmatch(line))]
    gpus = [match[1].partition(" (UUID")[0] for line in lines if (match := _GPU.fullmatch(line))]
    pins = [
        Pin(match[1].lower(), f"=={match[2]}") for match in map(_PACKAGE.fullmatch, lines) if match
    ]
    platform = " ".join(match[1] for line in lines if (match := _PLATFORM.fullmatch(line)))
    driver = next(filter(DRIVER.fullmatch, drivers[:1]), "")
    yield Node(
        {"driver": driver, "os": _system(platform)},
        tuple((gpu, "") for gpu in gpus) or (UNTOLD,),
        pins=tuple(pin for pin in pins if pin.part),
    )


def _system(platform: str) -> str:
    if "WSL2" in platform:
        return "wsl2"
    if "Windows" in platform:
        return "windows"
    return "linux-aarch64" if "aarch64" in platform else ""
