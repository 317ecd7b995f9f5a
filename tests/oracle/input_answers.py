"""What linkers do with the links of ``input_strata``, asked by plain ctypes and subprocess."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import nvcc_objects
from input_strata import NVJITLINKS, Link
from pieces import HERE
from toolchains import PackageCache

_BATCH = 100
_SECONDS = 60
LINKED, LOST, REFUSED, CRASHED = "linked", "lost", "refused", "crashed"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a linker did.

    Attributes:
        outcome: ``linked``, ``lost`` (it succeeds, and the output lacks a kernel), ``refused`` or
            ``crashed``.
        words: its status and log, or the kernels that are lost.
    """

    outcome: str
    words: str


def folder_of(link: Link, root: Path) -> Path:
    """The folder with the files of a link, which are written on first use."""
    folder = root / link.key
    if not folder.exists():
        part = folder.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        for each in link.inputs:
            (part / each.file).write_bytes(each.data)
            for name, data in each.beside:
                (part / name).write_bytes(data)
        part.rename(folder)
    return folder


def answered(
    links: Iterable[Link], root: Path, cache: PackageCache
) -> Iterator[tuple[Link, Answer]]:
    """Each link with its answer; those of an earlier run are kept in the folder."""
    for (linker, release), some in groupby(
        sorted(links, key=lambda link: (link.linker, link.release)),
        key=lambda link: (link.linker, link.release),
    ):
        found = list(some)
        for start in range(0, len(found), _BATCH):
            batch = found[start : start + _BATCH]
            new = [each for each in batch if not _kept(each, root).exists()]
            ask = _nvlink if linker == "nvlink" else _nvjitlink
            for link, answer in zip(new, ask(new, release, root, cache), strict=True):
                _kept(link, root).write_text(json.dumps([answer.outcome, answer.words]), "utf-8")
            for link in batch:
                yield link, Answer(*json.loads(_kept(link, root).read_text("utf-8")))


def _kept(link: Link, root: Path) -> Path:
    return folder_of(link, root) / "answer.json"


def library(release: str, cache: PackageCache) -> Path:
    """The nvJitLink of a release."""
    suffix = "-cu12" if release.startswith("12.") else ""
    return cache.file(f"nvidia-nvjitlink{suffix}=={NVJITLINKS[release]}", "libnvJitLink.so*")


def _nvjitlink(
    links: Sequence[Link], release: str, root: Path, cache: PackageCache
) -> Iterator[Answer]:
    if not links:
        return
    requests = [
        {
            "kernels": link.kernels,
            "options": [f"-arch=sm_{link.arch}", *(["-lto"] if link.lto else [])],
            "inputs": [[each.kind, each.file] for each in link.inputs],
            "folder": str(folder_of(link, root).resolve()),
        }
        for link in links
    ]
    program = [sys.executable, str(HERE / "nvjitlink_child.py"), str(library(release, cache))]
    done = subprocess.run(
        [*program, release.replace(".", "_")],
        input="".join(json.dumps(request) + "\n" for request in requests),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    for line in done.stdout.splitlines():
        row = json.loads(line)
        outcome = {"output": LOST, "ended": CRASHED}.get(row["step"], LINKED)
        outcome = REFUSED if row["status"] and outcome == LINKED else outcome
        yield Answer(outcome, f"{row['step']} {row['status']}: {row['log']}".rstrip(": "))


def _nvlink(
    links: Sequence[Link], release: str, root: Path, cache: PackageCache
) -> Iterator[Answer]:
    for link in links:
        program = nvcc_objects.toolkit(release, cache) / "nvlink"
        answer = _nvlinked(link, program, root, lto=link.lto)
        if "NO_MODULE_IN_PROGRAM" in answer.words:
            answer = _nvlinked(link, program, root, lto=False)
        yield answer


def _nvlinked(link: Link, program: Path, root: Path, *, lto: bool) -> Answer:
    folder, tree = folder_of(link, root), program.parents[1]
    # As nvcc calls it, but that what no host code calls is kept, too.
    words = [str(program.resolve()), f"-arch=sm_{link.arch}", "-ignore-host-info"]
    words += [each.file for each in link.inputs]
    libraries = [f"-L{(tree / 'lib').resolve()}", "-lcudadevrt"]
    words += ["-dlto", f"-nvvmpath={(tree / 'nvvm').resolve()}", *libraries] if lto else []
    with tempfile.TemporaryDirectory() as output:
        linked = Path(output, "linked.cubin")
        try:
            done = subprocess.run(
                [*words, "-o", str(linked)],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Answer(CRASHED, f"no answer after {_SECONDS} s")
        code = linked.read_bytes() if done.returncode == 0 else b""
    said = f"{done.returncode}: {(done.stdout + done.stderr).strip()}".rstrip(": ")
    if done.returncode:
        return Answer(CRASHED if done.returncode < 0 else REFUSED, said)
    missing = [name for name in link.kernels if f".text.{name}\0".encode() not in code]
    return (
        Answer(LOST, f"without {', '.join(missing)}: {said}") if missing else Answer(LINKED, said)
    )
