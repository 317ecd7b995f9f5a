"""BLD-09 is held against every release of nvJitLink, called here as any program calls it.

The pieces are of NVRTC 12.0, so that each release reads them. Where a link fails or succeeds was
the same in 31 builds, 12.0.76 to 13.5.37, for sm_80 and sm_90 (2026-11-30).
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

import ltocompat
from ltocompat.facts import nvjitlink_minors
from ltocompat.model.arch import Release
from ltocompat.targets.linkers import obtain

pytestmark = pytest.mark.wild

PIECES = Path(__file__).parent.parent / "data" / "link_pieces.zip"
KINDS = {"ltoir": 3, "ptx": 2, "cubin": 1}

# Of 12.6 and newer some write to standard error, some to the error log, and all return 0.
CHILD = """
import ctypes, sys
path, suffix, *rest = sys.argv[1:]
library = ctypes.CDLL(path)
def call(name, *arguments):
    return library[f"__nvJitLink{name}_{suffix}"](*arguments)
def link(inputs):
    options = [b"-arch=sm_80"] + [b"-lto"] * any(kind == "3" for kind, _ in inputs)
    words = (ctypes.c_char_p * len(options))(*options)
    if call("Create", ctypes.byref(handle), len(options), words):
        return "refused"
    for (kind, _), data in zip(inputs, contents):
        if call("AddData", handle, int(kind), data, ctypes.c_size_t(len(data)), b"an input"):
            return "refused"
    return "refused" if call("Complete", handle) else "linked"
handle = ctypes.c_void_p()
inputs = [text.split("=", 1) for text in rest]
contents = [open(file, "rb").read() for _, file in inputs]
print(link(inputs))
size = ctypes.c_size_t()
call("GetErrorLogSize", handle, ctypes.byref(size))
log = ctypes.create_string_buffer(size.value + 1)
call("GetErrorLog", handle, log)
print(log.value.decode())
"""


def links() -> list[tuple[str, ...]]:
    """Names of pieces: a kernel twice, or a function twice behind a kernel that calls it."""
    pairs = list(itertools.product(KINDS, repeat=2))
    kernels = [(f"kernel-first-80-12.0.{a}", f"kernel-first-80-12.0.{b}") for a, b in pairs]
    return kernels + [
        (
            f"caller-user-80-12.0.{kind}",
            f"function-helper-80-12.0.{a}",
            f"function-helper-80-12.0.{b}",
        )
        for kind in KINDS
        for a, b in pairs
    ]


def by_linker(library: str, release: Release, paths: Sequence[Path]) -> str:
    """``refused``, ``printed`` (linked, with an error about a second definition) or ``linked``."""
    inputs = [f"{KINDS[path.suffix[1:]]}={path}" for path in paths]
    command = [sys.executable, "-c", CHILD, library, f"{release.major}_{release.minor}", *inputs]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    outcome = done.stdout.split()[0]
    said = "Multiple definition" in done.stdout + done.stderr or "multiply" in done.stdout
    assert said or outcome == "linked", done
    return "printed" if said and outcome == "linked" else outcome


@pytest.mark.parametrize("release", nvjitlink_minors(), ids=str)
def test_each_release_does_with_a_second_definition_what_bld_09_says(
    release: Release, tmp_path: Path
) -> None:
    library = obtain(str(release), install_missing=True).path
    with zipfile.ZipFile(PIECES) as archive:
        for name in {piece for link in links() for piece in link}:
            archive.extract(name, tmp_path)
    for link in links():
        paths = [tmp_path / name for name in link]
        hidden = any(name.endswith(".ltoir") for name in link)
        (result,) = ltocompat.check(
            paths, f"nvjitlink={release},gpu=sm_80", route="link", together=True, trial_link=hidden
        )
        verdicts = {str(finding.verdict) for finding in result.findings if finding.rule == "BLD-09"}
        answer = by_linker(library, release, paths)
        if answer == "refused":
            assert result.verdict is ltocompat.Verdict.FAIL, (link, answer)
        else:
            assert verdicts == ({"undocumented"} if answer == "printed" else set()), (link, answer)
