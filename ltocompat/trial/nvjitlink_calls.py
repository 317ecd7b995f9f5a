"""The calls of nvJitLink, made by ``cuda.bindings`` or by a small shim of our own.

Both return codes as integers. ``cuda.bindings`` (13.4.4 was measured) follows a library that is
already loaded and serves 12.3 and later; before, the library exports only names with a version,
like ``__nvJitLinkCreate_12_0``, and the shim calls those. The shim also makes two calls that
``cuda.bindings`` makes badly. It drops the handle of a failed Create, and with it the log; and it
frees the name of an input after AddData, though the library keeps the pointer: with 13.5.37, "two
inputs define saxpy" then names the second input twice, and other names come out as garbage.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Sequence
from typing import Any

from ltocompat.model.arch import Release
from ltocompat.trial import serving
from ltocompat.trial.values import TrialImpossible

_UNVERSIONED_SINCE = Release(12, 3)
_NEWEST_MINOR = 99
# Handle, kind, data, size, name.
_ADD_ARGUMENTS: tuple[Any, ...] = (
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_size_t,
    ctypes.c_char_p,
)


class Shim:
    """nvJitLink through ctypes, every version; a code of 0 is success, a handle is an address."""

    name = "ctypes"

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self.release = _release(library)
        self._suffix = f"_{self.release.major}_{self.release.minor}"
        self._names: list[bytes] = []
        add: Any = self._function("AddData")
        add.argtypes = _ADD_ARGUMENTS
        self._add: Callable[[int, int, bytes, int, bytes], int] = add

    def _function(self, name: str) -> Callable[..., int]:
        function: Callable[..., int] = getattr(
            self._library, f"__nvJitLink{name}{self._suffix}", None
        ) or getattr(self._library, f"nvJitLink{name}")
        return function

    def create(self, options: Sequence[str]) -> tuple[int, int, str]:
        """Code, handle (0 for none), and, of a failure, the error log."""
        handle = ctypes.c_void_p()
        texts = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        code = self._function("Create")(ctypes.byref(handle), len(options), texts)
        log = ""
        if code and handle.value:
            # The handle stays: up to 12.6, Destroy crashes after a failed Create (measured).
            log = self._log(handle.value, "ErrorLog").decode("utf-8", "replace")
        return code, handle.value or 0, log

    def add(self, handle: int, kind: int, data: bytes, name: str) -> int:
        """Add an input; its code."""
        # Every version keeps the pointer to the name until Destroy, and logs what lies there then.
        self._names.append(name.encode())
        return self._add(handle, kind, data, len(data), self._names[-1])

    def complete(self, handle: int) -> int:
        """Link; its code."""
        return self._function("Complete")(ctypes.c_void_p(handle))

    def logs(self, handle: int) -> tuple[bytes, bytes]:
        """Error log and info log."""
        return self._log(handle, "ErrorLog"), self._log(handle, "InfoLog")

    def _log(self, handle: int, which: str) -> bytes:
        _, size = self._size(handle, which)
        return self._fill(handle, which, size)[1] if size else b""

    def output_size(self, handle: int, want: str) -> tuple[int, int]:
        """Code, and bytes of the linked ``cubin`` or ``ptx``."""
        return self._size(handle, _OUTPUTS[want])

    def output(self, handle: int, want: str, size: int) -> tuple[int, bytes]:
        """Code, and the output itself."""
        return self._fill(handle, _OUTPUTS[want], size)

    def _size(self, handle: int, what: str) -> tuple[int, int]:
        size = ctypes.c_size_t()
        code = self._function(f"Get{what}Size")(ctypes.c_void_p(handle), ctypes.byref(size))
        return code, size.value

    def _fill(self, handle: int, what: str, size: int) -> tuple[int, bytes]:
        buffer = ctypes.create_string_buffer(size)
        code = self._function(f"Get{what}")(ctypes.c_void_p(handle), buffer)
        return code, buffer.raw

    def destroy(self, handle: int) -> None:
        """Give the handle back."""
        self._function("Destroy")(ctypes.byref(ctypes.c_void_p(handle)))
        self._names.clear()


_OUTPUTS = {"cubin": "LinkedCubin", "ptx": "LinkedPtx"}


class Bindings(Shim):
    """nvJitLink through ``cuda.bindings.nvjitlink``."""

    name = "cuda.bindings"

    def __init__(self, library: ctypes.CDLL) -> None:
        super().__init__(library)
        # Only now, when the right library is loaded, so that the module can't find another one.
        from cuda.bindings import nvjitlink  # type: ignore[import-untyped, unused-ignore]

        self._module: Any = nvjitlink
        # A code that the module's own enum lacks comes as a ValueError.
        self._errors = (nvjitlink.nvJitLinkError, ValueError)
        self.release = Release(*nvjitlink.version())
        self._outputs = {
            "cubin": (nvjitlink.get_linked_cubin_size, nvjitlink.get_linked_cubin),
            "ptx": (nvjitlink.get_linked_ptx_size, nvjitlink.get_linked_ptx),
        }

    def create(self, options: Sequence[str]) -> tuple[int, int, str]:
        """See ``Shim``."""
        try:
            return 0, self._module.create(len(options), options), ""
        except self._errors:
            return super().create(options)

    def complete(self, handle: int) -> int:
        """See ``Shim``."""
        try:
            self._module.complete(handle)
        except self._errors as error:
            return _code(error)
        return 0

    def logs(self, handle: int) -> tuple[bytes, bytes]:
        """See ``Shim``."""
        error, info = b"", b""
        if size := self._module.get_error_log_size(handle):
            error = self._filled(self._module.get_error_log, handle, size)
        if size := self._module.get_info_log_size(handle):
            info = self._filled(self._module.get_info_log, handle, size)
        return error, info

    def output_size(self, handle: int, want: str) -> tuple[int, int]:
        """See ``Shim``."""
        try:
            return 0, self._outputs[want][0](handle)
        except self._errors as error:
            return _code(error), 0

    def output(self, handle: int, want: str, size: int) -> tuple[int, bytes]:
        """See ``Shim``."""
        try:
            return 0, self._filled(self._outputs[want][1], handle, size)
        except self._errors as error:
            return _code(error), b""

    @staticmethod
    def _filled(get: Callable[[int, bytearray], None], handle: int, size: int) -> bytes:
        buffer = bytearray(size)
        get(handle, buffer)
        return bytes(buffer)

    def destroy(self, handle: int) -> None:
        """See ``Shim``."""
        self._module.destroy(handle)
        self._names.clear()


def _code(error: Exception) -> int:
    """The integer behind an error: ``status``, or the head of "19 is not a valid Result"."""
    status = getattr(error, "status", None)
    return int(status if status is not None else str(error).split()[0])


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


def load(path: str) -> Shim:
    """Load the library by its absolute path and choose who drives it.

    Raises:
        TrialImpossible: it can't be loaded, is not nvJitLink, or another copy answered instead.
    """
    try:
        library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL | os.RTLD_NOW)
    except OSError as error:
        raise TrialImpossible(f"the library can't be loaded: {error}") from error
    shim = Shim(library)
    driver = shim
    if shim.release >= _UNVERSIONED_SINCE:
        with contextlib.suppress(ImportError):
            driver = Bindings(library)
    _check_who_answers(path, shim.release, driver.release)
    return driver


def _check_who_answers(path: str, wanted: Release, got: Release) -> None:
    """Raise unless this file is the only nvJitLink in the process, and gives its version."""
    mapped = set(serving.mapped("nvJitLink"))
    if mapped - {os.path.realpath(path)} or got != wanted:
        raise TrialImpossible(
            f"{path} is version {wanted}, but version {got} of {', '.join(sorted(mapped))} answers"
        )
