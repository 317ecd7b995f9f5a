"""Answers of a survey, from a dataset that is there: nothing is read or judged anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from ltocompat.commands.survey.answer_parts import SurveyRows, decimal_size, table
from ltocompat.commands.survey.answer_values import Answer, Claim, SurveyReport
from ltocompat.commands.survey.answers_on_contents import (
    compression,
    first_releases,
    ptx,
    toolkits,
    weight,
)
from ltocompat.commands.survey.answers_on_verdicts import drivers, loads, metadata
from ltocompat.commands.survey.dataset import Dataset
from ltocompat.commands.survey.options import ReportOptions


def run(options: ReportOptions) -> Iterator[SurveyReport]:
    """The answers of a survey.

    Raises:
        UnreadableInput: there is none, or it can't be read.
        Missing: pyarrow is not installed.
    """
    dataset = Dataset(options.folder)
    survey = SurveyRows(dataset)
    manifest = dataset.manifest
    yield SurveyReport(
        options.folder,
        manifest.runs[0].started,
        manifest.finished,
        tuple(dict.fromkeys(run.facts for run in manifest.runs)),
        len(survey.distributions),
        tuple(answer(survey) for answer in ANSWERS),
    )


def coverage(survey: SurveyRows) -> Answer:
    """The coverage of a survey, its cost, and what could not be read."""
    statuses = Counter(row["status"] for row in survey.distributions)
    size = sum(row["size"] or 0 for row in survey.distributions)
    fetched = sum(row["bytes_fetched"] for row in survey.distributions)
    cpu = sum(row["cpu_seconds"] for row in survey.distributions)
    errors = survey.rows("errors", "source", "filename", "step", "reason", "place", "passing")
    rows_shown = [
        (
            row["filename"] or row["source"],
            row["step"],
            row["reason"],
            "may pass" if row["passing"] else "",
        )
        for row in errors
    ]
    claims = [
        Claim(
            f"{len(survey.distributions):,} packages of {decimal_size(size)}: "
            + ", ".join(f"{number:,} {name}" for name, number in statuses.most_common())
            + "."
        ),
        Claim(
            f"They took {cpu:,.0f} s of processor time"
            + (f" and {decimal_size(fetched)} over the network." if fetched else ".")
        ),
    ]
    if errors:
        text = f"Packages or places in them that could not be read: {len(errors):,}."
        claims.append(Claim(text, tuple(range(len(errors)))))
    return Answer(
        "coverage",
        "What was surveyed, and what could not be read?",
        tuple(claims),
        None,
        table(("what", "step", "why", ""), rows_shown),
        "pandas.read_parquet('OUT/errors')[['source', 'reason']]",
    )


ANSWERS: tuple[Callable[[SurveyRows], Answer], ...] = (
    *(loads, drivers, ptx, metadata, first_releases, toolkits),
    *(compression, weight, coverage),
)
