"""Kept summaries: an audit that finds one says the same as an audit that reads the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from every_case import every
from samples import FOLDER
from summaries import summaries

from ltocompat.commands.read_artifacts import ScanOptions
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup
from ltocompat.model.trial_answer import TrialOutcome, link_key
from ltocompat.scan.summary_cache import SummaryCache
from ltocompat.scan.walk import ScanSettings
from ltocompat.targets.seal import Seal

SEAL = Seal(b"a secret")
SAMPLE = FOLDER / "fatbin-ltoir" / "nvfatbin-13.3-of-13.3-lto_80.fatbin"
FILES = sorted(path for path in FOLDER.glob("*/*") if path.parent.name not in ("src", "recipes"))


def read(path: Path) -> list[ArtifactSummary]:
    return list(summaries([path], ScanOptions(ScanSettings(), apart=True)))


@pytest.fixture
def cache(tmp_path: Path) -> SummaryCache:
    return SummaryCache(str(tmp_path / "summaries"), SEAL)


@every("path", FILES)
def test_what_is_kept_is_what_was_read(path: Path, cache: SummaryCache) -> None:
    summaries = read(path)
    key = cache.key(str(path), "as usual")
    if key is None:
        assert path.read_bytes().startswith(b"!<thin>")  # its members are other files
        return
    cache.keep(key, summaries)
    whole = not any(summary.skipped_count for summary in summaries)
    assert cache.get(key) == (summaries if whole else None)


def test_a_file_that_changed_while_it_was_read_is_not_kept(
    tmp_path: Path, cache: SummaryCache
) -> None:
    path = tmp_path / "a.fatbin"
    path.write_bytes(SAMPLE.read_bytes())
    key = cache.key(str(path), "x")
    assert key is not None
    path.write_bytes(SAMPLE.read_bytes() + b"\0")
    cache.keep(key, read(path))
    assert cache.get(key) is None


@pytest.mark.parametrize(
    ("outcome", "cpu_seconds", "kept"),
    [
        ("linked", None, True),
        ("crashed", None, False),
        ("timed out", None, False),
        ("timed out", 15.0, True),
    ],
)
def test_what_may_come_from_the_machine_is_not_kept(
    outcome: str, cpu_seconds: float | None, kept: bool, cache: SummaryCache
) -> None:
    (summary,) = read(SAMPLE)
    answer = TrialOutcome("nvJitLink 13.3.33", outcome, cpu_seconds=cpu_seconds)
    trials = {link_key(Release(13, 3), SmArch(90)): answer}
    (group,) = summary.groups
    summary.groups = [ModuleGroup(group.signature, trials, 1, group.example)]
    key = cache.key(str(SAMPLE), "x")
    assert key is not None
    cache.keep(key, [summary])
    assert cache.get(key) == ([summary] if kept else None)


def test_what_somebody_changed_is_not_taken(cache: SummaryCache, tmp_path: Path) -> None:
    key = cache.key(str(SAMPLE), "x")
    assert key is not None
    cache.keep(key, read(SAMPLE))
    (file,) = (tmp_path / "summaries").iterdir()
    data = file.read_bytes()
    for position in range(0, len(data), 9):
        file.write_bytes(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])
        assert cache.get(key) is None
        file.write_bytes(data[:position])
        assert cache.get(key) is None
    file.write_bytes(data)
    assert cache.get(key) == read(SAMPLE)


def test_what_somebody_else_sealed_is_not_taken(cache: SummaryCache, tmp_path: Path) -> None:
    key = cache.key(str(SAMPLE), "x")
    assert key is not None
    SummaryCache(str(tmp_path / "summaries"), Seal(b"another secret")).keep(key, read(SAMPLE))
    assert cache.get(key) is None


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x01", b"\x90" * 1000, b"\x91" * 100000])
def test_what_is_sealed_and_no_summary_is_not_taken(
    data: bytes, cache: SummaryCache, tmp_path: Path
) -> None:
    key = cache.key(str(SAMPLE), "x")
    assert key is not None
    cache.keep(key, read(SAMPLE))
    (file,) = (tmp_path / "summaries").iterdir()
    file.write_bytes(SEAL.seal(key.digest.encode(), data) + data)
    assert not cache.get(key)


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = SummaryCache(str(tmp_path / "file" / "summaries"), SEAL)
    key = cache.key(str(SAMPLE), "x")
    assert key is not None
    cache.keep(key, read(SAMPLE))
    assert cache.get(key) is None


@pytest.mark.parametrize("path", ["gone", ".", f"{SAMPLE}@0x0"])
def test_what_is_no_file_has_no_key(path: str, cache: SummaryCache) -> None:
    assert cache.key(path, "x") is None
