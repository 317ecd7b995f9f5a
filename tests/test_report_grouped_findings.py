from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from report_values import written
from verdict_values import EDGE, H100, L4, PROD, finding, result

from ltocompat.model.image import Origin
from ltocompat.model.location import Location
from ltocompat.model.verdict import Verdict
from ltocompat.report import Options
from ltocompat.report.grouped_findings import joined
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


@given(
    st.lists(
        st.tuples(st.sampled_from(["torch 2.4.0 (pip)", "cupy 13.3.0 (pip)", ""]), st.booleans()),
        min_size=1,
        max_size=12,
    )
)
def test_equal_findings_of_the_files_of_one_distribution_are_one_block(
    files: list[tuple[str, bool]],
) -> None:
    """JSON keeps a record of each; the text has one block for each distribution and message."""
    found = []
    for number, (by, ptx) in enumerate(files):
        file = f"/site/{number}/lib{number}.so"
        message = f"{file} has no code for sm_90: it has {'PTX' if ptx else 'SASS'} sm_80"
        told = finding(Verdict.FAIL, message, rule="SASS-06", subject=file)
        place = Location("app.tar", (file,))
        origins = (Origin(file, by, "RUN pip install x"),)
        found.append(replace(told, example=place, places=(place,), origins=origins))
    records = [PROD, result(Verdict.FAIL, PROD, H100, findings=tuple(found))]
    for columns in (80, 200):
        text = written("table", REPORT, records, Options(width=columns))
        blocks = [line for line in text.splitlines() if line.startswith("fail[SASS-06]")]
        groups = {(by, ptx): [each for each in files if each == (by, ptx)] for by, ptx in files}
        assert len(blocks) == len(groups)
        for (by, _), members in groups.items():
            if len(members) > 1:
                whole = " ".join(text.split())
                assert f"each of {len(members)} files from {by or 'RUN pip install x'}" in whole
    assert len(re.findall(r'"rule": ?"SASS-06"', written("json", REPORT, records))) == len(files)
