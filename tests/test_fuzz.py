"""What the fuzzer once found is read in peace, and every reader stands a few new changes."""

from __future__ import annotations

import random

import pytest
from fuzz.fuzz import FOUND, failure, turn
from fuzz.readers import READERS

KEPT = sorted(path for path in FOUND.glob("*") if path.suffix != ".md")
READ_BY = {name.replace(" ", "-"): reader.read for name, reader in READERS.items()}


def test_what_was_found_is_mended() -> None:
    for path in KEPT:
        name, _, _ = path.name.rpartition("-")
        assert failure(READ_BY[name], path.read_bytes()) is None, path.name


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_reader_stands_changed_bytes(name: str) -> None:
    dice = random.Random(name)  # noqa: S311 - the same inputs each time
    count, failures = turn(name, dice, seconds=60, most=150)
    assert count
    assert failures == {}


def test_a_failure_is_seen() -> None:
    def breaks(data: bytes) -> None:
        if data.startswith(b"x"):
            raise KeyError(data)

    assert failure(breaks, b"fine") is None
    assert (failure(breaks, b"x") or "").startswith("KeyError at test_fuzz.py:")
