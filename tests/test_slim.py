"""Smaller packages with the same code, held against cuobjdump, gcc's loader and ImageHlp's sum."""

from __future__ import annotations

import base64
import bz2
import csv
import ctypes
import errno
import hashlib
import io
import json
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import cuobjdump
import pytest
import zstandard
from elf_writer import BASE, ET_EXEC, Part, elf, wrapper
from every_case import every
from fatbin_writer import EntrySpec, entry, region
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries_made import build, needs_gcc
from package_writer import Raw, raw_zip, zip_of
from packages_made import conda
from report_values import valid_json, written
from samples import FOLDER

import ltocompat
from ltocompat import Audited, Progress, Slimmed
from ltocompat.cli import run
from ltocompat.model.errors import LtocompatError, UnreadableInput, UsageError
from ltocompat.model.image import Skipped
from ltocompat.model.verdict import Finding, Verdict
from ltocompat.report import FORMATS, Options
from ltocompat.report.verbs.slim import REPORT
from ltocompat.rewrite.library import LibraryRewriter

OBJECTS = FOLDER / "objects"
LIBRARY = OBJECTS / "libsaxpy.so"  # SASS for sm_80 as it is, and PTX for compute_80 by Zstandard
INFO = "x-1.dist-info"


def slim(path: Path, output: Path, **options: object) -> Slimmed:
    (found,) = ltocompat.slim(str(path), output=str(output), **options)  # type: ignore[arg-type]
    return found


def listed(path: Path) -> list[str]:
    """What NVIDIA's own reader lists of a file."""
    lines = [cuobjdump.run(option, path).stdout for option in ("-lelf", "-lptx")]
    return sorted(re.findall(r"\.(\w+\.(?:cubin|ptx))$", "".join(lines), re.MULTILINE))


def record_of(**files: bytes) -> bytes:
    rows = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()[:-1]},"
        f"{len(data)}\n"
        for name, data in files.items()
    ]
    return "".join([*rows, f"{INFO}/RECORD,,\n"]).encode()


@pytest.mark.skipif(not cuobjdump.is_there(), reason="needs cuobjdump")
@every(
    "case",
    [
        ("libsaxpy.so", ["sm_80.ptx"]),
        ("nvcc-13.5-plain.o", ["sm_80.ptx"]),
        ("nvcc-13.5-plain-sass+ptx", ["sm_80.ptx"]),
        ("libaxpy.a", ["sm_80.ptx", "sm_80.ptx"]),
    ],
)
def test_cuobjdump_lists_what_stays_and_nothing_else(
    case: tuple[str, list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    name, kept = case
    new = tmp_path_factory.mktemp("new") / name
    found = slim(OBJECTS / name, new, keep_gpus=["h100"])
    assert listed(new) == kept
    assert new.stat().st_size == (OBJECTS / name).stat().st_size
    assert new.stat().st_mode == (OBJECTS / name).stat().st_mode
    assert found.images == len(kept)


def test_a_kept_gpu_keeps_what_it_takes_and_ptx_for_those_to_come(tmp_path: Path) -> None:
    everything = slim(LIBRARY, tmp_path / "1", keep_gpus=["a100+l4"])
    assert not everything.removed
    assert (tmp_path / "1").read_bytes() == LIBRARY.read_bytes()
    sass_alone = slim(LIBRARY, tmp_path / "2", keep_gpus=["a100"], ptx=False)
    assert [(row.reason, row.images) for row in sass_alone.removed] == [("other-gpu", 1)]
    by_arch = slim(LIBRARY, tmp_path / "3", keep_archs=["compute_80"])
    assert [(row.reason, row.images) for row in by_arch.removed] == [("other-gpu", 1)]
    assert [(row.arch.number, row.lost, row.compiled) for row in by_arch.lost] == [
        (number, 0, 1) for number in (80, 86, 89)
    ]
    assert by_arch.saved == everything.saved + by_arch.code.zeros > 3000


def test_a_kept_gpu_is_judged_on_its_newest_driver_and_told_where_nothing_serves_it(
    tmp_path: Path,
) -> None:
    """R580 is the last branch for Volta (NVIDIA's release notes of R590)."""
    found = slim(LIBRARY, tmp_path / "x.so", keep_gpus=["v100+a100"], ptx=False)
    assert {row.gpu: row.target for row in found.verdicts}["sm_70"] == "driver R580"
    assert [row.gpu for row in found.verdicts if row.after is Verdict.FAIL] == ["sm_70"]
    (first, *_) = written("table", REPORT, [found], Options(width=1000)).splitlines()
    assert first.endswith("; fails on sm_70, before and after")
    every = slim(LIBRARY, tmp_path / "y.so")
    assert all(row.after is not Verdict.FAIL for row in every.verdicts)


@needs_gcc
def test_a_library_that_needs_an_older_nvjitlink_fails_on_no_kept_gpu(tmp_path: Path) -> None:
    """The newest nvJitLink has another soname, which says nothing about the device code."""
    stub = build(tmp_path / "stubs" / "libnvJitLink.so.12", source="")
    lines = (
        '.section .nv_fatbin, "a"',
        f'.balign 8\nr: .incbin "{FOLDER / "fatbin" / "nvfatbin-12.4.fatbin"}"',
        '.section .nvFatBinSegment, "aw"',
        ".balign 8\n.int 0x466243b1, 1\n.quad r, 0",
        ".text",
    )
    text = "\n".join(lines).replace('"', '\\"').replace("\n", "\\n")
    whole = build(tmp_path / "libx.so", needs=[stub], source=f'asm("{text}");')
    found = slim(whole, tmp_path / "y.so", keep_gpus=["a100"], ptx=False)
    assert [(row.gpu, row.before, row.after) for row in found.verdicts] == [
        ("sm_80", Verdict.OK, Verdict.OK)
    ]


def test_a_package_that_can_not_be_read_leaves_no_folder(tmp_path: Path) -> None:
    for name in ("broken.whl", "broken.conda", "broken.so"):
        (tmp_path / name).write_bytes(b"no archive")
        with pytest.raises(LtocompatError):
            slim(tmp_path / name, tmp_path / "new" / "")
    assert not (tmp_path / "new").exists()


def test_code_for_jetson_goes_from_a_library_for_another_cpu(tmp_path: Path) -> None:
    """No Jetson lies beside an x86-64."""
    cubin = bytearray((FOLDER / "cubin/nvrtc-12.4-sm_80.cubin").read_bytes())
    entries = []
    for number in (86, 87):
        cubin[0x30] = cubin[0x32] = number  # e_flags
        entries.append(entry(EntrySpec(2, bytes(cubin), number)))
    path = tmp_path / "x.so"
    path.write_bytes(program(region(entries)))
    options: tuple[dict[str, object], ...] = ({}, {"ptx": False}, {"keep_gpus": ["rtx3090"]})
    for number, more in enumerate(options):
        found = slim(path, tmp_path / f"{number}.so", **more)
        assert [(row.reason, row.images) for row in found.removed] == [("other-cpu", 1)]
    assert not slim(path, tmp_path / "kept.so", keep_gpus=["sm_87+rtx3090"]).removed


def test_a_slimmed_library_is_loaded_as_before(tmp_path: Path) -> None:
    slim(LIBRARY, tmp_path / "x.so", keep_gpus=["h100"])
    try:
        ctypes.CDLL(str(LIBRARY))
    except OSError as error:  # it wants a libcudart, which may not be here: so does the new one
        with pytest.raises(OSError, match=re.escape(str(error).rpartition(": ")[2])):
            ctypes.CDLL(str(tmp_path / "x.so"))
    else:
        ctypes.CDLL(str(tmp_path / "x.so"))


def program(region: bytes) -> bytes:
    """A program whose wrapper points at a region."""
    segment = Part(".nvFatBinSegment", wrapper(BASE + 0x200), flags=3)
    return elf([Part(".nv_fatbin", region), segment], ET_EXEC)


def test_zstandard_raises_the_floor_only_when_asked(tmp_path: Path) -> None:
    kept = slim(LIBRARY, tmp_path / "1", pack="balance")
    assert kept.code.more_zstd == 0
    packed = slim(LIBRARY, tmp_path / "2", pack="balance", to_zstd=True)
    assert (packed.code.zstd, packed.code.more_zstd) == (1, 1)
    cubin = (FOLDER / "cubin/nvrtc-12.0-sm_80.cubin").read_bytes()
    spec = EntrySpec(2, cubin, 80, version=(1, 7), compression="lz4", options=None)
    (tmp_path / "old").write_bytes(program(region([entry(spec)])))
    with pytest.raises(LtocompatError, match="leave out --to-zstd"):
        slim(
            tmp_path / "old",
            tmp_path / "3",
            pack="size",
            to_zstd=True,
            targets="driver=525.60.13,gpu=a100",
            ptx=False,
        )
    assert not (tmp_path / "3").exists()


@every("modes", [("balance", "speed"), ("size", "balance")])
def test_what_is_packed_anew_is_what_nvcc_packs(
    modes: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    mode, from_mode = modes
    folder = tmp_path_factory.mktemp("packed")
    regions = {
        name: (FOLDER / f"fatbin/nvcc-13.0-{name}.fatbin").read_bytes()
        for name in (mode, from_mode)
    }
    (folder / "old").write_bytes(program(regions[from_mode]))
    told: list[Progress] = []
    slim(folder / "old", folder / "new", pack=mode, to_zstd=True, progress=told.append)
    packing = [(row.done, row.total) for row in told if row.path.startswith("packing")]
    total = packing[0][1]
    assert packing == [(0, total), (total, total)]
    assert total
    data = (folder / "new").read_bytes()[0x200:]
    assert data[: len(regions[mode])] == regions[mode]
    assert not data[len(regions[mode]) : len(regions[from_mode])].strip(b"\0")


def test_the_first_words_on_packing_tell_how_long_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ltocompat.rewrite.library._SHORT", 100)
    told: list[Progress] = []
    slim(LIBRARY, tmp_path / "new", pack="size", to_zstd=True, progress=told.append)
    done = [(row.done, row.total) for row in told if row.path.startswith("packing")]
    total = done[0][1]
    assert done[0] == (0, total)
    assert done[1:] == [(total, total)] * 2  # a sample of a small library is the whole of it


def dll(folder: Path, *, checksum: int = 0, signed: bool = False) -> Path:
    data = bytearray((OBJECTS / "saxpy.dll").read_bytes())
    (at,) = struct.unpack_from("<I", data, 0x3C)
    struct.pack_into("<I", data, at + 24 + 64, checksum)
    if signed:
        struct.pack_into("<II", data, at + 24 + 112 + 8 * 4, len(data), 8)
        data += b"signed!!"
    path = folder / "x.dll"
    path.write_bytes(data)
    return path


def test_a_dll_gets_a_new_sum_where_it_has_one_and_a_signed_one_stays(tmp_path: Path) -> None:
    found = slim(dll(tmp_path, checksum=0x1234), tmp_path / "1.dll", keep_gpus=["h100"])
    assert found.saved
    data = (tmp_path / "1.dll").read_bytes()
    (at,) = struct.unpack_from("<I", data, 0x3C)
    (number,) = struct.unpack_from("<I", data, at + 88)
    words = struct.unpack(f"<{len(data) // 2}H", data)
    total = sum(words) - (number & 0xFFFF) - (number >> 16)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    assert number == total + len(data)
    none = slim(dll(tmp_path), tmp_path / "2.dll", keep_gpus=["h100"])
    assert none.saved == found.saved
    signed = slim(dll(tmp_path, signed=True), tmp_path / "3.dll", keep_gpus=["h100"])
    assert not signed.saved
    assert "signed" in signed.untouched[0].reason


def wheel(folder: Path, *more: tuple[str, bytes]) -> Path:
    data = LIBRARY.read_bytes()
    names = {"x/lib.so": data, "x/__init__.py": b"pass", f"{INFO}/WHEEL": b"Wheel-Version: 1.0\n"}
    path = folder / "x-1-py3-none-linux_x86_64.whl"
    metadata = (f"{INFO}/METADATA", b"Metadata-Version: 2.1\nName: x\nVersion: 1\n")
    path.write_bytes(
        zip_of(*names.items(), metadata, *more, (f"{INFO}/RECORD", record_of(**names)))
    )
    return path


def test_a_wheel_is_smaller_its_record_right_and_its_build_number_in_its_name(
    tmp_path: Path,
) -> None:
    old = wheel(tmp_path, (f"{INFO}/RECORD.jws", b"{}"))
    before = old.read_bytes()
    found = slim(old, tmp_path / "out", keep_gpus=["h100"], build="2")
    assert old.read_bytes() == before
    assert found.output == str(tmp_path / "out" / "x-1-2-py3-none-linux_x86_64.whl")
    (tmp_path / "d").mkdir()
    named = slim(old, tmp_path / "d", keep_gpus=["h100"], build="2")
    assert named.output == str(tmp_path / "d" / "x-1-2-py3-none-linux_x86_64.whl")
    assert named.new_size < named.size
    assert named.void == (f"{INFO}/RECORD.jws",)
    with zipfile.ZipFile(named.output) as archive:
        assert archive.testzip() is None
        rows = list(csv.reader(io.StringIO(archive.read(f"{INFO}/RECORD").decode())))
        for name, digest, size in rows[:-1]:
            data = archive.read(name)
            assert base64.urlsafe_b64decode(f"{digest[7:]}=") == hashlib.sha256(data).digest()
            assert int(size) == len(data)
        assert b"Build: 2" in archive.read(f"{INFO}/WHEEL")


def test_what_is_left_as_it_is_lies_at_a_place_that_inspect_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    signed = dll(tmp_path, signed=True)
    old = wheel(tmp_path, ("x/signed.dll", signed.read_bytes()))
    for path in (old, signed):
        found = slim(path, tmp_path / f"{path.name}.out", keep_gpus=["h100"])
        for row in found.untouched:
            assert run(["inspect", "--images", str(row.example)]) == 0
            assert str(row.example) in capsys.readouterr().out
        assert found.untouched


def test_the_largest_size_is_reached_in_the_stated_order_or_asks(tmp_path: Path) -> None:
    old = wheel(tmp_path)
    whole = slim(old, tmp_path / "0.whl", keep_gpus=["a100"], max_bytes=old.stat().st_size + 200)
    assert [row.reason for row in whole.removed] == ["packed"]
    least = slim(old, tmp_path / "1.whl", keep_gpus=["a100"], max_bytes=whole.new_size - 100)
    assert ("other-gpu", 1) in [(row.reason, row.images) for row in least.removed]  # PTX
    exact = slim(old, tmp_path / "3.whl", keep_gpus=["a100"], max_bytes=whole.new_size)
    assert (exact.new_size, exact.removed) == (whole.new_size, whole.removed)
    with pytest.raises(LtocompatError, match="--keep-gpu"):
        slim(old, tmp_path / "2.whl", max_bytes=100)
    assert not (tmp_path / "2.whl").exists()


def test_no_folder_is_left_where_no_file_came(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    for folder in ("new", "mine"):
        with pytest.raises(LtocompatError, match="--max-bytes"):
            slim(wheel(tmp_path), Path(f"{tmp_path / folder}/"), max_bytes=100)
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "mine").is_dir()


def test_a_reader_is_told_where_nothing_was_removed(tmp_path: Path) -> None:
    slim(LIBRARY, tmp_path / "1.so", keep_gpus=["h100"])
    again = slim(tmp_path / "1.so", tmp_path / "2.so", keep_gpus=["h100"])
    text = written("table", REPORT, [again], Options())
    assert re.search(r"\nnothing removed from .* of device code, so the output is a copy\n", text)
    assert (tmp_path / "2.so").read_bytes() == (tmp_path / "1.so").read_bytes()


def test_a_folder_is_copied_and_an_environment_has_a_way_back(tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel(tmp_path)) as archive:
        archive.extractall(site)  # noqa: S202 - a zip
    (site / "link.so").symlink_to("x/lib.so")
    (site / "y-1.dist-info").mkdir()
    others = b'"y.py",,\r\ny-1.dist-info/RECORD,,\r\n'  # as csv does not write it by itself
    (site / "y-1.dist-info/RECORD").write_bytes(others)
    copied = slim(site, tmp_path / "copy", keep_gpus=["h100"])
    assert copied.files == 1  # RECORD has no device code
    assert (tmp_path / "copy" / "link.so").is_symlink()
    assert (site / "x/lib.so").read_bytes() == LIBRARY.read_bytes()
    new = (tmp_path / "copy" / "x/lib.so").read_bytes()
    assert hashlib.sha256(new).hexdigest() != hashlib.sha256(LIBRARY.read_bytes()).hexdigest()
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    found = slim(site, tmp_path / "old", keep_gpus=["h100"], in_place=True)
    text = " ".join(written("table", REPORT, [found], Options()).split())
    (back,) = re.findall("put them back: (.*)$", text)
    assert (site / "x/lib.so").read_bytes() == new
    assert (site / "y-1.dist-info/RECORD").read_bytes() == others
    assert not (tmp_path / "old/y-1.dist-info").exists()
    record = (site / INFO / "RECORD").read_text("utf-8")
    assert record == (tmp_path / "copy" / INFO / "RECORD").read_text("utf-8")
    (site / "pyvenv.cfg").touch()
    with pytest.raises(UsageError, match="--in-place"):
        slim(site, tmp_path / "another")
    (site / "pyvenv.cfg").unlink()
    with pytest.raises(LtocompatError, match="name a new file"):
        slim(site, tmp_path / "old", in_place=True)
    slim(site, tmp_path / "unused", keep_gpus=["h100"], in_place=True)
    assert not (tmp_path / "unused").exists()
    subprocess.run(shlex.split(back), check=True)
    assert {path: path.read_bytes() for path in site.rglob("*") if path.is_file()} == before


def test_the_way_back_is_whole_before_the_first_file_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, folder = tmp_path / "site", tmp_path / "more" / "old"
    site.mkdir()
    for name in ("1.so", "2.so"):
        shutil.copy(LIBRARY, site / name)
    seen = []

    def copied(source: str, target: str) -> None:
        seen.append(folder.exists())
        if len(seen) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        shutil.copyfile(source, target)

    with monkeypatch.context() as patched:
        patched.setattr("shutil.copy2", copied)
        with pytest.raises(LtocompatError, match="No space left"):
            slim(site, folder, keep_gpus=["h100"], in_place=True)
    assert seen == [False, False]
    assert not folder.parent.exists()
    assert {path.read_bytes() for path in site.iterdir()} == {LIBRARY.read_bytes()}
    slim(site, Path(f"{folder}/"), keep_gpus=["h100"], in_place=True)
    assert {path.name for path in folder.iterdir()} == {"1.so", "2.so"}


@pytest.mark.skipif(sys.platform != "linux", reason="holes of Linux")
def test_freed_bytes_of_a_folder_take_no_disk(tmp_path: Path) -> None:
    data = (FOLDER / "cubin/nvrtc-12.4-sm_80.cubin").read_bytes()
    for name in ("here", "copied"):
        (tmp_path / name).mkdir()
        specs = [EntrySpec(2, data.ljust(1 << 20, b"x"), sm) for sm in (80, 90)]
        (tmp_path / name / "x.so").write_bytes(program(region([entry(spec) for spec in specs])))
    slim(tmp_path / "copied", tmp_path / "copy", keep_gpus=["h100"])
    slim(tmp_path / "here", tmp_path / "old", keep_gpus=["h100"], in_place=True)
    for folder in ("here", "copy"):
        status = (tmp_path / folder / "x.so").stat()
        assert status.st_size > 2 << 20
        assert status.st_blocks * 512 < (1 << 20) + (1 << 16)


def test_the_fix_of_a_file_that_is_too_large_is_a_command_that_mends_it(tmp_path: Path) -> None:
    old = wheel(tmp_path)
    (tmp_path / "ltocompat.toml").write_text(
        f"[audit]\nrequire-gpus = ['h100']\nmax-bytes = {old.stat().st_size - 500}\n"
    )
    policy = str(tmp_path / "ltocompat.toml")

    def too_large(path: Path) -> list[Finding]:
        findings = [
            finding
            for record in ltocompat.audit(path, policy)
            if isinstance(record, Audited)
            for finding in record.result.findings
        ]
        return [finding for finding in findings if finding.rule == "POL-04"]

    (finding,) = too_large(old)
    (command,) = re.findall(r"ltocompat (slim .* -o) smaller/", finding.remedy)
    assert run([*shlex.split(command), f"{tmp_path}/smaller/"]) == 0
    (new,) = (tmp_path / "smaller").iterdir()
    assert not too_large(new)
    assert ltocompat.slim(old, output=tmp_path / "x.whl", policy=policy)
    kept = slim(old, tmp_path / "2.whl", policy=policy)
    assert kept.removed == slim(old, tmp_path / "3.whl", keep_gpus=["h100"]).removed
    for most, count in ((len(LIBRARY.read_bytes()) - 1, 1), (len(LIBRARY.read_bytes()), 0)):
        (tmp_path / "ltocompat.toml").write_text(f"[audit]\nmax-member-bytes = {most}\n")
        assert [str(each.example) for each in too_large(old)] == [f"{old}::x/lib.so"] * count
        assert not too_large(LIBRARY)
    (tmp_path / "ltocompat.toml").write_text("[audit]\nmax-bytes = 1\n")
    with pytest.raises(UsageError, match="names no GPU"):
        slim(old, tmp_path / "4.whl", policy=policy)
    (finding,) = too_large(LIBRARY)
    assert "ltocompat slim" not in finding.remedy


@pytest.mark.parametrize("old", [False, True])
def test_a_conda_package_keeps_its_format_and_its_sums_are_right(
    tmp_path: Path, *, old: bool
) -> None:
    members = {"lib/x.so": LIBRARY.read_bytes(), "lib/y.txt": b"y"}
    package = conda(tmp_path, members, old=old, sums=True)
    (tmp_path / "out").mkdir()
    found = slim(package, tmp_path / "out", keep_gpus=["h100"])
    assert found.files == 1
    assert found.new_size < found.size == package.stat().st_size
    was, now = files_of_conda(package), files_of_conda(Path(found.output))
    assert [*was] == [*now]
    changed = [name for name in was if was[name] != now[name]]
    assert sorted(changed) == ["info/paths.json", "lib/x.so"]
    for row in json.loads(now["info/paths.json"])["paths"]:
        data = now[row["_path"]]
        assert (row["sha256"], row["size_in_bytes"]) == (
            hashlib.sha256(data).hexdigest(),
            len(data),
        )
    slim(LIBRARY, tmp_path / "x.so", keep_gpus=["h100"])
    assert now["lib/x.so"] == (tmp_path / "x.so").read_bytes()


def files_of_conda(path: Path) -> dict[str, bytes]:
    """The files of a conda package of either format, by Python's own readers."""
    archives = [path.read_bytes()]
    if path.suffix == ".conda":
        with zipfile.ZipFile(path) as outer:
            assert all(info.compress_type == zipfile.ZIP_STORED for info in outer.infolist())
            inner = [outer.read(name) for name in outer.namelist() if name.endswith(".tar.zst")]
        archives = [zstandard.ZstdDecompressor().decompressobj().decompress(data) for data in inner]
    found = {}
    for data in archives:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                file = archive.extractfile(member)
                assert file is not None
                found[member.name] = file.read()
    return found


def test_a_damaged_conda_package_is_one_sentence(tmp_path: Path) -> None:
    package = conda(tmp_path, {"lib/x.so": LIBRARY.read_bytes()}, old=True, sums=True)
    data = bz2.decompress(package.read_bytes())
    for damaged in (bz2.compress(data[:-12000]), bz2.compress(data)[:-100]):
        package.write_bytes(damaged)
        with pytest.raises(LtocompatError, match=r"can't be read|ends early"):
            slim(package, tmp_path / "out.tar.bz2", keep_gpus=["h100"])
        assert not (tmp_path / "out.tar.bz2").exists()


SOURCES = [
    OBJECTS / name
    for name in (
        "libsaxpy.so",
        "libaxpy.a",
        "saxpy.dll",
        "nvcc-13.5-plain.o",
        "nvcc-13.5-plain-sass+ptx",
    )
]


@pytest.mark.slow
@settings(max_examples=80)
@given(data=st.data())
def test_damage_gives_a_sentence_or_a_file_as_readable_as_its_source(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    source = data.draw(st.sampled_from(SOURCES))
    content = bytearray(source.read_bytes())
    magic = content.find(b"\x50\xed\x55\xba")
    places = st.integers(0, len(content) - 1) | st.integers(magic, magic + 160)
    for at in data.draw(st.lists(places, min_size=1, max_size=6)):
        content[at] = data.draw(st.integers(0, 255) | st.sampled_from([0, 255, content[at] ^ 1]))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(1, len(content))) :]
    folder = tmp_path_factory.mktemp("damaged")
    old, new = folder / "old", folder / "new"
    old.write_bytes(content)
    pack = data.draw(st.sampled_from([None, "balance"]))
    try:
        slim(old, new, keep_gpus=["h100"], pack=pack, to_zstd=pack is not None)
    except LtocompatError:
        assert [*folder.iterdir()] == [old]
        return
    assert old.read_bytes() == content
    assert new.stat().st_size == len(content)
    was, now = ([*ltocompat.inspect(path)] for path in (old, new))
    unread = [sum(isinstance(row, Skipped) for row in rows) for rows in (was, now)]
    assert unread[1] <= unread[0]
    assert len([row for row in was if not isinstance(row, Skipped)]) >= len(now) - unread[1]


@pytest.mark.nightly
@pytest.mark.slow
def test_a_kill_while_an_environment_is_slimmed_leaves_whole_files_and_a_way_back(
    tmp_path: Path,
) -> None:
    site, backup = tmp_path / "site", tmp_path / "backup"
    with zipfile.ZipFile(wheel(tmp_path)) as archive:
        archive.extractall(site)  # noqa: S202 - a zip
    for number in range(24):
        shutil.copy(LIBRARY, site / f"{number}.so")
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    slim(site, tmp_path / "copy", keep_gpus=["h100"])
    after = {path: (tmp_path / "copy" / path.relative_to(site)).read_bytes() for path in before}
    command = [sys.executable, "-m", "ltocompat", "slim", str(site), "--in-place"]
    command += ["--keep-gpu", "h100", "-o", str(backup)]
    begun = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    whole = time.monotonic() - begun
    for number in range(48):
        shutil.copytree(backup, site, dirs_exist_ok=True)
        assert {path: path.read_bytes() for path in before} == before
        shutil.rmtree(backup)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                process.wait(whole * (0.5 + number / 80))
            except subprocess.TimeoutExpired:
                process.kill()
        for path, data in before.items():
            assert path.read_bytes() in (data, after[path])
        backup.mkdir(exist_ok=True)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"pack": "20"}, UsageError),
        ({"pack": "huge"}, UsageError),
        ({"to_zstd": True}, UsageError),
        ({"keep_gpus": ["nothing"]}, UsageError),
        ({"keep_archs": ["all"]}, UsageError),
        ({"in_place": True}, UsageError),
        ({"max_bytes": 100}, UsageError),
    ],
)
def test_what_has_no_meaning_is_one_sentence(
    tmp_path: Path, options: dict[str, object], error: type[LtocompatError]
) -> None:
    with pytest.raises(error):
        slim(LIBRARY, tmp_path / "x", **options)
    assert not list(tmp_path.iterdir())


@every("name", ["nowhere.so", "x.tar.gz", "x.whl"])
def test_what_can_not_be_read_is_not_written(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("bad")
    if name != "nowhere.so":
        (folder / name).write_bytes(b"\x1f\x8b\x08 no more" if "tar" in name else b"PK\3\4")
    with pytest.raises(UnreadableInput):
        slim(folder / name, folder / "out")
    assert not [path for path in (folder / "out", *folder.glob("out/*")) if path.is_file()]


def test_an_empty_folder_and_a_name_that_is_taken_are_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableInput, match="has no file"):
        slim(tmp_path / "empty", tmp_path / "out")
    (tmp_path / "taken").touch()
    monkeypatch.setattr(LibraryRewriter, "written", None)  # nothing is read or written
    whole = wheel(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / whole.name).touch()
    for path, target in ((LIBRARY, "taken"), (whole, "in"), (tmp_path / "in", "taken")):
        with pytest.raises(LtocompatError, match=r"\(File exists\); name a new file"):
            slim(path, tmp_path / target)


def test_a_bomb_is_not_unpacked_and_what_is_not_read_is_told(tmp_path: Path) -> None:
    bomb = tmp_path / "x.whl"
    bomb.write_bytes(raw_zip(Raw(b"x.so", b"bomb", unpacked=1 << 31)))
    with pytest.raises(LtocompatError, match="the limit is"):
        slim(bomb, tmp_path / "out.whl")
    data = bytearray(LIBRARY.read_bytes())
    at = data.index(b"\x50\xed\x55\xba")
    struct.pack_into("<I", data, at + 16 + 4, 8)  # an entry's header ends before it begins
    (tmp_path / "x.so").write_bytes(data)
    found = slim(tmp_path / "x.so", tmp_path / "new.so", keep_gpus=["h100"])
    assert (tmp_path / "new.so").read_bytes() == data
    assert any("inspect says why" in row.reason for row in found.untouched)


def test_a_wheel_keeps_its_name_in_a_folder_that_is_still_to_come(tmp_path: Path) -> None:
    """pip takes no wheel of another name, and ``-o smaller`` means a folder."""
    name = "x-1.0-py3-none-any.whl"
    (tmp_path / name).write_bytes(zip_of(("x/libx.so", LIBRARY.read_bytes())))
    assert run(["slim", str(tmp_path / name), "-o", str(tmp_path / "smaller")]) == 0
    assert zipfile.is_zipfile(tmp_path / "smaller" / name)


def test_nvidias_own_libraries_are_told_of_their_licence_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(LIBRARY, tmp_path / "libcusparse.so.12")
    (tmp_path / "env/lib").mkdir(parents=True)
    shutil.copy(LIBRARY, tmp_path / "env/lib/libcusparse.so.12")
    (tmp_path / "x.zip").write_bytes(zip_of(("lib/libcusparse.so.12", LIBRARY.read_bytes())))
    for number, name in enumerate(("libcusparse.so.12", "env", "x.zip")):
        assert run(["slim", str(tmp_path / name), "-o", str(tmp_path / f"{number}")]) == 0
        assert "libcusparse.so.12, whose licence" in capsys.readouterr().err
    assert run(["slim", str(LIBRARY), "-o", str(tmp_path / "x.so")]) == 0
    assert not capsys.readouterr().err


def test_every_format_tells_what_went_and_why_the_rest_stays(tmp_path: Path) -> None:
    found = [
        slim(LIBRARY, tmp_path / "1", keep_gpus=["h100"]),
        slim(OBJECTS / "nvcc-13.5-rdc-sass+ptx", tmp_path / "2", keep_gpus=["h100"]),
    ]
    for name in FORMATS:
        text = written(name, REPORT, found, Options())
        assert "other-gpu" in text or "for GPUs that are not kept" in text
        assert "a device link wrote or used it" in text
    document = valid_json(written("json", REPORT, found, Options()))
    assert document["summary"]["artifacts"] == 2
    assert document["artifacts"][0]["verdicts"][0]["gpu"] == "sm_90"
