"""The kind of this machine: Windows' Linux, a Jetson, a container; and what was asked of it."""

from __future__ import annotations

import re

from ltocompat.model.target import System
from ltocompat.targets.linkers.machine import Machine
from ltocompat.targets.machine.environment import Jetson
from ltocompat.targets.machine.layout import processor_of

# Starts like: # R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic
_TEGRA = re.compile(r"# R([0-9]{1,9}) \(release\), REVISION: ([0-9]{1,9}(?:\.[0-9]{1,9})*)")
_BOARD = re.compile(r"jetson|tegra|nvidia.*(?:orin|thor)", re.IGNORECASE)
_DPKG = re.compile(
    r"^Package: nvidia-l4t-core\n(?:.+\n)*?Version: ([0-9]{1,9}(?:\.[0-9]{1,9})*)", re.MULTILINE
)
_VARIABLES = re.compile(
    r"NVIDIA_.*|CUDA_.*|CONDA_OVERRIDE_CUDA|CONDA_PREFIX|VIRTUAL_ENV|LD_LIBRARY_PATH|LD_PRELOAD"
)
_CGROUPS = (("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("lxc", "lxc"))


def is_wsl2(machine: Machine) -> bool:
    """Return whether this is Linux on Windows (with a GPU or without)."""
    kernel = machine.text("/proc/sys/kernel/osrelease") or ""
    return "microsoft" in kernel.lower() or machine.exists("/usr/lib/wsl/lib/libcuda.so.1")


def jetson(machine: Machine) -> Jetson | None:
    """The board, where this is Linux for Tegra."""
    match = _TEGRA.search(machine.text("/etc/nv_tegra_release") or "")
    release = f"{match[1]}.{match[2]}" if match else None
    if release is None and (match := _DPKG.search(machine.text("/var/lib/dpkg/status") or "")):
        release = match[1]
    # Device trees end their texts with a NUL.
    model = (machine.text("/proc/device-tree/model") or "").rstrip("\0\n") or None
    tegra = release or (model and _BOARD.search(model))
    return Jetson(release, model) if tegra else None


def container(machine: Machine) -> str | None:
    """Return the kind of this container, by the marks that its engine leaves.

    Returns:
        ``docker``, ``podman``, ``apptainer`` ...; ``image`` where only the variables of NVIDIA's
        images say so; None where nothing does.
    """
    environ = machine.environ
    if machine.exists("/.dockerenv"):
        return "docker"
    if machine.exists("/run/.containerenv"):
        return "podman"
    if "APPTAINER_NAME" in environ or "SINGULARITY_NAME" in environ:
        return "apptainer"
    if "KUBERNETES_SERVICE_HOST" in environ:
        return "kubernetes"
    groups = machine.text("/proc/1/cgroup") or ""
    by_group = next((name for mark, name in _CGROUPS if mark in groups), None)
    asks = any(name in environ for name in ("NVIDIA_REQUIRE_CUDA", "NVIDIA_VISIBLE_DEVICES"))
    return by_group or environ.get("container") or ("image" if asks else None)


def variables(machine: Machine) -> tuple[tuple[str, str], ...]:
    """The environment variables that CUDA, its containers and the loader listen to."""
    return tuple(sorted(item for item in machine.environ.items() if _VARIABLES.fullmatch(item[0])))


def system(machine: Machine, *, wsl2: bool) -> System:
    """Operating system and processor."""
    processor = {"AArch64": "aarch64"}.get(processor_of(machine), "x86_64")
    return System("wsl2" if wsl2 else "linux", processor)
