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


class Asked(Tabular, frozen=True):
    """One requirement of modules of an artifact.

    Attributes:
        component: what it is about: ``driver``, ``kernel driver``, ``nvJitLink``, ``link options``
            ...
        constraint: what that has to be, e.g. ``>= 550.54.14``.
        rule: ID of the rule that says so.
        subject: what asks, e.g. ``PTX 9.2``.
        consequence: what happens otherwise.
        evidence: the bytes that say so.
        module_count: how many modules ask it.
        example: the first of them.
        names_compiler: it compares with the release that compiled the code.
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
    """The minimum nvJitLink that links all LTO-IR (and PTX, and SASS) of an artifact.

    Attributes:
        possible: no older one can link it all.
        sure: this one and newer ones of its major surely can; the same as ``possible`` where the
            evidence is exact or a trial was asked. None where a maker is outside of the tables.
        ceiling: the major from which on it is no longer documented, e.g. 14.
        tried: trial links settled it.
        rules: the rules that set it.
        newest_producer: it holds if no CUDA release after this one made the scrambled LTO-IR, whose
            bytes don't show which did; None where they do, or a trial did.
    """

    possible: Release
    sure: Release | None
    ceiling: int
    tried: bool
    rules: tuple[str, ...] = ()
    newest_producer: Release | None = None

    @property
    def exact(self) -> bool:
        """Return whether one floor is left."""
        return self.possible == self.sure

    @property
    def at_least(self) -> Release:
        """The one that is asked for: that which surely does, where one is known."""
        return self.sure or self.possible

    @property
    def wheel(self) -> str:
        """The wheels that have it, as a requirement: those up to CUDA 12 bear it in their name."""
        suffix = "-cu12" if self.at_least.major == LAST_WITH_SUFFIX else ""
        return f"nvidia-nvjitlink{suffix}>={self.at_least},<{self.ceiling}"


class RouteFloor(Struct, frozen=True):
    """The floors on one GPU by one route: ``check`` passes with them, and not just below.

    Attributes:
        route: ``load`` or ``link`` where modules can go both ways, else None.
        coverage: how many modules serve the GPU there.
        driver: the minimum driver; None where nothing serves, or no known one does.
        nvjitlink: the minimum nvJitLink; None where none is asked for, or none is known.
        verdict: what ``check`` says with both; ``fail`` where no version does.
        set_by: the rules that object one step below; where no version does, those that object.
        doubts: the rules by which it is no better than ``undocumented`` even so.
        last_driver: the newest branch of drivers that does, ``R580``.
        last_nvjitlink: the newest nvJitLink that does as well.
        or_older: the tables begin with ``driver``, and an older one is not known to fail.
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

    @property
    def beyond(self) -> bool:
        """Return whether code is there for the GPU, and no known driver or nvJitLink does."""
        return self.coverage.served > 0 and self.driver is None


NEXT = "next"
"""The name of the generation of GPUs after all that are known."""


class Service(Tabular, frozen=True):
    """The support of an artifact for one GPU architecture.

    Attributes:
        number: 10 * major + minor of its compute capability.
        name: the generation, e.g. ``Hopper``; ``next`` for the one after all that are known.
        how: ``sass``, ``ptx``, ``link`` or ``none``; the best that any module offers.
        sass: number of modules that serve it by SASS.
        ptx: by PTX.
        link: by a link.
        none: not at all (those without kernels are left out).
        driver: the minimum driver there, with ``nvjitlink``, for all of its routes that some driver
            serves; None where nothing serves, or none does.
        beyond: no known driver does there.
        nvjitlink: the minimum nvJitLink that links for it; None where nothing is linked, or none
            is known.
        routes: the floors of each line that ``check`` has for it; those above meet all of them.
        hardly: few modules serve it, beside those that serve another GPU, as ``check`` says there.
        last_driver: the newest branch of drivers that does, ``R580``.
        last_nvjitlink: the newest nvJitLink that does.
        or_older: the tables begin with ``driver``, and an older one is not known to fail.
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
        """How many kernels it has, and how many the GPU that is served best; 0 for as many."""
        counts = ((route.coverage.kernels, route.coverage.best_kernels) for route in self.routes)
        return max(counts, key=lambda pair: pair[1], default=(0, 0))

    @property
    def unlinked(self) -> bool:
        """Return whether it is served, but not what has to be linked: no known nvJitLink does."""
        return self.driver is not None and any(
            route.coverage.link and route.beyond for route in self.routes
        )


DESTINATIONS = ("pip", "conda", "container", "dockerfile", "nfd", "variant")
"""Places for lines: requirements, a conda recipe, the environment of an image (a line of its
Dockerfile), the specification of an image for Node Feature Discovery, a variant wheel."""


class PasteLine(Struct, frozen=True):
    """A line for a file of the user's.

    Attributes:
        where: one of ``DESTINATIONS``.
        text: the line, e.g. ``nvidia-nvjitlink>=13.3,<14``.
        note: what to know of it, empty when nothing.
        met: the package's own metadata say so already, or more; ``text`` is as they have it.
    """

    where: str
    text: str
    note: str = ""
    met: bool = False


class VariantFloors(Struct, frozen=True):
    """The needs of one of several variants, with all that is in no variant.

    Attributes:
        name: its file or folder in the artifact.
        modules: how many there are.
        driver_sass, driver_ptx, ptx_beyond: as those of ``Required``.
        nvjitlink: the minimum nvJitLink that surely does, else the least that may.
        driver_or_older: as that of ``Required``.
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
        """The minimum driver: for its SASS, else for its PTX."""
        return self.driver_sass or self.driver_ptx


class FloorSetter(Tabular, frozen=True):
    """The distribution that sets a floor of several libraries together, and its code.

    Attributes:
        component: ``driver``, ``nvJitLink``, or ``GPU`` where it has no code for some.
        floor: ``>= 580.65.06``, ``no known driver``, ``no code``.
        distribution: ``torch 2.4.0``; the file, where it is of none.
        place: its library, or the first of its modules that ask it.
        archs: numbers of the architectures on which it is so; empty for nvJitLink.
        rules: those that set it.
        subject: what asks, ``SASS in the form of CUDA 13``; empty where it is the lack of code.
        without: the floor without that distribution; empty for none.
        release: the newest release of it that a survey has with a lower floor; empty for none.
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


NO_NVJITLINK = "no known nvJitLink links all of it"
"""Why no nvJitLink is known where each refuses something."""


class Required(Struct, frozen=True, kw_only=True):
    """The requirements of an artifact.

    Attributes:
        path: the artifact.
        modules: how many it has.
        nvjitlink: the minimum nvJitLink; None where nothing is linked, or none is known.
        driver_sass: the minimum driver for its SASS; None where it has none or no floor is known.
        driver_ptx: the minimum driver that compiles all of its PTX with kernels; likewise.
        ptx_beyond: some PTX is newer than the tables, so that no known driver compiles it.
        services: every known architecture that any toolkit since 12.0 targets, then the next one.
        link_options: options that its links must be given, such as ``-lto``.
        asked: every requirement, each once.
        lines: to paste.
        skipped: places that could not be read and are missing from all this.
        no_nvjitlink: why no nvJitLink is known for what is linked; empty where one is.
        variants: the floors of each variant, of which the artifact's are those of the one that asks
            least; empty where there is no choice.
        driver_or_older: ``sass`` and ``ptx``, where the tables begin with its driver, and an older
            one is not known to fail.
    """

    path: str
    modules: int
    nvjitlink: LinkerFloor | None
    no_nvjitlink: str = ""
    driver_sass: DriverVersion | None = None
    driver_ptx: DriverVersion | None = None
    ptx_beyond: bool = False
    services: tuple[Service, ...]
    link_options: tuple[str, ...] = ()
    asked: tuple[Asked, ...]
    lines: tuple[PasteLine, ...] = ()
    skipped: int = 0
    variants: tuple[VariantFloors, ...] = ()
    driver_or_older: tuple[str, ...] = ()

    @property
    def nvjitlink_beyond(self) -> bool:
        """Return whether something is linked that no known nvJitLink takes."""
        return self.no_nvjitlink == NO_NVJITLINK
