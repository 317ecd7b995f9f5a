"""Which version of ltocompat, of its tables and of its rules gave an answer."""

from __future__ import annotations

import functools
import hashlib
import os

from ltocompat import model
from ltocompat.model.version import VERSION

_DIGITS = 12
_COUNTS = (".py", ".toml")


@functools.cache
def facts_version() -> str:
    """The version, and a sum over all code and tables: equal ones give equal answers anywhere."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(model.__file__)))
    total = hashlib.sha256()
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            if name.endswith(_COUNTS):
                path = os.path.join(folder, name)
                total.update(os.path.relpath(path, root).replace(os.sep, "/").encode())
                with open(path, "rb") as file:
                    total.update(hashlib.file_digest(file, "sha256").digest())
    return f"{VERSION}+{total.hexdigest()[:_DIGITS]}"
