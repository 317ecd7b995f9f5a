"""Images of a module that a linker picks for a target, and images that it takes by themselves.

nvJitLink goes by entry headers, and there is no second choice: what is picked and then refused is
an error, whatever lies beside it. A fatbin links where an entry is found for the target, and its
content is one that the linker takes alone. Source: measured with nvJitLink 12.0 .. 13.5 for every
target that each has: fatbins of one entry (58,000), and of two and three (22,500), and the content
alone and in its entry (68,000); tests/data/selection.json has what the first two and SASS alone
gave when they were measured again. Their entries had no attributes, which tools write for SASS from
sm_100 on: tests/data/family_entries.json has what linkers take of what nvFatbin makes.
"""

from __future__ import annotations

from ltocompat.facts import gpus, nvjitlink_minors
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.rules.linker_traits import LinkerTraits, newest_traits, traits_of
from ltocompat.rules.selection import Pick, SelectionFailure, same_arch

LINKED = (ImageKind.LTOIR, ImageKind.SASS, ImageKind.PTX)
# The first architecture with code for a family; from there on SASS serves its family alone.
FIRST_FAMILY = 100
_FIRST_LOOSE = 90


def pick_for_linker(
    signature: ModuleSignature, target: SmArch, linker: Release | None, *, lto: bool = True
) -> Pick:
    """Pick the image of a module that nvJitLink uses.

    From a fatbin, it is the LTO-IR entry for the highest architecture that fits the target; without
    one, the SASS or PTX for the highest, and the SASS if there are both. For equal entries, see
    ``_chosen``. nvlink 13.0 to 13.5 picks alike. A bare image is used unchanged. Without ``-lto``
    LTO-IR comes last, and is refused (measured with nvJitLink 13.0 and 13.5, nvlink 13.0).

    Args:
        signature: the module.
        target: the target of the link, with its suffix.
        linker: release of the linker; None: the newest rules.
        lto: True with ``-lto``.
    """
    traits = None if linker is None else traits_of(linker, lto=lto)
    return pick_for_linkers_alike(signature, target, traits)


def pick_for_linkers_alike(
    signature: ModuleSignature, target: SmArch, linker: LinkerTraits | None
) -> Pick:
    """Pick the image of a module that all releases with some traits use."""
    linker = linker or newest_traits()
    if not signature.images:
        return Pick((), SelectionFailure.EMPTY)
    if not any(image.in_fatbin for image in signature.images):
        return _alone(signature, target, linker)
    stopped = not linker.passes_concatenated and any(i.concatenated for i in signature.images)
    found = [image for image in signature.images if _is_found(image, target, linker)]
    if stopped or not found:
        return Pick((), _missed_by_linker(signature))
    first = [image for image in found if (image.kind is ImageKind.LTOIR) is linker.lto]
    chosen = _chosen(first or found, target, linker)
    return Pick((), SelectionFailure.FINAL) if _final(chosen) else Pick((chosen,))


def releases_that_pick(signature: ModuleSignature, target: SmArch) -> tuple[Release, ...]:
    """Return nvJitLink releases that know a target and pick an image for it, oldest first."""
    return tuple(
        release
        for release in nvjitlink_minors()
        if target.number in gpus.linker_targets(release)
        and not pick_for_linkers_alike(signature, target, traits_of(release)).missed
    )


def _is_found(image: ImageSignature, target: SmArch, linker: LinkerTraits) -> bool:
    """Return whether a linker finds an entry of a fatbin for a target."""
    entry = image.picked_by
    if entry is None or image.kind not in LINKED:
        return False
    if image.concatenated and not linker.sees_concatenated:
        return False
    if gpus.sm(entry.number) is not None and entry.number not in linker.archs:
        return False
    if image.kind is not ImageKind.SASS:
        return _finds_virtual(entry, target, linker)
    if image.lists_family is None:
        return _finds_sass(entry, target, linker)
    return _finds_sass_with_family(entry, target, linker, listed=image.lists_family)


def _finds_virtual(entry: SmArch, target: SmArch, linker: LinkerTraits) -> bool:
    if not linker.minds_suffix or not entry.suffix:
        return entry.number <= target.number
    if entry.suffix == "f":
        return _in_family(entry.number, target.number)
    # sm_101 goes by another name, of which 101a says nothing: it is for any higher target.
    renamed = same_arch(entry.number) != entry.number and entry.number < target.number
    return target.suffix == "a" and (renamed or entry.number == target.number)


def _finds_sass(entry: SmArch, target: SmArch, linker: LinkerTraits) -> bool:
    if entry.suffix and linker.minds_suffix:
        alike = target.suffix == "a" if entry.suffix == "a" else target.suffix != "a"
        return alike and entry.number == target.number
    narrow = entry.suffix == "a" and target.suffix != "a"
    return not narrow and _reaches(entry.number, target.number, linker, stored=True)


def _finds_sass_with_family(
    entry: SmArch, target: SmArch, linker: LinkerTraits, *, listed: bool
) -> bool:
    """Find SASS from sm_100 on as tools write it: its entry says more than a number.

    Where it lists no family, as that of CUDA 12 does, it is found for all of it, and then refused:
    see ``refused_across_family``.
    """
    own = same_arch(entry.number) == same_arch(target.number)
    if entry.suffix == "a":
        unminded = linker.knows_family and not linker.minds_suffix_of_sass
        return own and (unminded or target.suffix == "a")
    reads_list = linker.minds_suffix or not listed
    return own or (reads_list and _in_family(entry.number, target.number))


def refused_across_family(image: ImageSignature, target: SmArch) -> bool:
    """Return whether SASS is found in a fatbin for a target of its family, and then refused."""
    if image.lists_family is None or image.arch is None:
        return False
    pair = image.arch.number, target.number
    across = same_arch(pair[0]) != same_arch(pair[1])
    return across and not (image.lists_family and pair in ((100, 103), (120, 121)))


def _reaches(number: int, target: int, linker: LinkerTraits, *, stored: bool) -> bool:
    """Return whether a linker takes SASS of one architecture for a target without its suffix.

    Fewer pairs than drivers run, and in entries of a fatbin fewer than alone.
    """
    if number == target:
        return True
    if number > target:
        return False
    if number >= FIRST_FAMILY:
        to_sibling = (number, target) == (120, 121)
        return to_sibling or (not stored and linker.links_upward and _in_family(number, target))
    if number // 10 != target // 10:
        return False
    if gpus.is_tegra(number) or gpus.is_tegra(target):
        return linker.joins_tegra and number >= 80
    return linker.links_upward or number >= 75


def _in_family(number: int, target: int) -> bool:
    row = gpus.sm(number)
    return number <= target and (target == number or (row is not None and target in row.family))


def _chosen(found: list[ImageSignature], target: SmArch, linker: LinkerTraits) -> ImageSignature:
    """The highest of some entries.

    Of equals the first, but of those that are for the target itself and count as without a suffix
    the last, and of SASS from nvJitLink 13.0 on the first again.
    """
    best = max(_rank(image, target, linker) for image in found)
    equals = [image for image in found if _rank(image, target, linker) == best]
    number, is_sass, suffix = best
    takes_last = number == target.number and not suffix and not (is_sass and linker.minds_suffix)
    return equals[-1] if takes_last else equals[0]


def _rank(image: ImageSignature, target: SmArch, linker: LinkerTraits) -> tuple[int, bool, int]:
    arch = image.picked_by
    if arch is None:
        return 0, False, 0
    suffix = _rank_of_suffix(image.kind, arch, target, linker)
    return arch.number, image.kind is ImageKind.SASS, suffix


def _rank_of_suffix(kind: ImageKind, entry: SmArch, target: SmArch, linker: LinkerTraits) -> int:
    """``a`` before ``f`` before none, as far as a linker sees it."""
    if kind is ImageKind.PTX and not linker.minds_suffix:
        return 0
    if entry.suffix == "f":
        return int(linker.knows_family)
    seen = not linker.minds_suffix or entry.number == target.number
    return 2 if entry.suffix == "a" and seen else 0


def _final(image: ImageSignature) -> bool:
    """Return whether it is final SASS: refused before nvJitLink 12.6, left out from then on."""
    return image.kind is ImageKind.SASS and image.relocatable is False


def _alone(signature: ModuleSignature, target: SmArch, linker: LinkerTraits) -> Pick:
    for image in signature.images:
        if image.kind not in LINKED:
            return Pick((), SelectionFailure.OTHER_KIND)
        if image.arch is not None and not fits_alone(image.kind, image.arch, target, linker):
            return Pick((), SelectionFailure.NOT_FOR_GPU)
        if _final(image):
            return Pick((), SelectionFailure.FINAL)
    return Pick(signature.images)


def fits_alone(kind: ImageKind, code: SmArch, target: SmArch, linker: LinkerTraits) -> bool:
    """Return whether a linker accepts an image without an entry header for a target.

    For LTO-IR, at most the number counts; PTX is compiled according to its ``.target``.
    """
    if kind is ImageKind.LTOIR:
        return not linker.checks_arch or code.number <= target.number
    if kind is ImageKind.PTX:
        return compiles_to(code, target)
    if code.suffix != "a":
        outside = code.suffix == "f" and not _in_family(code.number, target.number)
        return not outside and _reaches(code.number, target.number, linker, stored=False)
    if not linker.minds_suffix_of_sass:
        own = code.number == target.number
        return own or (not linker.minds_suffix and (code.number, target.number) == (120, 121))
    return target.suffix == "a" and same_arch(code.number) == same_arch(target.number)


def passed_over_by_nvlink(image: ImageSignature, target: SmArch) -> bool:
    """Return whether nvlink compiles PTX in a separate file, but leaves the result out.

    Measured with nvlink 13.0 to 13.5 for 15 targets: before sm_90, its output never has the code,
    with exit status 0 and no message.
    """
    return image.kind is ImageKind.PTX and not image.in_fatbin and target.number < _FIRST_LOOSE


def compiles_to(code: SmArch, target: SmArch) -> bool:
    """Return whether ptxas compiles PTX with a ``.target`` for the target of a link."""
    if code.suffix == "a":
        return target.suffix == "a" and same_arch(code.number) == same_arch(target.number)
    if code.suffix == "f":
        return _in_family(code.number, target.number)
    return code.number <= target.number


def _missed_by_linker(signature: ModuleSignature) -> SelectionFailure:
    other = signature.kinds <= {ImageKind.TILEIR, ImageKind.UNKNOWN}
    return SelectionFailure.OTHER_KIND if other else SelectionFailure.NOT_FOR_GPU
