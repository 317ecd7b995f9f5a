"""Recorded machines: trees of small files with the names and numbers of real ones.

Libraries are files of a few hundred bytes that are written here, with the sonames, banners and
notes that real ones have; nothing of NVIDIA's is in them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from elf_writer import (
    BASE,
    DT_NEEDED,
    DT_SONAME,
    DT_STRSZ,
    DT_STRTAB,
    STRTAB,
    Part,
    elf,
    offsets,
    tags,
)
from linker_trees import AARCH64, IN_WHEEL, X86_64, banner, library, put

from ltocompat.files.objects import read_host
from ltocompat.model.errors import UnreadableInput
from ltocompat.model.image import HostBinary
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location
from ltocompat.targets.linkers import Machine

__all__ = ["AARCH64", "IN_WHEEL", "X86_64", "Recorded", "banner", "library", "put"]

SHT_NOTE = 7
NOTE = ".note.cuda.fwd_compatibility"
SITE = "/home/u/venv/lib/python3.12/site-packages"
MULTIARCH = "/usr/lib/x86_64-linux-gnu"
# /proc/driver/nvidia/version as drivers write it: the proprietary module, then the open one.
CLOSED = """\
NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023
GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)
"""
OPEN = """\
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder)
GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04)
"""


def host_at(machine: Machine, path: str) -> HostBinary:
    """What the headers of a library or program ask for."""
    with machine.viewed(path) as view:
        file = read_host(view, Budget())
        if file is None:
            raise UnreadableInput(f"{path!r} is no library or program")
        return file.describe(Location(path))


def shared(
    soname: str,
    *texts: bytes,
    note: Mapping[str, object] | bytes | None = None,
    machine: int = X86_64,
    needed: Sequence[str] = (),
    paths: Mapping[int, str] | None = None,
    padding: int = 0,
) -> bytes:
    """A shared library with a soname, texts in .rodata, and a compatibility note.

    ``paths`` are those that it is searched along with, by their tags.
    """
    texts_of_tags = paths or {}
    names = (soname, *needed, *texts_of_tags.values())
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in names)
    parts = [
        Part(".rodata", b"text\0" + b"".join(texts)),
        Part(".dynstr", strings, STRTAB),
        Part(".dynamic", bytes(16 * (4 + len(needed) + len(texts_of_tags))), 6),
    ]
    if note is not None:
        parts.insert(0, Part(NOTE, note_bytes(note, padding), SHT_NOTE))
    at = BASE + offsets(parts)[".dynstr"]
    rows = [*((DT_NEEDED, name) for name in needed), *texts_of_tags.items()]
    wanted = b"".join(
        struct.pack("<QQ", tag, strings.index(b"\0" + name.encode() + b"\0") + 1)
        for tag, name in rows
    )
    fixed = tags({DT_SONAME: 1, DT_STRTAB: at, DT_STRSZ: len(strings)})
    parts[-1].data = wanted + fixed
    return elf(parts, machine=machine, dynamic=".dynamic")


def note_bytes(note: Mapping[str, object] | bytes, padding: int = 0) -> bytes:
    """An ELF note of NVIDIA's; its text may be padded with NULs."""
    text = note if isinstance(note, bytes) else json.dumps(note).encode()
    owner = b"NVIDIA Corporation\0"
    text += bytes(padding)
    head = struct.pack("<III", len(owner), len(text), 1)
    return head + owner.ljust(20, b"\0") + text


def ld_so_cache(*paths: str, flags: int = 0x303) -> bytes:
    """A cache in the format of glibc's dl-cache.h that knows these files by their names."""
    strings, entries = b"", b""
    start = 48 + 24 * len(paths)
    for path in paths:
        at = start + len(strings)
        name = path.rpartition("/")[2]
        strings += path.encode() + b"\0"
        # ldconfig lets a soname be the end of its path.
        entries += struct.pack("<iIIIQ", flags, at + len(path) - len(name), at, 0, 0)
    head = struct.pack("<20sIIB3xI12x", b"glibc-ld.so.cache1.1", len(paths), len(strings), 2, 0)
    return head + entries + strings


@dataclass
class Recorded:
    """A machine in the making.

    Attributes:
        root: folder of its tree.
        environ: environment variables.
        commands: what commands print, by the program's name (of a child Python, by its script's).
    """

    root: Path
    environ: dict[str, str] = field(default_factory=dict)
    commands: dict[str, str] = field(default_factory=dict)
    cached: list[str] = field(default_factory=list)

    def put(self, path: str, data: bytes | str) -> None:
        put(self.root, path, data)

    def link(self, path: str, target: str) -> None:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(target)

    def driver(
        self, folder: str, version: str, *, note: Mapping[str, object] | None = None
    ) -> None:
        """libcuda and what it opens, as a driver or a cuda-compat package installs them."""
        self.put(f"{folder}/libcuda.so.{version}", shared("libcuda.so.1", note=note))
        self.link(f"{folder}/libcuda.so.1", f"libcuda.so.{version}")
        for name, soname in (("ptxjitcompiler", "1"), ("nvvm", "4")):
            file = f"libnvidia-{name}.so"
            self.put(f"{folder}/{file}.{version}", shared(f"{file}.{soname}"))
            self.link(f"{folder}/{file}.{soname}", f"{file}.{version}")

    def smi(self, *lines: str) -> None:
        """What nvidia-smi prints for ``name, compute_cap, driver_version``."""
        self.commands["nvidia-smi"] = "".join(f"{line}\n" for line in lines)

    def machine(self, *, cache: bool = True) -> Machine:
        """The finished machine; without a cache its ld.so.conf counts, as in images."""
        if cache:
            self.put("/etc/ld.so.cache", ld_so_cache(*self.cached))
        commands = self.commands

        def run(command: Sequence[str]) -> str:
            return commands.get(command[-1].rpartition("/")[2], "") or commands.get(
                command[0].rpartition("/")[2], ""
            )

        return Machine(str(self.root), self.environ, run)


def plain_driver(root: Path) -> Recorded:
    """A server with an open 580 driver and one H100."""
    made = Recorded(root)
    made.put("/proc/driver/nvidia/version", OPEN)
    made.put(f"{MULTIARCH}/libc.so.6", shared("libc.so.6"))
    made.driver(MULTIARCH, "580.95.05")
    made.cached.append(f"{MULTIARCH}/libcuda.so.1")
    made.smi("NVIDIA H100 80GB HBM3, 9.0, 580.95.05")
    made.commands["driver_probe_child.py"] = json.dumps(
        {"cuda": 13000, "libcuda": f"{MULTIARCH}/libcuda.so.580.95.05"}
    )
    return made


def compat_installed(root: Path) -> Recorded:
    """A server with a 535 driver and cuda-compat-12-8, which nothing puts in front."""
    made = Recorded(root)
    made.put("/proc/driver/nvidia/version", CLOSED)
    made.put(f"{MULTIARCH}/libc.so.6", shared("libc.so.6"))
    made.driver(MULTIARCH, "535.129.03")
    made.cached.append(f"{MULTIARCH}/libcuda.so.1")
    note = {"format": 1, "CUDA version": "12.8", "driver": [535, 550], "device": [1, 2]}
    made.driver("/usr/local/cuda-12.8/compat", "570.86.15", note=note)
    made.link("/usr/local/cuda", "/etc/alternatives/cuda")
    made.link("/etc/alternatives/cuda", "/usr/local/cuda-12.8")
    made.smi("NVIDIA A100-SXM4-80GB, 8.0, 535.129.03", "NVIDIA A100-SXM4-80GB, 8.0, 535.129.03")
    return made


def compat_by_library_path(root: Path) -> Recorded:
    """The same, with compat in LD_LIBRARY_PATH."""
    made = compat_installed(root)
    made.environ["LD_LIBRARY_PATH"] = "/usr/local/cuda/compat"
    return made


def compat_by_conf(root: Path) -> Recorded:
    """The same, with compat in ld.so.conf.d, and ldconfig run since."""
    made = compat_installed(root)
    made.put("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
    made.put("/etc/ld.so.conf.d/000_compat.conf", "# in front\n/usr/local/cuda-12.8/compat\n")
    made.put("/etc/ld.so.conf.d/x86_64-linux-gnu.conf", f"/lib/x86_64-linux-gnu\n{MULTIARCH}\n")
    made.cached.insert(0, "/usr/local/cuda-12.8/compat/libcuda.so.1")
    return made


def wsl2(root: Path) -> Recorded:
    """Ubuntu on Windows: libcuda is the one that Windows brings."""
    made = Recorded(root)
    made.put("/proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n")
    made.put("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
    made.put("/etc/ld.so.conf.d/ld.wsl.conf", "/usr/lib/wsl/lib\n")
    made.put("/usr/lib/wsl/lib/libcuda.so.1", shared("libcuda.so.1"))
    made.cached.append("/usr/lib/wsl/lib/libcuda.so.1")
    made.commands["nvidia-smi"] = "NVIDIA GeForce RTX 4090, 8.9, 551.78\n"
    made.commands["driver_probe_child.py"] = json.dumps(
        {"cuda": 12040, "libcuda": "/usr/lib/wsl/drivers/nv_dispi.inf_amd64_0/libcuda.so.1.1"}
    )
    return made


def jetson(root: Path) -> Recorded:
    """A Jetson AGX Orin with JetPack 6: libcuda has no driver's number."""
    made = Recorded(root)
    tegra = "/usr/lib/aarch64-linux-gnu/nvidia"
    made.put("/lib/ld-linux-aarch64.so.1", shared("ld-linux-aarch64.so.1", machine=AARCH64))
    made.put(
        "/etc/nv_tegra_release", "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: gen\n"
    )
    made.put("/proc/device-tree/model", "NVIDIA Jetson AGX Orin Developer Kit\0")
    made.put(
        "/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.4.0  Release Build\n",
    )
    made.put(f"{tegra}/libcuda.so.1.1", shared("libcuda.so.1", machine=AARCH64))
    made.link(f"{tegra}/libcuda.so.1", "libcuda.so.1.1")
    made.put("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
    made.put("/etc/ld.so.conf.d/nvidia-tegra.conf", f"{tegra}\n")
    return made


def cuda_container(root: Path) -> Recorded:
    """A started nvidia/cuda container: the driver's libraries are mounted by the toolkit."""
    made = plain_driver(root)
    made.put("/.dockerenv", "")
    made.environ |= {
        "NVIDIA_REQUIRE_CUDA": "cuda>=12.4 brand=tesla,driver>=470,driver<471",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
        "CUDA_VERSION": "12.4.1",
        "LD_LIBRARY_PATH": "/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
        "HOSTNAME": "box",
    }
    folder = "/usr/local/cuda-12.4/targets/x86_64-linux/lib"
    made.put(f"{folder}/libnvJitLink.so.12.4.127", library("12.4.127"))
    made.link(f"{folder}/libnvJitLink.so.12", "libnvJitLink.so.12.4.127")
    made.put(f"{folder}/libnvrtc.so.12.4.127", shared("libnvrtc.so.12", banner("12.4.127")))
    made.link(f"{folder}/libnvrtc.so.12", "libnvrtc.so.12.4.127")
    made.put(f"{folder}/libnvrtc-builtins.so.12.4.127", shared("libnvrtc-builtins.so.12.4"))
    made.put("/usr/local/cuda-12.4/version.json", '{"cuda": {"version": "12.4.1"}}')
    made.link("/usr/local/cuda", "cuda-12.4")
    made.cached += [f"{folder}/libnvJitLink.so.12", f"{folder}/libnvrtc.so.12"]
    return made


def conda(root: Path) -> Recorded:
    """A conda environment with its own toolkit, over a driver of the system."""
    made = plain_driver(root)
    prefix = "/opt/conda/envs/gpu"
    made.environ |= {"CONDA_PREFIX": prefix, "PATH": f"{prefix}/bin:/usr/bin"}
    made.put(f"{prefix}/lib/libnvJitLink.so.12.6.85", library("12.6.85"))
    made.link(f"{prefix}/lib/libnvJitLink.so.12", "libnvJitLink.so.12.6.85")
    made.put(f"{prefix}/lib/libnvrtc.so.12", shared("libnvrtc.so.12"))
    made.put(f"{prefix}/lib/libnvrtc-builtins.so.12.6", shared("libnvrtc-builtins.so.12.6"))
    for name, version in (("libnvjitlink", "12.6.85"), ("cuda-nvrtc", "12.6.85")):
        made.put(
            f"{prefix}/conda-meta/{name}-{version}-hbd13f7d_0.json",
            json.dumps({"name": name, "version": version, "files": []}),
        )
    made.driver(f"{prefix}/cuda-compat", "590.44.01")
    return made


def two_nvjitlinks(root: Path) -> Recorded:
    """A virtual environment with wheels of 13.0, and LD_LIBRARY_PATH at a toolkit of 12.4."""
    made = plain_driver(root)
    made.environ |= {
        "VIRTUAL_ENV": "/home/u/venv",
        "CUDA_HOME": "/usr/local/cuda-12.4",
        "LD_LIBRARY_PATH": "/usr/local/cuda-12.4/lib64",
    }
    made.put("/usr/local/cuda-12.4/lib64/libnvJitLink.so.12", library("12.4.127"))
    made.put("/usr/local/cuda-12.4/version.json", '{"cuda_nvcc": {"version": "12.4.131"}}')
    made.put("/usr/local/cuda-12.4/bin/nvlink", "#!/bin/sh\n")
    made.put(f"{SITE}/{IN_WHEEL['13']}", library("13.0.88", soname="libnvJitLink.so.13"))
    made.put(f"{SITE}/{IN_WHEEL['12']}", library("12.9.86"))
    for name, version in (("nvidia_nvjitlink", "13.0.88"), ("nvidia_nvjitlink_cu12", "12.9.86")):
        made.put(
            f"{SITE}/{name}-{version}.dist-info/METADATA",
            f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n\nText\n",
        )
    return made


def stub_first(root: Path) -> Recorded:
    """A build image whose LD_LIBRARY_PATH leads to the toolkit's stubs."""
    made = Recorded(root, {"LD_LIBRARY_PATH": "/usr/local/cuda-12.4/lib64/stubs"})
    made.put("/usr/local/cuda-12.4/lib64/stubs/libcuda.so", shared("libcuda.so.1"))
    made.link("/usr/local/cuda-12.4/lib64/stubs/libcuda.so.1", "libcuda.so")
    return made


def nothing(root: Path) -> Recorded:
    """Not even a driver."""
    return Recorded(root)


ALL = (
    plain_driver,
    compat_installed,
    compat_by_library_path,
    compat_by_conf,
    wsl2,
    jetson,
    cuda_container,
    conda,
    two_nvjitlinks,
    stub_first,
    nothing,
)
