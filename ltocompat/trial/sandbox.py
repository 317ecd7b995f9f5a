"""Take from this process, for good, what a trial has no use for: files, programs, the network.

Code that is linked or loaded may take over the library that reads it. Two mechanisms of Linux hold
it then, each used where the kernel has it: Landlock allows the files that are named and no others,
seccomp refuses system calls. Neither needs a privilege or can be undone, and both hold for all that
the process starts.

Sources: landlock(7), seccomp(2), include/uapi/linux/{landlock,seccomp,audit}.h of Linux 6.18.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from ltocompat.trial import system_calls
from ltocompat.trial.values import LANDLOCK, SECCOMP, TrialImpossible, TrialLimits

_PR_GET_SECCOMP, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 21, 22, 2
_PR_SET_NO_NEW_PRIVS = 38

# Landlock: its calls have the same numbers everywhere; a right is a bit.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_ON_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
# Rights on files that a version knows; later ones also hold TCP, then signals and abstract sockets.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_TCP_SINCE, _BOTH_TCP = 4, 3
_SCOPES_SINCE, _BOTH_SCOPES = 6, 3

# seccomp: a program of classic BPF over ``struct seccomp_data``.
_LOAD, _AND, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _PROCESSOR, _ARGUMENTS = 0, 4, 16  # where they lie; arguments have 8 bytes
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000  # the same calls under other numbers, on x86-64 alone
_INSTRUCTION = struct.Struct("=HBBI")

# Whatever the loader and this package may open; both are needed for libraries and lazy imports.
_LOADER = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
_READABLE = ("/dev/null", "/dev/urandom", "/proc/cpuinfo", "/sys/devices/system/cpu")


class Files(Struct, frozen=True):
    """What may still be opened, with all that lies below it; what doesn't exist is left out.

    Attributes:
        read: to read. The loader's folders, Python's and this package's can always be read.
        write: to read, write, make and remove; a device, to use.
        execute: programs to start.
    """

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    execute: tuple[str, ...] = ()


class OnlyIf(Struct, frozen=True):
    """A call is let through if ``argument & mask == value``; argument: its place, from 0."""

    argument: int
    mask: int
    value: int


_WHOLE = 0xFFFFFFFF
_WRITING = 0o3 | 0o100 | 0o1000  # Linux's O_ACCMODE, O_CREAT and O_TRUNC: Windows lacks a name
_CLONE_THREAD = 0x10000
FOR_READING: Mapping[str, OnlyIf] = {
    "open": OnlyIf(1, _WRITING, os.O_RDONLY),
    "openat": OnlyIf(2, _WRITING, os.O_RDONLY),
}
UNIX_SOCKETS: Mapping[str, OnlyIf] = {"socket": OnlyIf(0, _WHOLE, 1)}
# 0 stands for the thread itself. F_SETOWN, F_SETSIG and F_SETOWN_EX are 8, 10 and 15.
_ALWAYS: Mapping[str, OnlyIf] = {
    **dict.fromkeys(
        ("sched_setaffinity", "sched_setparam", "sched_setscheduler", "sched_setattr"),
        OnlyIf(0, _WHOLE, 0),
    ),
    "fcntl": OnlyIf(1, 8, 0),
}
# What is not answered with EPERM. The flags of two calls lie in memory, which no filter can read:
# libc then takes the older call. libcuda 580 unlinks the empty name of its abstract socket, and
# starts only where that is not there (strace on an H100).
_ERRORS = {"clone3": errno.ENOSYS, "openat2": errno.ENOSYS, "unlink": errno.ENOENT}


def available() -> tuple[str, ...]:
    """The mechanisms that this system has."""
    if sys.platform != "linux":
        return ()
    landlock = _call("syscall", _CREATE_RULESET, None, 0, _ASK_VERSION) > 0
    seccomp = platform.machine() in _AUDIT and _call("prctl", _PR_GET_SECCOMP, 0, 0, 0, 0) >= 0
    there = {LANDLOCK: landlock, SECCOMP: seccomp}
    return tuple(mechanism for mechanism, is_there in there.items() if is_there)


def enter(
    limits: TrialLimits,
    files: Files,
    refused: Iterable[str],
    conditions: Mapping[str, OnlyIf] = FOR_READING,
) -> list[str]:
    """Confine this process to these files, and refuse these calls; the mechanisms that hold.

    Raises:
        TrialImpossible: one is missing here, and ``limits`` ask for all of them.
    """
    held: list[str] = []
    if sys.platform == "linux":
        if LANDLOCK in limits.sandbox and confine_files(files):
            held.append(LANDLOCK)
        if SECCOMP in limits.sandbox and refuse(refused, conditions):
            held.append(SECCOMP)
    missing = [mechanism for mechanism in (LANDLOCK, SECCOMP) if mechanism not in held]
    if missing and limits.require_sandbox:
        raise TrialImpossible(
            f"{' and '.join(missing)} can't confine a trial here; try it on Linux 6.12 or later "
            "with both, or without --require-sandbox if you trust the code"
        )
    return held


def seal(limits: TrialLimits, refused: Iterable[str]) -> None:
    """Refuse more, now that the library is loaded; signals and limits may be set to oneself."""
    if sys.platform == "linux" and SECCOMP in limits.sandbox:
        refuse(refused, _on_itself())


def _on_itself() -> Mapping[str, OnlyIf]:
    """Conditions under which threads can be started, and limits and signals be set to oneself."""
    myself = os.getpid()
    return {
        "clone": OnlyIf(0, _CLONE_THREAD, _CLONE_THREAD),
        "kill": OnlyIf(0, _WHOLE, myself),
        "tgkill": OnlyIf(0, _WHOLE, myself),
        "prlimit64": OnlyIf(0, _WHOLE, 0),
    }


def confine_files(files: Files) -> bool:
    """Allow these files and nothing else, no TCP, no signals to others; whether Landlock did."""
    version = _call("syscall", _CREATE_RULESET, None, 0, _ASK_VERSION)
    if version < 1:
        return False
    rights = (1 << _RIGHTS.get(version, 16)) - 1
    attributes = [rights]
    attributes += [_BOTH_TCP] if version >= _TCP_SINCE else []
    attributes += [_BOTH_SCOPES] if version >= _SCOPES_SINCE else []
    data = struct.pack(f"={len(attributes)}Q", *attributes)
    rules = _call("syscall", _CREATE_RULESET, data, len(data), 0)
    if rules < 0:
        return False
    try:
        read = (*files.read, *_LOADER, *_READABLE, *_python_folders())
        for paths, allowed in (
            (read, _READ_FILE | _READ_DIR),
            (files.write, rights & ~_EXECUTE),
            (files.execute, _READ_FILE | _EXECUTE),
        ):
            for path in paths:
                _allow(rules, path, allowed & rights)
        return _no_new_privileges() and _call("syscall", _RESTRICT_SELF, rules, 0) == 0
    finally:
        os.close(rules)


def _python_folders() -> Iterator[str]:
    """Python's library, and this package; not the folder around it, which may be a project's."""
    yield os.path.dirname(os.__file__)
    yield os.path.dirname(os.path.dirname(__file__))
    yield from (path for path in sys.path if path.endswith("lib-dynload"))


def _allow(rules: int, path: str, allowed: int) -> None:
    with contextlib.suppress(OSError):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            allowed &= -1 if os.path.isdir(path) else _ON_A_FILE
            rule = struct.pack("=Qi", allowed, place)
            _call("syscall", _ADD_RULE, rules, _PATH_BENEATH, rule, 0)
        finally:
            os.close(place)


def refuse(calls: Iterable[str], conditions: Mapping[str, OnlyIf]) -> bool:
    """Let these system calls fail, but for those that meet their condition; whether seccomp did.

    A call that came with a later Linux is answered as by an earlier one: there is none.
    """
    processor = platform.machine()
    if processor not in _AUDIT:
        return False
    known = system_calls.numbers(processor)
    program = [
        _INSTRUCTION.pack(_LOAD, 0, 0, _PROCESSOR),
        _INSTRUCTION.pack(_JUMP_IF_EQUAL, 1, 0, _AUDIT[processor]),
        _INSTRUCTION.pack(_RETURN, 0, 0, _KILL),
        _INSTRUCTION.pack(_LOAD, 0, 0, _NUMBER),
        _INSTRUCTION.pack(_JUMP_IF_AT_LEAST, 0, 1, _X32),
        _INSTRUCTION.pack(_RETURN, 0, 0, _REFUSE | errno.EPERM),
        _INSTRUCTION.pack(_JUMP_IF_AT_LEAST, 0, 1, system_calls.NEWEST + 1),
        _INSTRUCTION.pack(_RETURN, 0, 0, _REFUSE | errno.ENOSYS),
    ]
    conditions = {**_ALWAYS, **conditions}
    for call in sorted(known.keys() & set(calls)):
        program += _refusal(call, known[call], conditions.get(call))
    program.append(_INSTRUCTION.pack(_RETURN, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(program))
    filter_ = struct.pack("@HP", len(program), ctypes.addressof(code))  # struct sock_fprog
    seccomp = _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, filter_, 0, 0
    return _no_new_privileges() and _call("prctl", *seccomp) == 0


def _refusal(call: str, number: int, only_if: OnlyIf | None) -> list[bytes]:
    code = _REFUSE | _ERRORS.get(call, errno.EPERM)
    answer = [_INSTRUCTION.pack(_RETURN, 0, 0, code)]
    if only_if is not None:
        low_half = _ARGUMENTS + 8 * only_if.argument  # both processors are little-endian
        answer = [
            _INSTRUCTION.pack(_LOAD, 0, 0, low_half),
            _INSTRUCTION.pack(_AND, 0, 0, only_if.mask),
            _INSTRUCTION.pack(_JUMP_IF_EQUAL, 0, 1, only_if.value),
            _INSTRUCTION.pack(_RETURN, 0, 0, _ALLOW),
            *answer,
        ]
    return [_INSTRUCTION.pack(_JUMP_IF_EQUAL, 0, len(answer), number), *answer]


def _no_new_privileges() -> bool:
    """Programs gain no rights by being started; both mechanisms ask for it."""
    return _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0


def _call(function: str, *arguments: int | bytes | None) -> int:
    """What a function of libc returns; below 0 for a failure."""
    libc = ctypes.CDLL(None)
    libc[function].restype = ctypes.c_long
    words = (ctypes.c_long(word) if isinstance(word, int) else word for word in arguments)
    return int(libc[function](*words))
