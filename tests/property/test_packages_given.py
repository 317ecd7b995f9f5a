"""Packages on drawn metadata: what is given beside fixes versions, and no remedy makes it worse."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries_made import build, needs_gcc
from packages_made import LTOIR_12_4, LTOIR_13_5, judged, library, wheel

from ltocompat.packages.reading import packages_beside

pytestmark = needs_gcc
# Releases of NVIDIA's wheels on PyPI.
VERSIONS = {
    "nvidia-nvjitlink-cu12": ("12.0.76", "12.4.127", "12.9.86"),
    "nvidia-nvjitlink": ("13.0.88", "13.3.68"),
    "nvidia-cuda-nvrtc-cu12": ("12.4.127", "12.9.86"),
    "nvidia-cublas-cu12": ("12.4.5.8", "12.9.1.4"),
    "nvidia-cusparse-cu12": ("12.1.0.106", "12.5.10.65"),
}
NEEDS = ("libnvJitLink.so.12", "libnvrtc.so.12", "libcublas.so.12", "libcusparse.so.12")


def releases(name: str) -> st.SearchStrategy[tuple[str, str]]:
    return st.sampled_from([(name, version) for version in VERSIONS[name]])


@settings(max_examples=80)
@given(
    needs=st.lists(st.sampled_from(NEEDS), unique=True, max_size=2),
    requires=st.lists(st.sampled_from([*VERSIONS]), unique=True, max_size=3),
    beside=st.lists(st.sampled_from([*VERSIONS]), unique=True, min_size=1, max_size=3).flatmap(
        lambda names: st.tuples(*map(releases, names))
    ),
)
def test_a_folder_of_wheels_is_what_pip_reports_of_it(
    needs: list[str], requires: list[str], beside: tuple[tuple[str, str], ...]
) -> None:
    """``pip install --report`` names the same packages and versions as the folder's file names."""
    with TemporaryDirectory() as temporary:
        folder, given_folder = Path(temporary), Path(temporary, "given")
        given_folder.mkdir()
        members = {"x/x.so": library(folder, needs=needs), "x/k.ltoir": LTOIR_12_4}
        path = wheel(folder, members, requires)
        for name, version in beside:
            wheel(given_folder, {}, name=name, version=version)
        rows = [{"metadata": {"name": name, "version": version}} for name, version in beside]
        report = folder / "report.json"
        report.write_text(json.dumps({"install": rows}))
        answers = [
            {(each.rule, each.verdict, each.message) for each in judged(path, others=others)}
            for others in (packages_beside([given_folder]), packages_beside([report]))
        ]
    assert answers[0] == answers[1]
    given_linkers = {version for name, version in beside if name == "nvidia-nvjitlink-cu12"}
    for _, _, text in answers[0]:
        named = re.search(r"the metadata allows nvidia-nvjitlink-cu12 (\d+\.\d+),", text)
        assert not (named and given_linkers) or any(
            version.startswith(f"{named[1]}.") for version in given_linkers
        ), text


@pytest.mark.parametrize("bundled", [True, False])
@pytest.mark.parametrize("opened", ["11", "12", "13", "11 12", "11 13", "12 13"])
@pytest.mark.parametrize("linker", [12, 13])
def test_no_remedy_names_an_nvrtc_newer_than_the_nvjitlink(
    tmp_path: Path, linker: int, opened: str, bundled: bool
) -> None:
    """An nvJitLink refuses LTO-IR of a later major (nvJitLink's documentation, Compatibility)."""
    file = f"libnvJitLink.so.{linker}"
    opens = [f"libnvrtc.so.{major}" for major in opened.split()]
    members = {"x/x.so": library(tmp_path, opens=opens, needs=[] if bundled else [file])}
    if bundled:
        members[f"x/{file}"] = build(tmp_path / "own" / file).read_bytes()
    problems = judged(wheel(tmp_path, members))
    for problem in problems:
        for major in re.findall(r"nvrtc(?:-cu\d+)?>=(\d+)", problem.remedy):
            assert int(major) <= linker, problem


@pytest.mark.parametrize("makers", [(LTOIR_12_4,), (LTOIR_13_5,), (LTOIR_12_4, LTOIR_13_5)])
@pytest.mark.parametrize("tag", ["cuda92", "cuda101", "cu11", "cu118", "cuda12x", "cu121", "cu13"])
def test_a_package_that_is_renamed_as_advised_has_the_right_name(
    tmp_path: Path, tag: str, makers: tuple[bytes, ...]
) -> None:
    members = {f"x/{number}.ltoir": data for number, data in enumerate(makers)}
    advised = [
        match[1]
        for problem in judged(wheel(tmp_path, members, name=f"libx-{tag}"))
        if problem.rule == "PKG-05" and (match := re.search(r"call it (\S+)", problem.remedy))
    ]
    newest = 13 if LTOIR_13_5 in makers else 12
    assert len(advised) == (tag == "cuda92" or int(re.sub(r"\D", "", tag)[:2]) < newest)
    for name in advised:
        assert "PKG-05" not in {each.rule for each in judged(wheel(tmp_path, members, name=name))}
