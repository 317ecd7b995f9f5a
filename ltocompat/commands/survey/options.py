"""Options of surveys: each with its type, its default and its line of help."""

import fnmatch
import re
import zlib
from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct, field

from ltocompat.commands.options import DEPLOY_TARGET, Argument, Option, jobs_of
from ltocompat.model.errors import UsageError
from ltocompat.model.limits import DEFAULT_LIMITS, GIB, Limits
from ltocompat.model.words import bytes_of

LIMIT_BYTES = 8 * GIB
"""Bytes of one distribution, where nobody says otherwise."""


_SHARD = re.compile("([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")


def _shard(text: str) -> str:
    """Which part of the projects.

    Raises:
        UsageError: it is no part of a number of parts.
    """
    found = _SHARD.fullmatch(text)
    if found is None or int(found[1]) > int(found[2]):
        raise UsageError(
            f"--shard {text!r} is no part of several; write 1/8 for the first of eight"
        )
    return text


def _number(text: str) -> int:
    """How many releases.

    Raises:
        UsageError: it is no number from 1 on.
    """
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text)):
        raise UsageError(f"--releases {text!r} is no number from 1 on")
    return int(text)


class Choice(Struct, frozen=True):
    """Which files of a project are surveyed.

    Attributes:
        platforms: patterns of platform tags (``manylinux*x86_64``, ``win_amd64``); none: all.
    """

    releases: Annotated[
        int,
        Option(
            "Newest releases of a project (default: 1).",
            metavar="NUMBER",
            parse=_number,
            after="match",
        ),
    ] = 1
    platforms: Annotated[
        tuple[str, ...],
        Option(
            "Wheels of such platforms: manylinux*x86_64, win_amd64; repeat it for several.",
            flags=("--platform",),
            metavar="PATTERN",
            after="releases",
        ),
    ] = ()
    every_python: Annotated[
        bool,
        Option("The wheels for every Python, not only for the newest.", after="platforms"),
    ] = False

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
        choice: which files of a project are surveyed.
        jobs: how many worker processes; 1: this process alone.
    """

    sources: Annotated[
        tuple[str, ...],
        Argument(
            "Folders of packages, here or at an address that fsspec knows (s3://BUCKET/wheels), "
            "lists of names or requirements (a file, a line each), or package indexes by address "
            "(https://HOST/simple).",
            metavar="SOURCE...",
        ),
    ]
    folder: Annotated[
        str,
        Option(
            "The folder of the dataset, or its address.", flags=("-o", "--output"), metavar="FOLDER"
        ),
    ]
    targets: Annotated[
        tuple[str, ...],
        Option(
            "Where the packages go, as check takes it; repeat it for several (default: driver "
            "branches from 535 to 615 with the GPUs of their time).",
            flags=(DEPLOY_TARGET,),
            metavar="TARGET",
        ),
    ] = ()
    choice: Choice = field(default_factory=Choice)
    match: Annotated[
        str | None,
        Option("Of an index, the projects of such names: nvidia-*.", metavar="PATTERN"),
    ] = None
    shard: Annotated[
        str | None,
        Option("A part of the projects, the first of eight: 1/8.", metavar="I/N", parse=_shard),
    ] = None
    limit_bytes: Annotated[
        int,
        Option(
            "Larger packages are left out: 500MB, 2GB (default: 8GB).",
            metavar="SIZE",
            parse=bytes_of,
        ),
    ] = LIMIT_BYTES
    jobs: Annotated[
        int | None,
        Option("Worker processes (default: one a core).", metavar="NUMBER", parse=jobs_of),
    ] = None
    scheduler: Annotated[
        str | None,
        Option("A Dask cluster that does the work: tls://HOST:8786.", metavar="ADDRESS"),
    ] = None
    dashboard: Annotated[bool, Option("Show Dask's dashboard on http://127.0.0.1:8787.")] = False
    append: Annotated[
        bool, Option("Add what is new to a dataset of other sources, targets or versions.")
    ] = False
    retry_failed: Annotated[bool, Option("Try all again that failed, for whatever reason.")] = False
    cache: Annotated[
        bool, Option("Read every package anew, whatever is kept of it.", flags=("--no-cache",))
    ] = True
    limits: Limits = DEFAULT_LIMITS

    def in_shard(self, project: str) -> bool:
        """Return whether a project is in this part of all of them."""
        if self.shard is None:
            return True
        part, parts = map(int, self.shard.split("/"))
        return zlib.crc32(project.encode("utf-8", "surrogateescape")) % parts == part - 1


class MergeOptions(Struct, frozen=True):
    """Which datasets become one."""

    shards: Annotated[
        tuple[str, ...],
        Argument("The datasets of the shards: their folders or addresses.", metavar="FOLDER..."),
    ]
    folder: Annotated[
        str,
        Option(
            "The folder of the dataset, or its address.", flags=("-o", "--output"), metavar="FOLDER"
        ),
    ]


class ReportOptions(Struct, frozen=True):
    """Which survey to tell of."""

    folder: Annotated[
        str, Argument("The folder of a survey's dataset, or its address.", metavar="FOLDER")
    ]
