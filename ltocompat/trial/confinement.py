"""What a child lays upon itself before it loads a foreign library."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
from typing import BinaryIO

from ltocompat.model.limits import KIB, MIB

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
# malloc.h of glibc
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_PRINTED_TAIL = 4 * KIB
# What faulthandler writes belongs to us; what stands before it is the library's.
_OURS = b"Fatal Python error: "


def take_protocol() -> tuple[BinaryIO, int]:
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
    """Let malloc keep what was freed for the next request.

    A Complete frees and takes some 10 MiB, and returning them to the system each time costs a
    quarter of its time in page faults: 1,200 a link, against 5 with this (13.5.37, glibc 2.36).
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_M_MMAP_THRESHOLD, 32 * MIB)
        libc.mallopt(_M_TRIM_THRESHOLD, 256 * MIB)


def unbuffer_stdout() -> None:
    """Make C's ``stdout`` write at once, so that what was printed isn't lost in a crash."""
    libc = ctypes.CDLL(None)
    with contextlib.suppress(ValueError):  # a C library that has no such symbol
        stdout = ctypes.c_void_p.in_dll(libc, "stdout")
        libc.setvbuf(stdout, None, 2, ctypes.c_size_t(0))


def confine(memory_bytes: int, printed_bytes: int, *, reserves: bool = False) -> None:
    """Limit memory and printing, and leave no core dumps behind.

    Args:
        memory_bytes: of address space; where the library reserves far more of it than it uses (the
            CUDA driver maps all memory of all GPUs), of memory that the process can write.
        printed_bytes: of any file that it writes, and so of what it prints.
        reserves: whether the library does so.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _prctl(_PR_SET_DUMPABLE, 0)  # system-wide crash reporters ignore RLIMIT_CORE
    _lower(resource.RLIMIT_DATA if reserves else resource.RLIMIT_AS, memory_bytes)
    _lower(resource.RLIMIT_FSIZE, printed_bytes)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # printing too much fails, and does not kill
    # Ctrl-C is the parent's affair, which ends its children.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def die_with(parent: int) -> None:
    """Ask the kernel to end this process with its parent; 0 asks for nothing.

    The parent gives 0 when it starts children from a thread, since the kernel would end them with
    that thread. The clock of each request then ends a child that is left alone.
    """
    if parent:
        _prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:
            os._exit(1)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None)
    if hasattr(libc, "prctl"):  # Linux alone has it
        libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def _lower(what: int, limit: int) -> None:
    _, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(what, (limit, hard))


def start_clocks(cpu_seconds: int, wall_seconds: float) -> None:
    """Allow so many seconds from now; SIGXCPU or SIGALRM ends the process after them."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    _lower(resource.RLIMIT_CPU, int(usage.ru_utime + usage.ru_stime) + cpu_seconds + 1)
    signal.setitimer(signal.ITIMER_REAL, wall_seconds)


def stop_clock() -> None:
    """Let time pass, while waiting for the parent."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def printed(descriptor: int = 2) -> bytes:
    """The tail of what was printed since the last call; the file is empty afterwards."""
    size = os.lseek(descriptor, 0, os.SEEK_END)
    if not size:
        return b""
    tail = os.pread(descriptor, _PRINTED_TAIL, max(0, size - _PRINTED_TAIL))
    os.ftruncate(descriptor, 0)
    return tail.partition(_OURS)[0]
