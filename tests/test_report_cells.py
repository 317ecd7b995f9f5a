"""The table with a row for each artifact: which verdicts get a column."""

from __future__ import annotations

from ltocompat.model.target import ANY_TARGET, Target
from ltocompat.model.verdict import Coverage, Result, Verdict
from ltocompat.report import Options
from ltocompat.report.cell_rows import EvaluatedArtifact, columns_of, rows_as_they_come

PROD = Target(name="prod")


def artifact(path: str, verdicts: dict[Target, Verdict]) -> EvaluatedArtifact:
    found = EvaluatedArtifact(path)
    for target, verdict in verdicts.items():
        found.add(Result(path, target, None, None, verdict, Coverage(1), (), (), ()))
    return found


def shown(*artifacts: EvaluatedArtifact) -> list[list[str]]:
    columns = columns_of(artifacts, {name: name for name in ("prod", ANY_TARGET.name)}, Options())
    rows = rows_as_they_come(artifacts, columns, "", [])
    return [[column.head for column in columns], *([*map(str, row.cells)] for row in rows)]


def test_what_is_ok_on_every_target_has_no_column_beside_targets() -> None:
    both = artifact("a.whl", {PROD: Verdict.OK, ANY_TARGET: Verdict.OK})
    one = artifact("b.whl", {PROD: Verdict.OK})
    assert shown(both, one) == [["prod"], ["ok", "a.whl"], ["ok", "b.whl"]]


def test_what_fails_on_every_target_keeps_its_column() -> None:
    bad = artifact("a.whl", {PROD: Verdict.OK, ANY_TARGET: Verdict.FAIL})
    one = artifact("b.whl", {PROD: Verdict.OK})
    heads, *rows = shown(bad, one)
    assert heads == ["prod", "packaging"]
    assert rows == [["ok", "fail", "a.whl"], ["ok", "", "b.whl"]]


def test_an_artifact_without_a_target_of_its_own_shows_its_verdict() -> None:
    pure = artifact("a.whl", {ANY_TARGET: Verdict.OK})
    one = artifact("b.whl", {PROD: Verdict.OK})
    assert shown(pure, one)[0] == ["packaging", "prod"]
