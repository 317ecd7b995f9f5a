"""The process that loads nvJitLink: ``python -m ltocompat.trial.child LIBRARY SETTINGS``.

It reads frames of requests and answers each frame with a frame of replies. A fresh child (see
``ChildSettings``) serves each request in a fork of itself, made when the library was loaded but
never
used: as good as a new process, for a few milliseconds.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

from ltocompat.trial import confinement, protocol
from ltocompat.trial.drivers import Driver, load
from ltocompat.trial.protocol import RequestFrame
from ltocompat.trial.values import TrialImpossible, TrialLimits

Reply = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChildSettings:
    """What a child is told on its command line.

    Attributes:
        parent: process that it must not outlive, 0 to leave that to the clock.
        notes: descriptor of the memory for notes, see ``protocol``.
        fresh: serve each request in a process that served none before.
        limits: of each request.
    """

    parent: int
    notes: int
    fresh: bool
    limits: TrialLimits

    def dump(self) -> str:
        """As one argument."""
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str) -> ChildSettings:
        """The reverse of ``dump``."""
        values = json.loads(text)
        return cls(**{**values, "limits": TrialLimits(**values["limits"])})


class LinkServer:
    """Makes the calls of each request, and notes each step before it is taken."""

    def __init__(self, driver: Driver, notes: memoryview, limits: TrialLimits) -> None:
        self._driver = driver
        self.notes = notes
        self._limits = limits

    def serve(self, request: RequestFrame) -> tuple[Reply, bytes]:
        """The reply to one request, and its output; only what is not the usual is in a reply."""
        reply: Reply = {}
        output = self._link(request, reply)
        self.notes[protocol.NOTE_STEP] = protocol.AT_REST
        if printed := confinement.printed():
            reply["printed"] = printed.decode("utf-8", "replace")
        return reply, output

    def _link(self, request: RequestFrame, reply: Reply) -> bytes:
        """Call the library, and write what it did into ``reply``; returns the output to keep."""
        driver, notes = self._driver, self.notes
        notes[protocol.NOTE_STEP] = protocol.AT_CREATE
        start = perf_counter()
        code, handle, log = driver.create(request.options)
        reply["create"] = _microseconds(start)
        if code:
            reply.update(step=protocol.AT_CREATE, code=code, error=self._cut(log.encode()))
            return b""
        output = b""
        if self._added(handle, request, reply) and request.complete:
            output = self._completed(handle, request, reply)
        self._log(handle, reply)
        notes[protocol.NOTE_STEP] = protocol.AT_DESTROY
        driver.destroy(handle)
        return output

    def _added(self, handle: int, request: RequestFrame, reply: Reply) -> bool:
        self.notes[protocol.NOTE_STEP] = protocol.AT_ADD
        start = perf_counter()
        code = number = 0
        for number, (name, kind, data) in enumerate(request.inputs):
            self.notes[protocol.NOTE_INPUT] = number
            code = self._driver.add(handle, kind, data, name)
            if code:
                break
        reply["add"] = _microseconds(start)
        if code:
            reply.update(step=protocol.AT_ADD, input=number, code=code)
        return not code

    def _completed(self, handle: int, request: RequestFrame, reply: Reply) -> bytes:
        self.notes[protocol.NOTE_STEP] = protocol.AT_COMPLETE
        start = perf_counter()
        code = self._driver.complete(handle)
        reply.update(step=protocol.AT_COMPLETE, complete=_microseconds(start))
        if code:
            reply["code"] = code
            return b""
        self.notes[protocol.NOTE_STEP] = protocol.AT_GET
        want = "ptx" if "-ptx" in request.options else "cubin"
        code, size = self._driver.output_size(handle, want)
        output = b""
        if not code:
            reply["size"] = size
            code, output = self._driver.output(handle, want, size)
        if code:
            reply.update(step=protocol.AT_GET, code=code)
            return b""
        # Only now, since a child that merely adds inputs has no use for readers of images.
        from ltocompat.trial import outputs

        reply.update(zip(("kernels", "code_bytes"), outputs.contents(want, output), strict=True))
        return output if request.keep_output and size <= self._limits.output_bytes else b""

    def _log(self, handle: int, reply: Reply) -> None:
        error, info = self._driver.logs(handle)
        if error:
            reply["error"] = self._cut(error)
        if info:
            reply["info"] = self._cut(info)

    def _cut(self, log: bytes) -> str:
        return log[: self._limits.log_bytes].rstrip(b"\0").decode("utf-8", "replace")


def _microseconds(start: float) -> int:
    return int((perf_counter() - start) * 1e6)


def send(descriptor: int, header: object, body: bytes = b"") -> None:
    """Write a whole frame."""
    data = memoryview(protocol.head_of(header, len(body)) + body)
    while data:
        data = data[os.write(descriptor, data) :]


def serve_each(
    server: LinkServer, requests: Iterator[RequestFrame], replies: int, limits: TrialLimits
) -> None:
    """Serve the requests of a frame one after the other, and answer with one frame.

    They share the time of one request: those that travel together only add their inputs, and one
    that is wrongly taken for late is asked again in a process of its own.
    """
    rows: list[Reply] = []
    outputs: list[bytes] = []
    confinement.start_clocks(limits.cpu_seconds, limits.wall_seconds)
    for request in requests:
        reply, output = server.serve(request)
        if output:
            reply["output"] = len(output)
            outputs.append(output)
        rows.append(reply)
        server.notes[protocol.NOTE_REQUEST] += 1
    confinement.stop_clock()
    send(replies, rows, b"".join(outputs))


def serve_in_forks(
    server: LinkServer, requests: Iterator[RequestFrame], replies: int, limits: TrialLimits
) -> None:
    """Serve each request in a fork, and answer for those that end without an answer."""
    notes = server.notes
    zygote = os.getpid()
    for request in requests:
        notes[protocol.NOTE_STEP] = notes[protocol.NOTE_REPLIED] = 0
        child = os.fork()
        if child == 0:
            confinement.die_with(zygote)
            confinement.start_clocks(limits.cpu_seconds, limits.wall_seconds)
            reply, output = server.serve(request)
            confinement.stop_clock()
            reply["output"] = len(output)
            notes[protocol.NOTE_REPLIED] = 1
            send(replies, [reply], output)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not notes[protocol.NOTE_REPLIED]:
            send(replies, [death(notes, os.waitstatus_to_exitcode(status))])
        notes[protocol.NOTE_REQUEST] += 1


def death(notes: memoryview, status: int) -> Reply:
    """The reply for a process that ended with ``status`` (below 0: minus a signal)."""
    printed = confinement.printed().decode("utf-8", "replace")
    step, number = notes[protocol.NOTE_STEP], notes[protocol.NOTE_INPUT]
    return {"died": status, "step": step, "input": number, "printed": printed}


def main() -> None:
    """Load the library and serve until the parent hangs up."""
    library, settings = sys.argv[1], ChildSettings.parse(sys.argv[2])
    limits = settings.limits
    requests, replies = confinement.take_protocol()
    confinement.die_with(settings.parent)
    confinement.confine(limits.memory_bytes, limits.printed_bytes)
    confinement.unbuffer_stdout()
    confinement.keep_memory()
    notes = memoryview(mmap.mmap(settings.notes, protocol.NOTES_SIZE)).cast("I")
    os.close(settings.notes)
    try:
        driver = load(library)
    except TrialImpossible as error:
        send(replies, {"impossible": str(error)})
        return
    confinement.printed()
    release = [driver.release.major, driver.release.minor]
    send(replies, {"release": release, "driver": driver.name})
    server = LinkServer(driver, notes, limits)
    serve = serve_in_forks if settings.fresh else serve_each
    while (frame := protocol.read_requests(requests)) is not None:
        serve(server, frame, replies, limits)


if __name__ == "__main__":
    main()
