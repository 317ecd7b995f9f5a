"""The task of one distribution: whatever happens to it, its rows are the answer.

It runs in a worker: it starts no process, asks no linker, has one connection and one file at a
time, which is gone when the task is, however that ends.
"""

from __future__ import annotations

import functools
import hashlib
import io
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from ltocompat.commands.survey.distribution import Distribution, Measures
from ltocompat.commands.survey.fetch import fetch_members, fetch_metadata
from ltocompat.commands.survey.http import Http, Traffic
from ltocompat.commands.survey.options import TaskOptions
from ltocompat.commands.survey.rows import RowMaker
from ltocompat.commands.survey.storage import copy_file
from ltocompat.commands.survey.tables import Surveyed
from ltocompat.files.byteview import ByteView, FileSource
from ltocompat.files.regular import sha256_of_path
from ltocompat.model.errors import LimitExceeded, LtocompatError
from ltocompat.model.limits import Budget
from ltocompat.model.version import VERSION, program_files
from ltocompat.packages.index_settings import IndexSettings
from ltocompat.packages.reading import package_in
from ltocompat.packages.zip_members import may_hold_device_code, zip_members


def survey_distribution(distribution: Distribution, options: TaskOptions) -> Surveyed:
    """Return the rows of a distribution; an error is a row, too."""
    return _Task(distribution, options).rows()


class _Task:
    """One distribution on its way."""

    def __init__(self, distribution: Distribution, options: TaskOptions) -> None:
        self._distribution = distribution
        self._options = options
        self._make = RowMaker(distribution, options.facts)
        self._traffic = Traffic()
        self._began = time.monotonic(), time.process_time()
        self._step = "fetch" if distribution.remote else "read"

    def rows(self) -> Surveyed:
        """Its rows, whatever happens."""
        if facts_version() != self._options.facts:
            reason = f"the worker has ltocompat {facts_version()}, not {self._options.facts}"
            return self._make.failed("worker", reason, self._measures(None), passing=True)
        try:
            return self._rows()
        except (LtocompatError, OSError) as error:
            return self._failed(error)
        except Exception as error:  # noqa: BLE001 - one package must not end the survey
            text = f"internal error ({type(error).__name__}: {error}); please report it"
            return self._failed(LtocompatError(text))

    def _failed(self, error: Exception) -> Surveyed:
        measures, limit = self._measures(None), getattr(error, "limit", None)
        passing = getattr(error, "passing", isinstance(error, OSError))
        return self._make.failed(self._step, str(error), measures, passing=passing, limit=limit)

    def _rows(self) -> Surveyed:
        distribution, limit = self._distribution, self._options.limit_bytes
        if distribution.size is not None and distribution.size > limit:
            reason = f"it has {distribution.size} bytes; the limit is {limit}"
            raise LimitExceeded("limit-bytes", reason)
        if not distribution.remote:
            with open(distribution.source, "rb", buffering=0) as file:
                return self._of_file(file)
        with _unnamed_file() as file:
            if distribution.index is not None:
                return self._of_index(file)
            copy_file(distribution.source, file)
            self._traffic.fetched += file.tell()
            self._traffic.requests += 1
            self._step = "read"
            return self._of_file(file)

    def _of_index(self, file: io.FileIO) -> Surveyed:
        """The rows of a distribution that is fetched as far as it has to be."""
        distribution, options, traffic = self._distribution, self._options, self._traffic
        http, budget = _http(options.settings or IndexSettings.of()), Budget(options.limits)
        url = distribution.source
        if distribution.filename.endswith(".whl"):
            members = fetch_members(url, file, http, budget, traffic)
            if members is not None and not may_hold_device_code(members):
                metadata = fetch_metadata(distribution, http, budget, traffic)
                if metadata is not None:
                    size = file.seek(0, io.SEEK_END)
                    return self._make.without_device_code(metadata, size, self._measures("members"))
        self._make.sha256 = http.download(
            url, file, distribution.sha256, options.limit_bytes, traffic
        )
        self._step = "read"
        return self._of_file(file)

    def _of_file(self, file: io.FileIO) -> Surveyed:
        """The rows of a distribution whose bytes are at hand."""
        distribution, limits = self._distribution, self._options.limits
        if self._make.sha256 is None:
            file.seek(0)
            self._make.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        view = ByteView(FileSource(file.fileno()))
        wheel = distribution.filename.endswith(".whl")
        members = zip_members(view, Budget(limits)) if wheel else None
        if members and not may_hold_device_code(members):
            package = package_in(view, distribution.filename, limits)
            if package is not None and not package.problems:
                return self._make.without_device_code(package, view.size, self._measures("members"))
        # Half of what the command would import, and a command with workers reads no package.
        from ltocompat.commands.survey.read_package import read_package

        measures = functools.partial(self._measures, "whole")
        return read_package(file, self._make, measures, self._options)

    def _measures(self, looked_at: str | None) -> Measures:
        wall, cpu = self._began
        return Measures(
            surveyed=datetime.now(UTC),
            seconds=time.monotonic() - wall,
            cpu_seconds=time.process_time() - cpu,
            peak_memory=_peak_memory(),
            bytes_fetched=self._traffic.fetched,
            requests=self._traffic.requests,
            looked_at=looked_at,
        )


@contextmanager
def _unnamed_file() -> Iterator[io.FileIO]:
    """A file that no folder lists: nothing is left of it when the process is killed."""
    with tempfile.TemporaryFile(buffering=0) as file:
        if not isinstance(file, io.FileIO):  # Windows wraps it
            raise LtocompatError("downloads need a system that supports unnamed temporary files")
        yield file


# One connection to a host for each worker.
_http = functools.cache(Http)


def _peak_memory() -> int:
    """The largest resident memory of this process so far, bytes; 0 if nothing tells."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


@functools.cache
def facts_version() -> str:
    """Return version and checksum of all code and tables; equal values give equal answers."""
    total = hashlib.sha256()
    for name, path in program_files():
        if name.endswith((".py", ".toml")):
            total.update(name.encode() + bytes.fromhex(sha256_of_path(path)))
    return f"{VERSION}+{total.hexdigest()[:12]}"
