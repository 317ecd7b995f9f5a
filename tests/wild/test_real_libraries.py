"""Real libraries: every figure was counted by another tool, or follows from how they were made."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import cuobjdump
import pytest
import wheels

import ltocompat
from ltocompat import HostBinary, Image, ImageKind, Module, Skipped, Verdict
from ltocompat.files.byteview import ByteView
from ltocompat.files.fatbin import StoredImage, StoredModule
from ltocompat.files.images.cubin import Cubin
from ltocompat.model.limits import DEFAULT_LIMITS, Budget
from ltocompat.model.location import Location
from ltocompat.scan import walk
from ltocompat.scan.describe import ReadOptions, describe
from ltocompat.scan.makers import cubin_makers

pytestmark = pytest.mark.wild

CUBLASLT = ("nvidia-cublas==13.10.0.20", "nvidia/cu13/lib/libcublasLt.so.13")
CUVS = ("libcuvs-cu13==26.10.0", "libcuvs/lib64/libcuvs.so")
CUSPARSE = ("nvidia-cusparse-cu12==12.3.1.170", "nvidia/cusparse/lib/libcusparse.so.12")
MATHDX = ("nvidia-libmathdx-cu12==0.3.1.9", "nvidia/cu12/lib/libmathdx.so.0")
CUDADEVRT_12 = ("nvidia-cuda-runtime-cu12==12.9.79", "nvidia/cuda_runtime/lib/libcudadevrt.a")
CUDADEVRT_13 = ("nvidia-cuda-runtime==13.5.37", "nvidia/cu13/lib/libcudadevrt.a")


STATIC_RUNTIMES = [
    (CUDADEVRT_12[0], "nvidia/cuda_runtime/lib/libcudart_static.a", "12"),
    (CUDADEVRT_13[0], "nvidia/cu13/lib/libcudart_static.a", "13"),
    ("nvidia-npp-cu12==12.2.5.30", "nvidia/npp/lib/libnppc.so.12", "12"),
    ("nvidia-npp-cu12==12.4.1.87", "nvidia/npp/lib/libnppc.so.12", "12"),
    ("nvidia-cusparse-cu11==11.7.5.86", "nvidia/cusparse/lib/libcusparse.so.11", None),
    ("nvidia-nvjpeg-cu12==12.4.0.76", "nvidia/nvjpeg/lib/libnvjpeg.so.12", "12"),
    ("nvidia-nvjpeg2k-cu12==0.11.0.51", "nvidia/nvjpeg2k/lib/libnvjpeg2k.so.0", "12"),
]
"""Libraries with a copy of the CUDA runtime, whose release the names of their packages tell."""


def modules(path: Path) -> list[Module]:
    records = list(ltocompat.inspect(path))
    assert [r for r in records if isinstance(r, Skipped)] == []
    return [r for r in records if isinstance(r, Module)]


def by_section(found: list[Module]) -> Counter[tuple[str | None, str]]:
    return Counter((i.section, str(i.kind)) for m in found for i in m.images)


def makers(images: list[Image]) -> set[str]:
    return {", ".join(map(str, image.made_by)) for image in images}


def of(found: list[Module], kind: ImageKind, section: str) -> list[Image]:
    return [i for m in found for i in m.images if i.kind is kind and i.section == section]


@pytest.mark.parametrize(("requirement", "name", "major"), STATIC_RUNTIMES)
def test_a_copy_of_the_runtime_tells_its_major(
    requirement: str, name: str, major: str | None
) -> None:
    records = ltocompat.inspect(wheels.member(requirement, name))
    hosts = [record for record in records if isinstance(record, HostBinary)]
    copies = [each for host in hosts for each in host.libraries if each.how == "static"]
    assert {(each.name, each.version) for each in copies} == {("libcudart", major)}


def test_a_library_without_kernels_needs_the_driver_of_its_runtime() -> None:
    """R470 is of CUDA 11: each call of the runtime 12 in it ends in error 35."""
    path = wheels.member("nvidia-npp-cu12==12.4.1.87", "nvidia/npp/lib/libnppc.so.12")
    for driver, verdict in (("470.82.01", Verdict.FAIL), ("525.60.13", Verdict.OK)):
        found = ltocompat.check(path, targets=[f"driver={driver},gpu=a100"])
        assert [result.verdict for result in found] == [verdict]


def test_cublaslt_has_its_6374_images() -> None:
    found = modules(wheels.member(*CUBLASLT))
    assert by_section(found) == {
        (".nv_fatbin", "sass"): 5367,
        (".nv_fatbin", "ptx"): 299,
        (".cask_resource", "sass"): 299,
        (".ldata", "sass"): 409,
    }
    registered = [m for m in found if m.registered]
    assert len(registered) == 2638  # the wrappers of .nvFatBinSegment, 24 bytes each
    assert {m.section for m in registered} == {".nv_fatbin"}


def test_cuvs_has_its_fragments() -> None:
    found = modules(wheels.member(*CUVS))
    fragments = of(found, ImageKind.LTOIR, ".rodata")
    assert len(fragments) == 1549
    assert len({i.place.offset for i in fragments}) == 1549
    assert makers(fragments) == {"{13.3, 13.4, 13.5}"}
    bare = of(found, ImageKind.SASS, ".rodata")
    assert len(bare) == 25
    assert makers(bare) == {"ptxas 13.3.73"}
    assert sum(m.registered is True for m in found) == 425


def test_cusparse_has_readable_fragments_of_12_0() -> None:
    found = modules(wheels.member(*CUSPARSE))
    fragments = of(found, ImageKind.LTOIR, ".rodata")
    assert len(fragments) == 170
    assert makers(fragments) == {"12.0"}
    assert {(i.ltoir.container, i.ltoir.nvvm_ir) for i in fragments if i.ltoir} == {
        ("1.57", "2.51")
    }
    assert makers(of(found, ImageKind.SASS, ".rodata")) == {"12.0"}  # the cubins beside them


def test_mathdx_has_one_fragment() -> None:
    (module,) = modules(wheels.member(*MATHDX))
    (image,) = module.images
    assert makers([image]) == {"12.6"}
    assert image.identifier is not None


@pytest.mark.parametrize("library", [CUDADEVRT_12, CUDADEVRT_13])
def test_cudadevrt_is_relocatable(library: tuple[str, str]) -> None:
    sass = [i for m in modules(wheels.member(*library)) for i in m.images if i.kind == "sass"]
    assert sass
    assert {i.relocatable for i in sass} == {True}


def _fully(stored: StoredImage) -> tuple[object, ...]:
    """The makers by full decompression and a full parse."""
    whole = Cubin.parse(ByteView.of(stored.payload.decode()), Budget())
    notes = whole.notes()
    return cubin_makers(
        notes.tools,
        notes.toolkit,
        whole.api_versions(),
        header_toolkit=whole.header.toolkit,
    )


@pytest.mark.parametrize("library", [CUBLASLT, CUVS, CUSPARSE])
def test_early_marks_equal_a_full_parse(library: tuple[str, str]) -> None:
    """All cubins, decoded only as far as needed, name the makers that all their bytes name.

    And none is told to be unlike what NVIDIA's tools write.
    """
    path = wheels.member(*library)
    count = 0
    with walk.opened(str(path), DEFAULT_LIMITS) as view:
        for stored in walk.stored_in_file(view, Location(str(path)), walk.ScanSettings()):
            for image in stored.images if isinstance(stored, StoredModule) else ():
                if image.entry.kind is ImageKind.SASS:
                    described, _ = describe(image, ReadOptions())
                    assert described.made_by == _fully(image), image.entry.place
                    assert described.problems == (), image.entry.place
                    count += 1
    assert count > 1000


@pytest.mark.parametrize("library", [CUBLASLT, CUVS, CUDADEVRT_12, CUDADEVRT_13])
def test_cuobjdump_lists_the_same_cubins(library: tuple[str, str]) -> None:
    path = wheels.member(*library)
    text = cuobjdump.run("-all", "-lelf", path).stdout
    # It leaves the "f" out of names.
    theirs = Counter(re.findall(r"\.sm_(\d+a?)f?\.cubin", text))
    ours = Counter(
        f"{i.arch.number}{i.arch.suffix.replace('f', '')}"
        for m in modules(path)
        for i in m.images
        if i.kind == "sass" and i.arch and i.section in (".nv_fatbin", "__nv_relfatbin")
    )
    assert ours == theirs
