"""A ``Target`` -> the TOML table that reads back to the same facts."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from contextlib import suppress

from ltocompat.model.errors import UsageError
from ltocompat.model.generic import T
from ltocompat.model.target import DriverVersion, Target, VersionSet
from ltocompat.targets.gpu_groups import known_gpu
from ltocompat.targets.versions.drivers import read_driver
from ltocompat.targets.versions.releases import read_releases

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def as_toml(target: Target) -> str:
    """Return ``target`` as a table ``[targets.NAME]``, without the sources."""
    bare = _BARE.fullmatch(target.name)
    lines = [f"[targets.{target.name if bare else toml_value(target.name)}]"]
    lines.append(f"os = {toml_value(str(target.system))}")
    if target.driver is not None:
        plain = lambda driver: str(DriverVersion(driver.numbers))  # noqa: E731
        text = _spelled(target.driver, plain, functools.partial(read_driver, source=""))
        lines.append(f"driver = {toml_value(text)}")
    for part in ("compat", "nvjitlink", "nvrtc", "nvlink"):
        known = getattr(target, part)
        if known is not None:
            text = _spelled(known, str, functools.partial(read_releases, part, source=""))
            lines.append(f"{part} = {toml_value(text)}")
    if not target.lto:
        lines.append('lto = "off"')
    if target.gpus:
        gpus = [gpu.name if known_gpu(gpu.name) == gpu else str(gpu.arch) for gpu in target.gpus]
        lines.append(f"gpu = {toml_value(gpus)}")
    return "\n".join(lines) + "\n"


def _spelled(
    known: VersionSet[T], written: Callable[[T], str], read: Callable[[str], VersionSet[T]]
) -> str:
    """The text as it was given where that means the same here, else every value by itself."""
    # Not all texts can be read: "nvidia-nvjitlink-cu12 12.4.127 or nvidia-nvjitlink 13.0.88".
    with suppress(UsageError):
        again = read(known.text)
        if (again.values, again.every) == (known.values, known.every):
            return known.text
    return ("+" if known.every else "|").join(written(value) for value in known.values)


def toml_value(value: str | list[str]) -> str:
    """Return a text or a list of texts as TOML; invalid UTF-8 becomes a question mark."""
    text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return text.encode("utf-8", "replace").decode("utf-8")
