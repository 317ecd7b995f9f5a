"""Constraints on the components of a target, and the minimum version that meets some of them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from ltocompat.facts import drivers, gpus, horizon, nvjitlink_minors, toolkits
from ltocompat.facts.drivers import compat_use, cuda_branch
from ltocompat.model.arch import Release
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Verdict
from ltocompat.rules import floors
from ltocompat.rules.rule import OF_DRIVERS, CompatUse, Component, Constraint, Unbounded

FIRST_NVJITLINK = Release(12, 0)


class AlwaysMet(Constraint, frozen=True):
    """A constraint that every value meets; some values are worth a note."""

    def judge(self, _: object) -> Verdict:
        """``ok``."""
        return Verdict.OK


class Informational(AlwaysMet, frozen=True):
    """A note that applies to every target."""

    component: ClassVar = Component.NONE
    weighs_values: ClassVar = False

    def __str__(self) -> str:
        return "noted"

    def noted(self, _: object) -> bool:
        """True."""
        return True


class FixedVerdict(Constraint, frozen=True):
    """A verdict that is the same on every target.

    Attributes:
        verdict: the verdict.
        component: the part of the target.
    """

    weighs_values: ClassVar = False
    verdict: Verdict
    component: Component = Component.NONE

    def __str__(self) -> str:
        return "that fits better"

    def judge(self, _: object) -> Verdict:
        """The verdict."""
        return self.verdict


# The first of some versions, and the verdict on it and all newer ones.
Span = tuple[Release | DriverVersion, Verdict]


class Versions(Constraint, frozen=True):
    """Versions of one component, in spans with the same verdict.

    Attributes:
        component: the part of a target with such versions.
        text: the accepted versions, in words.
        before: the verdict on versions before all spans.
        spans: the spans; the last span that contains a version decides.
    """

    component: Component
    text: str
    before: Verdict
    spans: tuple[Span, ...] = ()

    def __str__(self) -> str:
        return self.text

    def judge(self, value: Any) -> Verdict:  # noqa: ANN401 - a version of the component
        """The verdict of its span."""
        for first, verdict in reversed(self.spans):
            if value >= first:
                return verdict
        return self.before


def at_least(
    least: Release | DriverVersion, *, open_below: bool = False, nondeterministic: bool = False
) -> Versions:
    """A linker or driver of this version or a newer one; an older one fails or is unknown."""
    component = Component.LINKER if isinstance(least, Release) else Component.DRIVER
    end = ", to be sure" if open_below and component is Component.DRIVER else ""
    before = Verdict.UNKNOWN if open_below else Verdict.FAIL
    spans = ((least, Verdict.OK),)
    text = f">= {least}{end}"
    return Versions(component, text, before, spans, nondeterministic=nondeterministic)


def unknown_version(component: Component) -> Versions:
    """A version that the tables don't know, so that the verdict is ``unknown``."""
    return Versions(component, "of an unknown release", Verdict.UNKNOWN)


def driver_of_writer(cuda: Release) -> Versions:
    """A driver for SASS of a CUDA release: before CUDA 11, minors had drivers of their own."""
    own = drivers.earlier_driver(cuda)
    return driver_of_cuda(cuda) if own else driver_of_major(cuda.major)


def driver_of_major(major: int) -> Versions:
    """A driver for code of a CUDA major."""
    floor, enough = floors.major(major), floors.enough_for_major(major)
    if floor is not None:
        return at_least(floor)
    return (
        unknown_version(Component.DRIVER) if enough is None else at_least(enough, open_below=True)
    )


def driver_of_cuda(cuda: Release, *, surely: bool = True) -> Versions:
    """A driver of a CUDA release or a newer one; older drivers surely fail.

    A driver newer than the tables may be such a driver, as may the first drivers of a branch from
    before CUDA 11. Which drivers CUDA 6.5 and older releases have is unknown.

    Args:
        cuda: the release.
        surely: True if all such drivers work; else only older ones surely fail.
    """
    branch, known = drivers.first_branch_from(cuda), drivers.driver_branches()
    sure = Verdict.OK if surely else Verdict.UNKNOWN
    if earlier := drivers.earlier_driver(cuda):
        oldest = min(drivers.earlier_drivers().values())
        beta = DriverVersion((earlier.branch,))
        spans = ((oldest, Verdict.FAIL), (beta, Verdict.UNKNOWN), (earlier, sure))
        return Versions(Component.DRIVER, f">= {earlier} (CUDA {cuda})", Verdict.UNKNOWN, spans)
    first = DriverVersion((branch,)) if branch else drivers.beyond_tables()
    named = f">= {branch}" if branch else f"newer than {known[-1]}"
    before = Verdict.UNKNOWN if cuda < (drivers.branch_cuda(known[0]) or cuda) else Verdict.FAIL
    span = (first, sure if branch else Verdict.UNKNOWN)
    return Versions(Component.DRIVER, f"{named} (CUDA {cuda})", before, (span,))


class DriverOfWriter(AlwaysMet, frozen=True):
    """A driver as new as the toolkit that wrote the code, although its major is enough.

    Minor-version compatibility is documented: every driver of the major is ``ok``.
    """

    component: ClassVar = Component.DRIVER
    cuda: Release

    def __str__(self) -> str:
        return f"of CUDA {self.cuda} to run everything that CUDA {self.cuda} builds"

    def noted(self, value: DriverVersion) -> bool:
        """Return whether the driver has the same major and an older minor."""
        known = driver_cuda(value)
        return known is not None and known.major == self.cuda.major and known < self.cuda


def driver_sure_from(cuda: Release, blind: Release) -> Versions:
    """A driver from CUDA ``cuda`` on surely works; one up to CUDA ``blind`` surely doesn't."""
    sure = drivers.first_branch_from(cuda)
    later = drivers.first_branch_from(Release(blind.major, blind.minor + 1))
    possible = DriverVersion((later,)) if later else drivers.beyond_tables()
    spans: list[Span] = [(possible, Verdict.UNKNOWN)]
    spans += [(DriverVersion((sure,)), Verdict.OK)] if sure else []
    text = f">= {sure} (CUDA {cuda})" if sure else f"of CUDA {cuda} or newer"
    return Versions(Component.DRIVER, text, Verdict.FAIL, tuple(spans), ignores_concatenated=True)


def kernel_knows(number: int) -> Versions:
    """A kernel driver that is new enough for GPUs of a compute capability (10 * major + minor).

    The floors are derived from the first toolkit that targets the GPU. A GPU above the tables may
    be known to drivers above them.
    """
    row = gpus.sm(number)
    span = (drivers.beyond_tables(), Verdict.UNKNOWN)
    text = f"newer than {drivers.driver_branches()[-1]}"
    before = Verdict.FAIL
    if row is not None:
        earlier = drivers.earlier_driver(row.first_toolkit)
        before = Verdict.UNKNOWN if earlier else Verdict.FAIL
        first = earlier or DriverVersion((row.first_branch or 0,))
        span, text = (first, Verdict.OK), f">= {first}" if any(first.numbers) else "any"
    return Versions(Component.KERNEL, text, before, (span,), of_gpu=True)


def driver_still_serves(number: int) -> Versions:
    """A driver that has not dropped GPUs of this compute capability (10 * major + minor).

    With cuda-compat in front, its libcuda counts, which is the newer one.
    """
    row = gpus.sm(number)
    last = row.last_branch if row else None
    if last is None:
        return Versions(Component.DRIVER, "any", Verdict.OK, of_gpu=True)
    later = map(DriverVersion, zip(itertools.count(last + 1), strict=False))  # 581 is of R580
    first = next(version for version in later if drivers.branch_of(version) > last)
    spans = ((first, Verdict.FAIL),)
    return Versions(Component.DRIVER, f"<= {last}", Verdict.OK, spans, of_gpu=True)


class CompatCondition(Constraint, frozen=True):
    """A condition on cuda-compat on Linux; it doesn't exist elsewhere, which another rule reports.

    Attributes:
        text: the condition in words.
        on_linux: judges a package in front of a driver.
        elsewhere: the verdict on Windows and in WSL 2.
    """

    component: ClassVar = Component.COMPAT
    text: str
    on_linux: Callable[[CompatUse], Verdict]
    elsewhere: Verdict = Verdict.OK

    def __str__(self) -> str:
        return self.text

    def judge(self, value: CompatUse) -> Verdict:
        """Judge a package in front of a driver."""
        return self.on_linux(value) if value.system == "linux" else self.elsewhere


def _pair(value: CompatUse) -> Verdict:
    """``fail`` for a pair that NVIDIA's table rules out, ``unknown`` for one that it lacks.

    A package that is no newer than the driver, or not for the GPU, is left to another rule.
    """
    if is_shadowing(value) or value.gpu.data_center is False:
        return Verdict.OK
    if value.kernel is None:
        return Verdict.UNKNOWN
    use = compat_use(value.package, value.kernel.branch)
    return {"usable": Verdict.OK, "none": Verdict.FAIL}.get(use or "", Verdict.UNKNOWN)


def _gpu(value: CompatUse) -> Verdict:
    """``fail`` on GPUs that it is not made for, ``unknown`` where the name doesn't tell.

    In front of a driver that is as new, no GPU is asked: CUDA ends before, with another error.
    """
    if value.gpu.data_center is None:
        return Verdict.UNKNOWN
    return Verdict.OK if value.gpu.data_center or is_shadowing(value) else Verdict.FAIL


def _branches(value: CompatUse) -> Verdict:
    """``fail`` for the driver's branch or an older one, ``unknown`` where one is not known."""
    if value.kernel is None or cuda_branch(value.package) is None:
        return Verdict.UNKNOWN
    return Verdict.FAIL if is_shadowing(value) else Verdict.OK


COMPAT_PAIR = CompatCondition("with a kernel driver that NVIDIA lists for it", _pair)
COMPAT_GPU = CompatCondition("on a data centre GPU, an NGC-ready RTX or a Jetson", _gpu)
COMPAT_NEWER = CompatCondition("of a newer branch than the kernel driver", _branches)
COMPAT_LINUX = CompatCondition("on Linux itself", lambda _: Verdict.OK, Verdict.FAIL)


def is_shadowing(use: CompatUse) -> bool:
    """Return whether a package hides a driver that is at least as new."""
    branch = cuda_branch(use.package)
    return branch is not None and use.kernel is not None and branch <= use.kernel.branch


@functools.lru_cache(maxsize=256)
def driver_cuda(driver: DriverVersion) -> Release | None:
    """Return the CUDA release of a driver's branch; for an unknown branch, of the branch below it.

    A driver newer than the tables has at least the newest known release.
    """
    below = horizon.of_driver(driver).below
    return None if below is None else drivers.branch_cuda(below)


class _OnLinker(Constraint, frozen=True):
    """A constraint on the release of nvJitLink or nvlink."""

    component: ClassVar = Component.LINKER


class LinkerTargets(_OnLinker, frozen=True):
    """A linker that can make code for this architecture, including a suffix ``f``.

    A linker that is newer than the tables shows its architectures itself.
    """

    number: int
    family: bool = False

    def __str__(self) -> str:
        row = gpus.sm(self.number)
        if row is None:
            return f"that knows sm_{self.number}"
        next_major = nvjitlink_minors()[-1].major + 1  # which may drop it
        last = f"<= {row.last_toolkit}" if row.last_toolkit else f"< {next_major}"
        family = floors.linker("family-linker") if self.family else FIRST_NVJITLINK
        return f">= {max(row.first_toolkit, family)}, {last}"

    def judge(self, value: Release) -> Verdict:
        """Return ``fail`` if the architecture is not in the linker's list.

        Return ``unknown`` if a new major may have dropped it, or if it is as new as the linker.
        """
        if gpus.sm(self.number) is None:
            return Verdict.UNKNOWN if horizon.of_linker(value).beyond else Verdict.FAIL
        known = self.number in gpus.linker_targets(value)
        if not known or (self.family and value < floors.linker("family-linker")):
            return Verdict.FAIL
        return Verdict.UNKNOWN if horizon.is_new_major(value) else Verdict.OK


class LinkerThatPicks(_OnLinker, frozen=True):
    """A linker that uses an image of a module for a target, unlike other releases.

    Attributes:
        releases: such releases, oldest first; newer ones than all known count like the newest.
        since: before this release, another rule objects, since the code is newer than the linker.
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
        """Return ``fail`` for a release that uses none of it."""
        found = value < self.since or horizon.of_linker(value).below in self.releases
        return Verdict.OK if found else Verdict.FAIL


def tolerated_from(since: Release, verdict: Verdict) -> Versions:
    """A linker of this release or newer, which accepts code without NVIDIA's promise."""
    return Versions(Component.LINKER, f">= {since}", Verdict.FAIL, ((since, verdict),))


def linker_not_older_than(releases: Sequence[Release], beyond: Release | None = None) -> Versions:
    """A linker whose minor release is at least the release of the LTO-IR; a trial link decides.

    Args:
        releases: its possible releases, oldest first; empty if it is outside of the tables.
        beyond: without releases: the newest release that is surely older than it.
    """
    text, before, spans = "of an unknown release", Verdict.UNKNOWN, list[Span]()
    if releases:
        possible, sure = releases[0], releases[-1]
        text = f">= {possible}{f' (>= {sure} to be sure)' if len(releases) > 1 else ''}"
        before, spans = Verdict.FAIL, [(possible, Verdict.UNKNOWN), (sure, Verdict.OK)]
    elif beyond:
        possible, text = Release(beyond.major, beyond.minor + 1), f"newer than {beyond}"
        before, spans = Verdict.FAIL, [(possible, Verdict.UNKNOWN)]
    return Versions(
        Component.LINKER, text, before, tuple(spans), trial_decides=True, names_compiler=True
    )


class LinkerOfMajor(_OnLinker, frozen=True):
    """A linker with the major of LTO-IR made by one of ``releases``, as documented.

    Attributes:
        releases: its possible releases.
        shipped: another major with whose nvJitLink NVIDIA ships the LTO-IR in one of its libraries.
    """

    driver_may_link: ClassVar = True  # LTO-IR from before 12.0, the one that nvJitLinks refuse
    releases: tuple[Release, ...]
    shipped: int | None = None

    def __str__(self) -> str:
        majors = sorted(filter(None, {*(each.major for each in self.releases), self.shipped}))
        none = ", which doesn't exist" if majors[-1] < FIRST_NVJITLINK.major else ""
        return f"of major version {' or '.join(map(str, majors))}{none}"

    def judge(self, value: Release) -> Verdict:
        """Return ``undocumented`` for a newer major, ``fail`` for LTO-IR of NVVM before 12.0.

        An older major is left to the rule on minor releases, which fails there. For a major newer
        than the tables, the verdict is ``unknown``.
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

    The bytes don't show the compiler; a linker that accepts the LTO-IR is not older than it.

    Attributes:
        newest: the newest possible release in the tables.
    """

    component: ClassVar = Component.LINKER
    weighs_values: ClassVar = False
    newest: Release

    def __str__(self) -> str:
        return "any"

    def noted(self, value: Release) -> bool:
        """Return whether it is new enough for every known release; a new major is unknown."""
        return value >= self.newest and not horizon.is_new_major(value)


def linker_of_cubin(writer: Release, *, tolerated: bool, doubtful: bool) -> Versions:
    """A linker whose minor release is at least the release of the tool that wrote a cubin.

    Args:
        writer: the release of that tool.
        tolerated: True if later linkers of 12.x accept the cubin although they are older.
        doubtful: True if some of them accept it and others refuse it.
    """
    tolerant = floors.linker("generation-2-linker-exception")
    seen = Verdict.UNDOCUMENTED if tolerated else Verdict.FAIL
    older = (tolerant, Verdict.UNKNOWN if doubtful else seen)
    spans = (older, (Release(tolerant.major + 1, 0), Verdict.FAIL), (writer, Verdict.OK))
    return Versions(Component.LINKER, f">= {writer}", Verdict.FAIL, spans)


def linker_exporting(least: Release, *, by_name: bool = False) -> Versions:
    """An nvJitLink with the symbols of this release: the same major, at least its minor.

    Args:
        least: the highest release among the imported symbols.
        by_name: True if the file needs nvJitLink by soname, so that another major is not opened,
            which the rule on sonames reports.
    """
    others = Verdict.OK if by_name else Verdict.FAIL
    end = Release(least.major + 1, 0)
    spans = ((Release(least.major, 0), Verdict.FAIL), (least, Verdict.OK), (end, others))
    return Versions(Component.LINKER, f">= {least}, < {end.major}", others, spans)


def linker_named(majors: tuple[int, ...], *, certain: bool) -> Versions:
    """An nvJitLink of one of the majors whose file names are needed.

    Args:
        majors: the majors, ascending.
        certain: True if the loader needs the file; else the program may work without it.
    """
    others = Verdict.FAIL if certain else Verdict.UNKNOWN
    each = (((major, Verdict.OK), (major + 1, others)) for major in majors)
    spans = tuple((Release(major, 0), verdict) for pair in each for major, verdict in pair)
    text = f"of major version {' or '.join(map(str, majors))}"
    return Versions(Component.LINKER, text, others, spans)


def nvrtc_of_minor(release: Release) -> Versions:
    """An NVRTC of exactly this minor: its builtins carry the minor in their soname."""
    later = (Release(release.major, release.minor + 1), Verdict.FAIL)
    return Versions(Component.NVRTC, str(release), Verdict.FAIL, ((release, Verdict.OK), later))


def least_version(constraints: Iterable[Constraint]) -> Any:  # noqa: ANN401 - of the component
    """Return the minimum version that surely meets constraints on one component, or why none does.

    From it on, all known versions up to the newest such one are ``ok``. If these begin before all
    tables, it is at most the newest bounded version.

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
    if component in OF_DRIVERS:
        earlier = sorted(drivers.earlier_drivers().values())
        return (drivers.before_tables(), *earlier, *drivers.production_drivers())
    return toolkit_releases() if component in (Component.LINKER, Component.NVRTC) else ()


@functools.cache
def toolkit_releases() -> tuple[Release, ...]:
    """Every known CUDA release, oldest first; nvJitLink came with 12.0."""
    return tuple(sorted({*toolkits.ptx_releases().values(), *nvjitlink_minors()}))
