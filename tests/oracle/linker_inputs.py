"""Files that are handed to a linker, made by real tools: objects, archives, fatbins, bare images.

``ar`` and ``ld`` join what nvcc, NVRTC and nvFatbin made; nothing of ltocompat is used.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from link_cases import CUBIN, FATBIN, LIBRARY, LTOIR, OBJECT, PTX
from nvcc_objects import Made
from pieces import SAMPLES, Piece
from toolchains import NVFATBIN, PackageCache

_WRAPPER = """\
.section {section}, "a"
.align 8
image: .incbin "image.fatbin"
.section .nvFatBinSegment, "aw"
.align 8
.globl __fatbinwrap_{name}
__fatbinwrap_{name}: .long 0x466243b1, 1
.quad image, 0
.section .note.GNU-stack, "", @progbits
"""
_HOST = "int host_only(void) { return 1; }\n"
_KINDS = {"cubin": CUBIN, "final": CUBIN, "ptx": PTX, "ltoir": LTOIR}


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a link.

    Attributes:
        file: its name.
        kind: of nvJitLinkInputType.
        data: its bytes.
        kernels: those that a user expects in the output.
        kinds: of the device code in it: ``ltoir``, ``ptx``, ``cubin``.
        archs: for which that is.
        beside: files that it names, which lie in the same folder.
    """

    file: str
    kind: int
    data: bytes
    kernels: frozenset[str]
    kinds: frozenset[str] = frozenset()
    archs: frozenset[str] = frozenset()
    beside: tuple[tuple[str, bytes], ...] = ()

    def named(self, prefix: str) -> Input:
        """The same under a name of its own."""
        return dataclasses.replace(self, file=f"{prefix}-{self.file}")


def image(piece: Piece) -> Input:
    """A piece of NVRTC as a file of its own."""
    suffix = {"final": "cubin"}.get(piece.kind, piece.kind)
    name = f"{piece.name}-{piece.arch}-{piece.release}.{suffix}"
    return Input(name, _KINDS[piece.kind], piece.data, *_told([piece]))


def text(name: str, ptx: str, kernels: Iterable[str], arch: str) -> Input:
    """PTX that no compiler wrote."""
    data = ptx.encode("utf-8") + b"\0"
    return Input(
        f"{name}.ptx", PTX, data, frozenset(kernels), frozenset({"ptx"}), frozenset({arch})
    )


def nvcc_object(made: Made) -> Input:
    """An object of nvcc."""
    codes = made.variant.replace("arch_90", "lto_90").split("+")
    plain = {"few_registers": ["lto_80"], "more_registers": ["lto_80"], "fast_math": ["lto_80"]}
    pairs = [code.split("_") for code in plain.get(made.variant, codes)]
    kinds = frozenset({"sass": "cubin", "lto": "ltoir"}.get(kind, kind) for kind, _ in pairs)
    kernels = frozenset() if made.source == "function" else frozenset({made.name})
    return Input(made.file, OBJECT, made.data, kernels, kinds, frozenset(arch for _, arch in pairs))


def fatbin(*pieces: Piece, release: str, folder: Path) -> Input:
    """Pieces in a fatbin that nvFatbin made; ``folder`` keeps what was made, and the packages."""
    name = "+".join(f"{piece.name}-{piece.kind}-{piece.arch}-{piece.release}" for piece in pieces)
    kept = folder / "fatbins" / f"{name}-by-{release}"
    if not kept.exists():
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(_packed(pieces, release, PackageCache(folder / "packages")))
    return Input(f"{name}.fatbin", FATBIN, kept.read_bytes(), *_told(pieces))


def wrapped(*pieces: Piece, release: str, folder: Path, section: str) -> Input:
    """The same in an object, as a build wraps it: ``section`` says whether a link is to come."""
    inside = fatbin(*pieces, release=release, folder=folder)
    name = f"wrapped_{pieces[0].name}"
    data = _assembled(inside.data, section, name)
    file = f"{inside.file.removesuffix('.fatbin')}-{section.strip('_.')}.o"
    if section == "__nv_relfatbin":
        return dataclasses.replace(inside, file=file, kind=OBJECT, data=data)
    # What is registered is linked already: the runtime loads it, and linkers pass over it.
    return Input(file, OBJECT, data, frozenset())


def host_object() -> Input:
    """An object without device code."""
    return Input("host.o", OBJECT, _compiled_host(), frozenset())


def archive(members: Sequence[Input], *, thin: bool = False, indexed: bool = True) -> Input:
    """Objects in an archive by ``ar``; a thin one names them only."""
    with tempfile.TemporaryDirectory() as folder:
        files = _written(members, folder)
        mode = f"qc{'s' if indexed else 'S'}D{'T' if thin else ''}"
        _run(["ar", mode, "inputs.a", *files], folder)
        data = Path(folder, "inputs.a").read_bytes()
    beside = tuple((each.file, each.data) for each in members) if thin else ()
    return Input("thin.a" if thin else "inputs.a", LIBRARY, data, *_joined(members), beside)


def joined(members: Sequence[Input]) -> Input:
    """Objects, or one archive of objects, in one object by ``ld -r``."""
    with tempfile.TemporaryDirectory() as folder:
        files = _written(members, folder)
        _run(["ld", "-r", "-z", "muldefs", "-o", "joined.o", "--whole-archive", *files], folder)
        data = Path(folder, "joined.o").read_bytes()
    return Input("joined.o", OBJECT, data, *_joined(members))


def _told(pieces: Sequence[Piece]) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    return (
        frozenset(piece.name for piece in pieces if piece.source != "function"),
        frozenset({"final": "cubin"}.get(piece.kind, piece.kind) for piece in pieces),
        frozenset(piece.arch for piece in pieces),
    )


def _joined(inputs: Sequence[Input]) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    return (
        frozenset().union(*(each.kernels for each in inputs)),
        frozenset().union(*(each.kinds for each in inputs)),
        frozenset().union(*(each.archs for each in inputs)),
    )


def _written(inputs: Sequence[Input], folder: str) -> list[str]:
    for each in inputs:
        Path(folder, each.file).write_bytes(each.data)
    return [each.file for each in inputs]


def _run(words: Sequence[str], folder: str) -> None:
    subprocess.run(words, cwd=folder, check=True, capture_output=True)


def _packed(pieces: Sequence[Piece], release: str, packages: PackageCache) -> bytes:
    functions = {"cubin": "Cubin", "final": "Cubin", "ptx": "PTX", "ltoir": "LTOIR"}
    with tempfile.TemporaryDirectory() as folder:
        members = []
        for number, piece in enumerate(pieces):
            file = f"{number}.{piece.kind}"
            Path(folder, file).write_bytes(piece.data)
            member = {"add": functions[piece.kind], "file": file, "arch": piece.arch}
            members.append({**member, "identifier": "", "options": ""})
        library = str(packages.file(NVFATBIN[release], "libnvfatbin.so*"))
        request = {"tool": "nvfatbin", "library": library, "options": [], "members": members}
        Path(folder, "request.json").write_text(json.dumps(request), "utf-8")
        _run([sys.executable, str(SAMPLES / "shim.py"), "request.json"], folder)
        return Path(folder, "out").read_bytes()


@cache
def _assembled(region: bytes, section: str, name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "image.fatbin").write_bytes(region)
        Path(folder, "wrapper.s").write_text(_WRAPPER.format(section=section, name=name), "ascii")
        _run(["as", "wrapper.s", "-o", "wrapper.o"], folder)
        return Path(folder, "wrapper.o").read_bytes()


@cache
def _compiled_host() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "host.c").write_text(_HOST, "ascii")
        _run(["gcc", "-c", "host.c"], folder)
        return Path(folder, "host.o").read_bytes()
