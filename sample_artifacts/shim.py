"""One call of NVRTC, nvFatbin or nvJitLink, in a process of its own.

These libraries may crash, and two releases of one must not share a process, so `workshop.py` runs
this file as a child: `python shim.py REQUEST.json`. The request names the library, the inputs
(files in the working directory) and the options; the result is written to the file "out".
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Request = dict[str, Any]


class VendorError(RuntimeError):
    """A vendor library returned a non-zero status."""


class Library:
    """A shared library whose functions return 0 for success."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self.log: Callable[[], str] = lambda: ""

    def has(self, name: str) -> bool:
        """Whether the library exports `name`."""
        return hasattr(self._library, name)

    def call(self, name: str, *arguments: Any) -> None:
        """Call `name`, raising VendorError for any status but 0."""
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            raise VendorError(f"{name} returned {status}: {self.log()}")

    def buffer(self, handle: ctypes.c_void_p, size_name: str, get_name: str) -> bytes:
        """Fetch a result through the usual pair of a size function and a copy function."""
        size = ctypes.c_size_t()
        self.call(size_name, handle, ctypes.byref(size))
        data = ctypes.create_string_buffer(size.value)
        self.call(get_name, handle, data)
        return data.raw


def strings(values: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    """A C array of strings."""
    return (ctypes.c_char_p * len(values))(*(value.encode() for value in values))


def nvrtc(request: Request) -> bytes:
    """Compile `source` and return its PTX, cubin or LTO-IR."""
    library = Library(request["library"])
    source, options = request["source"], request["options"]
    program = ctypes.c_void_p()
    text = Path(source).read_bytes()
    library.call("nvrtcCreateProgram", ctypes.byref(program), text, source.encode(), 0, None, None)
    library.log = lambda: library.buffer(
        program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog"
    ).decode()
    library.call("nvrtcCompileProgram", program, len(options), strings(options))
    want = request["want"]
    if want == "LTOIR" and not library.has("nvrtcGetLTOIR"):
        want = "NVVM"  # its name in CUDA 11
    return library.buffer(program, f"nvrtcGet{want}Size", f"nvrtcGet{want}")


def nvfatbin(request: Request) -> bytes:
    """Pack the members into one fatbin region."""
    library = Library(request["library"])
    options = request["options"]
    handle = ctypes.c_void_p()
    library.call("nvFatbinCreate", ctypes.byref(handle), strings(options), len(options))
    for member in request["members"]:
        data = Path(member["file"]).read_bytes()
        arguments: list[Any] = [handle, data, ctypes.c_size_t(len(data))]
        if member["add"] in ("PTX", "Cubin", "LTOIR"):
            arguments.append(member["arch"].encode())
        if member["add"] != "Reloc":
            arguments.append(member["identifier"].encode() or None)
        if member["add"] in ("PTX", "LTOIR", "TileIR"):
            arguments.append(member["options"].encode() or None)
        library.call(f"nvFatbinAdd{member['add']}", *arguments)
    return library.buffer(handle, "nvFatbinSize", "nvFatbinGet")


def nvjitlink(request: Request) -> bytes:
    """Link the members and return the linked cubin, PTX or LTO-IR."""
    library = Library(request["library"])
    suffix, options = request["suffix"], request["options"]
    handle = ctypes.c_void_p()

    def name(function: str) -> str:
        return f"__nvJitLink{function}_{suffix}"

    library.call(name("Create"), ctypes.byref(handle), len(options), strings(options))
    library.log = lambda: library.buffer(
        handle, name("GetErrorLogSize"), name("GetErrorLog")
    ).decode()
    for member in request["members"]:
        data = Path(member["file"]).read_bytes()
        size = ctypes.c_size_t(len(data))
        library.call(name("AddData"), handle, member["kind"], data, size, member["file"].encode())
    library.call(name("Complete"), handle)
    want = f"GetLinked{request['want']}"
    return library.buffer(handle, name(f"{want}Size"), name(want))


LIBRARIES: dict[str, Callable[[Request], bytes]] = {
    "nvrtc": nvrtc,
    "nvfatbin": nvfatbin,
    "nvjitlink": nvjitlink,
}


def main() -> None:
    """Serve the request named on the command line."""
    request = json.loads(Path(sys.argv[1]).read_text())
    try:
        Path("out").write_bytes(LIBRARIES[request["tool"]](request))
    except VendorError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
