"""Sources of a survey: the packages of folders, of a list, of a package index."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field

from ltocompat.commands.survey.distribution import Distribution
from ltocompat.commands.survey.http import FetchFailed, Http
from ltocompat.commands.survey.index import Index
from ltocompat.commands.survey.options import RunOptions
from ltocompat.commands.survey.storage import sizes_below
from ltocompat.commands.survey.tables import ErrorRow
from ltocompat.commands.survey.task import facts_version
from ltocompat.files.regular import sha256_of_path
from ltocompat.model.errors import LtocompatError, UnreadableInput
from ltocompat.model.projection import project
from ltocompat.packages.requested import Requested, read_list
from ltocompat.packages.wheel_name import WheelName
from ltocompat.scan.sources import is_address

_PACKAGES = (".whl", ".conda", ".tar.bz2")


class Sources(Struct):
    """The distributions of some sources.

    Attributes:
        options: the sources: folders, packages, lists, and addresses of indexes.
        http: sends requests to indexes.
        indexes: the indexes for names in lists, the main one first.
        unlisted: sources that could not be listed so far.
    """

    options: RunOptions
    http: Http
    indexes: tuple[str, ...]
    unlisted: list[ErrorRow] = field(default_factory=list)

    def check(self) -> None:
        """Check that each source exists.

        Raises:
            UnreadableInput: there is not.
            UsageError: a line of a list is invalid, or an address is not the address of an index.
        """
        for source in self.options.sources:
            if is_index(source):
                Index(source, self.http)
            elif not (sizes_below(source) if is_address(source) else os.path.exists(source)):
                raise UnreadableInput(
                    f"{source!r} is not a folder, package or list; for an index, give its "
                    "address: https://HOST/simple"
                )
            elif _is_list(source):
                read_list(source)
                for url in self.indexes:
                    Index(url, self.http)

    def distributions(self) -> Iterator[Distribution]:
        """Yield all distributions, source by source."""
        return (
            each for each in self._all() if self.options.in_shard(each.project or each.filename)
        )

    def _all(self) -> Iterator[Distribution]:
        for source in self.options.sources:
            if is_index(source):
                index = Index(source, self.http)
                yield from self._of_projects(self._projects(index), [index])
            elif _is_list(source):
                indexes = [Index(url, self.http) for url in self.indexes]
                yield from self._of_projects(read_list(source), indexes)
            else:
                found = None
                for found in of_folder(source):
                    yield found
                if found is None:
                    reason = f"it holds no package ({', '.join(_PACKAGES)}); fetch some first"
                    self._miss(source, None, reason, passing=True)

    def _projects(self, index: Index) -> Iterator[Requested]:
        try:
            for name in index.projects(self.options.match):
                yield Requested(name)
        except FetchFailed as error:
            self._miss(index.url, None, str(error), passing=error.passing)

    def _of_projects(
        self, projects: Iterable[Requested], indexes: Sequence[Index]
    ) -> Iterator[Distribution]:
        """The files of projects, in their order."""
        for one in projects:
            if not self.options.in_shard(one.project):
                continue
            try:
                yield from self._files(one, indexes)
            except LtocompatError as error:
                passing = isinstance(error, FetchFailed) and error.passing
                self._miss(one.project, one.project, str(error), passing=passing)

    def _miss(self, source: str, project: str | None, reason: str, *, passing: bool) -> None:
        self.unlisted.append(
            ErrorRow(
                sha256=None,
                facts=facts_version(),
                source=source,
                filename=None,
                project=project,
                step="list",
                reason=reason,
                passing=passing,
            )
        )

    def _files(self, project: Requested, indexes: Sequence[Index]) -> list[Distribution]:
        """The files of a project in the first index that has it."""
        *others, last = indexes
        for index in others:
            try:
                return index.files(project, self.options.choice)
            except FetchFailed as error:
                if error.passing:
                    raise
        return last.files(project, self.options.choice)


def is_index(source: str) -> bool:
    """Return whether a source is the address of an index."""
    return source.startswith(("http://", "https://"))


def _is_list(source: str) -> bool:
    return os.path.isfile(source) and not source.endswith(_PACKAGES)


def of_folder(folder: str) -> Iterator[Distribution]:
    """Yield the packages below a folder, or the named package, the largest first.

    If the largest came last, the other workers would wait for it. Equal files are one distribution:
    the first by its path.
    """
    if is_address(folder):
        sizes = {k: v for k, v in sizes_below(folder).items() if k.endswith(_PACKAGES)}
    else:
        sizes = {path: os.path.getsize(path) for path in _files(folder)}
    often = Counter(sizes.values())
    met: set[str] = set()
    for path, size in sorted(sizes.items(), key=lambda file: (-file[1], file[0])):
        sha256 = None
        if often[size] > 1 and not is_address(path):
            sha256 = sha256_of_path(path)
            if sha256 in met:
                continue
            met.add(sha256)
        yield _of_file(path, size, sha256)


def _of_file(path: str, size: int, sha256: str | None) -> Distribution:
    """The distribution that the name of a file tells."""
    filename = os.path.basename(path)
    name = WheelName.parse(filename)
    return project(
        Distribution, name, source=path, filename=filename, index=None, size=size, sha256=sha256
    )


def _files(folder: str) -> Sequence[str]:
    if not os.path.isdir(folder):
        return [folder]
    return [
        os.path.join(root, name)
        for root, _, names in os.walk(folder)
        for name in names
        if name.endswith(_PACKAGES) and os.path.isfile(os.path.join(root, name))
    ]
