"""The questions that a survey answers.

Sentences are about the newest package of each project and platform that was surveyed, so that a
project with many releases counts once; tables have all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ltocompat.commands.survey.answer_parts import decimal_size, table
from ltocompat.commands.survey.answer_values import Answer, Claim
from ltocompat.commands.survey.answers_on_contents import (
    compression,
    first_releases,
    ptx,
    toolkits,
    weight,
)
from ltocompat.commands.survey.answers_on_verdicts import drivers, loads, metadata
from ltocompat.commands.survey.survey_rows import SurveyRows


def coverage(survey: SurveyRows) -> Answer:
    """What was surveyed, what it cost, and what could not be read."""
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
