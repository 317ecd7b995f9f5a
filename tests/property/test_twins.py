"""Windows twin: made-up programs are judged alike in an ELF file and in a DLL.

PE cuts the names of sections to 8 characters, ``__nv_relfatbin`` to ``__nv_rel``: what a device
link has used up must be known there, too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from test_windows_twins import BY_NVLINK, FUNCTION, ltoir, program, ptx, sass
from windows_twins import lines_of_both, pe_twin, without_names_of_drivers

import ltocompat
from ltocompat import Module

ENTRIES = [sass(80), sass(90), ptx("12.0"), ptx("12.4"), ptx("13.5"), ltoir("12.4"), FUNCTION]
RESULTS = [sass(80), sass(90), BY_NVLINK]
TARGETS = [
    f"driver={driver},gpu={gpu},nvjitlink={linker}"
    for driver in ("550", "580", "615")
    for gpu in ("sm_80", "sm_86", "sm_90", "sm_120")
    for linker in ("12.4", "13.5")
]


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[list[bytes]], list[bytes]]:
    """Objects, and what one device link, or one for each object, left of them."""
    entries = st.lists(st.sampled_from(ENTRIES), min_size=1, max_size=3, unique=True)
    objects = draw(st.lists(entries, min_size=1, max_size=3))
    links = draw(st.sampled_from(sorted({1, len(objects)})))
    return objects, [draw(st.sampled_from(RESULTS)) for _ in range(links)]


def modules(path: Path) -> list[tuple[object, ...]]:
    return [
        (module.registered, [(image.kind, image.arch, image.made_by) for image in module.images])
        for module in ltocompat.inspect(path)
        if isinstance(module, Module)
    ]


def judged(path: Path, targets: list[str]) -> Iterator[tuple[object, ...]]:
    for each in ltocompat.check(path, targets, cache=False):
        findings = {(f.rule, f.verdict, f.message, f.module_count) for f in each.findings}
        yield each.verdict, each.gpu, each.route, each.coverage, each.not_judged, findings


@settings(max_examples=32, deadline=None)
@given(programs(), st.lists(st.sampled_from(TARGETS), min_size=2, max_size=4, unique=True))
def test_a_program_is_judged_alike_for_linux_and_for_windows(
    parts: tuple[list[list[bytes]], list[bytes]], targets: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        elf, dll = Path(folder, "program"), Path(folder, "program.dll")
        elf.write_bytes(program(*parts))
        dll.write_bytes(pe_twin(elf))
        assert modules(dll) == modules(elf)
        assert list(judged(dll, targets)) == list(judged(elf, targets))
        (of_dll,), (of_elf,) = map(list, (ltocompat.require(dll), ltocompat.require(elf)))
        # The same branches of drivers; their versions have other numbers on Windows.
        assert without_names_of_drivers(of_dll.services) == without_names_of_drivers(
            of_elf.services
        )
        assert without_names_of_drivers(lines_of_both(of_dll.lines)) == without_names_of_drivers(
            lines_of_both(of_elf.lines)
        )
