"""Real wheels, as uploaded and packed again, hold what their unpacked files hold."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import wheels
from msgspec.structs import replace
from package_writer import COMPRESSORS, zip_of

import ltocompat
from ltocompat import Artifact, Image, Location, Module, Skipped

pytestmark = pytest.mark.wild

# A requirement, one of its files, and how many files hold device code; archives count as one.
WHEELS = (
    ("nvidia-libmathdx-cu12==0.3.1.9", "nvidia/cu12/lib/libmathdx.so.0", 1),
    ("nvidia-cuda-runtime-cu12==12.9.79", "nvidia/cuda_runtime/lib/libcudadevrt.a", 1),
    ("nvidia-curand-cu12==10.3.7.77", "nvidia/curand/lib/libcurand.so.10", 1),
)

Images = list[tuple[str, Image]]


def wheel_of(requirement: str, name: str) -> Path:
    wheels.member(requirement, name)
    (wheel,) = (wheels.CACHE / requirement.replace("==", "-")).glob("*.whl")
    return wheel


def images(records: Iterator[ltocompat.Record], skip: int, root: Path | None = None) -> Images:
    """Images by the file and the members that they lie in, less ``skip`` outer members."""
    found = []
    for record in records:
        assert not isinstance(record, Skipped), record
        for image in record.images if isinstance(record, Module) else ():
            place = image.place
            outer = () if root is None else (str(Path(place.path).relative_to(root)),)
            name = "::".join((*outer, *place.members[skip:]))
            found.append((name, replace(image, place=Location("", (), place.offset, place.entry))))
    return sorted(found, key=lambda row: (row[0], row[1].place.offset or 0, row[1].place.entry))


def tar_of(wheel: Path) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(wheel) as source, tarfile.open(fileobj=file, mode="w") as target:
        for info in source.infolist():
            header = tarfile.TarInfo(info.filename)
            header.size = info.file_size
            target.addfile(header, source.open(info))
    return file.getvalue()


@pytest.mark.parametrize(("requirement", "name", "count"), WHEELS, ids=str)
def test_a_wheel_holds_what_its_files_hold(
    requirement: str, name: str, count: int, tmp_path: Path
) -> None:
    wheel = wheel_of(requirement, name)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)  # noqa: S202 - a wheel that pip verified
    theirs = images(ltocompat.inspect(tmp_path), 0, tmp_path)
    assert theirs == images(ltocompat.inspect(wheel), 0)
    assert len({text.split("::")[0] for text, _ in theirs}) == count
    assert name in {each_text.split("::")[0] for each_text, _ in theirs}


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_a_wheel_packed_as_something_else_holds_the_same(suffix: str, tmp_path: Path) -> None:
    wheel = wheel_of(*WHEELS[1][:2])
    path = tmp_path / "package"
    packed = COMPRESSORS[suffix](tar_of(wheel))
    path.write_bytes(packed)
    expected = images(ltocompat.inspect(wheel), 0)
    assert len(expected) > 10
    assert images(ltocompat.inspect(path), 0) == expected
    path.write_bytes(zip_of((f"pkg.tar{suffix}", packed), method=zipfile.ZIP_STORED))
    assert images(ltocompat.inspect(path), 1) == expected


def test_a_member_of_a_wheel_is_read_alone(tmp_path: Path) -> None:
    requirement, name, _ = WHEELS[2]
    wheel = wheel_of(requirement, name)
    alone = list(ltocompat.inspect(f"{wheel}::{name}"))
    (artifact,) = [r for r in alone if isinstance(r, Artifact)]
    assert artifact.path == str(wheel)
    file = wheels.member(requirement, name)
    assert [i for _, i in images(iter(alone), 1)] == [
        i for _, i in images(ltocompat.inspect(file), 0)
    ]
    (first, *_) = [r for r in alone if isinstance(r, Module)]
    (record, *_) = ltocompat.extract(str(first.images[0].place), output=tmp_path / "wheel")
    place = replace(first.images[0].place, path=str(file), members=())
    (two, *_) = ltocompat.extract(str(place), output=tmp_path / "file")
    assert isinstance(record, ltocompat.Extracted)
    assert isinstance(two, ltocompat.Extracted)
    assert Path(record.path).read_bytes() == Path(two.path).read_bytes()
