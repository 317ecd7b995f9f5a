"""The process that workers are forked from, which imports Dask while this process does, too."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

_IMPORTED = (
    "distributed",
    "ltocompat.commands.survey.task",
    "ltocompat.commands.survey.read_package",
)


@contextlib.contextmanager
def fork_server() -> Iterator[str]:
    """How workers are started: on Linux as forks of one process that has imported what they need.

    Each that imports Dask by itself takes more than a second of processor time. The process is
    started at once, and ends with this context, in which all workers have to end: a later one may
    have another environment.

    Yields:
        A start method of ``multiprocessing``.
    """
    from multiprocessing import forkserver

    server: Any = forkserver._forkserver  # noqa: SLF001 - nothing public stops it
    of_others = server._forkserver_pid is not None  # noqa: SLF001
    if sys.platform != "linux" or of_others:
        yield "spawn"
        return
    server.set_forkserver_preload(list(_IMPORTED))
    server.ensure_running()
    try:
        yield "forkserver"
    finally:
        # It may still import, and would end behind that only.
        os.kill(server._forkserver_pid, signal.SIGTERM)  # noqa: SLF001
        server._stop()  # noqa: SLF001
