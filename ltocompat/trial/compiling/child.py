"""The process that loads NVRTC: ``python -m ltocompat.trial.compiling.child SETTINGS``."""

from __future__ import annotations

import mmap
import os
import sys
from typing import Any

from ltocompat.trial import confinement, protocol
from ltocompat.trial.child import ChildSettings, send

_GETTERS = {"ptx": "PTX", "ltoir": "LTOIR"}


class Nvrtc:
    """NVRTC as ``cuda.bindings`` finds it.

    Attributes:
        version: major and minor.

    Raises:
        ImportError: ``cuda.bindings`` is not installed.
        RuntimeError: NVRTC is not found.
    """

    def __init__(self) -> None:
        from cuda.bindings import nvrtc  # type: ignore[import-untyped, unused-ignore]

        self._calls: Any = nvrtc
        _, major, minor = nvrtc.nvrtcVersion()
        self.version = [int(major), int(minor)]

    def compile(self, table: dict[str, Any], source: bytes) -> tuple[dict[str, Any], bytes]:
        """Compile one translation unit; the reply, and the output."""
        calls = self._calls
        code, program = calls.nvrtcCreateProgram(source, table["name"].encode(), 0, [], [])
        if int(code):
            return self._reply(code, b""), b""
        options = [value.encode() for value in table["options"]]
        (code,) = calls.nvrtcCompileProgram(program, len(options), options)
        log = self._filled("ProgramLog", program)[1]
        output = b""
        reply = self._reply(code, log)
        if not int(code):
            code, output = self._filled(_GETTERS[table["want"]], program)
            reply = self._reply(code, log)
        calls.nvrtcDestroyProgram(program)
        return reply, output

    def _filled(self, what: str, program: Any) -> tuple[Any, bytes]:  # noqa: ANN401
        code, size = getattr(self._calls, f"nvrtcGet{what}Size")(program)
        buffer = bytearray(size or 0)
        if not int(code) and size:
            (code,) = getattr(self._calls, f"nvrtcGet{what}")(program, buffer)
        return code, bytes(buffer)

    def _reply(self, code: Any, log: bytes) -> dict[str, Any]:  # noqa: ANN401
        text = log.rstrip(b"\0").decode("utf-8", "replace")
        return {"code": int(code), "code_name": getattr(code, "name", str(code)), "log": text}


def _path() -> str:
    """The NVRTC that is loaded."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        rows = (line.rstrip("\n").split(None, 5) for line in maps)
        paths = (row[5] for row in rows if len(row) > 5)
        return next((path for path in paths if "/libnvrtc.so" in path), "libnvrtc.so")


def main() -> None:
    """Serve until the parent hangs up."""
    settings = ChildSettings.parse(sys.argv[1])
    limits = settings.limits
    requests, replies = confinement.take_protocol()
    confinement.die_with(settings.parent)
    confinement.confine(limits.memory_bytes, limits.printed_bytes)
    confinement.unbuffer_stdout()
    notes = memoryview(mmap.mmap(settings.notes, protocol.NOTES_SIZE)).cast("I")
    os.close(settings.notes)
    try:
        nvrtc = Nvrtc()
    except ImportError:
        words = "cuda.bindings, which drives NVRTC, is not installed; install cuda-python"
        send(replies, {"missing": words})
        return
    except RuntimeError:
        words = "NVRTC is not found here; install it, e.g. with pip install nvidia-cuda-nvrtc"
        send(replies, {"missing": words})
        return
    send(replies, {"version": nvrtc.version, "library": _path()})
    while (frame := protocol.read_frame(requests)) is not None:
        confinement.start_clocks(limits.cpu_seconds, limits.wall_seconds)
        reply, output = nvrtc.compile(frame.header, bytes(frame.body))
        confinement.stop_clock()
        if printed := confinement.printed():
            reply["log"] += printed.decode("utf-8", "replace")
        send(replies, reply, output)
        notes[protocol.NOTE_REQUEST] += 1


if __name__ == "__main__":
    main()
