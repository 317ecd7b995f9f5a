"""Pieces of device code that links are made of: our sources, by compilers of many releases.

They are compiled once into a folder, by NVRTC from PyPI; the file's name says what a piece is.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from toolchains import NVRTC, PackageCache

HERE = Path(__file__).parent
SAMPLES = HERE.parents[1] / "sample_artifacts"

RELEASES = (
    *("11.8", "12.0", "12.1", "12.2", "12.4", "12.6", "12.8", "12.9"),
    *("13.0", "13.2", "13.3", "13.4", "13.5"),
)
# The first release with each architecture that isn't known to all of them.
_SINCE = {
    "90a": "12.0",
    **dict.fromkeys(("100", "120", "100a", "120a"), "12.8"),
    **dict.fromkeys(("103", "100f", "120f"), "12.9"),
    "110": "13.0",
}
_BASE = ("75", "80", "86", "90", "100", "103", "110", "120")
_FEW = ("80", "90", "100")
_SUFFIXED = ("90a", "100a", "100f", "120a", "120f")

KINDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "ltoir": ("LTOIR", ("-dlto", "-rdc=true")),
    "ptx": ("PTX", ("-rdc=true",)),
    "cubin": ("CUBIN", ("-rdc=true",)),
    "final": ("CUBIN", ()),
}
"""What NVRTC is asked for, and with which options; ``final`` is a cubin that is not relocatable."""


@dataclass(frozen=True, slots=True)
class Code:
    """What a source is compiled to.

    Attributes:
        source: name of the source.
        name: the symbol that it defines.
        calls: the symbol that it needs; empty for none.
        archs: for these architectures.
        kinds: of ``KINDS``.
    """

    source: str
    name: str
    calls: str
    archs: tuple[str, ...]
    kinds: tuple[str, ...] = ("ltoir", "ptx", "cubin")


CODES = (
    Code("kernel", "first", "", _BASE, tuple(KINDS)),
    Code("kernel", "second", "", _FEW),
    Code("function", "helper", "", (*_FEW, "120")),
    Code("caller", "user", "helper", _FEW),
    Code("kernel", "first", "", _SUFFIXED),
    Code("only_here", "narrow", "", _SUFFIXED),
)


@dataclass(frozen=True, slots=True)
class Piece:
    """One compiled piece.

    Attributes:
        source: name of its source.
        name: the symbol that it defines.
        kind: of ``KINDS``.
        arch: ``80`` or ``90a``.
        release: of its compiler.
        data: its bytes; PTX ends in a NUL, as nvJitLink wants it.
    """

    source: str
    name: str
    kind: str
    arch: str
    release: str
    data: bytes

    @property
    def file(self) -> str:
        return f"{self.source}-{self.name}-{self.arch}-{self.release}.{self.kind}"

    @classmethod
    def of(cls, file: str, data: bytes) -> Piece:
        """The piece that is called so."""
        stem, _, kind = file.rpartition(".")
        source, name, arch, release = stem.split("-")
        return cls(source, name, kind, arch, release, data)


def number(release: str) -> tuple[int, ...]:
    """``12.4`` as something that can be ordered."""
    return tuple(map(int, release.split(".")))


def wanted(release: str) -> Iterator[tuple[Code, str, str]]:
    """What a compiler release makes: code, kind and architecture."""
    for code in CODES:
        for arch in code.archs:
            if number(_SINCE.get(arch, "0")) <= number(release):
                for kind in code.kinds:
                    yield code, kind, arch


def compiled(folder: Path, cache: PackageCache) -> list[Piece]:
    """All pieces; those that are not in the folder are made."""
    folder.mkdir(parents=True, exist_ok=True)
    return [piece for release in RELEASES for piece in _of(release, folder, cache)]


def _of(release: str, folder: Path, cache: PackageCache) -> list[Piece]:
    rows = [
        (Piece(code.source, code.name, kind, arch, release, b""), code)
        for code, kind, arch in wanted(release)
    ]
    missing = [row for row in rows if not (folder / row[0].file).exists()]
    if missing:
        _compile(release, missing, folder, cache)
    return [replace(piece, data=(folder / piece.file).read_bytes()) for piece, _ in rows]


def _compile(
    release: str, rows: list[tuple[Piece, Code]], folder: Path, cache: PackageCache
) -> None:
    library = cache.file(NVRTC[release], "libnvrtc.so*")
    requests = []
    for piece, code in rows:
        want, options = KINDS[piece.kind]
        names = [f"-DNAME={code.name}", f"-DCALLED={code.calls}"]
        requests.append(
            {
                "library": str(library),
                "source": str(HERE / "sources" / f"{code.source}.cu"),
                "options": [f"-arch=sm_{piece.arch}", *options, *names],
                "want": want,
                "output": str(folder / piece.file),
            }
        )
    done = subprocess.run(
        [sys.executable, str(HERE / "nvrtc_child.py")],
        input="".join(json.dumps(request) + "\n" for request in requests),
        env={"LD_LIBRARY_PATH": str(library.parent), "PYTHONPATH": str(SAMPLES)},
        capture_output=True,
        text=True,
        check=True,
    )
    for (piece, _), line in zip(rows, done.stdout.splitlines(), strict=True):
        if problem := json.loads(line):
            raise RuntimeError(f"{piece.file}: {problem}")
