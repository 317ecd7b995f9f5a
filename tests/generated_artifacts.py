"""Artifacts that hypothesis makes up: modules of the samples, altered and mixed, and host files.

A module is put together from images that real compilers wrote, so that makers, versions and
architectures belong together; how they lie in a file is drawn: alone, side by side in one fatbin,
registered or not, compressed, concatenated, with kernels or without. Host files import names and
open files as real ones do, or bring a linker of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import strategies as st
from msgspec.structs import replace
from samples import FOLDER
from summaries import summaries

from ltocompat.commands.read_artifacts import ScanOptions
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup
from ltocompat.model.image import Compression, CudaLibrary, HostBinary, ImageKind, Skipped
from ltocompat.model.location import Location
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.scan.walk import ScanSettings

FOLDERS = ("cubin", "fatbin", "fatbin-ltoir", "ltoir", "objects", "ptx")
WHERE = Location("made-up")
FIRST_WITH_FAMILY = 100


def _groups_of_samples() -> Iterator[ModuleGroup]:
    folders = [str(FOLDER / name) for name in FOLDERS]
    seen = set()
    for summary in summaries(folders, ScanOptions(ScanSettings())):
        for group in summary.groups:
            if group.signature not in seen:
                seen.add(group.signature)
                yield group


GROUPS = tuple(_groups_of_samples())
"""The modules of all samples."""

CODE = (ImageKind.LTOIR, ImageKind.PTX, ImageKind.SASS)
IMAGES = tuple(
    dict.fromkeys(
        image for group in GROUPS for image in group.signature.images if image.kind in CODE
    )
)


@st.composite
def stored_images(draw: st.DrawFn) -> ImageSignature:
    """An image of a sample as an entry of a fatbin."""
    image = draw(st.sampled_from(IMAGES))
    lists: list[bool | None] = [None]
    if image.kind is ImageKind.SASS and image.arch and image.arch.number >= FIRST_WITH_FAMILY:
        lists += [True, False]
    kernels = None if image.kind is ImageKind.LTOIR else draw(st.sampled_from([None, True, False]))
    return replace(
        image,
        in_fatbin=True,
        prelinked=False,
        compression=draw(st.sampled_from(Compression)),
        concatenated=draw(st.integers(0, 5)) == 0,
        has_kernels=kernels,
        lists_family=draw(st.sampled_from(lists)),
    )


@st.composite
def mixed_modules(draw: st.DrawFn) -> ModuleSignature:
    """A fatbin with several images, and how a file keeps it."""
    images = tuple(draw(st.lists(stored_images(), min_size=1, max_size=4)))
    kept = draw(st.sampled_from([(None, False), (True, False), (False, False), (None, True)]))
    return ModuleSignature(images, *kept)


def _group(signature: ModuleSignature, count: int) -> ModuleGroup:
    return ModuleGroup(signature, {}, count, WHERE)


MODULES = st.one_of(
    st.sampled_from(GROUPS),
    st.sampled_from(GROUPS),
    st.builds(_group, mixed_modules(), st.integers(1, 3)),
)

FUNCTIONS = ("Create", "AddData", "Complete", "GetLinkedCubin", "GetLinkedLTOIR")
VERSIONS = ("", "_12_0", "_12_3", "_12_4", "_12_9", "_13_0", "_13_3")
FILES = ("libnvJitLink.so.12", "libnvJitLink.so.13")


@st.composite
def hosts(draw: st.DrawFn) -> HostBinary:
    """A library that imports names of nvJitLink, needs or opens it by name, or has one inside."""
    version = draw(st.sampled_from(VERSIONS))
    functions = draw(st.lists(st.sampled_from(FUNCTIONS), max_size=2, unique=True))
    imports = tuple(f"__nvJitLink{name}{version}" for name in functions)
    how = draw(st.sampled_from(["needed", "opened", "static", None]))
    libraries: list[CudaLibrary] = []
    if how == "static":
        own = draw(st.sampled_from(["12.0", "12.4", "12.9", "13.0", "13.5", None]))
        libraries = [CudaLibrary("libnvJitLink", how, None, own, "symbols")]
    elif how is not None:
        names = draw(st.lists(st.sampled_from(FILES), min_size=1, unique=True))
        libraries = [CudaLibrary("libnvJitLink", how, name, None, "name") for name in names]
    return HostBinary(
        place=WHERE,
        format="ELF",
        machine="x86-64",
        type="shared library",
        nvjitlink_imports=imports,
        libraries=tuple(libraries),
    )


def artifact(
    groups: list[ModuleGroup], libraries: list[HostBinary], *, unread: bool = False
) -> ArtifactSummary:
    """An artifact of these modules and host files."""
    skipped = [Skipped(WHERE, "it is cut off")] if unread else []
    return ArtifactSummary("made-up", list(groups), skipped, len(skipped), hosts=list(libraries))


HOSTS: st.SearchStrategy[list[HostBinary]] = st.one_of(
    st.just([]), st.just([]), st.lists(hosts(), min_size=1, max_size=2)
)


def _without_kernels(group: ModuleGroup) -> ModuleGroup:
    images = tuple(replace(image, has_kernels=False) for image in group.signature.images)
    return replace(group, signature=ModuleSignature(images, registered=True))


@st.composite
def runtimes(draw: st.DrawFn) -> HostBinary:
    """A library that needs a CUDA runtime or none."""
    names = draw(
        st.sampled_from([(), ("libcudart.so.11.0",), ("libcudart.so.12",), ("libcudart.so.13",)])
    )
    libraries = tuple(CudaLibrary("libcudart", "needed", name, None, "DT_NEEDED") for name in names)
    return HostBinary(
        place=WHERE,
        format="ELF",
        machine="x86-64",
        type="shared library",
        libraries=libraries,
    )


FINAL = [
    group
    for group in GROUPS
    if {image.kind for image in group.signature.images} <= {ImageKind.SASS, ImageKind.PTX}
    and not any(image.relocatable for image in group.signature.images)
]
IDLE = st.builds(
    artifact,
    st.lists(st.sampled_from(FINAL).map(_without_kernels), min_size=1, max_size=2),
    st.lists(st.one_of(runtimes(), runtimes(), hosts()), min_size=1, max_size=2),
)
"""Registered modules without kernels, as nvcc writes them for a file without device code."""

ARTIFACTS = st.one_of(
    st.builds(
        artifact,
        st.lists(MODULES, min_size=1, max_size=3),
        HOSTS,
        unread=st.integers(0, 9).map(lambda number: number == 0),
    ),
    IDLE,
)
"""Modules of any kind side by side, at times with host files around them."""
