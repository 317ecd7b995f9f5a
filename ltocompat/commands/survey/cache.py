"""Answers of earlier runs: by SHA-256, facts version and all that was asked of the package.

What is kept bears this user's seal and is checked against its types when it is read: whatever is
forged, cut or old is as good as absent, and the package is read again.
"""

from __future__ import annotations

import hashlib
import os

from ltocompat.commands.survey.tables import Surveyed
from ltocompat.targets.sealed_folder import UserCache


class SurveyCache(UserCache):
    """The rows of packages, a file each."""

    NAME = "surveys-1"
    MOST = 256 << 20  # of one package's rows; those of the largest known take 2 MB

    def get(self, sha256: str, asked: str) -> Surveyed | None:
        """The rows of a package; None where none are kept.

        Args:
            sha256: of its file.
            asked: all else that the rows depend on.
        """
        return self._read(_key(sha256, asked), Surveyed)

    def keep(self, sha256: str, asked: str, found: Surveyed) -> None:
        """Keep the rows of a package."""
        self._write(_key(sha256, asked), found)


def _key(sha256: str, asked: str) -> str:
    return hashlib.sha256(os.fsencode(f"{sha256}\0{asked}")).hexdigest()
