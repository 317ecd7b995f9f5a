"""Which version of ltocompat, of its tables and of its rules gave an answer."""

from __future__ import annotations

import functools
import hashlib

from ltocompat.model.version import VERSION, program_files

_DIGITS = 12
_COUNTS = (".py", ".toml")


@functools.cache
def facts_version() -> str:
    """The version, and a sum over all code and tables: equal ones give equal answers anywhere."""
    total = hashlib.sha256()
    for name, path in program_files():
        if name.endswith(_COUNTS):
            total.update(name.encode())
            with open(path, "rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
    return f"{VERSION}+{total.hexdigest()[:_DIGITS]}"
