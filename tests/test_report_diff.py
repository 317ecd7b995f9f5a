"""The answer of ``diff``: both sides, what moved, what is forbidden, what is not known."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from report_values import LIBRARY, valid_json, written
from syrupy.assertion import SnapshotAssertion

from ltocompat.model.arch import Release
from ltocompat.model.diff import BREAKING, KINDS, Change, Diff, DiffSummary, Metadata
from ltocompat.model.location import Location
from ltocompat.model.requirement import LinkerFloor
from ltocompat.model.target import DriverVersion
from ltocompat.report import Failure, Options
from ltocompat.report.verbs.diff import REPORT

FILE = "lib/libx.so.13"
OLD = Location("x-1.0.whl", (FILE,), 0x40, (1,))
NEW = Location("x-1.1.whl", (FILE,), 0x80, (2,))


def side(path: str, **facts: Any) -> DiffSummary:  # noqa: ANN401 - any field may be given
    values: dict[str, Any] = {
        "path": path,
        "saved": False,
        "size": 145_942_937,
        "files": 2,
        "modules": 168,
        "images": 1513,
        "stored": 145_374_720,
        "skipped": 0,
        "complete": True,
        "kernels": 10_418,
        "nvjitlink": LinkerFloor(Release(13, 3), Release(13, 5), 14, tried=False),
        "nvjitlink_beyond": False,
        "imports": Release(13, 0),
        "driver_sass": DriverVersion((580, 65, 6)),
        "driver_ptx": DriverVersion((590, 44, 1)),
        "ptx_beyond": False,
        "metadata": Metadata("x", path[2:5], ("nvidia-nvjitlink",), ("linux_x86_64",)),
    }
    return DiffSummary(**(values | facts))


def changes() -> tuple[Change, ...]:
    many = tuple(f"_Z7kernel{n}Pf" for n in range(7))
    symbols = tuple(f"__nvJitLink{name}_13_0" for name in ("AddData", "Complete", "Create"))
    return (
        Change("file-lost", "lib/liby.so", "sass", places=(OLD,)),
        Change(
            "arch-lost", FILE, "ptx", ("compute_90", "compute_100"), None, 2, "lost-ptx", (OLD,)
        ),
        Change("arch-gained", FILE, "sass", None, ("sm_90a", "sm_100f"), 2, None, (NEW,)),
        Change("gpu", "", "sm_100, sm_103", ("ptx",), ("sass",), 2),
        Change("nvjitlink", "", "", None, ("13.3 possibly", "13.5 surely"), 1, "nvjitlink-rose"),
        Change("driver", "", "ptx", ("580.65.06",), ("590.44.01",), 1, "driver-rose"),
        Change("makers", FILE, "sass", ("11.6",), ("ptxas 13.4.24",), 2, None, (OLD, NEW)),
        Change("imports", FILE, "", symbols, (), 3, None, (OLD,)),
        Change("size", "", "", 145_942_937, 230_422_857),
        Change("stored", FILE, "sass", 117_837_899, 194_987_429),
        Change("kernels-lost", FILE, "ptx", many, None, 2667),
        Change("kernels-lost", FILE, "sass", many, None, 2667),
        Change("kernels-gained", FILE, "sass", None, ("saxpy",), 1),
        Change("version", "", "", ("1.0",), ("1.1",)),
        Change("requires", "", "cupy", None, ("cupy>=13",)),
    )


DIFF = Diff(
    side("x-1.0.whl"),
    side("x-1.1.whl", driver_ptx=None, ptx_beyond=True, nvjitlink=None),
    changes(),
    ("kernels of PTX: the old release was saved without --kernels",),
    ("lost-ptx", "driver-rose"),
)
SAME = Diff(
    side("a.so", metadata=None, imports=None, nvjitlink=None),
    side("saved.json", saved=True, size=None, metadata=None, imports=None, kernels=None),
    (),
)


def table(*records: Diff | Failure, width: int | None = None) -> str:
    return written("table", REPORT, records, Options(width=width))


def test_markdown(snapshot: SnapshotAssertion) -> None:
    assert written("markdown", REPORT, [DIFF]) == snapshot


def test_what_was_forbidden_and_did_not_happen_is_no_finding() -> None:
    text = table(replace(SAME, forbidden=BREAKING))
    assert text.startswith("a.so to saved.json: nothing changed, 0 forbidden\n")


def test_a_forbidden_change_says_what_became_of_the_old_value() -> None:
    lost = (
        Change("gpu", "", "sm_50, sm_52", ("sass",), None, 2, "lost-arch", (OLD,)),
        Change("arch-lost", FILE, "sass", ("sm_50",), None, 2, "lost-arch", (OLD,)),
    )
    text = table(replace(DIFF, changes=lost, forbidden=("lost-arch",)))
    assert "fail[lost-arch] GPU served (sm_50, sm_52): sass to none\n" in text
    assert f"fail[lost-arch] architectures lost (sass): sm_50 in {FILE}\n" in text
    assert "Nothing was checked or forbidden" in written("html", REPORT, [SAME])


def test_each_kind_has_its_words_and_is_in_the_schema() -> None:
    every = tuple(Change(kind, FILE, "sass") for kind in KINDS)
    diff = replace(DIFF, changes=every)
    assert [value["kind"] for value in valid_json(written("json", REPORT, [diff]))["changes"]] == [
        *KINDS
    ]
    assert all(kind in table(diff) for kind in KINDS.values())


def test_a_flood_of_changes_is_cut_in_the_table_and_complete_in_json() -> None:
    many = tuple(Change("file-lost", f"f{n}", "sass", places=(LIBRARY,)) for n in range(500))
    diff = replace(DIFF, changes=many)
    assert "and 300 more; --format json lists all\n" in table(diff)
    assert "f200" not in table(diff)
    assert len(valid_json(written("json", REPORT, [diff]))["changes"]) == 500


def test_nothing_but_errors_is_an_error() -> None:
    failure = Failure("unreadable", "it is gone")
    assert valid_json(written("json", REPORT, [failure]))["error"]["kind"] == "unreadable"
    assert table(failure) == "nothing was compared\n"
