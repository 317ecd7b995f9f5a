from __future__ import annotations

import pytest
from report_values import written
from verdict_values import EDGE, H100, L4, PROD, finding, result

from ltocompat.model.verdict import Verdict
from ltocompat.report.findings import joined
from ltocompat.report.verbs.check import REPORT

HAS = "needs >= 13.3; the target has {}: the linker refuses it"
HAVE = HAS.replace("target has", "targets have")


@pytest.mark.parametrize(
    ("sentences", "text"),
    [
        (["the same", "the same"], "the same"),
        ([HAS.format("13.1"), HAS.format("13.2")], HAVE.format("13.1, 13.2")),
        (["for sm_75 (not sm_75)", "for sm_80 (not sm_80)"], "for sm_75, sm_80 (not sm_75, sm_80)"),
        (["PTX 9.1 needs 13.1", "PTX 9.2 needs 13.2"], None),
        (["one word", "one more word"], None),
        (["a (b)", "a [b]"], None),
        ([f"has {n}" for n in range(9)], "has 0, 1, 2, 3, 4, 5 .."),
    ],
)
def test_sentences_that_differ_in_one_word_are_said_once(
    sentences: list[str], text: str | None
) -> None:
    assert joined(sentences) == text


def test_findings_that_differ_by_their_target_are_told_once_with_all_values() -> None:
    records = [
        PROD,
        EDGE,
        *(
            result(
                Verdict.FAIL,
                goal,
                gpu,
                findings=(
                    finding(Verdict.FAIL, HAS.format(goal.name), remedy=f"raise {goal.name}"),
                ),
            )
            for goal in (PROD, EDGE)
            for gpu in (H100, L4)
        ),
    ]
    text = written("table", REPORT, records)
    assert "] needs >= 13.3; the targets have prod, edge: the linker refuses it\n" in text
    assert "   on all targets\n  fix: raise prod, edge\n" in text
