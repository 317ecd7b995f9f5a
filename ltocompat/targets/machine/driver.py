"""The driver in the kernel, and the libcuda that programs load: two halves that need not match.

A libcuda says in ``.note.cuda.fwd_compatibility`` with which kernel drivers it works.
One ELF note, owner ``NVIDIA Corporation``, whose description is JSON: ``{"format":1,
"CUDA version":"13.0","driver":[535,550,565,570,575,580],"device":[1,2,7,8,9,10,11,12,13,14]}`` is
that of cuda-compat-13-0 (580.95.05, by ``readelf -p``, 2026-11-21), and of the driver 580.159.04:
a driver's own libcuda has it too. NVIDIA's container toolkit reads it, in any case of letters
(``cmd/nvidia-cdi-hook/cudacompat/cuda-elf-header.go``); both fields of the note may be padded.
"""

from __future__ import annotations

import os
import re
import struct
from contextlib import suppress

from msgspec import Struct

from ltocompat.facts.drivers import branch_cuda, in_driver_folders
from ltocompat.files.byteview import ByteView
from ltocompat.files.elf_layout import SHT_NOTE, Tag
from ltocompat.files.objects import elf
from ltocompat.model.arch import Release
from ltocompat.model.environment import CompatFolder, CompatNote, KernelDriver, Sibling, UserDriver
from ltocompat.model.errors import LtocompatError, Malformed
from ltocompat.model.generic import grouped
from ltocompat.model.limits import KIB, Budget
from ltocompat.model.target import DriverVersion
from ltocompat.model.words import items_of, json_object
from ltocompat.targets.linkers.ldcache import conf_folders
from ltocompat.targets.linkers.machine import Machine
from ltocompat.targets.machine.driver_probe import Answers
from ltocompat.targets.machine.loader import Loader
from ltocompat.targets.versions.drivers import driver_version, driver_version_in_name

LIBCUDA = "libcuda.so.1"
PROC = "/proc/driver/nvidia/version"
SYS = "/sys/module/nvidia/version"
WSL = "/usr/lib/wsl/"

# "NVIDIA UNIX x86_64 Kernel Module  535.129.03", "... Open Kernel Module for x86_64  570.86.15".
_KERNEL = re.compile(r"(Open )?Kernel Module(?: for \S+)?\s+([0-9.]+)")
_TOOLKIT_FOLDER = re.compile(r"/cuda-([0-9]{1,9}\.[0-9]{1,9})/")
# Libraries that libcuda opens to compile, and the first branch with each (compatibility.md 3: JIT
# LTO since CUDA 11.5, gpucomp and tileiras since 13.4). cuda-compat-13-0 has gpucomp already, which
# NVIDIA's list doesn't ask for.
_SIBLINGS = (
    ("libnvidia-ptxjitcompiler", 0),
    ("libnvidia-nvvm", 495),
    ("libnvidia-gpucomp", 615),
    ("libnvidia-tileiras", 615),
)

_SECTION = ".note.cuda.fwd_compatibility"
_HEADER = struct.Struct("<III")
_MOST_BYTES = 64 * KIB


def kernel_driver(machine: Machine, answers: Answers) -> KernelDriver | None:
    """Return the driver in the kernel: from its own files, else from NVML."""
    found = _KERNEL.search(machine.text(PROC) or "")
    version = driver_version(found[2]) if found else None
    if found and version:
        return KernelDriver(version, open=bool(found[1]), source=PROC)
    for text, source in ((machine.text(SYS), SYS), (answers.driver, answers.driver_source)):
        version = driver_version(text or "")
        if version:
            return KernelDriver(version, open=None, source=source)
    return None


class LibcudaReader(Struct):
    """Reads the copies of libcuda on a machine, without loading them.

    Attributes:
        machine: the machine.
        kernel: the driver in its kernel.
        problems: gets a sentence for each unreadable part.
    """

    machine: Machine
    kernel: KernelDriver | None
    problems: list[str]

    def in_use(self, loader: Loader, answers: Answers) -> UserDriver | None:
        """Return the libcuda.so.1 that a program on this machine loads."""
        found = loader.resolve(LIBCUDA)
        if found.path is None:
            if found.problem and "No such file" not in found.problem:
                self.problems.append(found.problem)
            return None
        text = answers.libcuda and self.machine.real(answers.libcuda)
        if text and text != found.real and not text.startswith(WSL):
            self.problems.append(
                f"a child process loaded {text}, not {found.path} as the loader's rules say; run a "
                "program with LD_DEBUG=libs to see why"
            )
        return self.describe(found.path, found.found_by, answers.cuda)

    def describe(self, path: str, found_by: str, cuda: Release | None = None) -> UserDriver:
        """Return the facts about one copy of libcuda, without loading it.

        Args:
            path: the file.
            found_by: how it was found.
            cuda: the result of cuDriverGetVersion of this copy.
        """
        real = self.machine.real(path)
        folder = os.path.dirname(real)
        siblings = [_sibling(self.machine, folder, name) for name, _ in _SIBLINGS]
        version = driver_version_in_name(os.path.basename(real))
        if version is None and siblings[0].version and not real.startswith(WSL):
            version = siblings[0].version  # a copy under its soname; its sibling still tells
        note, calls = self._note_and_needs(real)
        release, source = _release(cuda, note, version, real, path)
        # A stub has names to link with, and calls nothing: its loader brings no library for it.
        plain = os.path.basename(real) in ("libcuda.so", LIBCUDA) and not real.startswith(WSL)
        stub = plain and version is None and not calls
        own = stub or real.startswith(WSL)
        said = cuda or (note.cuda if note else None)
        compat = () if own else _compat_reasons((path, real), version or said, self.kernel)
        pairs = zip(siblings, _SIBLINGS, strict=True)
        needed = [each for each, (_, since) in pairs if version and version.branch >= since]
        return UserDriver(
            path=path,
            real=real,
            found_by=found_by,
            version=version,
            cuda=release,
            cuda_source=source,
            compat=compat,
            note=note,
            stub=stub,
            siblings=tuple(needed),
            is_compat_package=bool(compat) and not in_driver_folders(path, real),
        )

    def compat_folders(self, front: UserDriver | None) -> tuple[CompatFolder, ...]:
        """Return every cuda-compat copy: of NVIDIA's packages, of conda, and in search paths."""
        machine = self.machine
        searched = machine.environ.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":")
        lists = [(folder, "LD_LIBRARY_PATH") for folder in searched if folder]
        lists += conf_folders(machine)
        listed = grouped((machine.real(folder), source) for folder, source in lists)
        prefix = machine.environ.get("CONDA_PREFIX")
        folders = [
            os.path.join(root, inside)
            for root in machine.files("/usr/local", "cuda", "cuda-*")
            for inside in ("compat", "compat_orin")
        ]
        folders += [os.path.join(prefix, "cuda-compat")] if prefix else []
        places = {machine.real(folder) for folder in folders}
        found = []
        for folder in dict.fromkeys((*map(machine.real, folders), *listed)):
            path = next(iter(machine.files(folder, LIBCUDA, "libcuda.so.*")), None)
            if path is None:
                continue
            if front and front.real == machine.real(path):
                copy = front
            else:
                copy = self.describe(path, "not in front")
            # A copy of the driver's version is the driver's own, but in packages of cuda-compat.
            if copy.is_compat_package or (folder in places and copy is not front):
                found.append(CompatFolder(copy, tuple(listed.get(folder, ())), copy is front))
        return tuple(found)

    def _note_and_needs(self, path: str) -> tuple[CompatNote | None, bool]:
        """The note of the library at ``path``, None for none, and whether it may need a library."""
        note, needs = None, True
        try:
            with self.machine.viewed(path) as view:
                tables = elf.read_tables(view, Budget())
                for header in tables.headers if tables else ():
                    if header.name == _SECTION and header.kind == SHT_NOTE:
                        note = _parsed(view.sub(header.offset, min(header.size, _MOST_BYTES)))
                needs = tables is None or any(tables.texts(Tag.NEEDED))
                if tables is None:
                    self.problems.append(f"{path} is not an ELF file")
        except LtocompatError as error:
            self.problems.append(f"{path}: {error}")
        return note, needs


def _release(
    cuda: Release | None, note: CompatNote | None, version: DriverVersion | None, *paths: str
) -> tuple[Release | None, str | None]:
    """The CUDA release of a libcuda, and who said so, best first."""
    if cuda:
        return cuda, "cuDriverGetVersion"
    if note and note.cuda:
        return note.cuda, "compatibility note"
    if version and (branch := branch_cuda(version.branch)):
        return branch, "driver branch"
    for path in paths:
        if named := _TOOLKIT_FOLDER.search(path):
            return Release.parse(named[1]), f"folder {named[0].strip('/')}"
    return None, None


def _compat_reasons(
    paths: tuple[str, ...], says: DriverVersion | Release | None, kernel: KernelDriver | None
) -> tuple[str, ...]:
    """Why a libcuda is not the kernel driver's own, whatever its folder is called.

    A note proves nothing: the same file may be a driver's own.

    Args:
        paths: where it lies.
        says: its version; else its CUDA release.
        kernel: the kernel driver.
    """
    cuda = branch_cuda(kernel.version.branch) if kernel else None  # of a Jetson's nobody knows
    beneath = kernel.version if kernel and isinstance(says, DriverVersion) else cuda
    if says and beneath:
        differs = f"it is {says}, and the kernel driver is {beneath}"
        return () if says == beneath else (differs,)
    return () if cuda or in_driver_folders(*paths) else ("it is not in a folder of a driver",)


def _sibling(machine: Machine, folder: str, name: str) -> Sibling:
    """The file beside libcuda, whose own links may carry other numbers."""
    for path in machine.files(folder, f"{name}.so*"):
        real = machine.real(path)
        return Sibling(name, real, driver_version_in_name(os.path.basename(real)))
    return Sibling(name, None)


def _parsed(view: ByteView) -> CompatNote | None:
    name_size, size, _ = view.unpack(_HEADER, 0)
    if view.peek(_HEADER.size, name_size).rstrip(b"\0") != b"NVIDIA Corporation":
        return None
    # The description is aligned to 4 or to 8 bytes; its text starts with a brace.
    rest = view.peek(_HEADER.size + name_size, size + 8)
    text = rest[rest.find(b"{") :][:size].split(b"\0", 1)[0]
    value = json_object(text.decode("utf-8", "replace"))
    if not value:
        raise Malformed(f"the note {_SECTION} is not a JSON object")
    table = {name.lower(): part for name, part in value.items()}
    form = table.get("format")
    return CompatNote(
        form if isinstance(form, int) else None,
        _cuda_of_note(table.get("cuda version")),
        tuple(items_of(table.get("driver"), int)),
        tuple(items_of(table.get("device"), int)),
    )


def _cuda_of_note(value: object) -> Release | None:
    with suppress(LtocompatError):
        return Release.parse(value) if isinstance(value, str) else None
    return None
