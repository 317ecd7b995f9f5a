"""What an artifact asks of wherever it goes, as values: the answer of ``require``."""

from __future__ import annotations

from msgspec import Struct

from ltocompat.model.arch import Release
from ltocompat.model.place import Place
from ltocompat.model.row import Row, text_or_none
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Coverage, Route, Verdict


class Asked(Struct, frozen=True):
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

    component: str
    constraint: str
    rule: str
    subject: str
    consequence: str
    evidence: str
    module_count: int
    example: Place
    names_compiler: bool = False

    def to_row(self) -> Row:
        """A row of a table; ``modules`` is their number, ``place`` the first."""
        return {
            "component": self.component,
            "constraint": self.constraint,
            "rule": self.rule,
            "subject": self.subject,
            "consequence": self.consequence,
            "evidence": self.evidence,
            "modules": self.module_count,
            "place": str(self.example),
        }


class LinkerFloor(Struct, frozen=True):
    """The least nvJitLink that links all LTO-IR (and PTX, and SASS) of an artifact.

    Attributes:
        possible: no older one can link it all.
        sure: this one and newer ones of its major surely can; the same as ``possible`` where the
            evidence is exact or a trial was asked. None where a maker is outside of the tables.
        ceiling: the major from which on it is no longer documented, e.g. 14.
        tried: trial links settled it.
        rules: the rules that set it.
    """

    possible: Release
    sure: Release | None
    ceiling: int
    tried: bool
    rules: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether one floor is left."""
        return self.possible == self.sure


class RouteFloor(Struct, frozen=True):
    """The floors on one GPU by one route: ``check`` passes with them, and not just below.

    Attributes:
        route: ``load`` or ``link`` where modules can go both ways, else None.
        coverage: how many modules serve the GPU there.
        driver: the least driver; None where nothing serves, or no known one does.
        nvjitlink: the least nvJitLink; None where none is asked for, or none is known.
        verdict: what ``check`` says with both; ``fail`` where no version does.
        set_by: the rules that object one step below; where no version does, those that object.
        doubts: the rules by which it is no better than ``undocumented`` even so.
        last_driver: the newest driver that does.
        last_nvjitlink: the newest nvJitLink that does as well.
    """

    route: Route | None
    coverage: Coverage
    driver: DriverVersion | None
    nvjitlink: Release | None
    verdict: Verdict
    set_by: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    last_driver: DriverVersion | None = None
    last_nvjitlink: Release | None = None

    @property
    def beyond(self) -> bool:
        """Whether code is there for the GPU, and no known driver or nvJitLink does."""
        return self.coverage.served > 0 and self.driver is None


NEXT = "next"
"""The name of the generation of GPUs after all that are known."""


class Service(Struct, frozen=True):
    """How an artifact serves one GPU architecture.

    Attributes:
        number: 10 * major + minor of its compute capability.
        name: the generation, e.g. ``Hopper``; ``next`` for the one after all that are known.
        how: ``sass``, ``ptx``, ``link`` or ``none``; the best that any module offers.
        sass: number of modules that serve it by SASS.
        ptx: by PTX.
        link: by a link.
        none: not at all (those without kernels are left out).
        driver: the least driver there; None where nothing serves, or no floor is known.
        beyond: no known driver does there.
        nvjitlink: the least nvJitLink that links for it; None where nothing is linked, or none
            is known.
        routes: the floors of each line that ``check`` has for it; those above are the first's that
            serves.
        hardly: few modules serve it, beside those that serve another GPU, as ``check`` says there.
    """

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

    def to_row(self) -> Row:
        """A row of a table; its columns are named as the attributes, without ``routes``."""
        return {
            "number": self.number,
            "name": self.name,
            "how": self.how,
            "sass": self.sass,
            "ptx": self.ptx,
            "link": self.link,
            "none": self.none,
            "driver": text_or_none(self.driver),
            "beyond": self.beyond,
            "nvjitlink": text_or_none(self.nvjitlink),
            "hardly": self.hardly,
        }


DESTINATIONS = ("pip", "conda", "container", "variant")
"""Where lines go: requirements, a conda recipe, an image's environment, a variant wheel."""


class PasteLine(Struct, frozen=True):
    """A line for a file of the user's.

    Attributes:
        where: one of ``DESTINATIONS``.
        text: the line, e.g. ``nvidia-nvjitlink>=13.3,<14``.
        note: what to know of it, empty when nothing.
    """

    where: str
    text: str
    note: str = ""


class VariantFloors(Struct, frozen=True):
    """What one of several variants asks, with all that is in no variant.

    Attributes:
        name: its file or folder in the artifact.
        modules: how many there are.
        driver_sass, driver_ptx, ptx_beyond: as those of ``Required``.
        nvjitlink: the least nvJitLink that surely does, else the least that may.
    """

    name: str
    modules: int
    driver_sass: DriverVersion | None
    driver_ptx: DriverVersion | None
    ptx_beyond: bool
    nvjitlink: Release | None

    @property
    def driver(self) -> DriverVersion | None:
        """The least driver: for its SASS, else for its PTX."""
        return self.driver_sass or self.driver_ptx


NO_NVJITLINK = "no nvJitLink that is known links all of it"
"""Why no nvJitLink is known where each refuses something."""


class Required(Struct, frozen=True):
    """All that an artifact asks.

    Attributes:
        path: the artifact.
        modules: how many it has.
        nvjitlink: the least nvJitLink; None where nothing is linked, or none is known.
        driver_sass: the least driver for its SASS; None where it has none or no floor is known.
        driver_ptx: the least driver that compiles all of its PTX with kernels; likewise.
        ptx_beyond: some PTX is newer than the tables, so that no known driver compiles it.
        services: every known architecture that any toolkit since 12.0 targets, then the next one.
        link_options: options that its links must be given, such as ``-lto``.
        asked: every requirement, each once.
        lines: to paste.
        skipped: places that could not be read and are missing from all this.
        no_nvjitlink: why no nvJitLink is known for what is linked; empty where one is.
        variants: the floors of each variant, of which the artifact's are those of the one that asks
            least; empty where there is no choice.
    """

    path: str
    modules: int
    nvjitlink: LinkerFloor | None
    driver_sass: DriverVersion | None
    driver_ptx: DriverVersion | None
    ptx_beyond: bool
    services: tuple[Service, ...]
    link_options: tuple[str, ...]
    asked: tuple[Asked, ...]
    lines: tuple[PasteLine, ...]
    skipped: int
    no_nvjitlink: str = ""
    variants: tuple[VariantFloors, ...] = ()

    @property
    def nvjitlink_beyond(self) -> bool:
        """Whether something is linked that no known nvJitLink takes."""
        return self.no_nvjitlink == NO_NVJITLINK
