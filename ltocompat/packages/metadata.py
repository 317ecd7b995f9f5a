"""Core metadata of Python packages (METADATA, WHEEL): headers of mail, then anybody's text.

Source: packaging.python.org, "Core metadata specifications" and "Binary distribution format".
``packaging.metadata`` reads METADATA alone, and drops a field for one wrong byte in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ltocompat.model.limits import MIB, Budget
from ltocompat.packages.declared import of_classifiers
from ltocompat.packages.values import SHOWN, Dependency, Kind, Package, normalized, within_limits
from ltocompat.targets.versions.requirement import requirement_of

if TYPE_CHECKING:
    from email.message import Message

# Bytes of metadata that are read; headers come first, and real ones stay below 100 KiB.
MOST_BYTES = MIB
_PYTHON = re.compile(r"cp([0-9])([0-9]{1,3})")  # py39 is for later ones, too


def read_metadata(data: bytes, budget: Budget) -> Package:
    """Read METADATA from any bytes; broken or excessive parts become problems."""
    most = budget.limits.dependencies
    headers = headers_of(data)
    classifiers = tuple(_all(headers, "Classifier")[:most])
    lines = _all(headers, "Requires-Dist")
    problems: list[str] = []
    if not field_of(headers, "Name"):
        problems.append("METADATA has no Name")
    if len(lines) > most:
        problems.append(f"METADATA has {len(lines)} dependencies; {most} are read")
    if len(data) >= MOST_BYTES and b"\n\n" not in data.replace(b"\r\n", b"\n"):
        problems.append(f"the headers of METADATA have more than {MOST_BYTES} bytes")
    requires = dependencies(lines[:most], problems, budget)
    return Package(
        kind=Kind.WHEEL,
        path="",
        name=normalized(field_of(headers, "Name")),
        version=field_of(headers, "Version"),
        requires=tuple(within_limits(requires, "the dependencies of METADATA are", problems)),
        requires_dist=tuple(" ".join(line.split()) for line in lines[:most]),
        extras=tuple(normalized(text) for text in _all(headers, "Provides-Extra")[:most]),
        classifiers=classifiers,
        declared=of_classifiers(classifiers),
        problems=tuple(problems),
    )


def read_tags(data: bytes) -> tuple[str, ...] | None:
    """The tags of WHEEL: ``py3-none-any`` ...; None if there is no such file."""
    return tuple(_all(headers_of(data), "Tag")) if data else None


def python_and_platforms(tags: Iterable[str]) -> tuple[str | None, tuple[str, ...]]:
    """The version of Python and the platforms in tags such as ``cp311-cp311-linux_x86_64``."""
    pythons: set[str] = set()
    platforms: dict[str, None] = {}
    for tag in tags:
        parts = tag.split("-")
        if len(parts) == 3:
            pythons |= set(parts[0].split(".")) if parts[1] != "abi3" else set()
            platforms |= dict.fromkeys(parts[2].split("."))
    exact = {found.groups() for found in map(_PYTHON.fullmatch, pythons) if found}
    major, minor = exact.pop() if len(exact) == 1 else ("", "")
    return (f"3.{minor}" if major == "3" else None), tuple(platforms)


def headers_of(data: bytes) -> Message:
    """Read the headers of METADATA, WHEEL or a control file of Debian."""
    # Imported here: it takes 20 ms, and most files are no packages.
    from email.parser import HeaderParser

    return HeaderParser().parsestr(data.decode("utf-8", "replace"))


def _all(headers: Message, key: str) -> list[str]:
    return [str(value).strip() for value in headers.get_all(key, [])]


def field_of(headers: Message, key: str) -> str:
    """Return the first field with a name; empty if there is none."""
    return next(iter(_all(headers, key)), "")


def dependencies(lines: Iterable[str], problems: list[str], budget: Budget) -> Iterator[Dependency]:
    """Yield the dependencies in lines of ``Requires-Dist``; unreadable lines become problems.

    Raises:
        LimitExceeded: the time is used up.
    """
    limits = budget.limits
    for line in budget.timed(lines, slow=True):
        text = " ".join(line.split())
        try:
            few = text.partition(";")[0].count(",") < limits.comparisons
            requirement = requirement_of(text if few and len(text) <= limits.line_bytes else "")
        except ValueError:
            problems.append(f"Requires-Dist: {text[:SHOWN]!r} can't be read")
            continue
        yield Dependency(
            normalized(requirement.name),
            (str(requirement.specifier),),
            f"Requires-Dist: {text[:SHOWN]}",
            frozenset(map(normalized, requirement.extras)),
            str(requirement.marker) if requirement.marker else "",
        )
