"""The answer of ``check``: what stands in the tables, and that its JSON is by its schema."""

from __future__ import annotations

import re

import pytest
import verdict_values as values
from msgspec.structs import replace
from report_values import valid_json, written
from verdict_values import H100, L4, ONE, finding, result, target

from ltocompat.model.arch import Release
from ltocompat.model.target import Quantifier, Target, VersionSet
from ltocompat.model.verdict import Coverage, Result, Verdict
from ltocompat.report import Options
from ltocompat.report.cells import gpu_names, labels
from ltocompat.report.document import Items, Paragraph
from ltocompat.report.verbs.check import REPORT, described_targets
from ltocompat.targets import parse

CASES = {
    "one target": values.one_target(),
    "many targets": values.many_targets(),
    "many artifacts": values.many_artifacts(),
}


def table(records: list[Target | Result], width: int | None = None, *, why: bool = False) -> str:
    return written("table", REPORT, records, Options(width=width, why=why))


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


def test_files_without_device_code_are_counted_and_no_result() -> None:
    empty = [
        result(Verdict.UNKNOWN, ONE, gpu, path="a.txt", coverage=Coverage(0), findings=(), why=())
        for gpu in ONE.gpus
    ]
    assert table([ONE, *empty]) == "1 file without device code\n"
    value = valid_json(written("json", REPORT, [ONE, *empty]))
    assert (value["results"], value["summary"]["without_device_code"]) == ([], 1)
    assert value["summary"]["verdict"] is None


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


def test_targets_with_long_names_get_letters() -> None:
    long = [f"driver={number},gpu=h100" for number in range(550, 578)]
    assert list(labels(long).values())[:3] == ["A", "B", "C"]
    assert list(labels(long).values())[-2:] == ["AA", "AB"]
    assert labels(["prod", "edge"]) == {"prod": "prod", "edge": "edge"}


def test_a_verdict_of_some_gpus_says_so_and_where_the_gpus_are_named() -> None:
    goals = [target(f"t{n}", H100, L4) for n in range(3)]
    verdicts = {H100: Verdict.OK, L4: Verdict.JIT}
    found: list[Target | Result] = [
        result(verdict, goal, gpu, path=path)
        for path in ("a.so", "b.so")
        for goal in goals
        for gpu, verdict in verdicts.items()
    ]
    text = table([*goals, *found], 90)
    assert text.count("jit 1 of 2 GPUs") == 6
    assert "2 artifacts: 2 jit; to see which GPUs are jit, and why, add --notes\n" in text
    told = written("table", REPORT, [*goals, *found], Options(width=90, notes=True))
    assert "2 artifacts: 2 jit\n" in told
    assert "and why" not in table([*goals, *found])  # a column each


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
    rows = text.splitlines()[3:11]
    assert [" ".join(row.split()) for row in rows] == [
        "fail worst 3.0",
        "unknown one 1.0: 2 files",
        "unknown b.so",
        "jit fine 2.0: 2 files",
        "ok /venv/lib/python3.12/site-packages/loose.so",
        "3 packages, 6 artifacts: 1 fail, 1 unknown, 1 jit, 3 ok",
        "",
        "fail[PTX-01] the driver refuses it with error 222",
    ]


def test_gpus_in_a_row_name_sm_once() -> None:
    archs = ["sm_80", "sm_86", "sm_100a"]
    assert gpu_names(archs) == "sm_80, 86, 100a"
    assert gpu_names(["h100", *archs]) == "h100, sm_80, sm_86, sm_100a"
    assert gpu_names(()) == ""


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_packages_have_one_table_however_narrow_the_terminal(width: int) -> None:
    goals = [replace(ONE, name=name) for name in ("first", "second", "third", "fourth", "fifth")]
    files = [record for record in in_packages() if isinstance(record, Result)]
    found = [replace(file, target=goal) for file in files for goal in goals]
    text = written("table", REPORT, [*goals, *found], Options(width=width, packages=True))
    lines = text.partition("\n\n")[0].splitlines()
    head, _, *rows = next(lines[n:] for n, line in enumerate(lines) if line.endswith("  package"))
    cells = [f"{goal.name} {found[0].gpu}" for goal in goals] if width >= 80 else ["verdict"]
    assert re.split(" {2,}", head) == [*cells, "package"]
    places = ["worst 3.0", "one 1.0: 2 files", "  b.so", "fine 2.0: 2 files"]
    assert all(row.endswith(place) for row, place in zip(rows, places, strict=False))
    assert max(map(len, text.splitlines())) <= width


def test_a_finding_in_a_wheel_does_not_name_its_package_again() -> None:
    files = (("d/one_x-1.0-py3-none-any.whl", "One-X 1.0"), ("d/two-2.0-0.conda", "two 2.0"))
    found = [
        result(Verdict.FAIL, ONE, L4, path=path, distribution=package) for path, package in files
    ]
    text = written("table", REPORT, [ONE, *found], Options(packages=True))
    assert "   of " not in text
    assert "also in two-2.0-0.conda" in text


def test_long_values_that_all_targets_share_stand_once() -> None:
    """A fleet and an environment: each class of nodes has the nvJitLink of the packages."""
    path = "/site/libnvJitLink.so.13"
    linker = VersionSet("13.5", (Release(13, 5),), Quantifier.ONE_OF, path)
    named = parse(["name=a,driver=550.54.15,gpu=h100", "name=b,driver=580.65.06,gpu=l4"])
    targets = [replace(target, nvjitlink=linker) for target in named]
    (items,) = described_targets(targets, {"a": "A", "b": "B"})
    assert isinstance(items, Items)
    lines = ["".join(line) for line in items.lines]
    assert lines[-1] == f"all: nvJitLink 13.5 ({path})"
    assert [path in line for line in lines] == [False, False, True]
    (alone,) = described_targets(targets[:1], {"a": "A"})
    assert isinstance(alone, Paragraph)
    assert path in "".join(alone.parts)
