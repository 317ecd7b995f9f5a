"""nvJitLink and nvlink of many releases, asked without any code of ltocompat."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

import nvcc_objects
from link_cases import NVJITLINKS, Case
from pieces import HERE
from toolchains import PackageCache

_BATCH = 200
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Answer:
    """What a linker did.

    Attributes:
        accepted: it linked everything.
        words: its status and log, or how its process ended.
    """

    accepted: bool
    words: str


def asked(
    cases: Iterable[Case], folder: Path, cache: PackageCache
) -> Iterator[tuple[Case, Answer]]:
    """Each case with its answer; one process serves many links of one library.

    Args:
        cases: what to link.
        folder: for the inputs.
        cache: where the linkers are.
    """
    for (linker, release), some in groupby(
        sorted(cases, key=lambda case: (case.linker, case.release)),
        key=lambda case: (case.linker, case.release),
    ):
        found = list(some)
        if linker == "nvlink":
            program = nvcc_objects.toolkit(release, cache) / "nvlink"
            yield from ((case, _nvlink(case, program, folder)) for case in found)
            continue
        for start in range(0, len(found), _BATCH):
            batch = found[start : start + _BATCH]
            yield from zip(batch, _nvjitlink(batch, release, folder, cache), strict=True)


def _stored(data: bytes, name: str, folder: Path) -> str:
    path = folder / sha256(data).hexdigest()[:24] / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return str(path)


def _nvjitlink(
    cases: Sequence[Case], release: str, folder: Path, cache: PackageCache
) -> list[Answer]:
    requests = [
        {
            "kernels": case.kernels,
            "options": [f"-arch=sm_{case.arch}", *(["-lto"] if case.lto else [])],
            "inputs": [
                [kind, _stored(data, file.file, folder)]
                for file in case.files
                for kind, data in file.linked
            ],
        }
        for case in cases
    ]
    return [
        Answer(
            worked(row),
            f"{row['step']} {row['status']}: {row['log']}".rstrip(": "),
        )
        for row in nvjitlink_rows(requests, release, cache)
    ]


def nvjitlink_rows(
    requests: Sequence[Mapping[str, object]], release: str, cache: PackageCache
) -> list[dict[str, Any]]:
    """What an nvJitLink answers to each request, as ``nvjitlink_child`` says it."""
    suffix = "-cu12" if release.startswith("12.") else ""
    library = cache.file(f"nvidia-nvjitlink{suffix}=={NVJITLINKS[release]}", "libnvJitLink.so*")
    program = [sys.executable, str(HERE / "nvjitlink_child.py"), str(library)]
    done = subprocess.run(
        [*program, release.replace(".", "_")],
        input="".join(json.dumps(request) + "\n" for request in requests),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def worked(row: Mapping[str, Any]) -> bool:
    """Whether a link went through to its end."""
    return (row["step"], row["status"]) == ("complete", 0)


def _nvlink(case: Case, program: Path, folder: Path) -> Answer:
    paths = [_stored(file.data, file.file, folder) for file in case.files]
    tree = program.parents[1]
    # As nvcc calls it.
    lto = ["-dlto", f"-nvvmpath={tree / 'nvvm'}", f"-L{tree / 'lib'}", "-lcudadevrt"]
    options = [f"-arch=sm_{case.arch}", *(lto if case.lto else [])]
    with tempfile.TemporaryDirectory() as output:
        try:
            linked = Path(output, "linked.cubin")
            done = subprocess.run(
                [program, *options[:1], *paths, *options[1:], "-o", linked],
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Answer(accepted=False, words=f"no answer after {_SECONDS} s")
        code = linked.read_bytes() if done.returncode == 0 else b""
    words = (done.stdout + done.stderr).replace(str(folder), "").strip()
    # An object without code for the target is left out, with a warning: what it holds is not for
    # this GPU, as a module that a driver passes over. A link that has no kernel left serves nobody.
    taken = [file.file for file in case.files if f"/{file.file}'" not in _left_out(words)]
    kernels = {made.name for made in map(_made, taken) if made.source != "function"}
    complete = all(f".text.{name}\0".encode() in code for name in kernels)
    serves = bool(kernels) or not case.kernels
    accepted = done.returncode == 0 and complete and serves
    return Answer(accepted, f"{done.returncode}: {words}".rstrip(": "))


def _made(file: str) -> nvcc_objects.Made:
    return nvcc_objects.Made.of(file, b"")


def _left_out(words: str) -> str:
    """What nvlink says of objects that it goes on without."""
    return "\n".join(line for line in words.splitlines() if "not found in" in line)
