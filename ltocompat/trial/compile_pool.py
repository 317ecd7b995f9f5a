"""Trial compilations: what the NVRTC at hand makes of a source, asked in a process of its own.

>>> with CompilerProcess() as compiler:  # doctest: +SKIP
...     compiled = compiler.compile("saxpy.cu", source, ("-arch=sm_90", "-dlto"), want="ltoir")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from ltocompat.model.arch import Release
from ltocompat.trial.child_pool import ChildPool
from ltocompat.trial.protocol import Message, Report
from ltocompat.trial.values import (
    DEFAULT_TRIAL_LIMITS,
    ChildProgram,
    LinkOutcome,
    Step,
    TrialAnswer,
    TrialLimits,
)

_PROGRAM = (f"{__package__}.compile_child",)


class LoadedNvrtc(Struct, frozen=True):
    """The NVRTC that answers.

    Attributes:
        library: its path.
        release: the release from nvrtcVersion().
    """

    library: str
    release: Release


class Compiled(TrialAnswer, frozen=True, kw_only=True):
    """The result of compiling one translation unit; its code is an nvrtcResult.

    Its output is PTX or LTO-IR.
    """

    outcome: LinkOutcome
    step: Step = Step.COMPLETE
    confirmed: bool = True


class CompilerProcess(ChildPool[Message, Compiled]):
    """A child with the NVRTC that ``cuda.bindings`` finds; use it as a context manager.

    Raises:
        Missing: (at the start) there is no NVRTC.
    """

    def __init__(self, *, limits: TrialLimits = DEFAULT_TRIAL_LIMITS) -> None:
        super().__init__(ChildProgram(_PROGRAM, "NVRTC", limits))

    @property
    def nvrtc(self) -> LoadedNvrtc:
        """The NVRTC that answers."""
        return LoadedNvrtc(self.handshake["library"], Release(*self.handshake["version"]))

    def compile(
        self, name: str, source: str, options: Sequence[str], *, want: Literal["ptx", "ltoir"]
    ) -> Compiled:
        """Compile one translation unit; a failure is a value, and is not tried again."""
        fields = {"name": name, "options": list(options), "want": want}
        (compiled,) = self.run([Message(fields, [source.encode()])])
        return compiled

    def encode(self, request: Message) -> Message:
        """See ``ChildPool``."""
        return request

    def judge(self, _request: Message, report: Report) -> Compiled:
        """See ``ChildPool``."""
        reply, log = report.reply, str(report.reply.get("printed", ""))
        if "died" in reply:
            return Compiled(**self.ended(reply, LinkOutcome), log=log)
        return Compiled(
            outcome=LinkOutcome.REFUSED if reply["code"] else LinkOutcome.COMPILED,
            code=reply["code"],
            code_name=reply["code_name"],
            log=reply["log"] + log,
            output=None if reply["code"] else report.output,
        )
