"""A file read in slices, by any number of processes and cut anywhere, is what one process reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from unittest import mock

import pytest
from fatbin_writer import KINDS, EntrySpec, concatenated, entry, region
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from samples import FOLDER
from worker_pool import in_order

from ltocompat.files.archives import container_of
from ltocompat.files.byteview import ByteView
from ltocompat.files.fatbin import StoredModule
from ltocompat.files.fatbin.walk import FatbinWalk
from ltocompat.files.objects import read_host
from ltocompat.model.image import HostBinary, Module, Skipped
from ltocompat.model.limits import DEFAULT_LIMITS, Budget, Limits, Recent
from ltocompat.model.location import Location
from ltocompat.scan import slices, workers
from ltocompat.scan.describe import HeaderReader, ReadOptions
from ltocompat.scan.slices import SlicedFile
from ltocompat.scan.walk import ScanSettings, records_of_view

PLACE = Location("input")
HOSTS = [
    (FOLDER / "objects" / name).read_bytes()
    for name in ("libaxpy-no-device-link.so", "nvcc-13.0-rdc-sass+ptx", "nvcc-13.5-rdc-axpy.o")
]
CUBIN = (FOLDER / "cubin" / "nvcc-13.0-sm_80.cubin").read_bytes()
LTOIR = (FOLDER / "ltoir" / "nvrtc-13.0-lto_80.ltoir").read_bytes()
PTX = b".version 8.4\n.target sm_80\n".ljust(200)
SPECS = [
    EntrySpec(KINDS["sass"], CUBIN, compression="zstd"),
    EntrySpec(KINDS["sass"], CUBIN),
    EntrySpec(KINDS["ptx"], PTX, compression="lz4"),
    EntrySpec(KINDS["ltoir"], LTOIR),
    # An image that holds what looks like a fatbin, which no walk enters from its beginning.
    EntrySpec(0x300, region([entry(EntrySpec(KINDS["ptx"], PTX))]) * 3),
]
REGIONS = st.lists(st.sampled_from(SPECS), max_size=3).map(
    lambda specs: region([entry(spec) for spec in specs])
)
PIECES = st.one_of(
    REGIONS,
    REGIONS,
    st.just(region([concatenated(SPECS[:2], "zstd")])),
    st.sampled_from([CUBIN, LTOIR, b"\x28\xb5\x2f\xfd", b"\x7fELF\x02\x01\x01", b"MZ"]),
    st.binary(max_size=90),
    st.integers(1, 200).map(bytes),
    # A header that says more than there is.
    REGIONS.map(lambda data: data[:8] + (1 << 40).to_bytes(8, "little") + data[16:]),
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Pieces one behind the other, at times behind a host file, changed somewhere, or cut short."""
    host = draw(st.sampled_from([b"", b"", *HOSTS]))
    data = bytearray(host + b"".join(draw(st.lists(PIECES, min_size=1, max_size=6))))
    for _ in range(draw(st.integers(0, 2))):
        if data:
            at = draw(st.integers(0, len(data) - 1))
            data[at] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(len(data) * 3 // 4, len(data)))])


def sliced(data: bytes, limits: Limits = DEFAULT_LIMITS) -> SlicedFile[Module]:
    view, budget = ByteView.of(data), Budget(limits)
    return SlicedFile(view, PLACE, read_host(view, budget), budget, HeaderReader(ReadOptions()))


def spans(data: bytes, cuts: Iterable[int]) -> list[tuple[int, int]]:
    return list(pairwise(sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})))


def is_plain(data: bytes) -> bool:
    return bool(data) and container_of(ByteView.of(data)) is None


def whole(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Sequence[object]:
    """What one process finds; of problems of a host file nothing is said by slices."""
    view = ByteView.of(data)
    host = read_host(view, Budget(limits))
    if host is not None:
        host.registration()  # finds some of them
    problems = () if host is None else host.problems
    found = records_of_view(view, PLACE, ScanSettings(limits=limits, jobs=1))
    return [
        record
        for record in found
        if isinstance(record, Module)
        or (isinstance(record, Skipped) and record.reason not in problems)
    ]


CUTS = st.lists(st.integers(0, 1 << 20), max_size=5)
NESTED = region([entry(SPECS[4]), entry(SPECS[0])]) + region([entry(SPECS[1])])


TWICE = region([entry(SPECS[0])]) * 2  # 3,240 bytes each, decoded


@settings(max_examples=150)
@given(files(), CUTS)
@example(NESTED, [100, 160, 400])
@example(HOSTS[0], [5000, 9000])
def test_slices_cut_anywhere_are_the_whole(data: bytes, cuts: list[int]) -> None:
    assume(is_plain(data))
    expected = whole(data)
    file, parts = sliced(data), spans(data, cuts)
    assert list(file.joined(parts, map(file.read, parts))) == expected


@given(files(), CUTS, st.integers(0, 20_000))
@example(NESTED, [160, 700], 3000)
@example(TWICE, [len(TWICE) // 2], 5000)
def test_limits_count_over_all_slices(data: bytes, cuts: list[int], decoded: int) -> None:
    limits = Limits(total_bytes=decoded)
    assume(is_plain(data))
    expected = whole(data, limits)
    file, parts = sliced(data, limits), spans(data, cuts)
    assert list(file.joined(parts, map(file.read, parts))) == expected


@pytest.mark.parametrize("less", [0, 1])
def test_what_a_slice_has_within_the_limits_is_not_read_again(less: int) -> None:
    """Of bytes that are decoded, and of places that can't be read."""
    limits = Limits(total_bytes=2 * 3240 - less)
    file, parts = sliced(TWICE, limits), spans(TWICE, [len(TWICE) // 2])
    read = [file.read(part) for part in parts]
    walk = FatbinWalk.until
    with mock.patch.object(FatbinWalk, "until", side_effect=walk, autospec=True) as again:
        list(file.joined(parts, read))
    assert [call.args[1] for call in again.call_args_list] == [len(TWICE)] * less
    broken = region([entry(EntrySpec(KINDS["sass"], b"x" * 64))]) * 3
    assert (sliced(broken, Limits(skipped=3 - less)).read((0, len(broken))) is None) == (less == 1)


def test_no_time_is_told_as_by_one_process() -> None:
    limits = Limits(seconds=-1.0)
    file, parts = sliced(NESTED, limits), spans(NESTED, [100, 700])
    assert list(file.joined(parts, map(file.read, parts))) == [
        Skipped(record.place, record.reason, record.size, "seconds")
        for record in whole(NESTED, limits)
        if isinstance(record, Skipped)
    ]


class Counted:
    """Bytes in memory, and how many of them were read."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)
        self.taken = 0

    def pread(self, size: int, offset: int) -> bytes:
        self.taken += size
        return self._data[offset : offset + size]


@pytest.mark.parametrize("number", [1, 4, 16])
def test_slices_without_device_code_are_read_once(number: int) -> None:
    source = Counted(bytes(16 << 20) + NESTED)
    file = SlicedFile(ByteView(source), PLACE, None, Budget(), HeaderReader(ReadOptions()))
    step = source.size // number
    for part in spans(bytes(source.size), range(step, source.size, step)):
        file.read(part)
    assert source.taken < 1.3 * source.size  # each looks a window further than to its end


def test_files_are_cut_between_regions_however_small_they_are() -> None:
    data = (FOLDER / "objects" / "nvcc-13.0-rdc-sass").read_bytes()
    file = sliced(data)
    assert file.host is not None
    regions = file.host.registration().regions
    assert len(regions) == 3
    assert {start for start, _ in file.spans(2)} == {0, *regions}


def test_no_region_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is cut off one is read by itself, and then again with its region."""
    monkeypatch.setattr(slices, "_STEP", 100)
    file = sliced((FOLDER / "objects" / "nvcc-13.0-rdc-sass").read_bytes())
    regions = [
        (stored.region.start, stored.region.start + stored.region.size)
        for stored in FatbinWalk(file.view, PLACE, file.host, file.budget)
        if isinstance(stored, StoredModule) and stored.region is not None
    ]
    assert any(end - start > 1000 for start, end in regions)
    cuts = [start for start, _ in file.spans(16)]
    assert len(cuts) > 50
    assert [cut for cut in cuts for start, end in regions if start < cut < end] == []


@given(st.lists(st.tuples(st.integers(0, 250), st.integers(0, 250)), max_size=6))
def test_slices_are_of_as_many_bytes_where_no_region_is_in_the_way(
    parts: list[tuple[int, int]],
) -> None:
    """Each part is zeros and a region; each region begins a slice, where there are few."""
    data, inside = b"", list[range]()
    for gap, size in parts:
        start = len(data) + gap
        data += bytes(gap) + region([bytes(size)])
        inside.append(range(start, len(data)))
    data += bytes(50)
    host = mock.Mock(**{"registration.return_value.regions": {each.start for each in inside}})
    file = SlicedFile(ByteView.of(data), PLACE, host, Budget(), HeaderReader(ReadOptions()))
    with mock.patch.object(slices, "_STEP", 100):
        cuts = [start for start, _ in file.spans(10_000)]
    expected = {0, *(each.start for each in inside)}
    for at in range(100, len(data), 100):
        around = [each.stop for each in inside if at in each]
        expected.add(around[0] if around else at)
    assert cuts == sorted(expected)


def test_regions_with_broken_headers_are_cut_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "_STEP", 100)
    data = bytearray((FOLDER / "objects" / "nvcc-13.0-rdc-sass").read_bytes())
    host = sliced(bytes(data)).host
    assert host is not None
    for start in host.registration().regions:
        data[start] ^= 1
    file = sliced(bytes(data))
    spans = file.spans(16)
    assert {end - start for start, end in spans if end < file.view.size} <= set(range(1, 252))
    assert list(file.joined(spans, map(file.read, spans))) == whole(bytes(data))


@settings(max_examples=5)
@given(files(), CUTS)
@example(NESTED, [100, 160, 400])
def test_processes_read_what_one_reads(data: bytes, cuts: list[int]) -> None:
    assume(is_plain(data))
    expected = whole(data)
    parts = spans(data, cuts)
    for number in (2, 5, 16):
        file = sliced(data)
        assert list(file.joined(parts, in_order(file.read, parts, number))) == expected


def test_a_module_is_finished_here_whoever_read_it() -> None:
    """And what was decoded for it is let go of."""
    parts = spans(TWICE, [len(TWICE) // 2])
    finish = mock.patch.object(
        HeaderReader, "finish", lambda _, module: replace(module, uneven=True)
    )
    for missing in ((), (0,), (0, 1)):
        file = sliced(TWICE)
        read = [None if at in missing else file.read(part) for at, part in enumerate(parts)]
        with finish, mock.patch.object(Recent, "forget") as forget:
            found = [each for each in file.joined(parts, read) if isinstance(each, Module)]
        assert [each.uneven for each in found] == [True, True]
        assert forget.call_count == len(missing)


def test_this_process_reads_nothing_that_a_worker_reads() -> None:
    """What the file needs is read by one of them, too, and told last."""
    data = (FOLDER / "objects" / "nvcc-13.0-rdc-sass").read_bytes()
    file, here = sliced(data), list[str]()
    expected = whole(data)
    assert file.host is not None
    described = file.host.describe(PLACE)

    def needing() -> HostBinary:
        if not workers.inside():
            here.append("needing")
        return described

    walk = FatbinWalk.until
    with mock.patch.object(FatbinWalk, "until", side_effect=walk, autospec=True) as read:
        found = list(file.by_workers(2, needing))
    assert [*filter(lambda record: isinstance(record, Module), found)] == [
        record for record in expected if isinstance(record, Module)
    ]
    assert (found[-1], here, read.call_count) == (described, [], 0)
