"""The database of rpm: a table of headers, as SQLite since rpm 4.16.

Databases of Berkeley DB and ndb, as older rpm and SUSE's write them, are not read. Sources:
lib/backend/sqlite.c and lib/header.c of rpm 4.18; rpm's manual, "RPM Tags".
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing

from ltocompat.files.archives.rpm import RpmHeader, header_behind
from ltocompat.files.byteview import ByteView
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import Budget

_NAME, _VERSION, _RELEASE = 1000, 1001, 1002
_FOLDER_OF, _FILES, _FOLDERS = 1116, 1117, 1118
_READING = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
_STEPS = 10_000  # of SQLite, between looks at the clock


def files_in(view: ByteView, budget: Budget) -> Iterator[tuple[str, str]]:
    """Yield files of packages in a database, each with its package, ``zlib 1.2.11-40.el9 (rpm)``.

    Raises:
        Malformed: it is damaged; files before that were yielded already.
        LimitExceeded: it is too large, or takes too long.
    """
    budget.check("names_bytes", view.size, "a database of {size} bytes is over the limit of {most}")
    data = bytearray(view.all())
    data[18:20] = b"\1\1"  # else SQLite asks for the log of changes (WAL) that lay beside it
    with closing(sqlite3.connect(":memory:")) as database:
        try:
            database.deserialize(data)
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, budget.limits.tables_bytes)
            # Nothing but the table: its schema, which is foreign, may make it a view of anything.
            database.set_authorizer(lambda action, *_: action not in _READING)
            database.set_progress_handler(lambda: time.monotonic() > budget.deadline, _STEPS)
            headers = database.execute("SELECT CAST(blob AS BLOB) FROM Packages")
            for (blob,) in budget.timed(headers, slow=True):
                yield from _files(header_behind(ByteView.of(blob or b""), 0, budget))
        except (sqlite3.Error, UnicodeError, Malformed) as error:
            budget.check_time()
            raise Malformed(f"the RPM database can't be read: {error}") from error


def _files(header: RpmHeader) -> Iterator[tuple[str, str]]:
    name, version, release = (
        next(iter(header.texts(tag)), "") for tag in (_NAME, _VERSION, _RELEASE)
    )
    folders = header.texts(_FOLDERS)
    for file, folder in zip(header.texts(_FILES), header.numbers(_FOLDER_OF), strict=False):
        if folder < len(folders):
            yield f"{folders[folder]}{file}", f"{name} {version}-{release} (rpm)"
