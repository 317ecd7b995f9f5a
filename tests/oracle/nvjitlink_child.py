"""One nvJitLink library, asked in a process of its own: links in, what it said out.

``python nvjitlink_child.py LIBRARY SUFFIX`` reads a JSON request a line from standard input, and
writes a JSON answer a line to standard output. It uses nothing of ltocompat, so that it can be an
oracle for it. Each link has a fork of its own, since the library may end its process.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

SECONDS = 60


class Library:
    """The functions of a library, by the names that every release of it has."""

    def __init__(self, path: str, suffix: str) -> None:
        self._library = ctypes.CDLL(path)
        self._suffix = suffix

    def call(self, name: str, *arguments: Any) -> int:  # noqa: ANN401 - as C takes them
        return int(getattr(self._library, f"__nvJitLink{name}_{self._suffix}")(*arguments))

    def output(self, handle: ctypes.c_void_p) -> bytes:
        """The cubin that was linked; nothing where there is none."""
        size = ctypes.c_size_t()
        if self.call("GetLinkedCubinSize", handle, ctypes.byref(size)):
            return b""
        data = ctypes.create_string_buffer(size.value)
        self.call("GetLinkedCubin", handle, data)
        return data.raw

    def log(self, handle: ctypes.c_void_p) -> str:
        size = ctypes.c_size_t()
        if self.call("GetErrorLogSize", handle, ctypes.byref(size)) or not size.value:
            return ""
        text = ctypes.create_string_buffer(size.value + 1)
        self.call("GetErrorLog", handle, text)
        return text.value.decode("utf-8", "replace").strip()


def link(library: Library, request: dict[str, Any]) -> dict[str, Any]:
    """The step that a link came to, its status, and the log.

    A kernel may be left out in silence: those that are wanted are looked for in the output.
    """
    options = [option.encode() for option in request["options"]]
    handle = ctypes.c_void_p()
    array = (ctypes.c_char_p * len(options))(*options)
    status = library.call("Create", ctypes.byref(handle), len(options), array)
    if status:
        return {"step": "create", "status": status, "log": ""}
    # Up to 12.2 SASS is read when it is linked; each release keeps the pointer to the name.
    inputs = [
        (kind, Path(path).read_bytes(), Path(path).name.encode())
        for kind, path in request["inputs"]
    ]
    for kind, data, name in inputs:
        size = ctypes.c_size_t(len(data))
        status = library.call("AddData", handle, kind, data, size, name)
        if status:
            return {"step": "add", "status": status, "log": library.log(handle)}
    status = library.call("Complete", handle)
    answer = {"step": "complete", "status": status, "log": library.log(handle)}
    linked = b"" if status else library.output(handle)
    missing = [name for name in request["kernels"] if f".text.{name}\0".encode() not in linked]
    if missing and not status:
        return {"step": "output", "status": 0, "log": f"without the kernels {', '.join(missing)}"}
    return answer


def in_a_fork(library: Library, request: dict[str, Any]) -> dict[str, Any]:
    """The answer, or how the process that was to give it ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(SECONDS)
        # What a thin archive names is looked for in the current folder.
        os.chdir(request.get("folder", "."))
        with os.fdopen(writing, "w") as pipe:
            json.dump(link(library, request), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if text:
        answer: dict[str, Any] = json.loads(text)
        return answer
    return {"step": "ended", "status": os.waitstatus_to_exitcode(status), "log": ""}


def main() -> None:
    """Serve until standard input ends."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the library writes to both
    library = Library(*sys.argv[1:3])
    for line in sys.stdin:
        request = json.loads(line)
        answer = in_a_fork(library, request)
        if "NO_MODULE_IN_PROGRAM" in answer["log"]:
            # None of the LTO-IR is for the target, so that it is no link with -lto.
            request["options"] = [option for option in request["options"] if option != "-lto"]
            answer = in_a_fork(library, request)
        json.dump(answer, answers)
        answers.write("\n")
        answers.flush()


if __name__ == "__main__":
    main()
