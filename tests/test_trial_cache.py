"""Kept answers of trial links: a question is asked once, and a doubtful answer is never kept."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from ltocompat.model.arch import Release
from ltocompat.model.trial_answer import TrialOutcome
from ltocompat.targets.linkers import Linker, Tool
from ltocompat.targets.seal import Seal
from ltocompat.trial.cached_linker import Question, TrialCache
from ltocompat.trial.values import InputKind, Request, TrialInput

LINKER = Linker(
    release=Release(13, 3),
    version="13.3.33",
    path="libnvJitLink.so.13",
    found_via="path",
    evidence="file banner",
    for_trials=True,
    machine="x86-64",
)
SEAL = Seal(b"a secret")
REFUSED = TrialOutcome("nvJitLink 13.3.33", "refused", "ltoir too new", "a.so@0x40: it is too new")


def request(
    data: bytes = b"code",
    name: str = "a.so@0x40",
    options: tuple[str, ...] = ("-arch=sm_90", "-lto"),
    kind: InputKind = InputKind.FATBIN,
    *,
    complete: bool = False,
) -> Request:
    return Request((TrialInput(name, kind, data),), options, complete=complete)


@pytest.mark.parametrize(
    "other",
    [
        Question.of(LINKER, request(b"Code")),
        Question.of(LINKER, request(kind=InputKind.LTOIR)),
        Question.of(LINKER, request(options=("-arch=sm_80", "-lto"))),
        Question.of(LINKER, request(options=("-arch=sm_90",))),
        Question.of(LINKER, request(complete=True)),
        Question.of(replace(LINKER, version="13.3.34"), request()),
        Question.of(replace(LINKER, machine="AArch64"), request()),
        Question.of(replace(LINKER, tool=Tool.NVLINK), request()),
        Question.about(LINKER, "compiles relocatable"),
    ],
)
def test_whatever_may_change_an_answer_is_part_of_the_question(
    other: Question, tmp_path: Path
) -> None:
    cache = TrialCache(str(tmp_path / "t"), SEAL)
    cache.keep([Question.of(LINKER, request())], [REFUSED])
    assert cache.get([other]) == [None]


@pytest.mark.parametrize("outcome", ["crashed", "timed out"])
def test_a_crash_is_asked_again(outcome: str, tmp_path: Path) -> None:
    question = Question.of(LINKER, request())
    cache = TrialCache(str(tmp_path / "t"), SEAL)
    cache.keep([question], [TrialOutcome("nvJitLink 13.3.33", outcome, None, "SIGSEGV")])
    assert cache.get([question]) == [None]


def kept(folder: Path) -> tuple[Question, Path]:
    """A question, and the file in which its answer is kept."""
    question = Question.of(LINKER, request())
    TrialCache(str(folder), SEAL).keep([question], [REFUSED])
    (file,) = folder.iterdir()
    return question, file


def test_an_old_answer_is_asked_again(tmp_path: Path) -> None:
    question, file = kept(tmp_path)
    long_ago = time.time() - 91 * 86400
    os.utime(file, (long_ago, long_ago))
    cache = TrialCache(str(tmp_path), SEAL)
    assert cache.get([question]) == [None]
    cache.keep([ANOTHER], [REFUSED])
    assert not file.exists()


def forge(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"refused", b"linked "))


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def be_empty(file: Path) -> None:
    file.write_bytes(b"")


def be_a_database(file: Path) -> None:
    file.write_bytes(b"SQLite format 3\0" + bytes(84))


def be_endless(file: Path) -> None:
    os.truncate(file, 1 << 40)


def be_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def be_a_device(file: Path) -> None:
    file.unlink()
    file.symlink_to("/dev/zero")


def be_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize(
    "change",
    [forge, cut, be_empty, be_a_database, be_endless, be_a_pipe, be_a_device, be_a_folder],
)
def test_what_is_not_ours_costs_a_miss_and_no_time(
    change: Callable[[Path], None], tmp_path: Path
) -> None:
    question, file = kept(tmp_path)
    change(file)
    cache = TrialCache(str(tmp_path), SEAL)
    assert cache.get([question]) == [None]
    cache.keep([question], [REFUSED])
    assert cache.get([question]) == [None if file.is_dir() else REFUSED]


ANOTHER = Question.of(LINKER, request(b"other code"))


def test_a_folder_that_can_not_be_made_is_no_cache_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    question = Question.of(LINKER, request())
    for folder in (tmp_path / "file", tmp_path / "file" / "folder"):
        cache = TrialCache(str(folder), SEAL)
        cache.keep([question], [REFUSED])
        assert cache.get([question]) == [None]


def test_it_lies_in_the_cache_folder_of_the_user(tmp_path: Path) -> None:
    question = Question.of(LINKER, request())
    found = TrialCache.of({"XDG_CACHE_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)})
    assert found is not None
    found.keep([question], [REFUSED])
    assert list((tmp_path / "ltocompat").glob("trials-*/*"))


def _ask_all(folder: str, start: int) -> list[str]:
    """What one of several processes finds: it keeps what is not there yet."""
    cache, found = TrialCache(folder, SEAL), []
    for number in [*range(start, 60), *range(start)]:
        question = Question.of(LINKER, request(b"code %d" % number))
        answer = TrialOutcome("nvJitLink 13.3.33", "refused", None, f"a.so@0x40: {number}")
        if cache.get([question]) == [None]:
            cache.keep([question], [answer])
        (kept,) = cache.get([question])
        found.append(f"{number}: {kept.reason if kept else None}")
    return sorted(found)


@pytest.mark.slow
def test_eight_processes_share_the_cache_and_have_the_same_answers(tmp_path: Path) -> None:
    folder = str(tmp_path / "trials")
    with multiprocessing.get_context("spawn").Pool(8) as pool:
        starts = [(folder, 7 * number) for number in range(8)]
        found = pool.starmap(_ask_all, starts, chunksize=1)
    assert found == [sorted(f"{number}: a.so@0x40: {number}" for number in range(60))] * 8
    assert _ask_all(folder, 0) == found[0]
