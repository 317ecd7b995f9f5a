"""The newest release of a project in a survey's dataset that asks less than some bound."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from ltocompat.commands.survey.dataset import Dataset
from ltocompat.commands.survey.report import opened

# Of all files of a release the greatest floor counts; one that is not known is above all.
_RELEASES = r"""
SELECT version FROM distributions JOIN needs USING (sha256)
WHERE lower(regexp_replace(project, '[-_.]+', '-', 'g')) = $project
  AND what = 'floor' AND component = $component AND arch IS NOT NULL AND version IS NOT NULL
  AND (len($archs) = 0 OR list_contains($archs, arch))
GROUP BY version
HAVING count(DISTINCT arch) >= len($archs) AND bool_and(least IS NOT NULL) AND ($below IS NULL
  OR max(list_transform(regexp_extract_all(least, '[0-9]+'), lambda text: text::BIGINT)) < $below)
"""


class Releases:
    """The releases that a dataset has.

    Args:
        folder: of the dataset.

    Raises:
        UnreadableInput: there is none, or it can't be read.
        Missing: what surveys need is not installed.
    """

    def __init__(self, folder: str) -> None:
        self._dataset = Dataset(folder)

    def newest(
        self, project: str, component: str, archs: Sequence[str], below: Sequence[int] | None
    ) -> str:
        """The newest release of a project that has code for GPUs and a lower floor there.

        Args:
            project: its name.
            component: ``driver`` or ``nvJitLink``.
            archs: all of these GPU architectures; none: whichever it has code for.
            below: what the floors have to be below; None: any floor will do.

        Returns:
            Its version; empty where the dataset has none.

        Raises:
            UnreadableInput: the dataset can't be read.
        """
        asked = {
            "project": canonicalize_name(project),
            "component": component,
            "archs": list(archs),
            "below": None if below is None else list(below),
        }
        with opened(self._dataset) as database:
            rows = database.execute(_RELEASES, asked).fetchall()
        found = []
        for (version,) in rows:
            with suppress(InvalidVersion):
                found.append(Version(version))
        return str(max(found, default=""))
