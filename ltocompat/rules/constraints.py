"""Constraints on the components of a target, and the least version that meets some of them."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from ltocompat.facts import drivers, gpus, horizon, nvjitlink_minors, toolkits
from ltocompat.facts.drivers import compat_branch, compat_use
from ltocompat.model.arch import Release
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Verdict
from ltocompat.rules import floors
from ltocompat.rules.rule import CompatUse, Component, Constraint, Unbounded

FIRST_NVJITLINK = Release(12, 0)

_LINUX = "linux"


class AlwaysMet(Constraint, frozen=True):
    """A demand that every value meets, of which some are worth a note."""

    def judge(self, value: object) -> Verdict:
        """``ok``."""
        del value
        return Verdict.OK


class Informational(AlwaysMet, frozen=True):
    """Something that is worth a note on any target."""

    component: ClassVar = Component.NONE
    weighs_values: ClassVar = False

    def __str__(self) -> str:
        return "noted"

    def noted(self, value: object) -> bool:
        """True."""
        del value
        return True


class FixedVerdict(Constraint, frozen=True):
    """Nothing that a target has changes this verdict.

    Attributes:
        verdict: the verdict.
        component: the part of a target that it is about.
    """

    weighs_values: ClassVar = False
    verdict: Verdict
    component: Component = Component.NONE

    def __str__(self) -> str:
        return "anything"

    def judge(self, value: object) -> Verdict:
        """The verdict."""
        del value
        return self.verdict


class Threshold(Constraint, frozen=True):
    """Versions that fail, then some that are open, then those that surely do.

    Attributes:
        component: the part of a target that has such versions.
        possible: all older ones fail; None: none is known to.
        sure: it and newer ones surely do; None: none is known to.
        between: the verdict on those that neither fail nor surely do.
        text: the versions in words; without them it is one version or a newer one.
        known_from: what is older than this is open, too.
    """

    component: Component
    possible: Release | DriverVersion | None
    sure: Release | DriverVersion | None
    between: Verdict = Verdict.UNKNOWN
    text: str = ""
    known_from: DriverVersion | None = None

    def __str__(self) -> str:
        return self.text or f">= {self.sure or self.possible}"

    def judge(self, value: Any) -> Verdict:  # noqa: ANN401 - a version of the component
        """``ok`` from ``sure`` on, ``fail`` below ``possible``."""
        if self.sure is not None and value >= self.sure:
            return Verdict.OK
        if self.known_from is not None and value < self.known_from:
            return Verdict.UNKNOWN
        return Verdict.FAIL if self.possible and value < self.possible else self.between


def at_least(
    least: Release | DriverVersion, *, open_below: bool = False, nondeterministic: bool = False
) -> Threshold:
    """A linker, or a driver, of this version or a newer one; an older one fails, or is open."""
    component = Component.LINKER if isinstance(least, Release) else Component.DRIVER
    open_driver = open_below and component is Component.DRIVER
    return Threshold(
        component,
        None if open_below else least,
        least,
        text=f">= {least}, to be sure" if open_driver else "",
        nondeterministic=nondeterministic,
    )


def unknown_version(component: Component) -> Threshold:
    """A version that the tables don't tell."""
    return Threshold(component, None, None, text="of a release that the tables don't tell")


def driver_of_cuda(cuda: Release, *, surely: bool = True) -> Threshold:
    """A driver that comes from a CUDA release or a newer one.

    A driver outside of the tables may be one, on either side.

    Args:
        cuda: that release.
        surely: all of those do; else it is only known that older ones don't.
    """
    branch = drivers.first_branch_from(cuda)
    first = DriverVersion((branch,)) if branch else None
    named = f">= {branch}" if branch else f"newer than {drivers.driver_branches()[-1]}"
    return Threshold(
        Component.DRIVER,
        first or drivers.beyond_tables(),
        first if surely else None,
        text=f"{named} (CUDA {cuda})",
        known_from=DriverVersion((drivers.driver_branches()[0],)),
    )


class DriverOfWriter(AlwaysMet, frozen=True):
    """A driver that is as new as the toolkit that wrote the code, where its major is enough.

    Minor-version compatibility is documented: every driver of the major is ``ok``.
    """

    component: ClassVar = Component.DRIVER
    cuda: Release

    def __str__(self) -> str:
        return f"of CUDA {self.cuda} for everything that this release has"

    def noted(self, value: DriverVersion) -> bool:
        """Return whether the driver is of the same major and an older minor."""
        known = driver_cuda(value)
        return known is not None and known.major == self.cuda.major and known < self.cuda


def driver_sure_from(cuda: Release, blind: Release) -> Threshold:
    """A driver from a CUDA release on surely works, and none up to that of ``blind`` does."""
    sure = drivers.first_branch_from(cuda)
    later = drivers.first_branch_from(Release(blind.major, blind.minor + 1))
    return Threshold(
        Component.DRIVER,
        DriverVersion((later,)) if later else drivers.beyond_tables(),
        DriverVersion((sure,)) if sure else None,
        text=f"of CUDA {cuda} or newer, to be sure",
        ignores_concatenated=True,
    )


def kernel_knows(number: int) -> Threshold:
    """A kernel driver that is new enough for GPUs of a compute capability (10 * major + minor).

    The floors are derived from the first toolkit that targets the GPU. A GPU above the tables may
    be known to drivers above them.
    """
    row = gpus.sm(number)
    if row is None:
        newest = f"newer than {drivers.driver_branches()[-1]}"
        beyond = drivers.beyond_tables()
        return Threshold(Component.KERNEL, beyond, None, text=newest, of_gpu=True)
    first = DriverVersion((row.first_branch or 0,))
    text = "" if row.first_branch else "any"
    return Threshold(Component.KERNEL, first, first, text=text, of_gpu=True)


class KernelStillServes(Constraint, frozen=True):
    """A kernel driver that has not dropped GPUs of this compute capability (10 * major + minor)."""

    component: ClassVar = Component.KERNEL
    number: int

    def __str__(self) -> str:
        row = gpus.sm(self.number)
        return f"<= {row.last_branch}" if row and row.last_branch else "any"

    def judge(self, value: DriverVersion) -> Verdict:
        """``fail`` above the last branch that supports the GPU."""
        row = gpus.sm(self.number)
        branch = drivers.branch_of(value)
        dropped = row is not None and row.last_branch is not None and branch > row.last_branch
        return Verdict.FAIL if dropped else Verdict.OK


class _OnCompat(Constraint, frozen=True):
    """A constraint on cuda-compat on Linux: elsewhere there is none, and another rule says so."""

    component: ClassVar = Component.COMPAT

    def judge(self, value: CompatUse) -> Verdict:
        """Judge a package in front of a driver."""
        return self._on_linux(value) if value.system == _LINUX else Verdict.OK

    @abstractmethod
    def _on_linux(self, value: CompatUse) -> Verdict:
        """The same, on Linux itself."""


class CompatPairProvided(_OnCompat, frozen=True):
    """A package that NVIDIA provides for the kernel driver beneath."""

    def __str__(self) -> str:
        return "in a pair with its kernel driver that NVIDIA provides"

    def _on_linux(self, value: CompatUse) -> Verdict:
        """``fail`` for a pair that the table rules out, ``unknown`` for one that it lacks.

        A package that is no newer than the driver is left to another rule.
        """
        if is_shadowing(value):
            return Verdict.OK
        if value.kernel is None:
            return Verdict.UNKNOWN
        use = compat_use(value.package, value.kernel.branch)
        return {"usable": Verdict.OK, "none": Verdict.FAIL}.get(use or "", Verdict.UNKNOWN)


class CompatOnSupportedGpu(_OnCompat, frozen=True):
    """A GPU that forward compatibility is made for."""

    def __str__(self) -> str:
        return "on a data centre GPU, an NGC-ready RTX or a Jetson"

    def _on_linux(self, value: CompatUse) -> Verdict:
        """``fail`` on other GPUs, ``unknown`` where the name of the GPU doesn't tell."""
        if value.gpu.data_center is None:
            return Verdict.UNKNOWN
        return Verdict.OK if value.gpu.data_center else Verdict.FAIL


class CompatNewerThanKernel(_OnCompat, frozen=True):
    """A package of a newer driver branch than the kernel driver."""

    def __str__(self) -> str:
        return "of a newer branch than the kernel driver"

    def _on_linux(self, value: CompatUse) -> Verdict:
        """``fail`` for the same or an older branch, ``unknown`` where one of both is not known."""
        if value.kernel is None or compat_branch(value.package) is None:
            return Verdict.UNKNOWN
        return Verdict.FAIL if is_shadowing(value) else Verdict.OK


class CompatOnLinux(_OnCompat, frozen=True):
    """A Linux: there is no cuda-compat elsewhere."""

    def __str__(self) -> str:
        return "on Linux itself"

    def judge(self, value: CompatUse) -> Verdict:
        """``fail`` on Windows and in WSL 2."""
        return self._on_linux(value) if value.system == _LINUX else Verdict.FAIL

    def _on_linux(self, value: CompatUse) -> Verdict:
        del value
        return Verdict.OK


def is_shadowing(use: CompatUse) -> bool:
    """Return whether a package hides a driver that is as new as itself, or newer."""
    branch = compat_branch(use.package)
    return branch is not None and use.kernel is not None and branch <= use.kernel.branch


@functools.lru_cache(maxsize=256)
def driver_cuda(driver: DriverVersion) -> Release | None:
    """The CUDA release of a driver's branch; of one that is no row, that of the branch below it.

    A driver above the tables has at least the newest known release.
    """
    below = horizon.of_driver(driver).below
    return None if below is None else drivers.branch_cuda(below)


class _OnLinker(Constraint, frozen=True):
    """A constraint on the release of nvJitLink or nvlink."""

    component: ClassVar = Component.LINKER


class LinkerTargets(_OnLinker, frozen=True):
    """A linker that can produce code for this architecture, of which it minds the suffix ``f``.

    A linker that is newer than the tables says itself what it makes code for.
    """

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

    def _first(self, row: gpus.Sm) -> Release:
        family = floors.linker("family-linker")
        return max(row.first_toolkit, family) if self.family else row.first_toolkit


class LinkerFinding(_OnLinker, frozen=True):
    """A linker that takes what a module has for a target.

    Attributes:
        releases: those that do, oldest first; newer ones than all that are known do as the newest.
        since: before this release another rule objects, since the code is newer than the linker.
    """

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


def tolerated_from(since: Release, verdict: Verdict) -> Threshold:
    """A linker of a release or newer, which accepts what NVIDIA promises nothing of."""
    return Threshold(Component.LINKER, since, None, verdict)


def linker_not_older_than(
    releases: Sequence[Release], beyond: Release | None = None, *, trial_decides: bool = False
) -> Threshold:
    """A linker whose minor release is no older than that of LTO-IR.

    Args:
        releases: those that can have made it, oldest first; empty when it is outside the tables.
        beyond: with no releases: the newest release that it is newer than, as far as is known.
        trial_decides: a trial link tells.
    """
    possible, sure, text = None, None, "of an unknown release"
    if releases:
        possible, sure = releases[0], releases[-1]
        text = f">= {possible}{f' (>= {sure} to be sure)' if len(releases) > 1 else ''}"
    elif beyond:
        possible, text = Release(beyond.major, beyond.minor + 1), f"newer than {beyond}"
    return Threshold(
        Component.LINKER,
        possible,
        sure,
        text=text,
        trial_decides=trial_decides,
        names_compiler=True,
    )


class LinkerOfMajor(_OnLinker, frozen=True):
    """A linker of the same major as LTO-IR made by one of ``releases``: all that is documented.

    Attributes:
        releases: those that can have made it.
        shipped: another major, with whose nvJitLink NVIDIA ships it in a library of its own.
    """

    driver_may_link: ClassVar = True  # LTO-IR from before 12.0, the one that nvJitLinks refuse
    releases: tuple[Release, ...]
    shipped: int | None = None

    def __str__(self) -> str:
        majors = {release.major for release in self.releases} | {self.shipped}
        return "of major " + " or ".join(map(str, sorted(filter(None, majors))))

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
        if value.major == self.shipped or all(r.major == value.major for r in possible):
            return Verdict.OK
        return Verdict.UNKNOWN if horizon.is_new_major(value) else Verdict.UNDOCUMENTED


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


class NvrtcOfMinor(Constraint, frozen=True):
    """An NVRTC of exactly this minor: its builtins carry the minor in their soname."""

    component: ClassVar = Component.NVRTC
    release: Release

    def __str__(self) -> str:
        return str(self.release)

    def judge(self, value: Release) -> Verdict:
        """``fail`` for every other minor."""
        return Verdict.OK if value == self.release else Verdict.FAIL


def least_version(constraints: Iterable[Constraint]) -> Any:  # noqa: ANN401 - of the component
    """The least version that surely meets constraints on one component, or why there is none.

    It begins the newest known versions side by side that are ``ok``. Where these reach back to
    before all tables, it is at most the newest version that is bounded.

    Returns:
        A ``DriverVersion``, a ``Release``, or an ``Unbounded``.
    """
    known = tuple(dict.fromkeys(constraints))
    versions = _versions(known[0].component) if known else ()
    if not versions:
        return Unbounded.ANY
    verdicts = [max(each.judge(version) for each in known) for version in versions]
    best = min(verdicts[1:])
    if best is not Verdict.OK:
        return _WITHOUT.get(best, Unbounded.ANY)
    last = max(n for n, verdict in enumerate(verdicts) if verdict is Verdict.OK)
    first = next((n + 1 for n in range(last)[::-1] if verdicts[n] is not Verdict.OK), 0)
    return versions[first] if first else Unbounded.ANY


_WITHOUT = {Verdict.FAIL: Unbounded.NONE_KNOWN, Verdict.UNKNOWN: Unbounded.NOT_KNOWN}


def _versions(component: Component) -> Sequence[DriverVersion | Release]:
    """The known versions of a component, behind one that is older than all of them."""
    if component in (Component.DRIVER, Component.KERNEL):
        return (drivers.before_tables(), *driver_releases())
    return toolkit_releases() if component in (Component.LINKER, Component.NVRTC) else ()


@functools.cache
def driver_releases() -> tuple[DriverVersion, ...]:
    """The first driver of every branch: what rules ask for begins there."""
    return tuple(map(drivers.first_production, drivers.driver_branches()))


@functools.cache
def toolkit_releases() -> tuple[Release, ...]:
    """Every known CUDA release, oldest first; nvJitLink came with 12.0."""
    return tuple(sorted({*toolkits.ptx_releases().values(), *nvjitlink_minors()}))
