"""PTX: which GPUs run it, and what can compile it (PTX)."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ltocompat import facts
from ltocompat.facts import gpus, horizon, nvjitlink_minors, toolkits
from ltocompat.facts.horizon import Position
from ltocompat.model.arch import Release, version_numbers
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.image import ImageKind, PtxFlaw
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import WHOLE_ARTIFACT, Route, Verdict
from ltocompat.rules import artifact_code, floors, image_helpers
from ltocompat.rules.constraints import (
    FIRST_NVJITLINK,
    FixedVerdict,
    LinkerThatPicks,
    Versions,
    at_least,
    driver_of_cuda,
    linker_not_older_than,
    unknown_version,
)
from ltocompat.rules.image_helpers import per_image
from ltocompat.rules.link_selection import compiles_to
from ltocompat.rules.rule import Component, Constraint, Problem, Requirement, Subject, rule
from ltocompat.rules.selection import compiles

if TYPE_CHECKING:
    from ltocompat.model.environment import Environment
    from ltocompat.model.image import HostBinary


@per_image("PTX-01", Route.LOAD, ImageKind.PTX)
def ptx_newer_than_driver(image: ImageSignature, subject: Subject) -> Iterator[Requirement]:
    """A driver compiles PTX up to the ISA version of its own CUDA release."""
    yield Requirement(
        _driver_for(image.isa),
        _described(image),
        remedy=f"ship SASS for {image_helpers.real(subject.gpu)}, or compile the PTX with the "
        "driver's toolkit. Or compile a cubin without the driver (nvJitLink, nvPTXCompiler, "
        "NVRTC with an sm_ architecture)",
        evidence=_version_evidence(image),
        doubt=_doubt(image),
    )


@rule("PTX-01")
def ptx_text_newer_than_driver(host: HostBinary) -> Iterator[Requirement]:
    """A library may pass the PTX text in its data to a driver, or to OptiX in it."""
    versions = (text.isa for text in host.ptx_texts if host.linked)
    for isa in sorted(versions, key=version_numbers)[-1:]:
        passed = replace(_driver_for(isa), before=Verdict.UNKNOWN)  # older drivers may never get it
        subject = f"PTX {isa} as text in a library's data"
        yield Requirement(passed, subject, conditional=True)


@per_image("PTX-02", Route.LINK, ImageKind.PTX)
def ptx_newer_than_linker(image: ImageSignature, subject: Subject) -> Iterator[Requirement]:
    """A linker compiles PTX up to the ISA version of its own release."""
    yield Requirement(
        _linker_for(image.isa),
        _described(image),
        remedy=f"update {image_helpers.linker_name(subject)} to the release of the PTX, or "
        "compile the PTX with the linker's toolkit",
        evidence=_version_evidence(image),
        doubt=_doubt(image),
    )


@functools.lru_cache(maxsize=256)
def _around(isa: str | None) -> Position[tuple[int, ...]] | None:
    """The position of an ISA version among those that are known; None for what is not a version."""
    number = _number(isa)
    return None if number is None else horizon.position(number, toolkits.ptx_releases())


def _driver_for(isa: str | None) -> Versions:
    releases, around = toolkits.ptx_releases(), _around(isa)
    if around is None:
        return unknown_version(Component.DRIVER)
    if around.above is None:
        newest = max(releases.values())
        return driver_of_cuda(Release(newest.major, newest.minor + 1))
    return driver_of_cuda(releases[around.above], surely=around.known)


def _linker_for(isa: str | None) -> Constraint:
    around, releases = _around(isa), toolkits.ptx_releases()
    if around is None or around.below is None:
        return unknown_version(Component.LINKER)
    newest = releases[around.below]
    return at_least(newest) if around.known else linker_not_older_than((), newest)


def _described(image: ImageSignature) -> str:
    """PTX by its ISA version, as the start of a sentence: ``PTX 9.2``."""
    return f"PTX {image.isa}" if image.isa else "PTX of an unknown version"


def _doubt(image: ImageSignature) -> str:
    """The reason why an ISA version may not decide, as the end of a sentence."""
    if image.isa is None:
        return "its .version decides whether it compiles, but can't be read"
    around = _around(image.isa)
    if around is None or not (around.known or around.beyond):
        return "there is no such version of PTX"
    return "the PTX or its compiler is newer than the tables"


def _version_evidence(image: ImageSignature) -> str:
    """The bytes that say the ISA version."""
    if image.isa is None:
        return "no .version"
    return "version in the fatbin entry" if image.in_fatbin else f".version {image.isa}"


def _number(isa: str | None) -> tuple[int, ...] | None:
    parts = (isa or "").split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() for part in parts) else None


@rule("PTX-03", ImageKind.PTX)
def ptx_above_gpu(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """PTX compiles for its own compute capability and higher ones."""
    arch = image.arch
    if arch is None or arch.suffix:
        return None
    fits = arch.number <= gpu.arch.number  # as compilers count; a driver knows sm_101 as sm_110
    if fits if route is Route.LINK else compiles(arch, gpu.arch.number):
        return None
    return f"is for sm_{arch.number} and newer"


# PTX with suffix a compiles for exactly one compute capability, with suffix f for its family.
ptx_for_one_gpu = rule("PTX-04", ImageKind.PTX)(image_helpers.not_this_arch)
ptx_for_a_family = rule("PTX-05", ImageKind.PTX)(image_helpers.not_this_family)


@per_image("PTX-06", Route.LOAD, ImageKind.PTX)
def ptx_only(_: ImageSignature, subject: Subject) -> Iterator[Requirement]:
    """Without SASS for a GPU, the driver compiles PTX if it can."""
    gpu = image_helpers.real(subject.gpu)
    yield Requirement(
        FixedVerdict(Verdict.JIT),
        "PTX alone",
        f"there is no SASS for {gpu}, so the driver compiles the PTX at load",
        remedy=f"add SASS: -gencode arch=compute_{subject.gpu.arch.number},code={gpu}",
    )


_NO_PTX = "CUDA_DISABLE_PTX_JIT"
_PTX_COMPILER = "libnvidia-ptxjitcompiler"


@rule("PTX-07")
def nothing_for_future_gpus(summary: ArtifactSummary) -> Iterator[Problem]:
    """SASS runs within its own generation; only PTX works on future ones."""
    groups = artifact_code.loaded_groups(summary)
    sass = artifact_code.archs((group.signature for group in groups), ImageKind.SASS)
    by_driver = {ImageKind.PTX, ImageKind.TILEIR}  # what drivers compile
    has_source = not by_driver.isdisjoint(artifact_code.kinds(artifact_code.with_kernels(summary)))
    if not sass or summary.skipped_count or has_source:
        return
    newest = max(sass)
    yield Problem(
        Verdict.OK,
        f"there is SASS for {artifact_code.listed_archs(sass)}, but no PTX: on other GPUs, and on "
        "future ones, no kernel starts (error 209)",
        remedy="if future GPUs have to work, add PTX: "
        f"-gencode arch=compute_{newest.number},code=compute_{newest.number}",
        headline=f"no PTX: no code for GPUs after {newest}",
        **artifact_code.counted(groups),
        subject=WHOLE_ARTIFACT,
    )


@rule("PTX-08")
def ptx_compiler_disabled(environment: Environment) -> Iterator[Problem]:
    """If the driver may not or can't compile PTX, only SASS runs."""
    value = environment.variable(_NO_PTX)
    if value not in (None, "", "0"):
        yield Problem(
            Verdict.UNKNOWN,
            f"{_NO_PTX}={value} stops the driver from compiling PTX: only SASS for the GPU runs, "
            "and PTX fails with error 223",
            remedy=f"unset {_NO_PTX}, unless you set it to prove that no PTX is needed",
            evidence=f"environment variable {_NO_PTX}",
        )
    if environment.container and environment.kernel_driver is None:
        return  # no driver's libcuda belongs into an image, whatever lies beside it
    driver = environment.user_driver
    if driver and not driver.is_compat and not driver.stub and _PTX_COMPILER in driver.missing:
        yield Problem(
            Verdict.UNKNOWN,
            f"{driver.path} has no {_PTX_COMPILER} in its folder: PTX fails with error 221",
            evidence=driver.real,
        )


@per_image("PTX-09", Route.LOAD, ImageKind.PTX)
def ptx_calls_what_nothing_defines(image: ImageSignature, _: Subject) -> Iterator[Requirement]:
    """The driver compiles PTX alone, so that it must contain all functions that it calls."""
    # Regions that a device link has used up are linked with each other.
    if image.prelinked or image.symbols is None:
        return
    verdict, names = Verdict.FAIL, image.symbols.undefined_functions
    error = "error 218 (Unresolved extern function)"
    if image.relocatable:
        # Compiled as for a link: what no kernel reaches is left out, and variables count.
        error = "error 500 (named symbol not found)"
        names = image.symbols.needed_by_kernels or image.symbols.undefined
        verdict = Verdict.FAIL if image.symbols.needed_by_kernels else Verdict.UNKNOWN
    if names:
        yield Requirement(
            FixedVerdict(verdict),
            _described(image),
            f"it uses {image_helpers.listed(names)} without a definition: lazy "
            f"and eager loading both fail with {error}",
            short=f"it uses {image_helpers.listed(names)} without a definition",
        )


@rule("PTX-10")
def ptx_older_than_its_target(subject: Subject) -> Iterator[Requirement]:
    """No compiler accepts a .target that the .version of the text doesn't have yet."""
    linked = subject.route is Route.LINK
    picked = image_helpers.linked if linked else image_helpers.loaded
    component = Component.LINKER if linked else Component.DRIVER
    least = facts.floor("linked-ptx") if linked else "1.0"
    for image in picked(subject, ImageKind.PTX):
        if image.arch is None:
            continue
        isa = _number(image.isa)
        first = gpus.first_ptx(image.arch, isa or ())
        unheard = first is None and image.arch.number <= gpus.newest_sm()
        needed = first and max(first, least, key=version_numbers)
        if not unheard and (isa is None or needed is None or isa >= version_numbers(needed)):
            continue
        yield Requirement(
            FixedVerdict(Verdict.UNKNOWN if needed is None else Verdict.FAIL, component),
            f"{_described(image)} for sm_{image.arch.number}{image.arch.suffix}",
            "no compiler is known that writes this architecture in such PTX"
            if needed is None
            else f"{'this architecture' if needed == first else 'a link'} needs PTX {needed} or "
            f"newer, with every {'compiler' if needed == first else 'linker'}",
            evidence=f"{_version_evidence(image)}, .target",
        )


@per_image("PTX-11", Route.LINK, ImageKind.PTX)
def ptx_picked_and_refused(image: ImageSignature, subject: Subject) -> Iterator[Requirement]:
    """A linker that picks PTX only by its number refuses PTX whose suffix excludes the target."""
    if image.arch is None or compiles_to(image.arch, subject.gpu.arch):
        return
    yield Requirement(
        FixedVerdict(Verdict.FAIL),
        f"{image} for {subject.gpu.arch}",
        remedy=f"use nvJitLink 13.0 or newer, or link for sm_{image.arch.number}"
        f"{image.arch.suffix}. Or leave out the PTX with a suffix",
    )


@rule("PTX-12")
def ptx_that_compilers_refuse(subject: Subject) -> Iterator[Requirement]:
    """Compilers refuse PTX text because of its form, not because of its instructions."""
    for image in subject.picked:
        for flaw in image.flaws:
            constraint = _flawed(flaw, subject)
            if constraint is not None:
                yield Requirement(
                    constraint, f"PTX with {flaw}", _OF_FLAW.get(flaw, "no compiler accepts it")
                )


_OF_FLAW = {
    PtxFlaw.NARROW: "compilers refuse it for sm_90 and newer, which need 64-bit addresses",
    PtxFlaw.NOT_ASCII_FILE: "nvJitLink 12.3 and newer refuses it or aborts the process",
    PtxFlaw.NOT_ASCII_COMMENT: "nvJitLink 12.8 to 13.3 refuses it (Unexpected non-ASCII character)",
    PtxFlaw.LOWER_TARGET: "linkers refuse it if the target is too new for the linker or .version",
    PtxFlaw.LAST_COMMENT: "nvJitLink 12.0 aborts the process",
}


def _flawed(flaw: PtxFlaw, subject: Subject) -> Constraint | None:
    """The constraint of a flaw: drivers were not measured where linkers differ."""
    linked = subject.route is Route.LINK
    if flaw is PtxFlaw.NARROW and linked:
        return FixedVerdict(Verdict.FAIL) if subject.gpu.arch.number >= _WIDE_ONLY else None
    if flaw is PtxFlaw.NOT_ASCII_COMMENT and linked:
        first, last = floors.linker("ascii-linker"), floors.linker("last-ascii-linker")
        others = (release for release in nvjitlink_minors() if not first <= release <= last)
        return LinkerThatPicks(tuple(others), FIRST_NVJITLINK, of_gpu=True)
    if flaw is PtxFlaw.NOT_ASCII_FILE and linked:
        end = floors.linker("ascii-file-linker")
        before = tuple(release for release in nvjitlink_minors() if release < end)
        return LinkerThatPicks(before, FIRST_NVJITLINK, of_gpu=True)
    if flaw is PtxFlaw.LAST_COMMENT:
        return at_least(floors.linker("last-comment-linker")) if linked else None
    if flaw in _OF_FLAW:
        return FixedVerdict(Verdict.UNKNOWN, trial_decides=True)
    return FixedVerdict(Verdict.FAIL)


_WIDE_ONLY = 90
