"""Surveys by workers: of one machine, or of a cluster by its address."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from index_server import Index, serving
from surveys_made import packages

from ltocompat.commands.survey.dataset import Dataset
from ltocompat.commands.survey.engine import require_tls
from ltocompat.commands.survey.index import Choice
from ltocompat.commands.survey.run import RunOptions, Tally, run
from ltocompat.commands.survey.tables import TABLES, columns
from ltocompat.model.errors import UsageError

TARGET = "driver=535.104.05,gpu=a100"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packages(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_CERT", "PIP_PROXY", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def index(wheels: Path) -> Iterator[Index]:
    with serving(Index(wheels)) as found:
        yield found


def survey(source: str, out: Path, **options: Any) -> Tally:  # noqa: ANN401 - options of any type
    given = {
        "targets": (TARGET,),
        "cache": False,
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
        left_out = {column.name for column in columns(name) if column.measured}
        kept = [
            {key: value for key, value in row.items() if key not in left_out}
            for row in Dataset(str(out)).table(name).to_pylist()
        ]
        found[name] = sorted(map(repr, kept))
    return found


@pytest.mark.slow
def test_two_workers_have_the_rows_of_one_process(index: Index, tmp_path: Path) -> None:
    survey(index.url, tmp_path / "one", jobs=1)
    survey(index.url, tmp_path / "two", jobs=2)
    assert rows(tmp_path / "two") == rows(tmp_path / "one")
    assert index.at_once <= 6  # four pages of projects, and a file for each worker


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
        n_workers=3, threads_per_worker=1, security=security, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tls://")
        with dask.config.set(ours):
            survey(index.url, tmp_path / "cluster", scheduler=address)
    assert rows(tmp_path / "cluster") == rows(tmp_path / "one")


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
