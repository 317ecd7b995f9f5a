"""The loader's cache: as ``ldconfig -p`` prints it, and as bytes that can be anything."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from every_case import every
from libraries_made import build, needs_gcc
from machines import Recorded, ld_so_cache, shared

from ltocompat.model.errors import Malformed
from ltocompat.targets.linkers import Machine
from ltocompat.targets.linkers.ldcache import CACHE, conf_folders, parse_cache
from ltocompat.targets.machine.loader import Loader

LDCONFIG = shutil.which("ldconfig", path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin") or ""
ROW = re.compile(r"\t(\S+) \(.*\) => (.*)")


@pytest.mark.skipif(not LDCONFIG or not os.path.exists(CACHE), reason="needs ldconfig")
def test_this_machines_cache_is_read_as_ldconfig_prints_it() -> None:
    printed = subprocess.run([LDCONFIG, "-p"], capture_output=True, text=True, check=True).stdout
    entries = parse_cache(Path(CACHE).read_bytes())
    assert [(entry.name, entry.path) for entry in entries] == ROW.findall(printed)


@needs_gcc
def test_a_cache_that_ldconfig_writes_for_better_processors(tmp_path: Path) -> None:
    build(tmp_path / "lib/libx.so.1")
    build(tmp_path / "lib/glibc-hwcaps/x86-64-v3/libx.so.1")
    (tmp_path / "conf").write_text(f"{tmp_path}/lib\n")
    command = [LDCONFIG, "-X", "-C", str(tmp_path / "cache"), "-f", str(tmp_path / "conf")]
    subprocess.run(command, check=True, capture_output=True)
    entries = parse_cache((tmp_path / "cache").read_bytes())
    ours = {entry.hwcaps: entry.path for entry in entries if entry.name == "libx.so.1"}
    assert ours == {
        "": f"{tmp_path}/lib/libx.so.1",
        "x86-64-v3": f"{tmp_path}/lib/glibc-hwcaps/x86-64-v3/libx.so.1",
    }


@every("seed", range(200))
def test_broken_caches_are_malformed_or_read(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - the same mutations each time
    data = bytearray(ld_so_cache("/lib/libx.so.1", "/lib/liby.so.1"))
    for _ in range(rng.choice([1, 4])):
        data[rng.randrange(len(data))] = rng.randrange(256)
    with contextlib.suppress(Malformed):
        parse_cache(bytes(data[: rng.choice([len(data), rng.randrange(len(data))])]))


def test_conf_files_are_taken_in_the_order_of_their_names(tmp_path: Path) -> None:
    made = Recorded(tmp_path)
    made.put("/etc/ld.so.conf", "/first # local\ninclude ld.so.conf.d/*.conf\nhwcap 0 x\n/last/\n")
    made.put("/etc/ld.so.conf.d/b.conf", "/b\n")
    made.put("/etc/ld.so.conf.d/a.conf", "\n/a\n")
    folders = [folder for folder, _ in conf_folders(Machine(str(tmp_path)))]
    assert folders == ["/first", "/a", "/b", "/last"]


def test_conf_files_that_include_each_other_end(tmp_path: Path) -> None:
    made = Recorded(tmp_path)
    made.put("/etc/ld.so.conf", "include /etc/ld.so.conf\n/a\n")
    assert conf_folders(Machine(str(tmp_path))) == (("/a", "/etc/ld.so.conf"),)


def test_a_cached_file_that_is_gone_leaves_the_default_folders(tmp_path: Path) -> None:
    made = Recorded(tmp_path)
    made.cached.append("/gone/libx.so.1")
    made.put("/usr/lib64/libx.so.1", shared("libx.so.1"))
    found = Loader(made.machine()).resolve("libx.so.1")
    assert (found.path, found.found_by) == ("/usr/lib64/libx.so.1", "default folders")


def test_entries_of_other_processors_are_not_taken(tmp_path: Path) -> None:
    made = Recorded(tmp_path)
    made.put("/lib32/libx.so.1", shared("libx.so.1"))
    made.put("/etc/ld.so.cache", ld_so_cache("/lib32/libx.so.1", flags=3))
    assert Loader(Machine(str(tmp_path))).resolve("libx.so.1").path is None


def test_links_never_lead_out_of_a_tree(tmp_path: Path) -> None:
    made = Recorded(tmp_path / "root", {"LD_LIBRARY_PATH": "/l"})
    made.put("/real/libx.so.1", shared("libx.so.1"))
    made.link("/l", "/real")
    assert Loader(made.machine()).resolve("libx.so.1").real == "/real/libx.so.1"
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "libz.so.1").write_bytes(shared("libz.so.1"))
    made.link("/m", str(outside))
    made.environ["LD_LIBRARY_PATH"] = "/m"
    assert Loader(made.machine()).resolve("libz.so.1").path is None


def test_a_library_of_a_tree_with_all_that_it_needs(tmp_path: Path) -> None:
    made = Recorded(tmp_path)
    made.put("/app/libapp.so", shared("libapp.so", needed=["libnvJitLink.so.12", "libnot.so.1"]))
    made.put("/usr/lib64/libnvJitLink.so.12", shared("libnvJitLink.so.12", needed=["libapp.so"]))
    order = Loader(made.machine()).load("/app/libapp.so")
    assert [(resolved.asked, resolved.path, resolved.found_by) for resolved in order] == [
        ("/app/libapp.so", "/app/libapp.so", "path"),
        ("libnvJitLink.so.12", "/usr/lib64/libnvJitLink.so.12", "default folders"),
        (
            "libnot.so.1",
            None,
            "libnot.so.1: cannot open shared object file: No such file or directory",
        ),
        ("libapp.so", "/app/libapp.so", "already loaded"),
    ]
    assert order[2].needed_by == "/app/libapp.so"


def test_what_is_no_library_has_a_sentence(tmp_path: Path) -> None:
    made = Recorded(tmp_path)
    made.put("/a", "text" * 99)
    made.put("/b", "")
    loader = Loader(made.machine())
    assert loader.resolve("/a").problem == "/a: /a: invalid ELF header"
    assert loader.resolve("/b").problem == "/b: /b: file too short"
    absent = loader.resolve("/c")
    assert absent.problem
    assert absent.loaded is None
