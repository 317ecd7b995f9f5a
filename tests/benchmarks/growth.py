"""How the CPU time of verbs grows with what an artifact holds: an exponent near 1 is linear.

Run by hand: python tests/benchmarks/growth.py [WORD]   (only the rows with WORD in their name)
Every input is made here, in four sizes, each twice the one before. Each run is a fork of a process
that has imported everything and remembers no answer.
"""

from __future__ import annotations

import contextlib
import math
import os
import statistics
import struct
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, product
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from fatbin_writer import KINDS, EntrySpec, entry, region

from ltocompat.cli import run

MOST = 1.15
STEPS = 4
CUBIN = Path(__file__).parents[2] / "sample_artifacts/cubin/nvrtc-13.0-sm_90.cubin"
ARCHS = (75, 80, 86, 89, 90, 100, 103, 120)
PTX = b".version %d.%d\n.target sm_%d\n.address_size 64\n%s"
KERNEL = b".visible .entry kernel_%d()\n{\n\tret;\n}\n"


class Axis(NamedTuple):
    """What there is more and more of.

    Attributes:
        first: how many of it in the smallest input.
        make: writes an input with so many to a path.
        arguments: of the command line, but for the path; so many may be asked for, too.
        suffix: of the file's name.
    """

    first: int
    make: Callable[[Path, int], object]
    arguments: Callable[[int], list[str]]
    suffix: str = ".fatbin"


def _ptx(number: int, *, minor: int = 0, arch: int = 80, kernels: int = 1) -> EntrySpec:
    body = b"".join(KERNEL % (number + each) for each in range(kernels))
    text = PTX % (8, minor, arch, body)
    return EntrySpec(KINDS["ptx"], text + b"\0", sm=arch, version=(8, minor))


def images(path: Path, count: int) -> None:
    path.write_bytes(region([entry(_ptx(number)) for number in range(count)]))


def regions(path: Path, count: int) -> None:
    path.write_bytes(b"".join(region([entry(_ptx(number))]) for number in range(count)))


def shapes(path: Path, count: int) -> None:
    """Modules of which no two are alike: in PTX versions, architectures and their number."""
    kinds = list(product(range(8), ARCHS))
    triples = islice(product(kinds, kinds, kinds), 0, 67 * count, 67)
    modules = (
        [entry(_ptx(0, minor=minor, arch=arch)) for minor, arch in dict.fromkeys(triple)]
        for triple in triples
    )
    path.write_bytes(b"".join(map(region, modules)))


def kernels(path: Path, count: int) -> None:
    path.write_bytes(region([entry(_ptx(0, kernels=count))]))


def members(path: Path, count: int) -> None:
    data = CUBIN.read_bytes()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for number in range(count):
            wheel.writestr(f"made/{number}.cubin", data)
        wheel.writestr("made-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: made\nVersion: 1")


def extras(path: Path, count: int) -> None:
    lines = ["Metadata-Version: 2.1", "Name: made", "Version: 1"]
    for number in range(count):
        lines += [f"Provides-Extra: e{number}", "Requires-Dist: nvidia-nvjitlink>=12.4; "]
        lines[-1] += f"extra == 'e{number}'"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr("made/a.cubin", CUBIN.read_bytes())
        wheel.writestr("made-1.dist-info/METADATA", "\n".join(lines))


def sections(path: Path, count: int) -> None:
    path.write_bytes(_object([("", 1, 0, b"\0\1")] * count))


def symbols(path: Path, count: int) -> None:
    names = [b"" if not number else b"symbol_%d\0" % number for number in range(count)]
    strings = b"\0" + b"".join(names)
    table = bytearray(24)
    at = 1
    for name in names[1:]:
        table += struct.pack("<IBBHQQ", at, 0x10, 0, 0, 0, 0)
        at += len(name)
    path.write_bytes(_object([(".symtab", 2, 2, bytes(table)), (".strtab", 3, 0, strings)]))


def _object(parts: Iterable[tuple[str, int, int, bytes]]) -> bytes:
    """A relocatable ELF file of x86-64: its sections by name, type, link and bytes."""
    parts = [("", 0, 0, b""), *parts]
    names = b"\0" + b"".join(name.encode() + b"\0" for name, *_ in parts) + b".shstrtab\0"
    parts.append((".shstrtab", 3, 0, names))
    body, headers, offset = b"", [], 64
    pieces = []
    for name, kind, link, data in parts:
        size = 24 if kind == 2 else 0
        at = names.index(name.encode() + b"\0")
        headers.append(
            struct.pack("<IIQQQQIIQQ", at, kind, 0, 0, offset, len(data), link, 0, 8, size)
        )
        padded = data + bytes(-len(data) % 8)
        pieces.append(padded)
        offset += len(padded)
    body = b"".join(pieces)
    count, last = len(parts), len(parts) - 1
    # Numbers that need more than 16 bits are kept in section header 0.
    first = struct.pack(
        "<IIQQQQIIQQ", 0, 0, 0, 0, 0, count if count >= 0xFF00 else 0, last, 0, 0, 0
    )
    head = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\2\1\1",
        1,
        62,
        1,
        0,
        0,
        offset,
        0,
        64,
        0,
        0,
        64,
        count if count < 0xFF00 else 0,
        last if last < 0xFF00 else 0xFFFF,
    )
    return head + body + first + b"".join(headers[1:])


def _targets(count: int) -> list[str]:
    versions = islice(product(range(400), range(400)), count)
    texts = (f"driver=580.{major}.{minor:02},gpu=h100" for major, minor in versions)
    return ["check", *(word for text in texts for word in ("--deploy-target", text))]


def _verb(*words: str) -> Callable[[int], list[str]]:
    return lambda _: list(words)


JSON = ("--format", "json")
CHECK = ("check", "--deploy-target", "driver=535,gpu=h100", *JSON)
AXES = {
    "images, inspect": Axis(2_000, images, _verb("inspect", *JSON)),
    "images, require": Axis(2_000, images, _verb("require", *JSON)),
    "regions, inspect": Axis(2_000, regions, _verb("inspect", *JSON)),
    "regions, check": Axis(2_000, regions, _verb(*CHECK)),
    "sections, inspect": Axis(4_000, sections, _verb("inspect", *JSON), ".o"),
    "symbols, inspect": Axis(200_000, symbols, _verb("inspect", *JSON), ".o"),
    "kernels of PTX, inspect": Axis(10_000, kernels, _verb("inspect", "--kernels", *JSON)),
    "kernels of PTX, check": Axis(10_000, kernels, _verb(*CHECK)),
    "members, inspect": Axis(500, members, _verb("inspect", *JSON), ".zip"),
    "members and findings, check": Axis(500, members, _verb(*CHECK), ".zip"),
    "members and findings, HTML": Axis(500, members, _verb(*CHECK[:4], "html"), ".zip"),
    "targets, check": Axis(50, images, _targets),
    "shapes of modules, check": Axis(250, shapes, _verb(*CHECK)),
    "shapes of modules, require": Axis(10, shapes, _verb("require", *JSON)),
    "extras, audit": Axis(200, extras, _verb("audit", *JSON), "-1-py3-none-any.whl"),
}


def main() -> None:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        for name, axis in AXES.items():
            if wanted in name:
                worst = max(worst, _measured(name, axis, Path(folder)))
    assert worst <= MOST, f"{worst:.2f} is above {MOST}"


def _measured(name: str, axis: Axis, folder: Path) -> float:
    """The exponent of an axis, which is printed with its times."""
    counts = [axis.first << step for step in range(STEPS)]
    times: list[float] = []
    path = folder / f"made{axis.suffix}"
    for count in (1, 1, *counts):
        # Of targets there are more and more for one input.
        axis.make(path, 1 if axis.arguments is _targets else count)
        verb, *options = axis.arguments(count)
        command = [verb, str(path), *options]
        if not times:
            with _silence():
                run(command)  # it imports all, in the process that is forked
        times.append(_cpu(command))
    _, alone, *taken = times
    exponent = _slope(counts, [max(seconds - alone, 1e-4) for seconds in taken])
    cells = " ".join(f"{seconds:8.2f}" for seconds in taken)
    each = (taken[-1] - alone) / counts[-1] * 1e6
    print(f"{name:30} n = {counts[0]:6,}: {cells} s; {each:8.1f} us each; exponent {exponent:.2f}")
    return exponent


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        yield


def _slope(counts: list[int], times: list[float]) -> float:
    """That of the straight line through the logarithms."""
    across = [math.log(count) for count in counts]
    up = [math.log(seconds) for seconds in times]
    return statistics.linear_regression(across, up).slope


def _cpu(arguments: list[str]) -> float:
    """Seconds of CPU that a run takes in a fork, where nothing is remembered of others."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with _silence():
            begun = time.process_time()
            run(arguments)
            os.write(writer, struct.pack("d", time.process_time() - begun))
        os._exit(0)
    os.close(writer)
    data = os.read(reader, 8)
    os.close(reader)
    os.waitpid(child, 0)
    seconds: float = struct.unpack("d", data)[0]
    return seconds


if __name__ == "__main__":
    main()
