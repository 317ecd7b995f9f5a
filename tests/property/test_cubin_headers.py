"""A cubin whose ELF header is not one that a real tool writes is never judged as if it were.

Every byte of the headers of cubins by many tools is changed. Some nvJitLink refuses nearly all of
these, drops the kernel or crashes: measured in the stratum ``cubin headers`` of tests/oracle.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
import recorded
from fatbin_writer import KINDS, EntrySpec, entry, region
from hypothesis import assume, example, given
from hypothesis import strategies as st
from reading import images_of
from samples import FOLDER

import ltocompat
from ltocompat import Verdict
from ltocompat.files.images.cubin import first_value
from ltocompat.files.images.cubin_header import parse_header
from ltocompat.model.limits import Budget

CUBINS = {
    **{path.name: path.read_bytes() for path in sorted((FOLDER / "cubin").glob("*.cubin"))},
    **{piece.file: piece.data for piece in recorded.parts()[0] if piece.kind == "cubin"},
}
OF_13_0 = "kernel-first-80-13.0.cubin"
OF_12_4 = "kernel-first-80-12.4.cubin"


def is_of_13(cubin: bytes) -> bool:
    """In the form of ELF ABI version 8, which 12.8 and 12.9 write for sm_100 and newer, too."""
    return cubin[8] == 8


def architecture(cubin: bytes) -> int:
    return cubin[49] if is_of_13(cubin) else cubin[48]


def has_mark_of_accelerated(number: int, toolkit: int) -> bool:
    """sm_90 may be for sm_90a; compilers before CUDA 9.2 mark all code for Pascal likewise."""
    return number == 90 or (number in (60, 61, 62) and toolkit < 92)


def may_be_written(cubin: bytes, at: int, value: int) -> bool:
    """Whether some tool writes this byte into such a cubin, so that nothing tells the change."""
    number = architecture(cubin)
    program_headers = int.from_bytes(cubin[56:58], "little")
    if at == 16:  # relocatable or executable, of which a few have no program headers
        return not program_headers and value in (1, 2)
    if at == 54:  # size of program headers where there are none
        return not program_headers and value in (0, 56)
    if is_of_13(cubin):
        if at == 49:
            return (value < 100) is (number < 100)
        by_12 = b".note.nv.cuver\0" in cubin
        return at == 48 and number >= 100 and by_12 and value in (0x2, 0xA)
    if at == 50 and value == 0:  # nvJitLink 12.5 and 12.6 link code of 13.x to such
        return cubin[16] == 2 and cubin[20] in (125, 126)
    return {
        20: 50 <= value <= 129 + (cubin[62] == 2),  # the toolkit; the assembler writes 13.0, too
        48: value >= cubin[50] and (cubin[49] == 0x5 or has_mark_of_accelerated(value, cubin[20])),
        49: value == 0x5 or (value == 0xD and has_mark_of_accelerated(number, cubin[20])),
        50: 0 < value <= number,  # the virtual architecture
    }.get(at, False)


def in_fatbin(cubin: bytes, compression: str) -> bytes:
    spec = EntrySpec(KINDS["sass"], cubin, sm=architecture(cubin), compression=compression)
    return region([entry(spec)])


def in_file(cubin: bytes, container: str) -> bytes:
    if container == "among data":
        return bytes(64) + cubin + bytes(64)
    return cubin if container == "bare" else in_fatbin(cubin, container)


CONTAINERS = ("bare", "among data", "none", "lz4", "zstd")


def unseen(cubin: bytes, at: int, container: str, value: int) -> bool:
    """What would have to be read whole, or what nothing around the cubin tells."""
    if container == "among data":  # sections that are missing at the end of a relocatable cubin
        return at == 60 and value < cubin[60] and cubin[16] == 1
    # Of compressed code only the beginning is read, where the section with the note is a usual one.
    return container in ("lz4", "zstd") and at == 51 and value in (5, 6)


@pytest.mark.parametrize("container", CONTAINERS)
def test_the_header_that_a_tool_wrote_is_not_told(container: str) -> None:
    for name, cubin in CUBINS.items():
        (image,) = images_of(in_file(cubin, container))
        assert image.problems == (), name


@given(
    st.sampled_from(sorted(CUBINS)),
    st.integers(4, 63),
    st.integers(0, 255),
    st.sampled_from(CONTAINERS),
)
@example("kernel-first-90-12.4.cubin", 40, 0, "among data")  # the section headers, moved
@example(OF_13_0, 48, 50, "bare")
@example(OF_13_0, 51, 7, "zstd")
@example(OF_13_0, 60, 8, "zstd")
@example(OF_12_4, 22, 1, "bare")
@example("nvrtc-13.5-sm_100.cubin", 48, 0xA, "zstd")
def test_a_header_that_no_tool_writes_is_told(
    name: str, at: int, value: int, container: str
) -> None:
    cubin = CUBINS[name]
    changed = cubin[:at] + bytes([value]) + cubin[at + 1 :]
    if unseen(cubin, at, container, value) or may_be_written(cubin, at, value):
        return
    assume(changed != cubin)
    assert all(image.problems for image in images_of(in_file(changed, container)))


def judged(cubin: bytes, target: str) -> Verdict:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "changed.cubin")
        path.write_bytes(cubin)
        (result,) = ltocompat.check([path], [target], route="link", cache=False)
    return result.verdict


@given(st.sampled_from(sorted(CUBINS)), st.integers(4, 63), st.integers(0, 255))
@example(OF_13_0, 51, 7)  # nvJitLink 13.4 links such a one of 13.5
def test_nothing_that_is_read_beside_such_a_header_decides(name: str, at: int, value: int) -> None:
    cubin = CUBINS[name]
    changed = cubin[:at] + bytes([value]) + cubin[at + 1 :]
    assume(changed != cubin and not may_be_written(cubin, at, value))
    # Older than all of them, so that they fail as they were.
    target = f"nvjitlink=12.0,gpu=sm_{architecture(cubin)}"
    assert judged(changed, target) is Verdict.UNKNOWN


def problems_of_flags(cubin: bytes) -> list[str]:
    found = [problem for image in images_of(cubin) for problem in image.problems]
    return [problem for problem in found if problem.startswith("e_flags")]


@pytest.mark.parametrize("flags", [0x3C0532, 0x3C0D32])
def test_the_assembler_alone_names_compute_60_in_code_for_sm_50(flags: int) -> None:
    # As 11 cubins of cuBLAS 12.1.3.1 do: ten with the first flags, one with the second.
    cubin = CUBINS[OF_12_4]
    by_compiler = cubin[:48] + flags.to_bytes(4, "little") + cubin[52:]
    by_assembler = by_compiler[:62] + (2).to_bytes(2, "little") + cubin[64:]
    assert problems_of_flags(by_compiler)
    assert not problems_of_flags(by_assembler)


def test_the_assembler_alone_writes_the_toolkit_130_and_compute_72_in_code_for_sm_70() -> None:
    # As two cubins of cuDNN 9.13.0.50 do, and with 12.4 one of 9.1.0.70.
    cubin = CUBINS[OF_12_4]
    for version, flags in ((124, 0x480546), (130, 0x480546), (130, 0x460546)):
        head = cubin[:20] + version.to_bytes(4, "little") + cubin[24:48]
        by_compiler = head + flags.to_bytes(4, "little") + cubin[52:]
        by_assembler = by_compiler[:62] + (2).to_bytes(2, "little") + cubin[64:]
        told = [parse_header(each[:64]).problem for each in (by_compiler, by_assembler)]
        assert told[0] is not None
        assert told[1] is None or told[1].startswith("the section headers of the cubin begin")
        assert parse_header(by_assembler[:64]).toolkit == version


@given(st.integers(50, 129), st.sampled_from([30, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 89]))
def test_code_older_than_hopper_is_never_for_one_gpu_alone(toolkit: int, number: int) -> None:
    """By compilers and by the assembler, with their mark for sm_90a or without it."""
    cubin = CUBINS[OF_12_4]
    for second, names in ((0x5, 1), (0xD, 1), (0xD, 2)):
        head = cubin[:20] + bytes([toolkit]) + cubin[21:48] + bytes([number, second, number])
        header = parse_header((head + cubin[51:62] + bytes([names, 0]))[:64])
        assert header.arch.suffix == ""
        written = second == 0x5 or names == 2 or has_mark_of_accelerated(number, toolkit)
        assert (header.problem or "").startswith("e_flags") is not written


def test_code_of_13_that_nvjitlink_12_5_or_12_6_linked_names_no_virtual_architecture() -> None:
    """As they link cubins of 13.0 to 13.5; driver 580.159.04 loads the result on an H200."""
    cubin = CUBINS["nvrtc-12.4-sm_80.cubin"]
    for toolkit in (124, 125, 126, 128):
        linked = cubin[:20] + bytes([toolkit]) + cubin[21:50] + bytes(1) + cubin[51:]
        assert bool(problems_of_flags(linked)) is (toolkit not in (125, 126))
        relocatable = linked[:16] + bytes([1]) + linked[17:]
        assert problems_of_flags(relocatable)


@given(st.sampled_from(sorted(CUBINS)), st.integers(1, 4096))
def test_bytes_behind_a_cubin_are_told(name: str, behind: int) -> None:
    found = images_of(CUBINS[name] + bytes(behind))
    assert all(image.problems for image in found)


@pytest.mark.parametrize(("name", "at"), [(OF_12_4, 48), (OF_13_0, 49)])
def test_code_for_an_architecture_that_never_was_is_no_code_for_its_successors(
    name: str, at: int
) -> None:
    # nvJitLink 13.5 on each: rc 3, bad input; sm_80, sm_86, sm_87 and sm_88 it links.
    for number in (81, 82, 83, 84, 85):
        cubin = CUBINS[name]
        changed = cubin[:at] + bytes([number]) + cubin[at + 1 :]
        assert judged(changed, "nvjitlink=13.5,gpu=sm_89") is Verdict.UNKNOWN, number


# Of long values some look like a record themselves.
VALUES = st.sampled_from([b"", b"\x79\0", b"\x79\0\0\0", b"\x03\x37\x07\0", b"\x03\x37\x07\0\0\0"])
RECORDS = st.lists(
    st.tuples(
        st.sampled_from([1, 2, 3, 4]), st.sampled_from([0x2F, 0x37]), st.integers(0, 8), VALUES
    ).map(lambda row: (row[0], row[1], len(row[3]) if row[0] == 4 else row[2], row[3])),
    max_size=5,
)


@given(st.sampled_from([0, 1, 1023, 1024, 3000]), RECORDS, st.integers(0, 3))
@example(0, [(4, 0x2F, 4, b"\x03\x37\x07\0"), (3, 0x37, 5, b"")], 0)
def test_an_attribute_has_the_value_of_its_first_record(
    others: int, rows: list[tuple[int, int, int, bytes]], cut: int
) -> None:
    data = bytes((1, 2, 0, 0)) * others
    want = None
    for kind, attribute, number, value in rows:
        data += bytes((kind, attribute)) + number.to_bytes(2, "little") + value * (kind == 4)
        if attribute == 0x37 and want is None:
            want = int.from_bytes(value[:4], "little") if kind == 4 else number
    assert first_value(data, 0x37, Budget()) == want
    # A record that is cut off is none.
    tail = bytes((4, 0x37, 4))[:cut]
    assert first_value(data + tail, 0x37, Budget()) == want


@pytest.mark.parametrize("number", [50, 52, 60, 61, 70, 75, 80, 86, 89, 90])
def test_no_gpu_before_hopper_has_code_for_it_alone(number: int) -> None:
    """cuBLAS 10.2 and 12.1 have cubins of the assembler with the flag 0x800 for sm_50 to sm_61.

    nvJitLink 12.4.127 links the one for sm_50 on sm_52.
    """
    cubin = CUBINS[OF_12_4]
    cubin = cubin[:48] + (number << 16 | 0xD00 | number).to_bytes(4, "little") + cubin[52:]
    by_assembler = cubin[:62] + (2).to_bytes(2, "little") + cubin[64:]
    suffix = "a" if number >= 90 else ""
    assert str(parse_header(by_assembler[:64]).arch) == f"sm_{number}{suffix}"
