"""Everything that a probe finds on a machine, as values; what they mean is for others to say."""

from __future__ import annotations

import re

from msgspec import Struct, field

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.linker import Linker
from ltocompat.model.target import DriverVersion, System


class KernelDriver(Struct, frozen=True):
    """The driver in the kernel.

    Attributes:
        version: 580.95.05; of WSL2 the driver of Windows.
        open: made from NVIDIA's open modules; None where nothing tells.
        source: the file or command that says so.
    """

    version: DriverVersion
    open: bool | None
    source: str


class CompatNote(Struct, frozen=True):
    """``.note.cuda.fwd_compatibility`` of a libcuda: with which kernel drivers it works.

    Attributes:
        format: version of the note.
        cuda: its CUDA release; None where it isn't said.
        drivers: branches of kernel drivers; empty where none are listed.
        devices: numbers of NVIDIA's for kinds of GPUs; what they mean is not published.
    """

    format: int | None
    cuda: Release | None
    drivers: tuple[int, ...] = ()
    devices: tuple[int, ...] = ()


class Sibling(Struct, frozen=True):
    """A library that libcuda opens when it needs it.

    Attributes:
        name: ``libnvidia-ptxjitcompiler``.
        path: the file beside libcuda; None where there is none.
        version: by the file's name.
    """

    name: str
    path: str | None
    version: DriverVersion | None = None


_OF_DRIVER = re.compile(
    r"/(?:usr/)?lib(?:64)?(?:/[a-z0-9_]+-linux-gnu)?(?:/(?:nvidia|tegra)(?:/.*)?)?", re.ASCII
)


def in_driver_folders(*paths: str) -> bool:
    """Return whether files lie where drivers and container tools put libcuda."""
    return all(_OF_DRIVER.fullmatch(path.rpartition("/")[0]) for path in paths)


class UserDriver(Struct, frozen=True):
    """A copy of libcuda.

    Attributes:
        path: where the loader finds it, or where it lies.
        real: the file behind all links.
        found_by: the loader's rule: ``LD_LIBRARY_PATH``, ``ld.so.cache``.
        version: by the file's name; None on WSL2 and Jetson, whose files carry none.
        cuda: the CUDA release that it brings.
        cuda_source: who said so: ``cuDriverGetVersion``, ``compatibility note``, a folder's name.
        compat: why it is taken for a cuda-compat copy; empty where it isn't one.
        note: its compatibility note.
        stub: it has names to link with, and no code.
        siblings: what it opens to compile; those that its version has.
    """

    path: str
    real: str
    found_by: str
    version: DriverVersion | None = None
    cuda: Release | None = None
    cuda_source: str | None = None
    compat: tuple[str, ...] = ()
    note: CompatNote | None = None
    stub: bool = False
    siblings: tuple[Sibling, ...] = ()

    @property
    def is_compat(self) -> bool:
        """Return whether it is a cuda-compat copy in front of the kernel driver's own."""
        return bool(self.compat)

    @property
    def is_compat_package(self) -> bool:
        """Return whether it is one, and lies where no driver puts its own."""
        return self.is_compat and not in_driver_folders(self.path, self.real)

    @property
    def missing(self) -> tuple[str, ...]:
        """Siblings that are not beside it."""
        return tuple(sibling.name for sibling in self.siblings if sibling.path is None)


class CompatFolder(Struct, frozen=True):
    """A folder with a cuda-compat copy of libcuda.

    Attributes:
        driver: the copy.
        listed_by: what puts it on the loader's way: ``LD_LIBRARY_PATH``, a file of ld.so.conf.d.
        in_front: it is the one that gets loaded.
    """

    driver: UserDriver
    listed_by: tuple[str, ...]
    in_front: bool


class LocalGpu(Struct, frozen=True):
    """A GPU of the machine.

    Attributes:
        name: ``NVIDIA H100 80GB HBM3``.
        arch: by its compute capability; None where nothing tells.
        source: the command or file that names it.
    """

    name: str
    arch: SmArch | None
    source: str


class LibraryPick(Struct, frozen=True):
    """The file that one way of loading gets for one library.

    Attributes:
        library: ``nvJitLink``, ``nvrtc`` or ``nvvm``.
        way: ``ld.so`` (dlopen by soname) or ``cuda-pathfinder``.
        asked: the soname; of cuda-pathfinder the one that it settled for.
        path: what it gets; None for nothing.
        real: the file behind all links.
        found_by: the rule: ``LD_LIBRARY_PATH``, ``site-packages``, or why there is nothing.
        version: ``12.4.127`` or ``12.4``.
    """

    library: str
    way: str
    asked: str
    path: str | None
    real: str | None
    found_by: str
    version: str | None = None


class Compiler(Struct, frozen=True):
    """A copy of NVRTC or libNVVM.

    Attributes:
        library: ``nvrtc`` or ``nvvm``.
        path: the file itself, behind all links.
        found_via: how it is reached; several ways are joined by commas.
        version: ``12.4.127``, ``12.4``, or None.
        evidence: what says so: ``file banner``, ``file name``, ``dist-info`` ...
        builtins: minors of the libnvrtc-builtins beside it; it needs exactly its own.
    """

    library: str
    path: str
    found_via: str
    version: str | None
    evidence: str | None
    builtins: tuple[Release, ...] = ()

    @property
    def release(self) -> Release | None:
        """Its minor release."""
        return Release.parse(self.version) if self.version else None


class Toolkit(Struct, frozen=True):
    """An installed CUDA toolkit.

    Attributes:
        root: its folder, behind all links.
        reached: what leads to it: ``CUDA_HOME``, ``PATH``, ``/usr/local/cuda``.
        version: ``12.4.131``, ``12.4``, or None.
        evidence: what says so: ``version.json``, ``nvcc --version`` ...
        nvcc: it has the compiler driver.
        nvlink: it has the offline linker.
    """

    root: str
    reached: tuple[str, ...]
    version: str | None
    evidence: str | None
    nvcc: bool
    nvlink: bool


class InstalledPackage(Struct, frozen=True, order=True):
    """An installed package, of Python or conda, by its metadata.

    Attributes:
        name: as published: ``nvidia-nvjitlink-cu12``.
        version: ``12.4.127``.
        folder: where it is: a site-packages folder, or conda's prefix.
    """

    name: str
    version: str
    folder: str


class Conda(Struct, frozen=True):
    """An active conda environment.

    Attributes:
        prefix: its folder.
        packages: those that bring CUDA, by name.
    """

    prefix: str
    packages: tuple[InstalledPackage, ...]


class Jetson(Struct, frozen=True):
    """An integrated GPU's board.

    Attributes:
        release: of Linux for Tegra: ``36.4.3``; None where nothing tells.
        model: the board: ``NVIDIA Jetson AGX Orin Developer Kit``.
    """

    release: str | None
    model: str | None


class Environment(Struct, frozen=True, kw_only=True):
    """One machine, as far as CUDA device code depends on it; None and empty: nothing was found.

    Attributes:
        system: operating system and processor.
        kernel_driver: the driver in the kernel.
        user_driver: the libcuda.so.1 that a program would really load.
        compat_folders: every cuda-compat copy, in front or not.
        gpus: the GPUs.
        nvjitlinks: every nvJitLink that can be reached, oldest first.
        compilers: every NVRTC and libNVVM that can be reached.
        picks: what each way of loading gets for each of them.
        toolkits: installed toolkits.
        wheels: installed packages of Python that bring or drive CUDA.
        conda: the active conda environment.
        wsl2: Linux on Windows.
        jetson: the board of an integrated GPU.
        container: what kind of container this is (``docker``, ``image``); None for none.
        variables: environment variables that CUDA, its containers and the loader listen to.
        python: the program whose loading was looked at.
        problems: what could not be found out, and why.
    """

    system: System = field(default_factory=System)
    kernel_driver: KernelDriver | None = None
    user_driver: UserDriver | None = None
    compat_folders: tuple[CompatFolder, ...] = ()
    gpus: tuple[LocalGpu, ...] = ()
    nvjitlinks: tuple[Linker, ...] = ()
    compilers: tuple[Compiler, ...] = ()
    picks: tuple[LibraryPick, ...] = ()
    toolkits: tuple[Toolkit, ...] = ()
    wheels: tuple[InstalledPackage, ...] = ()
    conda: Conda | None = None
    wsl2: bool = False
    jetson: Jetson | None = None
    container: str | None = None
    variables: tuple[tuple[str, str], ...] = ()
    python: str | None = None
    problems: tuple[str, ...] = ()

    def picked(self, library: str, way: str) -> tuple[LibraryPick, ...]:
        """Return the files that a way of loading gets for a library, one for each soname."""
        return tuple(pick for pick in self.picks if (pick.library, pick.way) == (library, way))

    def variable(self, name: str) -> str | None:
        """The value of an environment variable that CUDA listens to."""
        return dict(self.variables).get(name)
