"""LTO-IR: which linkers accept it, for which targets and with which options (LTO)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ltocompat.facts import ltoir
from ltocompat.facts.clients import client
from ltocompat.model.arch import Release, SmArch, version_numbers
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.image import KERNEL_KINDS, ImageKind
from ltocompat.model.library_name import PATHFINDER
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.symbols import defined_nowhere
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Level, Route, Verdict
from ltocompat.model.words import count
from ltocompat.rules import artifact_code, driver_release, floors, image_helpers, makers, picked
from ltocompat.rules.constraints import (
    FIRST_NVJITLINK,
    FixedVerdict,
    Informational,
    LinkerOfKnownMaker,
    LinkerOfMajor,
    LinkerTargets,
    at_least,
    driver_of_major,
    linker_not_older_than,
)
from ltocompat.rules.image_helpers import per_image
from ltocompat.rules.link_selection import FIRST_FAMILY
from ltocompat.rules.linker_traits import LinkerTraits
from ltocompat.rules.rule import Component, Constraint, Link, Problem, Requirement, Subject, rule
from ltocompat.rules.selection import SelectionFailure, same_arch

if TYPE_CHECKING:
    from ltocompat.model.environment import Environment

_ACROSS_MAJORS = "Or ship PTX or relocatable SASS with the LTO-IR; newer linkers accept both"


@per_image("LTO-01", Route.LINK, ImageKind.LTOIR)
def ltoir_newer_than_linker(image: ImageSignature, subject: Subject) -> Iterator[Requirement]:
    """LTO-IR needs a linker whose minor release is at least its compiler's."""
    releases = makers.ltoir_releases(image)
    yield Requirement(
        linker_not_older_than(releases, makers.above(image)),
        makers.describe(image),
        remedy=f"{_newer_linker(subject, releases)}, or compile the LTO-IR with the target's "
        f"toolkit{_beside_it(releases, subject.linker)}",
        evidence=makers.evidence(image),
    )
    yield from _read_by_linker(image)


# Versions in the header of LTO-IR, besides that of NVVM IR, which names its compiler.
_FIELDS = {"container": "container", "debug": "debug metadata", "llvm": "LLVM"}


def _read_by_linker(image: ImageSignature) -> Iterator[Requirement]:
    """The requirements of a header that no compiler writes."""
    releases = makers.ltoir_releases(image)
    if image.ltoir is None or image.ltoir.nvvm_ir is None or makers.above(image):
        return
    if releases == ltoir.keyless_releases():
        return
    for field, name in _FIELDS.items():
        version = getattr(image.ltoir, field)
        if version is None:
            continue
        reader = ltoir.reader(field, version)
        written = version_numbers(version) in ltoir.writers(field)
        if written and releases and reader is not None and reader <= releases[-1]:
            continue
        newest = ltoir.releases()[-1] if reader is None else None
        read_by = (reader,) if written and reader is not None else ()
        yield Requirement(
            linker_not_older_than(read_by, newest),
            f"{makers.describe(image)} with {name} {version} in its header",
            remedy="compile the LTO-IR again: its header is damaged",
            evidence=f"{name} version in the header",
            doubt=f"no known release writes {name} {version}",
        )


def _beside_it(releases: tuple[Release, ...], linker: LinkerTraits | None) -> str:
    """The advice on code that links across majors, where LTO-IR can't."""
    if linker is None or not releases or linker.major >= releases[-1].major:
        return ""
    return f". {_ACROSS_MAJORS}"


def _newer_linker(subject: Subject, releases: tuple[Release, ...]) -> str:
    """The package or toolkit to require, as far as the releases of the compiler are known."""
    if not releases:
        return f"require an {image_helpers.linker_name(subject)} as new as the LTO-IR's compiler"
    if subject.offline:
        return f"link with nvlink of CUDA {releases[-1]} or newer"
    perhaps = "" if len(releases) == 1 else f" (a trial may show that {releases[0]} is enough)"
    return f"require {makers.nvjitlink_for(releases[-1])}{perhaps}"


@per_image("LTO-02", Route.LINK, ImageKind.LTOIR)
def ltoir_of_another_major(image: ImageSignature, subject: Subject) -> Iterator[Requirement]:
    """LTO-IR and its linker are promised to work together only within one major release."""
    releases = makers.ltoir_releases(image)
    if not releases:
        return
    ancient = releases[-1] < FIRST_NVJITLINK
    consequence = (
        "no nvJitLink or nvlink of CUDA 12 or later can link it; it is unknown whether the "
        "driver's own linker can (cuLinkAddData, deprecated; LTO-09)"
        if ancient
        else "it linked in every measured case, but NVIDIA doesn't promise it"
    )
    yield Requirement(
        LinkerOfMajor(releases, subject.signature.shipped_major, trial_decides=not ancient),
        makers.describe(image),
        consequence,
        remedy=f"compile the LTO-IR once for each major version of nvJitLink. {_ACROSS_MAJORS}",
        evidence=makers.evidence(image),
        doubt="only a driver's cuLinkAddData (deprecated) can link it; drivers of CUDA 12 "
        "and later were not measured (LTO-09)"
        if ancient
        else "the tables don't have this major version; its linkers may refuse older LTO-IR",
    )


@rule("LTO-03", ImageKind.LTOIR)
def ltoir_above_target(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """LTO-IR links for its own architecture and higher ones."""
    arch = image.arch
    if route is not Route.LINK or arch is None or arch.number <= gpu.arch.number:
        return None
    return f"can be linked for sm_{arch.number} and newer, but not for {image_helpers.real(gpu)}"


@per_image("LTO-03", Route.LINK, ImageKind.LTOIR)
def ltoir_above_target_unchecked(image: ImageSignature, subject: Subject) -> Iterator[Requirement]:
    """The first nvJitLinks accept bare LTO-IR for any target, without a promise."""
    if image.arch is not None and image.arch.number > subject.gpu.arch.number:
        yield Requirement(
            FixedVerdict(Verdict.UNDOCUMENTED),
            f"LTO-IR {image.arch} for {subject.gpu.arch}",
            remedy=f"compile the LTO-IR for lto_{subject.gpu.arch.number}, or link for sm_"
            f"{image.arch.number}",
        )


@per_image("LTO-04", Route.LINK, ImageKind.LTOIR)
def suffix_ltoir_for_other_target(image: ImageSignature, subject: Subject) -> Iterator[Requirement]:
    """LTO-IR with a suffix links for other targets only without suffix-only instructions."""
    arch = image.arch
    if arch is None:
        return
    hidden = _may_hide_family(image, arch)
    code = replace(arch, suffix="f") if hidden else arch
    if _suffix_matches(code, subject.gpu.arch, subject.linker):
        return
    only = "the link succeeds only if no instruction needs the suffix; a trial link decides"
    but = f"its header never shows the suffix f. Code for {arch} can be linked. For {code}, {only}"
    yield Requirement(
        FixedVerdict(Verdict.UNKNOWN, trial_decides=True, promised=hidden),
        f"LTO-IR {arch}{f' (or {code})' if hidden else ''} for {subject.gpu.arch}",
        but if hidden else only,
        remedy=f"link for {_targets_of_suffix(code)}, or compile LTO-IR without the suffix",
    )


def _may_hide_family(image: ImageSignature, arch: SmArch) -> bool:
    """Return whether bare LTO-IR can be family-specific: its header never shows ``f``."""
    if image.in_fatbin or arch.suffix or arch.number < FIRST_FAMILY:
        return False
    releases = makers.ltoir_releases(image)
    return not releases or releases[-1] >= floors.linker("family-linker")


def _suffix_matches(code: SmArch, target: SmArch, linker: LinkerTraits | None) -> bool:
    if code.suffix == "a":
        return target.suffix == "a" and same_arch(code.number) == same_arch(target.number)
    if code.suffix != "f":
        return True
    if not image_helpers.in_family(code, target.number):
        return False
    whole = linker is None or linker.links_all_for_family
    return target.suffix == "a" or (target.suffix == "f" and whole)


def _targets_of_suffix(code: SmArch) -> str:
    if code.suffix == "a":
        return f"sm_{code.number}a"
    return f"sm_{code.number}f (nvJitLink {floors.linker('family-tcgen05-linker')} and newer)"


@rule("LTO-05")
def ltoir_loaded_directly(subject: Subject) -> Iterator[Requirement]:
    """The driver links no LTO-IR by itself: a module of LTO-IR alone does not load."""
    if subject.route is Route.LOAD and subject.missed is SelectionFailure.LTO_ONLY:
        in_fatbin = any(image.in_fatbin for image in subject.signature.images)
        error = "error 209, no kernel image" if in_fatbin else "error 200, invalid image"
        consequence = f"the driver doesn't link it ({error})"
        yield Requirement(FixedVerdict(Verdict.FAIL), "LTO-IR alone", consequence)


@per_image("LTO-06", Route.LINK, ImageKind.LTOIR)
def lto_option_missing(_: ImageSignature, __: Subject) -> Iterator[Requirement]:
    """A link accepts LTO-IR only with the option -lto."""
    yield Requirement(FixedVerdict(Verdict.OK, Component.OPTIONS), "LTO-IR")


@rule("LTO-07")
def lto_option_without_ltoir(subject: Subject) -> Iterator[Requirement]:
    """A link refuses the option -lto when there is no LTO-IR."""
    kinds = {image.kind for image in image_helpers.linked(subject)}
    if kinds and ImageKind.LTOIR not in kinds:
        yield Requirement(FixedVerdict(Verdict.OK, Component.OPTIONS), "code without LTO-IR")


@rule("LTO-08")
def partial_lto(link: Link) -> Iterator[Requirement]:
    """Code without LTO-IR is linked with LTO-IR, but not optimised with it."""
    kinds = {image.kind for image, _ in link.images}
    if ImageKind.LTOIR not in kinds or len(kinds) == 1:
        return
    yield Requirement(Informational(), "modules without LTO-IR")
    least = _taken_beside_ltoir(link) if link.certain and not link.offline else None
    if least is not None:
        yield Requirement(
            least,
            "PTX or SASS beside LTO-IR",
            "if no call connects the PTX or SASS to the LTO-IR, older releases silently drop it, "
            "kernels included",
            remedy="link with a newer nvJitLink, or compile all inputs to LTO-IR",
            evidence="kinds of the images in the link; symbols of the cubins and PTX",
        )


def _taken_beside_ltoir(link: Link) -> Constraint | None:
    """Which nvJitLink takes the kernels beside LTO-IR; None if every one does, or none is there.

    The first takes all that is not LTO-IR as soon as LTO-IR calls any of it, or it calls LTO-IR.
    """
    first = floors.linker("mixed-lto-linker")
    known = [image.symbols for image, _ in link.images if image.kind is not ImageKind.LTOIR]
    readable = [symbols for symbols in known if symbols is not None]
    if len(readable) < len(known):
        return at_least(first, open_below=True)
    missing = defined_nowhere(readable)
    if missing.undefined or not any(symbols.kernels for symbols in readable):
        return None
    # What LTO-IR calls, no byte of it shows.
    may_be_called = any(symbols.callable for symbols in readable)
    return at_least(first, open_below=True) if may_be_called else at_least(first)


@per_image("LTO-09", Route.LINK, ImageKind.LTOIR)
def ltoir_before_nvjitlink(image: ImageSignature, _: Subject) -> Iterator[Requirement]:
    """LTO-IR of CUDA 11 is for the driver's own linker, LTO-IR from 12.0 on for nvJitLink."""
    releases = makers.ltoir_releases(image)
    if releases and releases[-1] < FIRST_NVJITLINK:
        yield Requirement(Informational(), makers.describe(image), evidence=makers.evidence(image))


@rule("LTO-10")
def linker_of_clients(environment: Environment) -> Iterator[Problem]:
    """cuda.core and numba-cuda use the nvJitLink that they find, of any major."""
    found = ((wheel, client(wheel.name, wheel.version)) for wheel in environment.wheels)
    users = {f"{w.name} {w.version}": row for w, row in found if row and row.least_nvjitlink}
    if not users:
        return
    names = " and ".join(sorted(users))
    linker = picked.first(environment, "nvJitLink", PATHFINDER)
    unknown = any(pick.path for pick in environment.picked("nvJitLink", PATHFINDER))
    least = max(row.least_nvjitlink for row in users.values() if row.least_nvjitlink)
    driver = driver_release.of_user(environment)
    if (linker is None and not unknown) or (linker is not None and linker.release < least):
        has = f"only nvJitLink {linker.version}" if linker else "no nvJitLink"
        yield Problem(
            Verdict.OK,
            f"{names} will link with the driver, which refuses LTO-IR: {has} is found",
            remedy=f"for LTO-IR, install nvJitLink {least} or newer of the driver's major version",
            evidence=linker.path if linker else "the files that cuda-pathfinder finds",
            level=Level.NOTE,
        )
    elif linker is not None and driver is not None and driver.major < linker.release.major:
        floor = floors.major(linker.release.major)
        needs = f", which needs driver {floor}" if floor else ""
        yield Problem(
            Verdict.UNKNOWN,
            f"{names} will link with nvJitLink {linker.version} on a CUDA {driver} driver: the "
            f"result is code of CUDA {linker.release.major}{needs}",
            remedy=f"update the driver, or install nvJitLink {driver.major}.x if that is new "
            "enough for the LTO-IR",
            evidence=linker.path,
        )


@rule("LTO-10b")
def linked_code_on_older_driver(subject: Subject) -> Iterator[Requirement]:
    """A linker makes code of its own CUDA major."""
    if subject.route is not Route.LINK or subject.linker is None or not subject.picked:
        return
    major = subject.linker.major
    name = image_helpers.linker_name(subject)
    floor = floors.major(major)
    consequence = (
        f"the tables name no minimum driver for CUDA {major}"
        if floor is None
        else f"this linker generates code of CUDA {major}, and NVIDIA documents that older drivers "
        "don't support it (not measured)"
    )
    yield Requirement(
        driver_of_major(major),
        f"code linked by {name} {major}.x",
        consequence,
        remedy=f"link with {name} of the driver's major version, or update the driver",
    )


@per_image("LTO-11", Route.LINK, ImageKind.LTOIR)
def ltoir_with_debug(image: ImageSignature, _: Subject) -> Iterator[Requirement]:
    """Device debugging and link-time optimisation exclude each other."""
    if image.debug:
        yield Requirement(Informational(), "LTO-IR with debug information")


# What nvlink -dlto compares: it builds all with a value that some leave open.
_SAME_FOR_NVLINK = {
    "-ftz": "-ftz",
    "-prec_div": "-prec-div",
    "-prec_sqrt": "-prec-sqrt",
    "-fmad": "-fmad",
    "-maxreg": "-maxrregcount",
}


@rule("LTO-12")
def options_differ(link: Link) -> Iterator[Requirement]:
    """LTO-IR images of one link were compiled with different options."""
    for differing in link.options:
        values = [value for value, _ in differing.values]
        listed = ", ".join("not given" if v is None else v or "given" for v in values)
        given = [value for value in values if value is not None]
        fatal = differing.option in _SAME_FOR_NVLINK and len(given) > 1
        yield Requirement(
            FixedVerdict(Verdict.FAIL)
            if fatal and link.offline and link.certain
            else Informational(),
            f"LTO-IR of one link that differs in {differing.option} ({listed})",
            _consequence_of_options(link, differing.option, fatal=fatal),
        )


def _consequence_of_options(link: Link, option: str, *, fatal: bool) -> str:
    if not link.offline:
        return "nvJitLink accepts this silently"
    if not fatal:
        return "nvlink compiles all LTO-IR with the value that you pass to nvlink, and reports it"
    name = _SAME_FOR_NVLINK[option]
    refusal = f"nvlink fatal : Cicc option values for '{name}' do not match"
    return refusal if link.certain else f"if you link them together: {refusal}"


@rule("LTO-14", ImageKind.LTOIR)
def suffix_entry_for_another_target(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """An LTO-IR entry with a suffix is for the targets of the suffix only, from nvJitLink 13 on.

    LTO-03 speaks of lower targets.
    """
    arch = image.arch
    if route is not Route.LINK or arch is None or not image.in_fatbin:
        return None
    if arch.number > gpu.arch.number:
        return None
    wrong_arch = image_helpers.not_this_arch(image, gpu, route)
    return wrong_arch or image_helpers.not_this_family(image, gpu, route)


@rule("LTO-15")
def target_unknown_to_linker(subject: Subject) -> Iterator[Requirement]:
    """A linker makes code for the architectures in its list."""
    images = image_helpers.linked(subject, ImageKind.LTOIR)
    # What no nvJitLink links (LTO-02), a driver's own linker may make code of for older GPUs.
    ancient = any(r[-1] < FIRST_NVJITLINK for r in map(makers.ltoir_releases, images) if r)
    if subject.route is Route.LINK and subject.picked and not ancient:
        number, family = subject.gpu.arch.number, subject.gpu.arch.suffix == "f"
        target = f"{image_helpers.real(subject.gpu)}{subject.gpu.arch.suffix}"
        yield Requirement(
            LinkerTargets(number, family, of_gpu=True, trial_decides=True, promised=True),
            f"a link for {target}",
            evidence=f"architectures of ptxas, release by release: {target}",
        )


@rule("LTO-17")
def ltoir_left_over(summary: ArtifactSummary) -> Iterator[Problem]:
    """A program loads the modules that it registers, and no driver links LTO-IR."""
    if groups := [group for group in summary.groups if _left_over(group.signature)]:
        number = sum(group.count for group in groups)
        yield Problem(
            Verdict.OK,
            f"{count(number, 'registered module')} hold{'s' * (number == 1)} LTO-IR in addition to "
            "the code that the driver loads: the LTO-IR was for a link and only takes up space now",
            headline=f"LTO-IR is left in {count(number, 'finished module')}",
            **artifact_code.counted(groups),
            subject="LTO-IR",
        )


def _left_over(signature: ModuleSignature) -> bool:
    """Return whether LTO-IR lies beside code that drivers load; alone it is another rule's."""
    kinds = signature.kinds
    linked = bool(signature.registered) and not signature.needs_device_link
    return linked and ImageKind.LTOIR in kinds and not kinds.isdisjoint(KERNEL_KINDS)


@per_image("LTO-18", Route.LINK, ImageKind.LTOIR)
def ltoir_of_a_release_to_come(image: ImageSignature, _: Subject) -> Iterator[Requirement]:
    """Scrambled LTO-IR in the newest container may be of a release after all known ones."""
    newest = makers.newest_maker(image)
    if newest is not None:
        limit = f"if CUDA {newest} or older made it (as of {ltoir.newest_date()})"
        yield Requirement(
            LinkerOfKnownMaker(newest, trial_decides=True, promised=True, warns=True),
            "scrambled LTO-IR",
            f"it can be linked {limit}; a newer compiler may write the same container",
            evidence=makers.evidence(image),
            short=f"it can be linked {limit}",
        )
