"""A machine out of bytes: a tree of small files, of which any may be a link, broken or not there.

The bytes hold the contents of all files, one after the other: two bytes of a size, then so many.
"""

from __future__ import annotations

import json
import os
import random
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from machines import AARCH64, banner, host_at, ld_so_cache, library, shared
from msgspec.structs import replace
from samples import FOLDER

from fuzz.files import folder
from fuzz.members import Entries, Entry
from fuzz.structure import Form, Part, rearranging
from ltocompat.commands.env import problems_of
from ltocompat.model.errors import LtocompatError
from ltocompat.model.limits import Budget, Limits
from ltocompat.model.linker import Tool
from ltocompat.targets.linkers import Machine
from ltocompat.targets.linkers.searching import find
from ltocompat.targets.machine.compilers import compilers
from ltocompat.targets.machine.driver import LibcudaReader, kernel_driver
from ltocompat.targets.machine.driver_probe import Answers, gpus
from ltocompat.targets.machine.library_on_machine import look_at
from ltocompat.targets.machine.library_search import picks
from ltocompat.targets.machine.loader import Loader
from ltocompat.targets.machine.probe import container, is_wsl2, jetson, probe, system
from ltocompat.targets.machine.toolkits import conda, toolkits, wheels

LINK = b"\0-> "
"""How the content of a file begins that is a link."""
_ABSENT = b"\0no"
"""The content of a file that is not there."""
_ENVIRON = "/environ"
"""Not of the machine: a line for each variable that its environment has beside the usual ones."""
_APP = "/opt/app/libapp.so"
_SITE = "/usr/lib/python3/dist-packages"


def _loader_cache() -> bytes:
    """A ld.so.cache of two libraries, one of them in a folder for certain processors."""
    texts = b"libcuda.so.1\0/usr/lib/libcuda.so.1\0"
    linker = b"libnvJitLink.so.12\0/usr/lib/libnvJitLink.so.12\0"
    start = 48 + 2 * 24
    rows = struct.pack("<iIIIQ", 0x303, start, start + 13, 0, 0)
    rows += struct.pack("<iIIIQ", 0x303, start + 35, start + 54, 0, 1 << 62)
    more = start + len(texts) + len(linker)
    extension = struct.pack("<II", 0xEAA42174, 1) + struct.pack("<IIII", 1, 0, more + 24, 4)
    names = struct.pack("<I", start)
    head = struct.pack("<20sIIB3xI12x", b"glibc-ld.so.cache1.1", 2, more - start, 2, more)
    return head + rows + texts + linker + extension + names


# A case that was kept has them in this order: new ones come at the end.
_FILES = {
    "/proc/driver/nvidia/version": (
        b"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n"
        b"GCC version: gcc 11\n"
    ),
    "/etc/os-release": b'ID=ubuntu\nVERSION_ID="22.04"\n',
    "/usr/local/cuda/version.json": b'{"cuda": {"version": "13.0.1"}}',
    "/etc/ld.so.conf": b"include /etc/ld.so.conf.d/*.conf\n/usr/local/cuda/lib64\n",
    "/etc/nv_tegra_release": b"# R36 (release), REVISION: 4.3, GCID: 1\n",
    "/var/lib/dpkg/status": (
        b"Package: cuda-compat-13-0\nStatus: install ok installed\nVersion: 580.95.05-1\n\n"
    ),
    "/proc/driver/nvidia/gpus/0000:01:00.0/information": (
        b"Model: \t\t NVIDIA H100\nDevice Minor: \t 0\n"
    ),
    "/etc/ld.so.cache": _loader_cache(),
    "/usr/lib/libcuda.so.580.95.05": b"",
    "/usr/lib/libcuda.so.1": LINK + b"libcuda.so.580.95.05",
    "/usr/lib/libnvJitLink.so.12": b"",
    "/proc/1/cgroup": b"0::/docker/x\n",
    "/opt/conda/conda-meta/libnvjitlink-12.4.json": (
        b'{"name": "libnvjitlink", "version": "12.4.127", "files": ["lib/libnvJitLink.so.12"]}'
    ),
    "/opt/conda/lib/libnvJitLink.so.12": b"",
    "/usr/local/cuda/version.txt": b"CUDA Version 12.4.1\n",
    "/usr/local/cuda/include/cuda.h": b"#define CUDA_VERSION 12040\n",
    "/usr/local/cuda/compat/libcuda.so.1": b"",
    "/usr/local/cuda/lib64/libnvrtc.so.12.4.127": b"",
    "/usr/bin/nvcc": b"#!/bin/sh\nexec /usr/local/cuda/bin/nvcc\n",
    "/usr/bin/python3": b"",
    f"{_SITE}/nvidia_cuda_nvrtc_cu12-12.4.dist-info/METADATA": (
        b"Name: nvidia-cuda-nvrtc-cu12\nVersion: 12.4.127\n\n"
    ),
    _ENVIRON: b"",
    "/proc/sys/kernel/osrelease": _ABSENT,
    "/proc/cpuinfo": _ABSENT,
    "/sys/module/nvidia/version": _ABSENT,
    "/proc/device-tree/model": _ABSENT,
    "/usr/lib/x86_64-linux-gnu/libc.so.6": _ABSENT,
    "/etc/ld.so.conf.d/cuda.conf": _ABSENT,
    "/.dockerenv": _ABSENT,
    "/run/.containerenv": _ABSENT,
    "/usr/lib/libnvidia-ptxjitcompiler.so.580.95.05": _ABSENT,
    "/usr/lib/wsl/lib/libcuda.so.1": _ABSENT,
    "/usr/local/cuda/lib64/libcudart.so.13": _ABSENT,
    "/usr/local/cuda/lib64/libnvJitLink.so.13": _ABSENT,
    "/usr/local/cuda/lib64/stubs/libnvJitLink.so": _ABSENT,
    "/usr/local/cuda/bin/nvlink": _ABSENT,
    f"{_SITE}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12": _ABSENT,
    f"{_SITE}/nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.4": _ABSENT,
    f"{_SITE}/nvidia_cuda_nvrtc_cu12-12.4.dist-info/RECORD": _ABSENT,
    f"{_SITE}/nvidia/nvjitlink/lib/libnvJitLink.so.12": _ABSENT,
    f"{_SITE}/nvidia_nvjitlink_cu12-12.4.dist-info/METADATA": _ABSENT,
    f"{_SITE}/nvidia_nvjitlink_cu12-12.4.dist-info/RECORD": _ABSENT,
    f"{_SITE}/requests-2.0.dist-info/METADATA": _ABSENT,
    _APP: _ABSENT,
}
WORDS = (LINK, _ABSENT, *(LINK + os.path.basename(name).encode() for name in _FILES))
"""What contents are made of."""
_USUAL = {
    "PATH": "/usr/bin:/usr/local/cuda/bin",
    "LD_LIBRARY_PATH": "/usr/local/cuda/lib64::lib:/opt/$LIB",
    "CONDA_PREFIX": "/opt/conda",
    "CUDA_HOME": "/usr/local/cuda",
    "LD_PRELOAD": "libcuda.so.1",
}
_written: dict[str, bytes] = {}


def machine_in(data: bytes) -> str:
    """The root of the machine that these bytes are."""
    root = os.path.join(folder(), "root")
    for name, (start, end) in zip(_FILES, _contents(data), strict=True):
        content = data[start:end]
        _put(root + name, content if content or start <= len(data) else _ABSENT)
    return root


def _put(path: str, content: bytes) -> None:
    """Write a file, or a link, where it is not what it was for the last input."""
    if _written.get(path) == content:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with suppress(FileNotFoundError):
        os.unlink(path)
    target = content[len(LINK) :][:200]
    if content.startswith(LINK) and target and b"\0" not in target:
        os.symlink(target, os.fsencode(path))
    elif content != _ABSENT:
        Path(path).write_bytes(content)
    _written[path] = content


def _contents(data: bytes) -> Iterator[tuple[int, int]]:
    """Where the content of each file begins and ends."""
    position = 0
    for _ in _FILES:
        start = position + 2
        position = start + int.from_bytes(data[position:start], "little")
        yield start, position


def _parts(data: bytes, _: random.Random) -> Iterator[Part]:
    for start, end in _contents(data):
        yield Part(data[start:end], _put_file(data[: start - 2], data[end:]))


def _put_file(before: bytes, after: bytes) -> Callable[[bytes], bytes]:
    return lambda new: before + _sized(new) + after


def _sized(content: bytes) -> bytes:
    return min(len(content), 0xFFFF).to_bytes(2, "little") + content[:0xFFFF]


def _entries(data: bytes) -> Entries:
    found = []
    for name, (start, end) in zip(_FILES, _contents(data), strict=True):
        content = data[start:end]
        link = content.startswith(LINK)
        found.append(Entry(name.encode(), content.removeprefix(LINK), link=link))
    return found


def _machine_of(entries: Entries, _: random.Random) -> bytes:
    """Of its files alone: it has no others, and each of them once."""
    named = {entry.name: entry for entry in reversed(entries)}
    found = []
    for name in _FILES:
        entry = named.get(name.encode(), Entry(b"", _ABSENT))
        found.append(_sized(LINK + entry.data if entry.link else entry.data))
    return b"".join(found)


MACHINE = Form(lambda _: True, parts=_parts, rearrange=rearranging(_entries, _machine_of))
"""The form of what ``machine_in`` takes."""


def reader(limits: Limits) -> Callable[[bytes], object]:
    """Looks at a machine as ``env --root`` does, at a library of it, and at its variables."""

    def read(data: bytes) -> object:
        machine = Machine(machine_in(data), _environ(), python="/usr/bin/python3")
        found = probe(machine, limits)
        machine = replace(machine, budget=Budget(limits))
        if any("can't be determined" in problem for problem in found.problems):
            _in_parts(machine)
        with suppress(LtocompatError):
            find(machine, Tool.NVLINK)
        with suppress(LtocompatError):
            look_at(machine, found, _APP, host_at(machine, _APP))
        return problems_of(found)

    return read


def _environ() -> dict[str, str]:
    lines = _written[os.path.join(folder(), "root") + _ENVIRON].decode("utf-8", "surrogateescape")
    pairs = (line.replace("\0", "").partition("=") for line in lines.splitlines()[:50])
    return _USUAL | {name: value for name, _, value in pairs if name}


def _in_parts(machine: Machine) -> None:
    """The parts of a probe, which tells an error of any kind as a problem of the machine."""
    kernel = kernel_driver(machine, Answers())
    libcuda = LibcudaReader(machine, kernel, [])
    libcuda.in_use(Loader(machine, machine.python), Answers())
    libcuda.compat_folders(None)
    wheels(machine)
    list(picks(machine, {linker.path: linker.version for linker in find(machine)}))
    compilers(machine, toolkits(machine))
    conda(machine)
    system(machine, wsl2=is_wsl2(machine))
    container(machine)
    gpus(machine, Answers(), jetson(machine))


_RPATH, _RUNPATH = 15, 29


def machines() -> Iterator[bytes]:
    """Sound machines: with plain files in place of libraries, with libraries, with other ones."""
    files = dict(_FILES)
    yield _of(files)
    sample = (FOLDER / "objects" / "libsaxpy.so").read_bytes()
    banner = b"\0Cuda compilation tools, release 12.4, V12.4.127\0NVIDIA UNIX x86_64 580.95.05\0"
    for name in ("/usr/lib/libcuda.so.580.95.05", "/usr/lib/libnvJitLink.so.12"):
        files[name] = sample[:-600] + banner
    yield _of(files)
    yield _of(files | _LIBRARIES)
    yield _of(_FILES | _LIBRARIES | _OTHERS)
    for odd in _ODD:
        yield _of(_FILES | _LIBRARIES | odd)


def _of(files: dict[str, bytes]) -> bytes:
    return b"".join(map(_sized, files.values()))


_NOTE = {"Format": 1, "CUDA Version": "13.0", "Driver": [535, 550], "Device": [7, 8]}
_LIBRARIES = {
    "/usr/lib/libcuda.so.580.95.05": shared("libcuda.so.1", note=_NOTE),
    "/usr/local/cuda/compat/libcuda.so.1": shared("libcuda.so.1", note=_NOTE, padding=8),
    "/usr/lib/libnvJitLink.so.12": library("12.4.127", minors=["12.4"]),
    "/opt/conda/lib/libnvJitLink.so.12": library(minors=["12.4"]),
    "/usr/local/cuda/version.json": json.dumps(
        {"cuda": {"version": "13.0.1"}, "libnvjitlink": {"version": "13.0.88"}}
    ).encode(),
    "/usr/local/cuda/lib64/libnvJitLink.so.13": library(
        minors=["13.0"], soname="libnvJitLink.so.13"
    ),
    "/usr/local/cuda/lib64/stubs/libnvJitLink.so": library(minors=["13.0"]),
    f"{_SITE}/nvidia/nvjitlink/lib/libnvJitLink.so.12": library(minors=["12.4"]),
    f"{_SITE}/nvidia_nvjitlink_cu12-12.4.dist-info/METADATA": (
        b"Name: nvidia-nvjitlink-cu12\nVersion: 12.4.99\n\n"
    ),
    f"{_SITE}/nvidia_nvjitlink_cu12-12.4.dist-info/RECORD": (
        b"nvidia/nvjitlink/lib/libnvJitLink.so.12,,\n"
    ),
    f"{_SITE}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12": shared("libnvrtc.so.12"),
    f"{_SITE}/nvidia_cuda_nvrtc_cu12-12.4.dist-info/RECORD": (
        b"nvidia/cuda_nvrtc/lib/libnvrtc.so.12,,\n"
    ),
    f"{_SITE}/requests-2.0.dist-info/METADATA": b"Name: requests\n\n",
    "/usr/local/cuda/lib64/libnvrtc.so.12.4.127": library("12.4.127", soname="libnvrtc.so.12"),
    "/usr/local/cuda/lib64/libcudart.so.13": shared("libcudart.so.13"),
    "/usr/local/cuda/bin/nvlink": shared("", b"Cuda linker\0", banner("13.0.88")),
    "/usr/bin/python3": shared("", needed=["libcuda.so.1", "libnvrtc.so.12"]),
    _APP: shared(
        "libapp.so",
        b"\0libnvJitLink.so.12\0",
        needed=["libnvJitLink.so.12", "$ORIGIN/../../usr/lib/libcuda.so.1", "libcudart.so.13"],
        paths={_RUNPATH: "$ORIGIN/lib:/usr/local/cuda/lib64"},
    ),
}
_FLAGS_OF_CPU = (
    b"flags : cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3 abm avx avx2 bmi1 bmi2 f16c fma movbe\n"
)
# Another kind of machine: Debian's folders, no cache of the loader, no driver in /proc.
_OTHERS = {
    "/etc/ld.so.cache": _ABSENT,
    "/etc/ld.so.conf.d/cuda.conf": b"/opt/app\ninclude *.conf\nhwcap 1 x\n",
    "/proc/driver/nvidia/version": _ABSENT,
    "/sys/module/nvidia/version": b"580.95.05\n",
    "/proc/cpuinfo": b"vendor_id : GenuineIntel\n" + _FLAGS_OF_CPU,
    "/usr/lib/x86_64-linux-gnu/libc.so.6": shared("libc.so.6"),
    "/etc/nv_tegra_release": _ABSENT,
    "/var/lib/dpkg/status": b"Package: nvidia-l4t-core\nStatus: x\nVersion: 36.4.3-2025\n\n",
    "/proc/device-tree/model": b"NVIDIA Jetson AGX Orin\0",
    "/usr/lib/libcuda.so.580.95.05": shared("libcuda.so.1"),
    "/usr/lib/libnvidia-ptxjitcompiler.so.580.95.05": shared("libnvidia-ptxjitcompiler.so.1"),
    "/usr/local/cuda/version.json": _ABSENT,
    "/proc/1/cgroup": _ABSENT,
    "/usr/bin/python3": shared(
        "", needed=["libnvJitLink.so.13", "/usr/lib/libcuda.so.1"], paths={_RPATH: "/opt/app:$LIB"}
    ),
    _ENVIRON: b"LD_PRELOAD=/opt/app/libapp.so\nCUDA_PATH=/usr/local/cuda\nLD_LIBRARY_PATH=\n"
    b"NVIDIA_VISIBLE_DEVICES=all\nCONDA_PREFIX=\n",
}
_ODD: tuple[dict[str, bytes], ...] = (
    {
        "/proc/sys/kernel/osrelease": b"5.15-microsoft-standard-WSL2\n",
        "/usr/lib/wsl/lib/libcuda.so.1": shared("libcuda.so.1"),
        "/usr/lib/libcuda.so.1": LINK + b"/usr/lib/wsl/lib/libcuda.so.1",
        "/.dockerenv": b"",
    },
    {
        "/usr/lib/libcuda.so.580.95.05": shared("libcuda.so.1", note=b"{}"),
        "/usr/local/cuda/compat/libcuda.so.1": shared("libcuda.so.1", note=b"no JSON"),
        "/run/.containerenv": b"",
        "/usr/local/cuda/lib64/libnvrtc.so.12.4.127": LINK + b"libnvrtc.so.12",
        "/usr/bin/python3": shared("", machine=AARCH64),
        "/etc/ld.so.cache": ld_so_cache("/usr/local/cuda/lib64/stubs/libnvJitLink.so"),
    },
    {
        "/usr/lib/libcuda.so.1": LINK + b"/usr/local/cuda/lib64/stubs/libnvJitLink.so",
        "/usr/local/cuda/compat/libcuda.so.1": shared("libcuda.so.1", note=b"[]"),
        _ENVIRON: b"KUBERNETES_SERVICE_HOST=10.0.0.1\nCUDA_HOME=/opt/none\nCONDA_PREFIX=\n",
        f"{_SITE}/nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.4": b"",
        f"{_SITE}/nvidia_cuda_nvrtc_cu12-12.4.dist-info/RECORD": b"",
        "/opt/conda/conda-meta/libnvjitlink-12.4.json": b'{"version": "12.4.99"}',
    },
    {
        _ENVIRON: b"APPTAINER_NAME=x\nLD_LIBRARY_PATH=/usr/lib/none\n",
        "/etc/ld.so.cache": _ABSENT,
        "/etc/ld.so.conf": b"/usr/lib\n/usr/local/cuda/compat\n",
        "/opt/conda/lib/libnvJitLink.so.12": library(),
        "/usr/bin/python3": shared("", note=None, needed=["libcudart.so.13"]),
        _APP: shared("libapp.so", needed=["libnvJitLink.so.13"], paths={_RPATH: "${ORIGIN}/../x:"}),
    },
)
