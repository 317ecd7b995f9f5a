"""One look at a machine: every fact by itself, so that what fails takes nothing else along."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec.structs import replace

from ltocompat.model.environment import Environment, Jetson
from ltocompat.model.generic import T
from ltocompat.model.limits import DEFAULT_LIMITS, Budget, Limits
from ltocompat.model.target import System
from ltocompat.targets.linkers.machine import Machine
from ltocompat.targets.linkers.searching import find
from ltocompat.targets.machine.compilers import compilers
from ltocompat.targets.machine.driver import LibcudaReader, kernel_driver
from ltocompat.targets.machine.driver_probe import Answers, ask, gpus
from ltocompat.targets.machine.layout import processor_of
from ltocompat.targets.machine.library_search import picks
from ltocompat.targets.machine.loader import Loader
from ltocompat.targets.machine.toolkits import conda, toolkits, wheels

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


def probe(machine: Machine, limits: Limits = DEFAULT_LIMITS) -> Environment:
    """Examine a machine without raising errors; unknown facts become problems of the environment.

    Nothing is loaded into this process, and only ``machine`` is examined.

    Args:
        machine: the machine.
        limits: bounds for examining it.
    """
    machine = replace(machine, budget=Budget(limits))
    problems: list[str] = []

    def tried(what: str, read: Callable[[], T], default: T) -> T:
        try:
            return read()
        except MemoryError:
            raise  # it tells nothing of the machine, and a target would lack what is there
        except Exception as error:  # noqa: BLE001 - the files of a machine can be anything
            detail = next(iter(str(error).splitlines()), "") or type(error).__name__
            problems.append(f"{what} can't be determined: {detail}")
            return default

    def all_of(what: str, read: Callable[[], tuple[T, ...]]) -> tuple[T, ...]:
        return tried(what, read, ())

    answers = tried("what the driver says", lambda: ask(machine), Answers())
    wsl2 = tried("whether this is WSL2", lambda: is_wsl2(machine), default=False)
    board = tried("whether this is a Jetson", lambda: jetson(machine), None)
    kernel = tried("the kernel driver", lambda: kernel_driver(machine, answers), None)
    loader = tried("the loader's rules", lambda: Loader(machine, machine.python or None), None)
    libcuda, user = LibcudaReader(machine, kernel, problems), None
    if loader is not None:
        process = loader
        user = tried("the libcuda that is loaded", lambda: libcuda.in_use(process, answers), None)
        problems += loader.problems
    linkers = all_of("copies of nvJitLink", lambda: find(machine))
    packages = all_of("packages of Python", lambda: wheels(machine))
    found = all_of("toolkits", lambda: toolkits(machine))
    others = all_of("copies of NVRTC and libNVVM", lambda: compilers(machine, found))
    versions: dict[str, str | None] = {linker.path: linker.version for linker in linkers}
    versions |= {other.path: other.version for other in others}
    return Environment(
        system=tried("the system", lambda: system(machine, wsl2=wsl2), System()),
        kernel_driver=kernel,
        user_driver=user,
        compat_folders=all_of("cuda-compat", lambda: libcuda.compat_folders(user)),
        gpus=tried("the GPUs", lambda: gpus(machine, answers, board), answers.gpus),
        nvjitlinks=linkers,
        compilers=others,
        picks=all_of("what loading gets", lambda: tuple(picks(machine, versions))),
        toolkits=found,
        wheels=packages,
        conda=tried("conda", lambda: conda(machine), None),
        wsl2=wsl2,
        jetson=board,
        container=tried("whether this is a container", lambda: container(machine), None),
        variables=variables(machine),
        python=machine.python or None,
        problems=tuple(dict.fromkeys(problems)),
    )


def is_wsl2(machine: Machine) -> bool:
    """Return whether this is Linux on Windows (with a GPU or without)."""
    kernel = machine.text("/proc/sys/kernel/osrelease") or ""
    return "microsoft" in kernel.lower() or machine.exists("/usr/lib/wsl/lib/libcuda.so.1")


def jetson(machine: Machine) -> Jetson | None:
    """Return the board, if this is Linux for Tegra."""
    match = _TEGRA.search(machine.text("/etc/nv_tegra_release") or "")
    release = f"{match[1]}.{match[2]}" if match else None
    if release is None and (match := _DPKG.search(machine.text("/var/lib/dpkg/status") or "")):
        release = match[1]
    # Device trees end their texts with a NUL.
    model = (machine.text("/proc/device-tree/model") or "").rstrip("\0\n") or None
    return Jetson(release, model) if release or (model and _BOARD.search(model)) else None


def container(machine: Machine) -> str | None:
    """Return the kind of this container, by the marks of its engine.

    Returns:
        ``docker``, ``podman``, ``apptainer`` ...; ``image`` if only the variables of NVIDIA's
        images show it; None outside of containers.
    """
    environ = machine.environ
    groups = machine.text("/proc/1/cgroup") or ""
    marks = (
        ("docker", machine.exists("/.dockerenv")),
        ("podman", machine.exists("/run/.containerenv")),
        ("apptainer", "APPTAINER_NAME" in environ or "SINGULARITY_NAME" in environ),
        ("kubernetes", "KUBERNETES_SERVICE_HOST" in environ),
        *((name, mark in groups) for mark, name in _CGROUPS),
    )
    marked = next((name for name, there in marks if there), None)
    asks = any(name in environ for name in ("NVIDIA_REQUIRE_CUDA", "NVIDIA_VISIBLE_DEVICES"))
    return marked or environ.get("container") or ("image" if asks else None)


def variables(machine: Machine) -> tuple[tuple[str, str], ...]:
    """Return the environment variables that CUDA, its containers and the loader read."""
    return tuple(sorted(item for item in machine.environ.items() if _VARIABLES.fullmatch(item[0])))


def system(machine: Machine, *, wsl2: bool) -> System:
    """Operating system and processor."""
    processor = {"AArch64": "aarch64"}.get(processor_of(machine), "x86_64")
    return System("wsl2" if wsl2 else "linux", processor)
