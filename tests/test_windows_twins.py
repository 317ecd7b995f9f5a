"""Device code is judged alike in a DLL and in the ELF file that it was taken from.

PE cuts the names of sections to 8 characters: ``__nv_relfatbin`` becomes ``__nv_rel``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from elf_writer import BASE, ET_EXEC, Part, elf, offsets, wrapper
from fatbin_writer import KINDS, EntrySpec, entry, region
from packages_made import wheel
from samples import FOLDER
from windows_twins import lines_of_both, pe_twin, without_names_of_drivers

import ltocompat
from ltocompat import Module

# Every program of relocatable device code.
LINKED = sorted(
    path
    for path in (FOLDER / "objects").iterdir()
    if path.name.startswith("nvcc-") and ("-rdc-sass" in path.name or "program" in path.name)
)
DRIVERS = ("550", "580", "615")
GPUS = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_120")
TARGETS = [f"driver={driver},gpu={gpu},nvjitlink=13.0" for driver in DRIVERS for gpu in GPUS]

PTX_ISA = {"12.0": (8, 0), "12.4": (8, 4), "13.5": (9, 5)}


def sass(sm: int, sample: str = "nvrtc-12.4-sm_{}.cubin") -> bytes:
    return entry(EntrySpec(KINDS["sass"], sample_bytes("cubin", sample.format(sm)), sm))


def ptx(release: str) -> bytes:
    data = sample_bytes("ptx", f"nvrtc-{release}-compute_80.ptx")
    return entry(EntrySpec(KINDS["ptx"], data, version=PTX_ISA[release]))


def ltoir(release: str) -> bytes:
    return entry(EntrySpec(KINDS["ltoir"], sample_bytes("ltoir", f"nvrtc-{release}-lto_80.ltoir")))


def sample_bytes(folder: str, name: str) -> bytes:
    return (FOLDER / folder / name).read_bytes()


FUNCTION = entry(
    EntrySpec(
        KINDS["ptx"],
        b".version 8.4\n.target sm_80\n.address_size 64\n.visible .func f()\n{\n ret;\n}\n\0",
    )
)
BY_NVLINK = sass(80, "nvlink-13.5-of-12.4-sm_80.cubin")
# What the objects of a program hold, and what became of them in each device link.
MADE = {
    "device-link-leaves-sm_90-out": ([[sass(80), sass(90)], [sass(80), sass(90)]], [sass(80)]),
    "ptx-without-kernels-first": ([[FUNCTION], [sass(80), ptx("12.0")]], [sass(80)]),
    "ptx-of-two-releases": ([[sass(80), ptx("12.0")], [sass(80), ptx("13.5")]], [sass(80)]),
    "lto-without-dlto": ([[sass(80), ltoir("12.4")]], [BY_NVLINK]),
    "two-device-links": ([[sass(80), sass(90)], [ptx("12.4")]], [sass(80), sass(90)]),
}


def program(objects: list[list[bytes]], links: list[bytes]) -> bytes:
    """A linked file as nvcc leaves it: the objects' regions, and one for each device link.

    One device link has every object; of several, each has one.
    """
    before, after = [region(entries) for entries in objects], [region([image]) for image in links]
    ids = [b"_%d\0" % number for number in range(len(objects))]
    groups = [ids] if len(links) == 1 else [[name] for name in ids]
    order = b"".join(
        b"".join(group) + b"".join(b"def " + name for name in group) for group in groups
    )
    parts = [
        Part("__nv_relfatbin", b"".join(before)),
        Part(".nv_fatbin", b"".join(after)),
        Part("__nv_module_id", order),
        Part(".nvFatBinSegment", b"", flags=3),
    ]
    at = offsets(parts)
    starts = {"__nv_relfatbin": before, ".nv_fatbin": after}
    for name, regions in starts.items():
        place = BASE + at[name]
        for data in regions:
            version, array = (2, 0x90000) if name == ".nv_fatbin" else (1, 0)
            parts[3].data += wrapper(place, version, array)
            place += len(data)
    return elf(parts, ET_EXEC)


def pair_of(name: str, folder: Path) -> tuple[Path, Path]:
    """One of the programs made here, and its twin."""
    path, dll = folder / "program", folder / "twin.dll"
    path.write_bytes(program(*MADE[name]))
    dll.write_bytes(pe_twin(path))
    return path, dll


@pytest.fixture(params=[*LINKED, *MADE], ids=lambda case: getattr(case, "name", case))
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """An ELF file, and its twin."""
    if isinstance(request.param, str):
        return pair_of(request.param, tmp_path)
    dll = tmp_path / "twin.dll"
    dll.write_bytes(pe_twin(request.param))
    return request.param, dll


def test_a_dll_has_the_modules_of_its_elf_twin(pair: tuple[Path, Path]) -> None:
    elf, dll = (
        [
            (
                module.registered,
                [(image.section, image.kind, image.arch) for image in module.images],
            )
            for module in ltocompat.inspect(path)
            if isinstance(module, Module)
        ]
        for path in pair
    )
    assert [registered for registered, _ in dll] == [registered for registered, _ in elf]
    for (_, cut), (_, whole) in zip(dll, elf, strict=True):
        assert cut == [((section or "")[:8], kind, arch) for section, kind, arch in whole]
    assert "__nv_rel" in {section for _, images in dll for section, *_ in images}


def test_a_dll_has_the_coverage_and_the_verdicts_of_its_elf_twin(pair: tuple[Path, Path]) -> None:
    def judged(path: Path) -> Iterator[tuple[object, ...]]:
        for r in ltocompat.check([path], TARGETS):
            findings = {
                (f.rule, f.verdict, f.message.replace(str(path), "FILE"), f.module_count)
                for f in r.findings
            }
            yield r.verdict, r.target, r.gpu, r.route, r.coverage, r.not_judged, findings

    elf, dll = map(list, map(judged, pair))
    assert dll == elf
    assert len({verdict for verdict, *_ in dll}) > 1


def test_a_dll_requires_what_its_elf_twin_requires(pair: tuple[Path, Path]) -> None:
    elf, dll = (
        [
            (
                r.modules,
                r.nvjitlink,
                r.driver_sass,
                r.driver_ptx,
                r.services,
                lines_of_both(r.lines),
            )
            for r in ltocompat.require(path)
        ]
        for path in pair
    )
    assert without_names_of_drivers(dll) == without_names_of_drivers(elf)
    drivers = [service.driver for *_, services, _ in dll for service in services]
    assert all(driver is None or str(driver) == f"R{driver.branch}" for driver in drivers)


def test_a_dll_goes_to_windows_where_the_driver_is_that_of_a_toolkit(tmp_path: Path) -> None:
    """The same file in a package and alone; an ELF file and a named system stay what they are."""
    elf_file = LINKED[0]
    (tmp_path / "x.dll").write_bytes(pe_twin(elf_file))
    inside = wheel(tmp_path, {"x/x.dll": pe_twin(elf_file)}, tag="py3-none-win_amd64")
    for path in (tmp_path / "x.dll", inside):
        (result, *_) = ltocompat.check(path, "stock=12.4,gpu=a100")
        driver = result.target.driver
        assert (str(result.target.system), driver and driver.text) == ("windows", "551.61")
    (result, *_) = ltocompat.check(elf_file, "stock=12.4,gpu=a100")
    assert str(result.target.system) == "linux"
    (result, *_) = ltocompat.check(tmp_path / "x.dll", "stock=12.4,os=linux,gpu=a100")
    assert str(result.target.system) == "linux"
