"""The answer of ``check``: what stands in the tables, and that its JSON is by its schema."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import verdict_values as values
from report_values import at, valid_json, written
from syrupy.assertion import SnapshotAssertion
from verdict_values import EDGE, H100, L4, LIBRARY, ONE, PROD, finding, result, target

from ltocompat.model.arch import SmArch
from ltocompat.model.target import Gpu, Target
from ltocompat.model.verdict import Coverage, Result, Verdict
from ltocompat.model.version import SITE_URL
from ltocompat.report import Failure, Options, write
from ltocompat.report.cells import labels
from ltocompat.report.streams import PIPED
from ltocompat.report.verbs.check import REPORT

CASES = {
    "one target": values.one_target(),
    "many targets": values.many_targets(),
    "many artifacts": values.many_artifacts(),
}


def table(records: list[Target | Result], width: int | None = None, *, why: bool = False) -> str:
    return written("table", REPORT, records, Options(width=width, why=why))


@pytest.mark.parametrize("width", [80, PIPED])
@pytest.mark.parametrize("case", CASES)
def test_a_word_a_cell_then_what_was_found(
    case: str, width: int, snapshot: SnapshotAssertion
) -> None:
    assert at(width, lambda width: table(CASES[case], width)) == snapshot


@pytest.mark.parametrize("case", CASES)
def test_markdown(case: str, snapshot: SnapshotAssertion) -> None:
    assert written("markdown", REPORT, CASES[case], Options(why=True)) == snapshot


@pytest.mark.parametrize("case", CASES)
def test_json_has_every_target_and_result(case: str) -> None:
    records = CASES[case]
    value = valid_json(written("json", REPORT, records))
    judged = [
        record for record in records if isinstance(record, Result) and record.coverage.modules
    ]
    assert len(value["results"]) == len(judged)
    assert [each_value["name"] for each_value in value["targets"]] == [
        each_record.name for each_record in records if isinstance(each_record, Target)
    ]
    assert sum(value["summary"]["verdicts"].values()) == len(judged)
    assert value["summary"]["verdict"] == str(max(each_result.verdict for each_result in judged))


def test_json_says_all_of_a_result() -> None:
    one = result(Verdict.FAIL, PROD, H100)
    (value,) = valid_json(written("json", REPORT, [PROD, one]))["results"]
    assert value["findings"][0] == {
        "rule": "PTX-01",
        "verdict": "fail",
        "level": "error",
        "message": "the driver refuses it with error 222",
        "remedy": "ship SASS for sm_90",
        "evidence": "version in the fatbin entry",
        "source": "CUDA Compatibility guide",
        "url": f"{SITE_URL}rules/ptx-01.html",
        "module_count": 3,
        "example": "lib/libx.so@0x1f40.3",
        "kernels": [],
        "kernel_count": 0,
        "kernel_modules": 0,
        "origins": [],
    }
    assert (value["target"], value["gpu"], value["route"]) == ("prod", "h100", None)
    assert value["coverage"]["served"] == 1617


def test_files_without_device_code_are_counted_and_no_result() -> None:
    empty = [
        result(Verdict.UNKNOWN, ONE, gpu, path="a.txt", coverage=Coverage(0), findings=(), why=())
        for gpu in ONE.gpus
    ]
    assert table([ONE, *empty]) == "1 file without device code\n"
    value = valid_json(written("json", REPORT, [ONE, *empty]))
    assert (value["results"], value["summary"]["without_device_code"]) == ([], 1)
    assert value["summary"]["verdict"] is None


def test_a_sound_machine_is_no_file_without_device_code() -> None:
    sound = result(Verdict.OK, ONE, H100, path="this-machine", coverage=Coverage(0), why=())
    value = valid_json(written("json", REPORT, [ONE, sound]))
    assert [each_value["path"] for each_value in value["results"]] == ["this-machine"]
    assert value["summary"]["without_device_code"] == 0
    assert table([ONE, sound]).endswith("\nno device code was checked\n")


def test_nothing_but_errors_is_an_error() -> None:
    value = valid_json(written("json", REPORT, [ONE, Failure("unreadable", "it is gone")]))
    assert value["error"]["kind"] == "unreadable"
    assert table([ONE]) == "nothing was checked\n"


def test_an_error_stands_beside_results() -> None:
    records = [ONE, Failure("unreadable", "it is gone"), *values.one_target()[1:]]
    value = valid_json(written("json", REPORT, records))
    assert value["summary"]["errors"] == [{"kind": "unreadable", "message": "it is gone"}]


def test_the_same_finding_in_several_cells_is_told_once() -> None:
    text = table(values.many_targets())
    assert text.count("error 222") == 1
    assert "fail[PTX-01] the driver" in text
    assert "unknown[LTO-01] the set" in text
    assert [line.split("   ")[-1] for line in text.splitlines() if "-->" in line] == [
        "on prod",
        "on edge (l4)",
    ]


def test_the_same_finding_in_several_artifacts_is_told_once_and_counts_their_modules() -> None:
    paths = [f"{n}.so" for n in range(5)]
    text = table([ONE, *(result(Verdict.FAIL, ONE, L4, path=path) for path in paths)])
    assert text.count("error 222") == 1
    assert (
        "  --> lib/libx.so@0x1f40.3   15 modules in 5 artifacts   "
        "also in 1.so, 2.so, 3.so and 1 more\n" in text
    )


def test_findings_stand_worst_first_and_notes_last_where_they_are_asked_for() -> None:
    found = [finding(verdict) for verdict in Verdict if verdict >= Verdict.OK]
    records: list[Target | Result] = [
        ONE,
        result(Verdict.FAIL, ONE, H100, findings=tuple(found)),
    ]
    loud = ["fail[PTX-01]", "unknown[LTO-01]", "undocumented[LTO-02]"]
    notes = ["note[PTX-06]", "note[DRV-02]"]
    assert first_words(written("table", REPORT, records, Options(notes=True))) == loud + notes
    text = table(records)
    assert first_words(text) == loud
    assert text.endswith(
        "1 fail, 1 unknown, 1 undocumented, 2 notes (--notes) · ltocompat explain PTX-01\n"
    )


def first_words(text: str) -> list[str]:
    return [line.partition(" ")[0] for line in text.splitlines() if "[" in line.partition(" ")[0]]


def test_reasons_are_told_when_asked_and_once_for_equal_cells() -> None:
    records = values.one_target()
    assert "why:" not in table(records)
    text = table(records, why=True)
    assert "  h100, l4: 2,638 modules (e.g. lib/libx.so@0x40): ok: driver >= 525.60.13" in text


def test_targets_with_long_names_get_letters() -> None:
    long = [f"driver={number},gpu=h100" for number in range(550, 578)]
    assert list(labels(long).values())[:3] == ["A", "B", "C"]
    assert list(labels(long).values())[-2:] == ["AA", "AB"]
    assert labels(["prod", "edge"]) == {"prod": "prod", "edge": "edge"}


def test_a_target_says_where_its_facts_come_from_unless_its_name_does() -> None:
    assert "target driver=580.95.05,gpu=h100+l4+t4\n" in table(values.one_target())
    text = "prod: driver 580.95.05 (prod.toml), nvJitLink 13.2 (requirements.txt), GPU h100, l4"
    assert text in table(values.many_targets())


def test_many_gpus_that_fare_alike_share_a_row() -> None:
    gpus = [Gpu(f"gpu{n}", SmArch.parse("sm_90")) for n in range(40)]
    goal = target("driver=580,gpu=many", *gpus)
    found = (result(Verdict(n % 2 * 4), goal, gpu) for n, gpu in enumerate(gpus))
    records: list[Target | Result] = [goal, *found]
    lines = table(records, 80).splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert sum(" ok " in line for line in lines) == 1


def test_too_many_columns_for_one_table_become_a_table_an_artifact() -> None:
    paths = ["a.so", "b.so"]
    goals = [target(f"t{n}", H100, L4) for n in range(12)]
    found: list[Target | Result] = [
        result(Verdict.OK, goal, gpu, path=path)
        for path in paths
        for goal in goals
        for gpu in goal.gpus
    ]
    text = table([*goals, *found], 80)
    assert text.count(".so: 2,638 modules") == 2
    assert text.count("h100, l4  ok") == 24


def test_a_row_is_printed_as_soon_as_its_artifact_is_judged() -> None:
    shown: list[str] = []

    class Stream:
        def write(self, text: str, /) -> None:
            shown.append(text)

    def records() -> Iterator[Target | Result]:
        yield ONE
        for number in range(9):
            if number > 2:
                assert f"folder/{number - 2}.so" in "".join(shown)
            yield result(Verdict.OK, ONE, H100, path=f"folder/{number}.so")

    write("table", REPORT, records(), Stream(), Options(width=80))
    assert "".join(shown).count(".so") == 9


def test_a_long_folder_that_all_share_is_told_once() -> None:
    folder = "/opt/environments/python/site-packages/"
    found = [result(Verdict.OK, ONE, H100, path=f"{folder}{name}.so") for name in "abc"]
    text = table([ONE, *found], 80)
    assert text.count(folder) == 1
    assert [line.split()[-1] for line in text.splitlines()[3:6]] == ["a.so", "b.so", "c.so"]


def test_a_place_that_does_not_fit_has_a_line_of_its_own() -> None:
    name = "x" * 200 + ".so"
    found = [result(Verdict.OK, ONE, H100, path=path) for path in ("a.so", name)]
    lines = table([ONE, *found], 80).splitlines()
    assert name in "".join(line.strip() for line in lines if line.startswith("    "))


def test_many_artifacts_and_many_gpus_have_a_column_a_target() -> None:
    gpus = [Gpu(f"a-gpu-with-a-name-{n}", SmArch.parse("sm_90")) for n in range(9)]
    goal = target("prod", *gpus)
    found = (
        result(
            Verdict.FAIL if path == "3.so" and gpu is gpus[0] else Verdict.OK, goal, gpu, path=path
        )
        for path in (f"{n}.so" for n in range(6))
        for gpu in gpus
    )
    lines = table([goal, *found], 80).splitlines()
    assert "ok                0.so" in lines
    assert "fail 1 of 9       3.so" in lines


def test_half_a_verdict_says_so_in_every_layout() -> None:
    part = [result(Verdict.OK, goal, H100, not_judged=("load",)) for goal in (PROD, EDGE)]
    assert "not checked" in table([PROD, part[0]])
    assert "load" in table([PROD, part[0]])
    other = result(Verdict.OK, EDGE, H100, path="other.so")
    assert f"{LIBRARY}  (not checked: load)\n" in table([PROD, EDGE, *part, other])


@pytest.mark.parametrize("form", ["table", "markdown", "json"])
def test_hostile_names_do_nothing(form: str) -> None:
    records = values.hostile_results()
    for some in (records, records[:2]):
        text = written(form, REPORT, some, Options(width=80, why=True))
        assert not set(text) & set("\x1b\r\u202e\udcff")
        if form == "json":
            assert valid_json(text)["results"][0]["path"].startswith("evil")


def in_packages() -> list[Target | Result]:
    """Two files of one package, a package of one file, and a file of none, in reading order."""
    site = "/venv/lib/python3.12/site-packages/"
    files = (
        ("one/a.so", "one 1.0", Verdict.OK),
        ("one/b.so", "one 1.0", Verdict.UNKNOWN),
        ("fine/a.so", "fine 2.0", Verdict.OK),
        ("fine/b.so", "fine 2.0", Verdict.JIT),
        ("worst/a.so", "worst 3.0", Verdict.FAIL),
        ("loose.so", "", Verdict.OK),
    )
    return [
        ONE,
        *(
            result(verdict, ONE, L4, path=site + file, distribution=package)
            for file, package, verdict in files
        ),
    ]


def test_packages_stand_worst_first_with_the_files_of_those_that_are_not_well() -> None:
    text = written("table", REPORT, in_packages(), Options(width=80, packages=True))
    rows = text.splitlines()[3:12]
    assert [" ".join(row.split()) for row in rows] == [
        "fail worst 3.0",
        "unknown one 1.0: 2 files",
        "unknown b.so",
        "ok a.so",
        "jit fine 2.0: 2 files",
        "ok /venv/lib/python3.12/site-packages/loose.so",
        "3 packages, 6 artifacts: 1 fail, 1 unknown, 1 jit, 3 ok",
        "",
        "fail[PTX-01] the driver refuses it with error 222",
    ]


def test_a_finding_of_several_packages_names_each_once() -> None:
    files = (("a.so", "one 1.0"), ("b.so", "one 1.0"), ("c.so", "two 2.0"))
    found = [
        result(Verdict.FAIL, ONE, L4, path=path, distribution=package) for path, package in files
    ]
    text = written("table", REPORT, [ONE, *found], Options(packages=True))
    assert text.count("fail[PTX-01]") == 1
    assert "   of one 1.0 (2 files), two 2.0   9 modules in 3 files\n" in text
    value = valid_json(written("json", REPORT, [ONE, *found]))
    assert [row["distribution"] for row in value["results"]] == ["one 1.0", "one 1.0", "two 2.0"]


def test_a_finding_in_a_wheel_does_not_name_its_package_again() -> None:
    files = (("d/one_x-1.0-py3-none-any.whl", "One-X 1.0"), ("d/two-2.0-0.conda", "two 2.0"))
    found = [
        result(Verdict.FAIL, ONE, L4, path=path, distribution=package) for path, package in files
    ]
    text = written("table", REPORT, [ONE, *found], Options(packages=True))
    assert "   of " not in text
    assert "also in two-2.0-0.conda" in text
