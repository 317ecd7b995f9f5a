"""A deploy target as values: drivers, linkers, GPUs, and where each fact came from."""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.generic import T, T_co


@dataclass(frozen=True, slots=True, order=True)
class DriverVersion:
    """A driver version.

    Attributes:
        numbers: the version as numbers: ``(550, 54, 15)``; the first number is the branch.
        text: the name to show if the numbers are not an exact release (``a later 550``).
    """

    numbers: tuple[int, ...]
    text: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return _as_written(self.numbers) if self.text is None else self.text

    @property
    def branch(self) -> int:
        """The first number: 550 for 550.54.15."""
        return self.numbers[0]


@functools.lru_cache(maxsize=1024)  # every sentence about a driver names one
def _as_written(numbers: tuple[int, ...]) -> str:
    """``525.60.13``, ``580.95.05``: as NVIDIA writes it, two digits each behind the branch."""
    branch, *rest = numbers
    return ".".join([str(branch), *(f"{number:02d}" for number in rest)])


ANY_DRIVER = "any"  # the text of a driver that nothing names


class Quantifier(enum.Enum):
    """The meaning of several versions: all of them must work, or the target has an unknown one."""

    ALL = "each of them must work"
    ONE_OF = "it has one of them, but it isn't known which"


class VersionSet(Struct, Generic[T_co], frozen=True, cache_hash=True, repr_omit_defaults=True):
    """The possible versions of one part of a target.

    Attributes:
        text: the versions as the user wrote them: ``550.54.15``, ``550``, ``>=550``.
        values: all versions that the text can mean, oldest first. A partial version or a range
            stands for several versions.
        quantifier: ``ALL`` if the code must work with every value (a range). ``ONE_OF`` if the
            target has one of the values, but it isn't known which.
        source: the source of the versions: ``given``, ``prod.toml``, ``requirements.txt``, ``stock
            12.4``.
    """

    text: str
    values: tuple[T_co, ...]
    quantifier: Quantifier
    source: str

    @property
    def every(self) -> bool:
        """Return whether the code must work with every value."""
        return self.quantifier is Quantifier.ALL

    @property
    def value(self) -> T_co:
        """The only value.

        Raises:
            ValueError: there are several values.
        """
        (value,) = self.values
        return value

    @property
    def each(self) -> tuple[VersionSet[T_co], ...]:
        """The versions as separate sets, with one version each."""
        if len(self.values) == 1:
            return (self,)
        return tuple(exactly(value, self.source) for value in self.values)


def exactly(version: T, source: str, text: str = "") -> VersionSet[T]:
    """Return a set of one version; ``text`` is the user's spelling, if it differs."""
    return VersionSet(text or str(version), (version,), Quantifier.ALL, source)


class Gpu(Struct, frozen=True, cache_hash=True):
    """A GPU that device code is to run on.

    Attributes:
        name: the name as it was written: ``h100``, ``sm_90``.
        arch: its architecture. A suffix, as in ``sm_90a``, makes a difference only when code is
            linked.
        data_center: True if cuda-compat supports the GPU (data centre GPUs, NGC-ready RTX, Jetson);
            None if the name doesn't show this.
        tegra: True for an integrated GPU (Jetson, DRIVE); NVIDIA does not promise that code for
            discrete GPUs runs there.
        arm: True if its name is that of a model that is sold only with Arm cores: Jetson, GB10,
            GH200. The machine is then ``linux-aarch64``.
    """

    name: str
    arch: SmArch
    data_center: bool | None = None
    tegra: bool = False
    arm: bool = False

    def __str__(self) -> str:
        return self.name


class System(Struct, frozen=True):
    """The operating system of a target.

    Attributes:
        name: ``linux``, ``windows`` or ``wsl2``.
        machine: ``x86_64`` or ``aarch64``.
    """

    name: str = "linux"
    machine: str = "x86_64"

    def __str__(self) -> str:
        return self.name if self.machine == "x86_64" else f"{self.name}-{self.machine}"


class Target(Struct, frozen=True, kw_only=True, cache_hash=True, repr_omit_defaults=True):
    """A deploy target; an attribute that is None is unknown.

    Attributes:
        name: its name in reports.
        system: operating system.
        driver: the kernel driver.
        compat: the CUDA release of the cuda-compat package that programs load instead of the
            driver's libcuda.
        nvjitlink: the minor release of nvJitLink (the patch level makes no difference).
        nvrtc: the minor release of NVRTC.
        nvlink: the minor release of nvlink, the offline device linker for objects and archives.
        lto: True if links for the target use ``-lto`` when an input has LTO-IR.
        gpus: the GPUs; empty if none is known.
        sources: every known key with the source of its value.
        by_files: True if no driver and no operating system was given, only a CUDA release. The
            driver then depends on the system that each file is for; ``driver`` is the driver on
            Linux.
        windows_driver: the driver on Windows in that case; None if unknown.
        nodes: names of the machines that this target stands for, if the target comes from a node
            file.
        untold: facts about these machines that the node file doesn't give and that can't be
            checked.
    """

    name: str
    system: System = System()
    driver: VersionSet[DriverVersion] | None = None
    compat: VersionSet[Release] | None = None
    nvjitlink: VersionSet[Release] | None = None
    nvrtc: VersionSet[Release] | None = None
    nvlink: VersionSet[Release] | None = None
    lto: bool = True
    gpus: tuple[Gpu, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    by_files: bool = False
    windows_driver: VersionSet[DriverVersion] | None = None
    nodes: tuple[str, ...] = ()
    untold: str = ""

    @property
    def on_windows(self) -> Target:
        """Return the target for files for Windows; if ``by_files``, it has the Windows driver."""
        if not self.by_files:
            return self
        return replace(self, system=System("windows"), driver=self.windows_driver, by_files=False)

    def linker_of(self, *, objects: bool) -> tuple[VersionSet[Release] | None, bool]:
        """Return the target's linker for a link, and whether this linker is nvlink.

        Args:
            objects: True if the inputs contain relocatable objects, which a build passes to nvlink.

        Returns:
            A pair: the linker (None if the target names none), and True if this linker is nvlink.
        """
        offline = self.nvlink is not None and (objects or self.nvjitlink is None)
        return (self.nvlink if offline else self.nvjitlink), offline

    def for_link(self, *, objects: bool) -> Target:
        """Return this target with only the linker that links all inputs together."""
        _, offline = self.linker_of(objects=objects)
        return replace(self, nvjitlink=None) if offline else replace(self, nvlink=None)


# The name of the deploy target from a probe of this machine.
THIS_MACHINE = "this machine"

# The target of findings about a package's metadata and promises, which hold on every target.
ANY_TARGET = Target(name="every target")


class PolicyLines(Struct, frozen=True):
    """Line numbers in a policy.

    Attributes:
        path: the file.
        targets: the line of each target's table, from 1, by its name.
        audit: the line of the audit's own table, else of the first target's table.
    """

    path: str
    targets: Mapping[str, int]
    audit: int = 1

    def line(self, target: str) -> int:
        """Return the line of the policy for a finding on this target."""
        return self.targets.get(target, self.audit)
