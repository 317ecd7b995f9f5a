"""Tables of facts as TOML files, each row with its source; read on first use, never at import."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import Any

from ltocompat.arch import Release


@functools.cache
def _table(name: str) -> dict[str, Any]:
    text = resources.files(__package__).joinpath(f"{name}.toml").read_text("utf-8")
    return tomllib.loads(text)


@functools.cache
def ltoir_containers() -> dict[str, tuple[Release, ...]]:
    """LTO-IR container version -> the CUDA releases that write it, oldest first."""
    found: dict[str, list[Release]] = {}
    for row in _table("ltoir")["release"]:
        found.setdefault(row["container"], []).append(Release.parse(row["cuda"]))
    return {container: tuple(sorted(releases)) for container, releases in found.items()}


@functools.cache
def ltoir_releases() -> dict[str, Release]:
    """NVVM IR version of an LTO-IR image -> the one CUDA release that writes it."""
    return {row["nvvm_ir"]: Release.parse(row["cuda"]) for row in _table("ltoir")["release"]}
