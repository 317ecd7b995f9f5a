"""Requests to linkers and their answers; what the answers of all trials have in common."""

from __future__ import annotations

import enum
import functools
import hashlib
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
    """No trial can be made with a library at all: it can't be loaded, or it is not nvJitLink."""


def no_process(subject: str, error: OSError) -> TrialImpossible:
    """The error where the system starts no process for a library, or has no room for its files."""
    return TrialImpossible(
        f"{subject} can't be tried: no separate process can be started here ({error.strerror}); "
        "allow processes and a folder for temporary files, or check without a trial"
    )


class InputKind(enum.IntEnum):
    """The sort of an input, by its number in ``nvJitLinkInputType`` (nvJitLink.h 12.0 .. 13.5).

    Attributes:
        ANY: the library looks for itself; since 12.4.
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
        name: what the library calls it in its log.
        kind: what the library is told that it is.
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
        inputs: added in this order.
        options: of nvJitLinkCreate, such as ``-arch=sm_90`` and ``-lto``.
        complete: link for real; else the inputs are only added, which tells about IR versions.
        keep_output: the answer brings the linked cubin (or, with ``-ptx``, PTX) along.
        file: whose inputs they are: those of one file may share a process; None shares with no
            other.
        kernels: those that the inputs have for the target; the link is to keep them.
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
        ACCEPTED: all inputs were added (and the output, if requested, has no code).
        COMPILED: the output has code; a later link may define the missing symbols (``-r``,
            ``-ptx``).
        LINKED: the output has a kernel, and no symbol is undefined.
        LOST: the link succeeded, but a kernel that an input has for the target is not in the
            output.
        UNRESOLVED: the library's log names symbols that no input defines; this says nothing about
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
    """The last call of nvJitLink that a link made."""

    CREATE = "create"
    ADD = "add"
    COMPLETE = "complete"
    GET = "get"
    DESTROY = "destroy"


class Seconds(Struct, frozen=True):
    """Wall-clock time inside the library, in seconds; None for a step that was not reached."""

    create: float | None = None
    add: float | None = None
    complete: float | None = None


class TrialAnswer(Struct, frozen=True, kw_only=True):
    """The answer of a library to a request.

    Attributes:
        PLACE: the attribute that says where it failed.
        outcome: the outcome.
        step: the last call; after a failure, the call that failed.
        code: what that call returned (0 is success); None of a crash.
        code_name: the code's name in the version that gave it, None if our table has none.
        log: the library's logs and what it printed, cut to ``TrialLimits.log_bytes``.
        signal: of a crash, the signal's name (``SIGSEGV``), None when the process just ended.
        exit_status: of a crash without a signal, the status that the process ended with.
        output: what was made, where it was asked for and is not over ``TrialLimits.output_bytes``.
        confirmed: a failure that is the input's own: a fresh process gave it again, or it needed
            none.
        note: what a process that had served other requests answered, where it was not the same.
        sandbox: the mechanisms that confined the process.
        cpu_seconds: of a process that used up all the CPU time that a request gets: so much it was;
            None if it had less.
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
        """Return whether it is confirmed in a fresh process before it is told."""
        return self.outcome in _FAILED

    def confirmed_by(self, second: Self) -> Self:
        """The answer of a fresh process, and whether it says what this one, of a used one, says."""
        # How a process goes down is chance: the same bytes may end it by different signals.
        rows = [
            (answer.outcome, answer.step, getattr(answer, self.PLACE), answer.code)
            for answer in (self, second)
        ]
        if rows[0] == rows[1]:
            return replace(second, confirmed=True)
        what = self.code_name or self.signal or self.code or self.exit_status
        note = f"a process that had made other trials before answered: {self.outcome} ({what})"
        return replace(second, note=note)

    @property
    def why_ended(self) -> str:
        """Of a crash or of used up time: why the process is gone."""
        if self.outcome != "timed out":
            return str(self.signal or self.exit_status)
        if self.cpu_seconds is not None:
            return f"it used up its time limit of {self.cpu_seconds:g} s of CPU"
        if self.signal == "SIGXCPU":
            return "the CPU time of all trials was used up"
        return "it used up its time limit"

    @property
    def failure(self) -> str:
        """Why it failed: the library's error and the start of its log, or how its process ended."""
        if self.outcome == "crashed":
            return f"its process ended ({self.why_ended})"
        if self.code and self.outcome != "timed out":
            return f"{self.code_name or self.code}: {first_line(self.log) or 'it gave no reason'}"
        return self.why_ended if self.outcome == "timed out" else str(self.outcome)


class Answer(TrialAnswer, frozen=True, kw_only=True):
    """The answer of nvJitLink or nvlink to a request.

    Attributes:
        outcome: the outcome.
        step: the last call; after a failure, the call that failed.
        input_name: the input that was refused, if adding it failed.
        unresolved: symbols that no input defines, as the log names them; the log may name only the
            first.
        seconds: time in the library.
        output_size: bytes of the output, None without one.
        kernels_in_output: None without an output that can be read.
        lost: kernels of the inputs that are missing from the output.
        registers: the largest number of registers per thread among the kernels; None without a
            kernel.
        release: version of the library that answered.
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
        wall_seconds: time on the clock for one request.
        start_seconds: time on the clock until a child has loaded the library.
        memory_bytes: address space of a child.
        log_bytes: of each log; the rest is cut off.
        output_bytes: a larger output is measured but not brought along.
        printed_bytes: what the library may print during one request; the rest is lost.
        sandbox: mechanisms that confine a child, each where the system has it.
        landlock_version: the newest version of Landlock whose rights are used; a kernel may have an
            older one.
        require_sandbox: no trial where one of them is missing; ``LTOCOMPAT_REQUIRE_SANDBOX`` asks
            for it, too.
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
