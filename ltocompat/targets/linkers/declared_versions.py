"""What packages say of the libraries that they brought: wheels, conda, the toolkit's installer."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from ltocompat.targets.linkers.machine import Machine

_VERSION = re.compile(r"\d{1,9}\.\d{1,9}\.\d{1,9}")
_METADATA_VERSION = re.compile(r"^Version: *(\d{1,9}\.\d{1,9}\.\d{1,9})", re.MULTILINE)
_DEEPEST = 6  # folders between a library and the root of what installed it


def claims(machine: Machine, path: str) -> Iterator[tuple[str, str]]:
    """The versions that packages around the library at ``path`` give it, with their evidence."""
    folder = os.path.dirname(path)
    for _ in range(_DEEPEST):
        inside = os.path.relpath(path, folder).replace(os.sep, "/")
        for version in _of_wheel(machine, folder, inside):
            yield version, "dist-info"
        for version in _of_conda(machine, folder, inside):
            yield version, "conda-meta"
        for version in _of_toolkit(machine, folder):
            yield version, "version.json"
        folder = os.path.dirname(folder)


def _of_wheel(machine: Machine, folder: str, inside: str) -> Iterator[str]:
    """From METADATA, where RECORD names the file."""
    for info in machine.files(folder, "nvidia_nvjitlink*.dist-info"):
        record = machine.text(os.path.join(info, "RECORD")) or ""
        if any(line.startswith(f"{inside},") for line in record.splitlines()):
            version = _METADATA_VERSION.search(machine.text(os.path.join(info, "METADATA")) or "")
            if version:
                yield version[1]


def _of_conda(machine: Machine, folder: str, inside: str) -> Iterator[str]:
    for path in machine.files(os.path.join(folder, "conda-meta"), "libnvjitlink*.json"):
        value = _parsed(machine, path)
        if inside in value.get("files", ()) and _is_version(value.get("version")):
            yield value["version"]


def _of_toolkit(machine: Machine, folder: str) -> Iterator[str]:
    value = _parsed(machine, os.path.join(folder, "version.json")).get("libnvjitlink")
    if isinstance(value, dict) and _is_version(value.get("version")):
        yield value["version"]


def _parsed(machine: Machine, path: str) -> dict[str, Any]:
    try:
        value = json.loads(machine.text(path) or "")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _is_version(value: object) -> bool:
    return isinstance(value, str) and _VERSION.fullmatch(value) is not None
