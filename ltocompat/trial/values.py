"""Requests to linkers and their answers; what the answers of all trials have in common."""

from __future__ import annotations

import enum
import functools
import hashlib
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.model.arch import Release
from ltocompat.model.errors import LtocompatError
from ltocompat.model.limits import GIB, KIB, MIB
from ltocompat.trial.logs import first_line

LANDLOCK = "Landlock"
SECCOMP = "seccomp"


class TrialImpossible(LtocompatError):
    """A library can't be tried at all: it can't be loaded, or it is not nvJitLink."""


def no_process(subject: str, error: OSError) -> TrialImpossible:
    """Return the error if the system starts no process, or has no room for its files."""
    return TrialImpossible(
        f"{subject} can't be tried: no separate process can be started here ({error.strerror}); "
        "allow processes and a folder for temporary files, or check without a trial"
    )


class InputKind(enum.IntEnum):
    """The kind of an input, by its number in ``nvJitLinkInputType`` (nvJitLink.h 12.0 .. 13.5).

    Attributes:
        ANY: the library detects the kind; since 12.4.
    """

    CUBIN = 1
    PTX = 2
    LTOIR = 3
    FATBIN = 4
    OBJECT = 5
    LIBRARY = 6
    ANY = 10


class TrialInput(Struct, frozen=True, dict=True):
    """One input of a link.

    Attributes:
        name: its name in the library's log.
        kind: the kind that the library gets.
        data: its bytes.
    """

    name: str
    kind: InputKind
    data: bytes

    @functools.cached_property
    def digest(self) -> bytes:
        """SHA-256 of its bytes."""
        return hashlib.sha256(self.data).digest()


class Request(Struct, frozen=True):
    """One link to try.

    Attributes:
        inputs: the inputs, in the order of adding.
        options: options of nvJitLinkCreate, such as ``-arch=sm_90`` and ``-lto``.
        complete: True to link; else the inputs are only added, which shows whether their IR
            versions are accepted.
        keep_output: True to return the linked cubin (or, with ``-ptx``, PTX) in the answer.
        file: the file of the inputs: requests of one file may share a process; None shares with no
            other.
        kernels: the inputs' kernels for the target, which the link has to keep.
    """

    inputs: tuple[TrialInput, ...]
    options: tuple[str, ...]
    complete: bool = True
    keep_output: bool = False
    file: str | None = None
    kernels: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all inputs."""
        return sum(len(input_.data) for input_ in self.inputs)


class LinkOutcome(enum.StrEnum):
    """The outcome of a link; each value says only what the link proves.

    Attributes:
        ACCEPTED: all inputs were added. If an output was requested, the output has no code.
        COMPILED: the output has code; a later link may define the missing symbols (``-r``,
            ``-ptx``).
        LINKED: the output has a kernel, and no symbol is undefined.
        LOST: the link succeeded, but its output lacks a kernel that an input contains for the
            target.
        UNRESOLVED: the library's log names symbols that no input defines. This proves nothing about
            compatibility.
        REFUSED: the library returned an error.
        CRASHED: the process ended without an answer.
        TIMED_OUT: the limit of wall-clock time or of CPU time was reached.
    """

    ACCEPTED = "accepted"
    COMPILED = "compiled"
    LINKED = "linked"
    LOST = "lost"
    UNRESOLVED = "unresolved"
    REFUSED = "refused"
    CRASHED = "crashed"
    TIMED_OUT = "timed out"


# Words of all outcomes.
_FAILED = ("refused", "crashed", "timed out")


class Step(enum.StrEnum):
    """The last nvJitLink call that a link made."""

    CREATE = "create"
    ADD = "add"
    COMPLETE = "complete"
    GET = "get"
    DESTROY = "destroy"


class Seconds(Struct, frozen=True, repr_omit_defaults=True):
    """Wall-clock time inside the library, in seconds; None for a step that was not reached."""

    create: float | None = None
    add: float | None = None
    complete: float | None = None


class TrialAnswer(Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """The answer of a library to a request.

    Attributes:
        PLACE: the attribute with the place of the failure.
        outcome: the outcome.
        step: the call to the library that failed, or the last call if no call failed.
        code: the result of that call (0 is success); None after a crash.
        code_name: the code's name in that version; None if our table has none.
        log: the library's logs and output, truncated to ``TrialLimits.log_bytes``.
        signal: after a crash, the name of the signal (``SIGSEGV``); None if there was no signal.
        exit_status: after a crash without a signal, the exit status of the process.
        output: the output, if it was requested and is not over ``TrialLimits.output_bytes``.
        confirmed: True if the input caused the failure: a fresh process repeated it, or this was
            not necessary.
        note: the different answer of a process that had served other requests, or the reason why a
            link proves nothing.
        sandbox: the mechanisms that confined the process.
        cpu_seconds: the CPU time of a process that used up a request's full share; else None.
    """

    PLACE: ClassVar[str] = "step"

    outcome: enum.StrEnum
    step: enum.StrEnum
    code: int | None = None
    code_name: str | None = None
    log: str = ""
    signal: str | None = None
    exit_status: int | None = None
    output: bytes | None = None
    confirmed: bool = False
    note: str = ""
    sandbox: tuple[str, ...] = ()
    cpu_seconds: float | None = None

    @property
    def failed(self) -> bool:
        """Return whether a fresh process confirms it before it is reported."""
        return self.outcome in _FAILED

    def confirmed_by(self, second: Self) -> Self:
        """Return the answer of a fresh process, and whether it equals this answer of a used one."""
        # How a process goes down is chance: the same bytes may end it by different signals.
        rows = [
            (answer.outcome, answer.step, getattr(answer, self.PLACE), answer.code)
            for answer in (self, second)
        ]
        if rows[0] == rows[1]:
            return replace(second, confirmed=True)
        what = self.code_name or self.signal or self.code or self.exit_status
        note = f"after other trials in the same process, the answer was: {self.outcome} ({what})"
        return replace(second, note=note)

    @property
    def why_ended(self) -> str:
        """The reason why the process ended, after a crash or a time-out."""
        if self.outcome != "timed out":
            return str(self.signal or self.exit_status)
        if self.cpu_seconds is not None:
            return f"it used up its time limit of {self.cpu_seconds:g} s of CPU"
        if self.signal == "SIGXCPU":
            return "the CPU time of all trials was used up"
        return "it used up its time limit"

    @property
    def failure(self) -> str:
        """The reason for the failure: the library's error and log, or the end of the process."""
        if self.outcome == "crashed":
            return f"its process ended ({self.why_ended})"
        if self.code and self.outcome != "timed out":
            return f"{self.code_name or self.code}: {first_line(self.log) or 'it gave no reason'}"
        return self.why_ended if self.outcome == "timed out" else str(self.outcome)


class Answer(TrialAnswer, frozen=True, kw_only=True):
    """The answer of nvJitLink or nvlink to a request.

    Attributes:
        outcome: the outcome.
        step: the call to the library that failed, or the last call if no call failed.
        input_name: the input that the linker refused; None if the linker refused no input.
        unresolved: the undefined symbols that the log lists; the log may list only the first few.
        seconds: the time spent in the library.
        output_size: size of the output in bytes; None if there is no output.
        kernels_in_output: number of kernels in the output; None if no output can be read.
        lost: kernels that are in the inputs, but not in the output.
        registers: the highest number of registers per thread in any kernel; None if there is no
            kernel.
        release: the minor release that the linker reported.
    """

    PLACE = "input_name"

    outcome: LinkOutcome
    step: Step
    input_name: str | None = None
    unresolved: tuple[str, ...] = ()
    seconds: Seconds = Seconds()
    output_size: int | None = None
    kernels_in_output: int | None = None
    lost: tuple[str, ...] = ()
    registers: int | None = None
    release: Release


class TrialLimits(Struct, frozen=True):
    """The limits of one request; the defaults are far above any link that was measured.

    Attributes:
        cpu_seconds: CPU time of one request.
        wall_seconds: wall-clock time for one request.
        start_seconds: wall-clock time until a child has loaded the library.
        memory_bytes: address space of a child.
        log_bytes: bytes of each log; the rest is left out.
        output_bytes: the largest returned output; a larger one is only measured.
        printed_bytes: bytes that the library may print during one request; the rest is lost.
        sandbox: mechanisms that confine a child, as far as the system has them.
        landlock_version: the newest version of Landlock whose rights are used; a kernel may have an
            older one.
        require_sandbox: True to make no trial if one of them is missing;
            ``LTOCOMPAT_REQUIRE_SANDBOX`` does the same.
    """

    cpu_seconds: int = 60
    wall_seconds: float = 120.0
    start_seconds: float = 60.0
    memory_bytes: int = 8 * GIB
    log_bytes: int = 64 * KIB
    output_bytes: int = 256 * MIB
    printed_bytes: int = 16 * MIB
    sandbox: tuple[str, ...] = (LANDLOCK, SECCOMP)
    landlock_version: int = 9
    require_sandbox: bool = False


DEFAULT_TRIAL_LIMITS = TrialLimits()


class ChildProgram(Struct, frozen=True):
    """A program of ours that serves trials as a child process.

    Attributes:
        words: its module, and its arguments without the settings.
        subject: its library, for sentences.
        limits: the limits of each request.
        environ: additional environment variables.
    """

    words: Sequence[str]
    subject: str
    limits: TrialLimits
    environ: Mapping[str, str] = {}
