"""The dataset of a survey: a folder of Parquet files for each table, written part by part.

::

    OUT/survey.json                       what was asked, so that a later run asks the same
    OUT/distributions/part-000001.parquet
    OUT/images/part-000001.parquet        .. and one for each other table

A part holds all rows of some distributions. Each of its files is written beside and renamed, that
of ``distributions`` last: with it the part is there, without it the files of the part are leftovers
of a run that was killed, which the next run removes. What failed for a reason that may pass stands
in parts of its own (``passing-``), which the next run removes too, and tries again.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from msgspec import Struct, convert, json, structs

from ltocompat.commands.survey.extra import extra, see_installed
from ltocompat.commands.survey.tables import SCHEMA_VERSION, TABLES, Row, Surveyed, columns
from ltocompat.model.errors import UnreadableInput, UsageError
from ltocompat.model.limits import MIB

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST = "survey.json"
_COMMIT = "distributions"  # the table whose file makes a part count
_WRITTEN_FIRST = tuple(name for name in TABLES if name != _COMMIT)
_LASTING, _PASSING = "part-", "passing-"
_SUFFIX = ".parquet"
_VERSION_KEY = b"ltocompat.survey"
_MOST_MANIFEST = 1 << 20  # bytes
_LONGEST = 60.0  # seconds that rows wait for others to be written with


class Question(Struct, frozen=True, kw_only=True):
    """The question of a run.

    Attributes:
        facts: version of ltocompat and of its tables and rules.
        sources: the sources, as they were given.
        targets: spellings of the deploy targets; empty for the default ones.
        platforms: the platforms that were surveyed; empty for all.
        match: the pattern that projects of an index had to match; None: all.
        releases: how many releases of a project.
        every_python: the wheels for every Python.
        started: when it began.
    """

    facts: str
    sources: tuple[str, ...]
    targets: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    match: str | None = None
    releases: int = 1
    every_python: bool = False
    started: datetime

    def same_as(self, other: Question) -> bool:
        """Return whether both ask the same, whenever they did."""
        return structs.replace(self, started=other.started) == other


class Manifest(Struct, frozen=True, kw_only=True, tag_field="schema", tag="ltocompat/survey/v1"):
    """The file beside the tables.

    Attributes:
        version: ``SCHEMA_VERSION`` of the tables.
        runs: what was asked, oldest first; a run that goes on where another was cut off is no
            new one.
        finished: when the last of them came to its end; None: it did not yet.
    """

    version: int
    runs: tuple[Question, ...]
    finished: datetime | None = None


class Dataset:
    """A dataset for reading; of parts that were not written to their end nothing is read.

    Args:
        folder: where it is.

    Raises:
        UnreadableInput: there is none, or it is not this version's.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        manifest = _manifest(folder)
        if manifest is None:
            raise UnreadableInput(
                f"{folder!r} holds no survey; write one with: ltocompat survey SOURCE -o {folder}"
            )
        self.manifest = manifest

    def table(self, name: str, wanted: Iterable[str] | None = None) -> pa.Table:
        """A whole table.

        Args:
            name: one of ``TABLES``.
            wanted: names of the columns to read; None for all.

        Raises:
            UnreadableInput: a file of it can't be read.
        """
        arrow, pq = extra("pyarrow"), extra("pyarrow.parquet")
        names = None if wanted is None else list(wanted)
        parts = []
        for part in _parts(self.folder):
            path = os.path.join(self.folder, name, part)
            try:
                with arrow.OSFile(path) as file:  # a path may look like an address: s3:/b
                    parts.append(pq.read_table(file, columns=names))
            except (OSError, arrow.ArrowException) as error:
                raise UnreadableInput(f"{path!r} can't be read: {error}") from error
        schema = arrow_schema(name)
        if names is not None:
            schema = arrow.schema([schema.field(column) for column in names])
        return arrow.concat_tables([schema.empty_table(), *parts], promote_options="default")

    def rows(self, name: str) -> Iterator[Row]:
        """The rows of a table, checked against their type.

        Raises:
            UnreadableInput: a file of it can't be read, or holds what no such row holds.
        """
        from msgspec import ValidationError

        for batch in self.table(name).to_batches(max_chunksize=1024):
            try:
                yield from (convert(row, TABLES[name]) for row in batch.to_pylist())
            except ValidationError as error:
                raise UnreadableInput(
                    f"{os.path.join(self.folder, name)!r} holds a row that is none: {error}"
                ) from error


class Known(NamedTuple):
    """A distribution as it was when it was surveyed.

    Attributes:
        sha256: of its file; None where it was never read whole.
        size: bytes of its file; None where nothing said so.
    """

    sha256: str | None
    size: int | None


class DatasetWriter:
    """Adds to a dataset, alone; use it as a context manager.

    What is added is written when there is enough of it, and at the end.

    Args:
        folder: where it is, or is to be.
        question: what this run asks.
        append: it may be another question than that of the run before.
        rows: how many rows of all tables make a part.
        distributions: how many distributions make one.

    Attributes:
        unlisted: projects and indexes that could not be listed by the run before, for a reason that
            lasts; their rows are gone, since they are asked for again.

    Raises:
        UsageError: another question was asked there, and ``append`` is not given; or another run is
            writing there.
    """

    def __init__(
        self,
        folder: str,
        question: Question,
        *,
        append: bool = False,
        rows: int = 200_000,
        distributions: int = 1_000,
    ) -> None:
        see_installed("pyarrow")  # whoever lacks it is told before any work is done
        self.folder = folder
        self._most = rows, distributions
        self._oldest = time.monotonic()
        self._lasting: list[Surveyed] = []
        self._passing: list[Surveyed] = []
        os.makedirs(folder, exist_ok=True)
        self._lock = _locked(folder)
        try:
            self._manifest = _continued(folder, question, append=append)
            _write_manifest(folder, self._manifest)
            self.unlisted = self._unlisted()
            self._recover()
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.flush()
            if kind is None:
                finished = structs.replace(self._manifest, finished=datetime.now(UTC))
                _write_manifest(self.folder, finished)
        finally:
            self._lock.close()

    def known(self) -> dict[str, Known]:
        """Source -> what each distribution that is there for good was."""
        if not _parts(self.folder):
            return {}
        table = Dataset(self.folder).table(_COMMIT, ("source", "sha256", "size"))
        return {row["source"]: Known(row["sha256"], row["size"]) for row in table.to_pylist()}

    def _unlisted(self) -> frozenset[str]:
        """Projects and indexes that could not be listed by the run before, for a lasting reason."""
        if not _parts(self.folder):
            return frozenset()
        table = Dataset(self.folder).table("errors", ("source", "step", "passing"))
        rows = table.to_pylist()
        return frozenset(r["source"] for r in rows if r["step"] == "list" and not r["passing"])

    def add(self, found: Surveyed) -> None:
        """Add the rows of a distribution, or of a failure."""
        if not self._lasting and not self._passing:
            self._oldest = time.monotonic()
            extra("pyarrow.parquet")  # for which nobody waits while workers have tasks
        (self._passing if found.passing else self._lasting).append(found)
        late = time.monotonic() > self._oldest + _LONGEST
        if late or _full(self._lasting, *self._most) or _full(self._passing, *self._most):
            self.flush()

    def flush(self) -> None:
        """Write what was added so far."""
        self._flush(self._lasting, _LASTING)
        self._flush(self._passing, _PASSING)

    def _flush(self, found: list[Surveyed], prefix: str) -> None:
        if not found:
            return
        numbers = [int(part[len(prefix) : -len(_SUFFIX)]) for part in _parts(self.folder, prefix)]
        part = f"{prefix}{max(numbers, default=0) + 1:06}{_SUFFIX}"
        for name in (*_WRITTEN_FIRST, _COMMIT):
            rows = [row for each in found for row in getattr(each, name)]
            _write_part(self.folder, name, part, rows)
        found.clear()

    def _recover(self) -> None:
        """Remove what is to be tried again, and what a killed run left."""
        for part in _parts(self.folder, _PASSING):
            os.unlink(os.path.join(self.folder, _COMMIT, part))
        there = set(_parts(self.folder))
        for name in TABLES:
            os.makedirs(os.path.join(self.folder, name), exist_ok=True)
            for entry in os.listdir(os.path.join(self.folder, name)):
                ours = entry.startswith((_LASTING, _PASSING, f".{_LASTING}", f".{_PASSING}"))
                if ours and entry not in there:
                    os.unlink(os.path.join(self.folder, name, entry))


def arrow_schema(name: str) -> pa.Schema:
    """The Arrow schema of a table, with the meaning of each column and the schema's version."""
    arrow = extra("pyarrow")
    types = {
        str: arrow.string(),
        int: arrow.int64(),
        float: arrow.float64(),
        bool: arrow.bool_(),
        datetime: arrow.timestamp("us", tz="UTC"),
        tuple[str, ...]: arrow.list_(arrow.string()),
    }
    fields = [
        arrow.field(column.name, types[column.type], metadata={"meaning": column.meaning})
        for column in columns(name)
    ]
    return arrow.schema(fields, metadata={_VERSION_KEY: str(SCHEMA_VERSION).encode()})


def write_table(path: str, name: str, rows: Iterable[Row]) -> None:
    """Write rows of one table as a Parquet file, beside, then renamed.

    Args:
        path: where to.
        name: one of ``TABLES``.
        rows: its rows.
    """
    arrow, pq = extra("pyarrow"), extra("pyarrow.parquet")
    table = _arrow_table(name, [json.encode(row) for row in rows])
    part = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}")
    with arrow.OSFile(part, "wb") as file:  # a path may look like an address: s3:/b
        pq.write_table(table, file, compression="zstd")
    _sync(part)
    os.replace(part, path)


def _arrow_table(name: str, rows: list[bytes]) -> pa.Table:
    """A table whose rows are JSON.

    Of Python's values pyarrow makes columns only when it has imported pandas, where that is there.
    """
    arrow, reader = extra("pyarrow"), extra("pyarrow.json")
    schema = arrow_schema(name)
    if not rows:
        return arrow.Table.from_batches([], schema)
    found = reader.read_json(
        arrow.BufferReader(b"\n".join(rows)),
        # A row has to fit into a block.
        reader.ReadOptions(use_threads=False, block_size=max(MIB, *map(len, rows)) + 1),
        reader.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
    )
    return arrow.Table.from_arrays(found.columns, schema=schema)  # with the meaning of each


def _write_part(folder: str, name: str, part: str, rows: Iterable[Row]) -> None:
    write_table(os.path.join(folder, name, part), name, rows)


def _full(found: list[Surveyed], rows: int, distributions: int) -> bool:
    if len(found) >= distributions:
        return True
    # Counted anew each time: there are no more than a thousand.
    return sum(len(getattr(each, name)) for each in found for name in TABLES) >= rows


def _parts(folder: str, prefix: str = "") -> list[str]:
    """The names of the parts that are there, in their order."""
    try:
        entries = os.listdir(os.path.join(folder, _COMMIT))
    except FileNotFoundError:
        return []
    prefixes = (prefix,) if prefix else (_LASTING, _PASSING)
    return sorted(entry for entry in entries if entry.startswith(prefixes))


def _manifest(folder: str) -> Manifest | None:
    """The manifest; None where there is none.

    Raises:
        UnreadableInput: it is no manifest, or not one of this version.
    """
    from msgspec import MsgspecError

    path = os.path.join(folder, MANIFEST)
    try:
        with open(path, "rb") as file:
            found = json.decode(file.read(_MOST_MANIFEST), type=Manifest)
    except FileNotFoundError:
        return None
    except (OSError, MsgspecError) as error:
        raise UnreadableInput(f"{path!r} can't be read: {error}; name another folder") from error
    if found.version != SCHEMA_VERSION:
        raise UnreadableInput(
            f"{folder!r} has tables of version {found.version}, and this ltocompat knows "
            f"{SCHEMA_VERSION}; name another folder"
        )
    return found


def _continued(folder: str, question: Question, *, append: bool) -> Manifest:
    """The manifest with this run in it.

    Raises:
        UsageError: it asks something else than the run before.
        UnreadableInput: there is something else.
    """
    known = _manifest(folder)
    if known is None:
        return Manifest(version=SCHEMA_VERSION, runs=(question,))
    last = known.runs[-1]
    if question.same_as(last) and (known.finished is None or not append):
        return structs.replace(known, finished=None)
    if not append:
        differs = [
            name
            for name in Question.__struct_fields__
            if name != "started" and getattr(last, name) != getattr(question, name)
        ]
        raise UsageError(
            f"{folder!r} holds a survey with other {' and '.join(differs)}; add what is new to it "
            "with --append, or name another folder"
        )
    return structs.replace(known, runs=(*known.runs, question), finished=None)


def _write_manifest(folder: str, manifest: Manifest) -> None:
    path = os.path.join(folder, MANIFEST)
    part = f"{path}.part"
    with open(part, "wb") as file:
        file.write(json.format(json.encode(manifest), indent=2) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def _sync(path: str) -> None:
    """Flush a file to disk before renaming it into place."""
    fd = os.open(path, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # not on every file system
            os.fsync(fd)
    finally:
        os.close(fd)


def _locked(folder: str) -> Any:  # noqa: ANN401 - an open file
    """A lock that ends with the process, however that ends.

    Raises:
        UsageError: another process has it.
    """
    file = open(os.path.join(folder, ".lock"), "wb")  # noqa: SIM115 - closing it unlocks
    try:
        import fcntl
    except ImportError:  # Windows: nobody is kept out
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise UsageError(f"another survey is writing to {folder!r}; wait for its end") from error
    return file
