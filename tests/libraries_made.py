"""Shared libraries and programs that gcc builds for tests of the loader; sources of one line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

GCC = shutil.which("gcc") or ""
needs_gcc = pytest.mark.skipif(
    not GCC or not os.path.exists("/etc/ld.so.cache"), reason="needs gcc and glibc"
)

# Opens each of its arguments, and says nothing: LD_DEBUG does.
_PROGRAM = """
#include <dlfcn.h>
int main(int count, char **names) {
  for (int i = 1; i < count; i++) dlopen(names[i], RTLD_NOW);
  return 0;
}
"""
_FIND = re.compile(r"find library=(\S+) \[0\]; searching")
_TAKEN = re.compile(r"file=(\S+) \[0\];  generating link map")
_TRY = re.compile(r"trying file=(\S+)")
_WHY = re.compile(r"search (?:path=.*\t\((.*)\)|cache=(\S+))")


_BUILT: dict[tuple[tuple[str, ...], str, tuple[bytes, ...]], bytes] = {}
"""What gcc made, by its options (files that they name are of one test), source and libraries."""


def build_libcuda(folder: Path) -> Path:
    """A folder with a stand-in for libcuda.so.1, see ``fake_libcuda.c``."""
    source = Path(__file__).parent / "fake_libcuda.c"
    library = str(folder / "libcuda.so.1")
    command = [GCC, "-shared", "-fPIC", "-w", "-o", library, str(source), "-ldl"]
    subprocess.run(command, check=True)
    return folder


def build(
    path: Path,
    *,
    needs: Sequence[Path] = (),
    rpath: str | None = None,
    runpath: str | None = None,
    soname: str | None = None,
    flags: Iterable[str] = (),
    source: str | None = None,
    program: bool = False,
) -> Path:
    """Build a shared library, or the program that opens its arguments; equal ones once.

    Args:
        path: where to put it.
        needs: libraries whose sonames go into DT_NEEDED.
        rpath: DT_RPATH.
        runpath: DT_RUNPATH.
        soname: DT_SONAME; None for the file's name.
        flags: more options for gcc.
        source: C source; None for nothing (in a program: what opens its arguments).
        program: build a program.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = ["-no-pie"] if program else ["-shared", "-fPIC", "-nostdlib"]
    if not program:
        kind.append(f"-Wl,-soname,{soname or path.name}")
    tags = [("--disable-new-dtags", rpath), ("--enable-new-dtags", runpath)]
    for dtags, value in tags:
        if value is not None:
            kind += [f"-Wl,{dtags}", f"-Wl,-rpath,{value}"]
    # Unresolved names of libraries behind the needed ones are none of the linker's business here.
    linking = ["-Wl,--no-as-needed", "-Wl,--unresolved-symbols=ignore-in-shared-libs"]
    options, text = (*kind, *linking, *flags), source or (_PROGRAM if program else "")
    key = (options, text, tuple(library.read_bytes() for library in needs))
    if key not in _BUILT:
        subprocess.run(
            [GCC, "-o", path, "-x", "c", "-", "-x", "none", *options, *needs],
            input=text.encode(),
            check=True,
        )
        _BUILT[key] = path.read_bytes()
    path.unlink(missing_ok=True)
    path.write_bytes(_BUILT[key])
    path.chmod(0o755)
    return path


def said_by_loader(
    program: Path, opened: Sequence[str], environ: Mapping[str, str], folder: Path
) -> list[tuple[str, str | None, str]]:
    """(name, file, rule) for each name that the real loader searched for, in its order.

    A file is None where none was found; rules are in the words of ``Resolved.found_by``.
    """
    done = subprocess.run(
        [str(program), *opened],
        env={"LD_DEBUG": "libs,files", **environ},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    answers: list[tuple[str, str | None, str]] = []
    tried, rule, real = "", "", set()
    for line in done.stderr.splitlines():
        if found := _FIND.search(line):
            answers.append((found[1], None, "not found"))
        elif why := _WHY.search(line):
            rule = _in_our_words(why[1] or why[2])
        elif trying := _TRY.search(line):
            tried = trying[1]
            if os.path.realpath(tried) in real:  # there already, under another name
                answers[-1] = (answers[-1][0], tried, rule)
        elif (taken := _TAKEN.search(line)) and answers and taken[1] == answers[-1][0]:
            answers[-1] = (taken[1], tried, rule)
            real.add(os.path.realpath(tried))
    return answers


def _in_our_words(text: str) -> str:
    if text == "/etc/ld.so.cache":
        return "ld.so.cache"
    if text == "system search path":
        return "default folders"
    kind, _, file = text.partition(" from file ")
    return f"{kind} of {os.path.basename(file)}" if file else kind
