"""A cubin is as good in a fatbin as by itself: an entry header makes nothing of it better."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from fatbin_writer import KINDS, EntrySpec, entry, region
from samples import FOLDER

import ltocompat
from ltocompat.model.verdict import Result, Verdict

TILE = FOLDER / "fatbin" / "nvcc-13.5-tile.fatbin"
GPUS = (90, 100, 103, 110, 120, 121)


def tile_cubin() -> bytes:
    """The sample's first entry without padding: its program headers are the last of the cubin."""
    data = TILE.read_bytes()[16:]
    cubin = data[int.from_bytes(data[4:8], "little") :]
    return cubin[: int.from_bytes(cubin[32:40], "little") + 56 * cubin[56]]


# What each is for is known from the commands that made them: the tile cubin's own is -arch sm_100a.
CUBINS = {
    "tile": (tile_cubin(), "a"),
    **{
        f"{release}{suffix}": (
            (FOLDER / f"cubin/nvrtc-{release}-sm_100{suffix}.cubin").read_bytes(),
            suffix,
        )
        for release, suffix in product(("12.9", "13.0", "13.5"), ("", "a", "f"))
    },
}


def verdicts(path: Path, data: bytes) -> dict[str, Verdict]:
    path.write_bytes(data)
    gpus = "+".join(f"sm_{number}" for number in GPUS)
    found: dict[str, Verdict] = {}
    for record in ltocompat.check(path, targets=[f"driver=620.10,gpu={gpus}"], route="load"):
        assert isinstance(record, Result)
        assert record.gpu is not None
        assert record.verdict is not None
        found[record.gpu.name] = record.verdict
    return found


@pytest.mark.parametrize("compression", ["none", "zstd"])
@pytest.mark.parametrize("entry_suffix", ["", "a", "f"])
@pytest.mark.parametrize("name", CUBINS)
def test_an_entry_header_makes_no_cubin_better(
    name: str, entry_suffix: str, compression: str, tmp_path: Path
) -> None:
    cubin, suffix = CUBINS[name]
    spec = EntrySpec(KINDS["sass"], cubin, 100, entry_suffix, compression=compression)
    alone = verdicts(tmp_path / "x.cubin", cubin)
    stored = verdicts(tmp_path / "x.fatbin", region([entry(spec)]))
    runs_on = {100} if suffix == "a" else {100, 103}
    assert {gpu for gpu, verdict in alone.items() if verdict is Verdict.OK} == {
        f"sm_{number}" for number in runs_on
    }
    if "a" in (suffix, entry_suffix):
        runs_on = {100}
    assert {gpu for gpu, verdict in stored.items() if verdict is Verdict.OK} == {
        f"sm_{number}" for number in runs_on
    }
    assert set(stored.values()) | set(alone.values()) == {Verdict.OK, Verdict.FAIL}
