"""Who does the tasks: this process, worker processes of its own, or a cluster by its address.

Dask schedules, retries what a dying worker had at hand, and restarts the worker; a task that took
several workers with it is given up as an error. Nothing of that is done here.
"""

from __future__ import annotations

import contextlib
import functools
import ipaddress
import itertools
import logging
import pkgutil
from collections.abc import Callable, Generator, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from ltocompat.commands.survey.distribution import Distribution, Measures
from ltocompat.commands.survey.extra import extra, see_installed
from ltocompat.commands.survey.http import split_address
from ltocompat.commands.survey.options import TaskOptions
from ltocompat.commands.survey.rows import RowMaker
from ltocompat.commands.survey.tables import Surveyed
from ltocompat.commands.survey.task import survey_distribution
from ltocompat.model.errors import LtocompatError, UsageError, restated
from ltocompat.scan.workers import cores

_AHEAD = 4  # tasks for each worker that wait or run
_CONNECT_SECONDS = 30


# Runs tasks: yields the rows of each, in the order of completion; takes only a few ahead.
Engine = Callable[[Iterable[Distribution], TaskOptions], Generator[Surveyed, None, None]]


def engine(*, jobs: int | None, scheduler: str | None, dashboard: bool = False) -> Engine:
    """Return the engine that runs the tasks.

    Local workers start with the first task and end with the last one, so the caller has to read the
    iterator to its end or close it.

    Args:
        jobs: number of worker processes; None: one per core; 1: only this process.
        scheduler: address of a cluster's scheduler; None: local workers.
        dashboard: show Dask's dashboard on this machine.

    Raises:
        Missing: Dask is not installed.
        UsageError: the scheduler is neither on this machine nor reached by TLS.
    """
    workers = jobs or cores()
    if scheduler is None and workers == 1 and not dashboard:
        return lambda found, options: (survey_distribution(each, options) for each in found)
    see_installed("distributed")
    if scheduler is None:
        connect = functools.partial(_local_cluster, workers, dashboard=dashboard)
    else:
        require_tls(scheduler)
        connect = functools.partial(_connected, scheduler)
    return functools.partial(_by_dask, connect)


def _by_dask(
    connect: Callable[[], contextlib.AbstractContextManager[Any]],
    distributions: Iterable[Distribution],
    options: TaskOptions,
) -> Generator[Surveyed, None, None]:
    """The rows of each, as they are done; a few tasks for each worker are sent ahead.

    Args:
        connect: gives a ``distributed.Client``.
        distributions: what is to be read.
        options: of all tasks.

    Raises:
        LtocompatError: the cluster can't be reached, or is gone.
    """
    waiting: dict[str, Distribution] = {}
    rest = iter(distributions)
    with connect() as client:
        done = extra("distributed").as_completed(
            with_results=True, raise_errors=False, loop=client.loop
        )
        while True:
            room = _AHEAD * max(len(client.nthreads()), 1) - len(waiting)
            for distribution in itertools.islice(rest, max(room, 0)):
                future = client.submit(_encoded_rows, distribution, options, pure=False)
                waiting[future.key] = distribution
                done.add(future)
            if not waiting:
                return
            future, answer = next(done)
            yield _decoded(future, answer, waiting.pop(future.key), options)


def _decoded(
    future: Any,  # noqa: ANN401 - distributed.Future
    answer: bytes,
    distribution: Distribution,
    options: TaskOptions,
) -> Surveyed:
    """The rows that a worker answered, checked against their types, or why there are none."""
    if future.status == "cancelled":
        raise LtocompatError("the cluster is gone; run the same command again to resume")
    if future.status == "finished":
        try:
            return msgspec.msgpack.decode(answer, type=Surveyed)
        except msgspec.MsgspecError as error:
            reason = f"its worker's answer can't be read: {error}"
    else:
        raised = future.exception()
        reason = f"its worker failed: {type(raised).__name__}: {raised}"
        if isinstance(raised, extra("distributed").KilledWorker):
            reason = (
                "several workers died while they read it; it may need more memory than a worker has"
            )
    measures = Measures(surveyed=datetime.now(UTC), seconds=0.0, cpu_seconds=0.0)
    return RowMaker(distribution, options.facts).failed("worker", reason, measures, passing=True)


def _encoded_rows(distribution: Distribution, options: TaskOptions) -> bytes:
    """Do a task in a worker; its answer is checked against its types when it is read."""
    return msgspec.msgpack.encode(survey_distribution(distribution, options))


def require_tls(address: str) -> None:
    """Check that nobody on the network can send work to a scheduler.

    Raises:
        UsageError: the address is neither of TLS nor of this machine.
    """
    parts = split_address(address if "://" in address else f"tcp://{address}")
    here = parts.hostname == "localhost"
    with contextlib.suppress(ValueError):
        here = here or ipaddress.ip_address(parts.hostname or "").is_loopback
    if parts.scheme not in ("tls", "wss") and not (here and parts.scheme in ("tcp", "ws")):
        raise UsageError(
            f"the scheduler {address!r} has no TLS: anyone on its network can run code on it; "
            "start it with TLS and write tls://HOST:PORT"
        )


@contextlib.contextmanager
def _connected(address: str) -> Iterator[Any]:
    """A client of a cluster; Dask's own configuration says which certificates it has."""
    distributed = extra("distributed")
    text = f"the scheduler {address} can't be reached"
    advice = (
        "; for a tls:// address, set the certificates in Dask's configuration "
        "(distributed.comm.tls)"
    )
    with restated(LtocompatError, text, OSError, TypeError, ValueError, advice=advice):
        client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    with client:
        yield client


@contextlib.contextmanager
def _local_cluster(workers: int, *, dashboard: bool) -> Iterator[Any]:
    """Workers on this machine that nobody but their own user can reach: by TLS on the loopback."""
    dask, distributed = extra("dask"), extra("distributed")
    known = extra("yaml").safe_load(pkgutil.get_data(__name__, "dask.yaml") or b"")
    settings = known["workers"] | ({} if dashboard else known["quiet"])
    with dask.config.set(settings), contextlib.ExitStack() as stack:
        with restated(LtocompatError, "workers can't be started", OSError, RuntimeError):
            cluster = stack.enter_context(
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
                )
            )
            client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
        yield client
