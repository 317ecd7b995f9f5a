"""Where a TOML file keeps our tables: under ``[tool.ltocompat]``, or at its top."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ltocompat.model.errors import UsageError
from ltocompat.targets.text_file import read_toml

PYPROJECT = "pyproject.toml"
OWN = "ltocompat.toml"
_PREFIX = "tool.ltocompat."
_TABLES = ("targets", "promise", "audit")


@dataclass(frozen=True, slots=True)
class OwnTables:
    """Our tables of a file.

    Attributes:
        path: the file.
        prefix: what stands before their names: ``tool.ltocompat.``, or nothing.
        tables: their values; None for a pyproject.toml that has none.
    """

    path: str
    prefix: str
    tables: dict[str, Any] | None

    @property
    def title(self) -> str:
        """What to call all of them."""
        return "[tool.ltocompat]" if self.prefix else "the file"

    def header(self, name: str) -> str:
        """The line that begins a table: ``[tool.ltocompat.audit]``."""
        return f"[{self.prefix}{name}]"


def own_tables(path: str) -> OwnTables:
    """Our tables of a file.

    A pyproject.toml has other tools' tables beside ours. What is copied from one into an
    ltocompat.toml means the same there.

    Raises:
        UsageError: the file can't be read, ``tool.ltocompat`` is no table, or stands beside others.
    """
    tables: Any = read_toml(path)
    pyproject = os.path.basename(path) == PYPROJECT
    tool = tables.get("tool")
    if not pyproject and not (isinstance(tool, dict) and "ltocompat" in tool):
        return OwnTables(path, "", tables)
    found = tool.get("ltocompat") if isinstance(tool, dict) else None
    if found is not None and not isinstance(found, dict):
        raise UsageError(f"{path}: tool.ltocompat is not a table; write [tool.ltocompat.audit]")
    both = [] if pyproject else [name for name in _TABLES if name in tables]
    if both:
        raise UsageError(
            f"{path} has [{both[0]}] beside [tool.ltocompat]; write all tables one way"
        )
    return OwnTables(path, _PREFIX, found)
