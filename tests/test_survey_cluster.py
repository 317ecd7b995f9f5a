"""Surveys by workers: of one machine or of a cluster by its address, and killed at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from index_server import Index, ask_no_index_of_the_user, serving
from surveys_made import packages

from ltocompat.commands.survey.dataset import Dataset
from ltocompat.commands.survey.engine import require_tls
from ltocompat.commands.survey.options import Choice, RunOptions
from ltocompat.commands.survey.run import Tally, run
from ltocompat.commands.survey.tables import MEASURED, TABLES
from ltocompat.model.errors import UsageError
from ltocompat.model.failure import Note

TARGET = "driver=535.104.05,gpu=a100"
SASS = "only_sass-2.0-py3-none-manylinux_2_28_x86_64.whl"
MOMENTS = 10
# Every distribution is a part of its own, so that a moment falls between any two of them.
COMMAND = """
import sys
import ltocompat.commands.survey.dataset as dataset
from ltocompat.cli import main
if __name__ == "__main__":
    add = dataset.DatasetWriter.add
    dataset.DatasetWriter.add = lambda self, found: (add(self, found), self.flush())
    sys.exit(main())
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packages(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ask_no_index_of_the_user(monkeypatch, tmp_path)


@pytest.fixture
def index(wheels: Path) -> Iterator[Index]:
    with serving(Index(wheels)) as found:
        yield found


def survey(source: str, out: Path, **options: Any) -> Tally:  # noqa: ANN401 - options of any type
    given = {
        "targets": (TARGET,),
        "choice": Choice(9, every_python=True),
        **options,
    }
    (tally,) = (
        each for each in run(RunOptions((source,), str(out), **given)) if isinstance(each, Tally)
    )
    return tally


def rows(out: Path) -> dict[str, list[str]]:
    """All rows, sorted, without the columns that two runs may fill differently."""
    found = {}
    for name in TABLES:
        left_out = set(MEASURED)
        kept = [
            {key: value for key, value in row.items() if key not in left_out}
            for row in Dataset(str(out)).table(name).to_pylist()
        ]
        found[name] = sorted(map(repr, kept))
    return found


def workers_of(process: psutil.Process) -> list[psutil.Process]:
    """The worker processes that a survey started."""
    return [child for child in process.children(recursive=True) if _is_worker(child)]


def _is_worker(process: psutil.Process) -> bool:
    try:
        return any("spawn_main" in word for word in process.cmdline())
    except psutil.Error:
        return False


def worker_at(port: int) -> psutil.Process:
    """The worker whose end of a connection has this port."""
    return next(worker for worker in workers_of(psutil.Process()) if port in _ports(worker))


def _ports(worker: psutil.Process) -> set[int]:
    """The ports of a worker's connections; none once another thread killed it."""
    try:
        return {each.laddr.port for each in worker.net_connections() if each.laddr}
    except psutil.Error:
        return set()


@pytest.mark.slow
def test_a_survey_that_nobody_reads_to_its_end_leaves_no_process(
    index: Index, tmp_path: Path
) -> None:
    choice = Choice(9, every_python=True)
    options = RunOptions((index.url,), str(tmp_path), choice=choice, jobs=2)
    records = run(options)
    assert isinstance(next(records), Note)  # of a broken package
    assert workers_of(psutil.Process())
    records.close()  # type: ignore[attr-defined]
    assert not workers_of(psutil.Process())


@pytest.mark.slow
def test_a_cluster_by_its_address_with_tls_has_the_same_rows(index: Index, tmp_path: Path) -> None:
    import dask
    from distributed import LocalCluster
    from distributed.security import Security

    survey(index.url, tmp_path / "one", jobs=1)
    security = Security.temporary()  # type: ignore[no-untyped-call]
    ours = {
        "distributed.comm.tls.ca-file": security.tls_ca_file,
        "distributed.comm.tls.client.cert": security.tls_client_cert,
        "distributed.comm.tls.client.key": security.tls_client_key,
    }
    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=3, threads_per_worker=1, security=security, dashboard_address="127.0.0.1:0"
    ) as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tls://")
        with dask.config.set(ours):
            survey(index.url, tmp_path / "cluster", scheduler=address)
    assert rows(tmp_path / "cluster") == rows(tmp_path / "one")


@pytest.mark.slow
def test_workers_that_are_killed_at_ten_moments_cost_no_row(index: Index, tmp_path: Path) -> None:
    survey(index.url, tmp_path / "sound", jobs=1)
    killed: list[str] = []
    index.met.clear()

    def kill(name: str, port: int) -> None:
        """Kill the worker that asks for a wheel for the first time."""
        if index.met[name] == 1:
            worker_at(port).kill()
            killed.append(name)

    index.asked = kill
    survey(index.url, tmp_path / "killed", jobs=2)
    assert len(killed) == MOMENTS
    assert rows(tmp_path / "killed") == rows(tmp_path / "sound")
    assert index.at_once <= 3  # a page of a project, and a file for each worker


@pytest.mark.slow
def test_a_package_that_kills_every_worker_costs_one_row(index: Index, tmp_path: Path) -> None:
    def kill(name: str, port: int) -> None:
        if name == SASS:
            worker_at(port).kill()

    index.asked = kill
    tally = survey(index.url, tmp_path / "out", jobs=2, match="only-sass", choice=Choice())
    assert tally.statuses == {"failed": 1}
    (error,) = Dataset(str(tmp_path / "out")).table("errors").to_pylist()
    assert (error["filename"], error["step"], error["passing"]) == (SASS, "worker", True)
    assert "died" in error["reason"]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_command_that_is_killed_again_and_again_loses_and_doubles_no_row(
    jobs: int, index: Index, tmp_path: Path
) -> None:
    survey(index.url, tmp_path / "sound", jobs=1)
    script = tmp_path / "command.py"
    script.write_text(COMMAND)
    out = tmp_path / "out"
    words = ["survey", index.url, "-o", str(out), "--jobs", str(jobs)]
    words += ["--releases", "9", "--every-python", "--deploy-target", TARGET]
    moments = range(1, MOMENTS + 1, 3) if jobs == 1 else (2, 5)
    for moment in moments:
        index.requests.clear()
        # By the output of nobody: a pipe would be kept open by workers that end a moment later.
        command = subprocess.Popen(
            [sys.executable, str(script), *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        workers = kill_at(command, index, moment)
        gone, alive = psutil.wait_procs(workers, timeout=60)
        assert not alive, gone
    done = subprocess.run([sys.executable, str(script), *words], check=False, capture_output=True)
    # One wheel is broken, which counts in the run that reads it.
    assert done.returncode in (0, 3), done.stderr
    assert rows(out) == rows(tmp_path / "sound")


def kill_at(command: subprocess.Popen[bytes], index: Index, moment: int) -> list[psutil.Process]:
    """Kill a command once it asked for so many files, or ended; its workers."""
    deadline = time.monotonic() + 120
    workers: list[psutil.Process] = []
    while command.poll() is None and time.monotonic() < deadline:
        if sum(path.startswith("/files/") for path, _ in index.requests) >= moment:
            workers = workers_of(psutil.Process(command.pid))
            os.kill(command.pid, signal.SIGKILL)
            break
        time.sleep(0.001 * moment)
    command.wait(60)
    return workers


@pytest.mark.parametrize(
    "address", ["tls://10.0.0.1:8786", "tcp://127.0.0.1:8786", "localhost:8786", "tcp://[::1]:8786"]
)
def test_a_scheduler_is_reached_by_tls_or_on_this_machine(address: str) -> None:
    require_tls(address)


@pytest.mark.parametrize(
    "address", ["tcp://10.0.0.1:8786", "host:8786", "ucx://127.0.0.1:1", "[::"]
)
def test_no_other_scheduler_is_reached(address: str) -> None:
    with pytest.raises(UsageError, match="tls://HOST:PORT"):
        require_tls(address)
