"""What is wrong with a package wherever it goes is the same by every verb and for every target.

A wheel for CUDA 12 has modules that need a newer driver than the first of that major, some of them
without kernels, which nobody launches: which GPUs PKG-13 names doesn't hang on who is asked where.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from fatbin_writer import KINDS, EntrySpec, entry, region
from hypothesis import example, given, settings
from hypothesis import strategies as st
from libraries_made import needs_gcc
from packages_made import wheel
from samples import FOLDER
from test_coverage_everywhere import library_of

import ltocompat
from ltocompat.commands.audit import audit
from ltocompat.commands.policy.gate import Audited
from ltocompat.model.verdict import Finding, Result

Code = tuple[str, str, int, tuple[int, int]]
Modules = list[list[tuple[Code, str]]]
EMPTY_SASS: Code = ("sass", "cubin/nvcc-13.0-sm_80-without-kernels.cubin", 80, (12, 9))
EMPTY_PTX: Code = ("ptx", "ptx/nvcc-13.0-compute_80-without-kernels.ptx", 80, (8, 8))
SASS_80: Code = ("sass", "cubin/nvrtc-12.4-sm_80.cubin", 80, (12, 4))
SASS_90: Code = ("sass", "cubin/nvrtc-12.4-sm_90.cubin", 90, (12, 4))
PTX: Code = ("ptx", "ptx/nvrtc-12.6-compute_80.ptx", 80, (8, 5))
CODE = (EMPTY_SASS, EMPTY_PTX, SASS_80, SASS_90, PTX)
OF_12_9 = {
    b"V13.0.88": b"V12.9.86",
    b"release 13.0": b"release 12.9",
    b".version 9.0": b".version 8.8",
}
"""Code without kernels is of 13.0; a package for CUDA 12 has that of 12.9."""
ENTRIES = st.tuples(st.sampled_from(CODE), st.sampled_from(("none", "lz4", "zstd")))
MODULES = st.lists(st.lists(ENTRIES, min_size=1, max_size=3), min_size=1, max_size=4)
TARGETS = [f"driver={driver},gpu={gpu}" for driver in (525, 580) for gpu in ("a100", "h100")]


def fatbin(entries: list[tuple[Code, str]], number: int) -> bytes:
    """A module whose kernel no other module has."""
    return region(
        [
            entry(
                EntrySpec(
                    KINDS[kind],
                    _of_12((FOLDER / name).read_bytes()).replace(b"saxpy", b"k%04d" % number),
                    arch,
                    version=version,
                    compression=compression,
                )
            )
            for (kind, name, arch, version), compression in entries
        ]
    )


def _of_12(code: bytes) -> bytes:
    for newer, older in OF_12_9.items():
        code = code.replace(newer, older)
    return code


def of_package(results: list[Result]) -> set[Finding]:
    return {
        finding
        for result in results
        if result.gpu is None
        for finding in result.findings
        if finding.rule == "PKG-13"
    }


@needs_gcc
@settings(max_examples=24, deadline=None)
@example([[(SASS_80, "none")], [(SASS_90, "none"), (EMPTY_PTX, "none")]], [TARGETS[1]])
@example([[(SASS_80, "none")], [(SASS_90, "none"), (EMPTY_SASS, "zstd")]], [TARGETS[1]])
@given(MODULES, st.lists(st.sampled_from(TARGETS), min_size=1, max_size=2, unique=True))
def test_check_audit_and_a_reading_find_the_same_in_a_package(
    modules: Modules, targets: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        host = library_of(
            Path(folder) / "libx.so", [fatbin(each, n) for n, each in enumerate(modules)]
        )
        path = wheel(Path(folder), {"libx/libx.so": host.read_bytes()}, name="libx-cu12")
        (reading,) = ltocompat.read(path)
        expected = of_package([*reading.check(TARGETS)])
        audited = [a.checked for a in audit([path], targets=targets) if isinstance(a, Audited)]
        alone = [a.checked for a in audit([path]) if isinstance(a, Audited)]
        assert of_package([*ltocompat.check(path, targets)]) == expected
        assert of_package(audited) == of_package(alone) == expected
