"""The files of a folder: all of them, or those that an installed distribution lists."""

from __future__ import annotations

import csv
import glob
import io
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from ltocompat.files.regular import read_regular
from ltocompat.model.errors import LimitExceeded
from ltocompat.model.image import Skipped
from ltocompat.model.limits import MIB, Budget, Limits
from ltocompat.model.location import Location


def files(path: str, limits: Limits) -> Iterator[str | Skipped]:
    """Yield paths of the files below ``path``; report folders that can't be listed.

    The test programs of CMake and Meson for compilers are left out, since nobody ships them.

    A link to a file inside the folder is skipped, since the file is read under its own name. Links
    to folders are not followed, so that no loop is possible.
    """
    root = os.path.join(os.path.realpath(path), "")
    count = 0
    failed: list[OSError] = []
    for folder, folders, names in os.walk(path, onerror=failed.append):
        folders[:] = sorted(name for name in folders if not _is_probe(folder, name))
        count += len(folders)
        for name in sorted(names):
            count += 1
            if count > limits.members:
                reason = f"the folder holds more than {limits.members} files; the rest is not read"
                yield Skipped(Location(path), reason, limit="members")
                return
            found = _file(os.path.join(folder, name), root)
            if found is not None:
                yield found
    yield from (_unreadable(str(error.filename), error) for error in failed)


def _is_probe(folder: str, name: str) -> bool:
    """Return whether CMake or Meson compile their probes there.

    Source: CMakeDetermineCompilerId, CMakeDetermineCompilerABI, try_compile;
    mesonbuild/environment.py (``private_dir``).
    """
    parts = folder.split(os.sep)
    # CMakeFiles/4.4.5 is CMAKE_PLATFORM_INFO_DIR; what is made for a target lies in NAME.dir.
    of_release = name[:1].isdigit() and not name.endswith(".dir") and parts[-1] == "CMakeFiles"
    of_cmake = of_release or ("CMakeFiles" in parts and name.startswith(_PROBES))
    return of_cmake or name == "meson-private"


def _unreadable(path: str, error: OSError) -> Skipped:
    return Skipped(Location(path), f"it can't be read: {error.strerror}")


def _file(path: str, root: str) -> str | Skipped | None:
    try:
        if os.path.islink(path):
            target = os.path.realpath(path)
            if target.startswith(root) and os.path.isfile(target):
                return None
        mode = os.stat(path).st_mode
    except OSError as error:
        return _unreadable(path, error)
    return path if stat.S_ISREG(mode) else Skipped(Location(path), "it is not a regular file")


_PROBES = ("CompilerId", "CMakeScratch", "CMakeTmp", "TryCompile", "ShowIncludes")
DIST_INFO = ".dist-info"
CONDA_META = "conda-meta"
# Bytes of RECORD that are read; the RECORD of the largest packages has a few MB.
MOST_RECORD = 16 * MIB


def sites_of(folder: str) -> tuple[str, ...]:
    """Return the package folders of an environment; empty for any other folder.

    The environment may be a package folder itself (``pip install --target``), or a virtual or conda
    environment.
    """
    try:
        if any(name.endswith(DIST_INFO) for name in os.listdir(folder)):
            return (folder,)
    except OSError:
        return ()
    if not is_environment(folder):
        return ()
    patterns = ("lib*/python*/site-packages", "Lib/site-packages")
    found = sorted(path for text in patterns for path in glob.glob(text, root_dir=folder))[::-1]
    real = {os.path.realpath(os.path.join(folder, path)): path for path in found or ["lib"]}
    return tuple(os.path.join(folder, path) for path in real.values())


def is_environment(folder: str) -> bool:
    """Return whether a folder is a virtual or conda environment."""
    return any(os.path.exists(os.path.join(folder, name)) for name in ("pyvenv.cfg", CONDA_META))


def files_of_distribution(path: str, limits: Limits) -> Iterator[str | Skipped] | None:
    """Yield the paths of the distribution in a dist-info folder; None for any other folder."""
    info = path.rstrip(os.sep)
    if not info.endswith(DIST_INFO):
        return None
    try:
        record = read_regular(os.path.join(info, "RECORD"), MOST_RECORD + 1)
    except (OSError, ValueError):
        return None
    return _listed(os.path.dirname(os.path.abspath(info)), record, limits)


def names_in_record(record: bytes, budget: Budget) -> Iterator[str]:
    """Yield the first column of RECORD; invalid CSV has none.

    Raises:
        LimitExceeded: the time is used up.
    """
    for line in budget.timed(io.StringIO(record.decode("utf-8", "replace"))):
        # A NUL is not part of a name, and older readers of CSV stop at it.
        with suppress(csv.Error):
            for name in next(csv.reader((line.replace("\0", ""),)), [])[:1]:
                if name:
                    yield name.replace("\\", "/")


def _listed(site: str, record: bytes, limits: Limits) -> Iterator[str | Skipped]:
    if len(record) > MOST_RECORD:
        record = record[: record.rfind(b"\n", 0, MOST_RECORD) + 1]
        reason = f"RECORD has more than {MOST_RECORD} bytes; the rest of it is not read"
        yield Skipped(Location(site), reason)
    names: list[str] = []
    try:
        names.extend(islice(names_in_record(record, Budget(limits)), limits.members + 1))
    except LimitExceeded as error:
        yield Skipped(Location(site), f"the rest of RECORD is not read: {error}", limit=error.limit)
    for count, name in enumerate(names):
        if count >= limits.members:
            reason = f"RECORD lists more than {limits.members} files; the rest is not read"
            yield Skipped(Location(site), reason, limit="members")
            return
        path = os.path.normpath(os.path.join(site, name))
        if os.path.isfile(path):
            yield path
        elif not os.path.exists(path):
            yield Skipped(Location(path), "RECORD lists it, but it doesn't exist")
