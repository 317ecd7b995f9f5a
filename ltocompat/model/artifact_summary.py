"""The part of an artifact that verdicts depend on; it doesn't grow with the modules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress

from msgspec import Struct, field
from msgspec.structs import replace

from ltocompat.model.arch import Release
from ltocompat.model.image import HostBinary, ImageKind, Origin, Skipped
from ltocompat.model.location import Location
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.target import VersionSet, exactly
from ltocompat.model.trial_answer import Trials


class Variant(Struct, frozen=True):
    """The files of one variant.

    Attributes:
        name: its folder or file in the package; if it has several files, the first and the number
            of others.
        version: the version that distinguishes it: ``11.8``, ``13``; its name if nothing does.
        files: its files, each as the members that lead to it.
        folders: its folders, each as the members that lead to it, with a slash at the end.
        pattern: a pattern of the names of its files and of the other variants' files, as a policy
            has it.
        whole: True if the variant has all files of the other variants. A program can then open it
            instead of them.
    """

    name: str
    version: str
    files: frozenset[tuple[str, ...]] = frozenset()
    folders: tuple[tuple[str, ...], ...] = ()
    pattern: tuple[str, ...] = ()
    whole: bool = True

    def has(self, place: Location) -> bool:
        """Return whether a place lies in the variant."""
        members = place.members
        if any(members[:end] in self.files for end in range(1, len(members) + 1)):
            return True
        return any(
            members[: len(folder) - 1] == folder[:-1]
            and len(members) >= len(folder)
            and members[len(folder) - 1].startswith(folder[-1])
            for folder in self.folders
        )


def variant_of(place: Location, variants: Sequence[Variant]) -> Variant | None:
    """Return the variant that contains a place."""
    return next((variant for variant in variants if variant.has(place)), None)


class ModuleGroup(Struct):
    """Modules of one signature that linkers treated alike.

    Attributes:
        signature: the signature.
        trials: the answers of linkers to them.
        count: number of modules.
        example: the first.
        places: their places; not all of them if there are very many.
        inner: True if they lie in members of a package or archive that the user named as a whole.
        kernels: names of the kernels of the module at each place; empty if not requested.
        by_image: at each place, the kernels of each image; empty if all images have the same.
    """

    signature: ModuleSignature
    trials: Trials
    count: int
    example: Location
    inner: bool = False
    places: list[Location] = field(default_factory=list)
    kernels: list[tuple[str, ...]] = field(default_factory=list)
    by_image: list[tuple[frozenset[str], ...]] = field(default_factory=list)

    def part(self, wanted: Sequence[bool]) -> ModuleGroup:
        """Return the group of those modules that are wanted, a flag for each place."""
        lists = (self.places, self.kernels, self.by_image)
        places, kernels, by_image = (list(compress(each, wanted)) for each in lists)
        part = replace(self, count=len(places), example=places[0])
        return replace(part, places=places, kernels=kernels, by_image=by_image)

    @property
    def named(self) -> bool:
        """Return whether the code itself was named: a bare image, or a fatbin in its own file."""
        return self.signature.registered is None and not self.inner

    @property
    def loose(self) -> bool:
        """Return whether the group is bare PTX or cubins; the package's programs select some."""
        unclaimed = self.signature.registered is None and not self.signature.needs_device_link
        bare = all(
            image.kind in (ImageKind.PTX, ImageKind.SASS) and not image.in_fatbin
            for image in self.signature.images
        )
        return self.inner and unclaimed and bare


class ArtifactSummary(Struct):
    """The facts about an artifact on which verdicts depend; many modules need no more memory.

    Attributes:
        path: the artifact.
        groups: its modules.
        skipped: places that were not read, the first of them.
        skipped_count: number of all skipped places.
        hosts: host files that contain these modules and have requirements on a linker or loader.
        apart: True if each group, and so each finding, has modules of only one innermost file.
        single_link: True if all linkable inputs go into one link.
        of_release: True if the artifact is a file of a release, which may have packages for other
            platforms.
        link_trials: the answers of linkers to that link.
        test_groups: bare images of a package's own tests, which don't affect its verdicts.
        device_libraries: NVIDIA's libcudadevrt and the like in a package, for links by others.
        driver_code: modules in libraries of a driver, which loads them itself.
        variants: the variants; the artifact's own code opens one of them.
        has_sources: True if CUDA sources lie next to the bare images. Programs may compile the
            sources at run time, and then serve more GPUs than the images do.
        starts_on: variables of a container image, each with its condition on drivers; the image
            starts only on drivers that meet it.
        platform: the platform of a container image, ``linux_arm64``; empty if the image names none.
        compat: the libcuda of the image's cuda-compat, ``libcuda.so.580.95.05``: NVIDIA's container
            tools put it in front of drivers of older branches. Or the libcuda of a driver in a
            folder that the image's loader searches; else None.
        own_driver: the libcuda of a driver in a system folder, into which the host's libcuda is
            mounted, too.
        searched: folders that its loader searches, by its settings and LD_LIBRARY_PATH.
        compat_listed: True if ``searched`` lists the folder of ``compat``, so that it is in front
            of every driver.
        origins: path in a container image -> the origin of the file.
    """

    path: str
    groups: list[ModuleGroup] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    skipped_count: int = 0
    hosts: list[HostBinary] = field(default_factory=list)
    apart: bool = False
    single_link: bool = False
    of_release: bool = False
    link_trials: Trials = field(default_factory=dict)
    test_groups: list[ModuleGroup] = field(default_factory=list)
    device_libraries: list[ModuleGroup] = field(default_factory=list)
    driver_code: list[ModuleGroup] = field(default_factory=list)
    variants: tuple[Variant, ...] = ()
    has_sources: bool = False
    starts_on: tuple[tuple[str, str], ...] = ()
    platform: str = ""
    compat: Location | None = None
    own_driver: Location | None = None
    searched: tuple[str, ...] = ()
    compat_listed: bool = False
    origins: dict[str, Origin] = field(default_factory=dict)

    @property
    def modules(self) -> int:
        """Number of modules."""
        return sum(group.count for group in self.groups)

    @property
    def in_front(self) -> Location | None:
        """The libcuda, of a driver or of cuda-compat, that is in front of every other driver."""
        return self.compat if self.compat_listed else None


def own_linker(summary: ArtifactSummary) -> VersionSet[Release] | None:
    """Return the nvJitLink inside an artifact, if the artifact needs no other nvJitLink.

    That copy links the artifact's fragments; the target's nvJitLink doesn't matter.
    """
    libraries = (library for host in summary.hosts for library in host.libraries)
    copies = [library for library in libraries if library.name == "libnvJitLink"]
    if not copies or any(copy.how != "static" or copy.version is None for copy in copies):
        return None
    version = copies[0].version or ""
    return exactly(Release.parse(version), copies[0].evidence, version)


def only_variant(
    summary: ArtifactSummary, variant: Variant, *, common: bool = True
) -> ArtifactSummary:
    """Return the part of an artifact that a program uses if it opens this variant.

    Args:
        summary: the artifact.
        variant: the variant.
        common: True to include the files that belong to no variant; False for the variant alone.
    """

    def used(place: Location) -> bool:
        home = variant_of(place, summary.variants)
        return home is variant or (home is None and common)

    skipped, count = summary.skipped, summary.skipped_count
    if len(skipped) == count:  # else nobody knows where the others are
        skipped = [reason for reason in skipped if used(reason.place)]
        count = len(skipped)
    return replace(
        summary,
        groups=[group for group in summary.groups if used(group.example)],
        skipped=skipped,
        skipped_count=count,
        hosts=[host for host in summary.hosts if used(host.place)],
        variants=(),
    )


class VariantParts(Struct, frozen=True):
    """The artifacts that are checked for one variant.

    Attributes:
        variant: the variant.
        used: the variant together with the files that belong to no variant.
        alone: the variant by itself.
    """

    variant: Variant
    used: ArtifactSummary
    alone: ArtifactSummary


def variant_parts(summary: ArtifactSummary) -> tuple[VariantParts, ...]:
    """Return the variants that can be opened, oldest first; empty if there is none."""
    return tuple(
        VariantParts(
            variant, only_variant(summary, variant), only_variant(summary, variant, common=False)
        )
        for variant in summary.variants
        if variant.whole
    )


def of_package(path: str, files: Iterable[ArtifactSummary]) -> ArtifactSummary:
    """Return the files of an installed package as one artifact, as in its wheel."""
    whole = ArtifactSummary(path)
    for summary in files:
        whole.groups += summary.groups
        whole.skipped += summary.skipped
        whole.skipped_count += summary.skipped_count
        whole.hosts += summary.hosts
    return whole


def together_as_one(
    summaries: Sequence[ArtifactSummary], trials: Trials | None = None
) -> ArtifactSummary:
    """Return several artifacts that are linked together as one.

    Args:
        summaries: the artifacts.
        trials: the answers of linkers to all of them at once.
    """
    whole = of_package(" + ".join(summary.path for summary in summaries), summaries)
    whole.single_link, whole.link_trials = True, trials or {}
    taken = {key: tried for key, tried in whole.link_trials.items() if tried.worked}
    whole.groups = [replace(g, trials={**g.trials, **taken}) for g in whole.groups]
    return whole
