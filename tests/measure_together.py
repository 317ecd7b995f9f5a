"""Links mixtures of code with every nvJitLink; writes ``data/together_links.json``.

``PYTHONPATH=sample_artifacts:tests python tests/measure_together.py FOLDER`` keeps what it fetches
in FOLDER. NVRTC of several releases compiles the inputs, each with names of its own; nvJitLink is
called by ctypes in a child for each link, so that no answer passes through the code under test.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from facts_release.dated import store
from toolchains import NVRTC, PackageCache

from ltocompat.facts import nvjitlink_minors
from ltocompat.targets.linkers import obtain

STORED = Path(__file__).parent / "data" / "together_links.json"
SHIM = Path(__file__).parent.parent / "sample_artifacts" / "shim.py"
BEFORE_BLACKWELL = ("75", "80", "86", "90", "90a")
ARCHES = {
    "12.0": BEFORE_BLACKWELL,
    "12.4": BEFORE_BLACKWELL,
    "12.9": (*BEFORE_BLACKWELL, "100", "100a", "100f", "103", "120"),
    "13.0": (*BEFORE_BLACKWELL, "100", "100a", "100f", "103", "120"),
    "13.5": (*BEFORE_BLACKWELL, "100", "100a", "100f", "103", "120"),
}
TARGETS = ("80", "86", "90", "90a", "100", "100a", "100f", "103", "120")
KINDS = {"sass": ("CUBIN", 1), "final": ("CUBIN", 1), "ptx": ("PTX", 2), "ltoir": ("LTOIR", 3)}
# LTO-IR that uses an instruction of its family, which no byte of its header shows.
FAMILY = {"family": ("LTOIR", 3)}
FAMILY_TARGETS = ("100", "100a", "100f", "103", "103f", "120")
SEED, LINKS_OF_EACH_SIZE = 12, {1: 1000, 2: 1000, 3: 600}


class Input(NamedTuple):
    """Code that one compiler wrote for one architecture; ``final``: SASS that is no object."""

    kind: str
    release: str
    arch: str

    def __str__(self) -> str:
        return f"{self.kind}-{self.release}-{self.arch}"

    @property
    def number(self) -> int:
        return int(self.arch.rstrip("af"))


def inputs() -> Iterator[Input]:
    for release, arches in ARCHES.items():
        yield from (Input(kind, release, arch) for kind in KINDS for arch in arches)


def family_links() -> Iterator[tuple[tuple[Input, ...], str, str]]:
    """Each of the family-specific inputs alone, for each target and nvJitLink."""
    for release in ("12.9", "13.0", "13.5"):
        for target in FAMILY_TARGETS:
            for minor in map(str, nvjitlink_minors()):
                yield (Input("family", release, "100f"),), target, minor


def first_linkers() -> Iterator[tuple[tuple[Input, ...], str, str]]:
    """LTO-IR with the first nvJitLinks, two of which don't compare architectures."""
    for arch in BEFORE_BLACKWELL:
        for target in ("80", "86", "90"):
            for minor in ("12.0", "12.1", "12.2"):
                yield (Input("ltoir", "12.0", arch),), target, minor


def compiled(what: Input, packages: PackageCache, folder: Path) -> bytes:
    """Its bytes: a kernel and a function, whose names no other input has."""
    work = folder / str(what)
    work.mkdir(parents=True, exist_ok=True)
    output = work / "out"
    if not output.exists():
        name = str(what).replace("-", "_").replace(".", "_")
        special = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"
        first = f'asm volatile("{special}"); ' if what.kind in FAMILY else ""
        (work / "in.cu").write_text(
            f'extern "C" __device__ int f_{name}(int x) {{ return 3 * x; }}\n'
            f'extern "C" __global__ void k_{name}(int *p) {{ {first}*p = f_{name}(*p); }}\n'
        )
        want, _ = {**KINDS, **FAMILY}[what.kind]
        flags = [f"-arch={'sm' if want == 'CUBIN' else 'compute'}_{what.arch}"]
        flags += ["-rdc=true"] if what.kind != "final" else []
        flags += ["-dlto"] if want == "LTOIR" else []
        library = packages.file(NVRTC[what.release], "libnvrtc.so*")
        request = {"tool": "nvrtc", "source": "in.cu", "options": flags, "want": want}
        (work / "request.json").write_text(json.dumps({**request, "library": str(library)}))
        command = [sys.executable, str(SHIM), "request.json"]
        environment = {**os.environ, "LD_LIBRARY_PATH": str(library.parent)}
        subprocess.run(command, cwd=work, check=True, env=environment)
    return output.read_bytes()


def mixtures() -> Iterator[tuple[tuple[Input, ...], str, str]]:
    """Inputs, a target and an nvJitLink, half of which fit one by one."""
    chance = random.Random(SEED)  # noqa: S311 - not for secrets
    every = list(inputs())
    minors = list(map(str, nvjitlink_minors()))
    for size, count in LINKS_OF_EACH_SIZE.items():
        for _ in range(count):
            target, minor = chance.choice(TARGETS), chance.choice(minors)
            likely = [code for code in every if _may_fit(code, target, minor)]
            pools = [likely if likely and chance.random() < 0.85 else every for _ in range(size)]
            yield tuple(chance.choice(pool) for pool in pools), target, minor


def _may_fit(code: Input, target: str, minor: str) -> bool:
    """A guess, so that links are not refused for the same few reasons."""
    number = int(target.rstrip("af"))
    near = code.number <= number and (code.kind != "sass" or code.number // 10 == number // 10)
    return near and tuple(map(int, code.release.split("."))) <= tuple(map(int, minor.split(".")))


def linked(library: str, minor: str, given: Sequence[tuple[int, bytes, str]], target: str) -> str:
    """``linked``, ``left out`` where a kernel is missing then, or what failed: ``add 3``.

    In a child of its own, which may die.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        signal.alarm(60)
        try:
            answer = _link(library, minor, given, target)
        except Exception as error:  # noqa: BLE001 - the parent tells it
            answer = f"error {error!r}"
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    return answer or f"died {status}"


def _link(library: str, minor: str, given: Sequence[tuple[int, bytes, str]], target: str) -> str:
    loaded = ctypes.CDLL(library)

    def call(name: str, *arguments: object) -> int:
        # The names without a release came with 12.3.
        return int(loaded[f"__nvJitLink{name}_{minor.replace('.', '_')}"](*arguments))

    options = [f"-arch=sm_{target}", *(["-lto"] if any(kind == 3 for kind, _, _ in given) else [])]
    words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    handle = ctypes.c_void_p()
    if code := call("Create", ctypes.byref(handle), len(options), words):
        return f"create {code}"
    for kind, data, name in given:
        size = ctypes.c_size_t(len(data))
        if code := call("AddData", handle, kind, data, size, name.encode()):
            return f"add {code}"
    if code := call("Complete", handle):
        return f"complete {code}"
    length = ctypes.c_size_t()
    call("GetLinkedCubinSize", handle, ctypes.byref(length))
    output = ctypes.create_string_buffer(length.value)
    call("GetLinkedCubin", handle, output)
    kernels = [
        b".text.k_" + name.replace("-", "_").replace(".", "_").encode() for *_, name in given
    ]
    return "linked" if all(kernel + b"\0" in output.raw for kernel in kernels) else "left out"


def main() -> None:
    """Compile, link and store the answers."""
    folder = Path(sys.argv[1])
    packages = PackageCache(folder / "packages")
    libraries = {
        str(minor): obtain(str(minor), install_missing=True).path for minor in nvjitlink_minors()
    }
    rows = {}
    for codes, target, minor in chain(mixtures(), family_links(), first_linkers()):
        given = [
            (
                {**KINDS, **FAMILY}[code.kind][1],
                compiled(code, packages, folder / "inputs") + b"\0" * (code.kind == "ptx"),
                str(code),
            )
            for code in dict.fromkeys(codes)
        ]
        key = f"{' '.join(map(str, dict.fromkeys(codes)))} for {target} by {minor}"
        if key not in rows:
            rows[key] = linked(libraries[minor], minor, given, target)
    store(STORED, {"links": rows}, indent=0)


if __name__ == "__main__":
    main()
