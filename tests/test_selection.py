"""What the driver and nvJitLink pick, against what they were measured to pick."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from every_case import every
from hypothesis import example, given
from hypothesis import strategies as st

from ltocompat import inspect
from ltocompat.facts import gpus
from ltocompat.model.arch import ArchForm, Release, SmArch
from ltocompat.model.image import Image, ImageKind, Module
from ltocompat.model.location import Location
from ltocompat.model.signature import ImageSignature, ModuleSignature, module_signature
from ltocompat.rules.link_selection import pick_for_linker, refused_across_family
from ltocompat.rules.selection import SelectionFailure, compiles, pick_for_driver, runs

MEASURED = json.loads((Path(__file__).parent / "data/selection.json").read_text("utf-8"))[
    "measured"
]
RELEASES = list(MEASURED)
FATBINS = Path(__file__).parents[1] / "sample_artifacts" / "fatbin"
FAMILIES: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parent / "data/family_entries.json").read_text("utf-8")
)["measured"]


def code(text: str, **traits: object) -> ImageSignature:
    """``sm_90a``, ``compute_80`` or ``lto_75`` as an entry of a fatbin."""
    arch = SmArch.parse(text)
    kinds = {ArchForm.REAL: ImageKind.SASS, ArchForm.VIRTUAL: ImageKind.PTX}
    kind = kinds.get(arch.form, ImageKind.LTOIR)
    return ImageSignature(kind, arch, **traits)  # type: ignore[arg-type]


def module(*texts: str) -> ModuleSignature:
    return ModuleSignature(tuple(map(code, texts)), registered=True)


def picked(signature: ModuleSignature, gpu: int) -> str | SelectionFailure | None:
    pick = pick_for_driver(signature, gpu)
    return " ".join(str(image.arch) for image in pick.images) or pick.missed


def picked_for_link(texts: list[str], target: str, release: str, **traits: object) -> list[int]:
    """The numbers of the images that are picked; each is told by its ISA version."""
    images = tuple(
        code(text, isa=str(n), relocatable=text.startswith("sm") or None, **traits)
        for n, text in enumerate(texts)
    )
    arch = SmArch.parse(f"sm_{target}", ArchForm.REAL)
    pick = pick_for_linker(ModuleSignature(images, None), arch, Release.parse(release))
    return [int(image.isa or "") for image in pick.images]


@every("release", RELEASES)
def test_an_entry_is_found_for_exactly_the_targets_that_it_was_measured_for(release: str) -> None:
    targets = MEASURED[release]["targets"].split()
    for entry, found in MEASURED[release]["found"].items():
        predicted = [target for target in targets if picked_for_link([entry], target, release)]
        assert predicted == found.split(), entry


@every("release", RELEASES)
def test_an_image_alone_is_taken_for_exactly_the_targets_that_it_was_measured_for(
    release: str,
) -> None:
    """But for code that came after the linker, which other rules speak of."""
    targets = MEASURED[release]["targets"].split()
    for image, taken in MEASURED[release]["alone"].items():
        if _is_newer(image, Release.parse(release)):
            continue
        predicted = [t for t in targets if picked_for_link([image], t, release, in_fatbin=False)]
        assert predicted == taken.split(), image


@pytest.mark.parametrize("release", [each for each in RELEASES if MEASURED[each]["objects"]])
def test_sass_in_an_object_is_taken_for_exactly_the_targets_that_it_was_measured_for(
    release: str,
) -> None:
    for entry, taken in MEASURED[release]["objects"].items():
        inside = ModuleSignature((written(entry, "13.0"),), None, needs_device_link=True)
        predicted = [
            target
            for target in MEASURED[release]["targets"].split()
            if takes(inside, SmArch.parse(f"sm_{target}", ArchForm.REAL), Release.parse(release))
        ]
        assert predicted == taken.split(), entry


def takes(module: ModuleSignature, target: SmArch, linker: Release) -> bool:
    """Whether a linker finds something in it, and takes what it found."""
    images = pick_for_linker(module, target, linker).images
    return any(not refused_across_family(image, target) for image in images)


def written(entry: str, release: str) -> ImageSignature:
    """Relocatable SASS as tools store it that a compiler of this release wrote."""
    has_family = SmArch.parse(entry).number >= 100
    listed = Release.parse(release).major >= 13 if has_family else None
    return code(entry, relocatable=True, lists_family=listed)


def test_entries_of_sass_list_its_family_where_cuda_13_compiled_it() -> None:
    found = {
        (image.made_by[0].releases[-1].major, image.lists_family)
        for sample in sorted(FATBINS.glob("*.fatbin"))
        for record in inspect(sample)
        if isinstance(record, Module)
        for image in record.images
        if image.kind is ImageKind.SASS and image.arch and image.arch.number >= 100
        if image.arch.suffix != "a"  # which lists only itself
    }
    assert found == {(12, False), (13, True)}


@pytest.mark.parametrize("arch", [100, 120])
@pytest.mark.parametrize("listed", [b"\x09", b"\x50", b"\x01", b"\x10", b"\0", None])
def test_an_entry_of_cuda_13_may_list_only_its_own_architecture(
    listed: bytes | None, arch: int, tmp_path: Path
) -> None:
    """As NVSHMEM 3.8.0 has them: objects without functions, and one that runs on sm_100 alone.

    measured: nvJitLink 13.0 to 13.5 with these attributes in a fatbin of nvcc 13.0 and 13.5; nvlink
    13.0 and 13.5 link all of them.
    """
    data = (FATBINS / "nvfatbin-13.5-mixed-makers.fatbin").read_bytes()
    start = data.index(b"\x04\x0b\x08\0\x09")
    head = b"\x04\x0b\x08\0" if listed else b"\x04\x7e\x08\0"
    sm = data.rindex(struct.pack("<I", 100), 0, start)
    data = data[:sm] + struct.pack("<I", arch) + data[sm + 4 :]
    path = tmp_path / "x.fatbin"
    path.write_bytes(data[:start] + head + (listed or b"\0") + data[start + 5 :])
    (module,) = (record for record in inspect(path) if isinstance(record, Module))
    (image,) = (i for i in module.images if i.kind is ImageKind.SASS and i.lists_family is not None)
    assert image.lists_family is (listed in {100: [b"\x09"], 120: [b"\x50"]}[arch])


@pytest.mark.parametrize("linker", FAMILIES)
def test_sass_of_a_family_is_taken_as_it_was_measured(linker: str) -> None:
    """Or refused: for its architecture, or since a newer release wrote it; another rule says so."""
    release = Release.parse(linker)
    ptx = code("compute_80")
    for text, targets in FAMILIES[linker].items():
        entry, _, writer = text.partition(" by ")
        sass = written(entry, writer)
        for item in targets.split():
            name, _, taken = item.partition(":")
            target = SmArch.parse(f"sm_{name}", ArchForm.REAL)
            (image,) = pick_for_linker(ModuleSignature((sass, ptx), None), target, release).images
            refused = refused_across_family(sass, target)
            if taken == "P":
                assert image is ptx, (text, item)
            else:
                assert image is sass, (text, item)
                assert (taken == "S") > refused or (
                    taken == "-" and (refused or Release.parse(writer) > release)
                ), (text, item)


def _is_newer(image: str, linker: Release) -> bool:
    arch = SmArch.parse(image)
    row = gpus.sm(arch.number)
    assert row is not None
    return max(row.first_toolkit, Release(12, 9 if arch.suffix == "f" else 0)) > linker


@every("release", RELEASES)
def test_of_several_entries_the_one_is_picked_that_was_measured(release: str) -> None:
    for line in MEASURED[release]["mixed"]:
        target, entries, picked_entry = line.split(": ")
        expected = [] if picked_entry == "None" else [int(picked_entry)]
        assert picked_for_link(entries.split(), target, release) == expected, line


@every(
    "images, gpu, expected",
    [
        (("sm_80", "sm_90", "compute_80"), 90, "sm_90"),
        (("sm_80", "sm_86"), 89, "sm_86"),
        (("sm_90", "sm_90a"), 90, "sm_90a"),
        (("sm_90a", "compute_80"), 100, "compute_80"),
        (("compute_75", "compute_80"), 90, "compute_80"),
        (("compute_90", "compute_90a"), 90, "compute_90a"),
        (("compute_80", "sm_75"), 75, "sm_75"),
        (("sm_100f",), 103, "sm_100f"),
        (("sm_100f",), 120, SelectionFailure.NOT_FOR_GPU),
        (("sm_101",), 110, "sm_101"),
        (("sm_72",), 75, SelectionFailure.NOT_FOR_GPU),
        (("sm_70",), 75, "sm_70"),
        (("sm_80",), 87, SelectionFailure.NOT_FOR_GPU),
        (("lto_80",), 90, SelectionFailure.LTO_ONLY),
        (("lto_80", "sm_75"), 90, SelectionFailure.NOT_FOR_GPU),
        ((), 90, SelectionFailure.EMPTY),
    ],
)
def test_the_driver_picks(
    images: tuple[str, ...], gpu: int, expected: str | SelectionFailure
) -> None:
    assert picked(module(*images), gpu) == expected


def test_of_equals_the_driver_takes_the_first() -> None:
    first, second = code("sm_80", debug=True), code("sm_80")
    assert pick_for_driver(ModuleSignature((first, second), registered=True), 80).images == (first,)


@every(
    "text, relocatable, target_text, linker, taken",
    [
        ("lto_90", None, "sm_90", "12.0", 1),
        ("lto_90", None, "sm_90", "13.5", 1),
        ("lto_90", None, "sm_90a", "13.5", 1),
        ("lto_80", None, "sm_86", "12.0", 0),
        ("lto_80", None, "sm_90", "13.5", 0),
        ("compute_90", None, "sm_90", "12.0", 1),
        ("compute_90", None, "sm_90a", "13.5", 1),
        ("compute_80", None, "sm_86", "12.9", 0),
        ("sm_90", True, "sm_90", "12.9", 1),
        ("sm_90", True, "sm_90a", "12.9", 1),
        ("sm_90", True, "sm_90", "13.0", 0),
        ("sm_80", True, "sm_86", "12.0", 0),
        ("sm_80", True, "sm_89", "12.9", 0),
        ("sm_80", True, "sm_86", "13.5", 0),
    ],
)
def test_of_equals_a_linker_takes_the_one_that_was_measured(
    text: str, *, relocatable: bool | None, target_text: str, linker: str, taken: int
) -> None:
    """Two kernels under one architecture, in both orders: which of them was in the output."""
    images = tuple(code(text, relocatable=relocatable, has_kernels=flag) for flag in (True, False))
    target = SmArch.parse(target_text, ArchForm.REAL)
    pick = pick_for_linker(ModuleSignature(images, None), target, Release.parse(linker))
    assert pick.images == (images[taken],)


@pytest.mark.parametrize(("linker", "taken"), [("12.8", 1), ("12.9", 0), ("13.0", 0), ("13.5", 0)])
def test_code_for_a_family_goes_first_where_linkers_know_families(linker: str, taken: int) -> None:
    for prefix in ("sm", "lto"):
        entries = [f"{prefix}_120f", f"{prefix}_120"]
        assert picked_for_link(entries, "120", linker) == [taken], prefix


@pytest.mark.parametrize("linker", ["12.0", "12.4", "12.9", "13.0", "13.5"])
@pytest.mark.parametrize(
    ("texts", "target", "expected"),
    [
        (("sm_80", "compute_80"), "80", "sm_80"),
        (("sm_80", "compute_75"), "89", "sm_80"),
        (("sm_80", "compute_86"), "80", "sm_80"),
        (("sm_80", "compute_86"), "86", "compute_86"),
        (("sm_80", "compute_86"), "89", "compute_86"),
        (("sm_80", "sm_86"), "89", "sm_86"),
        (("sm_90", "compute_90a"), "90a", "sm_90"),
        (("sm_90a", "compute_90"), "90a", "sm_90a"),
        (("sm_90", "sm_90a"), "90a", "sm_90a"),
        (("lto_80", "sm_90"), "90", "lto_80"),
        (("lto_80", "compute_90"), "90", "lto_80"),
        (("lto_80", "sm_86"), "86", "lto_80"),
    ],
)
def test_of_different_images_a_linker_takes_the_one_that_was_measured(
    texts: tuple[str, str], target: str, expected: str, linker: str
) -> None:
    """Two kernels, in both orders: which of them was in the output, the same for every linker."""
    for order in (texts, texts[::-1]):
        images = tuple(code(text, relocatable=True) for text in order)
        signature = ModuleSignature(images, None)
        pick = pick_for_linker(signature, SmArch.parse(f"sm_{target}"), Release.parse(linker))
        assert [str(image.arch) for image in pick.images] == [expected]


def test_what_a_device_link_used_up_is_linked_again_when_no_final_sass_serves() -> None:
    final = code("sm_80")
    ptx = [
        code("compute_80", prelinked=number, relocatable=True, isa=isa)
        for number, isa in enumerate(("8.4", "8.5"), 1)
    ]
    signature = ModuleSignature((final, *ptx), registered=True)
    assert pick_for_driver(signature, 80).images == (final,)
    assert pick_for_driver(signature, 90).images == tuple(ptx)


@given(
    objects=st.lists(
        st.sets(st.sampled_from(("sm_80", "sm_90", "compute_80", "lto_80")), min_size=1),
        min_size=1,
        max_size=3,
    ),
    gpu=st.sampled_from((90, 100)),
)
@example(objects=[{"sm_80", "compute_80"}, {"sm_80"}], gpu=90)
@example(objects=[{"sm_80", "compute_80"}, {"sm_80", "sm_90"}], gpu=90)
@example(objects=[{"sm_80", "sm_90", "compute_80"}, {"sm_90"}], gpu=90)
def test_a_driver_links_objects_again_only_if_each_has_code_for_the_gpu(
    objects: list[set[str]], gpu: int
) -> None:
    """On an H200 with driver 580.159.04, the first example ends in error 300, the others work.

    The third runs the SASS of its first object instead of its PTX.

    As cualgo 0.2.0 on sm_100: its kernels have PTX, and its copy of cudadevrt has SASS to sm_90.
    """
    images = [
        code(text, relocatable=True, prelinked=number)
        for number, texts in enumerate(objects, 1)
        for text in sorted(texts)
    ]
    picked = pick_for_driver(ModuleSignature((code("sm_75"), *images), registered=True), gpu)
    taken = {"compute_80", f"sm_{gpu}"}
    works = all(texts & taken for texts in objects)
    preferred = [max(texts & taken) for texts in objects] if works else []  # sm_90 > compute_80
    assert [str(image.arch) for image in picked.images] == preferred


@pytest.mark.parametrize("kept", [{"sm_80"}, {"sm_80", "sm_90"}, {"sm_80", "compute_80"}])
def test_objects_of_a_module_are_told_apart_by_their_regions(kept: set[str]) -> None:
    texts = [("sm_80", "compute_80"), tuple(sorted(kept))]
    kinds = {"s": ImageKind.SASS, "c": ImageKind.PTX}
    images = tuple(
        Image(
            kinds[text[0]],
            2,
            Location("x.so").at(64 * number, entry),
            section="__nv_relfatbin",
            arch=SmArch.parse(text),
        )
        for number, several in enumerate(texts)
        for entry, text in enumerate(several)
    )
    linked = Module(Location("x.so").at(640), ".nv_fatbin", True, images)
    assert [each.prelinked for each in module_signature(linked).images] == [1, 1, *[2] * len(kept)]


def test_sass_of_a_gpu_that_never_was_a_pair_of_tegra_and_desktop_runs_on_it() -> None:
    for row in gpus.sms():
        assert runs(SmArch(row.number), row.number)
        assert compiles(SmArch(row.number, "", ArchForm.VIRTUAL), row.number)


def test_an_integrated_gpu_runs_no_sass_of_a_discrete_one() -> None:
    for code in gpus.sms():
        taken = [row for row in gpus.sms() if row.tegra and runs(SmArch(code.number), row.number)]
        assert not taken or code.tegra, code.number


def test_an_image_without_an_entry_header_is_linked_as_it_is() -> None:
    bare = ModuleSignature((code("lto_90a", in_fatbin=False),), registered=None)
    assert pick_for_linker(bare, SmArch.parse("sm_100"), Release(13, 5)).images
    older = pick_for_linker(bare, SmArch.parse("sm_80"), Release(13, 5))
    assert older.missed is SelectionFailure.NOT_FOR_GPU


def test_a_module_of_a_library_for_integrated_gpus_alone_is_not_for_discrete_ones() -> None:
    orin = module("sm_87")
    assert picked(orin, 87) == "sm_87"
    assert picked(orin, 89) is SelectionFailure.NOT_FOR_GPU
    assert picked(module("sm_80", "sm_87"), 86) == "sm_80"
    loose = ModuleSignature(orin.images, registered=None)
    assert picked(loose, 89) == "sm_87"
    assert picked(module("sm_90a", "sm_87", "compute_80", "sm_80"), 89) == "sm_80"
