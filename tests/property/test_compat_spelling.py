"""A cuda-compat package is the same by its release and by the driver in it, as ``ls compat`` shows.

The pairs are those of NVIDIA's release notes, as tables say them.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from every_case import every
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import FOLDER

import ltocompat
from ltocompat.targets import parse

FACTS = Path(ltocompat.__file__).parent / "facts"
PACKAGES = {
    row["package"] for row in tomllib.loads((FACTS / "compat.toml").read_text("utf-8"))["package"]
}
DRIVERS = [
    (row["linux"], row["cuda"])
    for row in tomllib.loads((FACTS / "drivers.toml").read_text("utf-8"))["toolkit"]
    if row["cuda"] in PACKAGES and "." in row.get("linux", "")
]
FILES = [
    FOLDER / name
    for name in (
        "cubin/nvrtc-12.4-sm_80.cubin",
        "cubin/nvrtc-13.0-sm_90.cubin",
        "ptx/nvrtc-12.4-compute_80.ptx",
        "ptx/nvrtc-13.5-compute_80.ptx",
    )
]
BASES = ("535.54.03", "550.54.14", "570.26", "580.65.06", "590.44.01", "595.45.04", "615.10")


def judged(path: Path, base: str, package: str) -> list[tuple[object, ...]]:
    target = f"name=t,driver={base},compat={package},gpu=h100"
    return [
        (each.verdict, each.coverage, {(f.rule, f.verdict) for f in each.findings})
        for each in ltocompat.check(path, [target])
    ]


def test_many_drivers_are_known_with_their_package() -> None:
    assert len(DRIVERS) > 12
    assert {cuda for _, cuda in DRIVERS} >= {"12.2", "12.4", "12.8", "13.0", "13.3"}


@every("driver, cuda", DRIVERS)
def test_a_driver_names_its_package(driver: str, cuda: str) -> None:
    by_driver, by_release = (
        parse([f"compat={text},gpu=h100"])[0].compat for text in (driver, cuda)
    )
    assert by_driver is not None
    assert by_release is not None
    assert by_driver.values == by_release.values


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(FILES), st.sampled_from(BASES), st.sampled_from(DRIVERS))
def test_both_spellings_have_one_verdict(path: Path, base: str, pair: tuple[str, str]) -> None:
    assert judged(path, base, pair[0]) == judged(path, base, pair[1])
