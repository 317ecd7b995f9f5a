"""Real nvJitLinks, installed by the real pip; readelf and nm say what is in them."""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path

import pytest

from ltocompat.facts import linker_wheels
from ltocompat.model.limits import Budget
from ltocompat.targets.linkers import Cache, Machine, Tool, find
from ltocompat.targets.linkers.identify import identify
from ltocompat.targets.linkers.installing import install_one
from ltocompat.targets.linkers.version_request import choose

pytestmark = pytest.mark.wild


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    where = Cache(str(tmp_path_factory.mktemp("cache")))
    for version in ("13.5", "12.0"):
        (request,) = choose(version, allow_unknown=False)
        install_one(request, where)
    return where


def test_what_was_installed_is_what_was_asked_for(cache: Cache) -> None:
    first, last = cache.installed()
    assert (first.version, last.version) == ("12.0.140", "13.5.37")
    sums = {
        row.version: row.member_sha256
        for row in linker_wheels("nvjitlink")
        if "x86" in row.platform
    }
    for linker in (first, last):
        assert hashlib.sha256(Path(linker.path).read_bytes()).hexdigest() == sums[linker.version]
        with Machine().viewed(linker.path) as view:
            assert identify(view, Budget(), (), Tool.NVJITLINK).version == linker.version
        assert {p.name for p in Path(linker.path).parent.iterdir()} == {
            Path(linker.path).name,
            "origin.json",
            "seal",
        }
    assert len(list(Path(cache.folder).iterdir())) == 2


def test_readelf_and_nm_agree(cache: Cache) -> None:
    for linker in cache.installed():
        soname = re.search(r"SONAME.*\[(.*)\]", output("readelf", "-d", linker.path))
        assert soname
        assert soname[1] == Path(linker.path).name
        names = re.findall(r"__nvJitLinkCreate_(\d+)_(\d+)", output("nm", "-D", linker.path))
        minors = [(int(major), int(minor)) for major, minor in names]
        assert max(minors) == (linker.release.major, linker.release.minor)
        text = output("strings", linker.path)
        banners = re.findall(
            r"^Cuda compilation tools, release [\d.]+, V([\d.]+)$", text, re.MULTILINE
        )
        assert set(banners) == {linker.version}


def test_without_its_banner_the_names_tell_the_minor(cache: Cache, tmp_path: Path) -> None:
    for linker in cache.installed():
        path = tmp_path / Path(linker.path).name
        data = Path(linker.path).read_bytes()
        path.write_bytes(data.replace(b"Cuda compilation tools", b"Some compilation tools"))
        machine = Machine(environ={"LD_LIBRARY_PATH": str(tmp_path)})
        (found,) = find(machine)
        assert (found.version, found.evidence) == (str(linker.release), "exported symbols")
        path.unlink()
