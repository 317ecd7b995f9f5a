"""What a loader reads of a library: its name, what it needs and where it looks, as readelf says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from libraries_made import build, needs_gcc
from package_writer import zip_of
from samples import FOLDER

import ltocompat
from ltocompat import HostBinary

READELF = shutil.which("readelf") or ""
pytestmark = [needs_gcc, pytest.mark.skipif(not READELF, reason="needs readelf")]


def dynamic(path: Path, tag: str) -> list[str]:
    """The values of a dynamic tag, by readelf."""
    text = subprocess.run([READELF, "-dW", path], capture_output=True, text=True, check=True).stdout
    return re.findall(rf"\({tag}\).*\[(.*)\]", text)


def host_of(path: Path) -> HostBinary:
    (found,) = [record for record in ltocompat.inspect(path) if isinstance(record, HostBinary)]
    return found


@pytest.mark.parametrize(
    ("rpath", "runpath"),
    [(None, None), ("/opt/a:$ORIGIN", None), (None, "$ORIGIN/../lib:/opt/b")],
)
def test_name_needs_and_search_path_are_those_of_the_dynamic_section(
    tmp_path: Path, rpath: str | None, runpath: str | None
) -> None:
    needs = [build(tmp_path / "libb.so.2"), build(tmp_path / "libc-1.so")]
    path = build(
        tmp_path / "liba.so", soname="liba.so.1", needs=needs, rpath=rpath, runpath=runpath
    )
    found = host_of(path)
    assert [found.soname] == dynamic(path, "SONAME") == ["liba.so.1"]
    assert list(found.needed) == dynamic(path, "NEEDED") == ["libb.so.2", "libc-1.so"]
    folders = [*dynamic(path, "RUNPATH"), *dynamic(path, "RPATH")]
    assert [":".join(found.runpath)] == (folders or [""])
    assert found.linked


def test_every_library_of_a_package_is_told_but_not_every_object(tmp_path: Path) -> None:
    library = build(tmp_path / "liba.so").read_bytes()
    path = tmp_path / "a.zip"
    plain = (FOLDER / "objects" / "aarch64.o").read_bytes()
    path.write_bytes(zip_of(("lib/liba.so", library), ("lib/a.o", plain)))
    hosts = [record for record in ltocompat.inspect(path) if isinstance(record, HostBinary)]
    table = {str(host.place.members[-1]): host for host in hosts}
    assert table["lib/liba.so"].soname == "liba.so"
    assert all(
        each_host.linked or each_host.libraries or each_host.undefined_registrations
        for each_host in hosts
    )
