"""What each question to a package decompresses, and its processor time beside plain inflation.

Run by hand: python tests/benchmarks/read_work.py FILE...
One process for each question, so that nothing is remembered.
"""

from __future__ import annotations

import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import ltocompat
from ltocompat.commands.policy.values import NO_POLICY
from ltocompat.model.limits import MIB, WORK

TARGET = "driver=580.65.06,gpu=h100,nvjitlink=13.0"
QUESTIONS: dict[str, Callable[[str], object]] = {
    "inspect": lambda path: list(ltocompat.inspect(path, jobs=1)),
    "check": lambda path: list(ltocompat.check(path, TARGET)),
    "require": lambda path: list(ltocompat.require(path)),
    "matrix": lambda path: list(ltocompat.matrix(path)),
    "audit": lambda path: list(ltocompat.audit(path, NO_POLICY)),
    "weigh": lambda path: list(ltocompat.weigh(path, jobs=1)),
    "read": lambda path: list(ltocompat.read(path, jobs=1)),
}


def inflate(path: str) -> None:
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as member:
                while member.read(1 << 18):
                    pass


def answer(question: str, path: str) -> None:
    from ltocompat.scan import workers

    workers.cores = lambda: 1  # what other processes decompress isn't counted
    start = time.process_time()
    inflate(path) if question == "zipfile" else QUESTIONS[question](path)
    seconds = time.process_time() - start
    unpacked, decoded = WORK.unpacked / MIB, WORK.decoded / MIB
    print(
        f"{question:8} {seconds:6.2f} s   {unpacked:7.0f} MiB inflated {decoded:7.0f} MiB decoded"
    )


def main() -> None:
    for path in sys.argv[1:]:
        print(Path(path).name)
        first = ["zipfile"] if zipfile.is_zipfile(path) else []
        for question in (*first, *QUESTIONS):
            subprocess.run([sys.executable, __file__, "--", question, path], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--"]:
        answer(*sys.argv[2:])
    else:
        main()
