"""The nvJitLink and the NVRTC that a package needs: by imports, file names to open, LTO-IR."""

from __future__ import annotations

import enum
import posixpath
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.facts.libraries import is_of_unpublished_toolkit
from ltocompat.model.arch import Release
from ltocompat.model.image import HostBinary, ImageKind
from ltocompat.model.library_name import NVJITLINK, library_name
from ltocompat.model.mend import Mend
from ltocompat.model.requirement import LAST_WITH_SUFFIX
from ltocompat.model.verdict import Verdict
from ltocompat.packages.resolving import CONDA, STEP, WHEELS, Way, together, ways_to
from ltocompat.packages.values import Kind, Shipped
from ltocompat.rules import floors, linker_imports
from ltocompat.rules.rule import Problem
from ltocompat.targets.versions.packages import suffix_major

LIBRARIES = {"nvjitlink": "libnvJitLink", "nvrtc": "libnvrtc"}
TITLES = {"nvjitlink": "nvJitLink", "nvrtc": "NVRTC"}
_KEYS = {Kind.CONDA: "depends", Kind.DEBIAN: "Depends", Kind.RPM: "Requires"}


class Strength(enum.Enum):
    """The strength of a package's need of a library."""

    LOADED = "the loader loads it (DT_NEEDED)"
    LINKED = "it is opened by name, and there is LTO-IR to link"
    OPENED = "it may be opened by name"
    HANDED_OUT = "there is LTO-IR, which callers of the package link"


class NeededCompiler(Struct, frozen=True):
    """nvJitLink or NVRTC, as a package needs it; ``NeededLibrary`` has the other libraries.

    Attributes:
        part: ``nvjitlink`` or ``nvrtc``.
        strength: its strength.
        majors: the accepted majors, by the needed file names.
        possible: the oldest possible release; None if unknown (NVRTC).
        sure: a release that surely works; None if the tables end before.
        why: the code with the need, as the start of a sentence: ``libx.so needs libnvrtc.so.13``.
        doubt: the reason for the difference of both floors, as the start of a sentence.
        kind: the kind of the package.
        tried: True if trial links left that difference.
        installed: True if the package is in an environment, whose user writes no metadata.
    """

    part: str
    strength: Strength
    majors: tuple[int, ...]
    possible: Release | None
    sure: Release | None
    why: str
    kind: Kind
    doubt: str = ""
    tried: bool = False
    installed: bool = False

    @property
    def hard(self) -> bool:
        """Return whether something in the package fails without it."""
        return self.strength in (Strength.LOADED, Strength.LINKED)

    @property
    def exact(self) -> bool:
        """Return whether one floor is left."""
        return self.possible == self.sure

    @property
    def requirement(self) -> str:
        """The package that should be in the metadata, with its versions."""
        major = self.majors[-1]
        # NVRTC may be of no newer a major than the nvJitLink beside it (NJL-07).
        least = Release(0 if self.part == "nvrtc" else major, 0)
        floor = max(self.sure or self.possible or Release(major, 0), least)
        versions = f">={floor},<{floor.major + 1}"
        if self.kind is Kind.CONDA:
            return f"{CONDA[self.part]} {versions}"
        if self.kind is Kind.DEBIAN:
            return f"{LIBRARIES[self.part].lower()}{major} (>= {floor})"
        if self.kind is Kind.RPM:
            return f"{LIBRARIES[self.part]}.so.{major}()(64bit)"
        suffix = f"-cu{floor.major}" if floor.major <= LAST_WITH_SUFFIX else ""
        return f"{WHEELS[self.part]}{suffix}{versions}"

    @property
    def line(self) -> str:
        """The line that should be in the metadata."""
        return f"{_KEYS.get(self.kind, 'Requires-Dist')}: {self.requirement}"

    def mend(self, instead: str = "", extra: str | None = None) -> Mend:
        """Return the change that adds that line instead of one about another package."""
        return Mend.requiring(self.requirement, instead, extra)

    def problem(self, verdict: Verdict, text: str, way: Way, **more: object) -> Problem:
        """Return a problem of a dependency chain, with its fix."""
        found = Problem(
            verdict, text, self.advice, way.line, self.open_to_trial, subject=way.package
        )
        return replace(found, **more)

    @property
    def advice(self) -> str:
        """The fix: write or install that; if it may require too much, how to find out."""
        pip = "" if self.kind is Kind.CONDA else "run pip "
        step = f"{pip}install '{self.requirement}'" if self.installed else f"write {self.line}"
        if self.exact:
            return step
        if not self.tried:
            return f"{step}, unless a trial link shows that {self.possible} is enough"
        # Who asked the linkers of deploy targets has not asked all that are possible.
        how = "ltocompat require --trial-link"
        return f"{step}, or find out with {how} whether {self.possible} is enough"

    @property
    def open_to_trial(self) -> bool:
        """Return whether a trial link would find the floor, and none was made."""
        return not self.exact and not self.tried


_Named = tuple[HostBinary, str]  # a file, and the name that it needs or opens


def needed_compiler(part: str, shipped: Shipped) -> NeededCompiler | None:
    """Return the need of a package for a library; None for none, or if it contains the library."""
    library = LIBRARIES[part]
    own = set(_own_files(shipped, library))
    hosts = [host for host in shipped.hosts if host.linked]
    asking = [
        host
        for host in hosts
        if not any(each.how == "static" and each.name == library for each in host.libraries)
    ]
    loaded = list(_asked(asking, library, "needed", own))
    opened = list(_asked(asking, library, "opened", own))
    if own or (len(asking) < len(hosts) and not loaded):
        return None
    linked = part == "nvjitlink" and has_ltoir(shipped)
    if loaded:
        strength, named = Strength.LOADED, loaded
    elif opened:
        strength, named = (Strength.LINKED if linked else Strength.OPENED), opened
    elif linked:
        strength, named = Strength.HANDED_OUT, []
    else:
        return None
    if part == "nvrtc":
        return _nvrtc(shipped, strength, named)
    return _nvjitlink(shipped, strength, named, linked=linked)


def _nvrtc(shipped: Shipped, strength: Strength, named: list[_Named]) -> NeededCompiler | None:
    """The need of NVRTC, of no newer a major than the package's nvJitLink (NJL-07)."""
    majors = linker_imports.majors_of(file for _, file in named)
    own = linker_imports.majors_of(_own_files(shipped, NVJITLINK))
    for host in shipped.hosts:
        if any(each.how == "static" for each in host.libraries):
            own += linker_imports.majors(host, NVJITLINK)
    majors = tuple(major for major in majors if not own or major <= max(own)) or majors
    if not majors:
        return None
    linker = needed_compiler("nvjitlink", shipped)
    most = linker.possible.major if linker and linker.possible else max(own, default=majors[-1])
    right = [major for major in majors if major <= most]
    if not right and strength is Strength.OPENED:
        return None  # what it opens would make LTO-IR that its nvJitLink refuses
    floor = Release(max(right, default=majors[-1]), 0)
    return NeededCompiler(
        "nvrtc", strength, majors, floor, floor, _says(named, strength), shipped.package.kind
    )


def needed_compilers(shipped: Shipped) -> Iterator[NeededCompiler]:
    """Yield the needs of a package, for each library."""
    for need in filter(None, (needed_compiler(part, shipped) for part in LIBRARIES)):
        yield replace(need, installed=shipped.in_environment)


def ways_of(part: str, shipped: Shipped) -> tuple[Way, ...]:
    """Return the dependency chains to nvJitLink or NVRTC: one for each package and extra."""
    return together(ways_to(part, shipped.package, shipped.others, shipped.budget))


def siblings(need: NeededCompiler, ways: Sequence[Way]) -> Iterator[Way]:
    """Yield chains to another major that begin with the line of a right one: cuda-toolkit>=12."""
    right = {_begin(way) for way in ways if admits_right_major(way, need)}
    return (way for way in ways if _begin(way) in right and not admits_right_major(way, need))


def _begin(way: Way) -> tuple[str, str | None]:
    return way.line.partition(STEP)[0], way.extra


def has_ltoir(shipped: Shipped) -> bool:
    """Return whether it has LTO-IR that is linked at run time, not at build time."""
    return any(
        ImageKind.LTOIR in signature.kinds
        for signature, _ in shipped.signatures
        if not signature.registered and not signature.needs_device_link
    )


def _nvjitlink(
    shipped: Shipped, strength: Strength, named: list[_Named], *, linked: bool
) -> NeededCompiler | None:
    imports = [
        (floor, host, name)
        for host, _ in named
        for name in host.nvjitlink_imports
        if (floor := _floor_of(name)) is not None
    ]
    linker = shipped.required.nvjitlink if linked else None
    majors = linker_imports.majors_of(file for _, file in named)
    newest = max(imports, key=lambda row: row[0], default=None)
    if linker is not None:
        # Of several names to open, those of majors that can't link what is inside don't count.
        majors = tuple(major for major in majors if major >= linker.possible.major) or majors
        majors = majors or (linker.possible.major,)
    if not majors and (of_name := suffix_major(shipped.package.name)):
        majors = (of_name,)  # which it puts behind the name when it runs
    if not majors:
        return None
    lows = [Release(majors[0], 0)]
    lows += [newest[0]] if newest else []
    possible = max([*lows, *([linker.possible] if linker else [])])
    sure = max([*lows, linker.sure]) if linker and linker.sure else None if linker else max(lows)
    ltoir = _ltoir_of(shipped) if linker is not None else ""
    why = _says(named, strength)
    if newest is not None and newest[0] == possible:
        why = f"{linker_imports.short(newest[1].place.innermost)} imports {newest[2]}"
    elif linker is not None and linker.possible == possible:
        why = ltoir or why
    kind, doubt, tried = shipped.package.kind, ltoir or why, linker is not None and linker.tried
    return NeededCompiler("nvjitlink", strength, majors, possible, sure, why, kind, doubt, tried)


def _floor_of(name: str) -> Release | None:
    """The minimum nvJitLink that has a symbol."""
    version = linker_imports.version_of(name)
    least = floors.linker("linked-ltoir") if linker_imports.wants_ltoir(name) else None
    if version is None and least is None:
        return floors.linker("unversioned-symbols") if linker_imports.is_plain(name) else None
    return max(release for release in (version, least) if release is not None)


def _ltoir_of(shipped: Shipped) -> str:
    """The LTO-IR that asks for the newest linker, as requirements call it."""
    subjects = [asked.subject for asked in shipped.required.asked if asked.names_compiler]
    if not subjects:
        return ""
    return f"the package has {subjects[0] if len(subjects) == 1 else 'LTO-IR'}"


def _own_files(shipped: Shipped, library: str) -> Iterator[str]:
    """Names of the library's files that the package brings."""
    names = [posixpath.basename(file) for file in shipped.package.files]
    names += [host.soname for host in shipped.hosts if host.soname]
    return (name for name in names if library_name(name) == library and not name.endswith(".a"))


def _asked(hosts: Iterable[HostBinary], library: str, how: str, own: set[str]) -> Iterator[_Named]:
    for host in hosts:
        for file in linker_imports.files_of(host, library, how):
            if file not in own and not is_of_unpublished_toolkit(file):
                yield host, file


def _says(named: list[_Named], strength: Strength) -> str:
    if not named:
        return "the package has LTO-IR"
    host, file = named[0]
    does = "needs" if strength is Strength.LOADED else "opens"
    return f"{linker_imports.short(host.place.innermost)} {does} {file}"


def admits_right_major(way: Way, need: NeededCompiler) -> bool:
    """Return whether a chain admits an accepted major."""
    if way.allowed.releases:
        return any(release.major in need.majors for release in way.allowed.releases)
    major = suffix_major(way.package)
    return major in need.majors if major else True
