"""A file is judged by itself: what lies beside it, its name and its place make no difference."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

from fatbin_writer import KINDS, EntrySpec, entry, region
from hypothesis import example, given, settings
from hypothesis import strategies as st
from samples import FOLDER

import ltocompat
from ltocompat.commands.read_artifacts import ScanOptions, summaries
from ltocompat.model.artifact_summary import ModuleGroup
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
FILES = st.sampled_from(SAMPLES) | st.lists(REGIONS, min_size=1, max_size=3).map(b"".join)
# In the order of the alphabet and against it.
NAMES = st.permutations(["a.bin", "b.so", "c.o", "z.cubin"])


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
        findings = tuple(replace(finding, example=None) for finding in result.findings)
        why = tuple(reason.replace(called or result.path, "file") for reason in result.why)
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


@settings(max_examples=25)
@some_files
@the_bug
def test_results_and_groups_are_the_same_inside_a_zip(files: list[bytes], names: list[str]) -> None:
    with written(files, names) as paths:
        package = paths[0].with_name("package.zip")
        with zipfile.ZipFile(package, "w") as archive:
            for path in paths:
                archive.write(path, path.name)
        for path, data in zip(paths, files, strict=True):
            if data != NO_CODE:
                place = f"{package}::{path.name}"
                assert checked(place, called=place)[str(package)] == alone(data)
        assert groups(package) == {
            (path.name, *inside): found for path in paths for inside, found in groups(path).items()
        }


def groups(path: Path) -> dict[tuple[str, ...], list[ModuleGroup]]:
    """Groups of modules by innermost file."""
    found: dict[tuple[str, ...], list[ModuleGroup]] = {}
    for summary in summaries([path], ScanOptions(ScanSettings(), TARGETS, apart=True)):
        for group in summary.groups:
            place = replace(group.example, path="file", members=())
            alike = replace(group, example=place, inner=False)
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
