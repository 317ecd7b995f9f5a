"""Small files of text and TOML that a user names, and where our tables are in them."""

from __future__ import annotations

import codecs
import errno
import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from ltocompat.files.regular import read_regular
from ltocompat.model.errors import LimitExceeded, UsageError
from ltocompat.model.limits import MIB, Budget

# Bytes a second that tomllib reads at worst: it is Python, and asks nobody for the time.
_SPEED = MIB // 2
# The time that it takes for a key grows with the square of the number of its parts.
_ENDLESS_KEY = re.compile(
    r"""(?<![\w."'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}"""
)
# Python writes no number of thousands of digits, as a sentence about it would.
_ENDLESS_NUMBER = re.compile(r"\b0[xob][0-9a-fA-F_]{1000}")
# Words of tomllib in parentheses and quotes, but for positions and single characters.
_QUOTED = re.compile(r"\((?!at ).*\)(?= )|'[^']{2,}'|\"[^\"]{2,}\"")


def read_text(path: str, budget: Budget | None = None) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 as redirected by PowerShell.

    Args:
        path: the file.
        budget: the budget for reading it; None for the default.

    Raises:
        UsageError: it can't be read, is too large, or is not text.
    """
    most = (budget or Budget()).limits.tables_bytes
    try:
        content = read_regular(path, most + 1)
        if len(content) > most:
            raise UsageError(
                f"{path} has more than {most} bytes (Limits.tables_bytes); give a lock file or a "
                "file of targets"
            )
        wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except FileNotFoundError as error:
        raise UsageError(f"there is no file {path}; name an existing file") from error
    except OSError as error:
        if error.errno == errno.EINVAL:  # what no regular file has, or no path can be
            raise UsageError(
                f"{path} is not a regular file; give a lock file or a file of targets"
            ) from error
        reason = error.strerror or type(error).__name__
        raise UsageError(f"{path} can't be read ({reason}); give a readable file") from error
    except ValueError as error:
        raise UsageError(f"{path!r} is not a text file; give a lock or TOML file") from error
    if "\0" in text:
        raise UsageError(f"{path!r} is not a text file; give a lock or TOML file")
    return text


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Add a file's name to an error from the block, including an exceeded limit."""
    try:
        yield
    except LimitExceeded as error:
        raise UsageError(f"{path}: {error}") from error
    except UsageError as error:
        raise error if path in str(error) else UsageError(f"{path}: {error}") from error


def read_toml(path: str, budget: Budget | None = None) -> dict[str, Any]:
    """Return the tables of a TOML file.

    Args:
        path: the file.
        budget: the budget for reading it; None for the default.

    Raises:
        UsageError: it can't be read, is too large, or is not TOML.
    """
    text = read_text(path, budget)
    with naming(path):
        (budget or Budget()).check_call(len(text), _SPEED)
    if _ENDLESS_KEY.search(text):
        raise UsageError(f"{path} has a key with more than 100 parts; correct the key")
    if _ENDLESS_NUMBER.search(text):
        raise UsageError(f"{path} has a number with more than 1000 digits; correct the number")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # The file may lead anywhere: the keys that a reason names are not quoted.
        reason = _QUOTED.sub("a key", str(error))
    except RecursionError:
        reason = "nested too deeply"
    except ValueError:
        reason = "a number is too long"
    raise UsageError(f"{path} is not a TOML file: {reason}; correct it")


PYPROJECT = "pyproject.toml"
OWN = "ltocompat.toml"
_PREFIX = "tool.ltocompat."
_TABLES = ("targets", "promise", "audit")


class OwnTables(Struct, frozen=True):
    """Our tables in a file.

    Attributes:
        path: the file.
        prefix: the prefix of their names: ``tool.ltocompat.``, or empty.
        tables: their values; None for a pyproject.toml that has none.
    """

    path: str
    prefix: str
    tables: dict[str, Any] | None

    @property
    def title(self) -> str:
        """Their common name in messages."""
        return "[tool.ltocompat]" if self.prefix else "the file"

    def header(self, name: str) -> str:
        """The line that begins a table: ``[tool.ltocompat.audit]``."""
        return f"[{self.prefix}{name}]"


def own_tables(path: str, budget: Budget | None = None) -> OwnTables:
    """Our tables in a file.

    A pyproject.toml has other tools' tables next to ours. Tables copied from it into an
    ltocompat.toml mean the same there.

    Args:
        path: the file.
        budget: the budget for reading it; None for the default.

    Raises:
        UsageError: the file can't be read, ``tool.ltocompat`` is not a table, or mixed with other
            forms.
    """
    tables: Any = read_toml(path, budget)
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
            f"{path} has both [{both[0]}] and [tool.ltocompat]; write all tables in the same form"
        )
    return OwnTables(path, _PREFIX, found)
