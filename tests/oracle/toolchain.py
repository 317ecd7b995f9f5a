"""NVIDIA's assembler and device linker as oracles: what they refuse, and why."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

_UNRESOLVED = re.compile(r"Unresolved extern function '([^']+)'")
_MULTIPLE = re.compile(r"Multiple definition of '([^']+)'")
_UNDEFINED = re.compile(r"Undefined reference to '([^']+)'")


class Refusal(NamedTuple):
    """What a linker says: the names that it finds twice, and those that it misses."""

    twice: frozenset[str]
    missing: frozenset[str]


def _program(name: str) -> Path:
    files = importlib.metadata.files("nvidia-cuda-nvcc") or []
    (found,) = [Path(str(file.locate())) for file in files if file.name == name]
    found.chmod(0o755)  # the wheel forgets it
    return found


def _run(name: str, *arguments: str | Path) -> tuple[int, str]:
    done = subprocess.run(
        [_program(name), *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


def unresolved(ptx: Path) -> str | None:
    """The function whose absence ptxas gives as the reason to refuse text; None where it takes it.

    It stops at the first one.
    """
    status, log = _run("ptxas", "-arch=sm_90", ptx, "-o", ptx.with_suffix(".final"))
    if not status:
        return None
    found = _UNRESOLVED.search(log)
    assert found is not None, log
    return found[1]


def relocatable(ptx: Path) -> Path:
    """The text as a relocatable cubin, as linkers compile it."""
    cubin = ptx.with_suffix(".cubin")
    status, log = _run("ptxas", "-c", "-arch=sm_90", ptx, "-o", cubin)
    assert not status, log
    return cubin


def compiled(ptx: Path, arch: int) -> Path:
    """The text as a cubin for an architecture."""
    cubin = ptx.with_suffix(f".{arch}.cubin")
    status, log = _run("ptxas", f"-arch=sm_{arch}", ptx, "-o", cubin)
    assert not status, log
    return cubin


def linked(*cubins: Path) -> Refusal | None:
    """What nvlink finds wrong with a link; None where it links."""
    output = cubins[0].with_suffix(".linked")
    status, log = _run("nvlink", "-arch=sm_90", *cubins, "-o", output)
    if not status:
        return None
    found = Refusal(frozenset(_MULTIPLE.findall(log)), frozenset(_UNDEFINED.findall(log)))
    assert any(found), log
    return found
