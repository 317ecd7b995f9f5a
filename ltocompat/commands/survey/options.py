"""Options of surveys: each with its type, its default and its line of help."""

import fnmatch
import re
import zlib
from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct, field

from ltocompat.commands.options import DEPLOY_TARGET, MOST_JOBS, OUTPUT, Argument, Option
from ltocompat.model.errors import UsageError
from ltocompat.model.limits import DEFAULT_LIMITS, GIB, Limits
from ltocompat.model.words import bytes_of
from ltocompat.packages.index_settings import IndexSettings

# Default limit for the bytes of one distribution.
LIMIT_BYTES = 8 * GIB


_SHARD = re.compile("([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")


def _shard(text: str) -> str:
    """Which part of the projects.

    Raises:
        UsageError: it is not part of a number of parts.
    """
    found = _SHARD.fullmatch(text)
    if found is None or int(found[1]) > int(found[2]):
        raise UsageError(f"--shard {text!r} is not valid; write 1/8 for the first of eight parts")
    return text


class Choice(Struct, frozen=True):
    """Options for the files of a project.

    Attributes:
        releases: How many of the newest releases of each project to survey (default: 1).
        platforms: Survey only wheels for these platforms, such as manylinux*x86_64 or win_amd64.
            Repeatable.
        every_python: Survey the wheels for every Python, not only for the newest Python.
    """

    releases: Annotated[int, Option(metavar="NUMBER", within=(1, 10**9), after="match")] = 1
    platforms: Annotated[
        tuple[str, ...], Option(flags=("--platform",), metavar="PATTERN", after="releases")
    ] = ()
    every_python: Annotated[bool, Option(after="platforms")] = False

    def takes(self, platforms: Sequence[str]) -> bool:
        """Return whether a wheel for these platforms is surveyed."""
        return not self.platforms or any(
            fnmatch.fnmatchcase(platform, pattern)
            for platform in platforms
            for pattern in self.platforms
        )


class RunOptions(Struct, frozen=True):
    """The choice of distributions.

    Attributes:
        sources: Folders of packages, text files with package names or requirements (one per line),
            or addresses of package indexes (https://HOST/simple). A folder can also be given by an
            address that fsspec supports (s3://BUCKET/wheels).
        folder: The folder of the dataset: a path, or an address that fsspec supports.
        targets: Where the packages will run, as in check. Repeatable. Default: driver branches from
            535 to 615, each with the usual GPUs that this branch supports.
        choice: the files of an index.
        match: Survey only those projects of an index whose names match this pattern, such as
            nvidia-*.
        shard: Survey only one part of the projects; 1/8 is the first of eight parts.
        limit_bytes: Skip packages that are larger than this size, such as 500MB or 2GB (default:
            8GB).
        jobs: Number of worker processes (default: one per core).
        scheduler: Run on the Dask cluster at this address, such as tls://HOST:8786.
        dashboard: Show Dask's dashboard on http://127.0.0.1:8787.
        append: Add the results to the dataset even if it was made with different sources, targets
            or versions.
        retry_failed: Retry every package that failed in an earlier run.
        limits: upper limits on sizes, counts and time for reading one package.
    """

    sources: Annotated[tuple[str, ...], Argument(metavar="SOURCE...")]
    folder: Annotated[str, Option(flags=OUTPUT, metavar="FOLDER")]
    targets: Annotated[tuple[str, ...], Option(flags=(DEPLOY_TARGET,), metavar="TARGET")] = ()
    choice: Choice = field(default_factory=Choice)
    match: Annotated[str | None, Option(metavar="PATTERN")] = None
    shard: Annotated[str | None, Option(metavar="I/N", parse=_shard)] = None
    limit_bytes: Annotated[int, Option(metavar="SIZE", parse=bytes_of)] = LIMIT_BYTES
    jobs: Annotated[int | None, Option(metavar="NUMBER", within=MOST_JOBS)] = None
    scheduler: Annotated[str | None, Option(metavar="ADDRESS")] = None
    dashboard: Annotated[bool, Option()] = False
    append: Annotated[bool, Option()] = False
    retry_failed: Annotated[bool, Option()] = False
    limits: Limits = DEFAULT_LIMITS

    def in_shard(self, project: str) -> bool:
        """Return whether a project is in this part."""
        if self.shard is None:
            return True
        part, parts = map(int, self.shard.split("/"))
        return zlib.crc32(project.encode("utf-8", "surrogateescape")) % parts == part - 1


class TaskOptions(Struct, frozen=True):
    """Options of every task of a run.

    Attributes:
        facts: the facts version of the run; a worker with a different one refuses the task.
        targets: spellings of deploy targets; none: the targets of each package's platforms.
        settings: the settings of the indexes for downloads; None: no downloads.
        limit_bytes: the largest distribution that is fetched or read.
        limits: upper limits on sizes, counts and time for reading one package.
    """

    facts: str
    targets: tuple[str, ...] = ()
    settings: IndexSettings | None = None
    limit_bytes: int = LIMIT_BYTES
    limits: Limits = DEFAULT_LIMITS


class MergeOptions(Struct, frozen=True):
    """Which datasets become one.

    Attributes:
        shards: The folders of the datasets of all shards: paths, or addresses that fsspec supports.
        folder: The folder of the dataset: a path, or an address that fsspec supports.
    """

    shards: Annotated[tuple[str, ...], Argument(metavar="FOLDER...")]
    folder: Annotated[str, Option(flags=OUTPUT, metavar="FOLDER")]


class ReportOptions(Struct, frozen=True):
    """Options of ``survey report``.

    Attributes:
        folder: The folder of a survey's dataset: a path, or an address that fsspec supports.
        page: Write one HTML page with charts and all rows.
    """

    folder: Annotated[str, Argument(metavar="FOLDER")]
    page: Annotated[str | None, Option(flags=OUTPUT, metavar="FILE")] = None
