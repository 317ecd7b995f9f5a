"""The process that loads nvJitLink; its arguments: LIBRARY SETTINGS."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import perf_counter

from ltocompat.trial import outputs, profiles, protocol, sandbox, serving
from ltocompat.trial.nvjitlink_calls import load
from ltocompat.trial.protocol import Message
from ltocompat.trial.sandbox import Files
from ltocompat.trial.serving import Reply


class LinkServer(serving.Server):
    """The server that makes nvJitLink's calls for each request."""

    def __init__(self, library: str) -> None:
        self._library = library

    def start(self) -> Reply:
        """See ``Server``."""
        serving.keep_memory()
        files = Files(read=(self._library,))
        held = sandbox.enter(self.limits, files, profiles.loading(forks=self.forks))
        self._linker = load(self._library)
        release = self._linker.release
        return {"release": [release.major, release.minor], "sandbox": held}

    def serve(self, message: Message) -> tuple[Reply, bytes]:
        """See ``Server``; a reply has only unusual values."""
        named, options, complete, keep_output, kernels = message.fields
        linker = self._linker
        reply: Reply = {}
        self.at(protocol.AT_CREATE)
        start = perf_counter()
        code, handle, log = linker.create(options)
        reply["create"] = _microseconds(start)
        if code:
            reply.update(step=protocol.AT_CREATE, code=code, error=self._cut(log.encode()))
            return reply, b""
        output = b""
        if self._added(handle, named, message.pieces, reply) and complete:
            want = "Ptx" if "-ptx" in options else "Cubin"
            output = self._completed(handle, want, kernels, reply)
        for name in ("error", "info"):
            if text := linker.log(handle, f"{name.capitalize()}Log"):
                reply[name] = self._cut(text)
        self.at(protocol.AT_DESTROY)
        linker.destroy(handle)
        kept = keep_output and len(output) <= self.limits.output_bytes
        return reply, output if kept else b""

    def _added(
        self, handle: int, named: list[tuple[str, int]], pieces: Sequence[bytes], reply: Reply
    ) -> bool:
        start = perf_counter()
        code = number = 0
        for number, ((name, kind), data) in enumerate(zip(named, pieces, strict=True)):
            self.at(protocol.AT_ADD, number)
            code = self._linker.add(handle, kind, data, name)
            if code:
                break
        reply["add"] = _microseconds(start)
        if code:
            reply.update(step=protocol.AT_ADD, input=number, code=code)
        return not code

    def _completed(self, handle: int, want: str, kernels: Sequence[str], reply: Reply) -> bytes:
        self.at(protocol.AT_COMPLETE)
        start = perf_counter()
        code = self._linker.complete(handle)
        reply.update(step=protocol.AT_COMPLETE, complete=_microseconds(start))
        if code:
            reply["code"] = code
            return b""
        self.at(protocol.AT_GET)
        code, size = self._linker.size(handle, f"Linked{want}")
        output = b""
        if not code:
            reply["size"] = size
            code, output = self._linker.content(handle, f"Linked{want}", size)
        if code:
            reply.update(step=protocol.AT_GET, code=code)
            return b""
        reply.update(outputs.contents(want, output, kernels))
        return output

    def _cut(self, log: bytes) -> str:
        return log[: self.limits.log_bytes].rstrip(b"\0").decode("utf-8", "replace")


def _microseconds(start: float) -> int:
    return int((perf_counter() - start) * 1e6)


def main() -> None:
    """Serve until the parent hangs up."""
    LinkServer(sys.argv[1]).run()
