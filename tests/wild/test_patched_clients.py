"""Programs of others with ltocompat in place of what they do by hand: their own tests pass.

A patch is what is appended to a copy of one module (tests/patches); the copies come from PyPI.
EasyBuild's tests run here and need Lmod (apt-get install lmod). Those of the linkers of numba-cuda
and cuda.core need a GPU: ``tests/patches/README.md`` says how they were run.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from fatbin_writer import KINDS, EntrySpec, entry, region
from samples import FOLDER

pytestmark = pytest.mark.wild

PATCHES = Path(__file__).parents[1] / "patches"
LMOD = Path("/usr/share/lmod/lmod/libexec/lmod")
EASYBUILD = "easybuild-framework==5.4.1"
CUBIN = (FOLDER / "cubin" / "nvrtc-12.4-sm_80.cubin").read_bytes()
PTX = (FOLDER / "ptx" / "nvrtc-12.4-compute_80.ptx").read_bytes()


def sass(*archs: str) -> list[bytes]:
    return [_entry("sass", CUBIN, arch) for arch in archs]


def ptx(*archs: str) -> list[bytes]:
    return [_entry("ptx", PTX, arch) for arch in archs]


def _entry(kind: str, payload: bytes, arch: str) -> bytes:
    digits = arch.rstrip("af")
    return entry(EntrySpec(KINDS[kind], payload, sm=int(digits), suffix=arch[len(digits) :]))


# The files that EasyBuild's tests name, with the code that its recorded output of cuobjdump lists.
FILES = {
    "mock_cuda_bin": region(
        sass("50", "60", "61", "70", "75", "80", "86", "89", "90", "90a") + ptx("90", "90a")
    ),
    "mock_cuda_sharedlib": region(ptx("90", "90a")),
    "mock_cuda_staticlib": region(sass("100", "100a", "100f")),
    "mock_invalid_cuda_sharedlib": region(sass("80"))[:-100],
    "mock_noncuda_file": b"a text\n",
    "mock_non_cuda_sharedlib": b"\x7fELF",
    "mock_non_cuda_sharedlib_unexpected": b"\x7fELF",
}


@pytest.mark.parametrize("patch", sorted(PATCHES.glob("*.append")), ids=lambda path: path.stem)
def test_a_patch_has_thirty_lines_at_most(patch: Path) -> None:
    assert len(patch.read_text("utf-8").splitlines()) <= 30


def test_easybuild_reads_architectures_without_cuobjdump(tmp_path: Path) -> None:
    assert LMOD.exists(), "EasyBuild's tests need Lmod: apt-get install lmod"
    download = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--no-binary=:all:"]
    subprocess.run([*download, "-d", tmp_path, EASYBUILD], check=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(archive.read_bytes())) as tar:
        tar.extractall(tmp_path, filter="data")
    (copy,) = (path for path in tmp_path.iterdir() if path.is_dir())
    with (copy / "easybuild" / "tools" / "systemtools.py").open("a", encoding="utf-8") as module:
        module.write((PATCHES / "easybuild_systemtools.append").read_text("utf-8"))
    for name, data in FILES.items():
        (copy / name).write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-m", "test.framework.systemtools", "cuda"],
        cwd=copy,
        env={
            **os.environ,
            "LMOD_CMD": str(LMOD),
            "PYTHONPATH": os.pathsep.join([str(copy), *sys.path]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Ran 2 tests" in done.stderr
