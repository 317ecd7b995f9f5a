"""The SHA-256 of files."""

from __future__ import annotations

import hashlib


def sha256_of_path(path: str) -> str:
    """The SHA-256 of the file at a path, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
