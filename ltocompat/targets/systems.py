"""Operating systems of targets, and what Python calls them in the markers of lock files."""

from __future__ import annotations

import platform
import re

from ltocompat.model.errors import UsageError
from ltocompat.model.target import System

_MACHINES = ("x86_64", "aarch64")
_NAMES = ("linux", "windows", "wsl2")
_PYTHON = re.compile(r"3\.[0-9]{1,3}(?:\.[0-9]{1,3})?")


def read_system(text: str) -> System:
    """The system that is written ``linux``, ``windows``, ``wsl2``, ``linux-aarch64`` ...

    Raises:
        UsageError: it is none of these.
    """
    name, _, machine = text.strip().lower().partition("-")
    system = System(name, machine or _MACHINES[0])
    if system.name not in _NAMES or system.machine not in _MACHINES:
        raise UsageError(
            f"{text!r} is not an operating system that CUDA runs on; write linux, linux-x86_64, "
            "linux-aarch64, windows or wsl2"
        )
    return system


def marker_environment(system: System, python: str | None) -> dict[str, str]:
    """What markers such as ``sys_platform == 'linux'`` see on a target.

    Args:
        system: its operating system; WSL2 is a Linux to Python.
        python: its CPython, ``3.11`` or ``3.11.4``; None for the version that runs here.

    Raises:
        UsageError: ``python`` is no version of Python 3.
    """
    version = platform.python_version() if python is None else python.strip()
    if python is not None and _PYTHON.fullmatch(version) is None:
        raise UsageError(f"{python!r} is not a version of Python; write it like python=3.11")
    windows = system.name == "windows"
    machines = {"x86_64": "AMD64", "aarch64": "ARM64"} if windows else {}
    full = version if version.count(".") >= 2 else f"{version}.0"
    return {
        "implementation_name": "cpython",
        "implementation_version": full,
        "os_name": "nt" if windows else "posix",
        "platform_machine": machines.get(system.machine, system.machine),
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": "Windows" if windows else "Linux",
        "platform_version": "",
        "python_full_version": full,
        "python_version": ".".join(version.split(".")[:2]),
        "sys_platform": "win32" if windows else "linux",
        "extra": "",
    }
