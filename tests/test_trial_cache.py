"""Kept answers of trial links: a question is asked once, and a doubtful answer is never kept."""

from __future__ import annotations

import sqlite3
import time
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


def test_an_answer_is_kept_for_the_next_run(tmp_path: Path) -> None:
    path = str(tmp_path / "deep" / "trials.sqlite")
    question = Question.of(LINKER, request())
    with TrialCache(path, SEAL) as cache:
        assert cache.get(question) is None
        cache.keep({question: REFUSED})
    with TrialCache(path, SEAL) as cache:
        assert cache.get(question) == REFUSED


def test_an_answer_names_the_place_that_is_asked_about(tmp_path: Path) -> None:
    with TrialCache(str(tmp_path / "t"), SEAL) as cache:
        cache.keep({Question.of(LINKER, request()): REFUSED})
        found = cache.get(Question.of(LINKER, request(name="b.whl::c.so@0x80")))
    assert found == replace(REFUSED, reason="b.whl::c.so@0x80: it is too new")


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
    with TrialCache(str(tmp_path / "t"), SEAL) as cache:
        cache.keep({Question.of(LINKER, request()): REFUSED})
        assert cache.get(other) is None


@pytest.mark.parametrize("outcome", ["crashed", "timed out"])
def test_a_crash_is_asked_again(outcome: str, tmp_path: Path) -> None:
    question = Question.of(LINKER, request())
    with TrialCache(str(tmp_path / "t"), SEAL) as cache:
        cache.keep({question: TrialOutcome("nvJitLink 13.3.33", outcome, None, "SIGSEGV")})
        assert cache.get(question) is None


def test_an_old_answer_is_asked_again(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    question = Question.of(LINKER, request())
    with TrialCache(path, SEAL) as cache:
        cache.keep({question: REFUSED})
    with sqlite3.connect(path) as file:
        file.execute("UPDATE answers SET day = ?", (int(time.time() // 86400) - 91,))
    file.close()
    with TrialCache(path, SEAL) as cache:
        assert cache.get(question) is None


FORGED = '["nvJitLink 13.3.33", "linked", null, ""]'
ANOTHER = Question.of(LINKER, request(b"other code"))


@pytest.mark.parametrize(
    ("column", "value"),
    [("answer", FORGED), ("answer", b"\xff"), ("answer", ""), ("seal", b""), ("seal", "text")],
)
def test_an_answer_that_somebody_changed_is_none(
    column: str, value: str | bytes, tmp_path: Path
) -> None:
    path = str(tmp_path / "t")
    question = Question.of(LINKER, request())
    with TrialCache(path, SEAL) as cache:
        cache.keep({question: REFUSED})
    with sqlite3.connect(path) as file:
        file.execute(f"UPDATE answers SET {column} = ?", (value,))  # noqa: S608 - our own names
    file.close()
    with TrialCache(path, SEAL) as cache:
        assert cache.get(question) is None


def test_an_answer_counts_for_its_own_question_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    question = Question.of(LINKER, request())
    with TrialCache(path, SEAL) as cache:
        cache.keep({question: REFUSED})
    with sqlite3.connect(path) as file:
        file.execute("UPDATE answers SET question = ?", (ANOTHER.digest,))
    file.close()
    with TrialCache(path, SEAL) as cache:
        assert cache.get(ANOTHER) is None


def test_an_answer_of_somebody_else_is_none(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    question = Question.of(LINKER, request())
    with TrialCache(path, Seal(b"another secret")) as cache:
        cache.keep({question: REFUSED})
    with TrialCache(path, SEAL) as cache:
        assert cache.get(question) is None


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + bytes(84)])
def test_a_damaged_file_is_no_cache_and_no_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(content)
    question = Question.of(LINKER, request())
    with TrialCache(str(path), SEAL) as cache:
        assert cache.get(question) is None
        cache.keep({question: REFUSED})


def test_a_path_that_is_no_file_is_no_cache_and_no_error(tmp_path: Path) -> None:
    question = Question.of(LINKER, request())
    for path in (tmp_path, tmp_path / "t" / "t"):
        (tmp_path / "t").touch()
        with TrialCache(str(path), SEAL) as cache:
            cache.keep({question: REFUSED})
            assert cache.get(question) is None


def test_it_lies_in_the_cache_folder_of_the_user(tmp_path: Path) -> None:
    question = Question.of(LINKER, request())
    found = TrialCache.of({"XDG_CACHE_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)})
    assert found is not None
    with found as cache:
        cache.keep({question: REFUSED})
    assert list((tmp_path / "ltocompat").glob("trials-*.sqlite"))
