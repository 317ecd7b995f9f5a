"""Ten strata of links by the sort of input, equal shares, drawn by a seed and nothing else.

A twelfth of the links or so holds LTO-IR, whose names no byte shows; all else is cubins and PTX.
What is drawn does not depend on what any linker or ``check`` makes of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import linker_inputs as make
import nvcc_objects
from link_cases import known
from linker_inputs import Input
from nvcc_objects import Made
from pieces import Piece, number

NVJITLINKS: Mapping[str, str] = {
    "12.0": "12.0.140",
    "12.1": "12.1.105",
    "12.2": "12.2.140",
    "12.3": "12.3.101",
    "12.4": "12.4.127",
    "12.5": "12.5.82",
    "12.6": "12.6.85",
    "12.8": "12.8.93",
    "12.9": "12.9.86",
    "13.0": "13.0.88",
    "13.1": "13.1.115",
    "13.2": "13.2.86",
    "13.3": "13.3.33",
    "13.4": "13.4.92",
    "13.5": "13.5.37",
}
_NVFATBINS = ("12.4", "12.9", "13.0", "13.2", "13.5")
_ARCHS = ("75", "80", "86", "90", "100", "120")
_LTO = 0.07
_NAMES = (
    ("first",),
    ("first",),
    ("user", "helper"),
    ("user", "helper"),
    ("user", "helper"),
    ("first", "helper"),
    ("user",),
    ("user", "first"),
    ("helper", "user", "first"),
    ("first", "first"),
    ("helper", "user", "helper"),
)


@dataclass(frozen=True, slots=True)
class Link:
    """One link.

    Attributes:
        stratum: of ``STRATA``.
        linker: ``nvjitlink`` or ``nvlink``.
        release: of the linker.
        arch: the target: ``90``.
        inputs: in the order in which the linker gets them.
    """

    stratum: str
    linker: str
    release: str
    arch: str
    inputs: tuple[Input, ...]

    @property
    def lto(self) -> bool:
        """Whether the linker is asked with ``-lto``: some of it is LTO-IR."""
        return any("ltoir" in each.kinds for each in self.inputs)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels that a user expects in the output."""
        return tuple(sorted(frozenset().union(*(each.kernels for each in self.inputs))))

    @property
    def key(self) -> str:
        """What tells it from every other link."""
        digest = sha256(f"{self.linker} {self.release} {self.arch}".encode())
        for each in self.inputs:
            digest.update(f"\n{each.kind} {each.file} ".encode() + sha256(each.data).digest())
            for name, data in each.beside:
                digest.update(name.encode() + sha256(data).digest())
        return digest.hexdigest()[:24]


class Shelf:
    """What compilers made, to choose from.

    Args:
        pieces: of NVRTC.
        objects: of nvcc.
        dice: what chooses.
        folder: keeps nvFatbin, and what it made.
    """

    def __init__(
        self,
        pieces: Sequence[Piece],
        objects: Sequence[Made],
        dice: random.Random,
        folder: Path,
    ) -> None:
        self._pieces = [piece for piece in pieces if piece.arch in _ARCHS]
        self._objects = objects
        self._folder = folder
        self.dice = dice

    def often(self, share: float) -> bool:
        return self.dice.random() < share

    def names(self) -> tuple[str, ...]:
        return self.dice.choice(_NAMES)

    def release(self, *, since: str = "12.0") -> str:
        """A release of nvJitLink; mostly one that is no older."""
        newer = [release for release in NVJITLINKS if number(release) >= number(since)]
        return self.dice.choice(newer if newer and self.often(0.85) else tuple(NVJITLINKS))

    def arch(self, inputs: Sequence[Input], release: str) -> str:
        """A target: mostly the newest architecture that all of it is for."""
        least = max((int(arch) for each in inputs for arch in each.archs), default=80)
        if self.often(0.75) and known(str(least), release):
            return str(least)
        near = [arch for arch in _ARCHS if known(arch, release)]
        return self.dice.choice(near)

    def piece(self, name: str, kind: str, home: str, until: str) -> Piece:
        """A piece that defines ``name``, for an architecture, of a compiler up to a release."""
        fitting = [
            piece
            for piece in self._pieces
            if (piece.name, piece.kind, piece.arch) == (name, kind, home)
            and number(piece.release) <= number(until)
        ]
        return self.dice.choice(fitting)

    def kind(self) -> str:
        if self.often(_LTO):
            return "ltoir"
        return self.dice.choice(("ptx", "cubin"))

    def drawn_pieces(self, names: Sequence[str]) -> list[Piece]:
        """A piece for each name: of one kind or of several, for one architecture mostly."""
        home = self.dice.choice(("80", "90"))
        until = self.dice.choice(("12.0", "12.4", "12.9", "13.0", "13.5"))
        kinds = (
            [self.kind()] * len(names)
            if self.often(0.6)
            else [self.dice.choice(("ptx", "cubin")) for _ in names]
        )
        homes = [home if self.often(0.9) else self.dice.choice(("80", "90")) for _ in names]
        return [
            self.piece(name, kind, arch, until)
            for name, kind, arch in zip(names, kinds, homes, strict=True)
        ]

    def drawn_objects(self, names: Sequence[str]) -> list[Made]:
        """An object of nvcc for each name."""
        family = self.dice.choice(_OBJECT_FAMILIES[self.often(_LTO)])
        releases = self.dice.sample(tuple(nvcc_objects.RELEASES), self.dice.choice((1, 1, 2)))
        return [
            self.dice.choice(
                [
                    made
                    for made in self._objects
                    if made.name == name and made.variant in family and made.release in releases
                ]
            )
            for name in names
        ]

    def packed(self, *pieces: Piece) -> Input:
        return make.fatbin(*pieces, release=self._nvfatbin(pieces), folder=self._folder)

    def wrapped(self, *pieces: Piece, section: str = "__nv_relfatbin") -> Input:
        packer = self._nvfatbin(pieces)
        return make.wrapped(*pieces, release=packer, folder=self._folder, section=section)

    def _nvfatbin(self, pieces: Sequence[Piece]) -> str:
        newest = max(number(piece.release) for piece in pieces)
        return self.dice.choice([each for each in _NVFATBINS if number(each) >= newest])

    def objects_of_some_sort(self, names: Sequence[str]) -> tuple[list[Input], str]:
        """Objects of nvcc or of wrapped fatbins, and the newest release that made one."""
        if self.often(0.5):
            made = self.drawn_objects(names)
            inputs = [make.nvcc_object(each) for each in made]
            return _apart(inputs), max((each.release for each in made), key=number)
        pieces = self.drawn_pieces(names)
        newest = max((piece.release for piece in pieces), key=number)
        return _apart([self.wrapped(piece) for piece in pieces]), newest


_OBJECT_FAMILIES = {
    False: (
        ("sass_80",),
        ("sass_90",),
        ("sass_100",),
        ("ptx_80",),
        ("sass_80+ptx_80",),
        ("sass_80+sass_90",),
        ("sass_80", "ptx_80", "sass_80+ptx_80", "sass_80+sass_90"),
    ),
    True: (
        ("lto_80",),
        ("lto_90",),
        ("arch_90",),
        ("lto_80+sass_90",),
        ("few_registers", "more_registers", "fast_math", "lto_80"),
        ("lto_80", "sass_80", "ptx_80"),
    ),
}


def _apart(inputs: Sequence[Input]) -> list[Input]:
    """The inputs under different names."""
    return [each.named(str(at)) for at, each in enumerate(inputs)]


def _by_nvjitlink(stratum: str, shelf: Shelf, inputs: Sequence[Input], since: str) -> Link:
    release = shelf.release(since=since)
    arch = shelf.arch(inputs, release)
    return Link(stratum, "nvjitlink", release, arch, tuple(inputs))


def _by_either(stratum: str, shelf: Shelf, inputs: Sequence[Input], since: str) -> Link:
    """Most links by nvJitLink, some by nvlink."""
    if shelf.often(0.7):
        return _by_nvjitlink(stratum, shelf, inputs, since)
    newer = [each for each in nvcc_objects.RELEASES if number(each) >= number(since)]
    release = shelf.dice.choice(newer if newer and shelf.often(0.85) else [*nvcc_objects.RELEASES])
    return Link(stratum, "nvlink", release, shelf.arch(inputs, release), tuple(inputs))


def _newest(pieces: Sequence[Piece]) -> str:
    return max((piece.release for piece in pieces), key=number)


def bare_images(shelf: Shelf) -> Link:
    """Cubins, PTX and LTO-IR as NVRTC gives them."""
    pieces = shelf.drawn_pieces(shelf.names())
    inputs = _apart([make.image(piece) for piece in pieces])
    return _by_nvjitlink("bare images", shelf, inputs, _newest(pieces))


def loose_fatbins(shelf: Shelf) -> Link:
    """Fatbins of nvFatbin, of one image or of two."""
    pieces = shelf.drawn_pieces(shelf.names())
    inputs = []
    for piece in pieces:
        more: list[Piece] = []
        if shelf.often(0.3) and piece.kind != "ltoir":
            other = shelf.dice.choice(("80", "90"))
            more = [shelf.piece(piece.name, shelf.dice.choice(("ptx", "cubin")), other, "13.5")]
            more = [each for each in more if (each.kind, each.arch) != (piece.kind, piece.arch)]
        inputs.append(shelf.packed(piece, *more))
    return _by_nvjitlink("loose fatbins", shelf, _apart(inputs), _newest(pieces))


def objects(shelf: Shelf) -> Link:
    """Objects of nvcc."""
    made = shelf.drawn_objects(shelf.names())
    inputs = _apart([make.nvcc_object(each) for each in made])
    newest = max((each.release for each in made), key=number)
    return _by_nvjitlink("objects", shelf, inputs, newest)


def _members(shelf: Shelf) -> tuple[list[Input], str]:
    inputs, newest = shelf.objects_of_some_sort(shelf.names())
    if shelf.often(0.3):
        inputs.insert(shelf.dice.randrange(len(inputs) + 1), make.host_object())
    return inputs, newest


def _in_archive(stratum: str, shelf: Shelf, *, thin: bool) -> Link:
    inputs, newest = _members(shelf)
    outside: list[Input] = []
    if len(inputs) > 1 and shelf.often(0.4):
        outside = [inputs.pop(shelf.dice.randrange(len(inputs)))]
    archive = make.archive(inputs, thin=thin, indexed=shelf.often(0.7))
    given = [*outside, archive]
    shelf.dice.shuffle(given)
    return _by_either(stratum, shelf, given, newest)


def archives(shelf: Shelf) -> Link:
    """Objects in an archive, some beside it; members without device code among them."""
    return _in_archive("archives", shelf, thin=False)


def thin_archives(shelf: Shelf) -> Link:
    """The same in archives that only name their members."""
    return _in_archive("thin archives", shelf, thin=True)


def joined_objects(shelf: Shelf) -> Link:
    """Objects joined by ``ld -r``, out of an archive or into one, some beside it."""
    inputs, newest = _members(shelf)
    outside: list[Input] = []
    if len(inputs) > 1 and shelf.often(0.4):
        outside = [inputs.pop(shelf.dice.randrange(len(inputs)))]
    whole = [make.archive(inputs)] if shelf.often(0.3) else inputs
    joined = make.joined(whole)
    if shelf.often(0.25):
        joined = make.archive([joined])
    given = [*outside, joined]
    shelf.dice.shuffle(given)
    return _by_either("ld -r", shelf, given, newest)


def wrapped_fatbins(shelf: Shelf) -> Link:
    """Fatbins of nvFatbin in objects, for a link or for the runtime."""
    pieces = shelf.drawn_pieces(shelf.names())
    inputs = [shelf.wrapped(piece) for piece in pieces]
    if shelf.often(0.15):
        inputs.append(shelf.wrapped(shelf.drawn_pieces(["second"])[0], section=".nv_fatbin"))
    return _by_either("wrapped fatbins", shelf, _apart(inputs), _newest(pieces))


def mixed_makers(shelf: Shelf) -> Link:
    """An object or an archive of nvcc beside images and fatbins of NVRTC."""
    names = shelf.dice.choice((("user", "helper"), ("helper", "user"), ("first", "user", "helper")))
    cut = shelf.dice.randrange(1, len(names))
    made = [make.nvcc_object(each) for each in shelf.drawn_objects(names[:cut])]
    pieces = shelf.drawn_pieces(names[cut:])
    loose = [shelf.packed(piece) if shelf.often(0.3) else make.image(piece) for piece in pieces]
    around = [make.archive(_apart(made))] if shelf.often(0.3) else made
    given = _apart([*around, *loose])
    shelf.dice.shuffle(given)
    return _by_either("mixed makers", shelf, given, "13.0")


_ISAS = (
    *("6.0", "7.0", "7.5", "7.5", "7.8", "7.8", "8.0", "8.0", "8.3", "8.3", "8.5", "8.5", "8.8"),
    *("9.0", "9.1", "9.3", "9.5", "9.6"),
)
_TEXT_TARGETS = (
    *("sm_50", "sm_70", "sm_75", "sm_75", "sm_80", "sm_80", "sm_80", "sm_86", "sm_89"),
    *("sm_90", "sm_90", "sm_90a", "sm_100"),
)
_BODIES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "kernel": (".visible .entry first() {{ {work} ret; }}", ("first",)),
    "empty": (".visible .entry first() {{ ret; }}", ("first",)),
    "function": (".visible .func helper() {{ {work} ret; }}", ()),
    "caller": (
        ".extern .func helper();\n.visible .entry user() {{ {work} call.uni helper; ret; }}",
        ("user",),
    ),
    "both": (
        (
            ".visible .func helper() {{ {work} ret; }}\n"
            ".visible .entry user() {{ call.uni helper; ret; }}"
        ),
        ("user",),
    ),
    "variable": (
        (
            ".extern .global .u32 counter;\n"
            ".visible .entry first() {{ .reg .u32 %r; ld.global.u32 %r, [counter]; ret; }}"
        ),
        ("first",),
    ),
}
_WORK = ".reg .u32 %r<3>; mov.u32 %r1, %tid.x; add.u32 %r2, %r1, 1;"


def _header(shelf: Shelf) -> tuple[str, str]:
    """The lines in front of the first function, and the architecture."""
    isa = shelf.dice.choice(_ISAS)
    target = shelf.dice.choice(_TEXT_TARGETS)
    more = shelf.dice.choice(("",) * 6 + (", debug", ", texmode_independent", ", texmode_unified"))
    size = shelf.dice.choice((".address_size 64",) * 6 + (".address_size 32", ""))
    lines = [f".version {isa}", f".target {target}{more}", size]
    odd = shelf.dice.random()
    if odd < 0.08:
        lines.insert(2, f".target {shelf.dice.choice(_TEXT_TARGETS)}")
    elif odd < 0.14:
        lines.insert(0, "// Gr\u00fc\u00dfe")
    elif odd < 0.17:
        lines.append(".global .u32 gr\u00fcn;")
    elif odd < 0.22:
        lines.insert(0, "/* two\n lines */ // and more")
    elif odd < 0.25:
        lines = [f"  {line}\t" for line in lines]
    return "\n".join(lines), target.removeprefix("sm_")


def written_ptx(shelf: Shelf) -> Link:
    """PTX that people and other compilers write, alone or beside a piece that it needs."""
    header, arch = _header(shelf)
    name = shelf.dice.choice(tuple(_BODIES))
    body, kernels = _BODIES[name]
    ending = shelf.dice.choice(("\n", "", "\n\n// end", "\r\n"))
    written = f"{header}\n{body.format(work=_WORK)}{ending}"
    if shelf.often(0.1):
        written = written.replace("\n", "\r\n")
    inputs = [make.text(name, written, kernels, arch.rstrip("a"))]
    if shelf.often(0.3):
        other = "helper" if name == "caller" else "second"
        kind = shelf.dice.choice(("ptx", "cubin"))
        inputs.append(make.image(shelf.piece(other, kind, shelf.dice.choice(("80", "90")), "12.0")))
    release = shelf.release()
    return Link(
        "written PTX", "nvjitlink", release, shelf.arch(inputs, release), tuple(_apart(inputs))
    )


def by_nvlink(shelf: Shelf) -> Link:
    """What nvlink gets at build time: objects, and loose files beside them."""
    names = shelf.names()
    made = shelf.drawn_objects(names)
    inputs = [make.nvcc_object(each) for each in made]
    newest = max((each.release for each in made), key=number)
    if shelf.often(0.3):
        inputs.append(make.image(shelf.drawn_pieces(["second"])[0]))
    newer = [each for each in nvcc_objects.RELEASES if number(each) >= number(newest)]
    release = shelf.dice.choice(newer if shelf.often(0.7) else [*nvcc_objects.RELEASES])
    return Link("nvlink", "nvlink", release, shelf.arch(inputs, release), tuple(_apart(inputs)))


STRATA: Mapping[str, Callable[[Shelf], Link]] = {
    "bare images": bare_images,
    "loose fatbins": loose_fatbins,
    "objects": objects,
    "archives": archives,
    "thin archives": thin_archives,
    "ld -r": joined_objects,
    "wrapped fatbins": wrapped_fatbins,
    "mixed makers": mixed_makers,
    "written PTX": written_ptx,
    "nvlink": by_nvlink,
}


def links(
    pieces: Sequence[Piece],
    objects: Sequence[Made],
    folder: Path,
    *,
    each: int,
    seed: str,
    strata: Sequence[str] = tuple(STRATA),
) -> Iterator[Link]:
    """``each`` different links of every stratum."""
    for stratum in strata:
        shelf = Shelf(pieces, objects, random.Random(f"{seed} {stratum}"), folder)  # noqa: S311
        seen: set[str] = set()
        while len(seen) < each:
            link = STRATA[stratum](shelf)
            if link.key not in seen:
                seen.add(link.key)
                yield link
