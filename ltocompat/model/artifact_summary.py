"""The part of an artifact that verdicts rest on, however many modules it has."""

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
        name: its folder or its file in the package; of several files the first, and how many more.
        version: what tells it from the others: ``11.8``, ``13``; its name where nothing does.
        files: its files, each as the members that lead to it.
        folders: its folders, each as the members that lead to it, and a slash behind the last.
        pattern: names of its files and those of the others, as a policy takes them.
        whole: it has what each other variant has, so that it can be the one that is opened.
    """

    name: str
    version: str
    files: frozenset[tuple[str, ...]] = frozenset()
    folders: tuple[tuple[str, ...], ...] = ()
    pattern: tuple[str, ...] = ()
    whole: bool = True

    def has(self, place: Location) -> bool:
        """Return whether a place lies in it."""
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
    """The variant that a place lies in."""
    return next((variant for variant in variants if variant.has(place)), None)


class ModuleGroup(Struct):
    """Modules of one signature that linkers treated alike.

    Attributes:
        signature: the signature.
        trials: what linkers did with them.
        count: number of modules.
        example: the first.
        places: where they are; not all of them where there are very many.
        inner: they lie in members of what was named, a package or an archive, and the user named
            none of them.
        kernels: names of the kernels of the module at each place; empty where nobody asked.
        by_image: at each place, those of each image; empty where all have the same.
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
        """Return those modules, by place, that are wanted."""
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
        """Return whether it is bare PTX or cubins, of which programs of the package pick some."""
        unclaimed = self.signature.registered is None and not self.signature.needs_device_link
        bare = all(
            image.kind in (ImageKind.PTX, ImageKind.SASS) and not image.in_fatbin
            for image in self.signature.images
        )
        return self.inner and unclaimed and bare


class ArtifactSummary(Struct):
    """The part of an artifact that verdicts rest on, however many modules it has.

    Attributes:
        path: the artifact.
        groups: its modules.
        skipped: places that were not read, the first of them.
        skipped_count: number of all skipped places.
        hosts: host files around them, of which a linker or loader asks something.
        apart: a group has modules of one innermost file only, and so do findings.
        single_link: all that can be linked is given to one link.
        link_trials: what linkers did with that link.
        test_groups: loose images of a package's own tests, on which no verdict of it rests.
        device_runtime: objects of NVIDIA's libcudadevrt in a package, for links that others make.
        driver_code: modules in libraries of a driver, which loads them itself.
        variants: files of which the artifact's loader opens one.
        has_sources: sources of CUDA lie beside its loose images; what they are compiled into when
            its programs run may serve where the images don't.
        starts_on: variables of a container image, each with the condition on drivers that keeps it
            from starting elsewhere.
        platform: of a container image, ``linux_arm64``; empty where it says none.
        compat: the libcuda of the cuda-compat in it, ``libcuda.so.580.95.05``, which NVIDIA's
            container tools put in front of drivers of older branches, or that of a driver in a
            folder that its loader searches; None for none.
        own_driver: the libcuda of a driver in a folder of the system, where the host's is put too.
        searched: folders that its loader searches, by its settings and LD_LIBRARY_PATH.
        compat_listed: these have that libcuda, so that it is in front of every driver.
        origins: path in a container image -> how the file came there.
    """

    path: str
    groups: list[ModuleGroup] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    skipped_count: int = 0
    hosts: list[HostBinary] = field(default_factory=list)
    apart: bool = False
    single_link: bool = False
    link_trials: Trials = field(default_factory=dict)
    test_groups: list[ModuleGroup] = field(default_factory=list)
    device_runtime: list[ModuleGroup] = field(default_factory=list)
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
        """The libcuda of a driver or of cuda-compat that is in front of every other driver."""
        return self.compat if self.compat_listed else None


def own_linker(summary: ArtifactSummary) -> VersionSet[Release] | None:
    """The nvJitLink that an artifact brings inside, where it asks for no other one.

    Its fragments are linked by that copy, whatever is installed where they go.
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
    """Return the part of an artifact that is in use with one of its variants.

    Args:
        summary: the artifact.
        variant: the variant.
        common: with what is in no variant; else the variant by itself.
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
    """The artifacts that are judged for the sake of one variant.

    Attributes:
        variant: the variant.
        used: what is in use with it: the variant itself, and all that is in none.
        alone: the variant by itself.
    """

    variant: Variant
    used: ArtifactSummary
    alone: ArtifactSummary


def variant_parts(summary: ArtifactSummary) -> tuple[VariantParts, ...]:
    """The variants that can be the one that is opened, oldest first; empty where there is none."""
    return tuple(
        VariantParts(
            variant, only_variant(summary, variant), only_variant(summary, variant, common=False)
        )
        for variant in summary.variants
        if variant.whole
    )


def of_package(path: str, files: Iterable[ArtifactSummary]) -> ArtifactSummary:
    """The files of an installed package as one artifact, as they are in its wheel."""
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
    """Several artifacts that are linked together, as one.

    Args:
        summaries: the artifacts.
        trials: what linkers did with all of them at once; what they linked, they took of each.
    """
    whole = of_package(" + ".join(summary.path for summary in summaries), summaries)
    whole.single_link, whole.link_trials = True, trials or {}
    taken = {key: tried for key, tried in whole.link_trials.items() if tried.worked}
    whole.groups = [replace(g, trials={**g.trials, **taken}) for g in whole.groups]
    return whole
