"""The process that loads the CUDA driver: ``python -m ltocompat.trial.loading.child SETTINGS``.

Each frame asks for one module on one GPU. A fresh child (see ``trial.child.ChildSettings``) serves
each request in a fork of itself that was made before the driver was loaded, since a driver that was
started does not survive a fork.
"""

from __future__ import annotations

import mmap
import os
import sys
from time import perf_counter
from typing import Any, BinaryIO

from ltocompat.model.errors import Missing
from ltocompat.trial import confinement, protocol
from ltocompat.trial.child import ChildSettings, Reply, death, send
from ltocompat.trial.loading.driver import Cuda
from ltocompat.trial.loading.load_protocol import (
    AT_FUNCTION,
    AT_LAUNCH,
    AT_LOAD,
    AT_START,
    AT_UNLOAD,
    LoadFrame,
    read_request,
)
from ltocompat.trial.loading.values import Launch
from ltocompat.trial.protocol import AT_REST, NOTE_INPUT, NOTE_REPLIED, NOTE_REQUEST, NOTE_STEP


class LoadServer:
    """Makes the calls of each request, and notes each step before it is taken."""

    def __init__(self, cuda: Cuda, notes: memoryview, settings: ChildSettings) -> None:
        self._cuda = cuda
        self.notes = notes
        self._limits = settings.limits

    def serve(self, load_frame: LoadFrame) -> tuple[Reply, bytes]:
        """The reply to one request, and the output of its launch."""
        reply: Reply = {}
        output = self._serve(load_frame, reply)
        self.notes[NOTE_STEP] = AT_REST
        if printed := confinement.printed():
            reply["printed"] = printed.decode("utf-8", "replace")
        return reply, output

    def _serve(self, load_frame: LoadFrame, reply: Reply) -> bytes:
        cuda = self._cuda
        self._at(AT_START)
        code = cuda.enter(load_frame.gpu)
        if code:
            reply.update(step=AT_START, code=code)
            return b""
        self._at(AT_LOAD)
        start = perf_counter()
        code, module, logs = cuda.load(load_frame.data, self._limits.log_bytes)
        reply.update(step=AT_LOAD, code=code, seconds=perf_counter() - start)
        for name, log in zip(("error", "info"), logs, strict=True):
            if log:
                reply[name] = log.decode("utf-8", "replace")
        if code:
            return b""
        found = self._found(module, load_frame, reply)
        reply["seconds"] = perf_counter() - start
        output = (
            self._launched(module, load_frame.launch, reply) if found and load_frame.launch else b""
        )
        if reply["step"] != AT_LAUNCH or not reply["code"]:
            # Else the kernel has spoilt the context, and the process ends with it.
            self._at(AT_UNLOAD)
            cuda.unload(module)
        return output

    def _found(self, module: Any, load_frame: LoadFrame, reply: Reply) -> bool:  # noqa: ANN401
        for number, kernel in enumerate(load_frame.kernels):
            self._at(AT_FUNCTION, number)
            code, _ = self._cuda.function(module, kernel)
            reply.update(step=AT_FUNCTION, code=code)
            if code:
                reply["kernel"] = number
                return False
        return True

    def _launched(self, module: Any, launch: Launch, reply: Reply) -> bytes:  # noqa: ANN401
        self._at(AT_LAUNCH)
        code, function = self._cuda.function(module, launch.kernel)
        output = b""
        if not code:
            code, output = self._cuda.launch(function, launch)
        reply.update(step=AT_LAUNCH, code=code)
        return output

    def _at(self, step: int, number: int = 0) -> None:
        self.notes[NOTE_STEP], self.notes[NOTE_INPUT] = step, number


def _answer(
    server: LoadServer, load_frame: LoadFrame, replies: int, settings: ChildSettings
) -> None:
    limits = settings.limits
    confinement.start_clocks(limits.cpu_seconds, limits.wall_seconds)
    reply, output = server.serve(load_frame)
    confinement.stop_clock()
    server.notes[NOTE_REPLIED] = 1
    send(replies, reply, output)


def serve_each(
    requests: BinaryIO, replies: int, notes: memoryview, settings: ChildSettings
) -> None:
    """Start the driver, say what it shows, and serve one request after the other."""
    try:
        cuda = Cuda()
    except Missing as error:
        send(replies, {"missing": str(error)})
        return
    confinement.printed()
    send(replies, {"library": cuda.library, "cuda": cuda.version, "gpus": cuda.gpus})
    server = LoadServer(cuda, notes, settings)
    while (load_frame := read_request(requests)) is not None:
        _answer(server, load_frame, replies, settings)
        notes[NOTE_REQUEST] += 1


def serve_in_forks(
    requests: BinaryIO, replies: int, notes: memoryview, settings: ChildSettings
) -> None:
    """Serve each request in a fork, and answer for those that end without an answer."""
    send(replies, {})
    zygote = os.getpid()
    while (load_frame := read_request(requests)) is not None:
        notes[NOTE_STEP] = notes[NOTE_INPUT] = notes[NOTE_REPLIED] = 0
        child = os.fork()
        if child == 0:
            confinement.die_with(zygote)
            notes[NOTE_STEP] = AT_START
            server = LoadServer(Cuda(), notes, settings)
            confinement.printed()
            _answer(server, load_frame, replies, settings)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not notes[NOTE_REPLIED]:
            send(replies, death(notes, os.waitstatus_to_exitcode(status)))
        notes[NOTE_REQUEST] += 1


def main() -> None:
    """Serve until the parent hangs up."""
    settings = ChildSettings.parse(sys.argv[1])
    limits = settings.limits
    requests, replies = confinement.take_protocol()
    confinement.die_with(settings.parent)
    confinement.confine(limits.memory_bytes, limits.printed_bytes, reserves=True)
    confinement.unbuffer_stdout()
    notes = memoryview(mmap.mmap(settings.notes, protocol.NOTES_SIZE)).cast("I")
    os.close(settings.notes)
    serve = serve_in_forks if settings.fresh else serve_each
    serve(requests, replies, notes, settings)
    # The driver's own clean-up at exit is no part of any answer.
    os._exit(0)


if __name__ == "__main__":
    main()
