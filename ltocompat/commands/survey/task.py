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
from ltocompat.commands.survey.tables import Surveyed
from ltocompat.files.byteview import ByteView, FileSource
from ltocompat.model.errors import LimitExceeded, LtocompatError
from ltocompat.model.limits import DEFAULT_LIMITS, Budget, Limits
from ltocompat.model.version import VERSION, program_files
from ltocompat.packages.index_settings import IndexSettings
from ltocompat.packages.metadata import CoreMetadata
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
        self._traffic = Traffic()
        self._began = time.monotonic(), time.process_time()
        self._sha256: str | None = None
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
        return self._make.failed(
            self._step,
            str(error),
            measures,
            passing=passing,
            limit=limit,
            sha256=self._sha256,
        )

    def _rows(self) -> Surveyed:
        distribution, options = self._distribution, self._options
        if distribution.size is not None and distribution.size > options.limit_bytes:
            raise LimitExceeded(
                "limit-bytes",
                f"it has {distribution.size} bytes; the limit is {options.limit_bytes}",
            )
        if distribution.sha256 is not None:
            kept = self._kept(distribution.sha256)
            if kept is not None:
                return kept
        if distribution.remote:
            found = self._without_fetching() or self._fetched()
        else:
            with open(distribution.source, "rb", buffering=0) as file:
                found = self._of_file(file, None)
        return found

    def _kept(self, sha256: str) -> Surveyed | None:
        """The rows that an earlier run kept, with what is new about them."""
        cache = kept_rows() if self._options.cache else None
        asked = self._options.asked(self._distribution.filename)
        kept = None if cache is None else cache.get(sha256, asked)
        if kept is None:
            return None
        looked_at = next((row.looked_at for row in kept.distributions), None)
        return self._make.again(kept, self._measures(looked_at))

    def _keep(self, sha256: str, found: Surveyed) -> Surveyed:
        cache = kept_rows() if self._options.cache else None
        if cache is not None:
            cache.keep(sha256, self._options.asked(self._distribution.filename), found)
        return found

    def _without_fetching(self) -> Surveyed | None:
        """The rows of a wheel whose list of members is enough; None of any other."""
        http = self._http()
        budget = Budget(self._options.limits)
        found = remote_members(self._distribution, http, budget, self._traffic)
        if found is None or may_hold_device_code(found.members):
            return None
        metadata = remote_metadata(self._distribution, http, budget, self._traffic)
        if metadata is None:
            return None
        return self._members_only(metadata, self._distribution.sha256, found.size)

    def _members_only(self, metadata: CoreMetadata, sha256: str | None, size: int) -> Surveyed:
        measures = self._measures("members")
        found = self._make.without_device_code(metadata, sha256, size, measures)
        return found if sha256 is None else self._keep(sha256, found)

    def _fetched(self) -> Surveyed:
        """The rows of a distribution that is fetched for it."""
        distribution = self._distribution
        with _unnamed_file() as file:
            sha256 = self._http().download(
                distribution.source,
                file,
                distribution.sha256,
                self._options.limit_bytes,
                self._traffic,
            )
            self._step = "read"
            return self._of_file(file, sha256)

    def _of_file(self, file: io.FileIO, sha256: str | None) -> Surveyed:
        """The rows of a distribution whose bytes are at hand."""
        distribution, limits = self._distribution, self._options.limits
        if sha256 is None:
            sha256 = distribution.sha256 or hashlib.file_digest(file, "sha256").hexdigest()
            kept = self._kept(sha256)
            if kept is not None:
                return kept
        self._sha256 = sha256
        view = ByteView(FileSource(file.fileno()))
        members = zip_members(view, Budget(limits)) if _is_wheel(distribution) else None
        if members and not may_hold_device_code(members):
            package = package_in(view, distribution.filename, limits)
            if package is not None and not package.problems:
                metadata = CoreMetadata(
                    requires_dist=package.requires_dist,
                    extras=package.extras,
                    classifiers=package.classifiers,
                )
                return self._members_only(metadata, sha256, view.size)
        # Half of what the command would import, and a command with workers reads no package.
        from ltocompat.commands.survey.read_package import read_package

        filename, targets = distribution.filename, self._options.targets
        answers = read_package(file, filename, sha256, targets, limits)
        return self._keep(sha256, self._make.surveyed(answers, self._measures("whole")))

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


def _is_wheel(distribution: Distribution) -> bool:
    return distribution.filename.endswith(".whl")


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
            total.update(name.encode())
            with open(path, "rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
    return f"{VERSION}+{total.hexdigest()[:_DIGITS]}"
