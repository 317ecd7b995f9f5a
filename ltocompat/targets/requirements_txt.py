"""requirements.txt and what ``pip freeze`` prints, as pip reads them -> pins."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from ltocompat.model.errors import UsageError
from ltocompat.model.generic import grouped
from ltocompat.model.limits import Budget
from ltocompat.targets.pins import Pin
from ltocompat.targets.systems import MarkerEnvironment
from ltocompat.targets.text_file import read_text
from ltocompat.targets.versions.requirement import requirement_of

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_COMMENT = re.compile(r"(?:^|(?<=\s))#.*$")
# Options of one requirement, such as --hash=sha256:..., stand behind it.
_OPTIONS = re.compile(r"\s--[a-z].*$")
_INCLUDE = re.compile(r"(?:--requirement|--constraint)(?:\s+|=)(.+)|-[rc]\s*(.+)")
# Requirements without a name: a folder, a file, something to fetch.
_PLACE = re.compile(r".*[/\\].*|\.|.*\.(?:whl|zip|tar\.\w+|tgz)")
_DEPTH = 20
_HASHES = 200  # characters of a hash, with its option


def read_requirements(path: str, environment: MarkerEnvironment, budget: Budget) -> tuple[Pin, ...]:
    """Return the pins that hold on a target, also from constraints, which bind all installations.

    Args:
        path: the file; included files are relative to it.
        environment: the environment for its markers.
        budget: bounds for reading it.

    Raises:
        UsageError: a file can't be read, or a line is not a requirement.
    """
    pins = _walk(path, read_text(path, budget), environment, budget, seen=[])
    specifiers = grouped((pin.package, pin.specifiers) for pin in pins)
    return tuple(
        Pin(package, ",".join(text for text in dict.fromkeys(texts) if text))
        for package, texts in specifiers.items()
    )


def is_requirements(path: str) -> bool:
    """Return whether the first non-empty line of a file is a requirement or an option."""
    with suppress(UsageError, ValueError):
        _, first = next(_lines(read_text(path), Budget()), (0, ""))
        return first.startswith("-") or bool(requirement_of(_OPTIONS.sub("", first)))
    return False


def pins_of_lines(lines: Iterable[str], environment: MarkerEnvironment) -> Iterator[Pin]:
    """Yield the pins in lines of another file, such as an environment.yml.

    Raises:
        UsageError: a line is not a requirement.
    """
    for line in lines:
        yield from _pin(line, f"{line[:40]!r}", environment)


def _walk(
    path: str, text: str, environment: MarkerEnvironment, budget: Budget, seen: list[str]
) -> Iterator[Pin]:
    real = os.path.realpath(path)
    if real in seen:
        return
    seen.append(real)
    for number, line in budget.timed(_lines(text, budget), slow=True):
        included = _INCLUDE.fullmatch(line)
        place = f"{os.path.basename(path) if len(seen) == 1 else 'a file included'}:{number}"
        if included is not None:
            if len(seen) > _DEPTH:
                raise UsageError(f"{place}: more than {_DEPTH} files are included; give one file")
            beside = _beside(path, (included[1] or included[2]).strip().strip("'\""), place)
            yield from _walk(beside, _included(beside, place, budget), environment, budget, seen)
        elif not line.startswith("-"):
            if len(line) > budget.limits.line_bytes + _HASHES * line.count("--hash"):
                raise UsageError(f"{place}: this line is too long; give the output of pip freeze")
            yield from _pin(line, place, environment)


def _beside(path: str, name: str, place: str) -> str:
    if "://" in name:
        raise UsageError(f"{place}: this line includes a URL; download the file, write its path")
    return os.path.join(os.path.dirname(path), name)


def _included(path: str, place: str, budget: Budget) -> str:
    """The text of an included file, whose name is a line of a file that may lead anywhere."""
    try:
        return read_text(path, budget)
    except UsageError:
        raise UsageError(
            f"{place}: the file that this line includes can't be read as text; correct the file"
        ) from None


def _lines(text: str, budget: Budget) -> Iterator[tuple[int, str]]:
    """Logical lines with their numbers: continued ones joined, comments and blanks left out."""
    parts: list[str] = []
    start = 0
    # The empty line behind the last one ends a continuation that the file doesn't.
    for number, line in budget.timed(enumerate((*text.splitlines(), ""), 1)):
        if not parts:
            start = number
        comment = line.lstrip().startswith("#")
        if line.endswith("\\") and not comment:
            parts.append(line[:-1])
            continue
        parts.append(f" {line}" if comment else line)
        whole = _COMMENT.sub("", "".join(parts)).strip()
        parts = []
        if whole:
            yield start, whole


def _pin(line: str, place: str, environment: MarkerEnvironment) -> Iterator[Pin]:
    from packaging.utils import canonicalize_name

    text = _OPTIONS.sub("", line)
    try:
        requirement = requirement_of(text)
    except ValueError:
        if _PLACE.fullmatch(text.partition(";")[0].strip()) is None:
            # A lock may be named by a file from elsewhere, and lead anywhere: nothing is quoted.
            raise UsageError(
                f"{place}: this line is not a requirement; give the output of pip freeze"
            ) from None
        yield from _wheel(text.partition(";")[0].strip())
        return
    if environment.holds(requirement.marker):
        yield Pin(canonicalize_name(requirement.name), _specifiers(requirement))


def _specifiers(requirement: Requirement) -> str:
    if requirement.url is None:
        return str(requirement.specifier)
    return next((pin.specifiers for pin in _wheel(requirement.url)), "")


def _wheel(place: str) -> Iterator[Pin]:
    """Yield the package and version in the file name of a wheel."""
    from packaging.utils import parse_wheel_filename

    name = re.split(r"[/\\]", re.split(r"[?#]", place)[0])[-1]
    with suppress(ValueError):
        package, version, _, _ = parse_wheel_filename(name)
        yield Pin(package, f"=={version}")
