"""The answer of ``explain``."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from report_values import valid_json, written
from syrupy.assertion import SnapshotAssertion

from ltocompat.commands.explain import explain_all
from ltocompat.model.explained import AtFault, Explained
from ltocompat.report import Options, Report
from ltocompat.report.verbs.explain import INDEX, REPORT

RULE = Explained(
    id="PTX-01",
    title="PTX newer than the driver",
    statement="The driver compiles PTX up to the ISA version of its own CUDA release.",
    condition="PTX is what the driver picks.",
    evidence="The .version of the PTX.",
    verdict="`fail` (error 222)",
    messages=("the provided PTX was compiled with an unsupported toolchain",),
    remedy="Ship SASS for every GPU.",
    source="CUDA Compatibility guide",
)
CAUSE = replace(
    RULE,
    matched="the provided PTX was compiled with an unsupported toolchain",
    score=0.8,
    line="CUDA error: the provided PTX was compiled with an unsupported toolchain.",
    cause="The PTX is newer than the driver.",
    fix="Ship SASS.",
    check="ltocompat check FILE",
    values={"driver": "550.54.14"},
    also=("PTX-06", "IMG-03"),
    at_fault=(AtFault("libx.so@0x40", "PTX 9.2 needs driver >= 595"), AtFault("b.so", "PTX 9.3")),
)
LEFT_OUT = Explained("BLD-09", "No file says it", "Not built. Why.", "", "", "", (), "", "", False)


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_a_rule_is_told_in_full(form: str, snapshot: SnapshotAssertion) -> None:
    assert written(form, REPORT, [RULE, LEFT_OUT], Options(width=80)) == snapshot


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_a_cause_is_told_in_a_few_lines(form: str, snapshot: SnapshotAssertion) -> None:
    assert written(form, REPORT, [CAUSE, LEFT_OUT], Options(width=80)) == snapshot


def test_all_rules_are_a_row_each(snapshot: SnapshotAssertion) -> None:
    assert written("table", INDEX, [RULE, LEFT_OUT], Options(width=80)) == snapshot


@pytest.mark.parametrize("report", [REPORT, INDEX], ids=["rules", "index"])
def test_json_says_all_of_every_rule(report: Report[Explained]) -> None:
    value = valid_json(written("json", report, explain_all()))
    assert len(value["rules"]) == len(explain_all())
    (rule,) = valid_json(written("json", REPORT, [CAUSE]))["rules"]
    assert rule["matched"] == CAUSE.matched
    assert rule["messages"] == list(RULE.messages)
    assert (rule["line"], rule["cause"], rule["fix"]) == (CAUSE.line, CAUSE.cause, CAUSE.fix)
    assert rule["values"] == {"driver": "550.54.14"}
    assert rule["at_fault"][1] == {"place": "b.so", "reason": "PTX 9.3"}
