from __future__ import annotations

from io import StringIO

import pytest
from report_values import NVLINK, PTXAS, STRADDLING, ltoir, sass

from ltocompat.model.arch import Release
from ltocompat.model.image import Compression, Producer, Role
from ltocompat.model.location import Location
from ltocompat.model.words import function_name
from ltocompat.report import Options, Report, writer
from ltocompat.report.document import Column, Table
from ltocompat.report.text import (
    Few,
    alternatives,
    binary_size,
    clip_place,
    escape,
    evidence_label,
    first_clauses,
    makers_label,
    sentence,
)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("run pip install nvidia-nvjitlink-cu12", ""),
        ("add --trial-link", ""),
        ("run patchelf --remove-rpath k/libx.so", ""),
        ("for example driver=580,gpu=h100,nvjitlink=13.5", ""),
        ("rebuild for the GPU (-gencode arch=compute_90,code=sm_90)", "."),
        ("run `ltocompat inspect --images FILE`", "."),
        ("update the driver", "."),
        ("update the driver.", ""),
    ],
)
def test_a_full_stop_never_becomes_part_of_a_pasted_command(text: str, end: str) -> None:
    assert sentence(text) == f"{text}{end}"
    if not text.endswith("."):
        mark = ". Or" if end else "; or"
        assert alternatives([text, "wait"]) == f"{text}{mark} wait"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1024**2 - 1, "1.0 MiB"),
        (550 * 1024**2, "550.0 MiB"),
        (1024**5 * 3, "3,072.0 TiB"),
    ],
)
def test_sizes_are_in_binary_units(size: int, text: str) -> None:
    assert binary_size(size) == text


def test_the_first_clause_is_never_cut() -> None:
    clause = "libx needs driver 575.51.03 but it is for CUDA 12, whose drivers begin at 525"
    assert first_clauses(clause, 60) == clause
    assert first_clauses(f"{clause}; more of it", 60) == clause


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain, ünïcödé", "plain, ünïcödé"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\tb\r\nc", r"a\x09b\x0d\x0ac"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\udcff", r"\xff"),
        ("\ud800", r"\ud800"),
        ("\U000e0001", r"\U000e0001"),
        ("\x9b31m", r"\x9b31m"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_escaped(text: str, said: str) -> None:
    assert escape(text) == said


def test_makers_are_named_with_what_the_bytes_say_and_nothing_more() -> None:
    assert makers_label(()) == "unknown"
    assert makers_label((PTXAS, NVLINK)) == "ptxas 13.0.88, nvlink 13.0.88"
    assert makers_label((STRADDLING,)) == "{13.3, 13.4, 13.5}"
    linker = Producer(Role.LINKER, None, None, (Release(13, 4),), "producer string")
    assert makers_label((linker,)) == "linker {13.4}"
    assert evidence_label((PTXAS, NVLINK)) == "tkinfo note"


def test_scrambling_is_said_with_the_compression() -> None:
    assert sass(Location("a")).stored_as == "zstd"
    assert ltoir(Location("a")).stored_as == "scrambled zstd"
    assert ltoir(Location("a"), compression=Compression.NONE).stored_as == "scrambled"


def test_few_keeps_so_many_distinct_values_and_says_that_there_were_more() -> None:
    few: Few[int] = Few(2)
    for number in (1, 1, 2):
        few.add(number)
    assert (list(few), few.more) == ([1, 2], False)
    few.add(3)
    assert (list(few), few.more) == ([1, 2], True)


def test_a_word_that_a_table_breaks_begins_no_line_with_a_command() -> None:
    columns = (Column("a"), Column("b", width=20))
    cells = ("y" * before + "::set-output name=a::b" for before in range(60))
    tables = [Table(columns, (("x", cell),)) for cell in cells]
    report = Report[object](lambda *_: iter(tables), lambda *_: iter(()))
    text = StringIO()
    writer("table")(report, (), text, Options(width=40))
    assert "set-output" in text.getvalue()
    assert not any(line.lstrip().startswith("::") for line in text.getvalue().splitlines())


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("saxpy", "saxpy"),
        ("_Z5saxpyfPf", "saxpy"),
        ("_ZN7cutlass6KernelINS_4gemm6kernelE", "cutlass::Kernel<..>"),
        ("_ZN12_GLOBAL__N_13addEv", "add"),
        ("_ZL3addi", "add"),
        ("_Z", "_Z"),
        ("_ZN99x", "_ZN99x"),  # cut
        ("_Z3foo3Bar", "foo"),  # with a parameter of a type of its own
        (
            "_ZN3cub21_V_300303_SM_750_12006detail11EmptyKernelIvEEvv",
            "cub::detail::EmptyKernel<..>",
        ),
        ("_ZN3one8detail_a8detail_b26KernelThatIsToldFromOthersEv", "KernelThatIsToldFromOthers"),
    ],
)
def test_a_kernel_has_its_name_in_cpp(symbol: str, name: str) -> None:
    assert function_name(symbol, 30) == name


def test_a_place_that_is_too_long_loses_folders_first() -> None:
    place = f"/work/{'deep/' * 9}x-1.0.whl::lib/libx.so@0x40"
    assert clip_place(place, 40).endswith("deep/x-1.0.whl::lib/libx.so@0x40")
    assert len(clip_place(place, 20)) == 20


def test_a_name_of_no_letters_is_the_whole_symbol() -> None:
    assert function_name("_Z0kernel", 30) == "_Z0kernel"
