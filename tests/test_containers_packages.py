"""Device code in packages is the device code of their unpacked files."""

from __future__ import annotations

import io
import os
import random
import subprocess
import tempfile
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace
from package_writer import (
    COMPRESSORS,
    Raw,
    padded,
    pax,
    raw_zip,
    tar_of,
    zip_of,
    zstd,
)
from reading import records_of
from samples import FOLDER
from windows_twins import pe_image

import ltocompat
from ltocompat import Artifact, Image, ImageKind, Limits, Location, Module, Skipped
from ltocompat.files.archives import container_of
from ltocompat.files.archives.member import Member
from ltocompat.files.archives.spool import Spool
from ltocompat.files.byteview import ByteView
from ltocompat.model.limits import Budget
from ltocompat.scan.walk import ScanSettings
from ltocompat.trial.link_inputs import LinkInput, gather
from ltocompat.trial.values import InputKind

FATBIN = FOLDER / "fatbin" / "nvfatbin-13.5-default.fatbin"
LIBRARY = FOLDER / "objects" / "nvcc-13.5-rdc-sass+ptx"
ARCHIVE = FOLDER / "objects" / "libaxpy.a"
FILES = {"x/a.fatbin": FATBIN, "x/lib/libx.so": LIBRARY, "x/lib/libaxpy.a": ARCHIVE}
MEMBERS = [
    ("x/__init__.py", b"import os\n" * 1000),
    *((name, path.read_bytes()) for name, path in FILES.items()),
    ("x/data.bin", random.Random(1).randbytes(300_000)),  # noqa: S311 - not for secrets
]

PACKAGES = {
    "wheel": zip_of(*MEMBERS),
    "zip, stored": zip_of(*MEMBERS, method=zipfile.ZIP_STORED),
    "zip, bzip2": zip_of(*MEMBERS, method=zipfile.ZIP_BZIP2),
    "zip, lzma": zip_of(*MEMBERS, method=zipfile.ZIP_LZMA),
    "zip, zstd": raw_zip(
        *(Raw(name.encode(), data, 93, zstd(data)) for name, data in MEMBERS),
    ),
    **{f"tar{suffix}": pack(tar_of(*MEMBERS)) for suffix, pack in COMPRESSORS.items()},
    "tar, GNU": tar_of(*MEMBERS, kind=1),
    "tar, ustar": tar_of(*MEMBERS, kind=0),
}
FORMS = pytest.mark.parametrize("form", PACKAGES)


def found(path: str | Path) -> dict[tuple[str, ...], list[Image]]:
    """The images in a file, by the members that they lie in, as if these were the files."""
    images: dict[tuple[str, ...], list[Image]] = {}
    for record in ltocompat.inspect(path, kernels=True, hashes=True):
        assert not isinstance(record, Skipped), record
        for image in record.images if isinstance(record, Module) else ():
            place = image.place
            plain = replace(image, place=Location("file", (), place.offset, place.entry))
            images.setdefault(place.members, []).append(plain)
    return images


@pytest.fixture
def package(tmp_path: Path, form: str) -> Path:
    """A package under a name that says nothing."""
    path = tmp_path / "package"
    path.write_bytes(PACKAGES[form])
    return path


@FORMS
def test_every_place_in_a_package_can_be_asked_for(package: Path) -> None:
    images = [i for r in ltocompat.inspect(package) if isinstance(r, Module) for i in r.images]
    for image in images:
        modules = [r for r in ltocompat.inspect(str(image.place)) if isinstance(r, Module)]
        assert [each_image for module in modules for each_image in module.images] == [image]


@FORMS
def test_modules_of_a_package_are_linked_one_by_one(package: Path) -> None:
    """nvJitLink takes an ``ar`` archive as a library, and no package."""
    inputs = [
        record
        for record in gather(Location(str(package)), ScanSettings())
        if not isinstance(record, Skipped)
    ]
    assert {input_.trial.kind for input_ in inputs} <= {
        InputKind.FATBIN,
        InputKind.CUBIN,
        InputKind.PTX,
    }
    first = next(linkable for linkable in inputs if linkable.place.members == ("x/a.fatbin",))
    assert first.trial.data == FATBIN.read_bytes()


def test_an_archive_is_still_a_library_for_the_linker() -> None:
    (record,) = gather(Location(str(ARCHIVE)), ScanSettings())
    assert not isinstance(record, Skipped)
    assert record.trial.kind is InputKind.LIBRARY


def test_a_thin_archive_is_linked_with_its_members_inside(tmp_path: Path) -> None:
    (thin,) = gather(Location(str(FOLDER / "objects" / "libaxpy-thin.a")), ScanSettings())
    (whole,) = gather(Location(str(ARCHIVE)), ScanSettings())
    assert isinstance(thin, LinkInput)
    assert isinstance(whole, LinkInput)
    assert [image.kind for image in thin.images] == [image.kind for image in whole.images]

    def members(given: LinkInput) -> bytes:
        path = tmp_path / "lib.a"
        path.write_bytes(given.trial.data)
        return subprocess.run(["ar", "p", path], check=True, capture_output=True).stdout  # noqa: S607

    assert thin.trial.kind is InputKind.LIBRARY
    assert members(thin) == members(whole)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".lzma", ".zst"])
def test_a_single_compressed_file_is_a_container_of_one(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"libx.so{suffix}"
    path.write_bytes(COMPRESSORS[suffix](LIBRARY.read_bytes()))
    assert found(path) == {("libx.so",): found(LIBRARY)[()]}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("windows", [True, False])
def test_a_zip_behind_a_program_is_read_and_so_is_the_program(
    windows: bool, method: int, tmp_path: Path
) -> None:
    """As installers that unpack themselves are."""
    data = LIBRARY.read_bytes()
    program = pe_image({".nv_fatb": FATBIN.read_bytes()}) if windows else data
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        archive.writestr("lib/libx.so", data)
    path = tmp_path / "setup"
    path.write_bytes(program)
    whole = found(path) | {("lib/libx.so",): found(LIBRARY)[()]}
    path.write_bytes(program + b"#!python.exe\n" * windows + packed.getvalue())
    assert found(path) == whole
    with pytest.raises(ltocompat.LtocompatError, match="a container that ltocompat can't write"):
        list(ltocompat.slim(path, output=tmp_path / "out", keep_gpus=["h100"]))


def test_a_compressed_cubin_is_still_an_image(tmp_path: Path) -> None:
    path = tmp_path / "cubin"
    path.write_bytes(zstd(next((FOLDER / "cubin").glob("*.cubin")).read_bytes()))
    (image,) = found(path)[()]
    assert (image.kind, str(image.compression)) == (ImageKind.SASS, "zstd")


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_streams_that_follow_each_other_are_one(suffix: str) -> None:
    pack = COMPRESSORS[suffix]
    data = tar_of(("a.fatbin", FATBIN.read_bytes()), ("b", b"b"))
    records = records_of(pack(data[:700]) + pack(data[700:]))
    assert [(r.images, r.skipped) for r in records if isinstance(r, Artifact)] == [(2, 0)]


def test_zstd_frames_for_the_users_own_data_are_passed_over() -> None:
    skippable = b"\x50\x2a\x4d\x18\x04\0\0\0user"
    data = zstd(tar_of(("a.fatbin", FATBIN.read_bytes())))
    (*_, artifact) = records_of(skippable + data + skippable)
    assert isinstance(artifact, Artifact)
    assert (artifact.images, artifact.skipped) == (2, 0)


def test_zips_with_64_bit_sizes_and_descriptors_are_read(tmp_path: Path) -> None:
    path = tmp_path / "package"
    # A writer that can't seek puts sizes behind the data, here with 64 bits.
    file = _NoSeek()
    with zipfile.ZipFile(file, "w") as archive:
        with archive.open("x/a.fatbin", "w", force_zip64=True) as member:
            member.write(FATBIN.read_bytes())
        archive.writestr("x/lib/libx.so", LIBRARY.read_bytes())
    path.write_bytes(file.getvalue())
    assert set(found(path)) == {("x/a.fatbin",), ("x/lib/libx.so",)}


class _NoSeek(io.BytesIO):
    def tell(self) -> int:
        raise OSError


def test_long_names_of_gnu_and_pax_are_whole() -> None:
    name = "/".join(["folder"] * 40) + "/a.fatbin"
    for kind in (1, 2):
        records = records_of(tar_of((name, FATBIN.read_bytes()), kind=kind))
        assert {r.place.members for r in records if isinstance(r, Module)} == {(name,)}


def test_a_place_that_is_a_link_names_its_target(tmp_path: Path) -> None:
    path = tmp_path / "package"
    path.write_bytes(raw_zip(Raw(b"libx.so", b"libx.so.1", mode=0o120777), Raw(b"libx.so.1", b"x")))
    records = list(ltocompat.inspect(f"{path}::libx.so"))
    assert [r.reason for r in records if isinstance(r, Skipped)] == [
        "it is a link to 'libx.so.1'; name its target"
    ]


def members_of(view: ByteView, limits: Limits | None = None) -> list[Member]:
    container = container_of(view)
    assert container is not None
    place = Location("package")
    walked = container.members(view, place, place, Budget(limits or Limits()))
    return [record for record in walked if isinstance(record, Member)]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files in /proc")
def test_many_unpacked_members_keep_one_file_open() -> None:
    data = random.Random(1).randbytes(100_000)  # noqa: S311 - not for secrets
    packed = zip_of(*((f"{number}.bin", data) for number in range(50)))
    before = len(os.listdir("/proc/self/fd"))
    members = members_of(ByteView.of(packed))
    assert len(os.listdir("/proc/self/fd")) == before + 1
    assert all(member.view.all() == data for member in members)
    del members
    assert len(os.listdir("/proc/self/fd")) == before


def test_room_is_used_again_once_nobody_reads_it() -> None:
    spool = Spool()
    first = spool.keep(iter([b"1" * 100_000]), 100_000)
    second = spool.keep(iter([b"2" * 100_000]), 100_000)
    assert (first.start, second.start) == (0, 100_000)
    del first
    larger = spool.keep(iter([b"3" * 100_001]), 100_001)
    third = spool.keep(iter([b"4" * 100_000]), 100_000)
    assert (larger.start, third.start) == (200_000, 0)
    assert second.all() == b"2" * 100_000
    assert third.all() == b"4" * 100_000
    del second, third, larger
    assert spool.keep(iter([b"5" * 100_000]), None).start == 0


def test_no_room_for_unpacked_members_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    packed = zip_of(("large", bytes(1 << 20)), ("a.fatbin", FATBIN.read_bytes()))
    records = records_of(packed)
    (skipped,) = [r for r in records if isinstance(r, Skipped)]
    assert "can't be kept in" in skipped.reason
    assert "TMPDIR" in skipped.reason
    assert [r.images for r in records if isinstance(r, Artifact)] == [2]


def test_pax_records_apply_to_one_member_or_to_all() -> None:
    data = FATBIN.read_bytes()
    body = tar_of(("short", data))[: 512 + len(padded(data))]
    packed = pax([("path", "long name")]) + body + body + bytes(1024)
    records = records_of(packed)
    names = [r.place.members for r in records if isinstance(r, Module)]
    assert names == [("long name",), ("short",)]


def test_modules_in_members_of_one_name_are_linked_as_they_are(tmp_path: Path) -> None:
    first, second = FATBIN, FOLDER / "fatbin" / "nvcc-13.5-concat.fatbin"
    path = tmp_path / "package"
    path.write_bytes(tar_of(*(("same", each_path.read_bytes()) for each_path in (first, second))))
    inputs = [
        record
        for record in gather(Location(str(path)), ScanSettings())
        if not isinstance(record, Skipped)
    ]
    assert [input_.trial.data for input_ in inputs] == [first.read_bytes(), second.read_bytes()]


def test_an_installed_distribution_is_the_files_of_its_record(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    info = site / "x-1.0.dist-info"
    (site / "x").mkdir(parents=True)
    info.mkdir()
    library = FOLDER / "objects" / "libsaxpy.so"
    for name in ("x/libx.so", "other.so"):
        (site / name).write_bytes(library.read_bytes())
    (info / "RECORD").write_text("x/libx.so,sha256=a,1\nx/gone.so,,\nx-1.0.dist-info/RECORD,,\n")
    records = list(ltocompat.inspect(info))
    artifacts = [record.path for record in records if isinstance(record, Artifact)]
    assert artifacts == [str(site / "x/libx.so"), str(info / "RECORD")]
    (missing,) = (skipped for skipped in records if isinstance(skipped, ltocompat.Skipped))
    assert "doesn't exist" in missing.reason
    judged = next(iter(ltocompat.check(info, ["driver=580,gpu=a100"])))
    assert judged.coverage.modules == 1


def test_a_record_of_nonsense_is_read_to_its_end(tmp_path: Path) -> None:
    info = tmp_path / "x-1.0.dist-info"
    info.mkdir()
    nonsense = b'"\x00\xff,,\n"unclosed\n../../../../etc/hostname,,\n' + b"x" * 200_000
    (info / "RECORD").write_bytes(nonsense)
    assert all(not isinstance(record, ltocompat.Module) for record in ltocompat.inspect(info))


def test_no_folder_for_temporary_files_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc/none"])
    records = records_of(zip_of(("large", bytes(1 << 20)), ("a.fatbin", FATBIN.read_bytes())))
    (skipped,) = [r for r in records if isinstance(r, Skipped)]
    assert "any folder for temporary files" in skipped.reason
    assert [r.images for r in records if isinstance(r, Artifact)] == [2]
