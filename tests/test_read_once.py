"""One reading answers as every verb does, without the file, and its records are rows of tables."""

from __future__ import annotations

import gzip
import hashlib
import io
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from msgspec.structs import replace
from package_writer import zip_of
from samples import BROKEN, FOLDER, GOOD, Sample
from tiers import sampled

import ltocompat
from ltocompat.commands.policy.values import NO_POLICY

TARGETS = ["driver=535,gpu=a100", "cuda=12.4,gpu=h100", "driver=580.65.06,nvjitlink=13.0,gpu=b200"]
FATBIN = FOLDER / "fatbin" / "nvfatbin-13.5-mixed-makers.fatbin"
METADATA = b"""Metadata-Version: 2.1
Name: Some_Package
Version: 1.5
Classifier: Environment :: GPU :: NVIDIA CUDA :: 12
Requires-Dist: nvidia-nvjitlink-cu12>=12.4,<13
Requires-Dist: numpy ; extra == 'more'
Provides-Extra: more

Text.
"""
NAME = "some_package-1.5-py2.py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"


def wheel(*members: tuple[str, bytes]) -> bytes:
    return zip_of(*members, ("some_package-1.5.dist-info/METADATA", METADATA))


@pytest.fixture
def package(tmp_path: Path) -> Path:
    path = tmp_path / NAME
    library = (FOLDER / "objects" / "libaxpy.a").read_bytes()
    broken = FATBIN.read_bytes()[:-100]
    members = (("some/a.fatbin", FATBIN.read_bytes()), ("b.fatbin", broken), ("libx.a", library))
    path.write_bytes(wheel(*members))
    return path


def without_kernels(result: ltocompat.Result) -> ltocompat.Result:
    plain = dict[str, Any](kernels=(), kernel_modules=0, all_kernels=False)
    findings = tuple(replace(finding, **plain) for finding in result.findings)
    return replace(result, findings=findings)


def answers_of_verbs(path: str) -> list[object]:
    audited = list(ltocompat.audit(path, NO_POLICY))
    return [
        list(ltocompat.inspect(path)),
        [without_kernels(result) for result in ltocompat.check(path, TARGETS)],
        list(ltocompat.require(path)),
        list(ltocompat.matrix(path, on_error=lambda _: None)),
        list(ltocompat.weigh(path)),
        [without_kernels(each.checked) for each in audited if isinstance(each, ltocompat.Audited)],
    ]


def answers_of(reading: ltocompat.Reading) -> list[object]:
    return [
        list(reading.records()),
        list(reading.check(TARGETS)),
        [reading.require()],
        list(reading.matrix()),
        [reading.weigh()],
        [reading.audit()],
    ]


@pytest.mark.parametrize("sample", [*GOOD[::48], *BROKEN[::24]], ids=lambda sample: sample.name)
def test_a_reading_says_what_the_verbs_say(sample: Sample) -> None:
    (reading,) = ltocompat.read(sample.path)
    assert answers_of(reading) == answers_of_verbs(str(sample.path))


@pytest.mark.slow
@pytest.mark.parametrize("sample", sampled([*GOOD, *BROKEN], 3), ids=lambda sample: sample.name)
def test_a_reading_of_every_sample_says_what_the_verbs_say(sample: Sample) -> None:
    (reading,) = ltocompat.read(sample.path)
    assert answers_of(reading) == answers_of_verbs(str(sample.path))


def test_a_reading_outlives_its_file_and_its_process(package: Path) -> None:
    expected = answers_of_verbs(str(package))
    (reading,) = ltocompat.read(package)
    package.unlink()
    assert answers_of(pickle.loads(pickle.dumps(reading))) == expected  # noqa: S301 - our own


class Unseen(io.BytesIO):
    """A file that is no plain one."""

    name = NAME


def opened(package: Path) -> Iterator[Any]:
    data = package.read_bytes()
    yield Unseen(data)
    with fsspec.open(f"memory://{NAME}", "wb") as file:
        file.write(data)
    yield f"memory://{NAME}"
    with fsspec.open(f"memory://{NAME}", "rb") as file:
        yield file
    packed = io.BytesIO(gzip.compress(data))
    yield gzip.GzipFile(fileobj=packed)
    file = package.open("rb")
    file.seek(100)
    with file:
        yield file


def test_open_files_and_addresses_are_read_as_paths_are(package: Path) -> None:
    (expected,) = ltocompat.read(package)
    for source in opened(package):
        (reading,) = ltocompat.read(source)
        assert reading.sha256 == expected.sha256 == hashlib.sha256(package.read_bytes()).hexdigest()
        assert reading.size == expected.size == package.stat().st_size
        assert [image_of(row) for row in reading.records()] == [
            image_of(row) for row in expected.records()
        ]
        assert [result.verdict for result in reading.check(TARGETS)] == [
            result.verdict for result in expected.check(TARGETS)
        ]
        assert reading.distribution is not None
        assert expected.distribution is not None
        assert reading.distribution.requires == expected.distribution.requires


def image_of(record: ltocompat.Record) -> object:
    """A record without the name of its file."""
    row = record.to_row()
    return {key: value for key, value in row.items() if key not in ("path", "place")}


def test_what_cannot_be_opened_is_told(tmp_path: Path) -> None:
    errors: list[ltocompat.LtocompatError] = []
    missing: list[str | Path] = [tmp_path / "missing", "memory://missing.whl", "nothing://missing"]
    assert list(ltocompat.read(*missing, on_error=errors.append)) == []
    assert [type(error) for error in errors] == [ltocompat.UnreadableInput] * 3
    with pytest.raises(ltocompat.UnreadableInput):
        list(ltocompat.read(missing[0]))


def test_a_distribution_needs_no_device_code(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(wheel(("some/__init__.py", b"")))
    (reading,) = ltocompat.read(path)
    platforms = ("manylinux_2_17_x86_64", "manylinux2014_x86_64")
    assert reading.distribution == ltocompat.Distribution(
        path=str(path),
        kind="wheel",
        name="some-package",
        version="1.5",
        tags=tuple(f"{python}-none-{p}" for python in ("py2", "py3") for p in platforms),
        platforms=platforms,
        requires=("nvidia-nvjitlink-cu12>=12.4,<13", "numpy ; extra == 'more'"),
        extras=("more",),
        classifiers=("Environment :: GPU :: NVIDIA CUDA :: 12",),
        size=path.stat().st_size,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
    )
    assert reading.require().modules == 0
    (from_folder,) = ltocompat.read(tmp_path)
    assert from_folder.distribution == reading.distribution


def test_of_a_folder_only_what_holds_something_is_told(package: Path) -> None:
    (package.parent / "notes.txt").write_text("nothing")
    (package.parent / "a.ptx").write_bytes(
        (FOLDER / "ptx" / "nvcc-13.0-compute_80.ptx").read_bytes()
    )
    readings = ltocompat.read(package.parent)
    assert [Path(reading.path).name for reading in readings] == ["a.ptx", NAME]


def test_a_place_is_read_by_itself(package: Path) -> None:
    (reading,) = ltocompat.read(f"{package}::some/a.fatbin")
    assert reading.distribution is None
    assert answers_of(reading)[:4] == answers_of_verbs(f"{package}::some/a.fatbin")[:4]
    with pytest.raises(ltocompat.UsageError, match="there is nothing at"):
        list(ltocompat.read(f"{package}::some/b.fatbin"))


def records_of(reading: ltocompat.Reading) -> Iterator[Any]:
    for record in reading.records():
        yield record
        if isinstance(record, ltocompat.Module):
            yield from record.images
    for result in (*reading.check(TARGETS), reading.audit()):
        yield result
        yield from result.findings
    yield from reading.require().asked
    yield from reading.require().services
    weight = reading.weigh()
    yield from (*weight.archs, *weight.libraries, *weight.savings)
    if reading.distribution is not None:
        yield reading.distribution


def test_rows_are_flat_and_equal_records_have_equal_columns(package: Path) -> None:
    columns: dict[type, set[str]] = {}
    for record in records_of(next(iter(ltocompat.read(package)))):
        row = record.to_row()
        assert columns.setdefault(type(record), set(row)) == set(row)
        for value in row.values():
            flat = value if isinstance(value, list) else [value]
            assert {type(each) for each in flat} <= {str, int, bool, float, type(None)}
    assert len(columns) == 13


def test_the_page_names_every_column(package: Path) -> None:
    page = (FOLDER.parent / "docs" / "python.md").read_text("utf-8")
    for record in records_of(next(iter(ltocompat.read(package)))):
        (line,) = [
            line for line in page.splitlines() if line.startswith(f"| `{type(record).__name__}`")
        ]
        listed = ", ".join(f"`{name}`" for name in record.to_row())
        assert line.split("|")[2].strip() == listed, "docs/python.md lists other columns"


def test_a_reading_equals_its_copy_and_no_other() -> None:
    files = [FATBIN, FOLDER / "cubin" / "nvrtc-12.4-sm_90.cubin"]
    readings = [*ltocompat.read(*files)]
    copies = pickle.loads(pickle.dumps(readings))  # noqa: S301 - our own
    assert copies == readings
    assert len({*readings, *copies}) == len(files)


def test_a_program_hears_what_is_read(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "ltocompat")
    list(ltocompat.inspect(FATBIN))
    (line,) = {record.getMessage() for record in caplog.records}
    assert line.startswith(f"{FATBIN}: ")
