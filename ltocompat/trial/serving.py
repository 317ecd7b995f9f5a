"""The child's end of a trial: confine the process, load a library, answer each request.

It reads frames of requests and answers each frame with a frame of replies (see ``protocol``).
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO, Protocol

from ltocompat.model.errors import Missing
from ltocompat.trial import confinement, protocol
from ltocompat.trial.protocol import Message
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


class Server(Protocol):
    """A library that answers requests.

    Attributes:
        forks: a process that has loaded it can be forked, and the fork can use it.
        reserves_memory: it reserves far more address space than it uses.
    """

    forks: bool
    reserves_memory: bool

    def start(self, notes: memoryview, limits: TrialLimits) -> Reply:
        """Load the library; what to greet the parent with.

        Raises:
            TrialImpossible: it can't be loaded, or is another one.
            Missing: it is not at hand.
        """

    def serve(self, message: Message) -> tuple[Reply, bytes]:
        """The reply to a request, and its output; each step is noted before it is taken."""


def run(server: Server, settings: ChildSettings) -> None:
    """Load the library and serve until the parent hangs up."""
    limits = settings.limits
    requests, replies = confinement.take_protocol()
    confinement.die_with(settings.parent)
    confinement.confine(limits.memory_bytes, limits.printed_bytes, reserves=server.reserves_memory)
    confinement.unbuffer_stdout()
    notes = memoryview(mmap.mmap(settings.notes, protocol.NOTES_SIZE)).cast("I")
    os.close(settings.notes)
    _Child(server, notes, requests, replies, limits).run(fresh=settings.fresh)


class _Child:
    """One child and its streams."""

    def __init__(
        self,
        server: Server,
        notes: memoryview,
        requests: BinaryIO,
        replies: int,
        limits: TrialLimits,
    ) -> None:
        self._server = server
        self._notes = notes
        self._requests = requests
        self._replies = replies
        self._limits = limits

    def run(self, *, fresh: bool) -> None:
        greeting: Reply = {}
        if self._server.forks or not fresh:
            try:
                greeting = self._server.start(self._notes, self._limits)
            except TrialImpossible as error:
                greeting = {"impossible": str(error)}
            except Missing as error:
                greeting = {"missing": str(error)}
            confinement.printed()
        self._send(greeting)
        if "impossible" in greeting or "missing" in greeting:
            return
        serve = self._serve_in_forks if fresh else self._serve_each
        while (messages := protocol.read_requests(self._requests)) is not None:
            serve(messages)

    def _serve_each(self, messages: Iterator[Message]) -> None:
        """Serve the requests of a frame one after the other, and answer with one frame.

        They share the time of one request: those that travel together only add their inputs, and
        one that is wrongly taken for late is asked again in a process of its own.
        """
        rows: list[Reply] = []
        outputs: list[bytes] = []
        confinement.start_clocks(self._limits.cpu_seconds, self._limits.wall_seconds)
        for message in messages:
            reply, output = self._reply(message)
            if output:
                reply["output"] = len(output)
                outputs.append(output)
            rows.append(reply)
            self._notes[protocol.NOTE_REQUEST] += 1
        confinement.stop_clock()
        self._send(rows, b"".join(outputs))

    def _serve_in_forks(self, messages: Iterator[Message]) -> None:
        """Serve each request in a fork, and answer for those that end without an answer.

        The fork is made when the library was loaded but never used, or, where it does not survive
        that, not loaded yet: as good as a new process, for a few milliseconds.
        """
        notes = self._notes
        zygote = os.getpid()
        for message in messages:
            notes[protocol.NOTE_STEP] = notes[protocol.NOTE_INPUT] = 0
            notes[protocol.NOTE_REPLIED] = 0
            child = os.fork()
            if child == 0:
                confinement.die_with(zygote)
                self._serve_and_end(message)
            _, status = os.waitpid(child, 0)
            if not notes[protocol.NOTE_REPLIED]:
                self._send([_death(notes, os.waitstatus_to_exitcode(status))])
            notes[protocol.NOTE_REQUEST] += 1

    def _serve_and_end(self, message: Message) -> None:
        """Serve one request in a process of its own, which ends with it."""
        if not self._server.forks:
            self._server.start(self._notes, self._limits)
            confinement.printed()
        confinement.start_clocks(self._limits.cpu_seconds, self._limits.wall_seconds)
        reply, output = self._reply(message)
        confinement.stop_clock()
        reply["output"] = len(output)
        self._notes[protocol.NOTE_REPLIED] = 1
        self._send([reply], output)
        os._exit(0)

    def _reply(self, message: Message) -> tuple[Reply, bytes]:
        reply, output = self._server.serve(message)
        self._notes[protocol.NOTE_STEP] = protocol.AT_REST
        if printed := confinement.printed():
            reply["printed"] = printed.decode("utf-8", "replace")
        return reply, output

    def _send(self, header: object, body: bytes = b"") -> None:
        """Write a whole frame."""
        data = memoryview(protocol.head_of(header, len(body)) + body)
        while data:
            data = data[os.write(self._replies, data) :]


def _death(notes: memoryview, status: int) -> Reply:
    """The reply for a process that ended with ``status`` (below 0: minus a signal)."""
    printed = confinement.printed().decode("utf-8", "replace")
    step, number = notes[protocol.NOTE_STEP], notes[protocol.NOTE_INPUT]
    return {"died": status, "step": step, "input": number, "printed": printed}
