"""Small readers at the last value that holds and at the first that doesn't, against plain ones."""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import gzip
import hashlib
import io
import os
import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, cast
from unittest import mock

import pytest
import zstandard
from fatbin_writer import KINDS, EntrySpec, concatenated, entry, region
from hypothesis import given
from hypothesis import strategies as st
from package_writer import tar_of, zip_of
from packaging.version import Version
from samples import FOLDER
from verdict_values import PROD, result

import ltocompat
from ltocompat.commands import link, matrix
from ltocompat.commands.comparison import release_side
from ltocompat.commands.comparison.requirement_changes import _Floor
from ltocompat.commands.diff import _roots
from ltocompat.commands.files_at_fault import _holds, _of_result, _packages_of, _targets
from ltocompat.commands.init import _Drafting
from ltocompat.commands.link import _reason
from ltocompat.commands.losses import with_losses
from ltocompat.commands.options import CheckOptions, LinkOptions, RequireOptions
from ltocompat.commands.policy.draft import DraftTarget
from ltocompat.commands.policy.extent import _asks_no_more
from ltocompat.commands.policy.keys import _brief
from ltocompat.commands.policy.mangled_names import source_name
from ltocompat.commands.require import _system
from ltocompat.commands.selftest import linker_error
from ltocompat.commands.survey import fetch
from ltocompat.commands.survey.http import Part
from ltocompat.commands.survey.run import _Run
from ltocompat.commands.trials import Trials
from ltocompat.commands.weigh import demangled
from ltocompat.facts.gpus import sms
from ltocompat.files.byteview import ByteView
from ltocompat.files.codec import Payload
from ltocompat.files.images import tileir
from ltocompat.files.inside import open_inside
from ltocompat.files.objects.ptx_texts import ptx_texts
from ltocompat.files.objects.relocations import RelocationTable, relocations_at
from ltocompat.files.output import _overwrite, _Part, replaced
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.errors import LtocompatError, Malformed, UnreadableInput, UsageError
from ltocompat.model.image import Compression, ImageKind, Module, Skipped
from ltocompat.model.limits import Budget, Limits
from ltocompat.model.linker import Tool
from ltocompat.model.location import Location
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import OTHER_VARIANT, Loss, Verdict
from ltocompat.scan import parallel, slices, workers
from ltocompat.scan.parallel import _for_us, _size
from ltocompat.scan.sources import opened_file, source_names
from ltocompat.scan.walk import spooled
from ltocompat.targets.machine import python_environment
from ltocompat.trial import try_links
from ltocompat.trial.values import Answer, LinkOutcome, Step


@given(
    st.sampled_from([32, 64]),
    st.lists(st.integers(0, 400), max_size=40, unique=True),
    st.sets(st.integers(0, 1700), max_size=30),
)
def test_packed_relocations_are_those_that_were_packed(
    bits: int, slots: list[int], wanted: set[int]
) -> None:
    """Of whole words, wherever a bitmap ends and whatever lies between two words."""
    width = bits // 8
    places = sorted(slot * width for slot in slots)
    found = relocations_at(_packed(places, bits), wanted)
    assert sorted(each.where for each in found) == sorted(wanted & set(places))


def _packed(places: list[int], bits: int) -> RelocationTable:
    """RELR as linkers write it (ELF gABI): an address, then bitmaps of the words behind it."""
    width, words, left = bits // 8, [], list(places)
    while left:
        words.append(left[0])
        base = left.pop(0) + width
        while left and left[0] < base + (bits - 1) * width:
            inside = [place for place in left if place < base + (bits - 1) * width]
            words.append(1 | sum(2 << (place - base) // width for place in inside))
            left = left[len(inside) :]
            base += (bits - 1) * width
    data = struct.pack(f"<{len(words)}{'Q' if bits == 64 else 'I'}", *words)
    return RelocationTable(ByteView.of(data), Budget(), bits, 0, len(data), "RELR")


@pytest.mark.parametrize("behind", [b"", b"\n", b"a"])
def test_a_ptx_text_may_end_with_its_file(behind: bytes) -> None:
    text = b"//\n.version 8.4\n.target sm_90"
    (told,) = ptx_texts(ByteView.of(text + behind), Budget())
    assert str(told).startswith("1 text of PTX 8.4 for sm_90")


def test_a_head_of_tile_ir_is_ten_bytes() -> None:
    head = b"\x7fTileIR\0\x0d\x05"
    assert (len(head), tileir.parse(head)) == (10, "13.5")
    for broken in (head[:-1], b"\0" + head[1:]):
        with pytest.raises(Malformed):
            tileir.parse(broken)


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_Z3foo3Bar", "foo"),  # with a parameter of a type of its own
        ("_ZN3foo3BarE3Baz", "foo::Bar"),
        ("_ZSt4sort3Bar", "std::sort"),
        ("_Z4foo", ""),
        ("saxpy", ""),
    ],
)
def test_a_name_ends_where_its_parameters_begin(mangled: str, name: str) -> None:
    assert source_name(mangled) == name


def test_a_concatenated_entry_without_images_is_told(tmp_path: Path) -> None:
    path = tmp_path / "none.fatbin"
    path.write_bytes(region([concatenated([])]))
    told = [r.reason for r in ltocompat.inspect(path) if isinstance(r, Skipped)]
    assert any("gives its number of images as 0" in reason for reason in told), told


FLOORS = st.builds(
    _Floor[Release],
    version=st.sampled_from([None, Release(12, 4), Release(12, 8), Release(13, 0)]),
    beyond=st.booleans(),
)


@given(FLOORS, FLOORS)
def test_one_floor_of_two_is_higher_at_most(one: _Floor[Release], other: _Floor[Release]) -> None:
    """Beyond all known ones is higher than each of them, and than one that nobody knows."""
    assert not (one.above(other) and other.above(one))
    if one.beyond != other.beyond:
        assert one.above(other) is one.beyond
    elif not one.beyond and one.version and other.version:
        assert one.above(other) is (one.version > other.version)
    else:
        assert not one.above(other)


@pytest.mark.parametrize(
    ("signal", "status", "told"),
    [("SIGSEGV", None, "SIGSEGV"), (None, 3, "3"), (None, 0, "0")],
)
def test_a_linker_that_ended_its_process_says_how(
    signal: str | None, status: int | None, told: str
) -> None:
    answer = Answer(
        outcome=LinkOutcome.CRASHED,
        step=Step.ADD,
        signal=signal,
        exit_status=status,
        release=Release(12, 4),
    )
    text = linker_error(answer, (Release(12, 4), Release(12, 4)))
    assert text == f"its process ended ({told})"


def test_a_matrix_has_rows_of_what_has_device_code(tmp_path: Path) -> None:
    section = struct.pack("<8sIIIIIIHHI", b".text", 0, 0, 0, 0, 0, 0, 0, 0, 0x60000020)
    host = tmp_path / "host.obj"
    host.write_bytes(struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, 0, 0) + section)
    code = FOLDER / "fatbin" / "nvcc-13.2-none.fatbin"
    (matrix,) = ltocompat.matrix(code, host, targets="driver=580.95.05,gpu=h100")
    assert [Path(row).name for row in matrix.rows] == [code.name]


@pytest.mark.parametrize(
    ("platform", "told", "machine"),
    [
        (None, ("linux_aarch64",), "aarch64"),
        (None, ("win_arm64",), "aarch64"),
        (None, ("linux_x86_64",), "x86_64"),
        (None, ("linux_aarch64", "linux_x86_64"), "x86_64"),
        (None, ("any", "charm64"), "x86_64"),
        ("linux/arm64", ("linux_x86_64",), "aarch64"),
        ("linux/amd64", ("linux_aarch64",), "x86_64"),
    ],
)
def test_releases_run_on_the_processor_that_is_named_first(
    platform: str | None, told: tuple[str, ...], machine: str
) -> None:
    options = RequireOptions(paths=(), platform=platform)
    assert _system(options, told).machine == machine


@pytest.mark.parametrize("buffering", [0, -1])
def test_an_open_file_is_read_in_place(tmp_path: Path, buffering: int) -> None:
    path = tmp_path / "some.bin"
    path.write_bytes(b"0123456789")
    with path.open("rb", buffering=buffering) as file:
        file.seek(4)
        with opened_file(file, Limits(spool_bytes=0)) as view:
            assert view.read(0, 10) == b"0123456789"
        assert file.tell() == 4


def test_a_file_that_shows_other_bytes_than_it_has_is_read_from_its_beginning(
    tmp_path: Path,
) -> None:
    with gzip.open(tmp_path / "x.gz", "wb") as packed:
        packed.write(b"0123456789")
    with gzip.open(tmp_path / "x.gz") as file:
        file.seek(4)
        with opened_file(cast("BinaryIO", file), Limits()) as view:
            assert view.all() == b"0123456789"
    here, there = os.pipe()
    os.write(there, b"once")
    os.close(there)
    with open(here, "rb") as pipe, opened_file(pipe, Limits()) as view:
        assert view.all() == b"once"


def test_sources_of_one_name_are_told_apart() -> None:
    def named(name: str) -> Any:  # noqa: ANN401 - an open file, as far as it is looked at
        return SimpleNamespace(name=name, read=None)

    sources = [named("a"), named("a"), b"", Path("b"), "a", named("b"), named("-")]
    assert source_names(sources) == ["a", "input-1", "input-2", "b", "a", "input-5", "input-6"]


@given(st.binary(min_size=1, max_size=40), st.sampled_from([-1, 0, 1]))
def test_as_much_is_spooled_as_the_limit_allows(data: bytes, more: int) -> None:
    limit = len(data) + more
    limits = Limits(spool_bytes=limit)
    read = io.BytesIO(data).read
    if len(data) > limit:
        with pytest.raises(UnreadableInput, match=f"over the limit of {limit} bytes"):
            spooled(read, "a pipe", limits).__enter__()
    else:
        with spooled(read, "a pipe", limits) as view:
            assert view.peek(0, limit + 1) == data


@given(st.binary(max_size=300), st.booleans(), st.lists(st.integers(1, 400), min_size=1))
def test_a_frame_of_any_size_is_complete_once_all_of_it_is_there(
    data: bytes, sized: bool, steps: list[int]
) -> None:
    """A Zstandard frame may keep its size to itself; then nobody knows before its end."""
    frame = zstandard.ZstdCompressor(write_content_size=sized).compress(data)
    prefix = Payload(ByteView.of(frame), Compression.ZSTD, None, Budget()).prefix()
    for step in sorted(steps):
        prefix.grow(step)
        assert prefix.data[:step] == data[:step]
        assert prefix.complete is (len(prefix.data) == len(data) and step > len(data))


@pytest.mark.parametrize(("size", "whole"), [(7, "x" * 7), (8, "x" * 7 + "\0"), (9, None)])
def test_an_identifier_ends_where_its_header_does_at_most(
    tmp_path: Path, size: int, whole: str | None
) -> None:
    """Behind its seven letters there is one zero, and then the image."""
    ptx = (FOLDER / "ptx/nvrtc-12.4-compute_80.ptx").read_bytes() + b"\0"
    data = entry(EntrySpec(KINDS["ptx"], ptx, sm=80, identifier="x" * 7, options=None))
    assert data.count(struct.pack("<II", 64, 7)) == 1
    path = tmp_path / "x.fatbin"
    path.write_bytes(
        region([data.replace(struct.pack("<II", 64, 7), struct.pack("<II", 64, size))])
    )
    (module,) = (record for record in ltocompat.inspect(path) if isinstance(record, Module))
    assert [image.identifier for image in module.images] == [whole]


@pytest.mark.parametrize("length", [19_992, 19_993])
def test_the_longest_name_that_is_demangled_has_20000_characters(length: int) -> None:
    name = f"_Z{length}{'k' * length}v"
    assert demangled(name) == (f"{'k' * length}()" if len(name) <= 20_000 else None)
    assert demangled("k" * length) is None


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "driver": st.just("550.54"),
            "reads_branch": st.just("535"),
            "has": st.just("12.4"),
            "sm": st.just("90"),
            "gpu_sm": st.just("80"),
        },
    )
)
def test_a_text_asks_for_the_target_that_its_values_tell(values: dict[str, str]) -> None:
    """The GPU of the error comes before that of the machine; without either, all of the driver."""
    driver = values.get("driver") or values.get("reads_branch")
    told = {"driver": driver, "nvjitlink": values.get("has")}
    keys = [f"{key}={value}" for key, value in told.items() if value]
    gpu = values.get("sm") or values.get("gpu_sm")
    targets = _targets(values)
    if gpu:
        assert targets == (",".join([*keys, f"gpu=sm_{gpu}"]),)
    elif driver:
        assert len(targets) > 1
        assert all(target.startswith(",".join([*keys, "gpu=sm_"])) for target in targets)
    else:
        assert targets == ((",".join(keys),) if keys else ())


@pytest.mark.parametrize("size", [slices.LARGE - 1, slices.LARGE])
@pytest.mark.parametrize(("head", "program"), [(b"\x7fELF", True), (b"MZ", True), (b"PK", False)])
def test_this_process_reads_what_it_reads_in_slices(
    tmp_path: Path, size: int, head: bytes, *, program: bool
) -> None:
    """And what can be read once, such as a pipe."""
    (tmp_path / "file").write_bytes(head)
    os.truncate(tmp_path / "file", size)
    os.mkfifo(tmp_path / "pipe")
    file, pipe = str(tmp_path / "file"), str(tmp_path / "pipe")
    large = program and size >= slices.LARGE
    found = [*zip("abcde", (None, str(tmp_path), file, pipe, f"{file}-gone"), strict=True)]
    paths = dict(found)
    for in_slices in (True, False):
        ours = {name for name, path in found if _for_us(path, in_slices=in_slices)}
        assert ours == {"d", *("c" for _ in range(large and in_slices))}
    sizes = [_size(paths[name]) for name in "abcde"]
    assert sizes == [0, 16 << 20, size, 0, 0]


@pytest.mark.parametrize(("rest", "shared"), [((16 << 20) - 1, False), (16 << 20, True)])
def test_files_are_shared_where_all_but_the_largest_are_worth_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: int, *, shared: bool
) -> None:
    sizes = {"small": rest, "large": 20 << 20}
    for name, size in sizes.items():
        (tmp_path / name).touch()
        os.truncate(tmp_path / name, size)
    orders = []

    def pool(
        _: object,
        items: list[str],
        most: int,
        order: list[int],
        *,
        waiting: Callable[[Sequence[int]], None],
    ) -> contextlib.nullcontext[list[None]]:
        orders.append((items, most, order))
        waiting([7, sys.maxsize])  # the second is done
        return contextlib.nullcontext([None for _ in items])

    told = list[tuple[str, int, int]]()
    settings = SimpleNamespace(jobs=2, report=lambda *words: told.append(words))
    monkeypatch.setattr(workers, "available", lambda jobs: jobs)
    monkeypatch.setattr(parallel, "Pool", pool)
    paths = [str(tmp_path / name) for name in sizes]
    found = parallel.read(lambda path: [path], paths, lambda path: path, settings)
    assert [list(each) for each in found] == [[path] for path in paths]
    assert orders == [(paths, 2, [1, 0])] * shared
    both = ("in 2 files", 7 + sizes["large"], sum(sizes.values()))
    each = [(path, size, size) for path, size in zip(paths, sizes.values(), strict=True)]
    assert told == [both, *each] * shared


@pytest.mark.parametrize("size", [0, 5, 6, 7, 4000])
def test_a_file_that_cannot_be_replaced_gets_the_contents(tmp_path: Path, size: int) -> None:
    (tmp_path / "new").write_bytes(b"123456")
    path = tmp_path / "old"
    path.write_bytes(b"o" * size)
    with open(tmp_path / "new", "rb") as file:
        _overwrite(file.fileno(), str(path))
    assert path.read_bytes() == b"123456"


def test_a_file_that_has_no_room_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(fd: int, start: int, more: int) -> None:
        assert (start, more) == (3, 3)
        os.ftruncate(fd, 5)
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(os, "posix_fallocate", no_room)
    (tmp_path / "new").write_bytes(b"123456")
    path = tmp_path / "old"
    path.write_bytes(b"old")
    with open(tmp_path / "new", "rb") as file, pytest.raises(OSError, match="no room"):
        _overwrite(file.fileno(), str(path))
    assert path.read_bytes() == b"old"


def test_equal_files_of_a_survey_have_one_row() -> None:
    """Known are those of which every one was met; of the rest all are rows."""
    for met, known in [({"a"}, False), ({"a", "b"}, True), ({"a", "b", "c"}, True), (set(), False)]:
        rows = tuple(SimpleNamespace(sha256=each, source="", status="read") for each in "ab")
        found: Any = SimpleNamespace(distributions=rows, passing=False, errors=())
        added = list[object]()
        keeper = SimpleNamespace(add=added.append, take=lambda _: None, known=0)
        run: Any = SimpleNamespace(_met={*met}, _tally=keeper, _writer=keeper)
        assert list(_Run._take(run, found)) == []  # noqa: SLF001 - it alone decides
        assert (added == [], keeper.known) == (known, int(known))
        assert vars(run)["_met"] == met | {"a", "b"}


@pytest.mark.parametrize("verdict", [each for each in Verdict if each > Verdict.NOT_FOR_GPU])
def test_a_policy_is_not_drafted_for_a_gpu_of_which_nobody_knows(verdict: Verdict) -> None:
    gpus = tuple(SimpleNamespace(name=name) for name in ("first", "second"))

    def audits(*_: object) -> list[object]:
        checked = [
            SimpleNamespace(gpu=gpus[0], verdict=verdict),
            SimpleNamespace(gpu=gpus[1], verdict=Verdict.OK),
            SimpleNamespace(gpu=None, verdict=Verdict.FAIL),
        ]
        return [SimpleNamespace(checked=each) for each in checked]

    target = DraftTarget(DriverVersion((570, 124, 6)), gpus=("first", "second"))
    drafting: Any = SimpleNamespace(_audits=audits)
    left = _Drafting._narrowed(drafting, target, ()).gpus  # noqa: SLF001 - it alone decides
    assert left == (("second",) if verdict >= Verdict.UNKNOWN else ("first", "second"))


@pytest.mark.parametrize("cache", [True, False])
def test_answers_of_linkers_are_kept_where_the_user_wants_it(
    monkeypatch: pytest.MonkeyPatch, *, cache: bool
) -> None:
    kept = list[bool]()

    class Trial(contextlib.ExitStack):
        def __init__(self, *_: object, cache: object, **__: object) -> None:
            super().__init__()
            self.for_file = None
            kept.append(cache is not None)

    monkeypatch.setattr(try_links, "LinkTrial", Trial)
    with Trials(CheckOptions((), cache=cache)) as check, Trials(RequireOptions(())) as require:
        check.ask_linkers(())
        require.ask_linkers(())
    assert kept == [cache, False]


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ("", None),
        ("'-ftz' do not match", None),
        ("nvlink error: Multiple definition of 'f' in 'a.o'", "f"),
    ],
)
def test_a_link_that_succeeds_is_wrong_only_where_something_is_defined_twice(
    log: str, reason: str | None
) -> None:
    answer = Answer(outcome=LinkOutcome.LINKED, step=Step.COMPLETE, log=log, release=Release(12, 8))
    linker: Any = SimpleNamespace(tool=Tool.NVJITLINK, release=Release(12, 8))
    found = _reason(answer, linker, "plain", SmArch(90), ())
    assert (found is None) == (reason is None)
    assert reason is None or reason in str(found)


@pytest.mark.parametrize(
    ("file", "symbol", "holds"),
    [("", "", "abc"), ("b.so", "", "b"), ("", "f", "bc"), ("b.so", "f", "b"), ("a.so", "f", "")],
)
def test_the_files_of_an_environment_are_those_that_the_text_can_be_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, symbol: str, holds: str
) -> None:
    paths = [str(tmp_path / f"{name}.so") for name in "abc"]
    for path, data in zip(paths, (b"gg", b"\0f\0", b"f"), strict=True):
        Path(path).write_bytes(data)
    monkeypatch.setattr(python_environment, "binary_files", lambda _: paths)
    values = {"needs_file": f"/x/{file}" if file else "", "symbol": symbol}
    found = [*_packages_of(None, values)]
    assert [Path(path).stem for path in found] == [*holds]


def test_a_file_that_cannot_be_looked_into_may_hold_a_name(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "other").write_bytes(b"g")
    assert [_holds(str(tmp_path / name), b"f") for name in ("gone", "empty", "other")] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_init_tries_links_where_they_leave_no_more_to_ignore(more: int) -> None:
    first, static, proved = (
        DraftTarget(DriverVersion((570, 124, 6)), ignored=cast("Any", tuple(range(number))))
        for number in (0, 2, 2 + more)
    )
    drafts = iter((static, proved))
    drafting: Any = SimpleNamespace(
        _passed=lambda *_: next(drafts),
        _trial_decides=lambda *_: True,
        _tried=lambda _: [SimpleNamespace(architectures=frozenset(), links=False)],
        today=dt.date(2026, 11, 1),
        _path="",
    )
    with mock.patch("ltocompat.commands.init._first_target", return_value=first):
        found = _Drafting.target(drafting, ())
    assert found is (static if more > 0 else proved)


VERSIONS = st.lists(st.integers(0, 3), min_size=1, max_size=4)


@given(st.sampled_from(["driver", "nvJitLink"]), VERSIONS, VERSIONS)
def test_an_older_version_of_the_same_part_asks_no_more(
    part: str, now: list[int], then: list[int]
) -> None:
    texts = [f"nvJitLink {'.'.join(map(str, now))}", f"{part} {'.'.join(map(str, then))}"]
    older = Version(texts[0].split()[1]) <= Version(texts[1].split()[1])
    assert _asks_no_more(*texts) == (older and part == "nvJitLink")


def test_a_text_is_about_no_gpu_that_is_no_deploy_target() -> None:
    """Such as a Fermi, sm_20."""
    assert _targets({"sm": "20"}) == _targets({"gpu_sm": "21"}) == ()
    for row in sms():
        for suffix in ("", "a"):
            assert _targets({"sm": f"{row.number}{suffix}"}) == (f"gpu=sm_{row.number}{suffix}",)


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_text_has_reasons_where_a_file_is_not_sound(verdict: Verdict) -> None:
    """The first rule comes first; then the worse finding does."""
    rows = ("B-1", Verdict.FAIL, "b"), ("A-1", Verdict.JIT, None), ("A-1", Verdict.UNKNOWN, "a")
    findings = [
        SimpleNamespace(rule=rule, verdict=worst, example=place, message=worst.name, asked=())
        for rule, worst, place in rows
    ]
    result: Any = SimpleNamespace(findings=findings, verdict=verdict, path="x")
    found = sorted(_of_result(result, ("A-1", "B-1", "C-1"), ""))
    expected = [("a", "UNKNOWN (A-1)"), ("x", "JIT (A-1)"), ("b", "FAIL (B-1)")]
    assert [(place, reason) for _, place, reason in found] == expected * (verdict > Verdict.OK)


@pytest.mark.parametrize(
    ("paths", "roots"),
    [
        ([], []),
        (["/x/a"], ["/x/a"]),
        (["/x/a", "/x/b"], ["/x"]),
        (["/x/a", "/x/b/c", "/x/d"], ["/x"]),
        (["/x/a", "b"], []),
    ],
)
def test_the_files_of_a_side_are_named_from_the_folder_that_they_share(
    paths: list[str], roots: list[str]
) -> None:
    assert _roots(paths) == roots


@pytest.mark.parametrize("values", [2, 3])
def test_as_many_values_of_a_file_are_compared_as_there_may_be(
    values: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release_side, "_MOST_VALUES", 2)
    file = release_side.File(Location("x"))
    for value in [*"abc"[:values], "a"]:
        file.note("imports", "", value, Location("x"))
    assert [*file.values["imports", ""]] == ["a", "b"]
    assert [*file.cut] == ["imports"] * (values > 2)


def test_names_of_kernels_are_kept_while_there_is_room_and_all_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(release_side, "_MOST_NAME_BYTES", 3)
    image: Any = SimpleNamespace(kernels=("one", "two"), kind=ImageKind.PTX)
    side = release_side.Side("x", ["x"], Limits(symbols=2), names=True, saved=False)
    file = release_side.File(Location("x"))
    side._kernels(image, file)  # noqa: SLF001 - a file with so many names is large
    assert [*file.kernels[ImageKind.PTX].values()] == ["one", ""]
    assert not side.overflowed


@pytest.mark.parametrize("number", [1, 2])
def test_one_linker_writes_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(link, "_linkers", lambda *_: [SimpleNamespace()])
    monkeypatch.setattr(link, "_together", lambda *_, output: iter([output]))
    place = FOLDER / "ltoir" / "nvrtc-12.4-lto_80.ltoir"
    output: Any = tmp_path / "x.cubin"
    linkers = ("nvjitlink=12.4", "nvjitlink=13.5")[:number]
    options = LinkOptions((place,), arch="sm_90", output=output, linkers=linkers)
    with contextlib.ExitStack() as stack:
        if number > 1:
            stack.enter_context(pytest.raises(UsageError, match="name only one"))
        assert [*link.run(options)] == [output]


def test_a_matrix_begins_where_minor_version_compatibility_of_cuda_12_does() -> None:
    """Source: CUDA Compatibility guide, table 1: 525.60.13 or newer."""
    assert next(each.name for each in matrix._driver_targets()) == "525"  # noqa: SLF001


@pytest.mark.parametrize("length", [57, 58, 59])
def test_a_long_value_of_a_policy_is_cut_in_its_message(length: int) -> None:
    """To 60 characters, with its quotes."""
    value = "x" * length
    assert _brief(value) == (f"'{value}'" if length < 59 else f"'{'x' * 57}..")


@pytest.mark.parametrize("verdict", [each for each in Verdict if each > Verdict.NOT_FOR_GPU])
@pytest.mark.parametrize("forgiven", ["", OTHER_VARIANT])
def test_a_target_loses_what_fails_or_may_fail(verdict: Verdict, forgiven: str) -> None:
    """But for a variant beside one that works."""
    of_package = result(verdict, PROD, forgiven=forgiven, distribution="torch 2.9")
    told = [each for each in with_losses([PROD, of_package]) if isinstance(each, Loss)]
    losses = [each for each in told if each.packages]
    lost = verdict in (Verdict.UNKNOWN, Verdict.FAIL) and not forgiven
    assert [(each.verdict, each.packages) for each in losses] == [(verdict, ("torch",))] * lost


@pytest.mark.parametrize("remote", [False, True])
@pytest.mark.parametrize("size", [4, 5])
@pytest.mark.parametrize("known", [None, hashlib.sha256(b"data").hexdigest(), "of other bytes"])
def test_a_file_of_a_survey_is_known_by_its_bytes_and_an_address_by_its_size(
    tmp_path: Path, size: int, known: str | None, *, remote: bool
) -> None:
    source = "https://example.org/x.whl" if remote else str(tmp_path / "x.whl")
    (tmp_path / "x.whl").write_bytes(b"data")
    run: Any = SimpleNamespace(_known={source: SimpleNamespace(size=size, sha256=known)})
    found: Any = SimpleNamespace(sha256=None, source=source, index=None, size=4, remote=remote)
    same = size == 4 and (remote or known != "of other bytes")
    assert _Run._is_known(run, found) is same  # noqa: SLF001 - it alone decides


def test_a_file_of_a_survey_may_be_known_by_its_sum_or_its_index() -> None:
    run: Any = SimpleNamespace(_known={"x": SimpleNamespace(size=1, sha256="s")}, _met={"s"})
    for sha256, source, index, known in (
        ("s", "y", None, True),
        ("t", "x", None, False),
        (None, "x", "pypi", True),  # which gives no sum, and may give no size
        (None, "y", "pypi", False),
    ):
        found: Any = SimpleNamespace(sha256=sha256, source=source, index=index, size=None)
        assert _Run._is_known(run, found) is known  # noqa: SLF001 - it alone decides


@pytest.mark.parametrize("off", [-1, 0, 1])
@pytest.mark.parametrize("room", [-1, 0])
@pytest.mark.parametrize("broken", ["", "none", "middle", "no zip"])
def test_the_end_of_a_wheel_is_fetched_again_where_its_directory_is_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, off: int, room: int, broken: str
) -> None:
    """If a server sends the end of a zip, and no more than the limit is needed."""
    data = zip_of(("a", b"b"), ("c", b"d"))
    size = len(data) - data.index(b"PK\1\2")
    data = bytes(len(data)) if broken == "no zip" else data
    monkeypatch.setattr(fetch, "_TAIL", size + off)
    monkeypatch.setattr(fetch, "_MOST_DIRECTORY", size + room)
    asked = list[str]()

    def part(_: str, range_: str, most: int, __: object) -> Part | None:
        asked.append(range_)
        found = Part(data[-most:], len(data) - most - (broken == "middle"), len(data))
        return None if broken == "none" else found

    http: Any = SimpleNamespace(part=part)
    with io.FileIO(tmp_path / "x", "w+") as file:
        members = fetch.fetch_members("x", file, http, Budget(), cast("Any", None))
    told = not broken and (off >= 0 or room == 0)
    assert [member.name for member in members or ()] == ["a", "c"] * told
    again = not broken and off < 0 == room
    assert asked == [f"-{size + off}", f"-{size}"][: 1 + again]


@pytest.mark.parametrize("less", [0, 1, 600])
def test_a_member_that_its_archive_breaks_off_is_told(less: int) -> None:
    """In front of the blocks of zeros that end a tar; compressed or not."""
    plain = tar_of(("a", b"x" * 1024))
    cut = plain[: plain.index(b"x" * 1024) + 1024 - less]
    for data in (cut, gzip.compress(cut)):
        told = [r.reason for r in ltocompat.inspect(data) if isinstance(r, Skipped)]
        assert any("1024 bytes" in each for each in told) == (less > 0)


@pytest.mark.parametrize("path", ["a\0", "a\0b", "\0", "b\0/../a"])
def test_no_path_below_a_folder_has_a_zero(tmp_path: Path, path: str) -> None:
    """Which would end it: another file would be opened."""
    (tmp_path / "a").write_bytes(b"x")
    with pytest.raises(ValueError, match="NUL character"):
        open_inside(str(tmp_path), path, os.O_RDONLY)


ERRORS = [errno.EBUSY, errno.EACCES, errno.EPERM, errno.EROFS, errno.EXDEV, errno.ENOSPC]


@pytest.mark.parametrize("number", ERRORS)
@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("closed", [False, True])
def test_a_file_that_is_busy_gets_the_contents_and_nothing_else_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, *, there: bool, closed: bool
) -> None:
    """Such as one that is mounted into a container. On Windows the new one is closed by then."""

    def refused(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "replace" if there else "link", refused)
    monkeypatch.setattr(sys, "platform", "win32" if closed else "linux")
    path = tmp_path / "x"
    if there:
        path.write_bytes(b"old")
    given = number != errno.ENOSPC and there and not closed
    with contextlib.ExitStack() as stack:
        if not given:
            stack.enter_context(pytest.raises(LtocompatError, match=os.strerror(number)))
        with replaced(str(path)) as file:
            file.write("new")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [
        ("x", "new" if given else "old")
    ] * there


def test_a_descriptor_of_0_is_closed_as_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """open(2) gives the lowest free number, which is 0 where standard input is closed."""
    part = _Part(str(tmp_path / "x"))
    part.close()
    closed: list[int] = []
    with monkeypatch.context() as patched:
        patched.setattr(os, "close", closed.append)
        for part.fd in (0, -1):
            part.close()
    assert closed == [0]
