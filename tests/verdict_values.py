"""Hand-made verdicts that reports are tested with."""
# ruff: noqa: ANN401 - any field of a value may be given

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from report_values import HOSTILE

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.location import Location
from ltocompat.model.matrix import Matrix
from ltocompat.model.requirement import (
    GpuSupport,
    LinkerFloor,
    ModuleRequirement,
    PasteLine,
    Required,
    RouteFloor,
)
from ltocompat.model.target import DriverVersion, Gpu, Quantifier, Target, VersionSet
from ltocompat.model.verdict import LEVELS, Coverage, Extent, Finding, Result, Route, Verdict

H100 = Gpu("h100", SmArch.parse("sm_90"), data_center=True)
L4 = Gpu("l4", SmArch.parse("sm_89"), data_center=True)
T4 = Gpu("t4", SmArch.parse("sm_75"), data_center=True)

LIBRARY = Location("lib/libx.so")
WORDS = {
    Verdict.JIT: ("PTX-06", "the driver compiles the PTX when it loads"),
    Verdict.UNDOCUMENTED: ("LTO-02", "it linked in every measured case"),
    Verdict.UNKNOWN: ("LTO-01", "the set of its makers straddles the linker"),
    Verdict.FAIL: ("PTX-01", "the driver refuses it with error 222"),
}


def target(
    name: str = "driver=580.95.05,gpu=h100", *gpus: Gpu, source: str = "given", **facts: Any
) -> Target:
    """A target that gives a driver, and these GPUs."""
    driver = VersionSet(
        "580.95.05", (DriverVersion((580, 95, 5)),), quantifier=Quantifier.ONE_OF, source=source
    )
    sources = (("driver", source), *((("gpu", "given"),) if gpus else ()))
    return Target(name=name, gpus=gpus, sources=sources, **({"driver": driver} | facts))


def linker(version: str, source: str = "requirements.txt") -> VersionSet[Release]:
    return VersionSet(
        version, (Release.parse(version),), quantifier=Quantifier.ONE_OF, source=source
    )


def finding(verdict: Verdict, message: str = "", count: int = 3, **facts: Any) -> Finding:
    rule, text = WORDS.get(verdict, ("DRV-02", "minor-version compatibility"))
    values: dict[str, Any] = {
        "rule": rule,
        "verdict": verdict,
        "level": LEVELS[verdict],
        "message": message or text,
        "remedy": "ship SASS for sm_90" if verdict > Verdict.JIT else "",
        "evidence": "version in the fatbin entry",
        "source": "CUDA Compatibility guide",
        "module_count": count,
        "example": LIBRARY.at(0x1F40, 3),
    }
    return Finding(**(values | facts))


def result(
    verdict: Verdict,
    goal: Target,
    gpu: Gpu | None = None,
    *,
    path: str = str(LIBRARY),
    route: Route | None = None,
    **facts: Any,
) -> Result:
    """A verdict on a library of 2,638 modules, of which 1,617 are for any GPU."""
    values: dict[str, Any] = {
        "path": path,
        "target": goal,
        "gpu": gpu,
        "route": route,
        "verdict": verdict,
        "coverage": Coverage(2638, sass=1600, ptx=17, none=1021),
        "not_judged": (),
        "findings": () if verdict is Verdict.OK else (finding(verdict),),
        "why": (
            f"2,638 modules (e.g. {LIBRARY}@0x40): {verdict}: driver >= 525.60.13 ok (DRV-01)",
        ),
    }
    return Result(**(values | facts))


ONE = target("driver=580.95.05,gpu=h100+l4+t4", H100, L4, T4)
PROD = target("prod", H100, L4, source="prod.toml", nvjitlink=linker("13.2"))
EDGE = target("edge", H100, L4, source="stock 12.4")


def one_target() -> list[Target | Result]:
    """Three GPUs, of which two fare alike."""
    notes = tuple(finding(Verdict.OK, f"a note, number {number}", number) for number in range(9))
    return [
        ONE,
        result(Verdict.OK, ONE, H100, findings=notes),
        result(Verdict.OK, ONE, L4),
        result(Verdict.FAIL, ONE, T4, extent=Extent(3, 1617)),
    ]


def many_targets() -> list[Target | Result]:
    """A table of targets by GPUs; one finding in several cells."""
    return [
        PROD,
        EDGE,
        result(Verdict.FAIL, PROD, H100),
        result(Verdict.FAIL, PROD, L4, findings=(finding(Verdict.FAIL), finding(Verdict.JIT))),
        result(Verdict.JIT, EDGE, H100),
        result(Verdict.UNKNOWN, EDGE, L4),
    ]


def many_artifacts() -> list[Target | Result]:
    """Two libraries, a text file and a library with both routes, in part not checked."""
    bare = target("nvjitlink=13.2", driver=None, nvjitlink=linker("13.2", "given"))
    few = Coverage(2, link=2)
    return [
        ONE,
        bare,
        *(result(Verdict.OK, ONE, gpu, path="a.so") for gpu in ONE.gpus),
        result(Verdict.OK, bare, path="a.so", not_judged=("load",), coverage=few),
        *(result(Verdict.FAIL, ONE, gpu, path="lib/b.so") for gpu in ONE.gpus),
        result(Verdict.UNDOCUMENTED, bare, path="lib/b.so", not_judged=("load",), coverage=few),
        *(
            result(Verdict.UNKNOWN, ONE, gpu, path="README.md", coverage=Coverage(0), findings=())
            for gpu in ONE.gpus
        ),
        *(
            result(Verdict.JIT, ONE, gpu, path="c.o", route=route)
            for gpu in ONE.gpus
            for route in Route
        ),
    ]


def hostile_results() -> list[Target | Result]:
    """Every word tries to do something to the reader's terminal or page."""
    goal = target(HOSTILE, Gpu(HOSTILE, SmArch.parse("sm_90")), source=HOSTILE)
    bad = finding(
        Verdict.FAIL,
        HOSTILE,
        rule=HOSTILE,
        remedy=HOSTILE,
        evidence=HOSTILE,
        source=HOSTILE,
        example=Location(HOSTILE, (HOSTILE,), 0x40),
        kernels=(HOSTILE,),
        kernel_modules=7,
    )
    gpu = goal.gpus[0]
    return [
        goal,
        result(Verdict.FAIL, goal, gpu, path=HOSTILE, findings=(bad,), why=(HOSTILE,)),
        result(Verdict.FAIL, goal, gpu, path=HOSTILE + "2", findings=(bad,), why=(HOSTILE,)),
    ]


def required(**facts: Any) -> Required:
    """A library with LTO-IR, SASS and PTX."""
    values: dict[str, Any] = {
        "path": str(LIBRARY),
        "modules": 2638,
        "nvjitlink": LinkerFloor(Release(13, 3), Release(13, 5), 14, tried=False),
        "driver_sass": DriverVersion((580, 65, 6)),
        "driver_ptx": DriverVersion((590, 44, 1)),
        "ptx_beyond": False,
        "services": tuple(_services()),
        "link_options": ("-lto",),
        "asked": tuple(_asked()),
        "lines": (
            PasteLine("pip", "nvidia-nvjitlink>=13.5,<14", "perhaps 13.3 is enough"),
            PasteLine("conda", "__cuda >=13.0"),
        ),
        "skipped": 0,
    }
    return Required(**(values | facts))


def _services() -> Iterator[GpuSupport]:
    sass, late = DriverVersion((580, 65, 6)), DriverVersion((615,))
    nothing = RouteFloor(None, Coverage(2000, none=2000), None, None, None, None, Verdict.FAIL)
    floor = RouteFloor(
        None, Coverage(2000, 1600, 17, none=383), sass, None, None, None, Verdict.OK, ("DRV-01",)
    )
    linked = RouteFloor(
        Route.LINK,
        Coverage(2000, link=2000),
        late,
        None,
        Release(13, 5),
        None,
        Verdict.UNKNOWN,
        ("LTO-01", "LTO-15"),
        ("LTO-04",),
    )
    yet = RouteFloor(
        None, Coverage(2000, ptx=17, none=1983), None, None, None, None, Verdict.FAIL, ("DRV-03",)
    )
    yield GpuSupport(75, "Turing", "none", 0, 0, 0, 2000, None, routes=(nothing,))
    for number, name in ((80, "Ampere"), (86, "Ampere"), (90, "Hopper")):
        yield GpuSupport(number, name, "sass", 1600, 17, 0, 383, sass, routes=(floor,))
    yield GpuSupport(
        107, "Rubin", "link", 0, 0, 2000, 0, late, nvjitlink=Release(13, 5), routes=(linked,)
    )
    yield GpuSupport(110, "Blackwell", "none", 0, 0, 0, 2000, None, routes=(nothing,))
    yield GpuSupport(130, "next", "ptx", 0, 17, 0, 1983, None, routes=(yet,))


def _asked() -> Iterator[ModuleRequirement]:
    place = LIBRARY.at(0x1F40)
    yield ModuleRequirement(
        "nvJitLink", ">= 13.3", "LTO-01", "LTO-IR", "it is refused", "container 1.67", 3, place
    )
    for number in range(22):
        subject, floor = f"SASS number {number}", f">= {525 + number}"
        yield ModuleRequirement(
            "driver", floor, "DRV-01", subject, "error 35", "tkinfo note", 1, place
        )


def matrix(
    cells: str, *, what: str = "nvJitLink", path: str = str(LIBRARY), tried: bool = False
) -> Matrix:
    """A matrix as a drawing: a letter a cell, a line a row."""
    letters = dict(zip("-oju?f", Verdict, strict=True))
    rows = cells.split()
    numbers = (75, 80, 86, 89, 90, 100, 120, 130)[: len(rows[0])]
    columns = tuple(f"sm_{number}" for number in numbers)
    names = tuple(f"12.{n}" if what == "nvJitLink" else str(525 + 5 * n) for n in range(len(rows)))
    gpus = tuple(Gpu(name, SmArch.parse(name)) for name in columns)
    goals = [target(name, *gpus, source="matrix") for name in names]
    found = tuple(
        tuple(
            result(letters[letter], goal, gpu, path=path)
            for letter, gpu in zip(row, gpus, strict=True)
        )
        for row, goal in zip(rows, goals, strict=True)
    )
    return Matrix(path, what, names, columns, tried, found)
