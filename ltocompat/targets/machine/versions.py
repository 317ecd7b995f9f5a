"""Numbers of drivers and libraries, read from texts."""

from __future__ import annotations

import re

from ltocompat.model.target import DriverVersion

_DRIVER = re.compile(r"(\d{3,4})\.(\d{1,4})(?:\.(\d{1,4}))?")


def driver_version(text: str) -> DriverVersion | None:
    """``580.95.05`` (or a text that is exactly such a number); None for anything else."""
    match = _DRIVER.fullmatch(text.strip())
    return DriverVersion(tuple(int(part) for part in match.groups() if part)) if match else None


def driver_version_in_name(file: str) -> DriverVersion | None:
    """Of ``libcuda.so.580.95.05``."""
    return driver_version(file.partition(".so.")[2])
