"""A machine that is looked at: files, environment, commands; in tests a recorded one."""

from __future__ import annotations

import errno
import fnmatch
import functools
import glob
import itertools
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import cast

from msgspec import Struct, field
from msgspec.structs import replace

from ltocompat.files.byteview import ByteView, FileSource
from ltocompat.files.inside import BY_DESCRIPTOR, open_inside, real_inside
from ltocompat.files.regular import REGULAR, if_regular
from ltocompat.model.errors import UnreadableInput, restated
from ltocompat.model.generic import T
from ltocompat.model.limits import Budget

_AT_ONCE = getattr(os, "O_NONBLOCK", 0)
_LOOK = getattr(os, "O_PATH", os.O_RDONLY | _AT_ONCE)
_LIST = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _AT_ONCE
LONGEST_PATH = 4096  # characters, as Linux takes them; a text of the machine may name any
_MOST_NAMES = 100_000  # of a folder
_MOST_TEXT = 16 << 20  # bytes of a text file; a list of a distribution's packages has 5 MB
_LONGEST_PATTERN = 1_000
_SECONDS = 10.0  # for one command
# Variables that find libraries and set up a driver; tokens may lie in all others.
_VARIABLES = {"CONDA_PREFIX", "LANG", "LC_ALL", "LD_LIBRARY_PATH"}
# Variables that programs need besides, most of them on Windows.
_VARIABLES_OF_PROGRAMS = {
    *("HOME", "PATHEXT", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "USERPROFILE"),
    "WINDIR",
}


class Machine(Struct, frozen=True):
    """The only access to a machine, for all questions about it.

    Attributes:
        root: folder that stands for ``/``; all given and returned paths are without it.
        environ: environment variables.
        run: runs a command and returns its output; empty if it failed.
        search_path: folders where this Python looks for packages.
        python: path of the Python program whose loading is examined; empty if unknown.
        folder: the current folder, for empty and relative search paths.
        budget: the budget for examining it; None for no time limit.
        kept: the results of ``once``.
    """

    root: str = "/"
    environ: Mapping[str, str] = field(default_factory=dict)
    run: Callable[[Sequence[str]], str] = field(default=lambda _: "")
    search_path: tuple[str, ...] = ()
    python: str = ""
    folder: str = "/"
    budget: Budget | None = None
    kept: dict[object, object] = field(default_factory=dict)

    @classmethod
    def here(cls) -> Machine:
        """Return the machine that this program runs on."""
        return cls(
            "/",
            os.environ,
            _output_of,
            tuple(path for path in sys.path if path),
            sys.executable or "",
            _current_folder(),
        )

    def running(self, program: str) -> Machine:
        """Return this machine with a program of the user, which may be run in any folder."""
        if self.run is not _output_of:  # a recorded one runs nothing
            return self
        return replace(self, run=functools.partial(_output_of, chosen=program))

    def _by_path(self, path: str) -> str | None:
        """The path for the system itself: on this machine, and where nothing else is possible."""
        if self.budget is not None:
            self.budget.check_time()
        if len(path) > LONGEST_PATH:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        if self.root == "/":
            return path
        return None if BY_DESCRIPTOR else os.path.join(self.root, path.lstrip("/"))

    def _open(self, path: str, flags: int) -> int:
        """A descriptor of what lies at a path, which nothing there leads out of ``root``."""
        where = self._by_path(path)
        return open_inside(self.root, path, flags) if where is None else os.open(where, flags)

    def _looked(self, path: str, flags: int, look: Callable[[str | int], T]) -> T | None:
        """Look at a path, or at a descriptor of what lies there; None if there is nothing."""
        with suppress(OSError, ValueError):
            where = self._by_path(path)
            if where is not None:
                return look(where)
            with _closing(self._open(path, flags)) as fd:
                return look(fd)
        return None

    def _status(self, path: str) -> os.stat_result | None:
        """Return the status of a path, behind all links; None if there is nothing."""
        return self._looked(path, _LOOK, os.stat)

    def is_file(self, path: str) -> bool:
        """Return whether a file exists, after all links are followed."""
        status = self._status(path)
        return status is not None and stat.S_ISREG(status.st_mode)

    def is_folder(self, path: str) -> bool:
        """Return whether a folder exists, after all links are followed."""
        status = self._status(path)
        return status is not None and stat.S_ISDIR(status.st_mode)

    def exists(self, path: str) -> bool:
        """Return whether anything exists, after all links are followed."""
        return self._status(path) is not None

    def size(self, path: str) -> int | None:
        """Return the number of bytes of a file; None if there is none."""
        status = self._status(path)
        return None if status is None else status.st_size

    @contextmanager
    def viewed(self, path: str) -> Iterator[ByteView]:
        """Open the bytes of a regular file while the block runs.

        Raises:
            UnreadableInput: it can't be opened, or is not a regular file.
        """
        with self._reading(path) as fd:
            yield ByteView(FileSource(fd))

    @contextmanager
    def _reading(self, path: str) -> Iterator[int]:
        text = f"{path!r} can't be opened"
        advice = "; give a file path"
        with restated(UnreadableInput, text, OSError, ValueError, advice=advice, brief=True):
            fd = if_regular(self._open(path, REGULAR), path)
        with _closing(fd):
            yield fd

    def once(self, path: str, read: Callable[[ByteView], T]) -> T:
        """Read a file with ``read``, a function of a module; the same file is read once.

        Raises:
            UnreadableInput: it can't be opened, or is not a regular file.
        """
        with self._reading(path) as fd:
            found = os.fstat(fd)
            key = (read, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
            if key not in self.kept:
                self.kept[key] = read(ByteView(FileSource(fd)))
            return cast("T", self.kept[key])

    def read_bytes(self, path: str, most: int) -> bytes | None:
        """Return the first ``most`` bytes of a regular file; None if there is none."""
        try:
            with self._reading(path) as fd, open(fd, "rb", closefd=False) as file:
                return file.read(most)
        except (OSError, UnreadableInput):
            return None

    def text(self, path: str) -> str | None:
        """Return the beginning of a text file, at most 16 MiB; None if there is none."""
        data = self.read_bytes(path, _MOST_TEXT)
        if data is None:
            return None
        return data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")

    def files(self, folder: str, *patterns: str) -> list[str]:
        """Return the sorted paths in ``folder`` that match one of the patterns (``*`` etc.).

        Very long patterns from odd files are ignored, since parsing takes the square of the length.
        """
        short = [pattern for pattern in patterns if len(pattern) <= _LONGEST_PATTERN]
        return sorted({path for text in short for path in self._matching(folder, text.split("/"))})

    def _matching(self, folder: str, pattern: list[str]) -> Iterator[str]:
        name, *rest = pattern
        wild = glob.has_magic(name)
        listed = (self._looked(folder, _LIST, _listed) or []) if wild else []
        for found in fnmatch.filter(listed, name) if wild else [name]:
            path = os.path.join(folder, found)
            if found.startswith(".") and not name.startswith("."):
                continue
            if rest:
                yield from self._matching(path, rest)
            elif wild or self.exists(path):
                yield path

    def real(self, path: str) -> str:
        """Return the path after all symbolic links, whose absolute targets are also below ``root``.

        If there are more links than the system follows, return the path unchanged.
        """
        if self.root == "/":
            return os.path.realpath(path)
        with suppress(OSError, ValueError):
            return real_inside(self.root, path) if self._by_path(path) is None else path
        return path


def _listed(folder: str | int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in itertools.islice(entries, _MOST_NAMES)]


@contextmanager
def _closing(fd: int) -> Iterator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


def _current_folder() -> str:
    with suppress(OSError):  # it was removed
        return os.getcwd()
    return "/"


def program_folders() -> list[str]:
    """Return the folders of PATH; relative ones are left out."""
    folders = filter(os.path.isabs, os.get_exec_path())
    return [folder for folder in folders if _is_trusted(os.path.realpath(folder))]


def _is_trusted(folder: str) -> bool:
    """Return whether programs in a folder, behind all links, are the user's.

    The current folder may be one that somebody else wrote: nothing in it is run, but for what lies
    beside this Python, which the user runs already. One that holds the user's own is the user's.
    """
    current = os.path.realpath(_current_folder())
    users_own = _is_inside(os.path.realpath(os.path.expanduser("~")), current)
    beside_python = folder == os.path.realpath(os.path.dirname(sys.executable or ""))
    return users_own or beside_python or not _is_inside(folder, current)


def _is_inside(path: str, folder: str) -> bool:
    return os.path.join(path, "").startswith(os.path.join(folder, ""))


def program_path(name: str) -> str | None:
    """Find a program in the folders of PATH; None if it is missing."""
    file = f"{name}.exe" if sys.platform == "win32" else name
    paths = filter(os.path.isfile, (os.path.join(folder, file) for folder in program_folders()))
    return next((path for path in paths if os.access(path, os.X_OK)), None)


def environment_of_libraries() -> dict[str, str]:
    """Return the environment variables that affect libraries and drivers."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in _VARIABLES or name.startswith("CUDA_")
    }


def _environment_of_programs() -> dict[str, str]:
    needed = {name: os.environ[name] for name in _VARIABLES_OF_PROGRAMS & os.environ.keys()}
    return environment_of_libraries() | needed | {"PATH": os.pathsep.join(program_folders())}


def _output_of(command: Sequence[str], chosen: str = "") -> str:
    program = command[0] if os.path.isabs(command[0]) else program_path(command[0])
    if program is None:
        return ""
    if program != chosen and not _is_trusted(os.path.realpath(os.path.dirname(program))):
        return ""
    try:
        done = subprocess.run(  # noqa: S603 - the commands are fixed words of ours
            [program, *command[1:]],
            capture_output=True,
            check=False,
            cwd=os.path.abspath(os.sep),  # where no file of somebody else's lies
            env=_environment_of_programs(),
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""
