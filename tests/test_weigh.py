"""What device code weighs, held against readelf and against what NVIDIA's tools compress to."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest
from every_case import every
from fatbin_writer import KINDS, EntrySpec, entry, region
from libraries_made import build
from package_writer import zip_of
from report_values import valid_json, written
from samples import FOLDER

import ltocompat
from ltocompat.cli import run
from ltocompat.commands.weigh import weight_of
from ltocompat.files.byteview import ByteView
from ltocompat.model.arch import SmArch
from ltocompat.model.image import ImageKind
from ltocompat.model.location import Location
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.weight import ImageTally, Measured, MeasuredLibrary, Saving, Waste, Weight
from ltocompat.report import FORMATS, Options
from ltocompat.report.text import binary_size
from ltocompat.report.verbs.weigh import REPORT
from ltocompat.scan.walk import ScanSettings, batches_of_view
from ltocompat.scan.weigh import Weigher

LIBRARY = FOLDER / "objects" / "libsaxpy.so"
LONG_NAME = "_ZN3cub18DeviceReduceKernelIfEEvPT_i"
ONE_MIB = 1 << 20


def weight(path: object, *, kernels: bool = False) -> Weight:
    (found,) = ltocompat.weigh(str(path), kernels=kernels)
    return found


def saved(found: Weight) -> dict[Waste, int]:
    return {saving.waste: saving.saved for saving in found.savings}


def readelf(option: str, path: Path) -> str:
    command = ["readelf", option, "-W", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def section_size(path: Path, names: str) -> int:
    """Bytes of sections by readelf."""
    rows = re.findall(
        rf" ({names}) +PROGBITS +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+)", readelf("-S", path)
    )
    return sum(int(size, 16) for _, size in rows)


@pytest.mark.parametrize(
    "name",
    ["libsaxpy.so", "nvcc-13.0-plain.o", "nvcc-13.0-rdc-sass+ptx", "nvcc-13.5-plain-sass+ptx"],
)
def test_a_host_file_weighs_what_readelf_says_of_its_sections(name: str) -> None:
    path = FOLDER / "objects" / name
    assert weight(path).stored == section_size(path, r"\.nv_fatbin|__nv_relfatbin") > 0


@pytest.mark.parametrize(
    "writer",
    ["nvcc-13.0", "nvcc-13.2", "nvcc-13.5", "nvfatbin-12.6", "nvfatbin-12.9", "nvfatbin-13.5"],
)
def test_what_zstandard_would_save_is_what_nvidia_saves_with_it(writer: str) -> None:
    found = weight(FOLDER / "fatbin" / f"{writer}-none.fatbin")
    balanced = (FOLDER / "fatbin" / f"{writer}-balance.fatbin").stat().st_size
    assert found.stored - saved(found)[Waste.COMPRESSION] == balanced
    assert not any(saving.estimated for saving in found.savings)


def test_lz4_has_something_to_save_too_and_zstandard_nothing() -> None:
    assert saved(weight(FOLDER / "fatbin" / "nvcc-13.0-speed.fatbin"))[Waste.COMPRESSION] > 0
    assert saved(weight(FOLDER / "fatbin" / "nvcc-13.0-balance.fatbin")) == {}


def measured(machine: str | None, *archs: str, prelinked: str = "") -> Measured:
    """A library with one module that has these images of a MiB each, of SASS unless compute_."""
    images = []
    for number, text in enumerate((*archs, *prelinked.split())):
        kind = ImageKind.PTX if text.startswith("compute") else ImageKind.SASS
        arch = SmArch.parse(text, kind.arch_form)
        of_object = number >= len(archs)
        images.append(ImageSignature(kind, arch, relocatable=of_object, prelinked=of_object))
    library = MeasuredLibrary(Location("libx.so"), machine, linked=True, modules=1)
    tallies = tuple(ImageTally(1, ONE_MIB) for _ in images)
    library.tallies[ModuleSignature(tuple(images), registered=True)] = tallies
    return Measured({library.place: library}, size=100 * ONE_MIB, files=1)


def advice(*archs: str, machine: str | None = "x86-64", prelinked: str = "") -> dict[str, int]:
    found = weight_of("libx.so", measured(machine, *archs, prelinked=prelinked))
    return {saving.waste: saving.saved // ONE_MIB for saving in found.savings}


@every(
    "archs",
    [
        "sm_80 sm_87",
        "sm_100 sm_110",
        "sm_100 sm_101",
        "sm_120 sm_121",
        "sm_90 sm_100 compute_110a",
        "sm_70 sm_72",
    ],
)
def test_what_only_arm_machines_run_is_dead_beside_another_cpu(archs: str) -> None:
    assert advice(*archs.split()) == {"other-cpu": 1}
    assert advice(*archs.split(), machine="AArch64") == {}
    assert advice(*archs.split(), machine=None) == {}


@every(
    "archs",
    [
        "sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_103 sm_120 compute_120",
        "sm_80 compute_80",
        "sm_75 compute_87",  # any GPU from 8.7 on compiles it
        "sm_100 sm_100a",  # sm_103 takes the first
        "sm_90",
        "sm_90a",
    ],
)
def test_what_some_gpu_takes_is_not_dead(archs: str) -> None:
    assert advice(*archs.split()) == {}


@every(
    "archs", ["sm_90 sm_90a", "sm_100 sm_100a sm_103 sm_107", "sm_90 sm_100 compute_90 compute_100"]
)
def test_what_another_image_hides_from_every_gpu_is_never_taken(archs: str) -> None:
    assert advice(*archs.split()) == {"never-taken": 1}


def test_prelinked_code_of_a_real_program_is_found() -> None:
    path = FOLDER / "objects" / "nvcc-13.0-rdc-sass"
    found = saved(weight(path))
    assert 0 < found[Waste.PRELINKED] < section_size(path, "__nv_relfatbin")


def test_the_same_image_twice_in_a_library_is_saved_once(tmp_path: Path) -> None:
    region = (FOLDER / "fatbin" / "nvcc-13.0-balance.fatbin").read_bytes()
    path = tmp_path / "two.fatbin"
    path.write_bytes(region * 2)
    found = weight(path)
    large = sum(i.stored_size or 0 for i in _images(path) if (i.stored_size or 0) >= 256) // 2
    assert saved(found) == {Waste.COPY_IN_THE_LIBRARY: large}


def _images(path: Path) -> list[ltocompat.Image]:
    modules = (r for r in ltocompat.inspect(path) if isinstance(r, ltocompat.Module))
    return [image for module in modules for image in module.images]


def test_debug_sections_of_host_code_weigh_what_readelf_says(tmp_path: Path) -> None:
    path = build(tmp_path / "libx.so", source="int f(void) { return 1; }", flags=["-g"])
    size = section_size(path, r"\.debug_\w+")
    assert saved(weight(path)) == {Waste.HOST_DEBUG: size}
    assert size > 0


def test_debug_sections_are_no_device_code_that_could_be_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """auto-gptq 0.7.1: 7.5 MiB of device code, of which 16.8 MiB could be saved."""
    fatbin = FOLDER / "fatbin" / "nvcc-13.5-many-arches.fatbin"
    code = f'__asm__(".section .nv_fatbin,\\"a\\"\\n.incbin \\"{fatbin}\\"\\n.previous");'
    path = build(tmp_path / "libx.so", source=f"{code}\nint f(void) {{ return 1; }}", flags=["-g"])
    (own,) = (library for library in weight(path).libraries if library.modules)
    assert own.host_debug > 0
    assert run(["inspect", "--weigh", str(_two(tmp_path / "x-1-py3-none-any.whl", path))]) == 0
    (row,) = (line for line in capsys.readouterr().out.splitlines() if line.endswith("x/a.so"))
    assert row.split()[3:5] == binary_size(own.saved).split()


def test_kernels_are_ranked_by_the_size_that_readelf_says() -> None:
    path = FOLDER / "cubin" / "nvlink-13.5-of-12.4+13.0-sm_80.cubin"
    rows = re.findall(r": [0-9a-f]+ +(\d+) FUNC .* (\w+)$", readelf("-s", path), re.MULTILINE)
    sizes = {name: int(size) for size, name in rows if int(size)}
    kernels = weight(path, kernels=True).kernels
    assert {row.name: row.code for row in kernels}.items() <= sizes.items()
    assert [row.code for row in kernels] == sorted((r.code for r in kernels), reverse=True)
    assert kernels


def _with_kernels() -> Weight:
    made = measured("x86-64", "sm_80", "sm_87")
    from ltocompat.model.weight import KernelTally

    made.kernels[LONG_NAME] = KernelTally(4096, 3)
    made.kernels["saxpy"] = KernelTally(384, 1)
    return weight_of("libx.so", made)


def test_kernels_have_their_names_in_cpp() -> None:
    by_name = {row.name: row.demangled for row in _with_kernels().kernels}
    assert by_name == {
        LONG_NAME: "void cub::DeviceReduceKernel<float>(float*, int)",
        "saxpy": None,
    }


def test_without_the_demangler_names_are_as_the_cubins_have_them() -> None:
    code = (
        "import sys; sys.modules['pydemumble'] = None\n"
        "from ltocompat.commands.weigh import demangled\n"
        f"print(demangled({LONG_NAME!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"


@pytest.mark.parametrize("width", [80, 200])
def test_a_table_fits_the_terminal(width: int) -> None:
    text = written("table", REPORT, [_with_kernels()], Options(width=width, kernels=True))
    assert max(map(len, text.splitlines())) <= width
    assert "1.0 MiB could be saved (50%)" in " ".join(text.split())
    assert "leave sm_87 out of -gencode" in " ".join(text.split())


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_has_the_advice(form: str) -> None:
    text = written(form, REPORT, [_with_kernels()], Options(kernels=True))
    assert "leave sm_87 out of -gencode" in text
    assert "DeviceReduceKernel" in text


def test_the_json_follows_its_schema_and_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", "--weigh", "--kernels", str(LIBRARY), "--format", "json"]) == 0
    (artifact,) = valid_json(capsys.readouterr().out)["artifacts"]
    stored = sum(row["stored_size"] for row in artifact["archs"]) + artifact["overhead_size"]
    assert stored == artifact["stored_size"]
    assert artifact["saved"] == sum(row["saved"] for row in artifact["savings"])
    assert valid_json(ltocompat.to_json(ltocompat.weigh(LIBRARY)))


def test_small_change_is_not_worth_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", "--weigh", str(LIBRARY)]) == 0
    text = capsys.readouterr().out
    assert "nothing worth saving (" in text
    assert "could be saved" not in text


def test_no_device_code_has_nothing_to_save(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "readme.txt"
    path.write_text("nothing")
    assert run(["inspect", "--weigh", str(path)]) == 0
    assert capsys.readouterr().out == f"{path} (7 B): no device code\n"


def test_advice_is_no_finding_and_an_unreadable_place_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["inspect", "--weigh", str(FOLDER / "fatbin" / "nvcc-13.0-none.fatbin")]) == 0
    assert run(["inspect", "--weigh", str(FOLDER / "broken" / "lz4-garbage.fatbin")]) == 3
    assert run(["inspect", "--weigh", "gone.so"]) == 3
    assert weight(FOLDER / "broken" / "lz4-garbage.fatbin").skipped == 1
    capsys.readouterr()


@every("option", ["--images", "--hash", "--by arch", "--kind ptx", "--arch sm_80", "--trial-link"])
def test_all_is_weighed_or_nothing(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", "--weigh", str(LIBRARY), *option.split()]) == 2
    assert "leave out --by" in capsys.readouterr().err


def test_one_image_of_a_file_is_weighed_alone() -> None:
    place = next(str(image.place) for image in _images(LIBRARY) if image.kind is ImageKind.PTX)
    found = weight(place)
    assert [(row.kind, row.images) for row in found.archs] == [(ImageKind.PTX, 1)]
    assert found.overhead == 0
    with pytest.raises(ltocompat.UsageError, match="there is nothing at"):
        weight(f"{LIBRARY}@0x99999")


def test_a_copy_that_is_dead_counts_as_a_copy_alone() -> None:
    made = measured("x86-64", "sm_80", "sm_87")
    (tallies,) = made.libraries[Location("libx.so")].tallies.values()
    tallies[1].copied_within = 1000
    assert saved(weight_of("libx.so", made)) == {
        Waste.COPY_IN_THE_LIBRARY: 1000,
        Waste.OTHER_CPU: ONE_MIB - 1000,
    }


def test_what_was_not_compressed_is_called_an_estimate() -> None:
    made = measured("x86-64", "sm_80")
    (tallies,) = made.libraries[Location("libx.so")].tallies.values()
    tallies[0].packable, tallies[0].packed, tallies[0].unmeasured = 1000, 250, 2000
    (saving,) = weight_of("libx.so", made).savings
    assert (saving.saved, saving.estimated) == (750 + 1500, True)
    assert isinstance(saving, Saving)


# -- Bounds: at each of them the sums are what they were, and nothing is counted twice


def test_what_a_fatbin_has_beside_its_images_is_overhead() -> None:
    for name in ("nvcc-13.0-none", "nvcc-13.0-balance", "nvfatbin-12.6-none"):
        path = FOLDER / "fatbin" / f"{name}.fatbin"
        found = weight(path)
        images = sum(image.stored_size or 0 for image in _images(path))
        assert (found.stored, found.overhead) == (path.stat().st_size, found.stored - images)
        assert found.overhead > 0


def _two(path: Path, first: Path = LIBRARY) -> Path:
    other = FOLDER / "objects" / "nvcc-13.5-plain-sass+ptx"
    path.write_bytes(zip_of(("x/a.so", first.read_bytes()), ("x/b.so", other.read_bytes())))
    return path


@pytest.mark.parametrize("most", [0, 1, 2])
def test_libraries_beyond_the_most_are_weighed_as_one(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = _two(tmp_path / "x-1-py3-none-any.whl")
    stored = weight(wheel).stored
    monkeypatch.setattr("ltocompat.scan.weigh._MOST_LIBRARIES", most)
    found = weight(wheel)
    names = {library.place.innermost for library in found.libraries}
    assert names == {*["x/a.so", "x/b.so"][:most], *([str(wheel)] if most < 2 else [])}
    assert (found.stored, sum(each.stored for each in found.libraries)) == (stored, stored)


def test_images_of_less_than_256_bytes_are_no_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    region = (FOLDER / "fatbin" / "nvcc-13.0-balance.fatbin").read_bytes()
    path = tmp_path / "two.fatbin"
    path.write_bytes(region * 2)
    sizes = [image.stored_size or 0 for image in _images(path)][len(_images(path)) // 2 :]
    for smallest in sizes:
        monkeypatch.setattr("ltocompat.scan.weigh._SMALLEST_COPY", smallest)
        copied = sum(size for size in sizes if size >= smallest)
        assert saved(weight(path)) == {Waste.COPY_IN_THE_LIBRARY: copied}


def test_behind_the_most_that_is_compressed_the_rest_is_estimated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "two.fatbin"
    names = ("nvcc-13.0-none", "nvcc-13.2-none", "nvfatbin-12.6-none")
    path.write_bytes(b"".join((FOLDER / "fatbin" / f"{n}.fatbin").read_bytes() for n in names))
    sass = [image.size or 0 for image in _images(path) if image.kind is ImageKind.SASS]
    assert len(sass) == len(names)
    for most, estimated in ((sum(sass[:-1]), True), (sum(sass[:-1]) + 1, False)):
        monkeypatch.setattr("ltocompat.scan.weigh._MOST_COMPRESSED", most)
        (part,) = [each for each in weight(path).savings if each.waste is Waste.COMPRESSION]
        assert part.estimated is estimated, (most, part)


def tallies_of(data: bytes) -> ImageTally:
    """All images of a file as one."""
    weigher, total = Weigher(kernels=False), ImageTally()
    for batch in batches_of_view(ByteView.of(data), Location("x"), ScanSettings()):
        weigher.take(batch)
    for library in weigher.measured.libraries.values():
        for tally in chain.from_iterable(library.tallies.values()):
            for name in ImageTally.__struct_fields__:
                setattr(total, name, getattr(total, name) + getattr(tally, name))
    return total


def test_nothing_is_compressed_to_see_but_what_a_fatbin_could_say_so_of() -> None:
    """Zstandard is packed, scrambled code is packed before, and a bare image has no header."""
    text = b".version 8.4\n.target sm_80\n".ljust(4000)
    for compression, scrambled in (("none", False), ("lz4", False), ("zstd", False), ("lz4", True)):
        kind = KINDS["ltoir" if scrambled else "ptx"]
        spec = EntrySpec(kind, text, compression=compression, scrambled=scrambled)
        total = tallies_of(region([entry(spec)]))
        worth = compression != "zstd" and not scrambled
        stored = -(-total.stored // 8) * 8
        assert (total.packable, total.unmeasured) == (stored * worth, 0), spec
        assert total.packed <= total.packable
    assert tallies_of(text).packable == 0


@pytest.mark.parametrize("most", [0, 1, 2])
def test_copies_are_found_of_as_many_images_as_are_remembered(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ltocompat.scan.weigh._MOST_HASHES", most)
    texts = (b".version 8.4\n.target sm_80\n// %d" % at for at in range(2))
    data = region([entry(EntrySpec(KINDS["ptx"], text.ljust(400))) for text in texts])
    assert tallies_of(data * 2).copied_within == most * 400


@pytest.mark.parametrize("number", [7, 8, 9, 16])
def test_of_what_is_not_compressed_every_eighth_image_is(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ltocompat.scan.weigh._MOST_COMPRESSED", 0)
    texts = ((b".version 8.4\n.target sm_80\n// %d" % at).ljust(400) for at in range(number))
    data = region([entry(EntrySpec(KINDS["ptx"], text)) for text in texts])
    total = tallies_of(data)
    (size,) = {total.stored // number}
    assert (total.packable, total.packed > 0) == (number // 8 * size, number >= 8)
    assert total.unmeasured == total.stored - total.packable


def test_kernels_beyond_the_most_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _two(tmp_path / "x.zip", FOLDER / "objects" / "nvcc-13.0-rdc-sass+ptx")
    number = len(weight(path, kernels=True).kernels)
    assert number > 1
    for most in (number, number - 1):
        monkeypatch.setattr("ltocompat.scan.weigh._MOST_KERNELS", most)
        found = weight(path, kernels=True)
        assert (len(found.kernels), found.kernels_left_out) == (most, number - most)


def test_the_cpu_of_objects_is_that_of_all_that_say_one() -> None:
    (silent,) = measured(None, "sm_80", "sm_87").libraries.values()
    other = MeasuredLibrary(Location("liby.a"), None, modules=1, tallies=silent.tallies)
    one, arm = measured("x86-64", "sm_80"), measured("AArch64", "sm_80")
    one.libraries[other.place] = other
    assert saved(weight_of("libx", one)) == {Waste.OTHER_CPU: ONE_MIB}
    (of_arm,) = arm.libraries.values()
    one.libraries[Location("libz.so")] = of_arm
    assert saved(weight_of("libx", one)) == {}


def test_modules_of_shapes_beyond_the_most_count_without_their_images(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = FOLDER / "fatbin" / "nvcc-13.0-none.fatbin"
    whole, overhead = weight(path), weight(path).overhead
    monkeypatch.setattr("ltocompat.scan.weigh._MOST_SHAPES", 1)
    assert weight(path) == whole
    monkeypatch.setattr("ltocompat.scan.weigh._MOST_SHAPES", 0)
    found = weight(path)
    assert (found.stored, found.overhead, found.archs) == (overhead, overhead, ())
    (library,) = found.libraries
    assert library.modules == 1


def test_what_slim_saves_is_foretold_for_the_gpus_that_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = str(tmp_path / "x.so")
    (found,) = ltocompat.slim(str(LIBRARY), output=new, keep_gpus=["h100"])
    (weighed,) = ltocompat.weigh(str(LIBRARY), keep_gpus=["h100"])
    assert weighed.slim_saved == pytest.approx(found.saved, rel=0.05)
    assert weight(LIBRARY).slim_saved is None
    assert run(["inspect", "--weigh", "--keep-gpu", "a100+h100", str(LIBRARY)]) == 0
    out = capsys.readouterr().out
    assert "slim saves 0 B (0%)" in out
    assert "; slim -o OUT lists what it leaves as it is, and why" in out
    assert run(["inspect", "--keep-gpu", "h100", str(LIBRARY)]) == 2
    assert run(["inspect", "--weigh", "--keep-gpu", "h1000", str(LIBRARY)]) == 2
