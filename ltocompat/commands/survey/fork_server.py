"""The process that workers are forked from, which has all that they need from its own parent."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ltocompat.commands.survey.extra import extra
from ltocompat.scan import workers

_USED_BY_WORKERS = (
    "distributed",
    "ltocompat.commands.survey.task",
    "ltocompat.commands.survey.read_package",
)


@contextlib.contextmanager
def fork_server() -> Iterator[str]:
    """How workers are started: on Linux as forks of one process that has imported what they need.

    To import Dask takes half a second of processor time. This process needs it too, so that the
    other is a fork of this one where it can be. It ends with this context, in which all workers
    have to end: a later one may have another environment.

    Yields:
        A start method of ``multiprocessing``.

    Raises:
        Missing: Dask is not installed.
    """
    from multiprocessing import forkserver

    server: Any = forkserver._forkserver  # noqa: SLF001 - nothing public stops it
    of_others = server._forkserver_pid is not None  # noqa: SLF001
    if sys.platform != "linux" or of_others:
        yield "spawn"
        return
    server.set_forkserver_preload(list(_USED_BY_WORKERS))
    if workers.available(2) == 1:  # this process may not be forked
        server.ensure_running()
    else:
        for name in _USED_BY_WORKERS:
            extra(name)
        with _forking():
            server.ensure_running()
    try:
        yield "forkserver"
    finally:
        # It may still import, and would end behind that only.
        with contextlib.suppress(ProcessLookupError):
            os.kill(server._forkserver_pid, signal.SIGTERM)  # noqa: SLF001
        server._stop()  # noqa: SLF001


@contextlib.contextmanager
def _forking() -> Iterator[None]:
    """What ``multiprocessing`` starts is a fork of this process, and no new interpreter."""
    from multiprocessing import util

    # No type stub has it.
    found: Any = util
    known = found.spawnv_passfds
    found.spawnv_passfds = _fork
    try:
        yield
    finally:
        found.spawnv_passfds = known


def _fork(_: object, words: Sequence[str], kept: Sequence[int]) -> int:
    """Do in a fork of this process what a new interpreter would have done.

    Args:
        words: its command line; the last one is the program.
        kept: files that it needs, beside the standard ones.

    Returns:
        The ID of the process.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # what waits there would be written by each worker, too
    process = os.fork()
    if process:
        return process
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _close_all_but(kept)
        gc.freeze()  # what is there stays shared with the parent
        exec(words[-1], {})  # noqa: S102 - it comes from the standard library
    finally:
        # Not by sys.exit: buffers, handlers and files of the parent are left alone.
        os._exit(0)


def _close_all_but(kept: Sequence[int]) -> None:
    """Close what the parent has open: its locks would last as long as this process."""
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd > 2 and fd not in kept:
            with contextlib.suppress(OSError):  # that of the listing itself
                os.close(fd)
