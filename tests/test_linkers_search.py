"""Recorded machines: each file is found once, by all of its ways."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from linker_trees import AARCH64, IN_WHEEL, library, put
from machines import ld_so_cache

from ltocompat.model.errors import Missing, UsageError
from ltocompat.model.image import Skipped
from ltocompat.targets.linkers import Cache, Linker, Machine, find, resolve
from ltocompat.targets.linkers.searching import search

SITE = "/home/u/venv/lib/python3.12/site-packages"
VENV = {"VIRTUAL_ENV": "/home/u/venv"}
V13 = library("13.0.88", soname="libnvJitLink.so.13")


def seen(machine: Machine) -> list[tuple[str, str, str]]:
    return [(linker.version, linker.found_via, linker.path) for linker in find(machine)]


def test_a_wheel_is_believed_only_of_the_files_that_it_records(tmp_path: Path) -> None:
    put(tmp_path, f"{SITE}/{IN_WHEEL['12']}", library(minors=["12.4"]))
    info = f"{SITE}/nvidia_nvjitlink_cu12-12.4.127.dist-info"
    put(tmp_path, f"{info}/METADATA", "Metadata-Version: 2.1\nVersion: 12.4.127\n")
    record = put(tmp_path, f"{info}/RECORD", f"{IN_WHEEL['12']},sha256=abc,1\n")
    (linker,) = find(Machine(str(tmp_path), VENV))
    assert (linker.version, linker.evidence) == ("12.4.127", "dist-info")
    record.write_text("another,sha256=abc,1\n")
    (linker,) = find(Machine(str(tmp_path), VENV))
    assert (linker.version, linker.evidence) == ("12.4", "exported symbols")


def test_conda(tmp_path: Path) -> None:
    path = "/opt/conda/targets/x86_64-linux/lib/libnvJitLink.so.12.6.85"
    put(tmp_path, path, library(minors=["12.6"]))
    (tmp_path / "opt/conda/lib").mkdir()
    link = tmp_path / "opt/conda/lib/libnvJitLink.so.12"
    link.symlink_to("../targets/x86_64-linux/lib/libnvJitLink.so.12.6.85")
    meta = '{"version": "12.6.85", "files": ["targets/x86_64-linux/lib/libnvJitLink.so.12.6.85"]}'
    put(tmp_path, "/opt/conda/conda-meta/libnvjitlink-12.6.85-hbd13f7d_0.json", meta)
    put(tmp_path, "/opt/conda/conda-meta/libnvjitlink-dev-12.6.85-h0.json", "{broken")
    for name, text in (("0a", '{"files": 5}'), ("0b", "[" * 100_000), ("0c", '{"files": null}')):
        put(tmp_path, f"/opt/conda/conda-meta/libnvjitlink-{name}.json", text)
    machine = Machine(str(tmp_path), {"CONDA_PREFIX": "/opt/conda"})
    assert seen(machine) == [("12.6.85", "conda", path)]
    assert find(machine)[0].evidence == "conda-meta"


def test_one_row_a_file_however_many_ways_lead_to_it(tmp_path: Path) -> None:
    path = "/usr/local/cuda-12.4/targets/x86_64-linux/lib/libnvJitLink.so.12.4.127"
    put(tmp_path, path, library(minors=["12.4"]))
    put(tmp_path, "/usr/local/cuda-12.4/version.json", '{"libnvjitlink": {"version": "12.4.127"}}')
    folder = tmp_path / "usr/local/cuda-12.4/targets/x86_64-linux/lib"
    (folder / "libnvJitLink.so.12").symlink_to("libnvJitLink.so.12.4.127")
    (folder / "libnvJitLink.so").symlink_to("libnvJitLink.so.12")
    (folder / "libnvJitLink_static.a").write_bytes(b"!<arch>\n")
    # As NVIDIA's packages do it, by absolute links.
    (tmp_path / "usr/local/cuda-12.4/lib64").symlink_to("targets/x86_64-linux/lib")
    (tmp_path / "etc/alternatives").mkdir(parents=True)
    (tmp_path / "etc/alternatives/cuda").symlink_to("/usr/local/cuda-12.4")
    (tmp_path / "usr/local/cuda").symlink_to("/etc/alternatives/cuda")
    cached = "/usr/local/cuda-12.4/lib64/libnvJitLink.so.12"
    put(tmp_path, "/etc/ld.so.cache", ld_so_cache(cached, "/usr/lib/libnvidia-ml.so.1"))

    environ = {
        "CUDA_HOME": "/usr/local/cuda-12.4",
        "CUDA_PATH": "/nowhere",
        "LD_LIBRARY_PATH": "/usr/local/cuda-12.4/lib64::relative:/none",
    }
    (linker,) = find(Machine(str(tmp_path), environ))
    assert (linker.path, linker.version, linker.evidence) == (path, "12.4.127", "version.json")
    ways = "CUDA_HOME, /usr/local/cuda, /usr/local/cuda-12.4, ld.so.cache, LD_LIBRARY_PATH"
    assert linker.found_via == ways


def test_a_link_that_goes_round_ends(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/b")
    (tmp_path / "b").symlink_to("/a")
    assert Machine(str(tmp_path)).real("/a/x")


def test_a_stub_is_no_linker(tmp_path: Path) -> None:
    put(tmp_path, "/cuda/lib64/stubs/libnvJitLink.so", library(minors=["12.4"]))
    (skipped,) = search(Machine(str(tmp_path), {"LD_LIBRARY_PATH": "/cuda/lib64/stubs"}))
    assert isinstance(skipped, Skipped)
    assert "it is a stub" in skipped.reason


def test_the_trial_cache_is_never_found(tmp_path: Path) -> None:
    environ = {
        "XDG_CACHE_HOME": "/c",
        "LOCALAPPDATA": "/c",
        "LD_LIBRARY_PATH": "/c/ltocompat/nvjitlink/13.0.88",
    }
    put(tmp_path, "/c/ltocompat/nvjitlink/13.0.88/libnvJitLink.so.13", V13)
    assert find(Machine(str(tmp_path), environ)) == ()


def here(version: str, machine: int | None = None) -> bytes:
    native = AARCH64 if platform.machine() in ("aarch64", "arm64") else 62
    return library(version, machine=machine or native)


def test_a_path_is_taken_as_it_is(tmp_path: Path) -> None:
    path = put(tmp_path, "lib.so", here("12.4.127"))
    empty = Cache(str(tmp_path / "cache"))
    found = resolve(str(path), cache=empty)
    assert isinstance(found, Linker)
    assert (found.version, found.found_via, found.for_trials) == ("12.4.127", "path", False)
    with pytest.raises(Missing, match="nor an existing file"):
        resolve(str(tmp_path / "none"), cache=empty)
    put(tmp_path, "text", b"text")
    with pytest.raises(UsageError, match="not a library for Linux or Windows"):
        resolve(str(tmp_path / "text"), cache=empty)
