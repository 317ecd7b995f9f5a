"""A wheel with other members: what installers read of it, and what it keeps."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import zipfile
from pathlib import Path

import pytest
from package_writer import zip_of
from samples import FOLDER as SAMPLES

import ltocompat
from ltocompat.model.errors import LtocompatError, UnreadableInput, UsageError
from ltocompat.rewrite.wheel import new_wheel, renewed_record
from ltocompat.rewrite.wheel_edits import with_build
from ltocompat.rewrite.zips import opened_zip

INFO = "x-1.dist-info"
CODE, NOTE = b"code" * 9000, "ünï.txt"


def line(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return (
        f'"{name}",sha256={digest},{len(data)}\n'
        if "," in name
        else (f"{name},sha256={digest},{len(data)}\n")
    )


def wheel_at(path: Path, *more: tuple[str, bytes]) -> Path:
    members = [("x/a,b.so", CODE), (NOTE, b"n"), (f"{INFO}/WHEEL", b"Wheel-Version: 1.0\n"), *more]
    record = "".join(line(*member) for member in members if ".dist-info/RECORD" not in member[0])
    with zipfile.ZipFile(path, "w") as archive:
        for number, (name, data) in enumerate(members):
            info = zipfile.ZipInfo(name, (1999, 12, 31, 1, 2, 2 * number))
            info.external_attr = (0o100755 - number) << 16
            info.compress_type = (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2)[
                number % 3
            ]
            archive.writestr(info, data)
        archive.writestr(f"{INFO}/RECORD", f"{record}{INFO}/RECORD,,\n")
    return path


def traits(info: zipfile.ZipInfo) -> tuple[object, ...]:
    return info.filename, info.date_time, info.external_attr, info.compress_type, info.create_system


@pytest.mark.parametrize("as_file", [False, True])
def test_only_what_is_replaced_changes_and_record_is_right(
    tmp_path: Path, *, as_file: bool
) -> None:
    old, new = wheel_at(tmp_path / "x-1-py3-none-any.whl"), tmp_path / "new.whl"
    data = b"\0" * 40_000
    (tmp_path / "content").write_bytes(data)
    content = str(tmp_path / "content") if as_file else data
    before = old.read_bytes()
    with new_wheel(str(old), str(new), {"x/a,b.so": content}) as file:
        assert not new.exists()
        assert zipfile.ZipFile(file).testzip() is None
    assert old.read_bytes() == before
    with zipfile.ZipFile(old) as was, zipfile.ZipFile(new) as now:
        assert now.testzip() is None
        assert [*map(traits, now.infolist())] == [*map(traits, was.infolist())]
        assert now.read("x/a,b.so") == data
        for name in (NOTE, f"{INFO}/WHEEL"):
            assert now.read(name) == was.read(name)
            assert now.getinfo(name).compress_size == was.getinfo(name).compress_size
        rows = list(csv.reader(io.StringIO(now.read(f"{INFO}/RECORD").decode())))
        for name, digest, size in rows[:-1]:
            assert line(name, now.read(name)).endswith(f",{digest},{size}\n")
        assert {row[0] for row in rows} == set(now.namelist())


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    old = wheel_at(tmp_path / "x-1-py3-none-any.whl")
    for name in ("1.whl", "2.whl"):
        with new_wheel(str(old), str(tmp_path / name), {NOTE: b"other"}):
            pass
    assert (tmp_path / "1.whl").read_bytes() == (tmp_path / "2.whl").read_bytes()


def test_names_and_lines_of_a_record_stay_as_some_tool_of_windows_wrote_them() -> None:
    old = b'"x\\y.pyd",sha256=old,1\r\nz.py,,\r\n'
    new = renewed_record(old, {"x/y.pyd": b"new"})
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"new").digest()).rstrip(b"=")
    assert new == b"x\\y.pyd,sha256=" + digest + b",3\r\nz.py,,\r\n"
    assert renewed_record(old, {"another": b""}) == old


def test_a_signature_of_the_old_record_goes(tmp_path: Path) -> None:
    old = wheel_at(tmp_path / "x-1-py3-none-any.whl", (f"{INFO}/RECORD.jws", b"{}"))
    with new_wheel(str(old), str(tmp_path / "n.whl"), {NOTE: b"other"}):
        pass
    with zipfile.ZipFile(tmp_path / "n.whl") as archive:
        assert f"{INFO}/RECORD.jws" not in archive.namelist()
        assert b"jws" not in archive.read(f"{INFO}/RECORD")


def test_a_failed_check_leaves_no_file_and_a_name_that_is_taken_stays(tmp_path: Path) -> None:
    old, target = wheel_at(tmp_path / "x-1-py3-none-any.whl"), tmp_path / "n.whl"
    with (
        pytest.raises(ZeroDivisionError),
        new_wheel(str(old), str(target), {NOTE: b"other"}),
    ):
        raise ZeroDivisionError
    assert [*tmp_path.iterdir()] == [old]
    target.write_bytes(b"mine")
    with (
        pytest.raises(LtocompatError, match="name a new file"),
        new_wheel(str(old), str(target), {}),
    ):
        pass
    assert target.read_bytes() == b"mine"


@pytest.mark.parametrize(
    "data",
    [b"PK no zip", zip_of(("a", b"1"), ("b", b"2")), zip_of((f"{INFO}/RECORD", b""))[:-30]],
)
def test_what_is_no_whole_wheel_is_one_sentence(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.whl").write_bytes(data)
    new = new_wheel(str(tmp_path / "x.whl"), str(tmp_path / "n.whl"), {})
    with pytest.raises(UnreadableInput), new:
        pass
    assert not (tmp_path / "n.whl").exists()


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_with_broken_packed_bytes_is_one_sentence(method: int, tmp_path: Path) -> None:
    path = tmp_path / "x-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("x.so", (SAMPLES / "objects/libsaxpy.so").read_bytes())
    data = bytearray(path.read_bytes())
    data[200:240] = bytes(40)
    path.write_bytes(data)
    new = tmp_path / "new.whl"
    with pytest.raises(LtocompatError, match="x-1-py3-none-any"):
        list(ltocompat.slim(path, output=new, keep_gpus=["h100"]))
    assert not new.exists()


def test_a_damaged_directory_that_zipfile_reads_is_refused(tmp_path: Path) -> None:
    path = wheel_at(tmp_path / "x-1-py3-none-any.whl")
    data = bytearray(path.read_bytes())
    end = data.rindex(b"PK\1\2")
    data[end + 28 : end + 30] = (len(data) - end).to_bytes(2, "little")  # bytes of its last name
    path.write_bytes(data)
    assert zipfile.ZipFile(path).namelist()
    with pytest.raises(UnreadableInput, match="x-1-py3-none-any"):
        opened_zip(str(path))


def test_a_build_number_stands_in_the_name_and_in_wheel() -> None:
    old = b"Wheel-Version: 1.0\nBuild: 1\nTag: py3-none-any\n"
    for name in ("x-1-py3-none-any.whl", "x-1-1-py3-none-any.whl"):
        named, inside = with_build(name, old, "2slim")
        assert named == "x-1-2slim-py3-none-any.whl"
        assert inside.count(b"Build:") == 1
        assert b"Build: 2slim" in inside.splitlines()
    for name, build in (("x-1-py3-none-any.whl", "slim"), ("x.whl", "1")):
        with pytest.raises(UsageError):
            with_build(name, old, build)
