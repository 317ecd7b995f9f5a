"""Kernels of a PTX text are found by what stands near them, and as in a text without comments."""

from __future__ import annotations

from collections.abc import Collection

from generated_ptx import Program, programs
from hypothesis import example, given
from hypothesis import strategies as st

from ltocompat.files.images import ptx, ptx_symbols
from ltocompat.model.limits import KIB, Budget
from ltocompat.model.symbols import DeviceSymbols
from ltocompat.scan.device_symbols import of_ptx, undefined_in_ptx

PIECES = (
    b".entry k()",
    b".visible .entry other(.param .u64 p)",
    b".entry",
    b"// .entry no()\n",
    b"//",
    b"\n",
    b"{",
    b"}",
    b"{ ret; }",
    b"{\n\tret;\n}\n",
    b"{\n// why\nret;\n}\n",
    b"bar.sync 0;",
    b" // filler\n" * 40,
    b"mov.u32 %r1, %r2;\n" * 40,
    b"'\"",
)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))
def test_the_short_way_finds_what_the_long_way_finds(text: bytes) -> None:
    # A comment of the other sort, which the short way doesn't read, changes nothing else.
    long_way = text + b"\n/**/"
    assert ptx.kernels(text, Budget()) == ptx.kernels(long_way, Budget())
    assert ptx.only_empty_kernels(text, Budget()) == ptx.only_empty_kernels(long_way, Budget())


@given(
    st.lists(st.sampled_from((*PIECES, b"/*", b"*/", b".en", b"try")), max_size=12).map(b"".join)
)
@example(b"/* c */ .entry k() { bar.sync 0; }")
@example(b"/* c */ .entry k() { ret; }")
def test_the_first_kernel_is_that_of_all(text: bytes) -> None:
    names, empty = ptx.kernels(text, Budget()), ptx.only_empty_kernels(text, Budget())
    assert ptx.first_kernel(text, Budget()) == (names[0] if names else None, empty)


def test_a_kernel_in_a_comment_is_none() -> None:
    text = b".version 8.0\n// .entry no()\n/* .entry no2() */ .entry yes() { ret; }\n"
    assert ptx.kernels(text, Budget()) == ("yes",)
    assert ptx.kernels(text.replace(b"/* .entry no2() */", b""), Budget()) == ("yes",)


def used(text: bytes, names: Collection[str]) -> object:
    return ptx_symbols.used(text, ptx_symbols.read(text, Budget()), names, Budget())


@given(programs, st.integers(0, 100))
def test_names_in_use_are_found_wherever_the_text_is_parted(program: Program, less: int) -> None:
    text = ptx.without_comments(program.text().encode(), Budget())
    names = ptx_symbols.read(text, Budget()).bodiless
    blanks = b" " * (64 * KIB - less)
    assert used(text, names) == used(text.replace(b"{", b"{" + blanks, 1), names)


COMMENTS = (" // .extern .func x;", " /* */", " // why", "")


@given(programs, st.sampled_from(COMMENTS))
def test_what_is_undefined_is_the_same_without_a_look_at_bodies(
    program: Program, comment: str
) -> None:
    text = program.text().replace(COMMENTS[0], comment).encode()
    assert undefined_in_ptx(text, Budget()) == (
        of_ptx(text, Budget()).without_definitions() if b".func" in text else DeviceSymbols()
    )


def test_a_name_in_use_is_a_whole_word_and_no_declaration() -> None:
    text = b"""
        .extern .func a (.param .b32 a_param_0); .extern .func b (); .extern .func c ();
        .extern .func d ();
        .visible .entry k() { call.uni a, (x); mov.u64 %rd1, ab; mov.u32 %a, $b; }
        .func f() { call c; }
        .global .u64 table[1] = { d };
    """
    assert used(text, ("a", "b", "d")) == (("a", "d"), ("a",))
    assert used(text, ("a", "b", "c", "d")) == (("a", "c", "d"), ("a",))
