"""Writing to descriptors, of which the system may take a part at a time."""

from __future__ import annotations

import os


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Write all of ``data``, with as many system calls as necessary."""
    while data:
        data = memoryview(data)[os.write(fd, data) :]
