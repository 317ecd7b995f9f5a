"""Two releases of libcuvs-cu13 and of nvidia-cusparse, held against other readers of their bytes.

Architectures and kernels are those that cuobjdump lists and extracts, libraries and imports those
of readelf, cubins that lie bare in data are counted by the options that ptxas left in them, and the
metadata is read as text.
"""

from __future__ import annotations

import re
import subprocess
import zipfile
from collections import Counter
from pathlib import Path

import cuobjdump
import pytest
import wheels

import ltocompat
from ltocompat import Change, Diff

pytestmark = pytest.mark.wild

CUVS = ("libcuvs-cu13==26.8.1", "libcuvs-cu13==26.10.0", "libcuvs/lib64/libcuvs.so")
CUSPARSE = (
    "nvidia-cusparse==12.6.3.3",
    "nvidia-cusparse==12.9.4.2",
    "nvidia/cu13/lib/libcusparse.so.12",
)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
_HASHES = re.compile(r"((?:_INTERNAL_|_GLOBAL__N__))[0-9a-f]{8}(_\w+?_cu_)[0-9a-f]{8}")


def wheel(requirement: str, member: str) -> Path:
    wheels.member(requirement, member)
    (path,) = (wheels.CACHE / requirement.replace("==", "-")).glob("*.whl")
    return path


def files(pair: tuple[str, str, str]) -> list[Path]:
    return [wheels.member(requirement, pair[2]) for requirement in pair[:2]]


def compared(pair: tuple[str, str, str]) -> Diff:
    return ltocompat.diff(*(wheel(requirement, pair[2]) for requirement in pair[:2]))


@pytest.fixture(scope="module")
def cuvs() -> Diff:
    return compared(CUVS)


@pytest.fixture(scope="module")
def cusparse() -> Diff:
    return compared(CUSPARSE)


def found(diff: Diff, kind: str, about: str = "") -> tuple[object, object] | None:
    changes = [c for c in diff.changes if c.kind == kind and c.about == about]
    return (changes[0].old, changes[0].new) if changes else None


def kernels(path: Path, folder: Path) -> set[str]:
    """Entries of the PTX that cuobjdump extracts, without nvcc's hashes of local names."""
    texts = cuobjdump.extracted(path, "-xptx", folder)
    names = (name for text in texts for name in _ENTRY.findall(text.decode("ascii", "replace")))
    return {_HASHES.sub(r"\1*\2*", name) for name in names}


def required(requirement: str, member: str) -> set[str]:
    """The lines of Requires-Dist."""
    with zipfile.ZipFile(wheel(requirement, member)) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        lines = archive.read(name).decode().splitlines()
    return {line.partition(": ")[2] for line in lines if line.startswith("Requires-Dist: ")}


def readelf(path: Path, *arguments: str) -> str:
    run = ["readelf", "-W", *arguments, str(path)]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout


def of(diff: Diff, kind: str, about: str) -> Change:
    (change,) = [c for c in diff.changes if c.kind == kind and c.about == about]
    return change


@pytest.mark.parametrize("pair", [CUVS, CUSPARSE], ids=lambda pair: pair[0].partition("=")[0])
def test_kernels_are_lost_and_gained_as_cuobjdump_extracts_them(
    pair: tuple[str, str, str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    diff: Diff = request.getfixturevalue("cuvs" if pair is CUVS else "cusparse")
    old, new = (kernels(file, tmp_path / str(n)) for n, file in enumerate(files(pair)))
    lost, gained = (of(diff, f"kernels-{how}", "ptx").count for how in ("lost", "gained"))
    assert (lost, gained) == (len(old - new), len(new - old))
    # 367 and 690 of libcuvs, 2667 and 3929 of cuSPARSE.
    assert min(lost, gained) > 300


def test_cuvs_gained_five_cubins_of_sm_100a_that_lie_bare_in_its_data(cuvs: Diff) -> None:
    assert found(cuvs, "arch-gained", "sass") == (None, ("sm_100a",))
    assert found(cuvs, "arch-lost", "sass") is None
    assert found(cuvs, "compression", "sass") == ((), ("none",))
    # cuobjdump looks into fatbins only; the assembler's options lie in each cubin as text.
    option = re.compile(rb"-arch sm_100a\s")
    counts = [len(option.findall(file.read_bytes())) for file in files(CUVS)]
    assert counts == [0, 5]


def test_cuvs_moved_its_dependencies_and_not_its_nvjitlink(cuvs: Diff) -> None:
    old, new = (required(requirement, CUVS[2]) for requirement in CUVS[:2])
    changes = [c for c in cuvs.changes if c.kind == "requires"]
    wordseses = [(set(c.old or ()), set(c.new or ())) for c in changes]  # type: ignore[arg-type]
    assert set().union(*(before for before, _ in wordseses)) == old - new
    assert set().union(*(after for _, after in wordseses)) == new - old
    assert "nvidia-nvjitlink<14,>=13.3" in old & new
    assert {c.about for c in changes} == {
        "cuda-pathfinder",
        "libkvikio-cu13",
        "libraft-cu13",
        "librmm-cu13",
    }
    assert found(cuvs, "version") == (("26.8.1",), ("26.10.0",))
    assert not [c for c in cuvs.changes if c.breaking]


def test_cusparse_gained_and_lost_the_architectures_that_cuobjdump_lists(cusparse: Diff) -> None:
    # The fatbins that it links at run time lie in data, where cuobjdump doesn't look; they are the
    # same in both but for LTO-IR of lto_75.
    old, new = (cuobjdump.listed(file) for file in files(CUSPARSE))
    assert archs(new, "sass") - archs(old, "sass") == {"107", "110"}
    assert archs(old, "sass") <= archs(new, "sass")
    assert found(cusparse, "arch-gained", "sass") == (None, ("sm_107", "sm_110"))
    assert found(cusparse, "arch-lost", "sass") is None
    assert archs(old, "ptx") - archs(new, "ptx") == {"90", "100", "103"}
    assert found(cusparse, "arch-lost", "ptx") == (("compute_103",), None)
    assert found(cusparse, "arch-gained", "ltoir") == (None, ("lto_75",))
    assert {c.breaking for c in cusparse.changes} - {None} == {
        "lost-ptx",
        "driver-rose",
        "nvjitlink-rose",
    }


def archs(listed: Counter[tuple[str, str]], kind: str) -> set[str]:
    return {arch for found_kind, arch in listed if found_kind == kind}


def test_cusparse_opens_the_nvjitlink_that_it_was_linked_with(cusparse: Diff) -> None:
    old, new = files(CUSPARSE)
    assert "[libnvJitLink.so.13]" in readelf(old, "-d")
    assert "libnvJitLink" not in readelf(new, "-d")
    assert b"\0libnvJitLink.so.13\0" in new.read_bytes()
    assert found(cusparse, "libraries", "needed") == (("libnvJitLink.so.13",), ())
    assert found(cusparse, "libraries", "opened") == ((), ("libnvJitLink.so.13",))
    names = {
        name.partition("@")[0] for name in re.findall(r"__nvJitLink\S+", readelf(old, "--dyn-syms"))
    }
    assert found(cusparse, "imports") == (tuple(sorted(names)), ())
    assert "__nvJitLink" not in readelf(new, "--dyn-syms")
    assert found(cusparse, "nvjitlink-imports") == (("13.0",), None)


def test_cusparse_ptx_moved_from_9_0_to_9_4(cusparse: Diff, tmp_path: Path) -> None:
    versions = []
    for number, file in enumerate(files(CUSPARSE)):
        texts = cuobjdump.extracted(file, "-xptx", tmp_path / str(number))
        versions.append({re.findall(rb"^\.version (\S+)", text, re.MULTILINE)[0] for text in texts})
    assert versions == [{b"9.0"}, {b"9.4"}]
    assert found(cusparse, "isa", "ptx") == (("PTX ISA 9.0",), ("PTX ISA 9.4",))


def test_a_saved_inspection_of_a_wheel_stands_for_it(cuvs: Diff, tmp_path: Path) -> None:
    from report_values import written

    from ltocompat.report import Options
    from ltocompat.report.verbs.inspect import REPORT

    old, new = (wheel(requirement, CUVS[2]) for requirement in CUVS[:2])
    file = tmp_path / "old.json"
    records = ltocompat.inspect(old, kernels=True)
    file.write_text(written("json", REPORT, records, Options(kernels=True)))
    metadata = ("requires", "version", "tags", "name")
    diff = ltocompat.diff(file, new)
    assert list(diff.changes) == [c for c in cuvs.changes if c.kind not in metadata]
