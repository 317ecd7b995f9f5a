"""Small files of text and TOML that a user names, read with errors that are one sentence."""

from __future__ import annotations

import codecs
import os
import stat
import tomllib
from typing import Any

from ltocompat.model.errors import UsageError

# Lock files of large projects have a few MB.
_MOST = 64 << 20


def read_text(path: str) -> str:
    """The text of a file in UTF-8, or in UTF-16 as PowerShell redirects it.

    Raises:
        UsageError: it can't be read, is too large, or is no text.
    """
    try:
        # Opening a pipe would wait for whoever writes into it.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise UsageError(f"{path} is not a regular file; give a lock file or a file of targets")
        with open(path, "rb") as file:
            content = file.read(_MOST + 1)
        if len(content) > _MOST:
            raise UsageError(f"{path} has more than 64 MiB; give a lock file or a file of targets")
        wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except FileNotFoundError as error:
        raise UsageError(f"there is no file {path}; give one that exists") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"{path} can't be read ({reason}); give a file that can") from error
    except ValueError as error:
        raise UsageError(f"{path!r} is not a file of text; give a lock or TOML file") from error
    if "\0" in text:
        raise UsageError(f"{path!r} is not a file of text; give a lock or TOML file")
    return text


def read_toml(path: str) -> dict[str, Any]:
    """The tables of a TOML file.

    Raises:
        UsageError: it can't be read, or is no TOML.
    """
    try:
        return tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        reason = str(error) or "nested too deeply"
        raise UsageError(f"{path} is not a TOML file: {reason}; mend it") from error
