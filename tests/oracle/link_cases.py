"""Links made up of compiled pieces, in strata: what is linked, by which release, for what.

Everything here is decided by a seed, and nothing by the code under test.
"""

from __future__ import annotations

import dataclasses
import random
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import nvcc_objects
from fatbin_writer import KINDS, EntrySpec, entry, region
from nvcc_objects import Made
from pieces import Piece, number
from windows_twins import pe_image

NVJITLINKS: Mapping[str, str] = {
    "12.0": "12.0.140",
    "12.2": "12.2.140",
    "12.4": "12.4.127",
    "12.6": "12.6.85",
    "12.8": "12.8.93",
    "12.9": "12.9.86",
    "13.0": "13.0.88",
    "13.2": "13.2.86",
    "13.3": "13.3.33",
    "13.4": "13.4.92",
    "13.5": "13.5.37",
}
# nvJitLinkInputType
CUBIN, PTX, LTOIR, FATBIN, OBJECT, LIBRARY = 1, 2, 3, 4, 5, 6
SEED = 20261122
_INPUT = {"cubin": CUBIN, "final": CUBIN, "ptx": PTX, "ltoir": LTOIR}
_ENTRY = {"cubin": "sass", "final": "sass", "ptx": "ptx", "ltoir": "ltoir"}
_PADDING = (20_000, 300_000, 1_000_000)  # bytes by which a cubin is made larger
_TARGETS = ("75", "80", "86", "89", "90", "100", "103", "110", "120", "121")
_SUFFIXED = ("90", "90a", "100", "100a", "100f", "103", "103a", "110", "120", "120a", "120f", "121")


@dataclass(frozen=True, slots=True)
class Given:
    """A file of a link.

    Attributes:
        file: its name.
        data: its bytes, as ``check`` reads them.
        linked: what a linker gets of it: kind of input, and bytes.
    """

    file: str
    data: bytes
    linked: tuple[tuple[int, bytes], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One link.

    Attributes:
        stratum: what it is an example of.
        linker: ``nvjitlink`` or ``nvlink``.
        release: of the linker.
        arch: what is linked for: ``90`` or ``90a``.
        files: what is linked.
        lto: LTO-IR is in it, so that the linker is asked with ``-lto`` (nvlink: ``-dlto``).
        kernels: what has to be in the output.
    """

    stratum: str
    linker: str
    release: str
    arch: str
    files: tuple[Given, ...]
    lto: bool
    kernels: tuple[str, ...]


class Shelf:
    """All pieces and objects, to choose from.

    Args:
        pieces: from NVRTC.
        objects: from nvcc.
        dice: what chooses.
    """

    def __init__(
        self, pieces: Sequence[Piece], objects: Sequence[Made], dice: random.Random
    ) -> None:
        self._pieces = pieces
        self._objects = objects
        self.dice = dice
        self.nvccs = sorted({made.release for made in objects}, key=number)

    def piece(
        self,
        name: str,
        kinds: Iterable[str] = ("ltoir", "ptx", "cubin"),
        *,
        suffix: bool = False,
        until: str = "99",
        arch: str = "",
    ) -> Piece:
        """Any piece that defines ``name``; ``suffix``: for an architecture that has one.

        Args:
            name: of the symbol.
            kinds: what it may be.
            suffix: whether its architecture has one.
            until: its compiler is no newer than this; most linkers refuse the newest.
            arch: for exactly this architecture.
        """
        kinds = tuple(kinds)
        fitting = [
            piece
            for piece in self._pieces
            if piece.name == name
            and piece.kind in kinds
            and piece.arch.isdigit() != suffix
            and arch in ("", piece.arch)
            and number(piece.release) <= number(until)
        ]
        return self.dice.choice(fitting)

    def object(self, name: str, variants: Iterable[str], releases: Iterable[str]) -> Made:
        """Any object that defines ``name``."""
        some, some_releases = set(variants), set(releases)
        return self.dice.choice(
            [
                made
                for made in self._objects
                if made.name == name and made.variant in some and made.release in some_releases
            ]
        )

    def linker(self) -> str:
        return self.dice.choice(tuple(NVJITLINKS))

    def often(self, share: float) -> bool:
        return self.dice.random() < share

    def arch(self, release: str, archs: Iterable[str]) -> str:
        """A target: mostly one that this linker has, and that code for ``archs`` can go to."""
        least = max((int(arch.rstrip("af")) for arch in archs), default=0)
        near = [arch for arch in _TARGETS if int(arch) >= least and known(arch, release)]
        if near and self.often(0.8):
            return self.dice.choice(near)
        return self.dice.choice(_TARGETS)


def known(arch: str, release: str) -> bool:
    """Whether linkers of this release have such a target, as their documentation says."""
    since = {
        **dict.fromkeys(("100", "120", "100a", "120a"), "12.8"),
        **dict.fromkeys(("103", "103a", "121", "100f", "120f"), "12.9"),
        "110": "13.0",
    }
    return number(since.get(arch, "12.0")) <= number(release)


def bare(piece: Piece) -> Given:
    """A piece as a file."""
    ext = {"final": "cubin"}.get(piece.kind, piece.kind)
    name = piece.file.rpartition(".")[0].replace(".", "-")
    return Given(f"{name}.{ext}", piece.data, ((_INPUT[piece.kind], piece.data),))


def spec(piece: Piece, compression: str = "none") -> EntrySpec:
    """A piece as an entry of a fatbin."""
    digits = piece.arch.rstrip("af")
    version = (1, 8)
    if piece.kind == "ltoir":
        version = (piece.data[4], piece.data[5])
    elif piece.kind == "ptx":
        major, minor = _isa(piece.data).split(b".")
        version = (int(major), int(minor))
    elif piece.data[7] == 0x33:
        version = (1, 7)
    return EntrySpec(
        KINDS[_ENTRY[piece.kind]],
        piece.data,
        sm=int(digits),
        suffix=piece.arch[len(digits) :],
        version=version,
        # Compressed LTO-IR is scrambled besides, by those who may.
        compression="none" if piece.kind == "ltoir" else compression,
        # Every tool writes options of PTX and LTO-IR, and linkers crash where there are none.
        options="" if piece.kind in ("cubin", "final") else " ",
    )


def _isa(text: bytes) -> bytes:
    return text.partition(b".version")[2].split(maxsplit=1)[0]


def fatbin(*pieces: Piece, compression: str = "none") -> Given:
    """Pieces in a region of a fatbin."""
    data = region([entry(spec(piece, compression)) for piece in pieces])
    name = "+".join(piece.file.replace(".", "-") for piece in pieces)
    return Given(f"{name}.fatbin", data, ((FATBIN, data),))


def made_object(made: Made) -> Given:
    return Given(made.file, made.data, ((OBJECT, made.data),))


def archive(*members: Made) -> Given:
    """Objects in an archive of their own, as ``ar`` writes it without a symbol table."""
    data = b"!<arch>\n"
    for at, member in enumerate(members):
        head = f"{f'm{at}.o/':16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(member.data):<10}`\n"
        data += head.encode() + member.data + b"\n" * (len(member.data) % 2)
    name = "+".join(member.file.removesuffix(".o") for member in members)
    return Given(f"lib{name}.a", data, ((LIBRARY, data),))


def dll(*insides: Given) -> Given:
    """A library for Windows that holds what a program hands to a linker: in its read-only data."""
    data = b""
    linked: list[tuple[int, bytes]] = []
    for inside in insides:
        data += inside.data + bytes(-len(inside.data) % 32)
        linked += inside.linked
    text = b"\xc3" + bytes(15)
    return Given("code.dll", pe_image({".text": text, ".rdata": data}), tuple(linked))


def _case(
    stratum: str, shelf: Shelf, files: Sequence[Given], pieces: Sequence[Piece], arch: str = ""
) -> Case:
    release = shelf.linker()
    arch = arch or shelf.arch(release, [piece.arch for piece in pieces])
    lto = any(piece.kind == "ltoir" for piece in pieces)
    return Case(stratum, "nvjitlink", release, arch, tuple(files), lto, _kernels(pieces))


def _kernels(parts: Iterable[Piece | Made]) -> tuple[str, ...]:
    return tuple(sorted({part.name for part in parts if part.source != "function"}))


def _wrapped(shelf: Shelf, *pieces: Piece, share: float = 0.3) -> list[Given]:
    """The pieces as files, some of them in fatbins."""
    return [
        fatbin(piece, compression=shelf.dice.choice(("none", "lz4", "zstd")))
        if shelf.often(share)
        else bare(piece)
        for piece in pieces
    ]


def no_kernels(shelf: Shelf) -> Case:
    piece = shelf.piece("helper")
    return _case("no kernels", shelf, _wrapped(shelf, piece), [piece])


def ptx_alone(shelf: Shelf) -> Case:
    piece = shelf.piece("first", ["ptx"])
    if shelf.often(0.2):
        version = shelf.dice.choice((b"7.0", b"8.0", b"8.4", b"8.6", b"9.1", b"9.5"))
        piece = dataclasses.replace(piece, data=piece.data.replace(_isa(piece.data), version, 1))
    return _case("PTX alone", shelf, _wrapped(shelf, piece), [piece])


def ptx_and_ltoir(shelf: Shelf) -> Case:
    until = shelf.dice.choice(("12.4", "12.9", "99"))
    ltoir, ptx = (
        (shelf.piece("user", ["ltoir"], until=until), shelf.piece("helper", ["ptx"], until=until))
        if shelf.often(0.3)
        else (shelf.piece("first", ["ltoir"], until=until), shelf.piece("second", ["ptx"]))
    )
    pieces = [ltoir, ptx]
    shelf.dice.shuffle(pieces)
    return _case("PTX + LTO-IR", shelf, _wrapped(shelf, *pieces, share=0.15), pieces)


def mixed_architectures(shelf: Shelf) -> Case:
    until = shelf.dice.choice(("12.4", "12.9", "99"))
    first = shelf.piece("first", until=until)
    second = shelf.piece("second", ["ltoir", "cubin"], until=until)
    pieces = [first, second]
    if shelf.often(0.2):
        pieces = [first, shelf.piece("first", ["ltoir", "cubin", "ptx"], until=until)]
        return _case("mixed architectures", shelf, [fatbin(*pieces)], pieces)
    if shelf.often(0.3):
        pieces.append(shelf.piece("helper", ["ltoir"], until=until))
    shelf.dice.shuffle(pieces)
    return _case("mixed architectures", shelf, _wrapped(shelf, *pieces, share=0.1), pieces)


def symbols(shelf: Shelf) -> Case:
    kinds = ["ltoir", "ptx", "cubin"] if shelf.often(0.1) else ["ptx", "cubin"]
    until = shelf.dice.choice(("12.0", "12.4", "12.9"))
    names = shelf.dice.choice(
        (
            ("first", "first"),
            ("helper", "helper"),
            ("user",),
            ("user", "first"),
            ("user", "helper"),
            ("helper", "user", "helper"),
            ("first", "second", "user"),
        )
    )
    home = shelf.dice.choice(("80", "90"))  # else another rule decides
    pieces = [shelf.piece(name, kinds, until=until, arch=home) for name in names]
    files = [
        dataclasses.replace(file, file=f"{at}-{file.file}")
        for at, file in enumerate(_wrapped(shelf, *pieces, share=0.1))
    ]
    # Cubins go to their own architecture only.
    arch = home if shelf.often(0.8) else ""
    return _case("symbols", shelf, files, pieces, arch)


def suffixes(shelf: Shelf) -> Case:
    name = shelf.dice.choice(("first", "narrow"))
    piece = shelf.piece(name, suffix=True)
    release = shelf.linker()
    near = [arch for arch in _SUFFIXED if known(arch, release)]
    arch = shelf.dice.choice(near if shelf.often(0.8) else _SUFFIXED)
    if shelf.often(0.4) and piece.arch in near:
        arch = piece.arch
    files = _wrapped(shelf, piece)
    lto = piece.kind == "ltoir"
    return Case("suffixes", "nvjitlink", release, arch, tuple(files), lto, (piece.name,))


def damaged_headers(shelf: Shelf) -> Case:
    piece = shelf.piece("first", until=shelf.dice.choice(("12.4", "12.9", "99")))
    if shelf.often(0.25):
        whole = bytearray(fatbin(piece).data)
        _hurt_entry(whole, shelf.dice)
        data = bytes(whole)
        files = [Given("damaged.fatbin", data, ((FATBIN, data),))]
    else:
        hurt = {"ltoir": _hurt_ltoir, "ptx": _hurt_ptx, "cubin": _hurt_cubin}[piece.kind]
        files = [bare(dataclasses.replace(piece, data=hurt(piece.data, shelf.dice)))]
    return _case("damaged headers", shelf, files, [piece])


def cubin_headers(shelf: Shelf) -> Case:
    """A cubin with a byte of its ELF header changed, linked where it had linked as it was."""
    piece = shelf.piece("first", ["cubin", "final"])
    changed = bytearray(piece.data)
    where = shelf.dice.randrange(4, 64)
    changed[where] = _other(changed[where], shelf.dice)
    given = bare(dataclasses.replace(piece, data=bytes(changed)))
    newer = [release for release in NVJITLINKS if number(release) >= number(piece.release)]
    release = shelf.dice.choice(newer) if newer and shelf.often(0.8) else shelf.linker()
    kernels = (piece.name,)
    return Case("cubin headers", "nvjitlink", release, piece.arch, (given,), False, kernels)


def copied_sass(shelf: Shelf) -> Case:
    """SASS, small and large, as it is or unpacked on the way, alone or beside another input."""
    home = shelf.dice.choice(("80", "90"))
    piece = shelf.piece("first", ["cubin"], until="12.0", arch=home)
    if shelf.often(0.6):
        piece = dataclasses.replace(piece, data=_grown(piece.data, shelf.dice.choice(_PADDING)))
    file = bare(piece)
    if shelf.often(0.8):
        file = fatbin(piece, compression=shelf.dice.choice(("none", "lz4")))
    pieces, files = [piece], [file]
    if shelf.often(0.5):
        other = shelf.piece("second", ["cubin", "ptx"], until="12.0", arch=home)
        pieces.append(other)
        files.insert(shelf.dice.choice((0, 1)), bare(other))
    release = shelf.dice.choice(("12.0", "12.0", "12.2", "12.4", "12.6"))
    kernels = _kernels(pieces)
    return Case("copied SASS", "nvjitlink", release, home, tuple(files), False, kernels)


def _grown(cubin: bytes, by: int) -> bytes:
    """The cubin with a gap in front of its section headers, which stand at its end then."""
    (table,) = struct.unpack_from("<Q", cubin, 40)
    width, count = struct.unpack_from("<HH", cubin, 58)
    grown = bytearray(cubin + bytes(by))
    struct.pack_into("<Q", grown, 40, len(grown))
    return bytes(grown + cubin[table : table + width * count])


def _hurt_ltoir(data: bytes, dice: random.Random) -> bytes:
    changed = bytearray(data)
    where = dice.choice((0, 4, 5, 5, 6, 7, 7, 8, 9, 9, 10, 11, 12, 16, 20, 24, 26))
    if where == 26:  # ten times the architecture
        struct.pack_into("<H", changed, 26, 10 * dice.choice((50, 70, 75, 89, 90, 120, 121, 999)))
    else:
        changed[where] = _other(changed[where], dice)
    return bytes(changed)


_SIZES = (b"32", b"65", b"0", b"0x40", b"064", b"64U", b"64;", b"64 64", b"\n64", b"/* */65", b"")
_COMMENTS = (b"// .target sm_90\n", b"/*\n.address_size 32\n*/\n", b"/* */")
_BETWEEN = (*_COMMENTS, b".target sm_80\n", b";")
_BYTES = b" \t\n\r\v\f\0,;/*.0169xa_\xc3"


def _hurt_ptx(data: bytes, dice: random.Random) -> bytes:
    """The directives in front of the code, changed by a word or by a byte."""
    target = data.partition(b".target")[2].split(maxsplit=1)[0].rstrip(b",")
    size = b".address_size 64"
    if dice.random() < 0.5:
        changed = bytearray(data)
        end = data.index(size) + len(size)
        where = dice.randrange(data.index(b".version"), end + 1)
        changed[where] = dice.choice([byte for byte in _BYTES if byte != changed[where]])
        return bytes(changed)
    edits = (
        (_isa(data), dice.choice((b"9.6", b"9.9", b"10.0", b"8.9", b"1.0", b"0.0", b"x.y", b""))),
        (target, dice.choice((b"sm_999", b"sm_76", b"sm_10", b"sm_90b", b"sm_", b"gfx90a"))),
        (target, target + dice.choice((b", foo", b",", b" sm_90", b",\nsm_90", b"f", b", debug"))),
        (b".target " + target, b""),
        (b".version " + _isa(data), b""),
        (size, dice.choice((b"", b".address_size " + dice.choice(_SIZES)))),
        (size, dice.choice(_BETWEEN) + dice.choice((size, b".address_size 32"))),
        (size, size + b"\n" + dice.choice((*_BETWEEN, size))),
    )
    return data.replace(*dice.choice(edits), 1)


def _hurt_cubin(data: bytes, dice: random.Random) -> bytes:
    changed = bytearray(data)
    # class, OS ABI and its version, type, machine, version, section table, flags, its entries
    where = dice.choice((0, 4, 7, 8, 16, 18, 20, 40, 41, 48, 49, 50, 58, 60, 62))
    changed[where] = _other(changed[where], dice)
    if dice.random() < 0.1:
        del changed[dice.choice((20, 40, 64, len(changed) // 2)) :]
    return bytes(changed)


def _hurt_entry(changed: bytearray, dice: random.Random) -> None:
    """The only entry of a fatbin, whose header is behind the 16 bytes of the region's."""
    # region: version, header, body; entry: kind, constant, header, payload, version, SM,
    # flags (``a`` and ``f`` in the third byte), size
    where = dice.choice((4, 4, 6, 8, 16, 18, 20, 24, 40, 42, 44, 56, 57, 58, 72))
    changed[where] = _other(changed[where], dice)


def _other(value: int, dice: random.Random) -> int:
    near = [(value + 1) % 256, (value - 1) % 256, 0, 255, dice.randrange(256)]
    return dice.choice([other for other in near if other != value])


_PLAIN = ("sass_80", "sass_90", "sass_100", "ptx_80", "sass_80+ptx_80", "sass_80+sass_90")
_LTO = ("lto_80", "lto_90", "lto_80+sass_90", "arch_90")
_NAMES = (("first",), ("user", "helper"), ("first", "helper"))


def rdc_objects(shelf: Shelf) -> Case:
    variants = _LTO if shelf.often(0.5) else _PLAIN
    releases = shelf.dice.sample(shelf.nvccs, 2)
    names = shelf.dice.choice(_NAMES)
    objects = [shelf.object(name, variants, releases) for name in names]
    together = len(objects) > 1 and shelf.often(0.3)
    files = [archive(*objects)] if together else [made_object(made) for made in objects]
    release = shelf.dice.choice(("12.4", "12.9", *[r for r in NVJITLINKS if r >= "13"] * 2))
    arch = shelf.dice.choice(("80", "90", "90", "100", "75", "86", "120"))
    lto = any(made.lto for made in objects)
    return Case("-rdc", "nvjitlink", release, arch, tuple(files), lto, _kernels(objects))


def windows(shelf: Shelf) -> Case:
    """LTO-IR that a library for Windows links when it runs; other code may be beside."""
    until = shelf.dice.choice(("12.4", "12.9", "99"))
    name = shelf.dice.choice(("first", "helper"))
    pieces = [
        shelf.piece(name, ["ltoir"], suffix=name == "first" and shelf.often(0.2), until=until)
    ]
    if shelf.often(0.3):
        pieces.append(shelf.piece(name, ["ptx", "cubin"], until=until))
    inside = fatbin(*pieces, compression=shelf.dice.choice(("none", "lz4", "zstd")))
    return _case("Windows", shelf, [dll(inside)], pieces)


def nvlink(shelf: Shelf) -> Case:
    releases = shelf.dice.sample(shelf.nvccs, shelf.dice.choice((1, 2)))
    names = shelf.dice.choice(_NAMES)
    options = ("few_registers", "more_registers", "fast_math", "lto_80")
    variants = shelf.dice.choice((_PLAIN, _LTO, _LTO, options, (*_PLAIN, *_LTO)))
    objects = [shelf.object(name, variants, releases) for name in names]
    release = shelf.dice.choice((*nvcc_objects.RELEASES, max(releases, key=number)))
    arch = shelf.dice.choice(("80", "80", "90", "90", "100", "86", "120"))
    lto = any(made.lto for made in objects)
    files = tuple(map(made_object, objects))
    return Case("nvlink", "nvlink", release, arch, files, lto, _kernels(objects))


STRATA: Mapping[str, Callable[[Shelf], Case]] = {
    "no kernels": no_kernels,
    "PTX alone": ptx_alone,
    "PTX + LTO-IR": ptx_and_ltoir,
    "mixed architectures": mixed_architectures,
    "symbols": symbols,
    "suffixes": suffixes,
    "damaged headers": damaged_headers,
    "cubin headers": cubin_headers,
    "copied SASS": copied_sass,
    "-rdc": rdc_objects,
    "Windows": windows,
    "nvlink": nvlink,
}


def cases(
    pieces: Sequence[Piece],
    objects: Sequence[Made],
    each: int,
    strata: Iterable[str] = STRATA,
    seed: int = SEED,
) -> Iterable[Case]:
    """``each`` different links of every stratum."""
    for stratum in strata:
        make = STRATA[stratum]
        shelf = Shelf(pieces, objects, random.Random(f"{seed} {stratum}"))  # noqa: S311
        seen: set[Case] = set()
        while len(seen) < each:
            case = make(shelf)
            if case not in seen:
                seen.add(case)
                yield case


def key(case: Case) -> str:
    """What tells one case from every other."""
    text = [case.linker, case.release, case.arch, str(case.lto), *case.kernels]
    for file in case.files:
        text += [file.file, sha256(file.data).hexdigest()]
        text += [f"{kind} {sha256(data).hexdigest()}" for kind, data in file.linked]
    return sha256("\n".join(text).encode()).hexdigest()[:24]
