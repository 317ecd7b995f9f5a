"""Any bytes end in a report or in one sentence, within the limits."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Iterator

import pytest
import samples
import zstandard
from every_case import every
from fatbin_writer import KINDS, EntrySpec, entry, region
from reading import images_of, records_of, skipped_of
from samples import Sample
from tiers import sampled

from ltocompat.files.byteview import ByteView
from ltocompat.files.fatbin import StoredModule
from ltocompat.files.fatbin.walk import FatbinWalk
from ltocompat.model.image import Artifact, Skipped
from ltocompat.model.limits import MIB, Budget, Limits
from ltocompat.model.location import Location
from ltocompat.scan.describe import ReadOptions, describe_module
from ltocompat.scan.walk import ScanSettings, records_of_view

SMALL = [s for s in samples.ALL if s.path.stat().st_size <= 4096]
LARGE = [s for s in samples.ALL if s.path.stat().st_size > 4096]
SIGNATURES = (b"\x50\xed\x55\xba", b"\x7fELF", b"\xed\x43\x4e\x7f", b"\x28\xb5\x2f\xfd", b"!<arch>")


def end(data: bytes) -> Artifact:
    """Read to the end, with everything that can be asked for."""
    last = records_of(data, detail=True)[-1]
    assert isinstance(last, Artifact)
    return last


@pytest.mark.slow
@pytest.mark.parametrize("sample", sampled(SMALL, 3), ids=lambda s: s.name)
def test_a_small_sample_cut_at_every_byte(sample: Sample) -> None:
    data = sample.path.read_bytes()
    for size in range(len(data)):
        end(data[:size])


@every("sample", samples.ALL[::4])
def test_a_sample_cut_around_every_structure(sample: Sample) -> None:
    _cut(sample, step=16)


@pytest.mark.slow
@pytest.mark.parametrize("sample", LARGE, ids=lambda s: s.name)
def test_a_large_sample_cut_in_every_byte_of_its_structures(sample: Sample) -> None:
    _cut(sample, step=1)


def _cut(sample: Sample, step: int) -> None:
    data = sample.path.read_bytes()
    for size in sorted(_boundaries(data, step)):
        end(data[:size])


def _boundaries(data: bytes, step: int) -> set[int]:
    """Sizes around every header that a signature begins, around entries, and at the end."""
    found = {0, len(data) - 1}
    for signature in SIGNATURES:
        at = data.find(signature)
        while at >= 0:
            found |= {at + size for size in (*range(-1, 81, step), 96, 128, 256, 512)}
            at = data.find(signature, at + 1)
    return {size for size in found if 0 <= size < len(data)}


def mutations(data: bytes, count: int, seed: str) -> Iterator[bytes]:
    """Copies with one to eight bytes changed: to extremes, flipped bits, or anything."""
    numbers = random.Random(seed)  # noqa: S311 - not for secrets
    for _ in range(count):
        copy = bytearray(data)
        for _ in range(numbers.choice((1, 1, 2, 8))):
            at = numbers.randrange(len(copy))
            copy[at] = numbers.choice((0, 1, 0x7F, 0xFF, copy[at] ^ 1 << numbers.randrange(8)))
        yield bytes(copy)


def _mutate(sample: Sample, count: int) -> None:
    data = sample.path.read_bytes()
    # Half of the changes go where structure is dense: the first bytes.
    for number, copy in enumerate(mutations(data, count, sample.name)):
        end(copy)
        if number % 2:
            head, tail = data[:512], data[512:]
            end(next(mutations(head, 1, f"{sample.name}{number}")) + tail)


NOT_EMPTY = [s for s in samples.ALL if s.path.stat().st_size]


@every("sample", NOT_EMPTY[::2])
def test_half_a_dozen_mutations(sample: Sample) -> None:
    _mutate(sample, 4)


@pytest.mark.slow
@pytest.mark.parametrize("sample", sampled(NOT_EMPTY, 3), ids=lambda s: s.name)
def test_five_hundred_mutations(sample: Sample) -> None:
    _mutate(sample, 334)


def zstd_entry(decoded: int, declared: int | None = None) -> bytes:
    payload = b".version 8.4\n.target sm_80\n".ljust(decoded)
    data = bytearray(entry(EntrySpec(KINDS["ptx"], payload, compression="zstd")))
    if declared is not None:
        data[0x38:0x40] = declared.to_bytes(8, "little")
    return region([bytes(data)])


def limit_hit(data: bytes, limits: Limits) -> str | None:
    (skipped,) = [r for r in records_of(data, limits=limits) if isinstance(r, Skipped)]
    return skipped.limit


def test_a_bomb_hits_the_ratio() -> None:
    assert limit_hit(zstd_entry(64 << 20), Limits()) == "image_ratio"


def test_a_large_image_of_lz4_hits_the_memory_that_decoding_takes() -> None:
    text = b".version 8.4\n.target sm_80\n" + bytes(range(256)) * (1 << 14)
    data = region([entry(EntrySpec(KINDS["ptx"], text, compression="lz4"))])
    limit = 2 * len(text)
    assert limit_hit(data, Limits(window_bytes=limit - 1)) == "window_bytes"
    assert not skipped_of(data, limits=Limits(window_bytes=limit))


def test_a_lying_size_is_found_out_without_decoding_it_all() -> None:
    data = zstd_entry(64 << 20, declared=900_000)
    (skipped,) = [r for r in records_of(data, detail=True) if isinstance(r, Skipped)]
    assert skipped.reason.startswith(
        "a Zstandard frame has 67108864 bytes, but its entry says 900000"
    )


def test_time_is_limited() -> None:
    data = region([entry(EntrySpec(KINDS["ptx"], b".version 8.4\n.target sm_80\n"))])
    assert limit_hit(data, Limits(seconds=-1.0)) == "seconds"


def test_once_the_time_is_used_up_the_images_left_keep_their_entries_and_share_one_reason() -> None:
    spec = EntrySpec(KINDS["ptx"], b".version 8.4\n.target sm_80\n".ljust(32), sm=80)
    budget = Budget()
    (module,) = FatbinWalk(ByteView.of(region([entry(spec)] * 9)), Location("x"), None, budget)
    assert isinstance(module, StoredModule)
    budget.deadline = time.monotonic() - 1.0
    described, (skipped,) = describe_module(module, ReadOptions())
    assert [str(image.place) for image in described.images] == [f"x@0x0.{n}" for n in range(9)]
    assert {str(image.arch) for image in described.images} == {"compute_80"}
    assert all("time limit" in problem for image in described.images for problem in image.problems)
    assert str(skipped.place) == "x@0x0"
    assert skipped.reason.startswith("9 of its 9 images are not read: the time limit of 600 s")
    assert (skipped.limit, skipped.size) == ("seconds", 9 * len(spec.payload))


def test_a_flood_of_skipped_places_is_folded() -> None:
    broken = region([b"\x01" * 64])
    found = skipped_of(broken * 500, limits=Limits(skipped=20))
    assert len(found) == 21
    assert found[-1].limit == "skipped"
    assert found[-1].reason == f"{len(skipped_of(broken * 500)) - 20} more places were skipped"


def test_one_skipped_place_more_than_the_limit_is_told() -> None:
    broken = region([b"\x01" * 64])
    number = len(skipped_of(broken * 3))
    (*_, last) = skipped_of(broken * 3, limits=Limits(skipped=number - 1))
    assert (last.reason, last.limit) == ("1 more places were skipped", "skipped")


def test_archives_inside_archives_end() -> None:
    data = region([entry(EntrySpec(KINDS["ptx"], b".version 8.4\n.target sm_80\n"))])
    for _ in range(9):
        header = b"m/".ljust(16) + b"0".ljust(32) + str(len(data)).encode().ljust(10) + b"`\n"
        data = b"!<arch>\n" + header + data + b"\n" * (len(data) % 2)
    assert limit_hit(data, Limits()) == "depth"


def test_a_frame_that_promises_more_memory_than_there_is() -> None:
    frame = zstandard.ZstdCompressor().compress(b"x" * 100)
    huge = frame[:4] + b"\xe0" + (1 << 62).to_bytes(8, "little") + frame[6:]
    spec = EntrySpec(KINDS["sass"], b"", compression="none")
    data = bytearray(region([entry(spec)]))
    data += huge
    end(bytes(data))


def test_ltoir_of_sm_110_bears_its_old_number_and_contradicts_nothing() -> None:
    ltoir = bytearray((samples.FOLDER / "ltoir/nvrtc-13.0-lto_80.ltoir").read_bytes())
    ltoir[26:28] = (10 * 101).to_bytes(2, "little")
    for sm, problems in ((110, 0), (101, 0), (100, 1)):
        spec = EntrySpec(KINDS["ltoir"], bytes(ltoir), sm=sm, version=(1, ltoir[5]))
        (image,) = images_of(region([entry(spec)]))
        assert len(image.problems) == problems


class Sparse:
    """A file of zeros behind its first bytes; a machine has no memory for much of it at once."""

    def __init__(self, start: bytes, size: int) -> None:
        self._start, self.size = start, size

    def pread(self, size: int, offset: int) -> bytes:
        if size > 300 * MIB:
            raise MemoryError(f"{size} bytes at once")
        return self._start[offset : offset + size].ljust(min(size, self.size - offset), b"\0")


def ar_header(name: bytes, size: int) -> bytes:
    return b"!<arch>\n" + name.ljust(48) + str(size).encode().ljust(10) + b"`\n"


def cubin_with_names_of(size: int) -> bytes:
    sound = next(sample for sample in SMALL + LARGE if sample.path.suffix == ".cubin")
    head = bytearray(sound.path.read_bytes()[:64])
    head[0x28:0x30] = struct.pack("<Q", 64)
    head[0x3A:0x40] = struct.pack("<HHH", 64, 2, 1)
    return bytes(head) + bytes(64) + struct.pack("<IIQQQQIIQQ", 1, 3, 0, 0, 192, size, 0, 0, 0, 0)


def entry_with(spec: EntrySpec, layout: str, at: int, *values: int) -> bytes:
    """A region of one entry, in which some fields were changed."""
    data = bytearray(entry(spec))
    struct.pack_into(layout, data, at, *values)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 2 * MUCH) + bytes(data)


MUCH = 4_000_000_000
PTX_ZSTD = EntrySpec(KINDS["ptx"], b".version 8.4\n", compression="zstd")
SCRAMBLED = EntrySpec(KINDS["ltoir"], b"x" * 99, compression="zstd", scrambled=True)


@pytest.mark.parametrize(
    ("start", "limit"),
    [
        (ar_header(b"//", MUCH), "names_bytes"),
        (ar_header(b"#1/%d" % MUCH, MUCH), None),
        (cubin_with_names_of(MUCH), "names_bytes"),
        (entry_with(SCRAMBLED, "<I", 4, MUCH), None),
        (entry_with(PTX_ZSTD, "<QI", 8, MUCH, MUCH), "image_bytes"),
    ],
    ids=["archive's names", "BSD name", "cubin's names", "header of an entry", "stored image"],
)
def test_what_a_file_says_to_be_large_is_not_held_in_memory(
    start: bytes, limit: str | None
) -> None:
    view = ByteView(Sparse(start, 3 * MUCH))
    settings = ScanSettings(ReadOptions(kernels=True), Limits(seconds=1.0), jobs=1)
    records = list(records_of_view(view, Location("x"), settings))
    first = next(record for record in records if isinstance(record, Skipped))
    assert first.limit == limit
