"""System calls that a trial has no use for, by their numbers on each processor.

Numbers: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h (aarch64) of
Linux 6.18; a call keeps its number for ever. ``-`` where a processor lacks the call.
"""

from __future__ import annotations

PROCESSORS = ("x86_64", "aarch64")
NEWEST = 466
"""The last call, on both, of which it was decided whether a trial may use it."""
_NUMBERS: dict[str, tuple[int | None, ...]] = {}


def numbers(processor: str) -> dict[str, int]:
    """Number of each call that this processor has, by its name."""
    column = PROCESSORS.index(processor)
    found = ((name, row[column]) for name, row in _NUMBERS.items())
    return {name: number for name, number in found if number is not None}


def _group(text: str) -> frozenset[str]:
    """The names of some calls, whose numbers are kept."""
    rows = [row.split() for row in text.split(",")]
    for name, *columns in rows:
        _NUMBERS[name] = tuple(None if number == "-" else int(number) for number in columns)
    return frozenset(name for name, *_ in rows)


PROCESSES = _group(
    """
    execve 59 221, execveat 322 281, fork 57 -, vfork 58 -, clone 56 220, clone3 435 435,
    setsid 112 157, setpgid 109 154, prlimit64 302 261, kill 62 129, tkill 200 130,
    tgkill 234 131, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240
    """
)
"""Start or stop processes, or leave the group that is ended together."""

OTHERS = _group(
    """
    ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271,
    process_madvise 440 440, process_mrelease 448 448, pidfd_open 434 434,
    pidfd_getfd 438 438, pidfd_send_signal 424 424, kcmp 312 272, get_robust_list 274 100,
    migrate_pages 256 238, move_pages 279 239, setpriority 141 140, ioprio_set 251 30,
    sched_setaffinity 203 122, sched_setparam 142 118, sched_setscheduler 144 119,
    sched_setattr 314 274
    """
)
"""Look into other processes of the user, or slow them down."""

OWNERS = _group("fcntl 72 25")
"""Let what happens to a descriptor signal another process; among much else."""

NETWORK = _group(
    """
    socket 41 198, socketpair 53 199, connect 42 203, bind 49 200, listen 50 201,
    accept 43 202, accept4 288 242
    """
)
"""Talk to others; nothing is inherited that could."""

QUEUES = _group(
    """
    shmget 29 194, shmat 30 196, shmctl 31 195, semget 64 190, semop 65 193,
    semtimedop 220 192, semctl 66 191, msgget 68 186, msgsnd 69 189, msgrcv 70 188,
    msgctl 71 187, mq_open 240 180, mq_unlink 241 181
    """
)
"""Shared between all processes of a user."""

OPENING = _group(
    """
    open 2 -, openat 257 56, openat2 437 437, creat 85 -, open_by_handle_at 304 265,
    name_to_handle_at 303 264
    """
)
"""Open files."""

CHANGING = _group(
    """
    unlink 87 -, unlinkat 263 35, rmdir 84 -, rename 82 -, renameat 264 38, renameat2 316 276,
    mkdir 83 -, mkdirat 258 34, mknod 133 -, mknodat 259 33, link 86 -, linkat 265 37,
    symlink 88 -, symlinkat 266 36, truncate 76 45, chmod 90 -, fchmod 91 52, fchmodat 268 53,
    fchmodat2 452 452, chown 92 -, lchown 94 -, fchown 93 55, fchownat 260 54, utime 132 -,
    utimes 235 -, futimesat 261 -, utimensat 280 88, setxattr 188 5, lsetxattr 189 6,
    fsetxattr 190 7, setxattrat 463 463, removexattr 197 14, lremovexattr 198 15,
    fremovexattr 199 16, removexattrat 466 466, inotify_init 253 -, inotify_init1 294 26,
    inotify_add_watch 254 27
    """
)
"""Change files by their names, and what Landlock doesn't hold: owners, modes, times, attributes,
and being told what others do with a file."""

SYSTEM = _group(
    """
    io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427, bpf 321 280,
    perf_event_open 298 241, userfaultfd 323 282, keyctl 250 219, add_key 248 217,
    request_key 249 218, init_module 175 105, finit_module 313 273, delete_module 176 106,
    kexec_load 246 104, kexec_file_load 320 294, reboot 169 142, syslog 103 116,
    personality 135 92, settimeofday 164 170, adjtimex 159 171, clock_settime 227 112,
    clock_adjtime 305 266, sethostname 170 161, setdomainname 171 162, iopl 172 -,
    ioperm 173 -, unshare 272 97, setns 308 268, mount 165 40, umount2 166 39,
    move_mount 429 429, fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433,
    open_tree 428 428, mount_setattr 442 442, pivot_root 155 41, chroot 161 51, swapon 167 224,
    swapoff 168 225, quotactl 179 60, quotactl_fd 443 443, acct 163 89, fanotify_init 300 262,
    fanotify_mark 301 263, vhangup 153 58, lsm_set_self_attr 460 460, setuid 105 146,
    setgid 106 144, setreuid 113 145, setregid 114 143, setresuid 117 147, setresgid 119 149,
    setgroups 116 159, setfsuid 122 151, setfsgid 123 152, capset 126 91
    """
)
"""The kernel's own affairs, and doors into it that NVIDIA's code has no use for."""

NOT_FOR_COMPUTING = NETWORK | QUEUES | CHANGING | SYSTEM | OPENING | OTHERS | OWNERS
"""What a library that makes bytes of bytes never asks for, not even while it starts."""
