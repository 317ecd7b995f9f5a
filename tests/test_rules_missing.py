"""What an artifact lacks as a whole, or has left over, and what of a package is not checked."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from elf_writer import Part, elf
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import shared
from msgspec.structs import replace
from packages_made import CUBIN_12_4, judged, told, wheel
from rule_cases import spares, strikes
from rules import image
from samples import FOLDER

import ltocompat
from ltocompat.cli import run
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup
from ltocompat.model.image import ImageKind
from ltocompat.model.location import Location
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.verdict import Finding, Level, Result, Verdict
from ltocompat.rules.engine.judge_artifact import results
from ltocompat.targets import parse

H100 = "driver=580.95.05,nvjitlink=13.0,gpu=h100"
PTX_OF_TESTS = (FOLDER / "ptx" / "nvrtc-12.0-compute_80.ptx").read_bytes()


def sass(arch: str, cuda: str = "12.8") -> ImageSignature:
    return image(ImageKind.SASS, arch, cuda)


def ptx(arch: str, cuda: str = "12.8") -> ImageSignature:
    return image(ImageKind.PTX, arch, cuda, isa="8.7")


def notes(*images: ImageSignature, registered: bool | None = True) -> dict[str, Finding]:
    """What is said of a library with a module of these images, by rule."""
    return notes_of(ModuleSignature(images, registered))


def notes_of(*modules: ModuleSignature) -> dict[str, Finding]:
    """What is said of a library with these modules, by rule."""
    place = Location("libx.so").at(0x40)
    groups = [ModuleGroup(signature, {}, 1, place) for signature in modules]
    (target,) = parse([H100])
    (result,) = results(ArtifactSummary("libx.so", groups), target)
    return {finding.rule: finding for finding in result.findings}


@strikes("PTX-07")
def test_sass_alone_leaves_gpus_to_come_without_a_kernel() -> None:
    note = notes(sass("sm_80"), sass("sm_90"))["PTX-07"]
    assert (note.verdict, note.level) == (Verdict.OK, Level.NOTE)
    assert note.headline == "no PTX: no code for GPUs after sm_90"
    assert "compute_90" in note.remedy


@spares("PTX-07")
def test_ptx_or_a_bare_image_that_was_named_is_no_such_lack() -> None:
    assert "PTX-07" not in notes(sass("sm_90"), ptx("compute_90"))
    assert "PTX-07" not in notes(sass("sm_90"), registered=None)
    assert "PTX-07" not in notes(image(ImageKind.LTOIR, "lto_90", "12.8"), registered=False)


@strikes("SASS-09")
def test_the_default_architecture_of_nvcc_alone_is_told() -> None:
    warned = notes(sass("sm_52"), ptx("compute_52"))["SASS-09"]
    assert (warned.verdict, warned.level) == (Verdict.OK, Level.WARNING)
    of_13 = notes(sass("sm_75", "13.0"), ptx("compute_75", "13.0"))["SASS-09"]
    assert of_13.level is Level.NOTE


@spares("SASS-09")
def test_an_architecture_that_was_asked_for_is_none() -> None:
    assert "SASS-09" not in notes(sass("sm_75"), ptx("compute_75"))  # 12.8 has sm_52 for it
    assert "SASS-09" not in notes(sass("sm_52"), sass("sm_90"), ptx("compute_90"))
    assert "SASS-09" not in notes(sass("sm_52"))  # without -arch there is PTX, too
    assert "SASS-09" not in notes(sass("sm_52"), ptx("compute_52"), registered=False)


@spares("SASS-09", "PTX-07")
def test_code_without_kernels_is_no_code_for_too_few_gpus() -> None:
    """As nvcc's module in eigh-cuda128 0.4.1, whose host code calls cuSOLVER alone."""
    default = (sass("sm_52"), ptx("compute_52"))
    empty = tuple(replace(each, has_kernels=False) for each in default)
    assert {"SASS-09", "PTX-07"}.isdisjoint(notes(*empty))
    assert "PTX-07" not in notes(empty[0])
    # Neither does its PTX help coming GPUs, nor its SASS hide that all kernels are for few.
    idle = ModuleSignature(empty, registered=True)
    assert "PTX-07" in notes_of(ModuleSignature((sass("sm_80"),), registered=True), idle)
    of_80 = ModuleSignature((replace(sass("sm_80"), has_kernels=False),), registered=True)
    assert "SASS-09" in notes_of(ModuleSignature(default, registered=True), of_80)
    # An image that lacks the kernels of others is for its GPUs all the same.
    assert "SASS-09" in notes_of(replace(idle, guarded=True))


def rules_of(path: Path) -> set[str]:
    return {
        finding.rule for result in ltocompat.check(str(path), [H100]) for finding in result.findings
    }


@pytest.mark.parametrize("name", ["nvcc-13.5-lto-program"])
@strikes("LTO-17")
def test_ltoir_that_a_device_link_left_in_a_program_is_told(name: str) -> None:
    """nvcc -rdc=true with code=lto_80 and -dlto: the regions of the objects stay."""
    assert "LTO-17" in rules_of(FOLDER / "objects" / name)


@spares("LTO-17")
def test_ltoir_that_waits_for_its_link_is_not_left_over() -> None:
    for name in ("nvcc-13.5-lto.o", "nvcc-13.5-lto+sass.o", "nvcc-13.5-plain-sass"):
        assert "LTO-17" not in rules_of(FOLDER / "objects" / name)


def in_wheel(folder: Path, *names: str) -> Result:
    path = wheel(folder, dict.fromkeys(names, PTX_OF_TESTS))
    (result, *_) = ltocompat.check(str(path), [H100], route="load")
    return result


@strikes("IMG-05")
def test_images_of_a_packages_tests_decide_nothing_of_it(tmp_path: Path) -> None:
    result = in_wheel(tmp_path, "libx/tests/data/a.ptx")
    assert result.without_device_code
    (note,) = result.findings
    assert (note.rule, note.module_count) == ("IMG-05", 1)
    assert "it has no other device code" in note.message
    both = in_wheel(tmp_path, "libx/tests/a.ptx", "libx/k.ptx")
    assert both.coverage.modules == 1
    assert "IMG-05" in {finding.rule for finding in both.findings}


@spares("IMG-05")
def test_images_beside_tests_and_images_that_are_named_are_judged(tmp_path: Path) -> None:
    assert in_wheel(tmp_path, "libx/contest/a.ptx", "libx/tests.ptx").coverage.modules == 2
    path = wheel(tmp_path, {"libx/tests/a.ptx": PTX_OF_TESTS})
    (named,) = ltocompat.check(f"{path}::libx/tests/a.ptx", [H100], route="load")
    assert named.coverage.modules == 1


def test_a_package_with_images_of_tests_alone_is_told_as_one_without_device_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = wheel(tmp_path, {"libx/tests/a.ptx": PTX_OF_TESTS})
    words = ["check", str(path), "--deploy-target", H100, "--notes"]
    assert run(words) == 3
    text = capsys.readouterr().out
    assert text.startswith("note[IMG-05] 1 image file of its tests is not checked")
    assert text.endswith("no findings, 1 note\n1 file without device code\n")
    assert run([*words, "--allow-empty"]) == 0


def archive(member: str) -> bytes:
    """A static library with one relocatable object of nvcc's, under this name (BSD's ar(5))."""
    data = (FOLDER / "objects" / "nvcc-13.5-rdc-axpy.o").read_bytes()
    name = member.encode().ljust(32, b"\0")
    head = f"{'#1/32':<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(name + data):<10}`\n"
    return b"!<arch>\n" + head.encode() + name + data + b"\n" * (len(data) % 2)


def of_archive(folder: Path, name: str, member: str, **more: bytes) -> Result:
    members = {f"libx/lib/{name}": archive(member), **{f"libx/{n}": d for n, d in more.items()}}
    (result, *_) = ltocompat.check(str(wheel(folder, members)), [H100])
    return result


@strikes("IMG-07")
def test_the_device_runtime_that_a_package_hands_out_decides_nothing_of_it(tmp_path: Path) -> None:
    alone = of_archive(tmp_path, "libcudadevrt.a", "cuda_device_runtime.o")
    assert alone.without_device_code
    assert [finding.rule for finding in alone.findings] == ["IMG-07"]
    beside = of_archive(tmp_path, "cudadevrt.lib", "cuda_device_runtime.obj", ptx=PTX_OF_TESTS)
    assert beside.coverage.modules == 1
    assert {"IMG-07"} <= {finding.rule for finding in beside.findings}


@strikes("IMG-07")
@spares("IMG-07")
@pytest.mark.parametrize("name", ["nvidia/nccl/lib/libnccl_device.ltoir", "x/libmine.ltoir"])
def test_device_functions_of_nccl_decide_nothing_of_its_package(tmp_path: Path, name: str) -> None:
    """NCCL's wheels have LTO-IR for new GPUs, beside code that also serves an A100."""
    lto_100 = (FOLDER / "ltoir" / "nvrtc-13.0-lto_100.ltoir").read_bytes()
    path = wheel(tmp_path, {name: lto_100})
    target = ["driver=580.65.06,nvjitlink=13.0,gpu=a100"]
    (result, *_) = ltocompat.check(path, target)
    assert result.without_device_code is ("nccl_device" in name)
    assert ("IMG-07" in {finding.rule for finding in result.findings}) is ("nccl_device" in name)
    (named, *_) = ltocompat.check(f"{path}::{name}", target)
    assert named.verdict is Verdict.FAIL


@strikes("IMG-07")
@spares("IMG-07")
@pytest.mark.parametrize(
    ("soname", "of_driver"),
    [
        ("libcuda.so.1", True),  # 217 modules in Debian's 535.261.03
        ("libnvoptix.so.1", True),  # 64
        ("libnvcuvid.so.1", True),  # 90
        ("libnvidia-rtcore.so.535.261.03", True),
        ("libcuda-f27223c5.so.580.95.05", True),  # auditwheel's copy in gwatch-cu128 0.0.3
        ("libcudart.so.12", False),
        ("libcudart-f27223c5.so.12", False),
        ("libnvidia-mine.so.1", False),
        ("libmine.so", False),
    ],
)
def test_what_a_driver_loads_itself_decides_nothing(
    tmp_path: Path, soname: str, *, of_driver: bool
) -> None:
    """Images of CUDA have cuda-compat, in whose libcuda lies code that no runtime loads."""
    relocatable = (FOLDER / "cubin" / "nvrtc-12.4-sm_80-rdc.cubin").read_bytes()
    files = {"libx/any.so": shared(soname, relocatable)}
    found = []
    for members in (files, files | {"libx/y.ptx": PTX_OF_TESTS}):
        (result, *_) = ltocompat.check(str(wheel(tmp_path, members)), ["driver=550.54.14,gpu=a100"])
        rules = {each.rule for each in result.findings}
        found.append((result.coverage.modules, "IMG-07" in rules, "SASS-08" in rules))
    assert found == [
        (not of_driver, of_driver, not of_driver),
        (1 + (not of_driver), of_driver, not of_driver),
    ]


@spares("IMG-07")
def test_other_archives_and_a_device_runtime_that_is_named_are_judged(tmp_path: Path) -> None:
    for name, member in (
        ("libx.a", "cuda_device_runtime.o"),
        ("libcudadevrt.a", "axpy.o"),
    ):
        result = of_archive(tmp_path, name, member)
        assert result.coverage.modules, (name, member)
        assert "IMG-07" not in {finding.rule for finding in result.findings}
    path = wheel(tmp_path, {"libx/libcudadevrt.a": archive("cuda_device_runtime.o")})
    (named, *_) = ltocompat.check(f"{path}::libx/libcudadevrt.a", [H100])
    assert named.coverage.modules == 1
    (tmp_path / "libcudadevrt.a").write_bytes(archive("cuda_device_runtime.o"))
    (bare, *_) = ltocompat.check(tmp_path / "libcudadevrt.a", [H100])
    assert bare.coverage.modules == 1


PTX = b"//\n.version 8.4\n.target sm_80\n.address_size 64\n.entry k() { ret; }\n"


@given(texts=st.integers(0, 3), code=st.booleans(), packed=st.booleans())
@strikes("IMG-08")
@spares("IMG-08")
@settings(max_examples=12, deadline=None)
def test_ptx_text_in_a_program_is_told(texts: int, *, code: bool, packed: bool) -> None:
    """As Go and Rust embed it. It is a warning where nothing else is device code."""
    parts = [Part(".rodata", b"text\0" + texts * (PTX + b"\0"))]
    parts += [Part(".data", CUBIN_12_4)] if code else []
    with TemporaryDirectory() as folder:
        path = Path(folder, "x.so")
        path.write_bytes(elf(parts))
        path = wheel(Path(folder), {"x/x.so": path.read_bytes()}) if packed else path
        results = [*ltocompat.check(path, ["driver=550,gpu=a100"])]
    found = {
        (f.message, str(f.example)): f.level
        for result in results
        for f in result.findings
        if f.rule == "IMG-08"
    }
    assert list(found.values()) == ([Level.NOTE if code else Level.WARNING] if texts else [])
    assert all(f"{texts} text" in text and place.endswith("x.so") for text, place in found)


@strikes("IMG-06")
@spares("IMG-06")
def test_bitcode_in_a_package_is_said_to_be_not_judged(tmp_path: Path) -> None:
    code = {"libx/x.cubin": CUBIN_12_4}
    problems = judged(wheel(tmp_path, {**code, "libx/libdevice.10.bc": b"BC\xc0\xde"}))
    assert told(problems) == {"IMG-06": Verdict.OK}
    assert judged(wheel(tmp_path, code)) == ()


def test_bitcode_that_is_named_by_itself_is_said_to_be_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "libdevice.10.bc"
    path.write_bytes(b"BC\xc0\xde")
    assert run(["check", str(path), "--deploy-target", "12.4", "--notes"]) == 3
    assert "note[IMG-06]" in capsys.readouterr().out
    assert run(["inspect", str(path)]) == 0
    assert "LLVM bitcode is not checked" in capsys.readouterr().out
    other = path.rename(tmp_path / "x.txt")
    assert run(["check", str(other), "--deploy-target", "12.4", "--notes"]) == 3
    assert "IMG-06" not in capsys.readouterr().out
