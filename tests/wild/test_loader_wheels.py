"""NVIDIA's own libraries over older nvJitLinks: the predicted symbol is what the loader says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import wheels
from machines import host_at

from ltocompat.model.environment import Environment
from ltocompat.rules.catalogue import found_about
from ltocompat.targets.linkers import Machine
from ltocompat.targets.machine.library_on_machine import look_at

pytestmark = pytest.mark.wild

IN_12, IN_13 = "nvidia/nvjitlink/lib/libnvJitLink.so.12", "nvidia/cu13/lib/libnvJitLink.so.13"
CUSPARSE = "nvidia/cusparse/lib/libcusparse.so.12"
# Wheel of cuSPARSE, and the nvJitLink that came with the same toolkit.
CUSPARSES = {"12.3.1.170": "12.4.127", "12.5.10.65": "12.9.86"}
LINKERS = ("12.0.140", "12.1.105", "12.3.101", "12.4.127", "12.8.93", "12.9.86")
OPEN = """
import ctypes, sys
try:
    ctypes.CDLL(sys.argv[1])
except OSError as error:
    print(error)
"""


def linker(version: str) -> Path:
    name = "nvidia-nvjitlink-cu12" if version.startswith("12") else "nvidia-nvjitlink"
    return wheels.member(f"{name}=={version}", IN_12 if version.startswith("12") else IN_13)


def site(folder: Path, version: str) -> Path:
    """A site-packages with cuSPARSE and the nvJitLink of its toolkit."""
    library = folder / "site-packages" / CUSPARSE
    beside = folder / "site-packages" / IN_12
    for path, real in (
        (library, wheels.member(f"nvidia-cusparse-cu12=={version}", CUSPARSE)),
        (beside, linker(CUSPARSES[version])),
    ):
        path.parent.mkdir(parents=True)
        path.symlink_to(real)
    return library


def opened(path: Path, environ: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", OPEN, str(path)],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def told(path: Path, environ: dict[str, str]) -> dict[str, str]:
    machine, file = Machine(environ=environ), str(path)
    found = look_at(machine, Environment(python=sys.executable), file, host_at(machine, file))
    problems = list(found_about("Library", found))
    return {each_problem.rule: each_problem.message for each_problem in problems}


@pytest.mark.parametrize("version", CUSPARSES)
def test_a_sound_set_of_wheels(tmp_path: Path, version: str) -> None:
    library = site(tmp_path, version)
    assert opened(library, {}) == ""
    assert told(library, {}) == {}


@pytest.mark.parametrize("older", LINKERS)
@pytest.mark.parametrize("version", CUSPARSES)
def test_an_nvjitlink_in_front_by_ld_library_path(tmp_path: Path, version: str, older: str) -> None:
    library = site(tmp_path, version)
    environ = {"LD_LIBRARY_PATH": str(linker(older).parent)}
    text = opened(library, environ)
    found = told(library, environ)
    assert bool(text) == ("NJL-01" in found)
    if text:
        assert f"_{CUSPARSES[version].rpartition('.')[0].replace('.', '_')}, version" in text
        assert found["NJL-01"].endswith(text)
        assert f"gets nvJitLink {older} via LD_LIBRARY_PATH" in found["NJL-02"]


@pytest.mark.parametrize("version", CUSPARSES)
def test_an_nvjitlink_of_another_major_alone(tmp_path: Path, version: str) -> None:
    library = site(tmp_path, version)
    (tmp_path / "site-packages" / IN_12).unlink()
    environ = {"LD_LIBRARY_PATH": str(linker("13.0.88").parent)}
    text = opened(library, environ)
    assert text.startswith("libnvJitLink.so.12: cannot open shared object file")
    (message,) = told(library, environ).values()
    assert text in message


def bound(path: Path) -> list[str]:
    """What the loader can't bind, in its order, whatever else is missing (``ldd -r``)."""
    done = subprocess.run(
        ["/lib64/ld-linux-x86-64.so.2", str(path)],
        env={"LD_TRACE_LOADED_OBJECTS": "1", "LD_WARN": "1", "LD_BIND_NOW": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = (done.stdout + done.stderr).splitlines()
    return [line.partition("\t")[0].strip() for line in lines if "undefined symbol: " in line]


@pytest.mark.parametrize("version", ["13.0.88", "13.2.86", "13.3.33", "13.5.37"])
def test_libcuvs_and_the_nvjitlinks_of_its_major(tmp_path: Path, version: str) -> None:
    """Its other needs are not here; nvJitLink is found by RPATH."""
    library = tmp_path / "libcuvs/lib64/libcuvs.so"
    beside = tmp_path / IN_13
    cuvs = wheels.member("libcuvs-cu13==26.10.0", "libcuvs/lib64/libcuvs.so")
    for path, real in ((library, cuvs), (beside, linker(version))):
        path.parent.mkdir(parents=True)
        path.symlink_to(real)
    missing = [line for line in bound(library) if "nvJitLink" in line]
    found = told(library, {})
    assert bool(missing) == ("NJL-01" in found)
    assert bool(missing) == (version < "13.3")
    if missing:
        assert found["NJL-01"].rpartition("undefined symbol: ")[2] in missing[0]
