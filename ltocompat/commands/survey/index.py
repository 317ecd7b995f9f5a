"""A package index as a source: its projects, and of each the files that are to be surveyed."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from ltocompat.commands.survey.distribution import Distribution
from ltocompat.commands.survey.http import (
    MOST_LIST,
    MOST_PAGE,
    Http,
    Traffic,
    split_address,
    without_credentials,
)
from ltocompat.commands.survey.options import Choice
from ltocompat.model.errors import UsageError
from ltocompat.model.generic import grouped
from ltocompat.model.projection import project
from ltocompat.packages.index_answers import ACCEPTED, IndexFile, project_files, project_names
from ltocompat.packages.requested import Requested
from ltocompat.packages.values import normalized
from ltocompat.packages.wheel_name import WheelName

_Wheel = tuple[IndexFile, WheelName]


class Index:
    """A package index by the address of its simple API.

    Args:
        url: the address of the index; ``http`` handles its user name and password.
        http: sends the requests.

    Raises:
        UsageError: it is not an address of an index.
    """

    def __init__(self, url: str, http: Http) -> None:
        parts = split_address(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                f"{without_credentials(url)!r} is not an address of a package index; write "
                "https://HOST/simple"
            )
        self.url = without_credentials(url).rstrip("/")
        self._http = http

    def projects(self, match: str | None) -> Iterator[str]:
        """Yield the normalized names of its projects.

        Args:
            match: a pattern of names, ``nvidia-*``; None for all.

        Raises:
            FetchFailed: the index has no list of projects.
        """
        pattern = None if match is None else normalized(match)
        page = self._http.page(f"{self.url}/", ACCEPTED, MOST_LIST, Traffic())
        for name in project_names(page.data, page.content_type, page.url):
            if pattern is None or fnmatch.fnmatchcase(name, pattern):
                yield name

    def files(self, requested: Requested, choice: Choice) -> list[Distribution]:
        """Return the files of a project to survey, newest release first.

        Raises:
            FetchFailed: the index has no such project, or can't be reached.
            UnreadableInput: its answer is not a page of a project.
        """
        url = f"{self.url}/{quote(requested.project)}/"
        page = self._http.page(url, ACCEPTED, MOST_PAGE, Traffic())
        found = project_files(page.data, page.content_type, page.url)
        return [self._distribution(file, name) for file, name in chosen(found, requested, choice)]

    def _distribution(self, file: IndexFile, name: WheelName) -> Distribution:
        return project(
            Distribution,
            file,
            source=file.url,
            index=self.url,
            project=name.project,
            version=name.version,
            tags=name.tags,
            platforms=name.platforms,
            yanked=file.yanked is not False,
            yanked_reason=file.yanked if isinstance(file.yanked, str) and file.yanked else None,
        )


def chosen(files: Sequence[IndexFile], requested: Requested, choice: Choice) -> list[_Wheel]:
    """Return the wheels of a project to survey, newest release first.

    A release counts if one of its wheels is selected. Withdrawn releases and pre-releases count
    only if there are no others, or if the requirement names them.
    """
    wheels = [
        (file, name)
        for file in files
        if (name := WheelName.parse(file.filename)) is not None
        and name.project == requested.project
        and choice.takes(name.platforms)
    ]
    plain = [(file, name) for file, name in wheels if file.yanked is False]
    versions = requested.newest(dict.fromkeys(name.version for _, name in plain))
    if not versions:
        versions = requested.newest(dict.fromkeys(name.version for _, name in wheels), named=True)
    found = []
    for version in versions[: choice.releases]:
        of_release = [(file, name) for file, name in wheels if name.version == version]
        kept = of_release if choice.every_python else _newest_python(of_release)
        found += sorted(kept, key=lambda wheel: wheel[0].filename)
    return found


def _newest_python(wheels: Sequence[_Wheel]) -> list[_Wheel]:
    """For each platform the wheel of the newest Python: others mostly have equal device code."""
    by_platforms = grouped((tuple(sorted(name.platforms)), (file, name)) for file, name in wheels)
    return [max(alike, key=lambda wheel: _python(wheel[1])) for alike in by_platforms.values()]


def _python(name: WheelName) -> tuple[int, int, str, str]:
    """Later versions above earlier ones, free-threaded and other builds below the usual one."""
    python, abi, _ = name.tags[-1].split("-")
    digits = "".join(re.findall("[0-9]", python))[:4] or "0"
    return int(digits[0]) * 1000 + int(digits[1:] or 0), -len(abi), name.build, abi
