"""A struct as another one says it: what is derived, what is written down, and the way back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import pytest
from as_of import as_of
from every_case import every
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, replace
from samples import BROKEN, FOLDER, GOOD, Sample
from syrupy.assertion import SnapshotAssertion

import ltocompat
from ltocompat.cli import run
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.image import (
    Compression,
    HostBinary,
    Image,
    ImageKind,
    Module,
    Producer,
    Role,
)
from ltocompat.model.location import Location
from ltocompat.model.projection import From, project
from ltocompat.model.records_v1 import inspect as v1
from ltocompat.model.records_v1.base import Record, published
from ltocompat.model.row import Tabular

NAME = "nvcc-13.2-none.fatbin"


class Part(Struct, frozen=True):
    place: Location
    arch: SmArch | None = None


class Whole(Struct, frozen=True):
    name: str
    stored: int
    part: Part
    parts: tuple[Part, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    first: str = "another"

    @property
    def doubled(self) -> int:
        return 2 * self.stored


class PartRecord(Struct):
    place: str
    arch: str | None


class WholeRecord(Struct):
    title: Annotated[str | None, From("name", lambda name: name or None)]
    size: Annotated[int, From("stored")]
    doubled: int
    first: Annotated[str, From("part.place")]
    part: PartRecord
    parts: tuple[PartRecord, ...]
    sources: dict[str, str]
    note: str | UnsetType = UNSET


PART = Part(Location("a", ("b",), 16), SmArch(90, "a"))


def test_types_say_how_a_field_is_made_and_differences_are_written() -> None:
    whole = Whole("", 4, PART, (PART, Part(Location("c"))), (("driver", "given"),))
    assert asdict(project(WholeRecord, whole)) == {
        "title": None,
        "size": 4,
        "doubled": 8,
        "first": "a::b@0x10",
        "part": PartRecord("a::b@0x10", "sm_90a"),
        "parts": (PartRecord("a::b@0x10", "sm_90a"), PartRecord("c", None)),
        "sources": {"driver": "given"},
        "note": UNSET,
    }


def test_what_is_given_is_not_read() -> None:
    record = project(WholeRecord, Whole("x", 4, PART), size=5, parts=(), note="given")
    assert (record.title, record.size, record.parts, record.note) == ("x", 5, (), "given")
    assert project(PartRecord, PART, place="given") == PartRecord("given", "sm_90a")
    assert project(PartRecord, PART, place="x", arch=None) == PartRecord("x", None)


def test_behind_a_field_with_a_default_those_of_the_model_keep_theirs() -> None:
    class Grown(Struct, frozen=True):
        name: str
        place: Location | None = None
        later: bool = False

    @published(Grown)
    class Shown(Record):
        place: str | None = None

    older = msgspec.convert({"name": "x"}, Shown)
    assert asdict(older) == {"name": "x", "place": None, "later": False}
    with pytest.raises(msgspec.ValidationError, match="name"):
        msgspec.convert({}, Shown)


def test_a_struct_without_a_record_is_named() -> None:
    with pytest.raises(TypeError, match="Part"):
        published(Whole)(Record)


@every("sample", [*GOOD[::8], *BROKEN[::8]])
def test_a_published_record_gives_its_model_back(sample: Sample) -> None:
    """All of it but for the number that tells sets of kernels apart while a file is read."""
    for record in ltocompat.inspect(
        sample.path, kernels=True, hashes=True, on_error=lambda _: None
    ):
        if isinstance(record, Module):
            for image in record.images:
                assert project(Image, project(v1.Image, image)) == replace(image, kernel_set=0)
        elif isinstance(record, HostBinary):
            host = project(HostBinary, project(v1.Member, record))
            for name in v1.Member.__struct_fields__:
                assert getattr(host, name) == getattr(record, name)


def test_words_of_a_later_version_are_read_as_the_plainest() -> None:
    said = '{"role": "polisher", "tool": null, "version": null, "releases": [], "evidence": ""}'
    assert project(Producer, msgspec.json.decode(said, type=v1.Maker)).role is Role.COMPILER
    assert ImageKind.parse("quantum") is ImageKind.UNKNOWN
    assert Compression.parse("brotli") is Compression.NONE
    for words in (Role, ImageKind, Compression):
        assert [words.parse(word) for word in words] == list(words)


AFTER_THE_SNAPSHOTS = Release(13, 6)
"""``require`` names the newest driver and nvJitLink that do: those of the snapshots."""

LINES = [
    f"inspect {NAME} --kernels --hash",
    f"inspect {NAME} --weigh",
    f"check {NAME} --deploy-target driver=580.95.05,nvjitlink=13.0,gpu=h100",
    f"audit {NAME}",
    f"require {NAME}",
    "explain PTX-06",
]


@pytest.mark.parametrize("line", LINES)
def test_documents_stay_as_they_are(
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    snapshot: SnapshotAssertion,
) -> None:
    (tmp_path / NAME).write_bytes((FOLDER / "fatbin" / NAME).read_bytes())
    monkeypatch.chdir(tmp_path)
    with as_of(AFTER_THE_SNAPSHOTS):
        assert run([*line.split(), "--format", "json"]) in (0, 1, 3)
    assert capsys.readouterr().out == snapshot


def test_rows_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / NAME).write_bytes((FOLDER / "fatbin" / NAME).read_bytes())
    (tmp_path / "libaxpy.a").write_bytes((FOLDER / "objects" / "libaxpy.a").read_bytes())
    monkeypatch.chdir(tmp_path)
    records: list[Tabular] = []
    for reading in ltocompat.read("libaxpy.a", NAME):
        for record in reading.records():
            records += (record, *(record.images if isinstance(record, Module) else ()))
        for result in reading.check(["driver=580.95.05,gpu=h100"]):
            records += (result, *result.findings)
        with as_of(AFTER_THE_SNAPSHOTS):
            records += (*reading.require().asked, *reading.require().services)
        weight = reading.weigh()
        records += (*weight.archs, *weight.libraries, *weight.savings)
    assert [(type(record).__name__, record.to_row()) for record in records] == snapshot
