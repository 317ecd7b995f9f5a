"""The process that loads the CUDA driver: ``python -m ltocompat.trial.loading.child SETTINGS``."""

from __future__ import annotations

import os
import sys
from time import perf_counter
from typing import Any

from ltocompat.trial import serving
from ltocompat.trial.loading.driver import Cuda
from ltocompat.trial.loading.load_protocol import (
    AT_FUNCTION,
    AT_LAUNCH,
    AT_LOAD,
    AT_START,
    AT_UNLOAD,
    LoadFrame,
    decode,
)
from ltocompat.trial.loading.values import Launch
from ltocompat.trial.protocol import NOTE_INPUT, NOTE_STEP, Message
from ltocompat.trial.serving import ChildSettings, Reply
from ltocompat.trial.values import TrialLimits


class LoadServer:
    """Makes the driver's calls for each request: one module on one GPU."""

    forks = False  # a driver that was started does not survive it
    reserves_memory = True

    def start(self, notes: memoryview, limits: TrialLimits) -> Reply:
        """See ``Server``."""
        self._notes = notes
        self._limits = limits
        self._at(AT_START)
        self._cuda = cuda = Cuda()
        return {
            "library": cuda.library,
            "cuda": cuda.version,
            "gpus": cuda.gpus,
            "lazy": cuda.lazy,
        }

    def serve(self, message: Message) -> tuple[Reply, bytes]:
        """See ``Server``; the output is that of the launch."""
        reply: Reply = {}
        output = self._serve(decode(message), reply)
        if reply["code"]:
            reply["sound"] = self._cuda.sound()
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
        self._notes[NOTE_STEP], self._notes[NOTE_INPUT] = step, number


def main() -> None:
    """Serve until the parent hangs up."""
    serving.run(LoadServer(), ChildSettings.parse(sys.argv[1]))
    # The driver's own clean-up at exit is no part of any answer.
    os._exit(0)


if __name__ == "__main__":
    main()
