"""Libraries built with gcc, loaded for real in a child; cuda-pathfinder and dlopen agree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from libraries_made import build, needs_gcc

from ltocompat.model.environment import LibraryPick
from ltocompat.targets.linkers import Machine
from ltocompat.targets.machine.library_search import picks

pytest.importorskip("cuda.pathfinder")
pytestmark = needs_gcc
SITE = "venv/lib/python3.12/site-packages"
# The real packages with another idea of where packages are.
ASK = """
import ctypes, json, os, site, sys
tree, names = sys.argv[1], sys.argv[2:]
answer = {}
for name in names:
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        continue
    try:
        if ".so" in name:
            ctypes.CDLL(name)
        else:
            site.getsitepackages = lambda: [tree]
            site.ENABLE_USER_SITE = False
            from cuda.pathfinder import load_nvidia_dynamic_lib
            found = load_nvidia_dynamic_lib(name)
    except Exception:
        pass
    files = {os.path.basename(line.split()[-1]).split(".so")[0]: line.split()[-1]
             for line in open("/proc/self/maps") if ".so" in line}
    print(json.dumps([name, files.get("lib" + name.removeprefix("lib").split(".so")[0])]))
    sys.stdout.flush()
    os._exit(0)
"""
WORLDS: dict[str, tuple[list[str], dict[str, str]]] = {
    "nothing": ([], {}),
    "wheels of both majors": (
        [
            f"{SITE}/nvidia/nvjitlink/lib/libnvJitLink.so.12",
            f"{SITE}/nvidia/cu13/lib/libnvJitLink.so.13",
            f"{SITE}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
            f"{SITE}/nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so.4",
        ],
        {},
    ),
    "wheel before LD_LIBRARY_PATH": (
        [f"{SITE}/nvidia/nvjitlink/lib/libnvJitLink.so.12", "old/libnvJitLink.so.13"],
        {"LD_LIBRARY_PATH": "{tree}/old"},
    ),
    "conda before LD_LIBRARY_PATH": (
        ["conda/lib/libnvJitLink.so.12", "old/libnvJitLink.so.13", "conda/nvvm/lib64/libnvvm.so.4"],
        {"LD_LIBRARY_PATH": "{tree}/old", "CONDA_PREFIX": "{tree}/conda"},
    ),
    "LD_LIBRARY_PATH before CUDA_HOME": (
        ["old/libnvJitLink.so.12", "cuda/lib64/libnvJitLink.so.13", "cuda/lib64/libnvrtc.so.13"],
        {"LD_LIBRARY_PATH": "{tree}/old", "CUDA_HOME": "{tree}/cuda"},
    ),
    "CUDA_PATH before CUDA_HOME": (
        ["one/lib/libnvJitLink.so.12", "two/lib64/libnvJitLink.so.13"],
        {"CUDA_PATH": "{tree}/one", "CUDA_HOME": "{tree}/two"},
    ),
    "13 before 12 wherever dlopen finds them": (
        ["a/libnvJitLink.so.12", "b/libnvJitLink.so.13"],
        {"LD_LIBRARY_PATH": "{tree}/a:{tree}/b"},
    ),
    "libNVVM beside the libcudart of LD_LIBRARY_PATH": (
        ["cuda/targets/x86_64-linux/lib/libcudart.so.12", "cuda/nvvm/lib64/libnvvm.so.4"],
        {"LD_LIBRARY_PATH": "{tree}/cuda/targets/x86_64-linux/lib"},
    ),
}


def loaded(tree: Path, environ: Mapping[str, str]) -> dict[str, str | None]:
    """The file that each name brought into a child process."""
    names = ["nvJitLink", "nvrtc", "nvvm", "libnvJitLink.so.12", "libnvJitLink.so.13"]
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(tree / SITE), *names],
        env={**environ, "PATH": os.environ["PATH"]},
        cwd=tree,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(line) for line in done.stdout.splitlines())


OF_THE_QUICK_TIER = ("wheels of both majors", "LD_LIBRARY_PATH before CUDA_HOME")


@pytest.mark.parametrize(
    "name",
    [
        name if name in OF_THE_QUICK_TIER else pytest.param(name, marks=pytest.mark.slow)
        for name in WORLDS
    ],
)
def test_each_way_gets_what_it_really_gets(tmp_path: Path, name: str) -> None:
    files, variables = WORLDS[name]
    for file in files:
        build(tmp_path / file)
    environ = {key: value.format(tree=tmp_path) for key, value in variables.items()}
    machine = Machine(
        environ=environ,
        search_path=(str(tmp_path / SITE),),
        python=sys.executable,
        folder=str(tmp_path),
    )
    ours = list(picks(machine, {}))

    def real(pick: LibraryPick) -> str:
        return pick.library if pick.way == "cuda-pathfinder" else pick.asked

    table = loaded(tmp_path, environ)
    assert {real(our): our.real for our in ours if real(our) in table} == table
