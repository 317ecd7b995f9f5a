"""A file is judged by itself: what lies beside it, its name and its place make no difference."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from fatbin_writer import KINDS, EntrySpec, entry, region
from hypothesis import example, given, settings
from hypothesis import strategies as st
from link_cases import Given, archive, bare, dll, fatbin, made_object
from msgspec.structs import replace
from package_writer import conda_of, tar_of, zip_of
from recorded import parts
from samples import FOLDER
from summaries import summaries

import ltocompat
from ltocompat.commands.read_artifacts import ScanOptions
from ltocompat.model.artifact_summary import ModuleGroup
from ltocompat.model.location import Location
from ltocompat.model.verdict import Result
from ltocompat.scan.walk import ScanSettings
from ltocompat.targets import parse

# On the first, no cubin of sm_80 runs; the second is older than most of the samples' compilers.
TARGETS = tuple(
    parse(["driver=580.82.07,nvjitlink=12.4,gpu=sm_90", "driver=470.57.02,gpu=sm_80+sm_70"])
)


def sample(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


KERNEL = sample("cubin/nvcc-13.0-sm_80.cubin")
NO_KERNEL = sample("cubin/nvcc-13.0-sm_80-without-kernels.cubin")
PTX = sample("ptx/nvcc-13.0-compute_80.ptx")
NO_KERNEL_PTX = sample("ptx/nvcc-13.0-compute_80-without-kernels.ptx")
NO_CODE = sample("objects/constants.o")
SAMPLES = [
    KERNEL,
    NO_KERNEL,
    PTX,
    NO_KERNEL_PTX,
    NO_CODE,
    *map(
        sample,
        (
            "broken/zstd-cut.fatbin",
            "cubin/nvrtc-12.4-sm_80-rdc.cubin",
            "fatbin-ltoir/nvfatbin-13.3-of-13.3-lto_80.fatbin",
            "fatbin/nvcc-13.5-concat.fatbin",
            "objects/libaxpy-no-device-link.so",
            "objects/libaxpy.a",
            "objects/nvcc-13.0-rdc-sass+ptx",
            "objects/nvcc-13.5-rdc-axpy.o",
            "objects/nvcc-13.5-rdc-scale.o",
        ),
    ),
]


@st.composite
def specs(draw: st.DrawFn) -> EntrySpec:
    kind, payload = draw(
        st.sampled_from(
            [
                ("sass", KERNEL),
                ("sass", NO_KERNEL),
                ("ptx", PTX + b"\0"),
                ("ptx", NO_KERNEL_PTX + b"\0"),
            ]
        )
    )
    return EntrySpec(KINDS[kind], payload, compression=draw(st.sampled_from(["none", "zstd"])))


REGIONS = st.lists(specs(), min_size=1, max_size=2).map(lambda made: region(list(map(entry, made))))
PIECES, OBJECTS = parts()
GIVEN: st.SearchStrategy[Given] = st.one_of(
    st.sampled_from(PIECES).map(bare),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map(lambda some: fatbin(*some)),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=2).map(lambda some: dll(fatbin(*some))),
    st.sampled_from(OBJECTS).map(made_object),
    st.lists(st.sampled_from(OBJECTS), min_size=1, max_size=2).map(lambda some: archive(*some)),
)
FILES = (
    st.sampled_from(SAMPLES)
    | st.lists(REGIONS, min_size=1, max_size=3).map(b"".join)
    | GIVEN.map(lambda file: file.data)
)
# In the order of the alphabet and against it; a name may say what the file is not.
NAMES = st.permutations(["a.bin", "b.so", "c.o", "z.cubin", "m-é.ptx", "lib 2.dll", "x.exe"])


@contextmanager
def written(files: Sequence[bytes], names: Sequence[str]) -> Iterator[list[Path]]:
    """The files in a folder, where one more can't be read, whatever it is sorted between."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in names[: len(files)]]
        for path, data in zip(paths, files, strict=True):
            path.write_bytes(data)
        Path(folder, "aa").symlink_to("nowhere")
        yield paths


def checked(*paths: Path | str, called: str | None = None) -> dict[str, list[Result]]:
    """Results by path, as if each file were called ``file``; ``called`` is what it is called."""
    found: dict[str, list[Result]] = {}
    for result in ltocompat.check(paths, TARGETS):
        findings = tuple(replace(finding, example=None, places=()) for finding in result.findings)
        name = called or Location(result.path).shown
        why = tuple(reason.replace(name, "file") for reason in result.why)
        plain = replace(result, path="file", findings=findings, why=why)
        found.setdefault(result.path, []).append(plain)
    return found


@cache
def alone(data: bytes) -> list[Result]:
    with written([data], ["file"]) as paths:
        (results,) = checked(*paths).values()
    return results


def expected(files: Sequence[bytes], paths: Sequence[Path]) -> dict[str, list[Result]]:
    return {str(path): alone(data) for data, path in zip(files, paths, strict=True)}


some_files = given(st.lists(FILES, min_size=1, max_size=4), NAMES)
the_bug = example([KERNEL, NO_KERNEL], ["a.bin", "b.so", "c.o", "z.cubin"])


@settings(max_examples=40)
@some_files
@the_bug
def test_results_are_the_same_first_last_renamed_and_in_a_folder(
    files: list[bytes], names: list[str]
) -> None:
    with written(files, names) as paths:
        wanted = expected(files, paths)
        assert checked(*paths) == wanted
        assert checked(*reversed(paths)) == wanted
        assert with_code(checked(paths[0].parent)) == with_code(wanted)


def with_code(found: dict[str, list[Result]]) -> dict[str, list[Result]]:
    """Without files that hold no device code, and folders: a folder says what it can't read."""
    return {
        path: results
        for path, results in found.items()
        if not os.path.isdir(path) and results != alone(NO_CODE)
    }


@settings(max_examples=5)
@some_files
@the_bug
def test_results_are_the_same_from_several_processes(files: list[bytes], names: list[str]) -> None:
    # Two folders are read by a process each.
    with written(files, names) as paths, written(files, names[::-1]) as others:
        found = checked(paths[0].parent, others[0].parent)
        assert with_code(found) == with_code(expected(files, paths) | expected(files, others))


WHEEL = (
    ("made_up-1.0.dist-info/METADATA", b"Metadata-Version: 2.1\nName: made-up\nVersion: 1.0\n"),
    ("made_up-1.0.dist-info/WHEEL", b"Wheel-Version: 1.0\nTag: py3-none-any\n"),
    ("made_up-1.0.dist-info/RECORD", b""),
)
PACKAGES: dict[str, Callable[..., bytes]] = {
    "package.zip": zip_of,
    "package.tar": tar_of,
    "package.conda": conda_of,
    "made_up-1.0-py3-none-any.whl": lambda *members: zip_of(*members, *WHEEL),
}


# In a package of conda the files lie in an archive of their own.
INNER = {"package.conda": ("pkg-x-1-0.tar.zst",)}


@pytest.mark.parametrize("kind", PACKAGES)
@settings(max_examples=10)
@some_files
@the_bug
def test_results_and_groups_are_the_same_inside_a_package(
    kind: str, files: list[bytes], names: list[str]
) -> None:
    with written(files, names) as paths:
        package, inner = paths[0].with_name(kind), INNER.get(kind, ())
        members = [(path.name, path.read_bytes()) for path in paths]
        package.write_bytes(PACKAGES[kind](*members))
        for path, data in zip(paths, files, strict=True):
            if data != NO_CODE:
                place = str(Location(str(package), (*inner, path.name)))
                assert checked(place, called=place)[str(package)] == alone(data)
        assert groups(package) == {
            (*inner, path.name, *inside): found
            for path in paths
            for inside, found in groups(path).items()
        }


def groups(path: Path) -> dict[tuple[str, ...], list[ModuleGroup]]:
    """Groups of modules by innermost file."""
    found: dict[tuple[str, ...], list[ModuleGroup]] = {}
    for summary in summaries([path], ScanOptions(ScanSettings(), TARGETS, apart=True)):
        for group in summary.groups:
            place = replace(group.example, path="file", members=())
            alike = replace(group, example=place, places=[], inner=False)
            found.setdefault(group.example.members, []).append(alike)
    return found


def single(payload: bytes) -> bytes:
    return region([entry(EntrySpec(KINDS["sass"], payload))])


@settings(max_examples=40)
@given(st.lists(REGIONS, min_size=2, max_size=4))
@example([single(KERNEL), single(NO_KERNEL)])
def test_the_order_of_modules_changes_no_verdict(regions: list[bytes]) -> None:
    orders = regions, regions[::-1], sorted(regions)
    verdicts = [[result.verdict for result in alone(b"".join(order))] for order in orders]
    assert verdicts[0] == verdicts[1] == verdicts[2]
