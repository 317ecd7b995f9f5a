"""Surveys of an S3 server that runs here: packages, dataset and page in a bucket.

pip install 'moto[server]' s3fs
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from surveys_made import packages

from ltocompat.cli import run
from ltocompat.commands.survey.dataset import Dataset
from ltocompat.commands.survey.tables import MEASURED, TABLES

pytestmark = pytest.mark.nightly

TARGET = ("--deploy-target", "driver=535.104.05,gpu=a100")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A bucket as s3fs's file system."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    s3fs = pytest.importorskip("s3fs")
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "y",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    # moto keeps buckets, and s3fs connections, for the whole process.
    urlopen(Request(f"http://{host}:{port}/moto-api/reset", method="POST")).close()
    s3fs.S3FileSystem.clear_instance_cache()
    files = s3fs.S3FileSystem()
    files.mkdir("bkt")
    yield files
    server.stop()


def rows(files: Any, folder: str) -> dict[str, list[str]]:  # noqa: ANN401
    """All rows as pyarrow reads them by the address, without what depends on run and place."""
    from pyarrow import parquet

    return {
        name: sorted(
            repr({key: value for key, value in row.items() if key not in {*MEASURED, "source"}})
            for row in parquet.read_table(f"{folder}/{name}", filesystem=files).to_pylist()
        )
        for name in TABLES
    }


def test_what_another_process_wrote_since_a_listing_is_read(bucket: Any, tmp_path: Path) -> None:  # noqa: ANN401
    first, *others = sorted(packages(tmp_path / "wheels").glob("only_*.whl"))
    line = ["survey", "s3://bkt/wheels", "-o", "s3://bkt/all", "--jobs", "1", *TARGET]
    bucket.put(str(first), f"bkt/wheels/{first.name}")
    assert run(line) == 0
    listed = [bucket.ls(f"bkt/all/{name}") for name in TABLES]
    again = f"""
import sys
import s3fs
from ltocompat.cli import run
for path in {[str(other) for other in others]}:
    s3fs.S3FileSystem().put(path, "bkt/wheels/" + path.rpartition("/")[2])
sys.exit(run({line}))
"""
    subprocess.run([sys.executable, "-c", again], check=True)
    assert [bucket.ls(f"bkt/all/{name}") for name in TABLES] == listed  # s3fs remembers
    dataset = Dataset("s3://bkt/all")
    for name in TABLES:
        dataset.table(name)
    assert len(dataset.table("distributions")) == 1 + len(others)


def test_shards_in_a_bucket_are_the_survey_of_the_folder(bucket: Any, tmp_path: Path) -> None:  # noqa: ANN401
    folder = packages(tmp_path / "wheels")
    bucket.put(f"{folder}/", "bkt/wheels/", recursive=True)
    assert run(["survey", str(folder), "-o", str(tmp_path / "here"), "--jobs", "1", *TARGET]) == 3
    for shard in ("1/2", "2/2"):
        line = ["survey", "s3://bkt/wheels", "-o", f"s3://bkt/{shard[0]}", "--jobs", "1", *TARGET]
        assert run([*line, "--shard", shard]) in (0, 3)
        assert run([*line, "--shard", shard, "--retry-failed"]) in (0, 3)
    for _ in range(2):  # merged again, nothing is added
        assert run(["survey", "merge", "s3://bkt/1", "s3://bkt/2", "-o", "s3://bkt/all"]) in (0, 3)
    from fsspec.implementations.local import LocalFileSystem

    assert rows(bucket, "bkt/all") == rows(LocalFileSystem(), str(tmp_path / "here"))
    assert run(["survey", "report", "s3://bkt/all", "-o", "s3://bkt/page.html"]) == 0
    assert b"10 packages surveyed" in bucket.cat_file("bkt/page.html")
