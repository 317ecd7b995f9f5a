"""Read artifacts as the verbs that judge do; what can't be read is an error."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from ltocompat.commands.options import answers
from ltocompat.commands.read_artifacts import ScanOptions
from ltocompat.commands.read_artifacts import summaries as summaries_and_failures
from ltocompat.model.artifact_summary import ArtifactSummary


def summaries(
    paths: Sequence[str | os.PathLike[str]], reading: ScanOptions
) -> Iterator[ArtifactSummary]:
    return answers(summaries_and_failures(paths, reading), on_error=None)
