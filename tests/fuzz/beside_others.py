"""The same changed files for ltocompat and for tools that read some of them, too: who stands them?

``python tests/fuzz/beside_others.py --peers FOLDER --cuobjdump PATH``: FOLDER is where
``pip install --target FOLDER cubloaty auditwheel abi3audit`` put them. Tools in Python are imported
once and forked for each file. A table is printed.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).parent
for place in (HERE.parent.parent, HERE.parent):
    sys.path.insert(0, str(place))

from package_writer import zip_of  # noqa: E402 - beside this file
from samples import FOLDER  # noqa: E402
from tabulate import tabulate  # noqa: E402

from fuzz.files import folder, written  # noqa: E402
from fuzz.mutate import Material, mutated  # noqa: E402
from fuzz.readers import seeds  # noqa: E402

_SECONDS = 20
_MEMORY = 4 << 30
_IN_PART = 3
_IMAGE = re.compile(rb"\b(?:sm|compute|lto)_\d")
_WAYS = ("killed", "hangs", "traceback", "refuses", "reads")
_WHEEL = "x-1.0-cp311-abi3-linux_x86_64.whl"
_INFO = (
    ("x-1.0.dist-info/METADATA", b"Metadata-Version: 2.1\nName: x\nVersion: 1.0\n"),
    (
        "x-1.0.dist-info/WHEEL",
        b"Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: false\nTag: cp311-abi3-linux_x86_64\n",
    ),
    ("x-1.0.dist-info/RECORD", b"x/y.abi3.so,,\n"),
)
# How many of each kind; together 1,000.
_COUNTS = {"x.abi3.so": 400, "x.fatbin": 200, "x.cubin": 150, _WHEEL: 250}
Tool = Callable[[str, int], int]
"""Runs on a path and writes to a descriptor; its exit status as ``os.wait`` has it."""


def inputs(share: float) -> Iterator[tuple[str, bytes]]:
    """Names and changed bytes, the same each time."""
    dice = random.Random(1)  # noqa: S311 - no secret
    sound = {
        "x.abi3.so": seeds("elf"),
        "x.fatbin": seeds("fatbin"),
        "x.cubin": seeds("cubin"),
        _WHEEL: tuple(_wheels()),
    }
    for name, count in _COUNTS.items():
        material = Material(sound[name])
        for _ in range(int(count * share)):
            yield name, mutated(dice.choice(sound[name]), material, dice)


def _wheels() -> Iterator[bytes]:
    for library in seeds("elf")[:8]:
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            yield zip_of(("x/y.abi3.so", library), *_INFO, method=method)


def in_python(load: Callable[[], Callable[[], object]], *words: str) -> Tool:
    """A tool in Python: imported once, and forked for each file."""
    main = load()

    def run(path: str, output: int) -> int:
        process = os.fork()
        if process == 0:
            _confine(output)
            sys.argv = [words[0], *words[1:], path]
            code = 1
            try:
                sys.stdout = io.TextIOWrapper(os.fdopen(os.dup(output), "wb"), write_through=True)
                sys.stderr = sys.stdout
                result = main()
                code = result if isinstance(result, int) else 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
            except BaseException:  # noqa: BLE001 - it is what is counted
                import traceback

                traceback.print_exc()
            finally:
                os._exit(code & 0xFF)
        return os.waitpid(process, 0)[1]

    return run


def as_program(*words: str) -> Tool:
    """A tool that is a program."""

    def run(path: str, output: int) -> int:
        done = subprocess.run(
            [*words, path],
            stdout=output,
            stderr=output,
            check=False,
            preexec_fn=lambda: _confine(output),
        )
        return -done.returncode if done.returncode < 0 else done.returncode << 8

    return run


def _confine(output: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(4 * _SECONDS)
    os.dup2(output, 1)
    os.dup2(output, 2)


def way(tool: Tool, name: str, data: bytes) -> str:
    """How a tool ends on a file."""
    path = written(name, data)
    with open(os.path.join(folder(), "output"), "w+b") as output:
        status = tool(path, output.fileno())
        output.seek(0)
        text = output.read(1 << 20)
    code = os.waitstatus_to_exitcode(status)
    if code in (-signal.SIGXCPU, -signal.SIGALRM):
        return "hangs"
    if code < 0:
        return "killed"
    if b"Traceback (most recent call last)" in text:
        return "traceback"
    # ltocompat ends in 3 where a part could not be read, and lists the images of the others.
    listed = code == _IN_PART and _IMAGE.search(text)
    return "reads" if code == 0 or listed else "refuses"


def _ours() -> Callable[[], object]:
    from ltocompat.cli import run

    with contextlib.redirect_stdout(io.StringIO()):
        run(["inspect", "--images", str(FOLDER)])  # imports what every file needs
    return lambda: run(sys.argv[1:])


def _cubloaty() -> Callable[[], object]:
    from cubloaty.cli import main  # type: ignore[import-not-found]

    return main  # type: ignore[no-any-return]


def _auditwheel() -> Callable[[], object]:
    from auditwheel.main import main  # type: ignore[import-not-found]

    return main  # type: ignore[no-any-return]


def _abi3audit() -> Callable[[], object]:
    from abi3audit._cli import main  # type: ignore[import-not-found]

    return main  # type: ignore[no-any-return]


def tools(cuobjdump: str) -> dict[str, Callable[[], Tool]]:
    """All that are compared; each is imported when it is called."""
    return {
        "ltocompat inspect --images": lambda: in_python(_ours, "ltocompat", "inspect", "--images"),
        "cuobjdump -lelf -lptx": lambda: as_program(cuobjdump, "-lelf", "-lptx"),
        "cubloaty": lambda: in_python(_cubloaty, "cubloaty"),
        "auditwheel show": lambda: in_python(_auditwheel, "auditwheel", "show"),
        "abi3audit -s": lambda: in_python(_abi3audit, "abi3audit", "-s"),
    }


def main(words: Sequence[str] | None = None) -> int:
    """Read the command line, run all tools on all files, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", required=True)
    parser.add_argument("--cuobjdump", required=True)
    parser.add_argument("--only", default="", help="tools with this word in their name")
    parser.add_argument("--share", type=float, default=1.0, help="of the 1,000 files")
    chosen = parser.parse_args(words)
    sys.path.append(chosen.peers)
    os.environ["PATH"] = os.path.dirname(chosen.cuobjdump) + os.pathsep + os.environ["PATH"]
    files = list(inputs(chosen.share))
    rows = []
    for title, load in tools(chosen.cuobjdump).items():
        if chosen.only not in title:
            continue
        tool = load()
        counts: collections.Counter[str] = collections.Counter()
        begun = time.monotonic()
        for name, data in files:
            counts[way(tool, name, data)] += 1
        spent = time.monotonic() - begun
        rows.append([title, *(counts[each] for each in _WAYS), f"{spent:.0f}"])
        print(rows[-1], flush=True)
    print(tabulate(rows, ["tool", *_WAYS, "seconds"], "github"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
