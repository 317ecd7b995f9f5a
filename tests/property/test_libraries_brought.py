"""Laws of PKG-01 and PKG-04: what is brought is not told, what is not is, and the line cures.

The oracle saturates the rows of the table by names alone, without versions, extras or markers.
"""

from __future__ import annotations

import posixpath
import tomllib
from collections import defaultdict
from pathlib import Path

from hypothesis import assume, given
from hypothesis import strategies as st

import ltocompat
from ltocompat.model.image import CudaLibrary, HostBinary
from ltocompat.model.library_name import library_name
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location
from ltocompat.model.requirement import Required
from ltocompat.model.verdict import Verdict
from ltocompat.packages.metadata import read_metadata
from ltocompat.packages.values import Kind, Package, Shipped
from ltocompat.rules.catalogue.library_problems import (
    missing,
    of_another_major,
    of_other_names,
    opened,
)
from ltocompat.rules.catalogue.package_dependencies import (
    dependency_missing,
    dependency_of_another_major,
)
from ltocompat.rules.rule import Problem

TABLE = tomllib.loads(
    Path(ltocompat.__file__).with_name("facts").joinpath("cuda_libraries.toml").read_text("utf-8")
)
COMPILERS = ("libnvJitLink", "libnvrtc", "nvJitLink", "nvrtc")
NEEDED_COMPILERS = ("libnvJitLink.so.12", "libnvrtc.so.12", "nvrtc64_120_0.dll")
FILES: dict[str, set[str]] = defaultdict(set)
REQUIRES: dict[str, set[str]] = defaultdict(set)
VERSIONS: dict[str, set[tuple[str, str]]] = defaultdict(set)
for row in TABLE["package"]:
    names = {posixpath.basename(path) for path in row["files"]}
    FILES[row["package"]] |= names
    VERSIONS[row["package"]].add((row["first"], row["last"]))
    REQUIRES[row["package"]] |= {text for text in row["requires"] if "[" not in text}
# What cuda-toolkit brings to these is left out of the oracle; so are they of what is drawn.
BY_TOOLKIT = {row["package"] for row in TABLE["package"] if any("[" in t for t in row["requires"])}
NAMES = sorted(FILES.keys() - BY_TOOLKIT)
WANTED = sorted({file for name in NAMES for file in FILES[name] if not file.startswith(COMPILERS)})


def saturated(names: set[str]) -> set[str]:
    more = names.union(*(REQUIRES[name] for name in names))
    return names if more == names else saturated(more)


def problems(file: str, lines: list[str]) -> list[Problem]:
    """What is told of it."""
    shipped = shipping(file, lines)
    return [*missing(shipped), *of_another_major(shipped)]


def shipping(file: str, lines: list[str]) -> Shipped:
    """A package with one library that needs a file, and these dependencies."""
    text = "Name: libx\nVersion: 1.0\n" + "".join(f"Requires-Dist: {line}\n" for line in lines)
    windows = file.endswith(".dll")
    package = Package(
        kind=Kind.WHEEL,
        path="libx-1.0.whl",
        name="libx",
        extras=("cuda",),
        requires=read_metadata(text.encode(), Budget()).requires,
        platforms=("win_amd64" if windows else "manylinux_2_28_x86_64",),
    )
    host = HostBinary(
        place=Location("libx-1.0.whl").member("libx/x.so"),
        format="PE" if windows else "ELF",
        machine="x86-64",
        type="shared library",
        needed=(file, "libc.so.6"),
        libraries=(CudaLibrary(library_name(file) or "", "needed", file, None, ""),),
    )
    required = Required(
        path="",
        modules=0,
        nvjitlink=None,
        driver_sass=None,
        driver_ptx=None,
        ptx_beyond=False,
        services=(),
        link_options=(),
        asked=(),
        lines=(),
        skipped=0,
    )
    return Shipped(package=package, ask=lambda: required, hosts=(host,))


@given(st.sampled_from(WANTED), st.sets(st.sampled_from(NAMES), min_size=1, max_size=4))
def test_exactly_what_nothing_brings_is_told(file: str, names: set[str]) -> None:
    brought = any(file in FILES[name] for name in saturated(names))
    verdicts = [problem.verdict for problem in problems(file, sorted(names))]
    assert verdicts == ([] if brought else [Verdict.FAIL])


@given(st.sampled_from(WANTED), st.data())
def test_whatever_version_is_named_that_brings_it_is_enough(file: str, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([name for name in NAMES if file in FILES[name]]))
    majors = {
        (row["first"], row["last"])
        for row in TABLE["package"]
        if row["package"] == name and file in map(posixpath.basename, row["files"])
    }
    version = data.draw(st.sampled_from(sorted({end for ends in majors for end in ends})))
    major = int(version.partition(".")[0])
    line = data.draw(
        st.sampled_from(
            [f"=={version}", f"~={major}.0", f">={version},<{major + 1}", f"<={version}", ""]
        )
    )
    assert problems(file, [f"{name}{line}"]) == []


@given(
    st.sampled_from(WANTED),
    st.sampled_from(NAMES),
    st.sampled_from(["", ">={}", "<{}", "=={}.*", "!={}.*", ">{}.99", "~={}.0"]),
    st.integers(0, 15),
)
def test_any_specifier_has_an_answer(file: str, name: str, specifier: str, major: int) -> None:
    shipped = shipping(file, [f"{name}{specifier.format(major)}"])
    for rule in (missing, of_another_major, of_other_names, opened):
        assert all(problem.remedy for problem in rule(shipped))


@given(st.sampled_from(WANTED), st.sampled_from(NAMES))
def test_the_printed_line_cures(file: str, name: str) -> None:
    for problem in problems(file, [name]):
        before, line = problem.remedy.split("write Requires-Dist: ")
        assert not before
        for choice in line.partition(", whichever")[0].split(" or "):
            assert problems(file, [name, choice]) == []


@given(
    file=st.sampled_from([*WANTED, *NEEDED_COMPILERS]),
    names=st.sets(st.sampled_from(["numpy", "nvidia-nvtx-cu12", "nvidia-nccl-cu12"])),
    extra=st.booleans(),
)
def test_every_library_of_cuda_is_missed_alike(file: str, names: set[str], *, extra: bool) -> None:
    """NVRTC and nvJitLink as all others: what else of CUDA is brought decides, and how."""
    of_cuda = {name for name in names if name.startswith("nvidia")}
    assume(not any(file in FILES[name] for name in saturated(of_cuda)))
    marker = '; extra == "cuda"' if extra else ""
    shipped = shipping(file, [f"{name}{marker}" for name in sorted(names)])
    expected = Verdict.FAIL if of_cuda and not extra else Verdict.UNKNOWN
    assert [problem.verdict for problem in dependency_missing.function(shipped)] == [expected]


@given(
    file=st.sampled_from([*WANTED, *NEEDED_COMPILERS]),
    lines=st.sets(st.sampled_from(["nvidia-nvtx-cu12", "nvidia-nvtx-cu12; extra == 'cuda'"])),
    more=st.sampled_from(
        [
            "numpy",
            "libx-core",
            "libx_data>=1",
            "nvidia-nccl-cu12; extra == 'cuda'",
            "x; extra == 'a'",
        ]
    ),
)
def test_a_line_that_promises_no_library_makes_no_ok(file: str, lines: set[str], more: str) -> None:
    """cutensor-cu13's extra for NCCL brings no cuBLAS; apache-tvm-ffi brings apache-tvm none."""
    assume(file not in FILES["nvidia-nccl-cu12"])
    assume(file not in FILES["nvidia-nvtx-cu12"])
    for requires in (sorted(lines), [*sorted(lines), more]):
        (problem,) = dependency_missing.function(shipping(file, requires))
        assert problem.verdict in (Verdict.FAIL, Verdict.UNKNOWN)


@given(
    file=st.sampled_from(["libcublas.so.12", "libcusparse.so.12", *NEEDED_COMPILERS[:2]]),
    more=st.lists(st.sampled_from(["libx-core", "libx_data>=1"]), unique=True),
    stranger=st.booleans(),
)
def test_an_extra_of_another_major_passes_only_with_a_stranger(
    file: str, more: list[str], *, stranger: bool
) -> None:
    """A package of the same project may bring the library, and nobody knows that it does."""
    stem = file[3:].partition(".")[0].lower()
    wrong = f"nvidia-{'cuda-' * (stem == 'nvrtc')}{stem}-cu11; extra == 'cuda'"
    if stem == "nvjitlink":
        wrong = "nvidia-nvjitlink>=13; extra == 'cuda'"
    shipped = shipping(file, [wrong, *more, *["somebody-cuda12"] * stranger])
    found = [problem.verdict for problem in dependency_of_another_major.function(shipped)]
    alone = Verdict.UNKNOWN if more else Verdict.FAIL
    assert found == [Verdict.OK if stranger else alone]
