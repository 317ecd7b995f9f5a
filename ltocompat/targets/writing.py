"""A ``Target`` -> the TOML table that reads back to the same facts."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from typing import TypeVar

from ltocompat.facts.gpus import find_gpu
from ltocompat.model.errors import UsageError
from ltocompat.model.target import DriverVersion, Gpu, Target, VersionSet
from ltocompat.targets.versions.drivers import read_driver
from ltocompat.targets.versions.releases import read_releases

T = TypeVar("T")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def as_toml(target: Target) -> str:
    """``target`` as a table ``[targets.NAME]``; who said so is not in it."""
    bare = _BARE.fullmatch(target.name)
    lines = [f"[targets.{target.name if bare else _quoted(target.name)}]"]
    lines.append(f"os = {_quoted(str(target.system))}")
    if target.driver is not None:
        text = _spelled(target.driver, _driver_text, functools.partial(read_driver, source=""))
        lines.append(f"driver = {_quoted(text)}")
    for part in ("compat", "nvjitlink", "nvrtc", "nvlink"):
        known = getattr(target, part)
        if known is not None:
            text = _spelled(known, str, functools.partial(read_releases, part, source=""))
            lines.append(f"{part} = {_quoted(text)}")
    if not target.lto:
        lines.append('lto = "off"')
    if target.gpus:
        lines.append(f"gpu = [{', '.join(_quoted(_gpu_text(gpu)) for gpu in target.gpus)}]")
    return "\n".join(lines) + "\n"


def _spelled(
    known: VersionSet[T], written: Callable[[T], str], read: Callable[[str], VersionSet[T]]
) -> str:
    """The text as it was given where that means the same here, else every value by itself."""
    try:
        again = read(known.text)
        if (again.values, again.every) == (known.values, known.every):
            return known.text
    except UsageError:
        pass  # such as "nvidia-nvjitlink-cu12 12.4.127 or nvidia-nvjitlink 13.0.88"
    return ("+" if known.every else "|").join(written(value) for value in known.values)


def _driver_text(driver: DriverVersion) -> str:
    return str(DriverVersion(driver.numbers))


def _gpu_text(gpu: Gpu) -> str:
    try:
        return gpu.name if find_gpu(gpu.name) == gpu else str(gpu.arch)
    except UsageError:
        return str(gpu.arch)


def _quoted(text: str) -> str:
    """A TOML basic string; what no UTF-8 file can hold becomes a question mark."""
    kept = text.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(kept, ensure_ascii=False).replace("\x7f", "\\u007f")
