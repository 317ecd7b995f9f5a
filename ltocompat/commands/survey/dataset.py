"""The dataset of a survey: a folder of Parquet files for each table, written part by part.

::

    OUT/survey.json                       what was asked, so that a later run asks the same
    OUT/distributions/part-000001.parquet
    OUT/images/part-000001.parquet        .. and one for each other table

A part holds all rows of some distributions. Each of its files appears whole, that of
``distributions`` last: with it the part is there, without it the files of the part are leftovers of
a run that was killed, which the next run removes. What failed stands in parts of its own: for a
reason that may pass (``passing-``), which the next run removes too, and tries again; for one that
lasts (``failed-``), which it does where it is told to. OUT is a folder, or an address that fsspec
knows (``s3://bucket/survey``).
"""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from io import BytesIO
from typing import TYPE_CHECKING, Annotated, NamedTuple, Self

from msgspec import Struct, convert, json, structs

from ltocompat.commands.survey.extra import extra, see_installed
from ltocompat.commands.survey.storage import Folder
from ltocompat.commands.survey.tables import SCHEMA_VERSION, TABLES, Surveyed, columns
from ltocompat.model.errors import UnreadableInput, UsageError, readable, restated
from ltocompat.model.limits import MIB
from ltocompat.model.projection import From

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import dataset as ds

MANIFEST = "survey.json"
_COMMIT = "distributions"  # the table whose file makes a part count
_WRITTEN_FIRST = tuple(name for name in TABLES if name != _COMMIT)
_LASTING, _FAILED, _PASSING = _PREFIXES = ("part-", "failed-", "passing-")
_SUFFIX = ".parquet"
_MOST = 1_000  # distributions of a part
_MOST_BYTES = 64 * MIB  # of rows of a part, as JSON
_LONGEST = 30.0  # seconds that rows wait for others to be written with


class Question(Struct, frozen=True, kw_only=True):
    """The options of a run that determine its answers.

    Attributes:
        facts: version of ltocompat and of its tables and rules.
        sources: the sources, as they were given.
        targets: spellings of the deploy targets; empty for the default ones.
        platforms: the platforms that were surveyed; empty for all.
        match: the pattern of names of projects of an index; None: all.
        releases: number of releases of each project.
        every_python: True for the wheels of every Python.
        shard: ``2/8``: the second of eight parts of the projects; None: all of them.
        started: the begin of the run.
    """

    facts: str
    sources: tuple[str, ...]
    targets: tuple[str, ...] = ()
    platforms: Annotated[tuple[str, ...], From("choice.platforms")] = ()
    match: str | None = None
    releases: Annotated[int, From("choice.releases")] = 1
    every_python: Annotated[bool, From("choice.every_python")] = False
    shard: str | None = None
    started: datetime

    def same_as(self, other: Question) -> bool:
        """Return whether both are the same question, apart from their begin."""
        return structs.replace(self, started=other.started) == other


class Manifest(Struct, frozen=True, kw_only=True, tag_field="schema", tag="ltocompat/survey/v1"):
    """The file next to the tables.

    Attributes:
        version: ``SCHEMA_VERSION`` of the tables.
        runs: the questions, oldest first; a run that resumes an interrupted one adds none.
        finished: end of the last run; None if it is unfinished.
    """

    version: int
    runs: tuple[Question, ...]
    finished: datetime | None = None


class Dataset:
    """A dataset for reading; incomplete parts are not read.

    Args:
        folder: its folder.

    Raises:
        UnreadableInput: there is none, or another version wrote it.
    """

    def __init__(self, folder: str) -> None:
        self.folder = Folder(folder)
        manifest = _manifest(self.folder)
        if manifest is None:
            raise UnreadableInput(
                f"{folder!r} has no survey; write one with: ltocompat survey SOURCE -o {folder}"
            )
        self.manifest = manifest

    def scan(self, name: str) -> ds.Dataset:
        """Return a table without reading it.

        Args:
            name: one of ``TABLES``.
        """
        reader, schema = extra("pyarrow.dataset"), arrow_schema(name)
        paths = [self.folder.path(name, part) for part in _parts(self.folder)]
        if not paths:
            return reader.dataset(schema.empty_table())
        return reader.dataset(paths, schema=schema, filesystem=self.folder.files, format="parquet")

    def table(self, name: str, wanted: list[str] | None = None) -> pa.Table:
        """A whole table.

        Args:
            name: one of ``TABLES``.
            wanted: names of the columns to read; None for all.

        Raises:
            UnreadableInput: one of its files can't be read.
        """
        with readable(repr(self.folder.path(name)), OSError, extra("pyarrow").ArrowException):
            return self.scan(name).to_table(columns=wanted)

    def surveyed(self) -> Iterator[Surveyed]:
        """Yield the rows of each distribution and of each failure, checked against their types.

        Raises:
            UnreadableInput: a file can't be read, or has an invalid row.
        """
        reader = extra("pyarrow.parquet")
        errors = (OSError, ValueError, KeyError, extra("pyarrow").ArrowException)
        for part in _parts(self.folder):
            found: defaultdict[str, dict[str, list[object]]] = defaultdict(dict)
            with readable(repr(self.folder.path(part)), *errors):
                for name in TABLES:
                    data = BytesIO(self.folder.files.cat_file(self.folder.path(name, part)))
                    for row in reader.read_table(data).to_pylist():
                        found[row["sha256"] or row["source"]].setdefault(name, []).append(row)
                yield from (convert(rows, Surveyed) for rows in found.values())


class Known(NamedTuple):
    """The file of a distribution when it was surveyed.

    Attributes:
        sha256: the SHA-256 of its file; None if the file was never read as a whole.
        size: bytes of its file; None if unknown.
    """

    sha256: str | None
    size: int | None


class DatasetWriter:
    """The only writer of a dataset; use it as a context manager.

    Rows are written once there are enough, within half a minute, and at the end.

    Args:
        folder: the folder of the dataset, new or existing.
        question: the question of this run.
        append: True if the question may differ from the question of the run before.
        retry_failed: forget all failures.

    Attributes:
        unlisted: projects and indexes that the run before could not list, for a permanent reason;
            their rows are dropped, since they are requested again.

    Raises:
        UsageError: the dataset has a different question and ``append`` is not set; or another run
            is writing to it.
    """

    def __init__(
        self, folder: str, question: Question, *, append: bool = False, retry_failed: bool = False
    ) -> None:
        see_installed("pyarrow")  # whoever lacks it is told before any work is done
        self._folder = Folder(folder)
        self._waiting: defaultdict[str, list[Surveyed]] = defaultdict(list)
        self._size = 0
        self._adding = threading.RLock()
        self._ended = threading.Event()
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._folder.locked())
            self._manifest = _continued(self._folder, question, append=append)
            self._write_manifest(self._manifest)
            self.unlisted = self._unlisted()
            self._recover(_PREFIXES[1 if retry_failed else 2 :])
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        clock = threading.Thread(target=self._flush_in_time, daemon=True)
        clock.start()
        self._stack.callback(clock.join)
        self._stack.callback(self._ended.set)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with self._stack:
            self.flush()
            if kind is None:
                self._write_manifest(structs.replace(self._manifest, finished=datetime.now(UTC)))

    def known(self) -> dict[str, Known]:
        """Source -> the files of its distributions that need no other try."""
        table = Dataset(self._folder.address).table(_COMMIT, ["source", "sha256", "size"])
        return {row["source"]: Known(row["sha256"], row["size"]) for row in table.to_pylist()}

    def add(self, found: Surveyed) -> None:
        """Add the rows of a distribution, or of a failure."""
        extra("pyarrow.parquet")  # for which nobody waits while workers have tasks
        with self._adding:
            waiting = self._waiting[_prefix(found)]
            waiting.append(found)
            self._size += len(json.encode(found))
            if len(waiting) >= _MOST or self._size >= _MOST_BYTES:
                self.flush()

    def flush(self) -> None:
        """Write what was added so far."""
        with self._adding:
            for prefix, waiting in self._waiting.items():
                write_part(self._folder, prefix, waiting)
            self._waiting.clear()
            self._size = 0

    def _flush_in_time(self) -> None:
        """Write what waits for long: who is killed loses no more than that."""
        while not self._ended.wait(_LONGEST):
            with contextlib.suppress(Exception):  # what lasts ends the next part, or the run
                self.flush()

    def _unlisted(self) -> frozenset[str]:
        """Projects and indexes that could not be listed by the run before, for a lasting reason."""
        rows = Dataset(self._folder.address).table("errors", ["source", "step", "passing"])
        lasting = (row for row in rows.to_pylist() if not row["passing"])
        return frozenset(row["source"] for row in lasting if row["step"] == "list")

    def _recover(self, again: Sequence[str]) -> None:
        """Remove what is to be tried again, and what a killed run left."""
        for part in _parts(self._folder):
            if part.startswith(tuple(again)):
                self._folder.remove(_COMMIT, part)
        there = set(_parts(self._folder))
        for name in TABLES:
            for entry in self._folder.names(name):
                if entry.removeprefix(".").startswith(_PREFIXES) and entry not in there:
                    self._folder.remove(name, entry)

    def _write_manifest(self, manifest: Manifest) -> None:
        self._folder.write(json.format(json.encode(manifest), indent=2) + b"\n", MANIFEST)


def _prefix(found: Surveyed) -> str:
    """The beginning of the names of parts that such rows stand in."""
    if found.passing:
        return _PASSING
    return _FAILED if any(row.status == "failed" for row in found.distributions) else _LASTING


def arrow_schema(name: str) -> pa.Schema:
    """Return a table's Arrow schema, with the meaning of each column and the schema's version."""
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
    return arrow.schema(fields, metadata={b"ltocompat.survey": str(SCHEMA_VERSION).encode()})


def write_part(folder: Folder, prefix: str, found: Iterable[Surveyed]) -> None:
    """Write the rows of some distributions; they count once the last table is written.

    Args:
        folder: of the dataset.
        prefix: the prefix of the part's name.
        found: the rows.
    """
    numbers = [int(part[len(prefix) : -len(_SUFFIX)]) for part in _parts(folder, prefix)]
    part = f"{prefix}{max(numbers, default=0) + 1:06}{_SUFFIX}"
    for name in (*_WRITTEN_FIRST, _COMMIT):
        rows = [json.encode(row) for each in found for row in getattr(each, name)]
        folder.write(parquet_file(name, rows), name, part)


def parquet_file(name: str, rows: Sequence[bytes]) -> bytes:
    """Return a Parquet file with rows of one table, which are JSON.

    The rows are JSON, since pyarrow imports pandas, if installed, before it converts Python values.
    """
    arrow, reader, pq = extra("pyarrow"), extra("pyarrow.json"), extra("pyarrow.parquet")
    schema = arrow_schema(name)
    table = schema.empty_table()
    if rows:
        found = reader.read_json(
            arrow.BufferReader(b"\n".join(rows)),
            # A row has to fit into a block.
            reader.ReadOptions(use_threads=False, block_size=max(MIB, *map(len, rows)) + 1),
            reader.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        )
        table = arrow.Table.from_arrays(found.columns, schema=schema)  # with the meaning of each
    sink = BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def _parts(folder: Folder, *prefixes: str) -> list[str]:
    """The names of the parts that are there, in their order."""
    return [name for name in folder.names(_COMMIT) if name.startswith(prefixes or _PREFIXES)]


def _manifest(folder: Folder) -> Manifest | None:
    """The manifest; None if there is none.

    Raises:
        UnreadableInput: it is not a manifest, or not one of this version.
    """
    path = folder.path(MANIFEST)
    errors = OSError, ValueError, RecursionError
    advice = "; name another folder"
    with restated(UnreadableInput, f"{path!r} can't be read", *errors, advice=advice):
        data = folder.read(MANIFEST)
        if data is None:
            return None
        found = json.decode(data, type=Manifest)
    if found.version != SCHEMA_VERSION:
        raise UnreadableInput(
            f"{folder.address!r} has tables of version {found.version}, but this ltocompat reads "
            f"only version {SCHEMA_VERSION}; name another folder"
        )
    return found


def _continued(folder: Folder, question: Question, *, append: bool) -> Manifest:
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
            f"{folder.address!r} has a survey with different {' and '.join(differs)}; add new rows "
            "to it with --append, or name another folder"
        )
    return structs.replace(known, runs=(*known.runs, question), finished=None)
