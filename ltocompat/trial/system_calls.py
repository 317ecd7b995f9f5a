"""System calls that processes of a trial may make, by their numbers on each processor.

Numbers: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h (aarch64) of
Linux 6.18; a call keeps its number for ever. ``-`` where a processor lacks the call.

Calls were measured with strace, on every release that installs: nvJitLink 12.0.140 .. 13.5.37 and
nvlink 11.8.89 and 13.0.48 .. 13.5.37 with 150 to 250 links each (2026-11-25), and libcuda
580.159.04 on an H100 (2026-11-22 and 2026-11-25). NVRTC was not traced: it has nvJitLink's calls
and those that open files to read. Beside what was measured there are calls of the same sort that
other releases of libc and Python make instead, such as ``stat``.
"""

from __future__ import annotations

PROCESSORS = ("x86_64", "aarch64")
NEWEST = 466
"""The last call, on both, of which it was decided whether a trial may make it."""
_NUMBERS: dict[str, tuple[int | None, ...]] = {}


def numbers(processor: str) -> dict[str, int]:
    """Return the number of each call that this processor has, by its name."""
    column = PROCESSORS.index(processor)
    found = ((name, row[column]) for name, row in _NUMBERS.items())
    return {name: number for name, number in found if number is not None}


def _group(text: str) -> frozenset[str]:
    """Return the names of some calls, whose numbers are kept."""
    rows = [row.split() for row in text.split(",")]
    for name, *columns in rows:
        _NUMBERS[name] = tuple(None if number == "-" else int(number) for number in columns)
    return frozenset(name for name, *_ in rows)


COMPUTING = _group(
    """
    read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, lseek 8 62, ftruncate 77 46,
    fstat 5 80, close 3 57, close_range 436 436, dup 32 23, dup2 33 -, dup3 292 24, fcntl 72 25,
    ioctl 16 29, poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72, eventfd2 290 19,
    pipe 22 -, pipe2 293 59, mmap 9 222, mprotect 10 226, munmap 11 215, mremap 25 216,
    madvise 28 233, brk 12 214, mincore 27 232, membarrier 324 283, mlock 149 228, munlock 150 229,
    futex 202 98, futex_waitv 449 449, set_robust_list 273 99, rseq 334 293,
    set_tid_address 218 96, arch_prctl 158 -, clone 56 220, rt_sigaction 13 134,
    rt_sigprocmask 14 135, rt_sigreturn 15 139, sigaltstack 131 132, rt_sigpending 127 136,
    rt_sigtimedwait 128 137, rt_sigsuspend 130 133, restart_syscall 219 128, pause 34 -,
    kill 62 129, tgkill 234 131, exit 60 93, exit_group 231 94, nanosleep 35 101,
    clock_nanosleep 230 115, clock_gettime 228 113, clock_getres 229 114, gettimeofday 96 169,
    time 201 -, times 100 153, setitimer 38 103, alarm 37 -, sched_yield 24 124,
    sched_getaffinity 204 123, sched_get_priority_max 146 125, sched_get_priority_min 147 126,
    sched_getparam 143 121, sched_getscheduler 145 120, getcpu 309 168, getpid 39 172,
    getppid 110 173, gettid 186 178, getuid 102 174, geteuid 107 175, getgid 104 176,
    getegid 108 177, uname 63 160, sysinfo 99 179, getrusage 98 165, getrlimit 97 163,
    prlimit64 302 261, prctl 157 167, getrandom 318 278
    """
)
"""Make bytes of bytes, in memory, with threads and clocks of its own."""

LOOKING = _group(
    """
    open 2 -, openat 257 56, stat 4 -, lstat 6 -, newfstatat 262 79, statx 332 291, access 21 -,
    faccessat 269 48, faccessat2 439 439, readlink 89 -, readlinkat 267 78, getcwd 79 17,
    getdents64 217 61, statfs 137 43, fstatfs 138 44
    """
)
"""Find and open files, as a loader of libraries does."""

FORKING = _group("fork 57 -, vfork 58 -, wait4 61 260")
"""Start processes: of our own process alone, before code of an input is at work."""

CONFINING = _group(
    """
    capset 126 91, landlock_create_ruleset 444 444, landlock_add_rule 445 445,
    landlock_restrict_self 446 446
    """
)
"""Confine itself further, likewise."""

MAKING = _group(
    """
    mkdir 83 -, mkdirat 258 34, unlink 87 -, unlinkat 263 35, rmdir 84 -, symlink 88 -,
    symlinkat 266 36, chdir 80 49
    """
)
"""Lay out a folder for a program: of our own process alone."""

STARTING = _group("execve 59 221")
"""Become the program that may be started."""

DRIVING = _group(
    """
    socket 41 198, setsockopt 54 208, bind 49 200, listen 50 201, get_mempolicy 239 236,
    set_mempolicy 238 237, mbind 237 235, memfd_create 319 279, fallocate 285 47,
    sched_setaffinity 203 122, capget 125 90, timerfd_create 283 85, timerfd_settime 286 86,
    epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -, epoll_pwait 281 22
    """
)
"""Use a driver."""

SERVICE = _group(
    """
    connect 42 203, sendmsg 46 211, recvmsg 47 212, sendto 44 206, recvfrom 45 207,
    getsockopt 55 209, getsockname 51 204, shutdown 48 210
    """
)
"""Speak with the driver's multi-process service."""

OLDER_INSTEAD = _group("clone3 435 435, openat2 437 437")
"""Calls whose flags lie in memory, which no filter can read: libc then takes the older call."""
