"""System calls that each process of a trial may make, and in which cases.

There are four sorts: our own process while it loads a library (and forks), our own process that
lays out files for a program, that program, and a process in which code of an input may be at work.
Flags and numbers: include/uapi/asm-generic/fcntl.h, linux/sched.h, linux/prctl.h and asm-generic/
ioctls.h of Linux 6.18, the same on both processors; NVIDIA's ioctls by strace of libcuda 580.159.04
on an H100 (types ``F`` and 0) and by nvgpu's headers for Tegra.
"""

from __future__ import annotations

import errno
import os
import resource
import signal

from ltocompat.trial.sandbox import Calls, Word
from ltocompat.trial.system_calls import calls_of

Cases = tuple[tuple[Word, ...], ...]

_ALL = 0xFFFFFFFF
_ACCESS, _CREATE, _TRUNCATE, _NAMELESS = 0o3, 0o100, 0o1000, 0o20000000
_OPENING = _ACCESS | _CREATE | _TRUNCATE | _NAMELESS
_THREAD, _NAMESPACES = 0x10000, 0x7E020000
_SET_DEATH_SIGNAL, _GET_DUMPABLE, _SET_DUMPABLE, _SET_NAME, _GET_NAME = 1, 3, 4, 15, 16
_SET_SECCOMP, _DROP_CAPABILITY, _NO_NEW_PRIVILEGES, _NAME_MEMORY = 22, 24, 38, 0x53564D41
_TERMINAL_OR_NOT, _BLOCKING, _NOT_INHERITED, _INHERITED = 0x5401, 0x5421, 0x5451, 0x5450
_DUPLICATE_CLOSING = 1030
_STREAM, _PACKETS = 1, 5
_UNIX = 1
# Signals that a process gets by its own fault, which faulthandler raises again. A fork has another
# number than the process whose conditions it has, until it gets its own.
_FAULTS = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)


def _one_of(argument: int, *values: int) -> Cases:
    return tuple((Word(argument, _ALL, value),) for value in values)


def _opening(*flags: int) -> dict[str, Cases]:
    """Return cases of opening a file with one of these flags for access, creation, truncation."""
    return {
        name: tuple((Word(argument, _OPENING, flag),) for flag in flags)
        for name, argument in (("open", 1), ("openat", 2))
    }


_READING = _opening(os.O_RDONLY)
_FORKS: Cases = ((Word(0, _NAMESPACES, 0),),)
_THREADS: Cases = ((Word(0, _NAMESPACES | _THREAD, _THREAD),),)
_NAMES = (_SET_NAME, _GET_NAME, _GET_DUMPABLE, _NAME_MEMORY)
_ASK_LIMIT = (Word(0, _ALL, 0), Word(2, _ALL, 0), Word(2, _ALL, 0, half=1))
_SET_CPU_LIMIT = (Word(0, _ALL, 0), Word(1, _ALL, resource.RLIMIT_CPU))
_STREAMS = _one_of(1, _TERMINAL_OR_NOT, _BLOCKING, _NOT_INHERITED, _INHERITED)
# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL: never F_SETOWN, F_NOTIFY, F_SETLEASE or a lock.
_DESCRIPTORS: Cases = ((Word(1, _ALL & ~3, 0),), *_one_of(1, 4, _DUPLICATE_CLOSING))
# T has to have a direction, which no call of a terminal has that types for its user.
_DEVICE_TYPES = "F\0dmAGHNDCP"
_DEVICES: Cases = (
    *((Word(1, 0xFF00, ord(letter) << 8),) for letter in _DEVICE_TYPES),
    *((Word(1, 0xC000FF00, direction << 30 | ord("T") << 8),) for direction in (1, 2, 3)),
)


def _own_process(*, forks: bool) -> dict[str, Cases]:
    """Return cases of calls that our own code makes before code of an input is at work."""
    setting = (_SET_DEATH_SIGNAL, _SET_DUMPABLE, _SET_SECCOMP, _DROP_CAPABILITY, _NO_NEW_PRIVILEGES)
    return {
        "fcntl": _DESCRIPTORS,
        "ioctl": _STREAMS,
        "clone": _FORKS if forks else _THREADS,
        "kill": (*_one_of(0, os.getpid()), *(_one_of(1, *_FAULTS) if forks else ())),
        "tgkill": (*_one_of(0, os.getpid()), *(_one_of(2, *_FAULTS) if forks else ())),
        "prlimit64": _one_of(0, 0),
        "prctl": _one_of(0, *_NAMES, *setting),
    }


def _foreign(*, serves_on: bool) -> dict[str, Cases]:
    """Return cases of calls for code of an input: about this process alone, and no limit raised.

    Args:
        serves_on: the process serves more than one frame, with CPU time for each.
    """
    return _own_process(forks=False) | {
        "prlimit64": (_ASK_LIMIT, *((_SET_CPU_LIMIT,) if serves_on else ())),
        "prctl": _one_of(0, *_NAMES),
    }


def loading(*, forks: bool) -> Calls:
    """Return the calls of our own process while it loads a library."""
    calls = calls_of("computing", "looking", "confining", *(["forking"] if forks else []))
    return Calls(calls, _own_process(forks=forks) | _READING)


def computing(*, serves_on: bool = False, reads: bool = False) -> Calls:
    """Return the calls of a library that only converts bytes.

    Args:
        serves_on: see ``_foreign``.
        reads: True if it opens more of its own files.
    """
    calls = calls_of("computing", *(["looking"] if reads else []))
    return Calls(calls, _foreign(serves_on=serves_on) | _READING)


def laying_out() -> Calls:
    """Return the calls of our own process that writes files for a program and starts it."""
    calls = calls_of("computing", "looking", "forking", "confining", "making", "starting")
    return Calls(calls, _own_process(forks=True))


def program() -> Calls:
    """Return the calls of a program that reads files and writes one existing file."""
    opening = _opening(os.O_RDONLY, os.O_WRONLY | _CREATE | _TRUNCATE)
    calls = calls_of("computing", "looking", "starting")
    return Calls(calls, _foreign(serves_on=False) | opening)


def driver(*, service: bool, starting: bool = False) -> Calls:
    """Return the calls of a driver, or of our own process while it starts one.

    Args:
        service: True if the driver's multi-process service (MPS) is set up here.
        starting: True if the driver is not started yet.
    """
    own = _own_process(forks=False) if starting else _foreign(serves_on=True)
    conditions = own | {
        **_opening(os.O_RDONLY, os.O_RDWR, os.O_WRONLY | _CREATE | _TRUNCATE),
        "ioctl": (*_STREAMS, *_DEVICES),
        "socket": tuple((Word(0, _ALL, _UNIX), Word(1, 15, kind)) for kind in (_STREAM, _PACKETS)),
        "sched_setaffinity": _one_of(0, 0),
    }
    more = [*(["service"] if service else []), *(["confining"] if starting else [])]
    # libcuda 580 unlinks the name of its socket and asks for the service, and starts only where
    # neither is there.
    allowed = calls_of("computing", "looking", "driving", *more)
    return Calls(allowed, conditions, {"unlink": errno.ENOENT, "connect": errno.ENOENT})
