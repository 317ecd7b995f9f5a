"""Symbols are read where judging asks for them, in bounded time, and say what a link will miss."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
import samples
from every_case import every
from hypothesis import given
from hypothesis import strategies as st
from summaries import summaries

import ltocompat
from ltocompat.commands.read_artifacts import ScanOptions
from ltocompat.facts import table
from ltocompat.files.byteview import ByteView
from ltocompat.files.images.cubin import Cubin, early_api_versions
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import Budget, Limits
from ltocompat.model.symbols import DeviceSymbols, defined_nowhere, defined_twice
from ltocompat.scan.device_symbols import of_cubin, of_ptx, undefined_in_ptx
from ltocompat.scan.walk import ScanSettings
from ltocompat.targets import parse

HEAD = b".version 8.0\n.target sm_80\n.address_size 64\n"
CUBINS = sorted((samples.FOLDER / "cubin").glob("*.cubin"))
TARGETS = tuple(parse(["driver=580.95.05,gpu=a100"]))


def read(path: Path, *, single_link: bool = False) -> list[DeviceSymbols | None]:
    """Of each image of a file, in the order of its groups."""
    options = ScanOptions(ScanSettings(), TARGETS, single_link=single_link)
    (summary,) = summaries([path], options)
    return [image.symbols for group in summary.groups for image in group.signature.images]


@every("path", CUBINS)
def test_the_first_bytes_of_a_cubin_name_the_compilers_of_its_kernels_or_nothing(
    path: Path,
) -> None:
    """CUDA_API_VERSION is 10 * major + minor of the toolkit, which names of samples tell."""
    data = path.read_bytes()
    early = early_api_versions(data)
    assert early in (None, Cubin.parse(ByteView.of(data), Budget()).api_versions())
    plain = re.fullmatch(r"nvrtc-(\d+)\.(\d)-sm_80", path.stem)
    if plain:
        assert early == frozenset({10 * int(plain[1]) + int(plain[2])})


def test_objects_of_one_link_show_theirs() -> None:
    """Of scale.cu and axpy.cu: the second calls what the first defines."""
    scale, axpy = (
        [
            s
            for s in read(samples.FOLDER / "objects" / f"nvcc-13.0-rdc-{n}.o", single_link=True)
            if s
        ]
        for n in ("scale", "axpy")
    )
    assert {(each.defined, each.kernels) for each in scale} == {(("_Z5scalef",), ())}
    assert {(each.undefined_functions, each.defined, each.kernels) for each in axpy} == {
        (("_Z5scalef",), ("axpy",), ("axpy",))
    }
    assert defined_nowhere([scale[0], axpy[0]]) == DeviceSymbols()
    assert defined_twice([(scale[0], 1), (axpy[0], 2)]) == ("axpy",)


@pytest.mark.parametrize(
    ("declaration", "names", "prototypes"),
    [
        (b".visible .global .align 4 .b8 a[4] = {1, 2, 3, 4};", ("a",), ()),
        (b".visible .global .b32 a[2][2] = {{1, 2}, {3, 4}}, b;", ("a", "b"), ()),
        (b".visible .const .attribute(.managed, .unified(1, 2)) .v4 .f32 a;", ("a",), ()),
        (b".extern .shared .align 16 .b8 dynamic[];", (), ()),
        (
            b".visible .func (.param .align 8 .b8 r[16]) f (.param .f64 p) { ret; }",
            ("f",),
            ("#b16d",),
        ),
        (b".visible .func .attribute(.unified(1, 2)) f () { ret; }", ("f",), ("#v",)),
        (b".visible .func g() { ret; } .visible .func f(); .alias f, g;", ("f", "g"), ("#v", "#v")),
    ],
)
def test_declarations_of_all_forms_name_what_is_defined(
    declaration: bytes, names: tuple[str, ...], prototypes: tuple[str, ...]
) -> None:
    """Prototypes are those that ptxas 13.0 writes into ``.nv.prototype``."""
    pairs = tuple(zip(names, prototypes, strict=False))
    found = of_ptx(HEAD + declaration, Budget())
    assert found == DeviceSymbols(defined=names, prototypes=pairs)


@pytest.mark.parametrize(
    "text",
    [
        b".extern .func a " * 50_000,
        b".visible .global " * 50_000 + b";",
        b".visible .global .b32 a = {" * 50_000,
        b".func .attribute(" * 50_000,
        b".func f { " * 50_000,
        b".func " + b"a" * 750_000 + b";",
        b".visible .global .b32 " + b"a" * 750_000,
        b".extern .func f; .visible .entry k() { call f; } " * 15_000,
    ],
    ids=lambda text: text[:24].decode(),
)
def test_hostile_ptx_is_read_to_its_end_in_its_time(text: bytes) -> None:
    of_ptx(HEAD + text, Budget(Limits(seconds=60.0)))  # what grows with its square takes minutes


def of(data: bytes) -> DeviceSymbols:
    return of_cubin(Cubin.parse(ByteView.of(data), Budget()))


def section_headers(data: bytes | bytearray) -> range:
    """Where the section headers of a 64-bit ELF file begin."""
    (table,) = struct.unpack_from("<Q", data, 40)
    (count,) = struct.unpack_from("<H", data, 60)
    return range(table, table + 64 * count, 64)


def test_a_declaration_inside_a_body_is_none() -> None:
    text = b".entry k() { .func f; call f; call g; }\n.func g() { ret; }\n"
    found = of_ptx(text, Budget())
    assert (found.undefined_functions, found.kernels) == ((), ("k",))


def test_a_cubin_that_names_no_table_for_its_names_is_malformed() -> None:
    data = bytearray((samples.FOLDER / "cubin" / "nvrtc-12.4-sm_80-rdc.cubin").read_bytes())
    for row in section_headers(data):
        if struct.unpack_from("<I", data, row + 4) == (2,):  # SHT_SYMTAB
            struct.pack_into("<I", data, row + 40, 60_000)
    with pytest.raises(Malformed, match="section 60000"):
        of(bytes(data))


def test_a_relocation_that_names_no_symbol_is_no_call(tmp_path: Path) -> None:
    """Of axpy.cu, whose kernel calls a function that another object defines."""
    path = samples.FOLDER / "objects" / "nvcc-13.0-rdc-axpy.o"
    list(ltocompat.extract(path, output=tmp_path))
    data = bytearray(next(tmp_path.glob("*.cubin")).read_bytes())
    whole = of(bytes(data))
    assert whole.undefined_functions == whole.needed_by_kernels == ("_Z5scalef",)
    for row in section_headers(data):
        kind, start, size = struct.unpack_from("<I16xQQ", data, row + 4)
        width = {4: 24, 9: 16}.get(kind)  # SHT_RELA, SHT_REL
        for entry in range(start, start + size, width) if width else ():
            struct.pack_into("<I", data, entry + 12, 60_000)
    cut = of(bytes(data))
    assert (cut.undefined_functions, cut.needed_by_kernels) == (("_Z5scalef",), ())


PROVIDED = [name for row in table("device_functions")["provided"] for name in row["names"]]


@given(st.sampled_from(PROVIDED), st.sampled_from(["", "2", "_v2"]))
def test_ptx_misses_no_function_that_the_driver_provides(name: str, end: str) -> None:
    called = name + end
    text = f".version 8.4\n.target sm_80\n.address_size 64\n.extern .func {called};\n"
    text += f".visible .entry k() {{ call.uni {called}; ret; }}\n"
    found = undefined_in_ptx(text.encode(), Budget())
    missed = (called,) if end else ()
    assert found.undefined_functions == found.needed_by_kernels == missed
