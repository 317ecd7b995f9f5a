"""The child's end of a trial: confine the process, load a library, answer each request.

It reads frames of requests and answers each frame with a frame of replies (see ``protocol``).
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import math
import mmap
import os
import resource
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from ltocompat.files.descriptors import write_all
from ltocompat.model.errors import Missing
from ltocompat.model.limits import KIB, MIB
from ltocompat.trial import profiles, protocol, sandbox
from ltocompat.trial.protocol import Message
from ltocompat.trial.sandbox import Calls
from ltocompat.trial.values import TrialImpossible, TrialLimits

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
# malloc.h of glibc
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_PRINTED_TAIL = 4 * KIB
# What faulthandler writes belongs to us; what stands before it is the library's.
_OURS = b"Fatal Python error: "


def mapped(part: str) -> list[str]:
    """Return paths with ``part`` in them of files that are mapped into this process."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        rows = (line.rstrip("\n").split(None, 5) for line in maps if part in line)
        return [row[5] for row in rows if len(row) > 5]


def bindings(name: str, use: str) -> Any:  # noqa: ANN401 - a module without types
    """Import a module of ``cuda.bindings``.

    Args:
        name: the module.
        use: its use, for the sentence.

    Raises:
        Missing: it is not installed.
    """
    try:
        return importlib.import_module(f"cuda.bindings.{name}")
    except ImportError as error:
        raise Missing(
            f"cuda.bindings, which {use}, is not installed; install it with: "
            "pip install 'ltocompat[gpu]'"
        ) from error


def _take_protocol() -> tuple[BinaryIO, int]:
    """Move the frames off the standard streams, which the library may print to.

    Returns the stream of requests and the descriptor for replies; standard output then goes where
    standard error goes, which is a private file.
    """
    requests = os.fdopen(os.dup(0), "rb", buffering=1 << 20)
    replies = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, replies


def keep_memory() -> None:
    """Let malloc keep freed memory for the next request.

    A Complete frees and takes some 10 MiB, and returning them to the system each time costs a
    quarter of its time in page faults: 1,200 a link, against 5 with this (13.5.37, glibc 2.36).
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_M_MMAP_THRESHOLD, 32 * MIB)
        libc.mallopt(_M_TRIM_THRESHOLD, 256 * MIB)


def _unbuffer_stdout() -> None:
    """Make C's ``stdout`` write at once, so that what was printed isn't lost in a crash."""
    libc = ctypes.CDLL(None)
    with contextlib.suppress(ValueError):  # a C library that has no such symbol
        stdout = ctypes.c_void_p.in_dll(libc, "stdout")
        libc.setvbuf(stdout, None, 2, ctypes.c_size_t(0))


def die_with(parent: int) -> None:
    """Ask the kernel to end this process with its parent; 0 requests nothing.

    The parent gives 0 when it starts children from a thread, since the kernel would end them with
    that thread. The clock of each request then ends an abandoned child.
    """
    if parent:
        sandbox.call_libc("prctl", _PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


def _limit_cpu(seconds: float, *, spare: int) -> None:
    """Allow so many seconds of CPU from now, in whole ones; SIGXCPU ends the process after them."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    limit = math.ceil(usage.ru_utime + usage.ru_stime + seconds) or 1
    sandbox.lower(resource.RLIMIT_CPU, limit, spare=spare)


def printed(descriptor: int = 2) -> bytes:
    """Return the tail of the output since the last call; the file is empty afterwards."""
    size = os.lseek(descriptor, 0, os.SEEK_END)
    if not size:
        return b""
    tail = os.pread(descriptor, _PRINTED_TAIL, max(0, size - _PRINTED_TAIL))
    os.ftruncate(descriptor, 0)
    return tail.partition(_OURS)[0]


Reply = dict[str, Any]


class ChildSettings(Struct, frozen=True):
    """The settings of a child, from its command line.

    Attributes:
        parent: process that it must not outlive; 0 leaves that to the clock.
        notes: descriptor of the memory for notes, see ``protocol``.
        fresh: True to serve each request in a process that served none before.
        limits: the limits of each request.
    """

    parent: int
    notes: int
    fresh: bool
    limits: TrialLimits


class Server(ABC):
    """A process in which a library answers requests.

    Attributes:
        forks: True if a fork of a process with the loaded library can use it.
        reserves_memory: True if it reserves far more address space than it uses.
        writes_files: True if it writes files besides its output.
        open_files: the largest number of files that it opens at a time.
        limits: the limits of each request.
        notes: memory that its parent shares, see ``protocol``.
    """

    forks: bool = True
    reserves_memory: bool = False
    writes_files: bool = False
    open_files: int = 1024
    limits: TrialLimits
    notes: memoryview

    @abstractmethod
    def start(self) -> Reply:
        """Enter the sandbox, load the library, and return the handshake for the parent.

        Raises:
            TrialImpossible: it can't be loaded, or is a different library.
            Missing: it is missing.
        """

    def calls(self) -> Calls | None:
        """Return the calls that stay allowed after the load; None: it runs no code of an input."""
        return profiles.computing()

    @abstractmethod
    def serve(self, message: Message) -> tuple[Reply, bytes]:
        """Return the reply to a request, and its output; note each step before it."""

    def at(self, step: int, number: int = 0) -> None:
        """Note the current step, and the number of the input."""
        self.notes[protocol.NOTE_STEP], self.notes[protocol.NOTE_INPUT] = step, number

    def run(self) -> None:
        """Load the library and serve until the parent closes; settings are the last argument."""
        settings = msgspec.json.decode(sys.argv[-1], type=ChildSettings)
        self.limits = settings.limits
        self._requests, self._replies = _take_protocol()
        die_with(settings.parent)
        self._limit_itself()
        _unbuffer_stdout()
        self.notes = memoryview(mmap.mmap(settings.notes, protocol.NOTES_SIZE)).cast("I")
        os.close(settings.notes)
        handshake: Reply = {}
        if self.forks or not settings.fresh:
            try:
                handshake = self.start()
            except TrialImpossible as error:
                handshake = {"impossible": str(error)}
            except Missing as error:
                handshake = {"missing": str(error)}
            printed()
        self._send(handshake)
        if "impossible" in handshake or "missing" in handshake:
            return
        if not settings.fresh:
            self._seal()
        while (frame := protocol.read_requests(self._requests)) is not None:
            cpu_seconds, messages = frame
            if settings.fresh:
                self._serve_in_a_fork(list(messages), cpu_seconds)
            else:
                _limit_cpu(cpu_seconds, spare=-1)
                self._serve_each(list(messages))

    def _limit_itself(self) -> None:
        """Limit memory, tasks, files and printing, and leave no core dumps behind.

        Memory is address space; where the library reserves far more of it than it uses (the CUDA
        driver maps all memory of all GPUs), it is memory that the process can write.
        """
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # System-wide crash reporters ignore RLIMIT_CORE.
        sandbox.call_libc("prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0)
        memory = resource.RLIMIT_DATA if self.reserves_memory else resource.RLIMIT_AS
        sandbox.lower(memory, self.limits.memory_bytes)
        if not self.writes_files:
            sandbox.lower(resource.RLIMIT_FSIZE, self.limits.printed_bytes)
        sandbox.limit_tasks_and_files(self.open_files)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # printing too much fails, and does not kill
        # Ctrl-C is the parent's affair, which ends its children.
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _serve_each(self, messages: Sequence[Message]) -> None:
        """Serve the requests of a frame one after the other; they share its CPU seconds."""
        for message in messages:
            signal.setitimer(signal.ITIMER_REAL, self.limits.wall_seconds)
            self._send(*self._reply_to(message))
        signal.setitimer(signal.ITIMER_REAL, 0)  # time may pass while waiting for the parent

    def _serve_in_a_fork(self, messages: Sequence[Message], cpu_seconds: float) -> None:
        """Serve the requests of a frame in a fork, and pass on what it replies and how it ended.

        The fork is made when the library was loaded but never used, or, where it does not survive
        that, not loaded yet: as good as a new process, for a few milliseconds. It has neither end
        of this process's pipes, so that it can answer for no requests but those of its frame.
        """
        self.at(protocol.AT_REST)
        zygote = os.getpid()
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            die_with(zygote)
            os.close(read_end)
            os.close(self._replies)
            self._requests.close()
            self._replies = write_end
            self._serve_and_end(messages, cpu_seconds)
        os.close(write_end)
        with os.fdopen(read_end, "rb", buffering=0) as pipe:
            while data := pipe.read(MIB):
                self._send({}, data)
        _, status = os.waitpid(child, 0)
        step, number = self.notes[protocol.NOTE_STEP], self.notes[protocol.NOTE_INPUT]
        text = printed().decode("utf-8", "replace")
        died = os.waitstatus_to_exitcode(status)
        self._send({"died": died, "step": step, "input": number, "printed": text})

    def _serve_and_end(self, messages: Sequence[Message], cpu_seconds: float) -> None:
        """Serve the requests of a frame in a process of its own, which ends with the last."""
        if not self.forks:
            self.start()
            printed()
        # At the hard limit SIGKILL comes, which says less.
        _limit_cpu(cpu_seconds, spare=1)
        self._seal()
        self._serve_each(messages)
        os._exit(0)

    def _seal(self) -> None:
        calls = self.calls()
        if calls is not None:
            sandbox.seal(self.limits, calls)

    def _reply_to(self, message: Message) -> tuple[Reply, bytes]:
        reply, output = self.serve(message)
        self.notes[protocol.NOTE_STEP] = protocol.AT_REST
        if text := printed():
            reply["printed"] = text.decode("utf-8", "replace")
        return reply, output

    def _send(self, header: object, body: bytes = b"") -> None:
        """Write a whole frame."""
        write_all(self._replies, protocol.head_of(header, len(body)) + body)
