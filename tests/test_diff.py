"""What moved between two releases, on samples whose manifest and sources say what is in them."""

from __future__ import annotations

import functools
import io
import json
import shutil
import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
import samples
from every_case import every
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from package_writer import tar_of, zip_of
from report_values import hostile, library, sass, written
from samples import FOLDER, Sample
from tiers import sampled
from verdict_values import required

import ltocompat
from ltocompat import Artifact, Change, Diff, Location, LtocompatError, Release
from ltocompat.commands.comparison import saved as saved_module
from ltocompat.commands.comparison.changes import metadata_moves, moves
from ltocompat.commands.comparison.pairing import label, pairs, unversioned
from ltocompat.commands.comparison.release_side import Side
from ltocompat.commands.comparison.requirement_changes import floor_moves
from ltocompat.commands.comparison.saved import records as saved_records
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.diff import BREAKING, Metadata
from ltocompat.model.image import CudaLibrary, HostBinary, Module, Record
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.model.records_v1.inspect import Inspect
from ltocompat.model.requirement import NO_NVJITLINK, GpuSupport, LinkerFloor, Required
from ltocompat.model.signature import ModuleSignature, module_signature
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Verdict
from ltocompat.report import Options
from ltocompat.report.verbs.inspect import REPORT as INSPECTION
from ltocompat.scan.summarize import SummaryBuilder

SAXPY = FOLDER / "objects" / "libsaxpy.so"
AXPY = FOLDER / "objects" / "libaxpy.a"
MANY = FOLDER / "fatbin" / "nvcc-13.5-many-arches.fatbin"
MIXED = FOLDER / "fatbin" / "nvfatbin-13.5-mixed-makers.fatbin"
OLD_PTX = FOLDER / "ptx" / "nvrtc-12.4-compute_80.ptx"
NEW_PTX = FOLDER / "ptx" / "nvrtc-13.5-compute_80.ptx"
LTOIR = FOLDER / "ltoir" / "nvrtc-12.4-lto_80.ltoir"
BY_NAME = {sample.name: sample for sample in samples.GOOD}


def found(diff: Diff, kind: str, about: str | None = None) -> list[Change]:
    return [x for x in diff.changes if x.kind == kind and about in (None, x.about)]


def one(diff: Diff, kind: str, about: str | None = None) -> Change:
    (change,) = found(diff, kind, about)
    return change


def words(diff: Diff) -> set[str]:
    return {change.breaking for change in diff.changes if change.breaking}


def saved(tmp_path: Path, path: Path | str, *, kernels: bool = True) -> Path:
    """What ``inspect --format json`` writes of a file."""
    file = tmp_path / "saved.json"
    records = ltocompat.inspect(path, kernels=kernels)
    file.write_text(written("json", INSPECTION, records, Options(kernels=kernels)))
    return file


def archs(sample: Sample, kind: str) -> set[str]:
    return {row["arch"] for row in sample.images if row["kind"] == kind}


PAIRS = [
    ("fatbin/nvcc-13.5-many-arches.fatbin", "fatbin/nvfatbin-13.5-mixed-makers.fatbin"),
    ("fatbin/nvfatbin-12.9-sm_90a.fatbin", "fatbin/nvfatbin-13.5-sm_100f.fatbin"),
    ("ltoir/nvrtc-12.9-lto_90a.ltoir", "ltoir/nvrtc-13.5-lto_120.ltoir"),
    ("objects/nvcc-13.5-lto+sass.o", "objects/nvcc-13.0-plain.o"),
    ("fatbin/nvcc-13.5-tile.fatbin", "fatbin/nvcc-13.5-default.fatbin"),
]


@pytest.mark.parametrize(
    ("old", "new"),
    [*PAIRS, *(pytest.param(*pair[::-1], marks=pytest.mark.slow) for pair in PAIRS)],
)
@pytest.mark.parametrize("kind", ["sass", "ptx", "ltoir"])
def test_architectures_are_lost_and_gained_as_the_manifest_says(
    old: str, new: str, kind: str
) -> None:
    diff = ltocompat.diff(FOLDER / old, FOLDER / new)
    before, after = archs(BY_NAME[old], kind), archs(BY_NAME[new], kind)
    lost = [set(c.old) for c in found(diff, "arch-lost", kind) if isinstance(c.old, tuple)]
    gained = [set(c.new) for c in found(diff, "arch-gained", kind) if isinstance(c.new, tuple)]
    assert lost == ([before - after] if before - after else [])
    assert gained == ([after - before] if after - before else [])
    if before - after:
        assert ("lost-ptx" if kind == "ptx" else "lost-arch") in words(diff)


def test_newer_ltoir_raises_the_least_nvjitlink() -> None:
    diff = ltocompat.diff(LTOIR, FOLDER / "ltoir" / "nvrtc-13.3-lto_80.ltoir")
    change = one(diff, "nvjitlink", "")
    assert (change.old, change.new) == (("12.4",), ("13.3",))
    assert one(diff, "makers").new == ("13.3",)
    assert "NVVM IR" in one(diff, "ltoir").old[0]  # type: ignore[index]
    # What an nvJitLink of CUDA 13 makes is code of CUDA 13, which needs a driver from 580 on.
    assert words(diff) == {"nvjitlink-rose", "driver-rose"}
    assert not words(ltocompat.diff(FOLDER / "ltoir" / "nvrtc-13.3-lto_80.ltoir", LTOIR))


def test_a_move_that_ltoir_hides_is_said_to_be_unknown() -> None:
    folder = FOLDER / "fatbin-ltoir"
    diff = ltocompat.diff(
        folder / "nvfatbin-13.3-of-13.3-lto_80.fatbin",
        folder / "nvfatbin-13.4-of-13.4-lto_80.fatbin",
    )
    assert not found(diff, "nvjitlink")
    (line,) = diff.unknown
    assert line.startswith("nvJitLink: 13.3 may be enough for one release and not for the other")


def test_kernels_are_those_of_the_sources() -> None:
    diff = ltocompat.diff(SAXPY, AXPY)
    for kind in ("sass", "ptx"):  # saxpy.cu and axpy.cu have one kernel each
        assert one(diff, "kernels-lost", kind).old == ("saxpy",)
        assert one(diff, "kernels-gained", kind).new == ("axpy",)
    assert (diff.old.kernels, diff.new.kernels) == (1, 1)
    without = ltocompat.diff(SAXPY, AXPY, kernels=False)
    assert not found(without, "kernels-lost")
    assert (without.old.kernels, without.unknown) == (None, ("kernels: not requested",))
    rest = [c for c in diff.changes if not c.kind.startswith("kernels")]
    assert list(without.changes) == rest


# --- which file is which


@every(
    "path, expected",
    [
        ("lib/libcusparse.so.12.5.1", "lib/libcusparse.so"),
        ("libcusparse.so", "libcusparse.so"),
        ("nvidia/cu13/lib/libcusparse.so.12", "nvidia/cu/lib/libcusparse.so"),
        ("libcudart-d0da41ae.so.11.0", "libcudart.so"),
        ("bin/cusparse64_12.dll", "bin/cusparse64.dll"),
        ("nvJitLink_120_0.dll", "nvJitLink.dll"),
        ("nvJitLink_130_0.alt.dll", "nvJitLink.dll"),
        ("libx.12.dylib", "libx.dylib"),
        ("cupy/core.cpython-311-x86_64-linux-gnu.so", "cupy/core.so"),
        ("cupy/core.cp313-win_amd64.pyd", "cupy/core.pyd"),
        ("_C.abi3.so", "_C.so"),
        ("x-1.2.3/kernels_v12.4.fatbin", "x-/kernels.fatbin"),
        ("sm_80.cubin", "sm_80.cubin"),
        ("lib\\x.dll", "lib/x.dll"),
    ],
)
def test_versions_are_taken_off_names(path: str, expected: str) -> None:
    assert unversioned(path) == expected


def test_names_pair_by_path_then_without_versions_then_wherever_they_lie() -> None:
    old = ["lib/a.so.1.2", "nvidia/cusparse/lib/libcusparse.so.12", "x/same.so", "y/same.so", "z"]
    new = ["lib/a.so.1.3", "nvidia/cu13/lib/libcusparse.so.13", "x/same.so", "q/same.so", "w"]
    assert pairs(old, new) == {
        "lib/a.so.1.2": "lib/a.so.1.3",
        "nvidia/cusparse/lib/libcusparse.so.12": "nvidia/cu13/lib/libcusparse.so.13",
        "x/same.so": "x/same.so",
        "y/same.so": "q/same.so",
    }


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["x-1.0.whl", "lib/libx.so"], "lib/libx.so"),
        (["x.conda", "pkg-x-1.0.tar.zst", "lib/libx.a", "a.o"], "lib/libx.a"),
        (["lib/libx.a", "a.o"], "lib/libx.a"),
        (["x.whl"], ""),
    ],
)
def test_a_file_is_what_lies_in_packages_and_around_archive_members(
    names: list[str], expected: str
) -> None:
    assert label(names) == expected


def test_wheels_folders_and_archives_of_the_same_files_are_alike(tmp_path: Path) -> None:
    members = ("lib/libsaxpy.so.12.5.1", SAXPY.read_bytes()), ("lib/x.a", AXPY.read_bytes())
    wheel = tmp_path / "x-1.0-py3-none-any.whl"
    wheel.write_bytes(zip_of(*members))
    packed = tmp_path / "x.tar"
    packed.write_bytes(tar_of(*members))
    folder = tmp_path / "folder"
    (folder / "lib").mkdir(parents=True)
    shutil.copy(SAXPY, folder / "lib" / "libsaxpy.so.12.6.0")
    shutil.copy(AXPY, folder / "lib" / "x.a")
    for old, new in ((wheel, folder), (folder, packed), (packed, wheel)):
        diff = ltocompat.diff(old, new)
        assert [change.kind for change in diff.changes] == ["size"]
        assert (diff.old.files, diff.old.images) == (2, 6)


# --- saved inspections


def says_the_same(folder: Path, path: Path) -> None:
    """Law 10: a saved inspection says of a file what the file says."""
    kernels = len(path.name) % 2 == 0
    file = saved(folder, path, kernels=kernels)
    for old, new in ((file, path), (path, file)):
        diff = ltocompat.diff(old, new, kernels=kernels)
        assert diff.changes == ()
        assert diff.old.modules == diff.new.modules
        assert diff.old.images == diff.new.images
        assert diff.old.skipped == diff.new.skipped


@pytest.mark.slow
@pytest.mark.parametrize("sample", sampled(samples.ALL, 64), ids=lambda sample: sample.name)
def test_a_saved_inspection_says_the_same_of_every_sample(tmp_path: Path, sample: Sample) -> None:
    says_the_same(tmp_path, sample.path)


def signatures(records: Iterable[Record | None]) -> list[ModuleSignature]:
    """All that verdicts rest on of images."""
    modules = (record for record in records if isinstance(record, Module))
    return [module_signature(without_debug(each)) for each in modules]


@pytest.mark.slow
def test_a_saved_inspection_keeps_every_fact_on_which_verdicts_rest() -> None:
    for sample in samples.ALL:
        records = list(ltocompat.inspect(sample.path, kernels=True))
        text = written("json", INSPECTION, records, Options(kernels=True))
        document = msgspec.json.decode(text, type=Inspect)
        assert signatures(saved_records(document, sample.name)) == signatures(records), sample.name


@functools.cache
def sample_modules() -> tuple[Module, ...]:
    """Relocatable SASS with LTO-IR, and with PTX."""
    paths = (FOLDER / "objects" / "nvcc-13.5-lto+sass.o", AXPY)
    records = (record for path in paths for record in ltocompat.inspect(path, kernels=True))
    return tuple(without_debug(each) for each in records if isinstance(each, Module))


def without_debug(module: Module) -> Module:
    """A module without the version of LTO-IR's debug metadata, which nothing reads."""
    images = (
        replace(image, ltoir=image.ltoir and replace(image.ltoir, debug=None))
        for image in module.images
    )
    return replace(module, images=tuple(images))


LINKER = CudaLibrary("libnvJitLink", "opened", "libnvJitLink.so.12", None, "name")


def side_of(files: dict[str, int]) -> Side:
    """A release with files, each of which opens nvJitLink and has this many modules."""
    side = Side("x.whl", ("x.whl",), DEFAULT_LIMITS, names=False, saved=False)
    for name, modules in files.items():
        place = Location("x.whl", (name,))
        for at, module in enumerate(sample_modules()[:modules]):
            images = [replace(image, place=place.at(at)) for image in module.images]
            side.take(replace(module, place=place.at(at), images=tuple(images)))
        host = HostBinary(place=place, format="ELF", machine="x86-64", type="shared library")
        side.take(replace(host, libraries=(LINKER,)))
    return side


def test_code_that_moved_into_a_library_of_its_own_is_not_lost() -> None:
    """faiss-gpu-cu12 1.9 has its kernels in _swigfaiss.so, 1.14 in a libfaiss.so beside it."""
    old, new = side_of({"core.so": 1}), side_of({"core.so": 0, "libcore.so": 1})
    assert not any(change.breaking for change in moves(old, new))
    # A file that a build made without its code, beside others with code, is still told.
    others = {"y.so": 2}
    less = moves(side_of({"core.so": 1} | others), side_of({"core.so": 0} | others))
    assert "lost-arch" in {change.breaking for change in less}


@st.composite
def members_of_a_wheel(draw: st.DrawFn) -> list[Record]:
    """Host files, each behind its modules."""
    records = list[Record]()
    names = ("x_cu12.so", "x_cu13.so", "cu12/y.so", "cu13/y.so", "a.o", "b.dll")
    images = 0
    for name in draw(st.lists(st.sampled_from(names), unique=True)):
        place = Location("x.whl", (name,))
        modules = draw(st.lists(st.sampled_from(sample_modules()), max_size=2))
        records += [replace(each, place=place.at(at)) for at, each in enumerate(modules)]
        images += sum(len(each.images) for each in modules)
        host = HostBinary(
            place=place,
            format="PE" if name.endswith("dll") else "ELF",
            machine="x86-64",
            type="object" if name.endswith(".o") else "shared library",
            libraries=draw(st.sampled_from([(), (LINKER,)])),
            soname=draw(st.sampled_from([None, "libcuda.so.1", "libcufft.so.11"])),
            needed=draw(st.sampled_from([(), ("x_cu12.so",)])),
            exports=draw(st.sampled_from([(), ("run",)])),
        )
        records.append(host)
    found = sum(isinstance(record, Module) for record in records)
    return [*records, Artifact("x.whl", 1, found, images, 0)]


def summary_of(records: Iterable[Record | None]) -> ArtifactSummary:
    builder = SummaryBuilder(apart=False)
    for record in records:
        if record is not None:
            builder.take(record)
    found = builder.summary("x.whl")
    return replace(found, hosts=sorted(found.hosts, key=lambda host: str(host.place)))


@given(members_of_a_wheel())
def test_a_saved_inspection_keeps_every_host_on_which_verdicts_rest(records: list[Record]) -> None:
    """Law 10, of packages: objects with device code, variants, libraries of a driver."""
    text = written("json", INSPECTION, records, Options(kernels=True, named=frozenset({"x.whl"})))
    document = msgspec.json.decode(text, type=Inspect)
    assert summary_of(saved_records(document, "x.whl")) == summary_of(records)


_SMALL = [s.path for s in samples.ALL if 0 < s.path.stat().st_size < 32 << 10]


@pytest.mark.slow
@given(st.data())
@settings(max_examples=8)
def test_a_saved_inspection_says_the_same_of_any_file(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Files are samples side by side in a container, with a few bytes of one changed."""
    folder = tmp_path_factory.mktemp("any")
    inside = data.draw(st.lists(st.sampled_from(_SMALL), min_size=1, max_size=3))
    members = [(f"{number}{path.suffix}", path.read_bytes()) for number, path in enumerate(inside)]
    name, first = members[0]
    changed = bytearray(first)
    for at in data.draw(st.lists(st.integers(0, len(first) - 1), max_size=3)):
        changed[at] = data.draw(st.integers(0, 255))
    members[0] = name, bytes(changed)
    suffix, container = data.draw(
        st.sampled_from([(".zip", zip_of), (".tar", tar_of), (name, lambda first, *_: first[1])])
    )
    path = folder / f"any{suffix}"
    path.write_bytes(container(*members))
    says_the_same(folder, path)


def test_without_kernels_they_are_unknown_and_floors_count_images_on_both_sides_alike(
    tmp_path: Path,
) -> None:
    file = saved(tmp_path, AXPY, kernels=False)
    diff = ltocompat.diff(file, AXPY)
    assert diff.changes == ()
    assert "kernels of SASS: the old release was saved without --kernels" in diff.unknown
    assert "kernels of PTX: the old release was saved without --kernels" in diff.unknown
    assert diff.new.kernels is None


@pytest.mark.parametrize("over", [False, True])
def test_a_saved_inspection_is_read_up_to_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, over: bool
) -> None:
    path = saved(tmp_path, SAXPY)
    monkeypatch.setattr(saved_module, "_MOST_BYTES", path.stat().st_size - over)
    if over:
        with pytest.raises(LtocompatError, match="and the limit is"):
            ltocompat.diff(SAXPY, path)
    else:
        assert not ltocompat.diff(SAXPY, path).changes


def test_a_saved_inspection_of_a_later_version_is_read(tmp_path: Path) -> None:
    """Members may be added, and so may words: a kind that came later is an unknown one."""
    file = saved(tmp_path, MANY)
    value = json.loads(file.read_text())
    image = value["artifacts"][0]["modules"][0]["images"][0]
    image["kind"] = "quantum"
    image["made_by"][0]["role"] = "dreamer"
    value["added"] = image["added"] = {"later": [1, 2]}
    file.write_text(json.dumps(value))
    changes = ltocompat.diff(MANY, file).changes
    assert "unknown" in {change.about for change in changes if change.kind == "arch-gained"}


def test_an_inspection_that_broke_off_says_so(tmp_path: Path) -> None:
    file = tmp_path / "saved.json"
    records = [*list(library())[:3], *hostile()]
    file.write_text(written("json", INSPECTION, records))
    diff = ltocompat.diff(file, file)
    assert not diff.old.complete or diff.old.skipped
    assert diff.changes == ()


def test_of_files_that_were_not_all_read_to_their_ends_no_size_is_told(tmp_path: Path) -> None:
    file = saved(tmp_path, MANY)
    value = json.loads(file.read_text())
    (whole,) = value["artifacts"]
    for complete in (True, False):
        other = {**whole, "path": "other.so", "complete": complete}
        file.write_text(json.dumps({**value, "artifacts": [whole, other]}))
        old = ltocompat.diff(file, MANY).old
        assert (old.complete, old.size) == (complete, 2 * whole["size"] if complete else None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"schema": "ltocompat/inspect/v1", "artifacts": [', "not valid JSON"),
        ('{"schema": "ltocompat/require/v1", "artifacts": []}', "'ltocompat/require/v1', not"),
        ('{"schema": "ltocompat/inspect/v2"}', "'ltocompat/inspect/v2', not"),
        ('{"schema": ["ltocompat/inspect/v1"]}', "not ltocompat/inspect/v1"),
        ('{"schema": "ltocompat/inspect/v1", "artifacts": 5}', "$.artifacts`"),
        (
            '{"schema": "ltocompat/inspect/v1", "artifacts": [{"path": null}]}',
            "$.artifacts[0].path`",
        ),
        ('{"schema": "ltocompat/inspect/v1", "artifacts": [{"path": 7}]}', "$.artifacts[0].path"),
        ('{"schema": "ltocompat/inspect/v1", "artifacts": [{}]}', "missing required field"),
        (
            '{"schema": "ltocompat/inspect/v1", "artifacts": [{"path": "\\ud800"}]}',
            "not valid JSON",
        ),
        ("[" * 9 + '{"ltocompat/": 1', None),
        ('{"a":' * 100_000 + ' "ltocompat/"', "not valid JSON"),
    ],
)
def test_json_that_is_no_inspection_is_one_sentence(
    tmp_path: Path, text: str, said: str | None
) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    if said is None:
        assert ltocompat.diff(file, file).old.modules == 0  # a file like any other
        return
    with pytest.raises(LtocompatError, match="save one with: ltocompat inspect") as caught:
        ltocompat.diff(file, MANY)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 600


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401
    yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(inner, (*path, key))


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    stream = io.StringIO()
    stream.write(written("json", INSPECTION, ltocompat.inspect(AXPY, SAXPY, kernels=True)))
    value: dict[str, Any] = json.loads(stream.getvalue())
    return value


@pytest.mark.slow
@given(st.data())
def test_any_value_in_a_saved_inspection_ends_in_an_answer_or_a_sentence(
    document: dict[str, Any], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    value = json.loads(json.dumps(document))
    *way, last = data.draw(st.sampled_from([p for p in _paths(value) if p and p != ("schema",)]))
    inner = value
    for key in way:
        inner = inner[key]
    inner[last] = data.draw(
        st.one_of(st.none(), st.integers(), st.text(max_size=5), st.just([]), st.just({}))
        | st.sampled_from([["x"], [5], {"path": 5}, True, 1.5, "sm_90", "12.4", "lto_999999"])
    )
    file = tmp_path_factory.mktemp("mutated") / "mutated.json"
    file.write_text(json.dumps(value))
    try:
        diff = ltocompat.diff(file, MANY)
    except LtocompatError as error:
        assert "\n" not in str(error)  # noqa: PT017 - it need not be raised
    else:
        assert diff.new.modules == 1


# --- floors


def linker(possible: str, sure: str | None = None) -> LinkerFloor:
    least = Release.parse(possible)
    return LinkerFloor(least, Release.parse(sure or possible), 14, tried=False)


Asks = tuple[Required, Release | None]


def every_move(old: Asks, new: Asks) -> Iterator[Change]:
    return floor_moves(old[0], new[0], (old[1], new[1]))


def moved(old: Asks, new: Asks, kind: str) -> list[tuple[object, object, str | None]]:
    return [(c.old, c.new, c.breaking) for c in every_move(old, new) if c.kind == kind]


def asks(imports: str | None = None, **facts: Any) -> Asks:  # noqa: ANN401
    return required(**facts), Release.parse(imports) if imports else None


@pytest.mark.parametrize(
    ("old", "new", "rose"),
    [
        (linker("13.3", "13.5"), linker("13.4", "13.5"), True),
        (linker("12.8", "12.9"), linker("12.9"), True),
        (linker("13.3"), linker("12.4"), False),
        (linker("12.9"), linker("13.0"), True),
        (None, linker("12.4"), True),
        (linker("12.4"), None, False),
        (linker("13.3"), LinkerFloor(Release(13, 3), None, 14, tried=False), True),
        (LinkerFloor(Release(13, 3), None, 14, tried=False), linker("13.5"), True),
    ],
)
def test_a_floor_rises_when_either_end_of_it_does(
    old: LinkerFloor | None, new: LinkerFloor | None, rose: bool
) -> None:
    (change,) = [
        c for c in every_move(asks(nvjitlink=old), asks(nvjitlink=new)) if c.kind == "nvjitlink"
    ]
    assert change.breaking == ("nvjitlink-rose" if rose else None)
    assert change.count == 1


def test_a_floor_beyond_all_known_linkers_is_above_each_of_them() -> None:
    beyond = asks(nvjitlink=None, no_nvjitlink=NO_NVJITLINK)
    none, some = asks(nvjitlink=None), asks(nvjitlink=linker("13.5"))
    for old, new, rose in (
        *((other, beyond, True) for other in (none, some)),
        *((beyond, other, False) for other in (none, some)),
    ):
        (change,) = [c for c in every_move(old, new) if c.kind == "nvjitlink"]
        assert change.breaking == ("nvjitlink-rose" if rose else None)


def test_imports_rise_where_the_floor_of_links_does() -> None:
    old, new = asks("13.5", nvjitlink=linker("13.5")), asks(nvjitlink=linker("13.3"))
    assert moved(old, new, "nvjitlink") == [(("13.5",), ("13.3",), None)]
    assert moved(old, new, "nvjitlink-imports") == [(("13.5",), None, None)]
    old, new = asks("12.4", nvjitlink=linker("12.4")), asks("12.8", nvjitlink=linker("12.8"))
    assert moved(old, new, "nvjitlink-imports") == [(("12.4",), ("12.8",), "nvjitlink-rose")]
    old, new = asks("12.4", nvjitlink=linker("13.0")), asks("12.8", nvjitlink=linker("13.0"))
    assert moved(old, new, "nvjitlink-imports") == [(("12.4",), ("12.8",), None)]


TILE = BY_NAME["objects/nvcc-13.5-tile.o"]  # whose floors rest on which images have kernels


# A few of them: both verbs ask the same function, of what each has put together.
@every("pair", list(zip([TILE, *samples.GOOD[::12]], samples.GOOD[6::12], strict=False)))
def test_floors_are_those_of_require(pair: tuple[Sample, Sample]) -> None:
    both = ltocompat.diff(*(sample.path for sample in pair))
    for sample, side in zip(pair, (both.old, both.new), strict=True):
        asked = next(iter(ltocompat.require(sample.path)))
        assert all(each.module_count <= asked.modules for each in asked.asked)
        names = ("nvjitlink", "nvjitlink_beyond", "driver_sass", "driver_ptx", "ptx_beyond")
        for name in names:
            assert getattr(side, name) == getattr(asked, name), (sample.name, name)


MACHINES = (
    "driver=535.54,gpu=sm_80",
    "driver=550.54.14,gpu=sm_90",
    "driver=580.65.06,gpu=sm_100",
    "driver=610.43.01,gpu=sm_75",
    "driver=610.43.01,gpu=sm_80,nvjitlink=12.4",
    "driver=580.65.06,gpu=sm_90,nvjitlink=12.9",
    "driver=610.43.01,gpu=sm_90,nvjitlink=13.0",
    "driver=610.43.01,gpu=sm_120,nvjitlink=13.3",
    "driver=610.43.01,gpu=sm_100,nvjitlink=13.5",
)


@functools.cache
def verdicts(name: str, machine: str) -> set[Verdict]:
    """None of its verdicts is good where nothing was checked."""
    results = ltocompat.check(FOLDER / name, machine)
    return {result.verdict for result in results} or {Verdict.UNKNOWN}


@settings(max_examples=135)
@given(st.sampled_from(MACHINES), st.randoms(use_true_random=False))
def test_where_the_old_one_served_and_the_new_one_fails_something_broke(
    machine: str, random: Random
) -> None:
    drawn = random.sample(list(BY_NAME), len(BY_NAME))
    old = next(s for s in drawn if max(verdicts(s, machine)) < Verdict.UNKNOWN)
    new = next(s for s in drawn if max(verdicts(s, machine)) is Verdict.FAIL)
    assert words(ltocompat.diff(FOLDER / old, FOLDER / new, kernels=False)), (old, new)


def driver(number: int) -> DriverVersion:
    return DriverVersion((number,))


def service(number: int, how: str, least: int | None) -> GpuSupport:
    counts = {"sass": 0, "ptx": 0, "link": 0} | ({how: 1} if how != "none" else {})
    floor = None if least is None else driver(least)
    return GpuSupport(number, "x", how, counts["sass"], counts["ptx"], counts["link"], 0, floor)


def drivers(old: Required, new: Required) -> dict[str, str | None]:
    changes = floor_moves(old, new, (None, None))
    return {c.about: c.breaking for c in changes if c.kind == "driver"}


def loads(sass: int | None, ptx: int | None, *services: GpuSupport) -> Required:
    return required(
        driver_sass=None if sass is None else driver(sass),
        driver_ptx=None if ptx is None else driver(ptx),
        services=services,
    )


def test_drivers_rise_for_sass_for_ptx_and_for_single_gpus() -> None:
    sass_90, ptx_100 = service(90, "sass", 525), service(100, "ptx", 550)
    old = loads(525, 550, sass_90, ptx_100)
    assert drivers(old, old) == {}
    assert drivers(old, loads(580, 550, service(90, "sass", 580), ptx_100)) == {
        "sass": "driver-rose"
    }
    lower = loads(525, 545, sass_90, service(100, "ptx", 545))
    assert drivers(old, lower) == {"ptx": None}
    # A floor is one value, however many GPUs have it.
    assert [each.count for each in floor_moves(old, lower, (None, None))] == [1]
    # The floor of all stays that of sm_100, but sm_90 needs more than it did.
    late = loads(580, None, sass_90, service(100, "sass", 580))
    assert drivers(late, loads(580, None, service(90, "sass", 570), service(100, "sass", 580))) == {
        "sm_90": "driver-rose"
    }


# --- what packages say of themselves


def test_requirements_move_by_name_however_it_is_spelt() -> None:
    old = Metadata("x", "1", ("nvidia-nvjitlink<14,>=13.3", "numpy"), ("linux_x86_64",))
    new = Metadata("x", "2", ("NVIDIA_nvjitlink>=13.4", "numpy", "cupy; extra"), ("linux_x86_64",))
    assert [(c.kind, c.about, c.old, c.new) for c in metadata_moves(old, new)] == [
        ("version", "", ("1",), ("2",)),
        ("requires", "cupy", None, ("cupy; extra",)),
        (
            "requires",
            "nvidia-nvjitlink",
            ("nvidia-nvjitlink<14,>=13.3",),
            ("NVIDIA_nvjitlink>=13.4",),
        ),
    ]
    assert list(metadata_moves(None, new)) == []


def test_metadata_of_wheels_is_compared(tmp_path: Path) -> None:
    paths = []
    for version, line in (("1.0", "nvidia-nvjitlink"), ("1.1", "nvidia-nvjitlink<14,>=13.3")):
        text = f"Metadata-Version: 2.1\nName: x\nVersion: {version}\nRequires-Dist: {line}\n"
        path = tmp_path / f"x-{version}-py3-none-linux_x86_64.whl"
        dist = f"x-{version}.dist-info/METADATA"
        path.write_bytes(zip_of((dist, text.encode()), ("libx.so", SAXPY.read_bytes())))
        paths.append(path)
    diff = ltocompat.diff(*paths)
    assert (one(diff, "version").old, one(diff, "version").new) == (("1.0",), ("1.1",))
    assert one(diff, "requires", "nvidia-nvjitlink").new == ("nvidia-nvjitlink<14,>=13.3",)
    assert diff.new.metadata is not None
    assert diff.new.metadata.tags == ("linux_x86_64",)
    assert ltocompat.diff(SAXPY, paths[1]).unknown == (
        "metadata: the old release is not a package",
    )


# --- bounds


def side(limits: Limits = DEFAULT_LIMITS) -> Side:
    return Side("x", ["x"], limits, names=True, saved=False)


def module(number: int, **facts: Any) -> Module:  # noqa: ANN401
    place = Location("x", (), number)
    return Module(place, None, None, (sass(place, **facts),))


def test_names_that_nvcc_makes_anew_in_each_build_are_one_kernel() -> None:
    # The first is in libcuvs.so of 26.10; the numbers in hexadecimal hash its path and its text.
    names = (
        "69_GLOBAL__N__9e4f5c11_36_cagra_build_inst_data_f_index_u32_cu_fdfd8ea416kern_merge",
        "69_GLOBAL__N__0123abcd_36_cagra_build_inst_data_f_index_u32_cu_89abcdef16kern_merge",
        "69_GLOBAL__N__0123abcd_36_cagra_build_inst_data_f_index_u32_cu_89abcdef16kern_prune",
    )
    folded = side()
    folded.take(module(0, kernels=names))
    assert folded.kernels == 2


def test_more_kernels_than_the_limit_are_not_compared() -> None:
    folded = side(Limits(symbols=10))
    folded.take(module(0, kernels=tuple(f"k{n}" for n in range(20))))
    assert folded.overflowed
    assert folded.kernels == 10
    diff = ltocompat.diff(SAXPY, AXPY, limits=Limits(symbols=1))
    assert not found(diff, "kernels-lost")
    assert diff.old.kernels is None
    assert any("too many to compare" in line for line in diff.unknown)


@pytest.mark.slow
def test_nine_thousand_more_modules_take_no_more_memory() -> None:
    folded = side()
    for number in range(9_000):
        folded.take(module(number, arch=f"sm_{number}", kernels=("saxpy",)))
    tracemalloc.start()
    for number in range(9_000):
        folded.take(module(number, arch=f"sm_{number}", kernels=("saxpy",)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert folded.modules == 18_000
    assert peak < 2 << 20  # held, they take 6 MB; where the first of them are is kept


def test_objects_that_wait_for_a_device_link_are_linked() -> None:
    place = Location("x.a", ("m.o",))
    folded = side()
    section = "__nv_relfatbin"
    image = replace(sass(place.at(64, 0), relocatable=True), section=section)
    folded.take(Module(place.at(64), section, registered=True, images=(image,)))
    waits = ("__cudaRegisterLinkedBinary_0571d20b_7_axpy_cu_axpy",)
    folded.take(
        HostBinary(
            place=place,
            format="ELF",
            machine="x86-64",
            type="object",
            undefined_registrations=waits,
        )
    )
    (group,) = folded.summary(set()).groups
    assert group.signature.needs_device_link


def test_linkers_read_the_first_region_of_an_object_alone() -> None:
    folded, place = side(), Location("x.o")
    regions = [place.at(64), place.at(640), place.at(6400)]
    for region in regions:
        image = replace(sass(region, relocatable=True), section="__nv_relfatbin")
        folded.take(Module(region, "__nv_relfatbin", None, (image,)))
    folded.take(HostBinary(place=place, format="ELF", machine="x86-64", type="object"))
    groups = folded.summary(set()).groups
    found = {each.signature.behind_first: (each.count, list(each.places)) for each in groups}
    assert found == {False: (1, regions[:1]), True: (2, regions[1:])}


def test_an_object_waits_for_a_link_of_its_own_code_and_not_of_the_file_before() -> None:
    folded = side()
    for name in ("x/a.fatbin", "x/b.o"):
        place = Location(name)
        image = replace(sass(place, relocatable=True), section="__nv_relfatbin")
        folded.take(Module(place, "__nv_relfatbin", None, (image,)))
        if name.endswith(".o"):
            folded.take(HostBinary(place=place, format="ELF", machine="x86-64", type="object"))
        folded.take(Artifact(name, 80_000, 1, 1, 0))
    found = [group.signature for group in folded.summary(set()).groups]
    assert sorted(each.needs_device_link for each in found) == [False, True]
    assert not any(each.behind_first for each in found)


def test_alike_modules_of_several_files_are_one_group_for_rules() -> None:
    folded = side()
    for name in ("x/a.so", "x/b.so"):
        place = Location(name)
        folded.take(Module(place, None, None, (sass(place),)))
        folded.take(Artifact(name, 80_000, 1, 1, 0))
    (group,) = folded.summary(set()).groups
    assert group.count == 2


def test_standard_input_is_read_once() -> None:
    with pytest.raises(ltocompat.UsageError, match="can be read only once"):
        ltocompat.diff("-", "-")


def test_every_word_can_happen() -> None:
    happened = set()
    for old, new in ((MANY, LTOIR), (OLD_PTX, NEW_PTX), (SAXPY, MIXED), (NEW_PTX, LTOIR)):
        happened |= words(ltocompat.diff(old, new))
    assert happened == set(BREAKING)
