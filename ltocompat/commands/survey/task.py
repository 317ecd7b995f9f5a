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

from msgspec import Struct

from ltocompat.commands.survey.cache import SurveyCache
from ltocompat.commands.survey.distribution import Distribution, Measures
from ltocompat.commands.survey.fetch import remote_members, remote_metadata
from ltocompat.commands.survey.http import FetchFailed, Http, Traffic
from ltocompat.commands.survey.options import LIMIT_BYTES
from ltocompat.commands.survey.rows import RowMaker
from ltocompat.commands.survey.storage import copy_file
from ltocompat.commands.survey.tables import Surveyed
from ltocompat.files.byteview import ByteView, FileSource
from ltocompat.files.regular import sha256_of_path
from ltocompat.model.errors import LimitExceeded, LtocompatError
from ltocompat.model.limits import DEFAULT_LIMITS, Budget, Limits
from ltocompat.model.version import VERSION, program_files
from ltocompat.packages.index_settings import IndexSettings
from ltocompat.packages.reading import package_in
from ltocompat.packages.zip_members import may_hold_device_code, zip_members


class TaskOptions(Struct, frozen=True):
    """Options of every task of a run.

    Attributes:
        facts: the facts version that the run has; a worker of another one refuses.
        targets: spellings of deploy targets; none: those of each package's platforms.
        settings: of the indexes that files are fetched from; None: nothing is fetched.
        limit_bytes: the largest distribution that is fetched or read.
        cache: keep rows, and use those that are kept.
        limits: what reading one package may cost.
    """

    facts: str
    targets: tuple[str, ...] = ()
    settings: IndexSettings | None = None
    limit_bytes: int = LIMIT_BYTES
    cache: bool = True
    limits: Limits = DEFAULT_LIMITS

    def asked(self, filename: str) -> str:
        """All that the rows of a file of this name depend on, beside its bytes."""
        return repr((self.facts, self.targets, self.limits, filename))


def survey_distribution(distribution: Distribution, options: TaskOptions) -> Surveyed:
    """The rows of a distribution; an error is a row, too."""
    return _Task(distribution, options).rows()


class _Task:
    """One distribution on its way."""

    def __init__(self, distribution: Distribution, options: TaskOptions) -> None:
        self._distribution = distribution
        self._options = options
        self._make = RowMaker(distribution, options.facts)
        self._cache = kept_rows() if options.cache else None
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
        except FetchFailed as error:
            return self._failed(error, passing=error.passing)
        except LimitExceeded as error:
            return self._failed(error, limit=error.limit)
        except (LtocompatError, OSError) as error:
            return self._failed(error, passing=isinstance(error, OSError))
        except Exception as error:  # noqa: BLE001 - one package must not end the survey
            text = f"internal error ({type(error).__name__}: {error}); please report it"
            return self._failed(LtocompatError(text))

    def _failed(
        self, error: Exception, *, passing: bool = False, limit: str | None = None
    ) -> Surveyed:
        measures = self._measures(None)
        return self._make.failed(self._step, str(error), measures, passing=passing, limit=limit)

    def _rows(self) -> Surveyed:
        distribution, options = self._distribution, self._options
        if distribution.size is not None and distribution.size > options.limit_bytes:
            raise LimitExceeded(
                "limit-bytes",
                f"it has {distribution.size} bytes; the limit is {options.limit_bytes}",
            )
        kept = self._kept()
        if kept is not None:
            return kept
        if distribution.remote:
            found = self._without_fetching() or self._fetched()
        else:
            with open(distribution.source, "rb", buffering=0) as file:
                found = self._of_file(file)
        if self._cache is not None and self._make.sha256 is not None:
            self._cache.keep(self._make.sha256, options.asked(distribution.filename), found)
        return found

    def _kept(self) -> Surveyed | None:
        """The rows that an earlier run kept, with what is new about them."""
        sha256 = self._make.sha256
        if self._cache is None or sha256 is None:
            return None
        kept = self._cache.get(sha256, self._options.asked(self._distribution.filename))
        if kept is None:
            return None
        looked_at = next((row.looked_at for row in kept.distributions), None)
        return self._make.again(kept, self._measures(looked_at))

    def _without_fetching(self) -> Surveyed | None:
        """The rows of a wheel whose list of members is enough; None of any other."""
        if self._distribution.index is None:
            return None
        http = self._http()
        budget = Budget(self._options.limits)
        found = remote_members(self._distribution, http, budget, self._traffic)
        if found is None or may_hold_device_code(found[0]):
            return None
        metadata = remote_metadata(self._distribution, http, budget, self._traffic)
        if metadata is None:
            return None
        return self._make.without_device_code(metadata, found[1], self._measures("members"))

    def _fetched(self) -> Surveyed:
        """The rows of a distribution that is fetched for it."""
        distribution = self._distribution
        with _unnamed_file() as file:
            if distribution.index is None:
                copy_file(distribution.source, file)
                self._traffic.fetched += file.tell()
                self._traffic.requests += 1
                file.seek(0)
                self._step = "read"
                return self._of_file(file)
            self._make.sha256 = self._http().download(
                distribution.source,
                file,
                distribution.sha256,
                self._options.limit_bytes,
                self._traffic,
            )
            self._step = "read"
            return self._of_file(file)

    def _of_file(self, file: io.FileIO) -> Surveyed:
        """The rows of a distribution whose bytes are at hand."""
        distribution, limits = self._distribution, self._options.limits
        if self._make.sha256 is None:
            self._make.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        if distribution.sha256 is None and (kept := self._kept()) is not None:
            return kept
        view = ByteView(FileSource(file.fileno()))
        wheel = distribution.filename.endswith(".whl")
        members = zip_members(view, Budget(limits)) if wheel else None
        if members and not may_hold_device_code(members):
            package = package_in(view, distribution.filename, limits)
            if package is not None and not package.problems:
                return self._make.without_device_code(package, view.size, self._measures("members"))
        # Half of what the command would import, and a command with workers reads no package.
        from ltocompat.commands.survey.read_package import read_package

        def measures() -> Measures:
            return self._measures("whole")

        return read_package(file, self._make, measures, self._options.targets, limits)

    def _http(self) -> Http:
        return _http(self._options.settings or IndexSettings.of())

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
            raise LtocompatError("downloads need a system with unnamed files")
        yield file


@functools.cache
def _http(settings: IndexSettings) -> Http:
    """One connection to a host for each worker."""
    return Http(settings)


@functools.cache
def kept_rows() -> SurveyCache | None:
    """The rows of earlier runs on this machine."""
    return SurveyCache.of()


def _peak_memory() -> int:
    """The largest resident memory of this process so far, bytes; 0 where nothing tells."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


_DIGITS = 12
_COUNTS = (".py", ".toml")


@functools.cache
def facts_version() -> str:
    """The version, and a sum over all code and tables: equal ones give equal answers anywhere."""
    total = hashlib.sha256()
    for name, path in program_files():
        if name.endswith(_COUNTS):
            total.update(name.encode() + bytes.fromhex(sha256_of_path(path)))
    return f"{VERSION}+{total.hexdigest()[:_DIGITS]}"
