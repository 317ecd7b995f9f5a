"""Law 13, same code: what a rewritten library keeps is, image by image, what it was."""

from __future__ import annotations

import contextlib
import io
import struct
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import lz4.block
import zstandard
from elf_writer import BASE, ET_EXEC, Part, elf, wrapper
from fatbin_writer import KINDS, EntrySpec, entry, region
from hypothesis import given
from hypothesis import strategies as st
from samples import FOLDER

import ltocompat
from ltocompat.model.errors import LtocompatError
from ltocompat.model.verdict import Route, Verdict

START = 0x200  # of the first section that elf_writer writes
GPUS = {"a100": 80, "l4": 89, "h100": 90, "b200": 100, "rtx 5090": 120}
CUBINS = {
    (number, suffix): (FOLDER / f"cubin/nvrtc-{maker}-sm_{number}{suffix}.cubin").read_bytes()
    for maker, number, suffix in [
        ("12.4", 80, ""),
        ("12.9", 90, ""),
        ("12.4", 90, "a"),
        ("13.0", 100, ""),
        ("13.5", 100, "f"),
    ]
}
_PTX = """.version 8.4
.target sm_{}
.address_size 64
.visible .entry k()
{{
.reg .b32 %r;
mov.u32 %r, 1;
ret;
}}
"""


class Stored(NamedTuple):
    """An entry, as this test reads it."""

    kind: int
    sm: int
    flags: int
    data: bytes


@st.composite
def entries(draw: st.DrawFn) -> EntrySpec:
    how = draw(st.sampled_from(["none", "lz4", "zstd"]))
    if draw(st.integers(0, 3)) == 0:
        number = draw(st.sampled_from([80, 90, 100]))
        text = _PTX.format(number).encode() + b"\0"
        return EntrySpec(KINDS["ptx"], text, number, compression=how)
    number, suffix = draw(st.sampled_from(sorted(CUBINS)))
    data, name = CUBINS[number, suffix], draw(st.sampled_from(["", "a.cu"]))
    version = (1, data[8])
    return EntrySpec(
        KINDS["sass"], data, number, suffix, version, compression=how, identifier=name, options=None
    )


def library(modules: list[list[EntrySpec]], registered: list[bool]) -> bytes:
    """A program without relocations: its wrappers point at the regions from the start."""
    regions = [region([entry(spec) for spec in specs]) for specs in modules]
    wrappers, at = b"", BASE + START
    for data, known in zip(regions, registered, strict=True):
        wrappers += wrapper(at) if known else b""
        at += len(data)
    parts = [Part(".nv_fatbin", b"".join(regions)), Part(".nvFatBinSegment", wrappers, flags=3)]
    return elf([*parts, Part(".data", b"what lies behind", flags=3)], ET_EXEC)


def read(file: bytes, at: int) -> Iterator[Stored]:
    """Entries of a region by the layout in words, with stock decoders."""
    magic, version, header, body = struct.unpack_from("<IHHQ", file, at)
    assert (magic, version, header) == (0xBA55ED50, 1, 16)
    at, end = at + 16, at + 16 + body
    while at < end:
        kind, _, size, stored, packed, *_ = struct.unpack_from("<HHIQI", file, at)
        (sm,), (flags,) = (
            struct.unpack_from("<I", file, at + 28),
            struct.unpack_from("<Q", file, at + 40),
        )
        (decoded,) = struct.unpack_from("<Q", file, at + 56)
        data = file[at + size : at + size + (packed or stored)]
        if flags & 0x8000:
            data = zstandard.ZstdDecompressor().decompress(data)
        elif flags & 0x2000:
            data = lz4.block.decompress(data, uncompressed_size=decoded)
        yield Stored(kind, sm, flags & ~0xA000, data.rstrip(b"\0"))
        at += size + stored
    assert at == end


def verdicts(path: Path, gpu: str) -> list[tuple[Route | None, Verdict]]:
    target = f"driver=R580,gpu={gpu}"
    return [(r.route, r.verdict) for r in ltocompat.check(str(path), target, floors=False)]


@given(
    st.lists(
        st.tuples(st.lists(entries(), min_size=1, max_size=5), st.booleans()),
        min_size=1,
        max_size=3,
    ),
    st.sets(st.sampled_from(sorted(GPUS)), min_size=1, max_size=2),
    st.booleans(),
    st.sampled_from([None, "1", "balance"]),
    st.booleans(),
)
def test_what_stays_is_what_it_was_and_kept_gpus_are_served_as_before(
    drawn: list[tuple[list[EntrySpec], bool]],
    gpus: set[str],
    ptx: bool,
    pack: str | None,
    to_zstd: bool,
) -> None:
    modules, registered = [specs for specs, _ in drawn], [known for _, known in drawn]
    data = library(modules, registered)
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder, "old"), Path(folder, "new")
        old.write_bytes(data)
        (answer,) = ltocompat.slim(
            str(old),
            output=str(new),
            keep_gpus=sorted(gpus),
            ptx=ptx,
            pack=pack,
            to_zstd=to_zstd and pack is not None,
        )
        found = new.read_bytes()
        assert old.read_bytes() == data
        assert len(found) == len(data)
        at = START
        for specs, known in drawn:
            size = len(region([entry(spec) for spec in specs]))
            before, after = list(read(data, at)), list(read(found, at))
            rest = iter(before)
            assert all(image in rest for image in after)  # in their order
            assert after
            assert known or found[at : at + size] == data[at : at + size]
            (body,) = struct.unpack_from("<Q", found, at + 8)
            if known:
                assert not found[at + 16 + body : at + size].strip(b"\0")
            at += size
        assert found[at:] == data[at:]
        assert found[:START] == data[:START]
        for gpu in gpus:
            assert verdicts(new, gpu) == verdicts(old, gpu)
        assert answer.images <= sum(map(len, modules))
        (weight,) = ltocompat.weigh(str(old), keep_gpus=["+".join(gpus)])
        assert weight.slim_saved == answer.saved or not ptx or pack is not None
        again = Path(folder, "again")
        (second,) = ltocompat.slim(str(new), output=str(again), keep_gpus=sorted(gpus), ptx=ptx)
        assert not second.removed  # nothing is left to go
        assert again.read_bytes() == found


def signed(dll: bytes) -> bytes:
    """A DLL with a signature, whatever its bytes say."""
    data = bytearray(dll)
    (at,) = struct.unpack_from("<I", data, 0x3C)
    struct.pack_into("<II", data, at + 24 + 112 + 8 * 4, len(data), 8)
    return bytes(data) + b"signed!!"


def zipped(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


SAMPLES = {
    path.name: path.read_bytes()
    for folder in ("objects", "fatbin", "cubin", "ltoir", "ptx")
    for path in sorted((FOLDER / folder).iterdir())
}
SAMPLES |= {"signed.dll": signed(SAMPLES["saxpy.dll"]), "unsigned.dll": SAMPLES["saxpy.dll"]}


@given(
    st.sets(st.sampled_from(sorted(SAMPLES)), min_size=1, max_size=4),
    st.sets(st.sampled_from(sorted(SAMPLES)), max_size=2),
    st.sampled_from(["file", "folder", "x.zip", "x-1-py3-none-any.whl"]),
    st.sampled_from(sorted(GPUS)),
)
def test_what_slim_saves_is_foretold_to_the_byte(
    names: set[str], inner: set[str], kind: str, gpu: str
) -> None:
    """Whatever stays as it is: signed, linked, LTO-IR, of an unknown reader, in a zip in a zip."""
    files = {name: SAMPLES[name] for name in sorted(names)}
    if inner:
        files["inner.zip"] = zipped({name: SAMPLES[name] for name in sorted(inner)})
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder, kind), Path(folder, "new")
        if kind == "file":
            (name,) = sorted(names)[:1]
            old = Path(folder, name)
            old.write_bytes(SAMPLES[name])
        elif kind == "folder":
            old.mkdir()
            for name, data in files.items():
                (old / name).write_bytes(data)
        else:
            files |= {"x-1.dist-info/WHEEL": b"", "x-1.dist-info/RECORD": b""}
            old.write_bytes(zipped(files))
        answers = list(
            ltocompat.slim(str(old), output=str(new), keep_gpus=[gpu], on_error=lambda _: None)
        )
        weights = list(ltocompat.weigh(str(old), keep_gpus=[gpu], on_error=lambda _: None))
        assert [row.slim_saved for row in weights] == [row.saved for row in answers] or (
            not answers and [row.slim_saved for row in weights] in ([], [None])
        )


@given(st.lists(entries(), min_size=1, max_size=3), st.data())
def test_a_damaged_library_is_never_written_less_readable(
    specs: list[EntrySpec], draw: st.DataObject
) -> None:
    data = bytearray(library([specs], [True]))
    for _ in range(draw.draw(st.integers(1, 4))):
        data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder, "old"), Path(folder, "new")
        old.write_bytes(data)
        try:
            (answer,) = ltocompat.slim(str(old), output=str(new), keep_gpus=["h100"])
        except LtocompatError:
            assert not new.exists()
            return
        assert [row.slim_saved for row in ltocompat.weigh(str(old), keep_gpus=["h100"])] == [
            answer.saved
        ]
        skipped = [
            sum(isinstance(r, ltocompat.Skipped) for r in ltocompat.inspect(str(path)))
            for path in (old, new)
        ]
        assert skipped[1] <= skipped[0]
        worst = [max(row[1] for row in verdicts(path, "h100")) for path in (old, new)]
        assert worst[1] <= worst[0]


@st.composite
def damaged_wheels(draw: st.DrawFn) -> bytes:
    """A wheel with some bytes overwritten, cut out or cut off."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x/lib.so", (FOLDER / "objects/libsaxpy.so").read_bytes())
        archive.writestr("x-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: x\nVersion: 1\n")
        archive.writestr("x-1.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-linux_x86_64\n")
        archive.writestr("x-1.dist-info/RECORD", "x/lib.so,,\nx-1.dist-info/RECORD,,\n")
    data = bytearray(made.getvalue())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 8))] = draw(st.binary(max_size=8))
    return bytes(data[: draw(st.sampled_from([len(data), len(data) // 2, len(data) - 1]))])


def readable(wheel: Path) -> set[str]:
    """Names of the members that an installer unpacks."""
    found = set()
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            with contextlib.suppress(Exception):  # of any kind
                archive.read(name)
                found.add(name)
    return found


@given(damaged_wheels(), st.sampled_from(["slim", "repair"]))
def test_a_damaged_wheel_is_written_no_less_readable_or_told(data: bytes, verb: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        old = Path(folder, "x-1-py3-none-linux_x86_64.whl")
        old.write_bytes(data)
        new = Path(folder, "new")
        new.mkdir()
        try:
            if verb == "slim":
                list(ltocompat.slim(str(old), output=str(new), keep_gpus=["h100"]))
            else:
                list(ltocompat.repair(str(old), output=str(new)))
        except LtocompatError:
            assert not list(new.iterdir())
        else:
            assert readable(old) <= readable(new / old.name)
            assert list(ltocompat.inspect(str(old)))  # which takes no other for a wheel
        assert old.read_bytes() == data
