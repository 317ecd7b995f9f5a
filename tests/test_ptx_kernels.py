"""Kernels of a PTX text are found by what stands near them, and as in a text without comments."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ltocompat.files.images import ptx
from ltocompat.model.limits import Budget

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


def test_a_kernel_in_a_comment_is_none() -> None:
    text = b".version 8.0\n// .entry no()\n/* .entry no2() */ .entry yes() { ret; }\n"
    assert ptx.kernels(text, Budget()) == ("yes",)
    assert ptx.kernels(text.replace(b"/* .entry no2() */", b""), Budget()) == ("yes",)
