"""Take from this process, for good, what a trial has no use for: files, programs, calls, rights.

Code that is linked or loaded may take over the library that reads it. Two mechanisms of Linux hold
it then, each used where the kernel has it: Landlock allows the files that are named and no others,
seccomp allows the system calls that are named and no others. Neither needs a privilege or can be
undone, and both hold for all that the process starts. A process of root keeps no capability.

Sources: landlock(7), seccomp(2), capabilities(7), include/uapi/linux/{landlock,seccomp,audit,
capability}.h of Linux 6.18; Landlock's version 9 from the header of Linux 7.1.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import resource
import struct
import sys
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from ltocompat.trial import system_calls
from ltocompat.trial.values import LANDLOCK, SECCOMP, TrialImpossible, TrialLimits

_PR_GET_SECCOMP, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 21, 22, 2
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_CAPABILITIES_V3, _DAC_READ_SEARCH = 0x20080522, 1 << 2
_CAPSET = {"x86_64": 126, "aarch64": 91}

# Landlock: its calls have the same numbers everywhere; a right is a bit.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE = (1 << n for n in range(6))
_MAKE_DIR, _MAKE_REG, _MAKE_SYM = 1 << 7, 1 << 8, 1 << 12
_TRUNCATE, _IOCTL_DEV, _RESOLVE_UNIX = 1 << 14, 1 << 15, 1 << 16
_READ = _READ_FILE | _READ_DIR
_USE = _READ | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV | _RESOLVE_UNIX
_MAKE = _READ | _WRITE_FILE | _TRUNCATE
_MAKE |= _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SYM
_ON_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV | _RESOLVE_UNIX
# Rights on files, by the version since which there are so many: 2 moves between folders, 3
# truncation, 5 devices, 9 sockets in files. 4 also holds TCP, 6 signals and abstract sockets.
_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16, 9: 17}
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

# Others of the user may start as many processes and threads meanwhile.
_MORE_TASKS = 4096


class Files(Struct, frozen=True):
    """The paths that may still be opened, with everything below them; missing paths are left out.

    Attributes:
        read: to read. The folders of the loader, Python and this package can always be read.
        use: existing devices and files to read and write.
        make: folders in which files, folders and links can be made and removed.
        execute: programs to start.
    """

    read: tuple[str, ...] = ()
    use: tuple[str, ...] = ()
    make: tuple[str, ...] = ()
    execute: tuple[str, ...] = ()


class Word(Struct, frozen=True):
    """A condition on a call: ``argument & mask == value``.

    Attributes:
        argument: its position, from 0.
        mask: the bits that count.
        value: the required value of these bits.
        half: 0 for the lower 32 bits of the argument, 1 for the upper ones.
    """

    argument: int
    mask: int
    value: int
    half: int = 0


class Calls(Struct, frozen=True):
    """System calls that a process may make.

    Attributes:
        allowed: their names.
        conditions: for some calls, the cases in which they are allowed; all words of a case have to
            hold.
        errors: the errors of some refused calls; by default EPERM, and ENOSYS for calls of a later
            Linux.
    """

    allowed: frozenset[str]
    conditions: Mapping[str, tuple[tuple[Word, ...], ...]] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)


def available() -> tuple[str, ...]:
    """Return the mechanisms of this system."""
    if sys.platform != "linux":
        return ()
    seccomp = platform.machine() in _AUDIT and call_libc("prctl", _PR_GET_SECCOMP, 0, 0, 0, 0) >= 0
    there = {LANDLOCK: landlock_version() > 0, SECCOMP: seccomp}
    return tuple(mechanism for mechanism, is_there in there.items() if is_there)


def landlock_version() -> int:
    """Return the version of Landlock's interface that the kernel has; below 1 for none."""
    return call_libc("syscall", _CREATE_RULESET, None, 0, _ASK_VERSION)


def enter(limits: TrialLimits, files: Files, calls: Calls, *, landlock_since: int = 1) -> list[str]:
    """Confine this process to these files and calls; return the active mechanisms.

    Args:
        limits: the wanted mechanisms.
        files: the files that it may open.
        calls: the system calls that it may make.
        landlock_since: the Landlock version that supports all of ``files``; an older one is used,
            but counts as missing.

    Raises:
        TrialImpossible: a mechanism is missing here, and ``limits`` require all of them.
    """
    held: list[str] = []
    if sys.platform == "linux":
        # A program that is started has none: root's are cut to the bounding set. Dropping fails
        # beyond the last one, and where there is none to drop.
        for number in range(64):
            if call_libc("prctl", _PR_CAPBSET_DROP, number, 0, 0, 0) < 0:
                break
        drop_capabilities(_DAC_READ_SEARCH)  # the library may lie in a folder of somebody else's
        version = min(landlock_version(), limits.landlock_version)
        confined = LANDLOCK in limits.sandbox and confine_files(files, version)
        if confined and version >= landlock_since:
            held.append(LANDLOCK)
        if SECCOMP in limits.sandbox and confine_calls(calls):
            held.append(SECCOMP)
    missing = [mechanism for mechanism in (LANDLOCK, SECCOMP) if mechanism not in held]
    if missing and limits.require_sandbox:
        since = {1: "5.13", 9: "7.1"}[landlock_since]
        raise TrialImpossible(
            f"{' and '.join(missing)} can't confine a trial here; use Linux {since} or later with "
            "Landlock and seccomp, or, for trusted code, leave out --require-sandbox"
        )
    return held


def seal(limits: TrialLimits, calls: Calls) -> None:
    """Allow fewer calls after the library is loaded, and drop all capabilities."""
    if sys.platform != "linux":
        return
    drop_capabilities()
    if SECCOMP in limits.sandbox:
        confine_calls(calls)


def limit_tasks_and_files(open_files: int) -> None:
    """Limit the open files of this process, and the tasks of its user.

    The kernel counts all tasks of a user, but never tasks of root.
    """
    # Without /proc there is no bound.
    with contextlib.suppress(OSError), open("/proc/loadavg", encoding="ascii") as file:
        tasks = file.read().split()[3].partition("/")[2]
        lower(resource.RLIMIT_NPROC, int(tasks) + _MORE_TASKS)
    lower(resource.RLIMIT_NOFILE, open_files)


def lower(what: int, limit: int, *, spare: int = 0) -> None:
    """Lower a limit of this process permanently.

    Args:
        what: the resource, such as ``resource.RLIMIT_AS``.
        limit: the soft limit.
        spare: the difference of the hard limit; below 0, the hard limit stays.
    """
    _, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
        spare = min(spare, hard - limit)
    resource.setrlimit(what, (limit, hard if spare < 0 else limit + spare))


def drop_capabilities(keep: int = 0) -> None:
    """Drop all capabilities except these bits."""
    number = _CAPSET.get(platform.machine(), -1)
    header = struct.pack("=Ii", _CAPABILITIES_V3, 0)
    for kept in dict.fromkeys((keep, 0)):  # which can't be kept where it isn't there
        if call_libc("syscall", number, header, struct.pack("=6I", kept, kept, 0, 0, 0, 0)) == 0:
            break


def confine_files(files: Files, version: int) -> bool:
    """Allow only these files, no TCP, and no signals to others; return whether Landlock did.

    Args:
        files: the files that may be opened.
        version: the version of Landlock whose rights are used.
    """
    if version < 1:
        return False
    rights = (1 << max(count for since, count in _RIGHTS.items() if since <= version)) - 1
    attributes = [rights]
    attributes += [_BOTH_TCP] if version >= _TCP_SINCE else []
    attributes += [_BOTH_SCOPES] if version >= _SCOPES_SINCE else []
    data = struct.pack(f"={len(attributes)}Q", *attributes)
    rules = call_libc("syscall", _CREATE_RULESET, data, len(data), 0)
    if rules < 0:
        return False
    try:
        for paths, allowed in (
            ((*files.read, *_LOADER, *_READABLE, *_python_folders()), _READ),
            (files.use, _USE),
            (files.make, _MAKE),
            (files.execute, _READ_FILE | _EXECUTE),
        ):
            for path in paths:
                _allow(rules, path, allowed & rights)
        return _no_new_privileges() and call_libc("syscall", _RESTRICT_SELF, rules, 0) == 0
    finally:
        os.close(rules)


def _python_folders() -> Iterator[str]:
    """Yield Python's library, and this package; not the folder around it, perhaps a project's."""
    yield os.path.dirname(os.__file__)
    yield os.path.dirname(os.path.dirname(__file__))
    yield from (path for path in sys.path if path.endswith("lib-dynload"))


def _allow(rules: int, path: str, allowed: int) -> None:
    with contextlib.suppress(OSError):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            allowed &= -1 if os.path.isdir(path) else _ON_A_FILE
            rule = struct.pack("=Qi", allowed, place)
            call_libc("syscall", _ADD_RULE, rules, _PATH_BENEATH, rule, 0)
        finally:
            os.close(place)


def confine_calls(calls: Calls) -> bool:
    """Let all system calls except these fail; return whether seccomp did."""
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
    ]
    for name in sorted(known.keys() & calls.allowed, key=known.__getitem__):
        refusal = _REFUSE | calls.errors.get(name, errno.EPERM)
        program += _permission(known[name], calls.conditions.get(name, ((),)), refusal)
    older = dict.fromkeys(system_calls.calls_of("older_instead"), errno.ENOSYS)
    for name, code in (older | dict(calls.errors)).items():
        if name in known and name not in calls.allowed:
            program.append(_INSTRUCTION.pack(_JUMP_IF_EQUAL, 0, 1, known[name]))
            program.append(_INSTRUCTION.pack(_RETURN, 0, 0, _REFUSE | code))
    program += [
        _INSTRUCTION.pack(_JUMP_IF_AT_LEAST, 0, 1, system_calls.NEWEST + 1),
        _INSTRUCTION.pack(_RETURN, 0, 0, _REFUSE | errno.ENOSYS),
        _INSTRUCTION.pack(_RETURN, 0, 0, _REFUSE | errno.EPERM),
    ]
    code_ = ctypes.create_string_buffer(b"".join(program))
    filter_ = struct.pack("@HP", len(program), ctypes.addressof(code_))  # struct sock_fprog
    seccomp = _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, filter_, 0, 0
    return _no_new_privileges() and call_libc("prctl", *seccomp) == 0


def _permission(number: int, cases: tuple[tuple[Word, ...], ...], refusal: int) -> list[bytes]:
    """Return the instructions that allow a call in these cases, and refuse it in all others."""
    block: list[bytes] = []
    for words in cases:
        case: list[bytes] = []
        for index, word in enumerate(words):
            left = len(words) - index - 1  # both processors are little-endian
            place = _ARGUMENTS + 8 * word.argument + 4 * word.half
            case += [
                _INSTRUCTION.pack(_LOAD, 0, 0, place),
                _INSTRUCTION.pack(_AND, 0, 0, word.mask),
                _INSTRUCTION.pack(_JUMP_IF_EQUAL, 0, 3 * left + 1, word.value),
            ]
        block += [*case, _INSTRUCTION.pack(_RETURN, 0, 0, _ALLOW)]
    if all(cases):
        block.append(_INSTRUCTION.pack(_RETURN, 0, 0, refusal))
    return [_INSTRUCTION.pack(_JUMP_IF_EQUAL, 0, len(block), number), *block]


def _no_new_privileges() -> bool:
    """Gain no rights by starting programs; both mechanisms ask for it."""
    return call_libc("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0


def call_libc(function: str, *arguments: int | bytes | None) -> int:
    """Return the result of a function of libc; below 0 for a failure."""
    libc = ctypes.CDLL(None)
    libc[function].restype = ctypes.c_long
    words = (ctypes.c_long(word) if isinstance(word, int) else word for word in arguments)
    return int(libc[function](*words))
