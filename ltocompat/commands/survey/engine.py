"""Who does the tasks: this process, worker processes of its own, or a cluster by its address.

Dask schedules, retries what a dying worker had at hand, and restarts the worker; a task that took
several workers with it is given up as an error. Nothing of that is done here.
"""

from __future__ import annotations

import contextlib
import gc
import ipaddress
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ltocompat.commands.survey.distribution import Distribution, Measures
from ltocompat.commands.survey.extra import extra
from ltocompat.commands.survey.rows import RowMaker
from ltocompat.commands.survey.tables import Surveyed
from ltocompat.commands.survey.task import TaskOptions, survey_distribution
from ltocompat.model.errors import LtocompatError, UsageError
from ltocompat.scan import workers
from ltocompat.scan.workers import cores

_AHEAD = 4  # tasks for each worker that wait or run
_CONNECT_SECONDS = 30
_WITHOUT_WORKERS = 300.0  # seconds that a cluster may take to start new ones
_POLL_SECONDS = 0.02
_ANSWER_SECONDS = 60.0  # seconds that an answer may take to come from its worker
_WORKERS_COUNTED = 5.0  # seconds that their number is good for; the scheduler is asked for it
# Without a dashboard nobody sees what Dask measures beside the tasks, many times a second in every
# process.
_QUIET = {
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.diagnostics.nvml": False,
    # Dask has every freed block given back at once: 20 % of the time, to save 40 MB of 160.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.worker.profile.enabled": False,
}


Engine = Callable[[Iterable[Distribution], TaskOptions], Generator[Surveyed, None, None]]
"""Does tasks: the rows of each, in the order that they are done; not all are taken ahead."""


def _in_this_process(
    distributions: Iterable[Distribution], options: TaskOptions
) -> Generator[Surveyed, None, None]:
    """One task after the other, in their order."""
    for distribution in distributions:
        yield survey_distribution(distribution, options)


class OnDask:
    """Tasks by the workers of a Dask cluster.

    Args:
        client: of the cluster.
    """

    def __init__(self, client: Any) -> None:  # noqa: ANN401 - distributed.Client
        self._client = client
        self._workers = 0
        self._counted = float("-inf")

    def results(
        self, distributions: Iterable[Distribution], options: TaskOptions
    ) -> Generator[Surveyed, None, None]:
        """The rows of each, as they are done; a few tasks for each worker are sent ahead.

        Raises:
            LtocompatError: the cluster is gone.
        """
        distributed = extra("distributed")
        done = distributed.as_completed(loop=self._client.loop)
        waiting: dict[str, Distribution] = {}
        for distribution in distributions:
            future = self._client.submit(_encoded_rows, distribution, options, pure=False)
            waiting[future.key] = distribution
            done.add(future)
            while len(waiting) >= _AHEAD * max(self._number_of_workers(), 1):
                yield self._rows(*self._next(done), waiting, options)
        while waiting:
            yield self._rows(*self._next(done), waiting, options)

    def _next(self, done: Any) -> tuple[Any, bytes]:  # noqa: ANN401 - distributed.as_completed
        """The next task that ended, a ``distributed.Future``, and its answer, if it has one.

        Raises:
            LtocompatError: no worker has been there for minutes; a cluster would wait for ever.
        """
        last_seen = time.monotonic()
        while not done.has_ready():
            time.sleep(_POLL_SECONDS)
            now = time.monotonic()
            if self._number_of_workers():
                last_seen = now
            elif now > last_seen + _WITHOUT_WORKERS:
                raise LtocompatError(
                    "no worker is left; run the same command again, which goes on from here"
                )
        future = next(done)
        if future.status in ("error", "cancelled"):
            return future, b""
        with contextlib.suppress(TimeoutError):
            if future.status == "finished":
                return future, future.result(timeout=_ANSWER_SECONDS)
        # It was done, and its worker died with the answer: Dask has it done again.
        done.add(future)
        return self._next(done)

    def _number_of_workers(self) -> int:
        """How many there were some seconds ago."""
        now = time.monotonic()
        if now > self._counted + _WORKERS_COUNTED:
            self._workers, self._counted = len(self._client.nthreads()), now
        return self._workers

    def _rows(
        self,
        future: Any,  # noqa: ANN401 - distributed.Future
        answer: bytes,
        waiting: dict[str, Distribution],
        options: TaskOptions,
    ) -> Surveyed:
        distribution = waiting.pop(future.key)
        if future.status == "finished":
            try:
                return msgspec.msgpack.decode(answer, type=Surveyed)
            except msgspec.MsgspecError as error:
                return _lost(distribution, options, f"its worker's answer has no meaning: {error}")
        if future.status == "cancelled":
            raise LtocompatError(
                "the cluster is gone; run the same command again, which goes on from here"
            )
        distributed = extra("distributed")
        raised = future.exception()
        if isinstance(raised, distributed.KilledWorker):
            reason = (
                "each of several workers that had it at hand died; it may need more memory than "
                "a worker has"
            )
        else:
            reason = f"its worker failed: {type(raised).__name__}: {raised}"
        return _lost(distribution, options, reason)


def _encoded_rows(distribution: Distribution, options: TaskOptions) -> bytes:
    """Do a task in a worker; its answer is checked against its types when it is read."""
    return msgspec.msgpack.encode(survey_distribution(distribution, options))


def _lost(distribution: Distribution, options: TaskOptions, reason: str) -> Surveyed:
    measures = Measures(surveyed=datetime.now(UTC), seconds=0.0, cpu_seconds=0.0)
    make = RowMaker(distribution, options.facts)
    return make.failed("worker", reason, measures, passing=True)


@contextlib.contextmanager
def engine(*, jobs: int | None, scheduler: str | None, dashboard: bool = False) -> Iterator[Engine]:
    """The engine that does the tasks; processes that it starts end with it.

    Of workers of our own those are started with the first task, and have to be ended with the last
    one: what it gives is read to its end, or closed.

    Args:
        jobs: how many worker processes; None: one a core; 1: this process alone.
        scheduler: address of a cluster's scheduler; None: workers of our own.
        dashboard: show Dask's dashboard on this machine.

    Raises:
        Missing: Dask is not installed, which workers of our own are the last to say.
        UsageError: the scheduler is reached neither by TLS nor on this machine.
    """
    if scheduler is not None:
        require_tls(scheduler)
        with _connected(scheduler) as client:
            yield OnDask(client).results
        return
    workers = jobs or cores()
    if workers == 1 and not dashboard:
        yield _in_this_process
        return
    with fork_server() as method:

        def on_workers_of_our_own(
            distributions: Iterable[Distribution], options: TaskOptions
        ) -> Generator[Surveyed, None, None]:
            with _local_cluster(workers, method, dashboard=dashboard) as client:
                yield from OnDask(client).results(distributions, options)

        yield on_workers_of_our_own


def require_tls(address: str) -> None:
    """See that nobody between here and a scheduler can send it work.

    Raises:
        UsageError: the address means neither TLS nor this machine.
    """
    with contextlib.suppress(ValueError):  # an address without a meaning
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
        if parts.scheme in ("tls", "wss"):
            return
        if parts.scheme in ("tcp", "ws") and _is_loopback(parts.hostname or ""):
            return
    raise UsageError(
        f"the scheduler {address!r} is reached without TLS over a network, and whoever reaches a "
        "cluster runs code on it; start it with TLS and name it by tls://HOST:PORT"
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextlib.contextmanager
def _connected(address: str) -> Iterator[Any]:
    """A client of a cluster; Dask's own configuration says which certificates it has."""
    distributed = extra("distributed")
    try:
        client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, TypeError, ValueError) as error:
        raise LtocompatError(
            f"the scheduler {address} can't be reached: {error}; for tls:// Dask's configuration "
            "names the certificates (distributed.comm.tls)"
        ) from error
    with client:
        yield client


@contextlib.contextmanager
def _local_cluster(workers: int, method: str, *, dashboard: bool) -> Iterator[Any]:
    """Workers on this machine that nobody but their own user can reach: by TLS on the loopback."""
    dask, distributed = extra("dask"), extra("distributed")
    # Dask's own list of what is imported before forking has every package that it can work with.
    distributed.utils._forkserver_preload_set = True  # noqa: SLF001
    settings = {
        # A task is sent to a worker that is free, so that only its own death counts against it.
        "distributed.scheduler.worker-saturation": 1.0,
        "distributed.worker.memory.target": False,  # there is nothing to spill
        "distributed.worker.memory.spill": False,
        "distributed.comm.timeouts.connect": "60s",
        # A worker that died is started again; one that dies twice in this time would be given up.
        "distributed.deploy.lost-worker-timeout": "1000h",
        "distributed.worker.multiprocessing-method": method,
        **({} if dashboard else _QUIET),
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            security=True,
            # Some port is listened at in any case; without routes nothing answers there.
            dashboard_address="127.0.0.1:8787" if dashboard else "127.0.0.1:0",
            scheduler_kwargs={"dashboard": dashboard},
            worker_dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


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
    """Let ``multiprocessing`` start a fork of this process, and no new interpreter."""
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
