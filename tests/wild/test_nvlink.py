"""What real nvlinks say, and that no verdict contradicts them; they are fetched where missing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import samples

from ltocompat.commands.check import check
from ltocompat.commands.link import Linked, link
from ltocompat.targets import linkers
from ltocompat.targets.linkers import Linker, Tool

pytestmark = pytest.mark.wild

RELEASES = ("13.0", "13.5")
OBJECTS = samples.FOLDER / "objects"
LTOIR = samples.FOLDER / "ltoir"
GPUS = ("sm_80", "sm_90", "sm_100", "sm_120")


@pytest.fixture(scope="module", params=RELEASES)
def nvlink(request: pytest.FixtureRequest) -> Linker:
    return linkers.obtain(request.param, install_missing=True, tool=Tool.NVLINK)


def linked(*places: Path, by: Linker, arch: str = "sm_80") -> Linked:
    found = list(link(*places, arch=arch, linkers=[f"nvlink={by.version}"]))
    return next(record for record in found if isinstance(record, Linked) and record.way == "lto")


def test_lto_ir_links_up_to_the_release_of_nvlink(nvlink: Linker) -> None:
    older = linked(LTOIR / "nvrtc-12.4-lto_80.ltoir", by=nvlink)
    assert (older.answer.outcome, older.answer.kernels_in_output) == ("linked", 1)
    newer = linked(LTOIR / "nvrtc-13.5-lto_80.ltoir", by=nvlink)
    taken = nvlink.version.startswith("13.5")
    assert newer.answer.outcome == ("linked" if taken else "refused")
    reason = f"the LTO-IR for lto_80 was made by 13.5, newer than this nvlink {nvlink.version}"
    assert newer.reason == (None if taken else reason)


def test_objects_are_linked_with_what_they_call(nvlink: Linker) -> None:
    """nvlink itself is asked for the same, in a process of the test's own."""
    units = [OBJECTS / f"nvcc-13.0-rdc-{name}.o" for name in ("axpy", "scale")]
    unresolved = []
    for given in (units, units[:1]):
        words = [nvlink.path, "-arch=sm_80", *map(str, given), "-o", "/dev/null"]
        itself = subprocess.run(words, capture_output=True, check=False)
        (record,) = link(*given, arch="sm_80", linkers=[f"nvlink={nvlink.version}"])
        assert isinstance(record, Linked)
        assert (record.answer.outcome == "linked") == (itself.returncode == 0)
        unresolved.append(record.answer.unresolved)
    assert unresolved == [(), ("_Z5scalef",)]


def test_damaged_lto_ir_that_ends_nvlink_is_an_answer(nvlink: Linker, tmp_path: Path) -> None:
    data = bytearray((LTOIR / "nvrtc-12.4-lto_80.ltoir").read_bytes())
    data[len(data) // 2] ^= 0xFF
    data[len(data) // 2 + 1] ^= 0x5A
    damaged = tmp_path / "damaged.ltoir"
    damaged.write_bytes(data)
    record = linked(damaged, by=nvlink)
    assert (record.answer.outcome, record.answer.signal) == ("crashed", "SIGSEGV")
    assert record.reason == "its process ended (SIGSEGV)"


def wrapped(fatbin: Path, folder: Path) -> Path:
    """An object with a fatbin where nvcc -rdc=true puts it, which waits for a device link."""
    source = folder / f"{fatbin.stem}.s"
    source.write_text(
        f'.section __nv_relfatbin,"a"\n.align 8\n.incbin "{fatbin}"\n'
        ".data\n.quad __cudaRegisterLinkedBinary_x\n"
    )
    gcc = shutil.which("gcc") or "gcc"
    subprocess.run([gcc, "-c", source, "-o", source.with_suffix(".o")], check=True)
    source.unlink()
    return source.with_suffix(".o")


def test_no_verdict_contradicts_nvlink(nvlink: Linker, tmp_path: Path) -> None:
    """Every object among the samples, and every fatbin as if it lay in one."""
    for fatbin in sorted(samples.FOLDER.glob("fatbin*/*.fatbin")):
        wrapped(fatbin, tmp_path)
    targets = [f"nvlink={nvlink.release},gpu={gpu}" for gpu in GPUS]
    found = check([OBJECTS, tmp_path], targets, route="link", trial_link=True, cache=False)
    contradictions = [
        (result.path, str(result.gpu), finding.message)
        for result in found
        for finding in result.findings
        if finding.rule == "TRIAL-DISAGREES"
    ]
    assert contradictions == []
