"""Core metadata of Python packages (METADATA, WHEEL): headers of mail, then anybody's text.

Source: packaging.python.org, "Core metadata specifications" and "Binary distribution format".
``packaging.metadata`` reads METADATA alone, and drops a field for one wrong byte in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ltocompat.model.errors import LimitExceeded
from ltocompat.model.limits import MIB, Budget
from ltocompat.packages.declared import of_classifiers
from ltocompat.packages.values import Declared, Dependency, normalized
from ltocompat.targets.versions.requirement import requirement_of

if TYPE_CHECKING:
    from email.message import Message

MOST_BYTES = MIB
"""Of metadata that are read, bytes; headers come first, and real ones stay below 100 KiB."""
_SHOWN = 120
_PYTHON = re.compile(r"(?:cp|py)([0-9])([0-9]{1,3})")


class CoreMetadata(Struct):
    """The core metadata of a package.

    Attributes:
        name: normalized; empty where there is none.
        version: as written.
        requires: its dependencies.
        requires_dist: the same as written, those that can't be read, too.
        classifiers: as written.
        extras: names of its extras, normalized.
        declared: what its classifiers say of CUDA.
        problems: what could not be read, one sentence each.
    """

    name: str = ""
    version: str = ""
    requires: tuple[Dependency, ...] = ()
    requires_dist: tuple[str, ...] = ()
    classifiers: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    declared: tuple[Declared, ...] = ()
    problems: list[str] = field(default_factory=list)


def read_metadata(data: bytes, budget: Budget) -> CoreMetadata:
    """Read METADATA, be it any bytes; what is broken or too much becomes a problem."""
    most = budget.limits.dependencies
    headers = _headers(data)
    classifiers = _all(headers, "Classifier")[:most]
    found = CoreMetadata(
        normalized(_one(headers, "Name")),
        _one(headers, "Version"),
        extras=tuple(normalized(text) for text in _all(headers, "Provides-Extra")[:most]),
        classifiers=tuple(classifiers),
        declared=of_classifiers(classifiers),
    )
    if not found.name:
        found.problems.append("METADATA has no Name")
    lines = _all(headers, "Requires-Dist")
    if len(lines) > most:
        found.problems.append(f"METADATA has {len(lines)} dependencies; {most} are read")
    if len(data) >= MOST_BYTES and b"\n\n" not in data.replace(b"\r\n", b"\n"):
        found.problems.append(f"the headers of METADATA go on behind {MOST_BYTES} bytes")
    found.requires_dist = tuple(" ".join(line.split()) for line in lines[:most])
    requires: list[Dependency] = []
    try:
        requires.extend(dependencies(lines[:most], found.problems, budget))
    except LimitExceeded as error:
        found.problems.append(f"the dependencies of METADATA are too much to read: {error}")
    found.requires = tuple(requires)
    return found


def read_tags(data: bytes) -> tuple[str, ...] | None:
    """The tags of WHEEL: ``py3-none-any`` ...; None where there is no such file."""
    return tuple(_all(_headers(data), "Tag")) if data else None


def python_and_platforms(tags: Iterable[str]) -> tuple[str | None, tuple[str, ...]]:
    """The version of Python and the platforms in tags such as ``cp311-cp311-linux_x86_64``."""
    pythons: set[str] = set()
    platforms: dict[str, None] = {}
    for tag in tags:
        parts = tag.split("-")
        if len(parts) == 3:
            pythons |= set(parts[0].split("."))
            platforms |= dict.fromkeys(parts[2].split("."))
    exact = {found.groups() for found in map(_PYTHON.fullmatch, pythons) if found}
    major, minor = exact.pop() if len(exact) == 1 else ("", "")
    version = f"3.{minor}" if major == "3" else None
    return version, tuple(platforms)


def _headers(data: bytes) -> Message:
    # Imported here: it takes 20 ms, and most files are no packages.
    from email.parser import HeaderParser

    return HeaderParser().parsestr(data.decode("utf-8", "replace"))


def _all(headers: Message, key: str) -> list[str]:
    return [str(value).strip() for value in headers.get_all(key, [])]


def _one(headers: Message, key: str) -> str:
    return next(iter(_all(headers, key)), "")


def dependencies(lines: Iterable[str], problems: list[str], budget: Budget) -> Iterator[Dependency]:
    """Yield the dependencies in lines of ``Requires-Dist``; what can't be read is a problem.

    Raises:
        LimitExceeded: the time is used up.
    """
    limits = budget.limits
    for line in budget.timed(lines, every=16):
        text = " ".join(line.split())
        try:
            few = text.partition(";")[0].count(",") < limits.comparisons
            requirement = requirement_of(text if few and len(text) <= limits.line_bytes else "")
        except ValueError:
            problems.append(f"Requires-Dist: {text[:_SHOWN]!r} can't be read")
            continue
        yield Dependency(
            normalized(requirement.name),
            (str(requirement.specifier),),
            f"Requires-Dist: {text[:_SHOWN]}",
            frozenset(map(normalized, requirement.extras)),
            str(requirement.marker) if requirement.marker else "",
        )
