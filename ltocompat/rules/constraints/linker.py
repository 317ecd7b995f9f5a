"""Constraints on nvJitLink, nvlink and NVRTC."""

from __future__ import annotations

from typing import ClassVar

from ltocompat.facts import gpus, horizon, nvjitlink_minors
from ltocompat.model.arch import Release
from ltocompat.model.verdict import Verdict
from ltocompat.rules import floors
from ltocompat.rules.constraints.any_component import FIRST_NVJITLINK, AlwaysMet
from ltocompat.rules.rule import Component, Constraint, Floor, Unbounded


class _OnLinker(Constraint, frozen=True):
    """A constraint on the release of nvJitLink or nvlink."""

    component: ClassVar = Component.LINKER


class LinkerTargets(_OnLinker, frozen=True):
    """A linker that can produce code for this architecture, of which it minds the suffix ``f``.

    A linker that is newer than the tables says itself what it makes code for.
    """

    of_gpu: ClassVar = True
    number: int
    family: bool = False

    def __str__(self) -> str:
        row = gpus.sm(self.number)
        if row is None:
            return f"one that knows sm_{self.number}"
        next_major = nvjitlink_minors()[-1].major + 1  # which may drop it
        last = f"<= {row.last_toolkit}" if row.last_toolkit else f"< {next_major}"
        return f">= {self._first(row)}, {last}"

    def judge(self, value: Release) -> Verdict:
        """``fail`` where the architecture is not in the linker's list.

        ``unknown`` where a new major may have dropped it, or where it is as new as the linker.
        """
        if gpus.sm(self.number) is None:
            return Verdict.UNKNOWN if horizon.of_linker(value).beyond else Verdict.FAIL
        known = self.number in gpus.linker_targets(value)
        if not known or (self.family and value < floors.linker("family-linker")):
            return Verdict.FAIL
        return Verdict.UNKNOWN if horizon.is_new_major(value) else Verdict.OK

    def floor(self) -> Floor[Release] | Unbounded:
        """The first release with the architecture; none for one above the tables."""
        row = gpus.sm(self.number)
        return Unbounded.NONE_KNOWN if row is None else Floor(self._first(row), self._first(row))

    def _first(self, row: gpus.Sm) -> Release:
        family = floors.linker("family-linker")
        return max(row.first_toolkit, family) if self.family else row.first_toolkit


class LinkerFinding(_OnLinker, frozen=True):
    """A linker that takes what a module has for a target.

    Attributes:
        releases: those that do, oldest first; newer ones than all that are known do as the newest.
        since: before this release another rule objects, since the code is newer than the linker.
    """

    of_gpu: ClassVar = True
    releases: tuple[Release, ...]
    since: Release

    def __str__(self) -> str:
        *before, last = self.releases
        known = nvjitlink_minors()
        first = last
        while before and before[-1] == known[known.index(first) - 1]:
            first = before.pop()
        end = f">= {first}" if last == known[-1] else f"{first} to {last}"
        return f"{before[0]} to {before[-1]} or {end}" if before else end

    def judge(self, value: Release) -> Verdict:
        """``fail`` for a release that takes none of it."""
        found = value < self.since or horizon.of_linker(value).below in self.releases
        return Verdict.OK if found else Verdict.FAIL

    def floor(self) -> Floor[Release]:
        """The first release that does."""
        return Floor(self.releases[0], self.releases[0])


class LinkerTolerating(_OnLinker, frozen=True):
    """A linker of this release or newer, which accepts it although NVIDIA promises nothing.

    Attributes:
        since: the first release that takes it.
        always: every one from then on does, so far; else only some, or not in each case.
    """

    since: Release
    always: bool = True

    def __str__(self) -> str:
        return f">= {self.since}"

    def judge(self, value: Release) -> Verdict:
        """``fail`` before it, ``undocumented`` or ``unknown`` from then on."""
        if value < self.since:
            return Verdict.FAIL
        return Verdict.UNDOCUMENTED if self.always else Verdict.UNKNOWN

    def floor(self) -> Unbounded:
        """None: no release makes it right."""
        return Unbounded.ANY


class LinkerNotOlderThan(_OnLinker, frozen=True):
    """A linker whose minor release is no older than that of LTO-IR made by one of ``releases``.

    Attributes:
        releases: those that can have made it, oldest first; empty when it is outside the tables.
        beyond: with no releases: the newest release that it is newer than, as far as is known.
    """

    names_compiler: ClassVar = True
    releases: tuple[Release, ...]
    beyond: Release | None = None

    def __str__(self) -> str:
        if len(self.releases) > 1:
            return f">= {self.releases[0]} (>= {self.releases[-1]} to be sure)"
        if self.releases:
            return f">= {self.releases[-1]}"
        return f"newer than {self.beyond}" if self.beyond else "of an unknown release"

    def judge(self, value: Release) -> Verdict:
        """``fail`` where every release is newer; ``unknown`` where only some are."""
        if not self.releases:
            too_old = self.beyond is not None and value <= self.beyond
            return Verdict.FAIL if too_old else Verdict.UNKNOWN
        newer = [release > value for release in self.releases]
        if all(newer):
            return Verdict.FAIL
        return Verdict.UNKNOWN if any(newer) else Verdict.OK

    def floor(self) -> Floor[Release] | Unbounded:
        """The oldest and the newest release that can have made it."""
        if self.releases:
            return Floor(self.releases[0], self.releases[-1])
        newer = self.beyond is not None and self.beyond >= nvjitlink_minors()[-1]
        return Unbounded.NONE_KNOWN if newer else Unbounded.NOT_KNOWN


class LinkerOfMajor(_OnLinker, frozen=True):
    """A linker of the same major as LTO-IR made by one of ``releases``: all that is documented."""

    driver_may_link: ClassVar = True  # LTO-IR from before 12.0, the one that nvJitLinks refuse
    releases: tuple[Release, ...]

    def __str__(self) -> str:
        return "of major " + " or ".join(sorted({str(release.major) for release in self.releases}))

    def judge(self, value: Release) -> Verdict:
        """``undocumented`` across majors upward, ``fail`` for what NVVM before 12.0 wrote.

        An older major is left to the rule on minor releases, which fails there. What a new major
        takes of older ones is ``unknown``.
        """
        possible = [release for release in self.releases if release <= value]
        if not possible:
            return Verdict.OK
        if all(release.major < FIRST_NVJITLINK.major for release in possible):
            return Verdict.FAIL
        if all(release.major == value.major for release in possible):
            return Verdict.OK
        return Verdict.UNKNOWN if horizon.is_new_major(value) else Verdict.UNDOCUMENTED

    def floor(self) -> Unbounded:
        """None: across majors it links, unpromised; but nothing links what is older than 12.0."""
        ancient = self.releases and self.releases[-1] < FIRST_NVJITLINK
        return Unbounded.NONE_KNOWN if ancient else Unbounded.ANY


class LinkerOfKnownMaker(AlwaysMet, frozen=True):
    """A linker that is new enough only if no release after the tables made the LTO-IR.

    The bytes don't show who made it; a linker that takes it is no older than its compiler.

    Attributes:
        newest: the newest release that can have made it, as far as the tables go.
    """

    component: ClassVar = Component.LINKER
    weighs_values: ClassVar = False
    newest: Release

    def __str__(self) -> str:
        return "any"

    def noted(self, value: Release) -> bool:
        """Return whether it is new enough for every known release; a new major is unknown."""
        return value >= self.newest and not horizon.is_new_major(value)


class LinkerOfCubin(_OnLinker, frozen=True):
    """A linker whose minor release is no older than the tool that wrote a cubin.

    Attributes:
        writer: release of that tool.
        tolerated: the cubin is one that later linkers of 12.x take although they are older.
        doubtful: one that some of them take, and others refuse.
    """

    writer: Release
    tolerated: bool = False
    doubtful: bool = False

    def __str__(self) -> str:
        return f">= {self.writer}"

    def judge(self, value: Release) -> Verdict:
        """``fail`` for an older linker; ``undocumented`` where it was seen to take the cubin."""
        if value >= self.writer:
            return Verdict.OK
        tolerant = floors.linker("generation-2-linker-exception")
        seen = self.tolerated and value.major == tolerant.major and value >= tolerant
        if self.doubtful and value.major == tolerant.major and value >= tolerant:
            return Verdict.UNKNOWN
        return Verdict.UNDOCUMENTED if seen else Verdict.FAIL

    def floor(self) -> Floor[Release]:
        """The release of the writer; what older ones take is not promised."""
        return Floor(self.writer, self.writer)


class LinkerExporting(_OnLinker, frozen=True):
    """An nvJitLink that has the symbols of this release: the same major, no older minor.

    Attributes:
        least: the highest release among the imported symbols.
        by_name: the file asks for nvJitLink by soname, so that another major is not even opened:
            left to the rule on sonames.
    """

    least: Release
    by_name: bool = False

    def __str__(self) -> str:
        return f">= {self.least}, < {self.least.major + 1}"

    def judge(self, value: Release) -> Verdict:
        """``fail`` for an older minor, and for another major, which never has these symbols."""
        if value.major != self.least.major:
            return Verdict.OK if self.by_name else Verdict.FAIL
        return Verdict.OK if value >= self.least else Verdict.FAIL

    def floor(self) -> Floor[Release]:
        """The least version, possible and sure."""
        return Floor(self.least, self.least)


class LinkerNamed(_OnLinker, frozen=True):
    """An nvJitLink of one of the majors whose file names are asked for.

    Attributes:
        majors: ascending.
        certain: the loader itself needs the file; else the program may do without it.
    """

    majors: tuple[int, ...]
    certain: bool

    def __str__(self) -> str:
        return "of major " + " or ".join(map(str, self.majors))

    def judge(self, value: Release) -> Verdict:
        """``fail`` for another major; ``unknown`` where the file is opened while running."""
        if value.major in self.majors:
            return Verdict.OK
        return Verdict.FAIL if self.certain else Verdict.UNKNOWN

    def floor(self) -> Floor[Release]:
        """Any minor of the oldest major."""
        oldest = Release(self.majors[0], 0)
        return Floor(oldest, oldest)


class NvrtcOfMinor(Constraint, frozen=True):
    """An NVRTC of exactly this minor: its builtins carry the minor in their soname."""

    component: ClassVar = Component.NVRTC
    release: Release

    def __str__(self) -> str:
        return str(self.release)

    def judge(self, value: Release) -> Verdict:
        """``fail`` for every other minor."""
        return Verdict.OK if value == self.release else Verdict.FAIL

    def floor(self) -> Floor[Release]:
        """The release itself."""
        return Floor(self.release, self.release)
