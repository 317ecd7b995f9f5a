"""Logs as 15 versions of nvJitLink wrote them (tests/data), and what we read in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from every_case import every

from ltocompat import facts
from ltocompat.model.arch import Release
from ltocompat.trial.logs import explain, unresolved

RECORD = json.loads((Path(__file__).parent / "data" / "nvjitlink_logs.json").read_text())
CASES: dict[str, dict[str, dict[str, Any]]] = RECORD["cases"]

# What each case was made to show; None where a version links it.
CAUSES: dict[str, set[str | None]] = {
    "links": {None},
    "unresolved function in LTO": {"unresolved"},
    "unresolved variable in LTO": {"unresolved"},
    "unresolved functions in PTX": {"unresolved"},
    "IR of 13.5": {"ltoir too new", None},
    "IR of 11.8": {"ltoir too old"},
    "IR for a newer architecture": {"ltoir arch too new", None},
    "PTX of 13.5": {"ptx too new", None},
    "duplicate symbol in LTO": {"duplicate symbol"},
    "duplicate symbol in PTX": {"duplicate symbol"},
    "no -lto": {"lto not enabled"},
    "-lto for PTX alone": {"no ltoir"},
    "cubin of 13.5": {"bad input", None},
    "cubin of another architecture": {"bad input"},
    "target sm_70": {"ltoir arch too new", "target unsupported", None},
    "target sm_999": {"target unsupported"},
    "unknown option": {"option unknown"},
    # 12.0 and 12.1 say the same of IR that is too new.
    "fatbin compressed by 13.5": {"ltoir unreadable", "ltoir too new", None},
    "fatbin compressed by 13.5, without -lto": {"lto not enabled"},
    "LTO-IR given as a cubin": {"wrong kind", "bad input"},
    "-r of a fragment": {"option unknown", None},
}


def test_every_case_was_measured_on_every_version() -> None:
    assert CASES.keys() == CAUSES.keys()
    assert {len(rows) for rows in CASES.values()} == {15}


@every("case", CASES)
def test_reason_of_every_version(case: str) -> None:
    found: set[str | None] = set()
    for version, row in CASES[case].items():
        reason = explain(row["log"])
        found.add(reason.cause if reason else None)
        if row["outcome"] in ("refused", "unresolved"):
            assert reason is not None, version
            assert "{" not in reason.sentence
        elif case != "duplicate symbol in PTX":  # said, but not returned, since 12.6
            assert reason is None, version
    assert found == CAUSES[case]


@pytest.mark.parametrize(
    ("case", "names"),
    [
        ("unresolved function in LTO", ("absent",)),
        ("unresolved variable in LTO", ("gone",)),
        ("unresolved functions in PTX", ("absent", "missing")),
        ("IR of 13.5", ()),
        ("duplicate symbol in LTO", ()),
    ],
)
def test_unresolved_symbols(case: str, names: tuple[str, ...]) -> None:
    assert {unresolved(row["log"]) for row in CASES[case].values()} == {names}


def test_sentences() -> None:
    """One of each kind, read by a human."""
    words = {
        reason.sentence for c in CASES.values() for r in c.values() if (reason := explain(r["log"]))
    }
    assert "the input is PTX ISA 9.5, and this nvJitLink reads up to 8.0" in words
    assert "no input defines absent; there may be more: the log stops at the first name" in words
    assert "no input defines absent, missing" in words
    assert "the LTO-IR was made by a newer CUDA release than this nvJitLink" in words
    assert "two inputs define saxpy" in words
    assert "this nvJitLink does not link for the architecture 70" in words
    assert "the input was given as CUBIN, but it has another kind" in words


def test_unknown_log() -> None:
    assert explain("nobody ever wrote this") is None
    assert explain("") is None


@every(
    "release, code, name",
    [  # nvJitLink.h of each release
        ("12.0", 6, "INTERNAL"),
        ("12.2", 7, None),
        ("12.3", 7, "THREADPOOL"),
        ("12.4", 9, "NULL_INPUT"),
        ("12.5", 13, "OUTDATED_LIBRARY"),
        ("12.5", 15, None),
        ("12.6", 9, "FINALIZE"),
        ("12.6", 13, "ARCH_MISMATCH"),
        ("12.9", 18, None),
        ("13.0", 18, "LTO_NOT_ENABLED"),
        ("13.5", 14, "OUTDATED_LIBRARY"),
        ("13.5", 19, None),
    ],
)
def test_codes_are_named_by_release(release: str, code: int, name: str | None) -> None:
    assert facts.nvjitlink_result_name(code, Release.parse(release)) == name
