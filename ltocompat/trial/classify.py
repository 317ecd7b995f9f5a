"""From what a child reports to an answer: the one place that knows what proves what."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ltocompat import facts
from ltocompat.model.arch import Release
from ltocompat.targets.linkers.linker import Tool
from ltocompat.trial import logs, protocol
from ltocompat.trial.protocol import Report
from ltocompat.trial.values import Answer, LinkOutcome, Request, Seconds, Step, TrialLimits

if TYPE_CHECKING:
    from ltocompat.trial.loading.values import LoadAnswer

_STEPS = {
    # A process that ends at rest was brought down by the step that it took last.
    protocol.AT_REST: Step.DESTROY,
    protocol.AT_CREATE: Step.CREATE,
    protocol.AT_ADD: Step.ADD,
    protocol.AT_COMPLETE: Step.COMPLETE,
    protocol.AT_GET: Step.GET,
    protocol.AT_DESTROY: Step.DESTROY,
}
_LOGS = ("error", "info", "printed")
# Of the clock and of the CPU; SIGKILL is the kernel short of memory.
_OUT_OF_TIME = {signal.SIGALRM, signal.SIGXCPU}


def judge(
    request: Request,
    report: Report,
    release: Release,
    limits: TrialLimits,
    tool: Tool = Tool.NVJITLINK,
) -> Answer:
    """The answer that a report amounts to, not yet confirmed."""
    reply = report.reply
    if "died" in reply:
        return _ended(request, reply, release, limits)
    code = int(reply.get("code", 0))
    step = _STEPS[reply.get("step", protocol.AT_ADD)]
    log = "\n".join(reply[key].rstrip("\n") for key in _LOGS if key in reply)
    open_symbols = logs.unresolved(log)
    return Answer(
        outcome=_outcome(request, reply, code, open_symbols),
        step=step,
        input_name=_input_name(request, reply) if code and step is Step.ADD else None,
        code=code,
        code_name=_code_name(code, release, tool),
        log=_cut(log, limits),
        unresolved=open_symbols,
        seconds=Seconds(*(_seconds(reply.get(step)) for step in ("create", "add", "complete"))),
        output_size=reply.get("size"),
        output=report.output or None,
        kernels_in_output=reply.get("kernels"),
        registers=reply.get("registers"),
        # Each nvlink is a process that never served another request.
        confirmed=bool(code) and tool is Tool.NVLINK,
        release=release,
    )


def _code_name(code: int, release: Release, tool: Tool) -> str | None:
    """The name of a result of nvJitLink; nvlink has exit statuses."""
    if tool is Tool.NVLINK:
        return f"exit status {code}" if code else None
    return facts.nvjitlink_result_name(code, release)


def _outcome(
    request: Request, reply: Mapping[str, Any], code: int, open_symbols: tuple[str, ...]
) -> LinkOutcome:
    # -r leaves symbols to a later link by design; the library does not call them unresolved then.
    if open_symbols:
        return LinkOutcome.UNRESOLVED
    if code:
        return LinkOutcome.REFUSED
    # Without a kernel the library compiles nothing and writes an empty output, except with -r since
    # 13.3 (measured), where the functions themselves are in the output.
    if not reply.get("code_bytes"):
        return LinkOutcome.ACCEPTED
    later = {"-r", "-ptx"} & set(request.options)
    return LinkOutcome.LINKED if reply.get("kernels") and not later else LinkOutcome.COMPILED


def _ended(
    request: Request, reply: Mapping[str, Any], release: Release, limits: TrialLimits
) -> Answer:
    status = int(reply["died"])
    # A process that went wild may have written anything where its notes were.
    step = _STEPS.get(reply["step"], Step.CREATE)
    late = -status in _OUT_OF_TIME
    return Answer(
        outcome=LinkOutcome.TIMED_OUT if late else LinkOutcome.CRASHED,
        step=step,
        input_name=_input_name(request, reply) if step is Step.ADD else None,
        log=_cut(str(reply.get("printed", "")).rstrip("\n"), limits),
        signal=_signal_name(-status) if status < 0 else None,
        exit_status=status if status >= 0 else None,
        release=release,
    )


def confirm(first: Answer, second: Answer) -> Answer:
    """The answer of the fresh process, and whether it says what the used one said."""
    # How a process goes down is chance: the same bytes may end it by different signals.
    row = (first.outcome, first.step, first.input_name, first.code)
    says = (second.outcome, second.step, second.input_name, second.code)
    if row == says:
        return replace(second, confirmed=True)
    return replace(second, note=disagreement(first))


def disagreement(first: Answer | LoadAnswer) -> str:
    """What a process that had served other requests answered, where a fresh one did not."""
    what = first.code_name or first.signal or first.code or first.exit_status
    return f"a process that had served other requests answered: {first.outcome} ({what})"


def _seconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1e6


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _input_name(request: Request, reply: Mapping[str, Any]) -> str | None:
    number = int(reply.get("input", 0))
    return request.inputs[number].name if number < len(request.inputs) else None


def _cut(log: str, limits: TrialLimits) -> str:
    return log[: limits.log_bytes]
