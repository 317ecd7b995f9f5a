"""The calls of nvJitLink, by every version that there is.

Codes are integers. Since 12.3 the library exports plain names; before, only names with a version,
like ``__nvJitLinkCreate_12_0``, which are the same calls. Not by ``cuda.bindings``, which imports
some 100 modules and runs programs when it is loaded, where a sandbox lets it do neither; which
drops the handle of a failed Create, and with it the log; and which frees the name of an input after
AddData, though the library keeps the pointer (13.4.4, with nvJitLink 13.5.37).
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

from ltocompat.model.arch import Release
from ltocompat.model.errors import restated
from ltocompat.trial.values import TrialImpossible

_NEWEST_MINOR = 99
# Handle, kind, data, size, name.
_ADD_ARGUMENTS: tuple[Any, ...] = (
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_size_t,
    ctypes.c_char_p,
)


class NvJitLink:
    """A loaded library; a code of 0 is success, a handle is an address."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self.release = _release(library)
        self._suffix = f"_{self.release.major}_{self.release.minor}"
        self._functions: dict[str, Callable[..., int]] = {}
        self._names: list[bytes] = []
        add: Any = self._function("AddData")
        add.argtypes = _ADD_ARGUMENTS
        self._add: Callable[[int, int, bytes, int, bytes], int] = add

    def _function(self, name: str) -> Callable[..., int]:
        # Kept, since to look for a name that is not there costs more than most calls.
        if name not in self._functions:
            self._functions[name] = getattr(
                self._library, f"__nvJitLink{name}{self._suffix}", None
            ) or getattr(self._library, f"nvJitLink{name}")
        return self._functions[name]

    def create(self, options: Sequence[str]) -> tuple[int, int, str]:
        """Return the code, the handle (0 for none), and after a failure the error log."""
        handle = ctypes.c_void_p()
        texts = _texts(tuple(options))
        code = self._function("Create")(ctypes.byref(handle), len(options), texts)
        log = ""
        if code and handle.value:
            # The handle stays: up to 12.6, Destroy crashes after a failed Create (measured).
            log = self.log(handle.value, "ErrorLog").decode("utf-8", "replace")
        return code, handle.value or 0, log

    def add(self, handle: int, kind: int, data: bytes, name: str) -> int:
        """Add an input and return the code; keep the data until the link, when 12.2 reads SASS."""
        # Every version keeps the pointer to the name until Destroy, and logs what lies there then.
        self._names.append(name.encode())
        return self._add(handle, kind, data, len(data), self._names[-1])

    def complete(self, handle: int) -> int:
        """Link; its code."""
        return self._function("Complete")(ctypes.c_void_p(handle))

    def log(self, handle: int, which: str) -> bytes:
        """``ErrorLog`` or ``InfoLog``."""
        _, size = self.size(handle, which)
        return self.content(handle, which, size)[1] if size else b""

    def size(self, handle: int, what: str) -> tuple[int, int]:
        """Return the code, and bytes of a log, of ``LinkedCubin`` or of ``LinkedPtx``."""
        size = ctypes.c_size_t()
        code = self._function(f"Get{what}Size")(ctypes.c_void_p(handle), ctypes.byref(size))
        return code, size.value

    def content(self, handle: int, what: str, size: int) -> tuple[int, bytes]:
        """Return the code, and a result with this number of bytes."""
        buffer = ctypes.create_string_buffer(size)
        return self._function(f"Get{what}")(ctypes.c_void_p(handle), buffer), buffer.raw

    def destroy(self, handle: int) -> None:
        """Give the handle back."""
        self._function("Destroy")(ctypes.byref(ctypes.c_void_p(handle)))
        self._names.clear()


@functools.lru_cache(maxsize=16)
def _texts(options: tuple[str, ...]) -> ctypes.Array[ctypes.c_char_p]:
    """Options as the library takes them; requests of one file have the same."""
    return (ctypes.c_char_p * len(options))(*(option.encode() for option in options))


def _release(library: ctypes.CDLL) -> Release:
    """The version as the library says it, or, before 12.3, by the newest name that it exports.

    Raises:
        TrialImpossible: it is not nvJitLink.
    """
    if hasattr(library, "nvJitLinkVersion"):
        major, minor = ctypes.c_uint(), ctypes.c_uint()
        library.nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor))
        return Release(major.value, minor.value)
    for minor_number in range(_NEWEST_MINOR, -1, -1):
        if hasattr(library, f"__nvJitLinkCreate_12_{minor_number}"):
            return Release(12, minor_number)
    raise TrialImpossible("the library exports no function of nvJitLink")


def load(path: str) -> NvJitLink:
    """Load the library by its absolute path.

    Raises:
        TrialImpossible: it can't be loaded, or is not nvJitLink.
    """
    with restated(TrialImpossible, "the library can't be loaded", OSError):
        library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL | os.RTLD_NOW)
    return NvJitLink(library)
