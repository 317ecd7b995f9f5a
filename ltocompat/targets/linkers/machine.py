"""A machine that is looked at: files, environment, commands; in tests a recorded one."""

from __future__ import annotations

import glob
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from ltocompat.files.regular import open_inside, open_regular
from ltocompat.model.limits import Budget

_MOST_LINKS = 40  # symbolic links followed on one path, as Linux allows
_NOWHERE = os.path.join(os.devnull, "behind too many links")  # which no system has
_LONGEST_PATH = 4096  # characters, as Linux takes them; a text of the machine may name any
_MOST_TEXT = 16 << 20  # bytes of a text file; a list of a distribution's packages has 5 MB
_LONGEST_PATTERN = 1_000
_SECONDS = 10.0  # for one command


class Machine(Struct, frozen=True):
    """Everything that may be asked of a machine; nothing else of it is ever looked at.

    Attributes:
        root: folder that stands for ``/``; every path that is given or returned is without it.
        environ: environment variables.
        run: runs a command and returns what it printed, nothing where it failed.
        search_path: folders where this Python looks for packages.
        python: path of the Python program whose loading is looked at; empty where none is known.
        folder: the current folder, which empty and relative search paths mean.
        budget: what looking at it may cost; None for no limit of time.
    """

    root: str = "/"
    environ: Mapping[str, str] = field(default_factory=dict)
    run: Callable[[Sequence[str]], str] = field(default=lambda _: "")
    search_path: tuple[str, ...] = ()
    python: str = ""
    folder: str = "/"
    budget: Budget | None = None

    @classmethod
    def here(cls) -> Machine:
        """The machine that this program runs on."""
        return cls(
            "/",
            os.environ,
            _output_of,
            tuple(path for path in sys.path if path),
            sys.executable or "",
            _current_folder(),
        )

    def on_disk(self, path: str) -> str:
        """Where a path of the machine really lies; links never lead out of ``root``.

        Behind more links than the system follows there is nothing.
        """
        if self.budget is not None:
            self.budget.check_time()
        if self.root == "/":
            return path
        real = self._resolved(path)
        return _NOWHERE if real is None else self._below(real)

    def _below(self, path: str) -> str:
        return os.path.join(self.root, path.lstrip("/"))

    def is_file(self, path: str) -> bool:
        """Whether a file, behind all links, is there."""
        return os.path.isfile(self.on_disk(path))

    def is_folder(self, path: str) -> bool:
        """Whether a folder, behind all links, is there."""
        return os.path.isdir(self.on_disk(path))

    def exists(self, path: str) -> bool:
        """Whether anything, behind all links, is there."""
        return os.path.exists(self.on_disk(path))

    def size(self, path: str) -> int | None:
        """Bytes of a file; None where there is none."""
        try:
            return os.path.getsize(self.on_disk(path))
        except OSError:
            return None

    def read_bytes(self, path: str, most: int) -> bytes | None:
        """The first ``most`` bytes of a regular file; None where there is none."""
        try:
            with os.fdopen(self._open(path), "rb") as file:
                return file.read(most)
        except (OSError, ValueError):
            return None

    def _open(self, path: str) -> int:
        if self.root == "/":
            return open_regular(self.on_disk(path))
        if self.budget is not None:
            self.budget.check_time()
        real = self._resolved(path)
        # What was no link just now may be one by now.
        return open_regular(_NOWHERE) if real is None else open_inside(self.root, real)

    def files(self, folder: str, *patterns: str) -> list[str]:
        """Paths in ``folder`` that match one of the patterns (``*`` and so on), sorted.

        What an odd file of a machine asks for in a thousand characters is passed over: to read a
        pattern takes the square of its length.
        """
        where = self.on_disk(folder)
        if "\0" in where:  # of which glob can't say that there is no such folder
            return []
        short = [pattern for pattern in patterns if len(pattern) <= _LONGEST_PATTERN]
        found = {hit for pattern in short for hit in glob.glob(pattern, root_dir=where)}
        return [os.path.join(folder, hit) for hit in sorted(found)]

    def text(self, path: str) -> str | None:
        """The beginning of a text file, at most 16 MiB; None where there is none."""
        data = self.read_bytes(path, _MOST_TEXT)
        if data is None:
            return None
        return data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")

    def real(self, path: str) -> str:
        """The path behind all symbolic links, whose absolute targets are below ``root`` too.

        Where there are more links than the system follows, the path as it is.
        """
        if self.root == "/":
            return os.path.realpath(path)
        return self._resolved(path) or path

    def _resolved(self, path: str) -> str | None:
        if len(path) > _LONGEST_PATH:
            return None
        done, todo, links = "", path.split("/")[::-1], 0
        while todo:
            part = todo.pop()
            if part in ("", "."):
                continue
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            here = f"{done}/{part}"
            try:
                target = os.readlink(self._below(here))
            except (OSError, ValueError):  # it is no link, is not there, or can't be
                done = here
                continue
            links += 1
            if links > _MOST_LINKS:
                return None
            done = "" if target.startswith("/") else done
            todo += target.split("/")[::-1]
        return done or "/"


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return "/"


def program_folders() -> list[str]:
    """The folders of PATH in which programs are looked for; relative ones are left out."""
    folders = filter(os.path.isabs, os.get_exec_path())
    return [folder for folder in folders if _is_trusted(os.path.realpath(folder))]


def _is_trusted(folder: str) -> bool:
    """Whether programs in a folder, behind all links, are the user's.

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
    """Where a program lies in the folders of PATH, None where it is not there."""
    file = f"{name}.exe" if sys.platform == "win32" else name
    for folder in program_folders():
        path = os.path.join(folder, file)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _output_of(command: Sequence[str]) -> str:
    program = command[0] if os.path.isabs(command[0]) else program_path(command[0])
    if program is None or not _is_trusted(os.path.realpath(os.path.dirname(program))):
        return ""
    try:
        done = subprocess.run(  # noqa: S603 - the commands are fixed words of ours
            [program, *command[1:]],
            capture_output=True,
            check=False,
            cwd=os.path.abspath(os.sep),  # where no file of somebody else's lies
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""
