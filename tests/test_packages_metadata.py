"""What metadata of packages says: read as others read it, and never an exception."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from every_case import every
from package_writer import tar_of, zip_of, zstd
from packages_made import conda, wheel
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from ltocompat.model.limits import Limits
from ltocompat.packages.conda import alternatives
from ltocompat.packages.metadata import python_and_platforms
from ltocompat.packages.reading import package_of
from ltocompat.packages.values import Kind

INSTALLED = [
    distribution
    for distribution in importlib.metadata.distributions()
    if distribution.read_text("METADATA") and "-packages" in str(distribution.locate_file(""))
]


@pytest.mark.slow
@every("theirs", INSTALLED)
def test_every_installed_distribution_says_what_importlib_reads(
    theirs: importlib.metadata.Distribution,
) -> None:
    says_what_importlib_reads(theirs)


def says_what_importlib_reads(theirs: importlib.metadata.Distribution) -> None:
    folder = next(
        path
        for path in Path(str(theirs.locate_file(""))).glob("*.dist-info")
        if canonicalize_name(path.name.partition("-")[0]) == canonicalize_name(theirs.name)
    )
    ours = package_of(str(folder))
    assert ours is not None
    assert (ours.kind, ours.problems) == (Kind.INSTALLED, ())
    assert (ours.name, ours.version) == (canonicalize_name(theirs.name), theirs.version)
    assert len(ours.requires) == len(theirs.requires or [])
    # Since Python 3.12 importlib leaves out files that RECORD lists and nobody has.
    there = [name for name in ours.files if Path(str(theirs.locate_file(name))).exists()]
    assert there == [str(file) for file in theirs.files or [] if Path(str(file.locate())).exists()]


def test_a_file_beside_packages_belongs_to_none(tmp_path: Path) -> None:
    file = tmp_path / "site-packages" / "x.so"
    file.parent.mkdir()
    file.write_bytes(b"\x7fELF")
    assert package_of(str(file)) is None
    assert package_of(str(tmp_path)) is None
    assert package_of(str(tmp_path / "missing")) is None
    assert package_of("-") is None


# From "Package match specifications" of conda's documentation: what matches, and what does not.
@pytest.mark.parametrize(
    ("text", "matching", "other"),
    [
        ("1.11", ["1.11"], ["1.11.1"]),
        ("=1.11", ["1.11", "1.11.1"], ["1.12"]),
        ("1.11.*", ["1.11", "1.11.7"], ["1.1"]),
        ("1.0|1.2", ["1.0", "1.2"], ["1.1"]),
        (">=1.8,<2|1.6", ["1.8", "1.9", "1.6"], ["2.0", "1.7"]),
        (">=1.8.*", ["1.8", "1.9"], ["1.7"]),
        ("*", ["1.0"], []),
    ],
)
def test_versions_of_conda_mean_what_conda_says(
    text: str, matching: list[str], other: list[str]
) -> None:
    found = alternatives(text)
    assert found is not None

    def admits(version: str) -> bool:
        return any(version in SpecifierSet(text) for text in found)

    assert all(map(admits, matching))
    assert not any(map(admits, other))


@pytest.mark.parametrize("text", ["abc", ">=", "1.0,,>>2", "1.*.2"])
def test_versions_that_conda_does_not_write_are_no_versions(text: str) -> None:
    assert alternatives(text) is None


def test_tags_name_a_python_only_where_it_is_one() -> None:
    assert python_and_platforms(["cp311-cp311-win_amd64"]) == ("3.11", ("win_amd64",))
    assert python_and_platforms(["py2.py3-none-any"]) == (None, ("any",))
    assert python_and_platforms(["nonsense"]) == (None, ())
    assert python_and_platforms(["cp3\N{ARABIC-INDIC DIGIT NINE}-none-any"]) == (None, ("any",))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe\0garbage",
        b"Name: x\nRequires-Dist: ]]]\n",
        b"Requires-Dist: " + b"(" * 100_000,
        b"Requires-Dist: x; " + b"(" * 5_000 + b"os_name == 'nt'",
        b"Name: x\n" + b"Requires-Dist: a\n" * 20_000,
        b"\n".join(b"X-%d: y" % n for n in range(100_000)),
    ],
    ids=["empty", "binary", "bad", "parentheses", "deep", "many", "headers"],
)
def test_broken_metadata_become_problems(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x-1.0-py3-none-any.whl"
    path.write_bytes(zip_of(("x-1.0.dist-info/METADATA", data)))
    found = package_of(str(path))
    assert found is not None
    assert found.name == "x"
    assert found.problems
    assert all(len(problem) < 200 for problem in found.problems)


def test_metadata_that_unpack_to_more_than_they_may_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x-1.0-py3-none-any.whl"
    path.write_bytes(zip_of(("x-1.0.dist-info/METADATA", bytes(64 << 20))))
    found = package_of(str(path), Limits(unpacked_bytes=1 << 20))
    assert found is not None
    assert found.problems == ("METADATA has no Name",)


@pytest.mark.parametrize(
    "index",
    [
        b"",
        b"[]",
        b"[" * 100_000,
        b'{"name": 1, "depends": 2}',
        json.dumps({"name": "x", "depends": [1, "a b c d", "??? >=1", {}]}).encode(),
    ],
    ids=["empty", "list", "deep", "types", "lines"],
)
def test_broken_indexes_of_conda_become_problems(tmp_path: Path, index: bytes) -> None:
    path = tmp_path / "x-1.0-0.conda"
    path.write_bytes(
        zip_of(
            ("metadata.json", b"{}"),
            ("info-x-1.0-0.tar.zst", zstd(tar_of(("info/index.json", index)))),
        )
    )
    found = package_of(str(path))
    assert found is not None
    assert found.problems


@pytest.mark.parametrize("size", [0, 3, 30, 200, 1000])
def test_a_package_that_is_cut_off_is_no_exception(tmp_path: Path, size: int) -> None:
    for whole in (wheel(tmp_path, {"a": b"b"}), conda(tmp_path, {}), conda(tmp_path, {}, old=True)):
        whole.write_bytes(whole.read_bytes()[:size])
        package_of(str(whole))


def test_python_does_not_print_what_it_thinks_of_a_marker(tmp_path: Path) -> None:
    code = (
        "import sys, warnings; warnings.simplefilter('always');"
        "from ltocompat.packages.reading import package_of;"
        "from ltocompat.model.target import System;"
        "from ltocompat.targets.systems import MarkerEnvironment;"
        "package_of(sys.argv[1]);"
        "MarkerEnvironment.of(System(), None).holds(sys.argv[2])"
    )
    marker = r"python_version == '\.'"
    path = wheel(tmp_path, {"a": b"b"}, [f"x; {marker}"])
    words = [sys.executable, "-c", code, str(path), marker]
    assert subprocess.run(words, capture_output=True, check=True, text=True).stderr == ""


def test_a_package_that_is_removed_meanwhile_owns_nothing(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    info = site / "x-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "x.so").touch()
    (info / "RECORD").write_text("x.so,,\n")
    (info / "METADATA").write_text("Name: x\n")
    found = package_of(str(site / "x.so"))
    assert found is not None
    assert found.name == "x"
    changed = site.stat().st_mtime_ns
    shutil.rmtree(info)
    os.utime(site, ns=(changed, changed))
    assert package_of(str(site / "x.so")) is None
