"""Deflated data is unpacked as zlib unpacks it, and damage is told where zlib tells it."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltocompat.files import codec
from ltocompat.files.archives import unpacking
from ltocompat.files.archives.unpacking import unpacked
from ltocompat.files.byteview import ByteView
from ltocompat.files.codec import Input
from ltocompat.files.first_bytes import Packing
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import Budget, Limits

PACKINGS = {Packing.GZIP: 31, Packing.DEFLATE: -15}
STRATEGIES = [
    zlib.Z_DEFAULT_STRATEGY,
    zlib.Z_FILTERED,
    zlib.Z_HUFFMAN_ONLY,
    zlib.Z_RLE,
    zlib.Z_FIXED,
]
CONTENTS = st.builds(
    bytes.__mul__, st.binary(min_size=1, max_size=700), st.sampled_from([1, 2, 60, 400, 1500])
)


@st.composite
def streams(
    draw: st.DrawFn, packing: Packing, contents: st.SearchStrategy[bytes] = CONTENTS
) -> tuple[bytes, bytes]:
    """Data, and one stream that holds it."""
    data = draw(contents)
    level, strategy = draw(st.sampled_from([0, 1, 6, 9])), draw(st.sampled_from(STRATEGIES))
    packer = zlib.compressobj(level, zlib.DEFLATED, PACKINGS[packing], 8, strategy)
    cut = draw(st.integers(0, len(data)))
    flush = draw(st.sampled_from([zlib.Z_NO_FLUSH, zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH]))
    stored = packer.compress(data[:cut]) + packer.flush(flush) + packer.compress(data[cut:])
    return data, stored + packer.flush()


def read(stored: bytes, packing: Packing) -> tuple[bytes, bool, int]:
    """The bytes, whether the stream is whole, and how many bytes it takes."""
    source = Input(ByteView.of(stored))
    found: list[bytes] = []
    try:
        found.extend(unpacked(source, packing, Budget(Limits())))
    except Malformed:
        return b"".join(found), False, source.position
    return b"".join(found), True, source.position


def of_zlib(stored: bytes, packing: Packing) -> tuple[bytes, bool, int]:
    decoder = zlib.decompressobj(PACKINGS[packing])
    found, rest = b"", stored
    try:
        for start in range(len(stored)):
            found += decoder.decompress(stored[start : start + 1])
            rest = stored[start + 1 :]
            if decoder.eof:
                break
    except zlib.error:
        pass
    return found, decoder.eof, len(stored) - len(rest)


@pytest.mark.parametrize("packing", PACKINGS)
@given(data=st.data())
def test_a_whole_stream_gives_its_bytes(packing: Packing, data: st.DataObject) -> None:
    content, stored = data.draw(streams(packing))
    assert read(stored, packing) == (content, True, len(stored))


@pytest.mark.parametrize("packing", PACKINGS)
@given(data=st.data(), step=st.integers(1, 130), read_size=st.integers(1, 110))
def test_steps_of_any_size_give_the_same_bytes(
    packing: Packing, data: st.DataObject, step: int, read_size: int
) -> None:
    """As in libxc.so of gpu4pyscf-libxc-cuda13x 0.9.0: a step of output ended where a read did."""
    content, stored = data.draw(streams(packing, st.binary(min_size=700, max_size=3000)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "READ", read_size)
        patch.setattr(unpacking, "_STEP", step)
        assert read(stored, packing) == (content, True, len(stored))
        cut = stored[: data.draw(st.integers(1, len(stored) - 1))]
        assert not read(cut, packing)[1]


@given(parts=st.lists(streams(Packing.GZIP), min_size=2, max_size=4), zeros=st.integers(0, 600))
def test_gzip_members_follow_each_other(parts: list[tuple[bytes, bytes]], zeros: int) -> None:
    stored = (b"\0" * zeros).join(stored for _, stored in parts)
    assert read(stored, Packing.GZIP) == (b"".join(data for data, _ in parts), True, len(stored))


@pytest.mark.parametrize("packing", PACKINGS)
@given(data=st.data())
def test_a_stream_that_is_cut_off_is_not_whole(packing: Packing, data: st.DataObject) -> None:
    content, stored = data.draw(streams(packing))
    found, whole, _ = read(stored[: data.draw(st.integers(1, len(stored) - 1))], packing)
    assert not whole
    assert content.startswith(found)


@pytest.mark.parametrize("packing", PACKINGS)
@given(data=st.data())
def test_changed_bytes_never_give_other_bytes_than_zlib(
    packing: Packing, data: st.DataObject
) -> None:
    """ISA-L admits some codes and flags that zlib refuses: the sums of gzip hold there still."""
    _, stored = data.draw(streams(packing))
    changed = bytearray(stored)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(
            st.integers(0, len(stored) - 1) | st.integers(0, min(40, len(stored)) - 1)
        )
        changed[place] ^= 1 << data.draw(st.integers(0, 7))
    content, whole, used = of_zlib(bytes(changed), packing)
    found, unpacks, position = read(bytes(changed), packing)
    if whole and (packing is Packing.DEFLATE or used == len(changed)):
        assert (found, unpacks, position) == (content, True, used)
    elif unpacks and packing is Packing.GZIP:
        sums = zlib.crc32(found).to_bytes(4, "little") + len(found).to_bytes(4, "little")
        assert bytes(changed[:position]).endswith(sums)
    else:
        assert unpacks or found.startswith(content[: len(found)]) or content.startswith(found)


def test_the_name_and_comment_of_gzip_are_passed_over() -> None:
    stored = gzip.compress(b"data" * 9)
    named = stored[:3] + b"\x1c" + stored[4:10] + b"\3\0abcname\0comment\0" + stored[10:]
    assert read(named, Packing.GZIP) == (b"data" * 9, True, len(named))
