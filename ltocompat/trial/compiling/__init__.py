"""Trial compilations: what the NVRTC at hand makes of a source, asked in a process of its own.

>>> with CompilerProcess() as compiler:  # doctest: +SKIP
...     compiled = compiler.compile("saxpy.cu", source, ("-arch=sm_90", "-dlto"), want="ltoir")
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from ltocompat.model.arch import Release
from ltocompat.model.closing import Closing
from ltocompat.model.errors import Missing, UsageError
from ltocompat.trial import protocol
from ltocompat.trial.process import Process
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


class _Worker(Process):
    nvrtc: LoadedNvrtc | None = None

    def hello(self, header: dict[str, Any]) -> None:
        """See ``Process``.

        Raises:
            Missing: there is no NVRTC.
        """
        super().hello(header)
        if "missing" in header:
            raise Missing(header["missing"])
        self.nvrtc = LoadedNvrtc(header["library"], Release(*header["version"]))


class CompilerProcess(Closing):
    """A child with the NVRTC that ``cuda.bindings`` finds; use it as a context manager."""

    def __init__(self, *, limits: TrialLimits = DEFAULT_TRIAL_LIMITS) -> None:
        self._limits = limits
        self._worker: _Worker | None = None
        self._nvrtc: LoadedNvrtc | None = None

    def __enter__(self) -> Self:
        """Start the child.

        Raises:
            Missing: there is no NVRTC.
            TrialImpossible: its process ended before it could say so.
        """
        try:
            self._nvrtc = self._started().nvrtc
        except BaseException:
            self._end()
            raise
        return self

    def close(self) -> None:
        """End all children."""
        self._end()

    @property
    def nvrtc(self) -> LoadedNvrtc:
        """The NVRTC that answers."""
        if self._nvrtc is None:
            raise UsageError("a CompilerProcess starts its child in a with statement")
        return self._nvrtc

    def compile(
        self, name: str, source: str, options: Sequence[str], *, want: Literal["ptx", "ltoir"]
    ) -> Compiled:
        """Compile one translation unit; any failure is a value."""
        worker = self._started()
        body = source.encode()
        header = {"name": name, "options": list(options), "want": want}
        frame = worker.ask([protocol.head_of(header, len(body)), body])
        if frame is None:
            status = self._end()
            how = signal.Signals(-status).name if status < 0 else f"status {status}"
            return Compiled(None, f"its process ended ({how})", worker.last_words, None)
        reply = frame.header
        output = None if reply["code"] else bytes(frame.body)
        return Compiled(reply["code"], reply["code_name"], reply["log"], output)

    def _started(self) -> _Worker:
        if self._worker is None:
            self._worker = _Worker(PROGRAM, "NVRTC", self._limits, fresh=False)
        self._worker.wait_ready()
        return self._worker

    def _end(self) -> int:
        worker, self._worker = self._worker, None
        return worker.end() if worker else 0
