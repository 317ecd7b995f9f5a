"""The process that loads NVRTC; its argument: SETTINGS."""

from __future__ import annotations

import os
from typing import Any

from ltocompat.model.errors import Missing
from ltocompat.trial import profiles, sandbox, serving
from ltocompat.trial.protocol import Message
from ltocompat.trial.sandbox import Calls, Files
from ltocompat.trial.serving import Reply


class CompileServer(serving.Server):
    """The server that makes NVRTC's calls for each request: one translation unit."""

    forks = False

    def start(self) -> Reply:
        """See ``Server``."""
        nvrtc = serving.bindings("nvrtc", "drives NVRTC")
        try:
            version = nvrtc.nvrtcVersion()
        except RuntimeError as error:
            raise Missing(
                "NVRTC is not found here, and --install-linkers installs no compiler; get it with: "
                "pip install nvidia-cuda-nvrtc"
            ) from error
        self._calls: Any = nvrtc
        library = next(iter(serving.mapped("/libnvrtc.so")), "libnvrtc.so")
        # Only now, since it is found by running programs; what is compiled is our own.
        files = Files(read=(os.path.dirname(library),))
        held = sandbox.enter(self.limits, files, profiles.loading(forks=False))
        return {"version": [int(version[1]), int(version[2])], "library": library, "sandbox": held}

    def calls(self) -> Calls:
        """See ``Server``; NVRTC opens its built-in functions with the first compilation."""
        return profiles.computing(serves_on=True, reads=True)

    def serve(self, message: Message) -> tuple[Reply, bytes]:
        """See ``Server``."""
        calls, table, (source,) = self._calls, message.fields, message.pieces
        code, program = calls.nvrtcCreateProgram(source, table["name"].encode(), 0, [], [])
        if int(code):
            return self._reply(code, b""), b""
        options = [value.encode() for value in table["options"]]
        (code,) = calls.nvrtcCompileProgram(program, len(options), options)
        log = self._filled("ProgramLog", program)[1]
        output = b""
        if not int(code):
            code, output = self._filled(table["want"].upper(), program)
        calls.nvrtcDestroyProgram(program)
        return self._reply(code, log), output

    def _filled(self, what: str, program: Any) -> tuple[Any, bytes]:  # noqa: ANN401
        code, size = getattr(self._calls, f"nvrtcGet{what}Size")(program)
        buffer = bytearray(size or 0)
        if not int(code) and size:
            (code,) = getattr(self._calls, f"nvrtcGet{what}")(program, buffer)
        return code, bytes(buffer)

    def _reply(self, code: Any, log: bytes) -> dict[str, Any]:  # noqa: ANN401
        text = log.rstrip(b"\0").decode("utf-8", "replace")
        return {"code": int(code), "code_name": getattr(code, "name", str(code)), "log": text}


def main() -> None:
    """Serve until the parent closes the connection."""
    CompileServer().run()
