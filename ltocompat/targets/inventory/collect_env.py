"""``python -m torch.utils.collect_env``, vLLM's likewise, and ``nvidia-smi -L`` -> a machine.

Fields: torch/utils/collect_env.py, ``env_info_fmt``; vLLM pads them before the colon. Also what
tells little more than a driver: /proc/driver/nvidia/version, ``nvidia-smi --version`` and
``--query-gpu`` without a head, ``modinfo nvidia``, and packages as dpkg, apt, rpm and pacman list
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ltocompat.facts import own_table
from ltocompat.targets.inventory.node import DRIVER, UNTOLD, Node
from ltocompat.targets.pins import Pin

_DRIVER = re.compile(r"Nvidia driver version *+: *+(.*)")
# In /proc/driver/nvidia/gpus a GPU is a model; that of a processor is a number.
_GPU = re.compile(
    r"(?:(?:GPU models and configuration *: *)?GPU [0-9]{1,3}: |Model: +(?=[A-Z]))(.*)"
)
_MARKS = ("GPU models and configuration", "Nvidia driver version")
_LISTED = re.compile(r"GPU [0-9]{1,3}: .{1,80} \(UUID: ")
_PACKAGE = re.compile(r"\[(?:pip3?|conda)\] ([\w.-]+)(?:==| +)([0-9][\w.+!-]*).*")
_PLATFORM = re.compile(r"(?:OS|Python platform) *: *(.*)")


def is_collected(lines: Sequence[str]) -> bool:
    """Return whether lines are output of collect_env, or list GPUs with their UUIDs."""
    return any(line.startswith(_MARKS) or _LISTED.match(line) for line in map(str.strip, lines))


def naming_driver(lines: Sequence[str]) -> list[re.Match[str]]:
    """Return the drivers that a kernel module or a package manager names; none: no match."""
    text = "\n".join(filter(None, map(str.strip, lines)))
    patterns = (row["pattern"] for row in own_table("driver_lines")["line"])
    found = (list(re.finditer(rf"^(?:{each})$", text, re.MULTILINE)) for each in patterns)
    return next(filter(None, found), [])


def read_collected(lines: Sequence[str]) -> Iterator[Node]:
    """Yield the machine, with the CUDA libraries among its packages."""
    lines = [line.strip() for line in lines if line.strip()]
    named = [match[1].strip() for line in lines if (match := _DRIVER.fullmatch(line))][:1]
    naming = naming_driver(lines) if not any(map(DRIVER.fullmatch, named)) else []
    told = [match.groupdict() for match in naming]
    drivers = [*dict.fromkeys(each["driver"] for each in told)] or named
    gpus = [match[1].partition(" (UUID")[0] for line in lines if (match := _GPU.fullmatch(line))]
    gpus += [each["gpu"] for each in told if each.get("gpu")]
    pins = [
        Pin(match[1].lower(), f"=={match[2]}") for match in map(_PACKAGE.fullmatch, lines) if match
    ]
    platform = " ".join(match[1] for line in lines if (match := _PLATFORM.fullmatch(line)))
    system = _system(" ".join((platform, *(match[0] for match in naming))))
    of_windows = any((each.get("smi") or each["driver"]) != each["driver"] for each in told)
    driver = next(filter(DRIVER.fullmatch, drivers), "")
    yield Node(
        {"driver": driver, "os": "wsl2" if of_windows else system},
        tuple((gpu, "") for gpu in gpus) or (UNTOLD,),
        pins=tuple(pin for pin in pins if pin.part),
        problem=f"it names drivers {' and '.join(drivers)}" if len(drivers) > 1 else "",
    )


def _system(platform: str) -> str:
    if "WSL2" in platform:
        return "wsl2"
    if "Windows" in platform:
        return "windows"
    return "linux-aarch64" if "aarch64" in platform or "arm64" in platform else ""
