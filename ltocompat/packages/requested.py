"""Names and requirements of packages in a list, a line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from ltocompat.model.errors import UsageError, readable, restated
from ltocompat.model.limits import MIB
from ltocompat.packages.values import normalized
from ltocompat.targets.versions.requirement import requirement_of

if TYPE_CHECKING:
    from packaging.version import Version

_MOST_BYTES = 64 * MIB


class Requested(Struct, frozen=True):
    """A requested project and its versions.

    Attributes:
        project: its normalized name.
        specifier: the versions, as PEP 440 writes them: ``>=12,<13``; empty for any.
    """

    project: str
    specifier: str = ""

    @classmethod
    def parse(cls, text: str) -> Requested:
        """Read ``cupy-cuda12x>=13``; markers and extras are ignored.

        Raises:
            UsageError: it is not a requirement.
        """
        try:
            found = requirement_of(text)
        except ValueError as error:
            raise UsageError(
                f"{text[:200]!r} is not a package or requirement; write it like cupy-cuda12x>=13"
            ) from error
        return cls(normalized(found.name), str(found.specifier))

    def newest(self, versions: Iterable[str], *, named: bool = False) -> list[str]:
        """Return the requested versions, newest first; invalid versions are left out.

        Pre-releases count only if there are no others, or the specifier names one.

        Args:
            versions: as written.
            named: only versions that the specifier names by ``==``, or all without a specifier.
        """
        from packaging.specifiers import SpecifierSet

        wanted = SpecifierSet(self.specifier)
        if named and self.specifier and not any(clause.operator == "==" for clause in wanted):
            return []
        known = dict(_parsed(versions))
        found = list(wanted.filter(known.values()))
        by_version = {version: text for text, version in reversed(known.items())}  # the first
        return [by_version[version] for version in sorted(set(found), reverse=True)]


def read_list(path: str) -> list[Requested]:
    """Return the requirements in a file, each once; comments and options are ignored.

    Raises:
        UnreadableInput: it can't be read.
        UsageError: a line is not a requirement.
    """
    with (
        readable(repr(path), OSError, ValueError, done="read as a list of packages"),
        open(path, encoding="utf-8") as file,
    ):
        text = file.read(_MOST_BYTES)
    lines = (line.partition(" #")[0].strip() for line in text.splitlines())
    wanted = [line for line in lines if line and not line.startswith(("#", "-"))]
    with restated(UsageError, path, UsageError):
        return list(dict.fromkeys(Requested.parse(line) for line in wanted))


def _parsed(versions: Iterable[str]) -> Iterator[tuple[str, Version]]:
    from packaging.version import InvalidVersion, Version

    for text in versions:
        with suppress(InvalidVersion):
            yield text, Version(text)
