"""Trial compilations: what the NVRTC at hand makes of a source, asked in a process of its own.

>>> with CompilerProcess() as compiler:  # doctest: +SKIP
...     compiled = compiler.compile("saxpy.cu", source, ("-arch=sm_90", "-dlto"), want="ltoir")
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

from ltocompat.model.arch import Release
from ltocompat.model.closing import Closing
from ltocompat.model.errors import UsageError
from ltocompat.trial.child_pool import ChildPool
from ltocompat.trial.kind import TrialKind
from ltocompat.trial.protocol import Message, Report
from ltocompat.trial.values import DEFAULT_TRIAL_LIMITS, TrialLimits

__all__ = ["Compiled", "CompilerProcess", "LoadedNvrtc"]

PROGRAM: tuple[str, ...] = ("-m", "ltocompat.trial.compiling.child")


@dataclass(frozen=True, slots=True)
class LoadedNvrtc:
    """The NVRTC that answers.

    Attributes:
        library: its path.
        release: what nvrtcVersion() says.
    """

    library: str
    release: Release


@dataclass(frozen=True, slots=True)
class Compiled:
    """What became of one translation unit.

    Attributes:
        code: nvrtcResult (0 is success); None when the process ended without an answer.
        code_name: ``NVRTC_ERROR_INVALID_OPTION``; of a process that ended, how it ended.
        log: what NVRTC says.
        output: PTX or LTO-IR; None without success.
    """

    code: int | None
    code_name: str
    log: str
    output: bytes | None


@dataclass(frozen=True, slots=True)
class _Source:
    """One translation unit; see ``CompilerProcess.compile``."""

    name: str
    text: str
    options: Sequence[str]
    want: str


class _Compilations(TrialKind[_Source, Compiled]):
    """Compilations with the NVRTC that ``cuda.bindings`` finds; no failure is asked twice."""

    def encode(self, request: _Source) -> Message:
        """See ``TrialKind``."""
        return Message(
            {"name": request.name, "options": list(request.options), "want": request.want},
            [request.text.encode()],
        )

    def judge(self, request: _Source, report: Report) -> Compiled:
        """See ``TrialKind``."""
        del request
        reply, printed = report.reply, str(report.reply.get("printed", ""))
        if "died" in reply:
            status = int(reply["died"])
            how = signal.Signals(-status).name if status < 0 else f"status {status}"
            return Compiled(None, f"its process ended ({how})", printed, None)
        output = None if reply["code"] else report.output
        return Compiled(reply["code"], reply["code_name"], reply["log"] + printed, output)

    def failed(self, answer: Compiled) -> bool:
        """See ``TrialKind``."""
        del answer
        return False

    def confirm(self, first: Compiled, second: Compiled) -> Compiled:
        """See ``TrialKind``."""
        del first
        return second


class CompilerProcess(Closing):
    """A child with the NVRTC that ``cuda.bindings`` finds; use it as a context manager."""

    def __init__(self, *, limits: TrialLimits = DEFAULT_TRIAL_LIMITS) -> None:
        self._compilations = _Compilations(PROGRAM, "NVRTC")
        self._pool = ChildPool(self._compilations, limits)

    def __enter__(self) -> Self:
        """Start the child.

        Raises:
            Missing: there is no NVRTC.
            TrialImpossible: its process ended before it could say so.
        """
        self._pool.__enter__()
        return self

    def close(self) -> None:
        """End all children."""
        self._pool.close()

    @property
    def nvrtc(self) -> LoadedNvrtc:
        """The NVRTC that answers."""
        greeting = self._compilations.greeting
        if not greeting:
            raise UsageError("a CompilerProcess starts its child in a with statement")
        return LoadedNvrtc(greeting["library"], Release(*greeting["version"]))

    def compile(
        self, name: str, source: str, options: Sequence[str], *, want: Literal["ptx", "ltoir"]
    ) -> Compiled:
        """Compile one translation unit; any failure is a value."""
        (compiled,) = self._pool.run([_Source(name, source, options, want)])
        return compiled
