from __future__ import annotations

import re

import pytest
from report_values import HOSTILE, valid_json, written
from sarif_schema import valid_run
from syrupy.assertion import SnapshotAssertion

from ltocompat.commands.link import Linked
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.image import Skipped
from ltocompat.model.link_options import Disagreement
from ltocompat.model.location import Location
from ltocompat.report import FORMATS, Options
from ltocompat.report.verbs.link import REPORT
from ltocompat.targets.linkers import Linker
from ltocompat.trial.values import Answer, LinkOutcome, Seconds, Step


def library(version: str) -> Linker:
    release = Release.parse(version)
    path = f"/cache/{version}/libnvJitLink.so"
    return Linker(
        release, version, path, "trial cache", "file banner", for_trials=True, machine="x86-64"
    )


def tried(
    version: str,
    way: str,
    outcome: LinkOutcome,
    reason: str | None = None,
    *,
    place: Location | None = None,
    at: str | None = None,
) -> Linked:
    done = outcome in (LinkOutcome.LINKED, LinkOutcome.COMPILED)
    answer = Answer(
        outcome=outcome,
        step=Step.COMPLETE if done else Step.ADD,
        input_name=at,
        code=0 if done else 14,
        code_name="SUCCESS" if done else "OUTDATED_LIBRARY",
        log="" if done else "ERROR",
        seconds=Seconds(0.001, 0.002, 0.05) if done else Seconds(),
        output_size=5000 if done else None,
        kernels_in_output=1 if done else None,
        release=Release.parse(version),
        sandbox=("Landlock", "seccomp"),
    )
    again = 0.04 if done else None
    return Linked(library(version), way, SmArch(90), place, answer, again, reason)


TOO_NEW = "the LTO-IR was made by a newer CUDA release than this nvJitLink"
TOGETHER = [
    Disagreement("-ftz", (("0", (Location("a.o"),)), (None, (Location("b.o"), Location(HOSTILE))))),
    tried("12.4.127", "lto", LinkOutcome.REFUSED, TOO_NEW, at="a.o"),
    tried("13.5.37", "lto", LinkOutcome.LINKED),
    tried("13.5.37", "plain", LinkOutcome.UNRESOLVED, f"no input defines {HOSTILE}"),
    tried("13.0.88", "plain", LinkOutcome.CRASHED, "its process ended (SIGSEGV)", at="b.o"),
    Skipped(Location("c.o"), "it is not a regular file"),
]
EACH = [
    *(
        tried("13.2.86", "lto", LinkOutcome.REFUSED, TOO_NEW, place=Location("x.so", (), n))
        for n in range(30)
    ),
    *(
        tried("13.3.33", "lto", LinkOutcome.ACCEPTED, place=Location("x.so", (), n))
        for n in range(3)
    ),
]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("records", [TOGETHER, EACH], ids=["together", "each"])
def test_every_library_and_way_has_its_row(
    form: str, records: list[Linked], snapshot: SnapshotAssertion
) -> None:
    text = written(form, REPORT, records, Options(width=80))
    assert "\x1b" not in text
    if form == "json":
        value = valid_json(text)
        assert len(value["results"]) == sum(isinstance(r, Linked) for r in records)
    assert text == snapshot


def test_links_that_fail_are_findings_of_the_nvjitlink_that_was_asked() -> None:
    run = valid_run(written("sarif", REPORT, TOGETHER))
    found = {
        (value["ruleId"], value["level"], value["properties"]["target"]) for value in run["results"]
    }
    assert found == {
        ("TRIAL", "error", "nvJitLink 12.4.127, lto, sm_90"),  # it was refused
        ("TRIAL", "warning", "nvJitLink 13.5.37, plain, sm_90"),  # a symbol is open
        ("TRIAL", "warning", "nvJitLink 13.0.88, plain, sm_90"),  # it crashed
        ("LTO-12", "note", "every target"),  # options differ
    }
    assert not run["invocations"][0]["executionSuccessful"]  # one place was not read


def test_images_that_are_refused_alike_are_one_finding() -> None:
    (value,) = valid_run(written("sarif", REPORT, EACH))["results"]
    assert value["message"]["text"].startswith(
        f"{TOO_NEW} (target nvJitLink 13.2.86, lto, sm_90, GPU sm_90, 30 modules)"
    )
    assert "<!doctype html>" in written("html", REPORT, EACH)
    assert written("github", REPORT, EACH).count("\n::") == 0


@pytest.mark.parametrize("width", range(60, 100))
def test_a_narrow_terminal_breaks_no_linker_and_no_result(width: int) -> None:
    text = written("table", REPORT, TOGETHER, Options(width=width))
    wide = written("table", REPORT, TOGETHER, Options(width=200))
    assert text.count("nvJitLink") == wide.count("nvJitLink")
    outcomes = [each.answer.outcome for each in TOGETHER if isinstance(each, Linked)]
    assert all(re.search(rf"\b{outcome}\b", text) for outcome in outcomes)
