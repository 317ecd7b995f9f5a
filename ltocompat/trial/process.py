"""The parent's end of one child process: start it, send to it, read from it, end it."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import mmap
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ltocompat.model.errors import Malformed, Missing
from ltocompat.model.limits import MIB, REQUIRE_SANDBOX
from ltocompat.scan.workers import widen
from ltocompat.targets.linkers.machine import environment_of_libraries
from ltocompat.trial import protocol, serving
from ltocompat.trial.protocol import Frame
from ltocompat.trial.values import ChildProgram, TrialImpossible, no_process

# The clock inside the child ends a request in time; the parent's comes later, for a library that
# holds on to the signal.
_GRACE_SECONDS = 2.0
_READ_SIZE = MIB
_PARTS_AT_ONCE = 64
# -I, -S: no variable and no file of the user's leads Python to other code; our own modules are
# imported from where this process has them. Without site, Python finds no virtual environment, and
# gets the prefixes: in their folders, cuda-pathfinder looks for the libraries of wheels.
_START = """
import importlib, json, os, sys
os.fchdir(folder := int(sys.argv.pop(1)))
os.close(folder)
sys.path[:], (sys.prefix, sys.exec_prefix) = json.loads(sys.argv.pop(1))
importlib.import_module(sys.argv.pop(1)).main()
"""
_PYTHON = (sys.executable, "-I", "-S", "-X", "faulthandler", "-c", _START)


class Process:
    """One child process, with the frames on their way to it.

    Args:
        program: what it runs.
        fresh: True to serve each request in a process that served none before.

    Raises:
        TrialImpossible: no process can be started.

    Attributes:
        ready: True if it has loaded the library.
        handshake: its facts about the loaded library.
        notes: the child's current step, see ``protocol``.
        stderr_tail: its last output before its end; empty while it runs.
    """

    def __init__(self, program: ChildProgram, *, fresh: bool) -> None:
        self._program = program
        self.ready = False
        self.handshake: dict[str, Any] = {}
        self.stderr_tail = ""
        self.unsent: deque[memoryview] = deque()
        # Replies come with their output; a header and the logs fit in besides.
        self._reader = protocol.FrameReader(program.limits.output_bytes * 2)
        try:
            self._begin(fresh=fresh)
        except OSError as error:
            raise no_process(program.subject, error) from error
        self._deadline = time.monotonic() + program.limits.start_seconds

    def _begin(self, *, fresh: bool) -> None:
        # On Linux and elsewhere TemporaryFile has no name, so that nothing is left behind.
        with tempfile.TemporaryFile() as file:
            file.truncate(protocol.NOTES_SIZE)
            # Not 0, 1 or 2, which are the child's streams and may be free here.
            notes = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 3)
        try:
            self._memory = mmap.mmap(notes, protocol.NOTES_SIZE)
            self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end()
            append = fcntl.fcntl(self._printed, fcntl.F_GETFL) | os.O_APPEND
            fcntl.fcntl(self._printed, fcntl.F_SETFL, append)
            self._process = self._start(notes, fresh=fresh)
        finally:
            os.close(notes)
        self.notes = memoryview(self._memory).cast("I")
        pipes = (self._process.stdin, self._process.stdout)
        self.requests_fd, self.replies_fd = (pipe.fileno() for pipe in pipes if pipe)
        widen(self.requests_fd)
        os.set_blocking(self.requests_fd, False)
        os.set_blocking(self.replies_fd, False)

    def _start(self, notes: int, *, fresh: bool) -> subprocess.Popen[bytes]:
        program = self._program
        # The kernel would end a child with the thread that started it, not with its process.
        parent = os.getpid() if threading.current_thread() is threading.main_thread() else 0
        required = program.limits.require_sandbox or bool(os.environ.get(REQUIRE_SANDBOX))
        limits = replace(program.limits, require_sandbox=required)
        settings = serving.ChildSettings(parent, notes, fresh, limits)
        given = msgspec.json.encode(settings).decode()
        imports = json.dumps([[*filter(os.path.isabs, sys.path)], [sys.prefix, sys.exec_prefix]])
        folder = _removed_folder()
        try:
            return subprocess.Popen(  # noqa: S603 - our own program
                [*_PYTHON, str(folder), imports, *program.words, given],
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._printed,
                bufsize=0,
                pass_fds=(notes, folder),
                start_new_session=True,  # which has no terminal that could be typed into
                env={**environment_of_libraries(), **program.environ},
            )
        except OSError:
            self._printed.close()
            raise
        finally:
            os.close(folder)

    def wait_ready(self) -> None:
        """Wait until the child has loaded the library.

        Raises:
            TrialImpossible: it can't.
            Missing: the library is missing.
        """
        poll = select.poll()
        poll.register(self.replies_fd, select.POLLIN)
        while not self.ready:
            if not poll.poll(max(0.0, self.seconds_left()) * 1000):
                raise TrialImpossible(self._why_not("it takes too long"))
            self.read()

    def _take_handshake(self, handshake: dict[str, Any]) -> None:
        if "impossible" in handshake:
            raise TrialImpossible(f"{self._program.subject}: {handshake['impossible']}")
        if "missing" in handshake:
            raise Missing(handshake["missing"])
        self.handshake = handshake
        self.ready = True
        self.renew_deadline()

    def _why_not(self, reason: str) -> str:
        ended = f"{reason} (status {self.end()}) {self.stderr_tail.strip()}".rstrip()
        return f"{self._program.subject} can't be loaded: {ended}"

    def send(self, messages: Sequence[protocol.Message], cpu_seconds: float, *, idle: bool) -> None:
        """Queue a frame of requests, and write as much as the pipe accepts."""
        if idle and self.ready:
            self.renew_deadline()
        self.unsent.extend(map(memoryview, protocol.encode_requests(messages, cpu_seconds)))
        self.write()

    def write(self) -> None:
        """Write until the pipe is full; ``read`` notices a closed pipe."""
        unsent = self.unsent
        try:
            while unsent:
                parts: list[protocol.Raw] = [*itertools.islice(unsent, _PARTS_AT_ONCE)]
                count = os.writev(self.requests_fd, parts)
                while unsent and count >= len(unsent[0]):
                    count -= len(unsent.popleft())
                if count:
                    unsent[0] = unsent[0][count:]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            unsent.clear()

    def read(self) -> tuple[list[Frame], bool]:
        """Return the frames of replies that arrived, and whether the child is still working.

        Raises:
            TrialImpossible: the library can't be loaded.
        """
        frames: list[Frame] = []
        alive = False
        try:
            while data := os.read(self.replies_fd, _READ_SIZE):
                for frame in self._reader.feed(data):
                    if self.ready:
                        frames.append(frame)
                    else:
                        self._take_handshake(frame[0])
        except BlockingIOError:
            alive = True
        except Malformed:
            pass
        if not self.ready and not alive:
            raise TrialImpossible(self._why_not("its process ended"))
        return frames, alive

    def renew_deadline(self) -> None:
        """Start the clock of the child's current request."""
        self._deadline = time.monotonic() + self._program.limits.wall_seconds + _GRACE_SECONDS

    def seconds_left(self) -> float:
        """Return the seconds until the child must make progress; below 0 if it is stuck."""
        return self._deadline - time.monotonic()

    def cpu_seconds(self) -> float | None:
        """Return the CPU time of the child and of its ended forks; None if unknown."""
        with contextlib.suppress(OSError):
            with open(f"/proc/{self._process.pid}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
            # utime, stime, cutime and cstime: fields 14 to 17 of proc(5); two stand before these.
            return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        return None

    def end(self) -> int:
        """End the child and its processes; return its exit status (below 0: minus a signal)."""
        if not self._printed.closed:
            # The group exists until its leader was waited for. One that is ending already keeps its
            # own status.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self.stderr_tail = serving.printed(self._printed.fileno()).decode("utf-8", "replace")
            for stream in (self._process.stdin, self._process.stdout, self._printed):
                if stream is not None:
                    stream.close()
        return self._process.wait()


def _removed_folder() -> int:
    """A descriptor of a folder that is gone, in which nothing can be made."""
    folder = tempfile.mkdtemp(prefix="ltocompat-")
    try:
        return os.open(folder, os.O_RDONLY)
    finally:
        os.rmdir(folder)
