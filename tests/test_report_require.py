"""The answer of ``require``: floors, GPUs, lines to paste."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from newest import NEWEST
from report_values import at, valid_json, written
from samples import FOLDER
from syrupy.assertion import SnapshotAssertion
from verdict_values import required

import ltocompat
from ltocompat.cli import run
from ltocompat.model.arch import Release
from ltocompat.model.requirement import (
    GpuSupport,
    LinkerFloor,
    Required,
    RouteFloor,
)
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Coverage, Verdict
from ltocompat.report import Failure, Options
from ltocompat.report.streams import PIPED
from ltocompat.report.verbs.require import REPORT

BARE = required(
    nvjitlink=None,
    driver_sass=None,
    driver_ptx=None,
    services=(),
    link_options=(),
    asked=(),
    lines=(),
    skipped=2,
)

RUNS = "Runs with driver >= 580.65.06 on sm_80-90 (sm_107: 615)"


def served(
    number: int,
    driver: tuple[int, ...] | None,
    *,
    last: tuple[int, ...] | None = None,
    verdict: Verdict = Verdict.OK,
) -> GpuSupport:
    """A GPU that SASS serves from a driver on."""
    first = None if driver is None else DriverVersion(driver)
    newest = None if last is None else DriverVersion(last)
    floor = RouteFloor(None, Coverage(1, sass=1), first, newest, None, None, verdict)
    return GpuSupport(number, "any", "sass", 1, 0, 0, 0, first, routes=(floor,), last_driver=newest)


def lacking(number: int, *rules: str, link: int = 0) -> GpuSupport:
    """A GPU for which no driver is enough, because of these rules."""
    (floor,) = (whole := served(number, None, verdict=Verdict.FAIL)).routes
    coverage = Coverage(1, sass=1 - link, link=link)
    return replace(whole, routes=(replace(floor, coverage=coverage, set_by=rules),))


def table(*records: Required | Failure, width: int | None = None, why: bool = False) -> str:
    return written("table", REPORT, records, Options(width=width, why=why))


@pytest.mark.parametrize("width", [80, PIPED])
def test_the_answer_in_a_line_then_lines_to_paste_then_gpus(
    width: int, snapshot: SnapshotAssertion
) -> None:
    assert at(width, lambda width: table(required(), BARE, width=width)) == snapshot


def test_rules_floors_and_reasons_are_told_when_asked(snapshot: SnapshotAssertion) -> None:
    assert table(required(), width=100, why=True) == snapshot


@pytest.mark.parametrize(
    ("facts", "answer"),
    [
        ({"nvjitlink": None}, RUNS),
        (
            {"nvjitlink": None, "no_nvjitlink": "no known nvJitLink links all of it"},
            f"{RUNS}; links: no known nvJitLink links all of it",
        ),
        (
            {"nvjitlink": None, "services": (served(75, None), served(80, None))},
            "Can't run on sm_75, 80: no known driver",
        ),
        (
            {"nvjitlink": None, "services": (lacking(75, "SASS-06"), served(80, (470,)))},
            "Runs with driver >= 470 on sm_80 (sm_75: code missing)",
        ),
        (
            {"nvjitlink": None, "services": (lacking(75, "PTX-01", "SASS-06"),)},
            "Can't run on sm_75: code missing",
        ),
        (
            {"nvjitlink": None, "services": (lacking(75, "LTO-15", link=1),)},
            "Can't run on sm_75: no known nvJitLink",
        ),
        (
            {"nvjitlink": None, "services": tuple(served(n, (470,)) for n in (70, 75, 80, 86))},
            "Runs with driver >= 470 on sm_70-86",
        ),
        (
            {
                "nvjitlink": None,
                "services": (served(70, (470,), last=(580,)), served(75, (470,)), served(80, None)),
            },
            "Runs with driver 470 to 580 on sm_70 (sm_75: 470; sm_80: no known driver)",
        ),
        (
            {"nvjitlink": None, "services": (served(90, (525,), verdict=Verdict.UNKNOWN),)},
            "May run with driver >= 525 on sm_90",
        ),
        (
            {"nvjitlink": None, "services": (replace(served(90, None), how="none"),)},
            "It serves no known GPU",
        ),
    ],
)
def test_the_first_line_answers(facts: dict[str, Any], answer: str) -> None:
    assert table(required(**facts)).splitlines()[1] == answer


def test_the_widest_rows_of_gpus_fit_80_columns_and_no_word_of_them_is_broken() -> None:
    """As of cuSPARSE: several rules doubt it, in thousands of modules, up to a newest version."""
    counts = Coverage(12_869, sass=9_844, link=1_900, none=1_125)
    floor = RouteFloor(
        None,
        counts,
        DriverVersion((525, 60, 13)),
        DriverVersion((580, 65, 6)),
        Release(12, 8),
        Release(12, 9),
        Verdict.UNDOCUMENTED,
        doubts=("LTO-02", "SASS-02"),
    )
    rows = [
        replace(
            served(number, (525,)),
            routes=(replace(floor, coverage=replace(counts, sass=9_844 - number % 3)),),
        )
        for number in (75, 80, 86, 87, 89, 90, 100, 103, 120)
    ]
    alone = replace(floor, last_nvjitlink=Release(12, 8), doubts=())
    rows.append(replace(served(121, (525,)), routes=(alone,)))
    lines = table(required(services=tuple(rows)), width=80).splitlines()
    shown = lines[next(n for n, line in enumerate(lines) if line.startswith("GPUs")) :]
    assert max(map(len, shown)) <= 80
    words = " ".join(shown).split()
    assert {"(undocumented:", "525.60.13", "580.65.06", "12,869"} <= {*words}
    assert "12.8 only" in "\n".join(shown)


def test_markdown(snapshot: SnapshotAssertion) -> None:
    assert written("markdown", REPORT, [required(), BARE]) == snapshot


@pytest.mark.parametrize(
    ("floor", "text"),
    [
        (
            LinkerFloor(Release(13, 3), Release(13, 5), 14, tried=False),
            "13.3 may be enough; 13.5 is enough",
        ),
        (LinkerFloor(Release(13, 3), Release(13, 5), 14, tried=False), "--trial-link shows it"),
        (LinkerFloor(Release(13, 3), Release(13, 5), 14, tried=True), "no trial could show it"),
        (
            LinkerFloor(Release(13, 3), Release(13, 3), 14, tried=True),
            "13.3, as a trial link showed",
        ),
        (
            LinkerFloor(Release(12, 4), Release(12, 4), 13, tried=False),
            "12.4; documented up to the",
        ),
        (LinkerFloor(Release(13, 5), None, 14, tried=False), "13.5, or a release newer than all"),
    ],
)
def test_what_is_known_of_the_least_linker_is_said(floor: LinkerFloor, text: str) -> None:
    assert text in table(required(nvjitlink=floor), why=True)


Captured = pytest.CaptureFixture[str]


def test_files_without_device_code_are_counted() -> None:
    empty = required(modules=0)
    assert table(empty, empty) == "2 files without device code: nothing to require\n"
    assert valid_json(written("json", REPORT, [empty]))["artifacts"] == []


@pytest.mark.parametrize(
    ("name", "newest"),
    [
        (f"fatbin-ltoir/nvfatbin-{NEWEST}-of-{NEWEST}-lto_80.fatbin", NEWEST),
        ("fatbin-ltoir/nvfatbin-12.5-of-12.5-lto_80.fatbin", None),  # a newer one is known
        ("ltoir/nvrtc-13.5-lto_80.ltoir", None),  # it says who made it
    ],
)
def test_a_floor_that_a_release_to_come_may_break_says_so(
    name: str, newest: Release | None
) -> None:
    (found,) = ltocompat.require(FOLDER / name)
    assert isinstance(found, Required)
    assert found.nvjitlink is not None
    assert found.nvjitlink.newest_producer == newest
    told = f"assumes that CUDA {newest} or older made the LTO-IR"
    assert (told in table(found)) == (newest is not None)
    assert any(told in line.note for line in found.lines) == (newest is not None)


def test_one_link_of_several_files_is_headed_by_their_paths(capsys: Captured) -> None:
    paths = [str(FOLDER / "ltoir" / f"nvrtc-{made}-lto_80.ltoir") for made in ("12.4", "13.0")]
    assert run(["require", "--together", *paths]) == 0
    assert capsys.readouterr().out.startswith(f"{paths[0]} + {paths[1]}: 2 modules\n")


def test_lines_to_paste_stand_once_for_artifacts_that_have_the_same(capsys: Captured) -> None:
    """As the libraries of an environment, which has one Dockerfile."""
    alike = [str(FOLDER / "fatbin" / f"nvcc-13.0-{kind}.fatbin") for kind in ("none", "size")]
    other = str(FOLDER / "cubin" / "nvrtc-12.4-sm_80.cubin")
    for paths, times in ((alike[:1], 1), (alike, 1), ([alike[0], other], 3)):
        assert run(["require", *paths]) == 0
        assert capsys.readouterr().out.count("to paste into a Dockerfile") == times
