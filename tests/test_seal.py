"""The secret by which kept answers are known to be ours."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ltocompat.targets.seal import SIZE, Seal


def of(folder: Path, **more: str) -> Seal | None:
    return Seal.of({"HOME": str(folder), **more})


def test_a_seal_is_known_by_every_run_of_its_user(tmp_path: Path) -> None:
    first, second = of(tmp_path), of(tmp_path)
    assert first is not None
    assert second is not None
    assert second.is_on(first.seal(b"a", b"b"), b"a", b"b")
    for other in [(b"ab",), (b"ab", b""), (b"b", b"a"), (b"a", b"b", b"")]:
        assert not second.is_on(first.seal(b"a", b"b"), *other)


def test_nobody_else_can_read_the_secret(tmp_path: Path) -> None:
    assert of(tmp_path) is not None
    path = tmp_path / ".local" / "state" / "ltocompat" / "seal.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert len(path.read_bytes()) == SIZE


@pytest.mark.parametrize("damage", ["open to others", "cut", "a link"])
def test_a_secret_that_others_may_know_is_replaced(damage: str, tmp_path: Path) -> None:
    first = of(tmp_path)
    assert first is not None
    path = tmp_path / ".local" / "state" / "ltocompat" / "seal.key"
    if damage == "open to others":
        path.chmod(0o644)
    elif damage == "cut":
        path.write_bytes(b"short")
    else:
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    second = of(tmp_path)
    assert second is None or not second.is_on(first.seal(b"a"), b"a")


def test_a_secret_can_be_given(tmp_path: Path) -> None:
    first = of(tmp_path, LTOCOMPAT_CACHE_KEY="of this project")
    second = of(tmp_path / "elsewhere", LTOCOMPAT_CACHE_KEY="of this project")
    assert first is not None
    assert second is not None
    assert second.is_on(first.seal(b"a"), b"a")
    assert not os.listdir(tmp_path)


def test_without_a_place_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert of(tmp_path / "file") is None
