"""Container images: what the environment variables of an image say of drivers.

Source: NVIDIA/nvidia-container-toolkit, ``internal/config/image/cuda_image.go``: all variables
``NVIDIA_REQUIRE_*`` have to hold, unless NVIDIA_DISABLE_REQUIRE is true; an image with CUDA_VERSION
and without NVIDIA_REQUIRE_CUDA asks for that release.
"""

from __future__ import annotations

import os
import re
from typing import Any

from ltocompat.facts import drivers
from ltocompat.files.archives.compressed import plain_image
from ltocompat.files.archives.container_image import archive_of, images_in
from ltocompat.files.byteview import ByteView
from ltocompat.model.errors import LimitExceeded
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location
from ltocompat.model.words import items_of
from ltocompat.packages.values import SHOWN, Declared, Kind, Package
from ltocompat.targets.versions.container import DISABLE, TRUE, least_admitted

_PREFIX, _CUDA, _JETPACK = "NVIDIA_REQUIRE_", "NVIDIA_REQUIRE_CUDA", "NVIDIA_REQUIRE_JETPACK"
_VERSION = "CUDA_VERSION"
_RELEASE = re.compile(r"[0-9]{1,2}\.[0-9]{1,2}", re.ASCII)


def read(view: ByteView, path: str, budget: Budget) -> Package | None:
    """Return the image in an archive; None if the archive is not an image, or has several."""
    try:
        images = images_in(plain_image(view, budget), Location(path), budget)
    except LimitExceeded:
        return None  # said where its device code is read
    if len(images) != 1:
        return None
    problems: list[str] = []
    env = variables(images[0].config)
    asked = _conditions(env)
    platform = "_".join(str(images[0].config.get(key, "")) for key in ("os", "architecture"))
    archive = archive_of(path)
    return Package(
        kind=Kind.IMAGE,
        path=path,
        name=os.path.basename(os.path.abspath(archive)) + path.removeprefix(archive),
        platforms=(platform,),
        declared=_declared(env, asked, problems),
        problems=tuple(problems),
        starts_on=tuple(asked.items()),
        sees_gpus=env.get("NVIDIA_VISIBLE_DEVICES", "void") not in ("", "void", "none"),
        searched=tuple(filter(None, env.get("LD_LIBRARY_PATH", "").split(":"))),
    )


def variables(config: dict[str, Any]) -> dict[str, str]:
    """Return the environment variables that the config of an image sets."""
    inner = config.get("config")
    lines = items_of(inner.get("Env") if isinstance(inner, dict) else None, str)
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def _conditions(env: dict[str, str]) -> dict[str, str]:
    """The variables that say which drivers it starts on, and how."""
    if env.get(DISABLE) in TRUE:
        return {}
    asked = {
        name: value
        for name, value in env.items()
        if name.startswith(_PREFIX) and not name.startswith(_JETPACK) and value
    }
    version = _RELEASE.match(env.get(_VERSION, ""))
    if version and not env.get(_CUDA):
        asked[_VERSION] = f"cuda>={version[0]}"
    return asked


def _declared(
    env: dict[str, str], asked: dict[str, str], problems: list[str]
) -> tuple[Declared, ...]:
    """The oldest drivers that the image starts on, as one line says it."""
    if not asked:
        return ()
    shown = ", ".join(f"{name}={env[name]}" for name in asked)
    shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}..."
    try:
        least = least_admitted(tuple(asked.values()))
    except ValueError as error:
        problems.append(f"{shown} has a condition that can't be read, {str(error)[:40]!r}")
        return ()
    if least is None:
        problems.append(f"{shown} admits no known driver")
        return ()
    branch = max(least.branch, drivers.driver_branches()[0])  # of older ones nothing is promised
    return (Declared(shown, binding=True, cuda=drivers.branch_cuda(branch)),)
