"""What two packages say of themselves, and where they differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ltocompat.model.diff import Change, Metadata

# Names as PyPI compares them (PEP 503): case, dots and underscores don't count.
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_SEPARATORS = re.compile(r"[-_.]+")


def metadata_moves(old: Metadata | None, new: Metadata | None) -> Iterator[Change]:
    """Changes of version, name, tags and requirements; none where a side has no metadata."""
    if old is None or new is None:
        return
    for kind, before, after in (
        ("version", (old.version,), (new.version,)),
        ("name", (old.name,), (new.name,)),
        ("tags", tuple(sorted(old.tags)), tuple(sorted(new.tags))),
    ):
        if before != after:
            yield Change(kind, "", "", before, after)
    olds, news = _by_name(old.requires), _by_name(new.requires)
    for name in sorted(olds.keys() | news.keys()):
        lines = olds.get(name), news.get(name)
        if lines[0] != lines[1]:
            yield Change("requires", "", name, *lines)


def _by_name(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Requirements by the name of what is required; without one, by the whole line."""
    found: dict[str, set[str]] = {}
    for line in lines:
        match = _NAME.match(line)
        name = _SEPARATORS.sub("-", match[1].rstrip("-_.")).lower() if match else line
        found.setdefault(name, set()).add(line)
    return {name: tuple(sorted(several)) for name, several in found.items()}
