"""What a survey found, as answers: of a dataset that is there, nothing is read or judged anew."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.commands.survey.answer_values import SurveyReport
from ltocompat.commands.survey.answers import ANSWERS
from ltocompat.commands.survey.dataset import Dataset
from ltocompat.commands.survey.options import ReportOptions
from ltocompat.commands.survey.survey_rows import SurveyRows


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
