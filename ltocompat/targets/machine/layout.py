"""Built-in search of a machine's loader: default folders, and values of its variables.

glibc bakes both in when it is built. Debian and its kin (multiarch) have ``/lib/x86_64-linux-gnu``
and ``/lib``; the others have ``/lib64``; told by which of both holds libc.so.6.
"""

from __future__ import annotations

import itertools
import re

from msgspec import Struct

from ltocompat.targets.linkers.machine import Machine

_TRIPLETS = {
    "x86-64": "x86_64-linux-gnu",
    "AArch64": "aarch64-linux-gnu",
    "x86": "i386-linux-gnu",
    "PowerPC64": "powerpc64le-linux-gnu",
    "RISC-V": "riscv64-linux-gnu",
}
_PLATFORMS = {"x86-64": "x86_64", "AArch64": "aarch64", "x86": "i686", "RISC-V": "riscv64"}
_INTERPRETERS = {
    "x86-64": ("/lib64/ld-linux-x86-64.so.2",),
    "AArch64": ("/lib/ld-linux-aarch64.so.1", "/lib64/ld-linux-aarch64.so.1"),
}
# glibc, sysdeps/x86/get-isa-level.h, by the names of /proc/cpuinfo ("abm" is LZCNT); each level
# needs those before it. CPUs without them skip the folders.
_LEVELS = (
    ("x86-64-v2", {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"}),
    ("x86-64-v3", {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}),
    ("x86-64-v4", {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}),
)
_HASWELL = {"avx2", "bmi1", "bmi2", "abm", "fma", "movbe", "popcnt"}
# A name without braces ends where no letter, digit or underscore follows.
_TOKEN = re.compile(r"\$(?:\{(ORIGIN|LIB|PLATFORM)\}|(ORIGIN|LIB|PLATFORM)(?!\w))", re.ASCII)


class Layout(Struct, frozen=True):
    """Built-in settings of the loader of one machine.

    Attributes:
        default: folders that are searched last.
        lib: the value of ``$LIB``.
        platform: the value of ``$PLATFORM``.
        hwcaps: folders below ``glibc-hwcaps`` for this processor, best first.
    """

    default: tuple[str, ...]
    lib: str
    platform: str
    hwcaps: tuple[str, ...]

    def expand(self, text: str, origin: str) -> str:
        """Insert the values of ``$ORIGIN``, ``$LIB`` and ``$PLATFORM``."""
        values = {"ORIGIN": origin, "LIB": self.lib, "PLATFORM": self.platform}
        return _TOKEN.sub(lambda match: values[match[1] or match[2]], text)


def layout(machine: Machine, processor: str) -> Layout:
    """Return the layout for programs of ``processor`` (``x86-64``, ``AArch64``)."""
    triplet = _TRIPLETS.get(processor, "")
    multiarch = bool(triplet) and any(
        machine.exists(f"{folder}/{triplet}/libc.so.6") for folder in ("/lib", "/usr/lib")
    )
    if multiarch:
        lib = f"lib/{triplet}"
        default: tuple[str, ...] = (f"/lib/{triplet}", f"/usr/lib/{triplet}", "/lib", "/usr/lib")
    else:
        lib = "lib64" if machine.is_folder("/lib64") else "lib"
        # A plain glibc of 64 bits looks into lib64 only; where that is a link to lib, as on Arch,
        # and in trees without any C library, lib is right too.
        only_64 = any(map(machine.exists, ("/lib64/libc.so.6", "/usr/lib64/libc.so.6")))
        default = ("/lib64", "/usr/lib64", *(() if only_64 else ("/lib", "/usr/lib")))
    vendor, flags = _cpu(machine) if processor == "x86-64" else ("", frozenset())
    platform = _PLATFORMS.get(processor, processor)
    if vendor == "GenuineIntel" and flags >= _HASWELL:
        platform = "haswell"  # glibc, sysdeps/x86/cpu-features.c
    levels = [name for name, _ in itertools.takewhile(lambda level: level[1] <= flags, _LEVELS)]
    return Layout(default, lib, platform, tuple(reversed(levels)))


def processor_of(machine: Machine) -> str:
    """Return the processor of a machine's programs: from its loader, else from its kernel."""
    for processor, paths in _INTERPRETERS.items():
        if any(map(machine.exists, paths)):
            return processor
    kernel = machine.run(["uname", "-m"]).strip()
    return {"aarch64": "AArch64", "arm64": "AArch64"}.get(kernel, "x86-64")


def _cpu(machine: Machine) -> tuple[str, frozenset[str]]:
    """The vendor of the processor, and its features."""
    lines = (machine.text("/proc/cpuinfo") or "").splitlines()
    table = {
        name.strip(): value.strip()
        for name, _, value in (line.partition(":") for line in reversed(lines))
    }
    return table.get("vendor_id", ""), frozenset(table.get("flags", "").split())
