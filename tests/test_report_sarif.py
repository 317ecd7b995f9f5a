"""SARIF: valid by the official schema, a result a finding, places nested as the standard says."""
# ruff: noqa: ANN401 - JSON holds anything

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import verdict_values as values
from report_values import HOSTILE
from sarif_schema import valid_run, validator
from verdict_values import EDGE, H100, L4, PROD, finding, result

from ltocompat import __version__
from ltocompat.commands.policy.fingerprint import key_of
from ltocompat.commands.policy.lines import policy_lines
from ltocompat.commands.policy.reading import read_policy
from ltocompat.model.location import Location
from ltocompat.model.target import PolicyLines
from ltocompat.model.verdict import Result, Verdict
from ltocompat.report import Failure, Options, writer
from ltocompat.report.formats import sarif
from ltocompat.report.sorted_records import FindingRecord
from ltocompat.report.verbs.check import REPORT
from ltocompat.rules.prose import rules

CASES: dict[str, list[FindingRecord]] = {
    "one target": [*values.one_target()],
    "many targets": [*values.many_targets()],
    "many artifacts": [*values.many_artifacts()],
    "hostile": [*values.hostile_results()],
    "what they require": [PROD, values.required(), result(Verdict.FAIL, PROD, H100)],
    "errors": [PROD, Failure("unreadable", HOSTILE)],
    "nothing": [],
}


def run_of(records: Iterable[FindingRecord]) -> Any:
    """The one run of the log, which is valid."""
    stream = io.StringIO()
    writer("sarif")(REPORT, records, stream, Options())
    return valid_run(stream.getvalue())


def one_result(*results: Result) -> Any:
    (value,) = run_of([PROD, *results])["results"]
    return value


@pytest.mark.parametrize("case", CASES)
def test_every_log_is_valid_by_the_official_schema(case: str) -> None:
    run = run_of(CASES[case])
    assert all(value["locations"] for value in run["results"])  # GitHub refuses results without


def test_the_schema_refuses_what_is_no_sarif() -> None:
    assert not validator().is_valid({"version": "2.1.0", "runs": [{"results": []}]})


def test_a_result_is_a_finding_on_an_artifact_and_not_on_each_module() -> None:
    value = one_result(result(Verdict.FAIL, PROD, H100), result(Verdict.FAIL, PROD, L4))
    assert (value["ruleId"], value["level"]) == ("PTX-01", "error")
    assert value["properties"] | {"source": ""} == {
        "verdict": "fail",
        "artifact": "lib/libx.so",
        "place": "lib/libx.so@0x1f40.3",
        "module_count": 3,
        "kernels": [],
        "kernel_count": 0,
        "kernel_modules": 0,
        "target": "prod",
        "gpus": ["h100", "l4"],
        "routes": [],
        "evidence": "version in the fatbin entry",
        "remedy": "ship SASS for sm_90",
        "source": "",
    }
    assert value["message"]["text"] == (
        "the driver refuses it with error 222 (target prod, GPU h100, l4, 3 modules). "
        "Remedy: ship SASS for sm_90"
    )


def test_a_place_becomes_nested_artifacts_and_a_byte_offset() -> None:
    place = Location("dist/libx 1.a", ("m#1.o", "inner.fatbin"), 0x1F40, (3,))
    one = finding(Verdict.FAIL, example=place)
    run = run_of([PROD, result(Verdict.FAIL, PROD, findings=(one,))])
    assert run["artifacts"] == [
        {"location": {"uri": "dist/libx%201.a"}},
        {"location": {"uri": "/m%231.o"}, "parentIndex": 0},
        {"location": {"uri": "/inner.fatbin"}, "parentIndex": 1},
    ]
    (location,) = run["results"][0]["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "/inner.fatbin", "index": 2},
        "region": {"byteOffset": 8000},
    }
    (logical,) = location["logicalLocations"]
    assert logical["fullyQualifiedName"] == "dist/libx%201.a::m%231.o::inner.fatbin@0x1f40.3"


@pytest.mark.skipif(sys.platform == "win32", reason="paths of POSIX")
@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("dist/x.whl", "dist/x.whl"),
        ("./x.so", "x.so"),
        ("/ci/x 1.so", "file:///ci/x%201.so"),
        ("//net/x.so", "file://net/x.so"),
        ("a:b/x.so", "a%3Ab/x.so"),  # no scheme
        ("C:/x.so", "file:///C:/x.so"),
        ("100%?#.so", "100%25%3F%23.so"),
        ("\udcff.so", "%FF.so"),
        ("", "."),
    ],
)
def test_paths_become_uri_references(path: str, uri: str) -> None:
    assert sarif.file_uri(path) == uri


def test_fingerprints_are_those_of_baselines_and_apart_within_a_run() -> None:
    two = (finding(Verdict.FAIL, "PTX 9.0: no"), finding(Verdict.FAIL, "PTX 9.1: no", 2))
    run = run_of([PROD, result(Verdict.FAIL, PROD, H100, findings=two)])
    prints = [value["partialFingerprints"] for value in run["results"]]
    digest = key_of(result(Verdict.FAIL, PROD, H100), two[0]).digest
    assert [each_print["ltocompat/v2"] for each_print in prints] == [digest, digest]
    assert [one["primaryLocationLineHash"] for one in prints] == [f"{digest}:1", f"{digest}:2"]


def test_rules_are_the_catalogue_with_help() -> None:
    driver = run_of([])["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("ltocompat", __version__)
    assert [each_value["id"] for each_value in driver["rules"]] == [rule.id for rule in rules()]
    for value in driver["rules"]:
        assert value["help"]["text"]
        assert value["help"]["markdown"]
        assert value["shortDescription"]["text"]
        assert len(value["fullDescription"]["text"]) <= 1024
        assert value["name"].isalnum()


def test_rules_outside_of_the_catalogue_are_described_by_their_finding() -> None:
    one = finding(Verdict.FAIL, rule="OWN-01", remedy="add sm_120")
    run = run_of([PROD, result(Verdict.FAIL, PROD, findings=(one,))])
    rule = run["tool"]["driver"]["rules"][run["results"][0]["ruleIndex"]]
    assert (rule["id"], rule["help"]["text"]) == ("OWN-01", "add sm_120")


def test_messages_have_neither_links_nor_arguments() -> None:
    # SARIF 3.11.5 and 3.11.6: {0} would be an argument, [text](1) a link.
    one = finding(Verdict.FAIL, "a {0} and [b](1)", remedy="")
    text = one_result(result(Verdict.FAIL, PROD, findings=(one,)))["message"]["text"]
    assert text.startswith("a {{0}} and [b] (1) (target prod")


def test_what_could_not_be_read_is_a_notification() -> None:
    run = run_of([PROD, Failure("unreadable", "it is gone"), result(Verdict.OK, PROD)])
    (invocation,) = run["invocations"]
    (value,) = invocation["toolExecutionNotifications"]
    assert invocation["executionSuccessful"] is False
    assert (value["message"]["text"], value["descriptor"]["id"]) == ("it is gone", "unreadable")
    assert run_of([PROD])["invocations"][0]["executionSuccessful"] is True


def test_a_finding_of_an_audit_leads_to_its_target_in_the_policy() -> None:
    """A package is not a file of the repository; the policy that asks for the target is."""
    lines = PolicyLines("pyproject.toml", {"prod": 12}, audit=30)
    records: list[FindingRecord] = [
        PROD,
        lines,
        result(Verdict.FAIL, PROD, H100),
        result(Verdict.FAIL, EDGE, H100),
    ]
    run = run_of(records)
    for value, line in zip(run["results"], (12, 30), strict=True):
        (location,) = value["locations"]
        assert location["physicalLocation"]["artifactLocation"]["uri"] == "pyproject.toml"
        assert location["physicalLocation"]["region"] == {"startLine": line}
        (related,) = value["relatedLocations"]
        assert related["physicalLocation"]["artifactLocation"]["uri"] == "lib/libx.so"
        assert related["message"]["text"] == "lib/libx.so@0x1f40.3"
    assert run["automationDetails"] == {"id": "ltocompat/prod/"}


def test_the_lines_of_a_policy_are_those_of_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(
        '[project]\nname = "x"\n\n[tool.ltocompat.targets."old ones"]\ndriver = "535"\n'
        '[tool.ltocompat.targets.new]  # here\ndriver = "580"\n[[tool.ltocompat.audit.ignore]]\n'
        'rule = "PTX-06"\nreason = "x"\nexpires = 2099-12-31\n',
        "utf-8",
    )
    lines = policy_lines(read_policy(str(path)))
    assert lines is not None
    assert [lines.line(name) for name in ("old ones", "new", "every target")] == [4, 6, 4]
