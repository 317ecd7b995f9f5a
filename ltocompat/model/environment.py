"""Everything that a probe finds on a machine, as values; what they mean is for others to say."""

from __future__ import annotations

from msgspec import Struct, field

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.linker import Linker
from ltocompat.model.target import DriverVersion, System


class KernelDriver(Struct, frozen=True):
    """The kernel-mode driver.

    Attributes:
        version: the driver's version, such as 580.95.05; on WSL2, the version of the Windows
            driver.
        open: True for NVIDIA's open kernel modules; None if unknown.
        source: the file or command that shows the version.
    """

    version: DriverVersion
    open: bool | None
    source: str


class CompatNote(Struct, frozen=True):
    """The compatibility note in a libcuda: a list of the kernel drivers that this libcuda supports.

    Its section is ``.note.cuda.fwd_compatibility``.

    Attributes:
        format: the version of the note's format.
        cuda: the CUDA release in the note; None if the note has none.
        drivers: branches of kernel drivers; empty if the note lists none.
        devices: the device type codes of NVIDIA; NVIDIA does not publish their meaning.
    """

    format: int | None
    cuda: Release | None
    drivers: tuple[int, ...] = ()
    devices: tuple[int, ...] = ()


class Sibling(Struct, frozen=True):
    """A library of the driver that libcuda opens on demand.

    Attributes:
        name: ``libnvidia-ptxjitcompiler``.
        path: the file in the folder of libcuda; None if there is none.
        version: the version in the file's name.
    """

    name: str
    path: str | None
    version: DriverVersion | None = None


class UserDriver(Struct, frozen=True, repr_omit_defaults=True):
    """A copy of libcuda.

    Attributes:
        path: the path by which the loader finds the copy, or the copy's own path.
        real: the file itself, after all symbolic links are followed.
        found_by: how the loader finds the copy: ``LD_LIBRARY_PATH``, ``ld.so.cache``.
        version: the version in the file's name; None on WSL2 and Jetson, whose file names have no
            version.
        cuda: its CUDA release.
        cuda_source: where the CUDA release comes from: ``cuDriverGetVersion``, ``compatibility
            note`` or the name of a folder.
        compat: the reasons why this is a cuda-compat copy; empty if it isn't one.
        note: its compatibility note.
        stub: True for a stub, which has only the names that a linker needs, and no code.
        siblings: the libraries that libcuda opens to compile code.
        is_compat_package: True for a cuda-compat copy outside the folders of drivers.
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
    is_compat_package: bool = False

    @property
    def is_compat(self) -> bool:
        """Return whether this libcuda is from cuda-compat, not from the driver."""
        return bool(self.compat)

    @property
    def missing(self) -> tuple[str, ...]:
        """The libraries of the driver that are missing from the folder of libcuda."""
        return tuple(sibling.name for sibling in self.siblings if sibling.path is None)


class CompatFolder(Struct, frozen=True):
    """A folder with a cuda-compat copy of libcuda.

    Attributes:
        driver: the copy.
        listed_by: the settings that make the loader search the folder: ``LD_LIBRARY_PATH``, or a
            file in ld.so.conf.d.
        in_front: True if this is the copy that the loader loads.
    """

    driver: UserDriver
    listed_by: tuple[str, ...]
    in_front: bool


class LocalGpu(Struct, frozen=True):
    """A GPU of the machine.

    Attributes:
        name: ``NVIDIA H100 80GB HBM3``.
        arch: the architecture with the GPU's compute capability; None if unknown.
        source: the command or file that shows the GPU.
    """

    name: str
    arch: SmArch | None
    source: str


class LibraryPick(Struct, frozen=True):
    """The file that a program would load as nvJitLink, NVRTC or libNVVM, by one loading method.

    Attributes:
        library: ``nvJitLink``, ``nvrtc`` or ``nvvm``.
        way: ``ld.so`` (dlopen by soname) or ``cuda-pathfinder``.
        asked: the soname that the method looks for.
        path: the path that the method found; None if the method found nothing.
        real: the file itself, after all symbolic links are followed.
        found_by: the search rule that found the file (``LD_LIBRARY_PATH``, ``site-packages``), or
            the reason why nothing was found.
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
        path: the file itself, after all symbolic links are followed.
        found_via: the places or search rules that lead to this copy, separated by commas.
        version: ``12.4.127``, ``12.4``, or None.
        evidence: the source of the version: ``file banner``, ``file name``, ``dist-info`` ...
        builtins: the minor release of each libnvrtc-builtins in the folder of this NVRTC. NVRTC
            needs the builtins of its own release.
    """

    library: str
    path: str
    found_via: str
    version: str | None
    evidence: str | None
    builtins: tuple[Release, ...] = ()

    @property
    def release(self) -> Release | None:
        """The minor release: 12.4 if the version is 12.4.127."""
        return Release.parse(self.version) if self.version else None


class Toolkit(Struct, frozen=True):
    """An installed CUDA toolkit.

    Attributes:
        root: the folder of the toolkit, after all symbolic links are followed.
        reached: how the toolkit is found: ``CUDA_HOME``, ``PATH``, ``/usr/local/cuda``.
        version: ``12.4.131``, ``12.4``, or None.
        evidence: the source of the version: ``version.json``, ``nvcc --version`` ...
        nvcc: True if it has nvcc.
        nvlink: True if it has nvlink.
    """

    root: str
    reached: tuple[str, ...]
    version: str | None
    evidence: str | None
    nvcc: bool
    nvlink: bool


class InstalledPackage(Struct, frozen=True, order=True):
    """An installed Python or conda package, as its metadata describe it.

    Attributes:
        name: the name as published: ``nvidia-nvjitlink-cu12``.
        version: ``12.4.127``.
        folder: the folder that contains the package: site-packages, or conda's prefix.
    """

    name: str
    version: str
    folder: str


class Conda(Struct, frozen=True):
    """An active conda environment.

    Attributes:
        prefix: its folder.
        packages: the packages that contain CUDA libraries or tools, sorted by name.
    """

    prefix: str
    packages: tuple[InstalledPackage, ...]


class Jetson(Struct, frozen=True):
    """The board of an integrated GPU.

    Attributes:
        release: release of Linux for Tegra: ``36.4.3``; None if unknown.
        model: the name of the board, such as ``NVIDIA Jetson AGX Orin Developer Kit``.
    """

    release: str | None
    model: str | None


class Environment(Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """The facts on which CUDA code depends, for one machine; None or empty if nothing was found.

    Attributes:
        system: operating system and processor.
        kernel_driver: the kernel driver.
        user_driver: the libcuda.so.1 that a program would really load.
        compat_folders: every copy of cuda-compat, even if the loader does not use it.
        gpus: the GPUs.
        nvjitlinks: every nvJitLink that was found, oldest first.
        compilers: every NVRTC and libNVVM that was found.
        picks: the file that each loading method finds for each library.
        toolkits: installed toolkits.
        wheels: installed Python packages that contain or use CUDA.
        conda: the active conda environment.
        wsl2: True on WSL2 (Linux on Windows).
        jetson: the board of an integrated GPU.
        container: the kind of container (``docker``, ``image``); None if the machine is not a
            container.
        variables: environment variables that CUDA, NVIDIA's containers and the loader read.
        python: the Python interpreter that was asked which libraries it loads.
        problems: facts that could not be determined, and why.
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
        """Return the files that a loading method finds for a library, one for each soname."""
        return tuple(pick for pick in self.picks if (pick.library, pick.way) == (library, way))

    def variable(self, name: str) -> str | None:
        """Return the value of an environment variable that CUDA reads."""
        return dict(self.variables).get(name)
