"""Requirements of an artifact, as values: the answer of ``require``."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from ltocompat.model.arch import Release
from ltocompat.model.location import Location
from ltocompat.model.row import Tabular
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Coverage, Route, Verdict

LAST_WITH_SUFFIX = 12  # NVIDIA's packages of CUDA 13 and newer have no -cu13


class ModuleRequirement(Tabular, frozen=True):
    """One requirement of an artifact's modules.

    Attributes:
        component: the part of the target: ``driver``, ``kernel driver``, ``nvJitLink``, ``link
            options`` ...
        constraint: the condition, e.g. ``>= 550.54.14``.
        rule: ID of the rule.
        subject: the code with the requirement, e.g. ``PTX 9.2``.
        consequence: what happens if the condition is not met.
        evidence: the bytes that prove the requirement.
        module_count: number of modules with the requirement.
        example: the first of these modules.
        names_compiler: True if the requirement depends on the release that compiled the code.
    """

    row_columns: ClassVar[str] = (
        "component constraint rule subject consequence evidence modules=module_count place=example"
    )

    component: str
    constraint: str
    rule: str
    subject: str
    consequence: str
    evidence: str
    module_count: int
    example: Location
    names_compiler: bool = False


class LinkerFloor(Struct, frozen=True):
    """The minimum nvJitLink that links all LTO-IR, PTX and SASS in an artifact.

    Attributes:
        possible: the oldest nvJitLink that may be able to link all inputs; no older release can
            link them.
        sure: the oldest nvJitLink that is certain to link all inputs; newer releases with the same
            major version link them, too. Equal to ``possible`` if the evidence is exact, or if
            trial links found the minimum. None if a compiler that made an input is not in the
            tables.
        ceiling: the first major version of nvJitLink for which NVIDIA no longer promises the link,
            e.g. 14.
        tried: True if trial links found the minimum.
        rules: the rules that set the minimum.
        newest_producer: the minimum holds if this CUDA release, or an older one, made the scrambled
            LTO-IR. None if the release is known from the bytes or from a trial link.
    """

    possible: Release
    sure: Release | None
    ceiling: int
    tried: bool
    rules: tuple[str, ...] = ()
    newest_producer: Release | None = None

    @property
    def exact(self) -> bool:
        """Return whether ``possible`` and ``sure`` are the same."""
        return self.possible == self.sure

    @property
    def at_least(self) -> Release:
        """The minimum to require: ``sure`` if ``sure`` is known, else ``possible``."""
        return self.sure or self.possible

    @property
    def wheel(self) -> str:
        """The requirement for NVIDIA's wheel, whose name ends in ``-cu12`` for CUDA 12."""
        suffix = "-cu12" if self.at_least.major == LAST_WITH_SUFFIX else ""
        return f"nvidia-nvjitlink{suffix}>={self.at_least},<{self.ceiling}"


class RouteFloor(Struct, frozen=True, repr_omit_defaults=True):
    """The minimum versions for one GPU and route. With older versions, ``check`` doesn't pass.

    Attributes:
        route: ``load`` or ``link`` if modules can use both routes, else None.
        coverage: how many modules have code for the GPU, and how many have none.
        driver: the minimum driver; None if there is no code for the GPU, or if no known driver
            works.
        nvjitlink: the minimum nvJitLink; None if no nvJitLink is needed, or no minimum is known.
        verdict: the verdict that ``check`` gives for both minimum versions together; ``fail`` if no
            version works.
        set_by: the rules that object to the version just before the minimum. If no version works,
            the rules with the verdict ``fail``.
        doubts: the rules that make the verdict ``undocumented`` or worse even with these versions.
        last_driver: the newest driver branch that works, such as ``R580``.
        last_nvjitlink: the newest nvJitLink that works.
        or_older: True if ``driver`` is the oldest in the tables; an older driver may work.
        possible_driver: the oldest driver that may work; no driver from this one to ``driver`` is
            certain to fail.
        undocumented: the ``doubts`` for which these versions are only ``undocumented``.
    """

    route: Route | None
    coverage: Coverage
    driver: DriverVersion | None
    last_driver: DriverVersion | None
    nvjitlink: Release | None
    last_nvjitlink: Release | None
    verdict: Verdict
    set_by: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    or_older: bool = False
    possible_driver: DriverVersion | None = None
    undocumented: tuple[str, ...] = ()

    @property
    def beyond(self) -> bool:
        """Return whether there is code for the GPU that works with no known driver or nvJitLink."""
        return self.coverage.served > 0 and self.driver is None


# The name of the GPU generation after all known ones.
NEXT = "next"


class GpuSupport(Tabular, frozen=True):
    """How well an artifact supports one GPU architecture.

    Attributes:
        number: the compute capability as 10 * major + minor.
        name: the generation, e.g. ``Hopper``; ``next`` for the generation after all known
            generations.
        how: ``sass``, ``ptx``, ``link`` or ``none``: the best kind of code in any module.
        sass: number of modules whose SASS runs on this architecture.
        ptx: number of modules whose PTX the driver compiles for this architecture.
        link: number of modules that are linked for this architecture.
        none: number of modules with kernels, but without code for this architecture.
        driver: the minimum driver. With this driver and ``nvjitlink``, all routes work, except
            routes for which no known driver works. None if there is no code, or if no known driver
            works.
        beyond: True if no known driver works.
        nvjitlink: the minimum nvJitLink that links code for this architecture, if the driver is
            ``driver``. None if nothing is linked, or if no minimum is known.
        routes: the minimum versions for each route; the pair of ``driver`` and ``nvjitlink`` is
            enough for all routes.
        hardly: True if far fewer modules have code for this GPU than for another GPU; ``check``
            then warns.
        last_driver: the newest driver branch that works, such as ``R580``.
        last_nvjitlink: the newest nvJitLink that works.
        or_older: True if ``driver`` is the oldest in the tables; an older driver may work.
    """

    row_columns: ClassVar[str] = (
        "arch number name how sass ptx link none driver beyond nvjitlink hardly last_driver "
        "last_nvjitlink or_older"
    )

    number: int
    name: str
    how: str
    sass: int
    ptx: int
    link: int
    none: int
    driver: DriverVersion | None
    beyond: bool = False
    nvjitlink: Release | None = None
    routes: tuple[RouteFloor, ...] = ()
    hardly: bool = False
    last_driver: DriverVersion | None = None
    last_nvjitlink: Release | None = None
    or_older: bool = False

    @property
    def arch(self) -> str:
        """``sm_90``."""
        return f"sm_{self.number}"

    @property
    def kernels(self) -> tuple[int, int]:
        """The numbers of kernels for this GPU and the best-covered GPU; 0 if none is missing."""
        counts = ((route.coverage.kernels, route.coverage.best_kernels) for route in self.routes)
        return max(counts, key=lambda pair: pair[1], default=(0, 0))

    @property
    def unlinked(self) -> bool:
        """Return whether a known driver loads the code, but no known nvJitLink links it."""
        return self.driver is not None and any(
            route.coverage.link and route.beyond for route in self.routes
        )


# Places for lines: requirements, a conda recipe, the environment of an image (a line of its
# Dockerfile), the specification of an image for Node Feature Discovery, a variant wheel.
DESTINATIONS = ("pip", "conda", "container", "dockerfile", "nfd", "variant")


class PasteLine(Struct, frozen=True):
    """A line to paste into one of the user's files.

    Attributes:
        where: one of ``DESTINATIONS``.
        text: the line, e.g. ``nvidia-nvjitlink>=13.3,<14``.
        note: a note about the line; empty if there is none.
        met: True if the package's metadata already have this requirement or a tighter requirement.
            If so, ``text`` is the line in the metadata.
    """

    where: str
    text: str
    note: str = ""
    met: bool = False


class VariantFloors(Struct, frozen=True):
    """The requirements of one variant and of the files that belong to no variant.

    Attributes:
        name: file or folder of the variant in the artifact.
        modules: number of modules.
        driver_sass, driver_ptx, ptx_beyond: as in ``Required``.
        nvjitlink: the minimum nvJitLink that is certain to work. If this minimum is unknown, it is
            the oldest nvJitLink that may work.
        driver_or_older: as in ``Required``.
    """

    name: str
    modules: int
    driver_sass: DriverVersion | None
    driver_ptx: DriverVersion | None
    ptx_beyond: bool
    nvjitlink: Release | None
    driver_or_older: tuple[str, ...] = ()

    @property
    def driver(self) -> DriverVersion | None:
        """The minimum driver for the variant's SASS; if there is no SASS, for its PTX."""
        return self.driver_sass or self.driver_ptx


class FloorSetter(Tabular, frozen=True):
    """The distribution that sets a minimum of several libraries together, and its code.

    Attributes:
        component: ``driver`` or ``nvJitLink``; ``GPU`` if the distribution has no code for some
            GPU.
        floor: ``>= 580.65.06``, ``no known driver``, ``no code``.
        distribution: name and version, such as ``torch 2.4.0``; the path of the file, if it belongs
            to no distribution.
        place: the first module that needs the minimum, or its library.
        archs: numbers of the architectures for which the distribution sets the minimum; empty for
            nvJitLink.
        rules: the rules that set the minimum.
        subject: the code that needs the minimum, such as ``SASS in the form of CUDA 13``; empty if
            the distribution lacks code for the GPU.
        without: the minimum of the other distributions; empty if they have none.
        release: in a survey, the newest release of the distribution with a lower minimum; empty if
            there is none.
    """

    row_columns: ClassVar[str] = (
        "component floor distribution place archs rules subject without release"
    )

    component: str
    floor: str
    distribution: str
    place: Location
    archs: tuple[int, ...] = ()
    rules: tuple[str, ...] = ()
    subject: str = ""
    without: str = ""
    release: str = ""


# The reason why no nvJitLink is known if each one refuses some input.
NO_NVJITLINK = "no known nvJitLink links all of it"


class Required(Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """The requirements of an artifact.

    Attributes:
        path: the artifact.
        modules: number of its modules.
        nvjitlink: the minimum nvJitLink; None if nothing is linked, or no minimum is known.
        driver_sass: the minimum driver for the SASS; None if there is no SASS or no known minimum.
        driver_ptx: the minimum driver that compiles all PTX that has kernels; None if there is no
            such PTX or no known minimum.
        ptx_beyond: True if some PTX has a version that no known driver compiles.
        services: the support for each architecture that any toolkit since 12.0 targets, and then
            for the next generation.
        link_options: options that the artifact's links need, such as ``-lto``.
        asked: the requirements, each once.
        lines: lines to paste.
        skipped: number of places that could not be read; the answer does not include their
            requirements.
        no_nvjitlink: the reason why no nvJitLink is known although code is linked; else empty.
        variants: the minimum versions for each variant; empty if there are no variants. The minimum
            versions of the artifact are those of the variant that requires the oldest versions.
        driver_or_older: the kinds of code (``sass``, ``ptx``) whose minimum driver is the oldest in
            the tables. An older driver may then work.
    """

    path: str
    modules: int
    nvjitlink: LinkerFloor | None
    no_nvjitlink: str = ""
    driver_sass: DriverVersion | None = None
    driver_ptx: DriverVersion | None = None
    ptx_beyond: bool = False
    services: tuple[GpuSupport, ...]
    link_options: tuple[str, ...] = ()
    asked: tuple[ModuleRequirement, ...]
    lines: tuple[PasteLine, ...] = ()
    skipped: int = 0
    variants: tuple[VariantFloors, ...] = ()
    driver_or_older: tuple[str, ...] = ()

    @property
    def nvjitlink_beyond(self) -> bool:
        """Return whether some code has to be linked that no known nvJitLink accepts."""
        return self.no_nvjitlink == NO_NVJITLINK
