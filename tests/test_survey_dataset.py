"""The dataset of a survey: its tables, and that no run loses or doubles a row."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert, json, structs
from samples import FOLDER
from surveys_made import example, packages, survey

import ltocompat
from ltocompat.cli import run as run_line
from ltocompat.commands.survey import dataset as dataset_module
from ltocompat.commands.survey.dataset import Dataset, DatasetWriter, arrow_schema, parquet_file
from ltocompat.commands.survey.image_groups import ImageGroups
from ltocompat.commands.survey.options import TaskOptions
from ltocompat.commands.survey.sources import of_folder
from ltocompat.commands.survey.tables import MEASURED, TABLES, Row, columns
from ltocompat.commands.survey.task import _Task
from ltocompat.model.errors import LimitExceeded, UnreadableInput, UsageError

TARGETS = ("driver=535.104.05,gpu=a100+h100", "driver=580.65.06,gpu=h100+rtx5090")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return Dataset(str(example(tmp_path_factory.mktemp("example"))))


def test_every_column_has_a_meaning_and_every_table_a_sha256_and_a_facts_version() -> None:
    for name in TABLES:
        found = columns(name)
        assert [column.name for column in found][:2] == ["sha256", "facts"]
        assert all(column.meaning.endswith((".", "..")) for column in found), name


def test_every_row_is_of_its_type_and_of_a_distribution(dataset: Dataset) -> None:
    known = {row["sha256"] for row in dataset.table("distributions").to_pylist()}
    assert len(known - {None}) == 10
    for name in TABLES:
        rows = [convert(row, TABLES[name]) for row in dataset.table(name).to_pylist()]
        assert rows, name
        assert {row.sha256 for row in rows} <= known
        assert len({row.facts for row in rows}) == 1
        assert dataset.table(name).schema == arrow_schema(name)


def test_pandas_reads_a_table_with_one_line(dataset: Dataset) -> None:
    import pandas as pd  # type: ignore[import-untyped]

    rows = pd.read_parquet(f"{dataset.folder.address}/distributions")
    by_project = rows.set_index(["project", "version"]).sort_index()
    assert list(by_project.loc["only-sass", "1.0"].sass) == ["sm_80"]
    assert list(by_project.loc["only-ptx", "1.0"].ptx) == ["compute_80"]
    assert list(by_project.loc["linked", "2.0"].ltoir) == ["lto_80"]
    assert list(by_project.loc["linked", "2.0"].requires_dist) == ["nvidia-nvjitlink>=13.0"]
    assert by_project.loc["pure", "1.0"].status == "no device code"
    assert by_project.loc["windows", "1.0"].platforms == ["win_amd64"]


TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["null", "2026-11-23T05:00:00Z", "a\nb\r\n\0", "\U0001f600", "x" * (3 << 20)]
)
OF_TYPES = {
    str: TEXTS,
    int: st.integers(0, (1 << 63) - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    datetime: st.datetimes(timezones=st.just(UTC)),
    tuple[str, ...]: st.lists(TEXTS, max_size=3).map(tuple),
}


def rows_of(name: str) -> st.SearchStrategy[list[Row]]:
    """Any rows of a table."""
    values: dict[str, st.SearchStrategy[object]] = {
        column.name: st.none() | OF_TYPES[column.type] if column.nullable else OF_TYPES[column.type]
        for column in columns(name)
    }
    return st.lists(st.builds(TABLES[name], **values), max_size=3)


@given(st.sampled_from(list(TABLES)).flatmap(lambda name: st.tuples(st.just(name), rows_of(name))))
def test_rows_are_read_as_they_were_written(written: tuple[str, list[Row]]) -> None:
    name, rows = written
    table = pq.read_table(BytesIO(parquet_file(name, [json.encode(row) for row in rows])))
    assert table.schema == arrow_schema(name)
    assert [convert(row, TABLES[name]) for row in table.to_pylist()] == rows


def test_a_package_is_judged_for_the_systems_of_its_platforms(dataset: Dataset) -> None:
    names = {row["sha256"]: row["filename"] for row in dataset.table("distributions").to_pylist()}
    systems = {
        (names[row["sha256"]].split("-")[0], row["target"].partition(",")[0])
        for row in dataset.table("verdicts").to_pylist()
        if row["target"].startswith("os=")
    }
    assert systems == {("arm", "os=linux-aarch64"), ("windows", "os=windows")}


def test_an_nvjitlink_too_old_is_a_finding_about_any_target(dataset: Dataset) -> None:
    rows = [row for row in dataset.table("findings").to_pylist() if row["target"] == "every target"]
    assert {row["rule"] for row in rows} >= {"PKG-02"}


def test_a_broken_package_is_a_row_and_an_error(dataset: Dataset) -> None:
    (row,) = (r for r in dataset.table("errors").to_pylist() if r["filename"].startswith("broken"))
    assert row["step"] == "read"
    assert not row["passing"]
    assert row["reason"]


def test_no_row_says_where_the_files_lay(dataset: Dataset) -> None:
    for name in TABLES:
        table = dataset.table(name).drop_columns(
            [column for column in ("source",) if column in arrow_schema(name).names]
        )
        assert "packages/" not in str(table.to_pylist()), name


def test_a_folder_is_surveyed_from_its_largest_package_on_and_equal_files_once(
    tmp_path: Path,
) -> None:
    for name, size in {"a": 10, "b/c": 3000, "d": 200, "c": 3000}.items():
        path = tmp_path / f"{name}-1.0-py3-none-any.whl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x" * size)
    (tmp_path / "README.md").write_text("no package")
    (tmp_path / "g-1.0-py3-none-any.whl").mkdir()
    found = [os.path.relpath(each.source, tmp_path) for each in of_folder(str(tmp_path))]
    assert [name.split("-")[0] for name in found] == ["b/c", "d", "a"]


def test_a_worker_of_another_ltocompat_says_that_it_is_the_worker(tmp_path: Path) -> None:
    path = tmp_path / "a-1.0-py3-none-any.whl"
    path.write_bytes(b"x")
    (distribution,) = of_folder(str(tmp_path))
    (error,) = _Task(distribution, TaskOptions("another")).rows().errors
    assert error.step == "worker"
    assert error.reason.startswith("the worker has ltocompat ")


def test_a_second_run_over_the_same_adds_nothing(tmp_path: Path) -> None:
    packages(tmp_path / "packages")
    first = survey(tmp_path / "packages", tmp_path / "out", *TARGETS)
    before = _rows(tmp_path / "out")
    again = survey(tmp_path / "packages", tmp_path / "out", *TARGETS)
    assert sum(first.statuses.values()) == again.known == 10
    worst = [row["worst"] for row in _rows(tmp_path / "out")["distributions"] if row["worst"]]
    assert first.worst == Counter(worst)
    assert not again.statuses
    assert _rows(tmp_path / "out") == before


def test_a_rerun_where_failures_last_does_nothing_and_exits_with_0(tmp_path: Path) -> None:
    packages(tmp_path / "packages")
    line = ["survey", str(tmp_path / "packages"), "-o", str(tmp_path / "out"), "--jobs", "1"]
    line += ["--limit-bytes", "1kB"]  # most packages are larger
    assert run_line(line) == 3
    before = _rows(tmp_path / "out")
    assert before["errors"]
    assert run_line(line) == 0
    assert _rows(tmp_path / "out") == before
    larger = tmp_path / "packages" / "broken-1.0-py3-none-any.whl"
    larger.write_bytes(larger.read_bytes() + b" more")
    assert run_line(line) == 3  # other bytes, which fail by themselves


def test_another_question_needs_append_which_adds_what_is_new(tmp_path: Path) -> None:
    packages(tmp_path / "packages")
    survey(tmp_path / "packages", tmp_path / "out", *TARGETS)
    with pytest.raises(UsageError, match=r"with different targets; .* --append"):
        survey(tmp_path / "packages", tmp_path / "out")
    (tmp_path / "packages" / "broken-1.0-py3-none-any.whl").rename(tmp_path / "gone.whl")
    from packages_made import CUBIN_13_5, wheel

    wheel(tmp_path / "packages", {"k/x.cubin": CUBIN_13_5}, name="later", version="1.0")
    tally = survey(tmp_path / "packages", tmp_path / "out", append=True)
    assert (tally.known, sum(tally.statuses.values())) == (9, 1)
    names = Counter(row["project"] for row in _rows(tmp_path / "out")["distributions"])
    assert names["later"] == names["broken"] == 1


def test_what_a_killed_run_left_is_removed(tmp_path: Path) -> None:
    packages(tmp_path / "packages")
    survey(tmp_path / "packages", tmp_path / "out", *TARGETS)
    before = _rows(tmp_path / "out")
    out = tmp_path / "out"
    part = next((out / "images").glob("part-*"))
    for leftover in ("part-000007.parquet", ".part-000007.parquet"):
        (out / "images" / leftover).write_bytes(part.read_bytes())
    survey(tmp_path / "packages", out, *TARGETS)
    assert _rows(out) == before
    assert len(list((out / "images").iterdir())) == 2  # the broken package has a part of its own


@pytest.mark.slow
def test_what_failed_for_good_is_tried_again_where_that_is_asked(tmp_path: Path) -> None:
    packages(tmp_path / "packages")
    line = ["survey", str(tmp_path / "packages"), "-o", str(tmp_path / "out"), "--jobs", "1"]
    assert run_line([*line, "--limit-bytes", "1kB"]) == 3
    assert run_line([*line, "--retry-failed"]) == 3
    rows = _rows(tmp_path / "out")
    statuses = Counter(row["status"] for row in rows["distributions"])
    assert statuses == {"read": 8, "no device code": 1, "failed": 1}
    assert [row["filename"] for row in rows["errors"]] == ["broken-1.0-py3-none-any.whl"]


@pytest.mark.slow
def test_shards_that_are_merged_are_the_survey_without_shards(
    dataset: Dataset, tmp_path: Path
) -> None:
    whole = Path(dataset.folder.address)
    shards = []
    for shard in ("1/2", "2/2"):
        line = ["survey", str(whole.parent / "packages"), "-o", str(tmp_path / shard)]
        assert run_line([*line, "--jobs", "1", "--shard", shard]) in (0, 3)
        shards.append(str(tmp_path / shard))
    counts = [len(_rows(Path(shard))["distributions"]) for shard in shards]
    assert sum(counts) == 10
    assert all(counts)
    line = ["survey", "merge", *shards, shards[0], "-o", str(tmp_path / "merged")]
    for _ in range(2):  # a second time adds nothing
        assert run_line(line) in (0, 3)
        assert _same_rows(tmp_path / "merged") == _same_rows(whole)
    other = str(tmp_path / "other")
    with DatasetWriter(other, structs.replace(dataset.manifest.runs[-1], targets=("gpu=h100",))):
        pass
    assert run_line(["survey", "merge", shards[0], other, "-o", str(tmp_path / "no")]) == 2


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "x/2", "1/3/5"])
def test_a_shard_is_one_of_several(shard: str, tmp_path: Path) -> None:
    line = ["survey", str(tmp_path), "-o", str(tmp_path / "out"), "--shard", shard]
    assert run_line(line) == 2


@pytest.mark.slow
def test_sources_dataset_and_page_may_lie_at_addresses(dataset: Dataset, tmp_path: Path) -> None:
    whole = Path(dataset.folder.address)
    files = fsspec.filesystem("memory")
    files.put(f"{whole.parent}/packages/", "/bucket/wheels/", recursive=True)
    out = "memory://bucket/survey"
    for _ in range(2):
        run_line(["survey", "memory://bucket/wheels", "-o", out, "--jobs", "1"])
        files.get("/bucket/survey/", f"{tmp_path}/copy/", recursive=True)
        assert _same_rows(tmp_path / "copy") == _same_rows(whole)
    assert run_line(["survey", "report", out, "-o", "memory://bucket/page.html"]) == 0
    assert b"10 packages surveyed" in files.cat_file("/bucket/page.html")


def test_an_address_that_nothing_knows_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_line(["survey", str(tmp_path), "-o", "no-such-protocol://x", "--jobs", "1"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "'no-such-protocol://x' can't be reached by fsspec" in line


def test_rows_are_written_in_time_though_no_further_ones_come(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset_module, "_LONGEST", 0.01)
    with DatasetWriter(str(tmp_path), dataset.manifest.runs[-1]) as writer:
        writer.add(next(dataset.surveyed()))
        deadline = time.monotonic() + 60
        while not Dataset(str(tmp_path)).table("distributions").num_rows:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_a_folder_without_a_survey_is_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="has no survey"):
        Dataset(str(tmp_path))
    for text in (b"{}", b"[" * 100_000, b'{"schema": "\xff"}'):
        (tmp_path / "survey.json").write_bytes(text)
        with pytest.raises(UnreadableInput, match="name another folder"):
            Dataset(str(tmp_path))


def test_a_text_that_is_none_and_a_table_without_a_column_are_told(
    dataset: Dataset, tmp_path: Path
) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(dataset.folder.path(), folder)
    (part,) = (folder / "distributions").glob("part-*")
    table = pq.read_table(part)
    index = table.schema.get_field_index("project")
    texts = pa.array([b"\xff"] * len(table), pa.binary()).view(pa.string())
    for damaged in (table.set_column(index, "project", texts), table.drop_columns(["sha256"])):
        pq.write_table(damaged, part)
        with pytest.raises(UnreadableInput, match="can't be read"):
            list(Dataset(str(folder)).surveyed())


def _same_rows(folder: Path) -> dict[str, list[str]]:
    """All rows without what depends on the run and on where the packages lie."""
    left_out = {*MEASURED, "source"}
    return {
        name: sorted(repr({k: v for k, v in row.items() if k not in left_out}) for row in rows)
        for name, rows in _rows(folder).items()
    }


def _rows(folder: Path) -> dict[str, list[dict[str, object]]]:
    """All rows as any reader of Parquet finds them."""
    return {name: sorted(pq.read_table(folder / name).to_pylist(), key=repr) for name in TABLES}


def test_a_package_of_more_kinds_of_images_than_any_has_ends_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    records = list(ltocompat.inspect(FOLDER / "fatbin" / "nvcc-13.0-none.fatbin"))
    (module,) = [record for record in records if isinstance(record, ltocompat.Module)]
    kinds = len({(image.kind, image.arch) for image in module.images})
    monkeypatch.setattr("ltocompat.commands.survey.image_groups._MOST_GROUPS", kinds)
    groups = ImageGroups()
    groups.take(module)
    groups.take(module)  # of kinds that are known
    assert [group.images for group in groups.found.values()] == [2] * kinds
    monkeypatch.setattr("ltocompat.commands.survey.image_groups._MOST_GROUPS", kinds - 1)
    with pytest.raises(LimitExceeded, match="over 1 kinds of images"):
        ImageGroups().take(module)
