"""Kept studies: an audit that finds one says the same as an audit that reads the file."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
from kernels_project import Project
from samples import FOLDER

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.artifact_summary import Group, Study
from ltocompat.model.image import ImageKind
from ltocompat.model.place import Place
from ltocompat.model.signature import Shape, Worth
from ltocompat.model.trial_answer import Tried, link_key
from ltocompat.scan.summarize import Student
from ltocompat.scan.summary_cache import StudyCache
from ltocompat.scan.walk import Settings

SAMPLE = FOLDER / "fatbin-ltoir" / "nvfatbin-13.3-of-13.3-lto_80.fatbin"
FILES = sorted(path for path in FOLDER.glob("*/*") if path.parent.name not in ("src", "recipes"))


def read(path: Path) -> list[Study]:
    return list(Student(_ptx, apart=True).study(Place(str(path)), Settings()))


def _ptx(shape: Shape) -> Worth:
    return Worth(tuple(n for n, one in enumerate(shape.images) if one.kind is ImageKind.PTX))


@pytest.fixture
def cache(tmp_path: Path) -> StudyCache:
    return StudyCache(str(tmp_path / "studies"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_is_kept_is_what_was_read(path: Path, cache: StudyCache) -> None:
    studies = read(path)
    key = cache.key(str(path), "as usual")
    if key is None:
        assert path.read_bytes().startswith(b"!<thin>")  # its members are other files
        return
    cache.keep(key, studies)
    whole = not any(study.skipped_count for study in studies)
    assert cache.get(key) == (studies if whole else None)


def test_a_package_is_kept(tmp_path: Path, cache: StudyCache) -> None:
    wheel = Project.copy(tmp_path / "kernels").build()
    key = cache.key(str(wheel), "as usual")
    assert key is not None
    cache.keep(key, read(wheel))
    assert cache.get(key) == read(wheel)


def test_other_bytes_another_path_and_another_reading_are_read_anew(
    tmp_path: Path, cache: StudyCache
) -> None:
    path, other = tmp_path / "a.fatbin", tmp_path / "b.fatbin"
    for one in (path, other):
        one.write_bytes(SAMPLE.read_bytes())
    keys = [cache.key(str(path), "x"), cache.key(str(other), "x"), cache.key(str(path), "y")]
    path.write_bytes(SAMPLE.read_bytes() + b"\0")
    keys.append(cache.key(str(path), "x"))
    assert len({key.digest for key in keys if key is not None}) == 4


def test_a_file_that_changed_while_it_was_read_is_not_kept(
    tmp_path: Path, cache: StudyCache
) -> None:
    path = tmp_path / "a.fatbin"
    path.write_bytes(SAMPLE.read_bytes())
    key = cache.key(str(path), "x")
    assert key is not None
    path.write_bytes(SAMPLE.read_bytes() + b"\0")
    cache.keep(key, read(path))
    assert cache.get(key) is None


@pytest.mark.parametrize(("outcome", "kept"), [("linked", True), ("crashed", False)])
def test_a_crash_is_not_kept(outcome: str, kept: bool, cache: StudyCache) -> None:
    (study,) = read(SAMPLE)
    trials = {link_key(Release(13, 3), SmArch(90)): Tried("nvJitLink 13.3.33", outcome)}
    (group,) = study.groups
    study.groups = [Group(group.shape, trials, 1, group.example)]
    key = cache.key(str(SAMPLE), "x")
    assert key is not None
    cache.keep(key, [study])
    assert cache.get(key) == ([study] if kept else None)


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("evil",)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no pickle",
        pickle.dumps([Evil()]),
        pickle.dumps([Path("x")]),
        pickle.dumps("text"),
        pickle.dumps([1]),
        b"\x80\x04\x8c\x0fltocompat.model\x8c\x0bre.template\x93.",
        b"\x80\x04\x8c\x0fltocompat.model\x8c\x09dataclass\x93.",
    ],
)
def test_what_is_no_study_is_not_taken(
    data: bytes, cache: StudyCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    key = cache.key(str(SAMPLE), "x")
    assert key is not None
    cache.keep(key, read(SAMPLE))
    (file,) = (tmp_path / "studies").iterdir()
    file.write_bytes(data)
    assert cache.get(key) is None
    assert not (tmp_path / "evil").exists()


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = StudyCache(str(tmp_path / "file" / "studies"))
    key = cache.key(str(SAMPLE), "x")
    assert key is not None
    cache.keep(key, read(SAMPLE))
    assert cache.get(key) is None


@pytest.mark.parametrize("path", ["gone", ".", f"{SAMPLE}@0x0"])
def test_what_is_no_file_has_no_key(path: str, cache: StudyCache) -> None:
    assert cache.key(path, "x") is None
