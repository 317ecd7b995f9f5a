"""The process that loads the CUDA driver; its argument: SETTINGS."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import glob
import os
from time import perf_counter
from typing import Any

from ltocompat.model.errors import Missing
from ltocompat.trial import profiles, sandbox, serving
from ltocompat.trial.load_values import (
    AT_FUNCTION,
    AT_LAUNCH,
    AT_LOAD,
    AT_START,
    AT_UNLOAD,
    Launch,
    LoadRequest,
    decode,
)
from ltocompat.trial.protocol import Message
from ltocompat.trial.sandbox import Calls, Files
from ltocompat.trial.serving import Reply

_NO_DEVICE = 100
_LAZY = 2  # CUmoduleLoadingMode
_TYPES = {int: ctypes.c_int, float: ctypes.c_float}
# What libcuda 580.159.04 opens on an H100 (strace, 2026-11-22), to use and to read. It names its
# threads below /proc/self.
_MYSELF = "/proc/self"
_DEVICES = ("/dev/nv*", "/dev/dri/*")
_TOLD_BY_THE_SYSTEM = (
    *(f"/proc/{name}" for name in ("devices", "driver", "meminfo", "modules", "sys/vm", "version")),
    *("/sys/bus/pci", "/sys/devices", "/sys/module/nvidia", "/etc/nvidia", "/usr/share/nvidia"),
)
# Where the multi-process service listens, without which nothing is connected to (cuda-mps-control).
_SERVICE_FOLDER, _SERVICE_SOCKET = "/tmp/nvidia-mps", "control"  # noqa: S108 - the service's own
_OPEN_FILES = 4096  # of eight GPUs, each of which takes some hundred
# Since this version Landlock holds sockets that have a name in the file system.
_SOCKETS_SINCE = 9

_Handle = Any  # a module or a function of the driver, by cuda.bindings, which has no types
_Buffers = list[tuple[Any, bytes]]


class _Cuda:
    """The driver of this machine, started.

    Attributes:
        library: path of the libcuda that answers.
        version: what cuDriverGetVersion() says, 13000 for 13.0.
        gpus: name and compute capability of each.
        lazy: it loads a kernel when that is first used, not with its module: by default since CUDA
            12.2, and as CUDA_MODULE_LOADING says.

    Raises:
        Missing: there is no driver, it does not start, or it shows no GPU.
    """

    def __init__(self, calls: Any) -> None:  # noqa: ANN401 - a module without types
        self._calls = calls
        try:
            code, _ = self._call("cuInit", 0)
        except RuntimeError as error:
            raise Missing(
                "libcuda.so.1, NVIDIA's user-mode driver, is not found here; load the code on a "
                "machine with a GPU and its driver"
            ) from error
        if code and code != _NO_DEVICE:
            raise Missing(f"the driver does not start: cuInit says {self._named(code)}")
        self.library = next(iter(serving.mapped("/libcuda.so")), "libcuda.so")
        self.version = int(self._must("cuDriverGetVersion"))
        count = 0 if code else self._must("cuDeviceGetCount")
        if not count:
            raise Missing(f"the driver {self.library} is installed, but shows no GPU")
        self.gpus = [self._described(index) for index in range(count)]
        self._contexts: dict[int, Any] = {}
        self.lazy = self._optional("cuModuleGetLoadingMode") == (0, _LAZY)

    def _optional(self, name: str, *arguments: Any) -> tuple[int, Any] | None:  # noqa: ANN401
        """``_call`` of a function that older drivers lack; None if it is absent."""
        with contextlib.suppress(AttributeError, RuntimeError):
            return self._call(name, *arguments)
        return None

    def _call(self, name: str, *arguments: Any) -> tuple[int, Any]:  # noqa: ANN401
        """Code and value of one function."""
        try:
            code, *values = getattr(self._calls, name)(*arguments)
        except ValueError as error:  # a code that the module's own enum lacks
            return int(str(error).split()[0]), None
        return int(code), values[0] if values else None

    def _must(self, name: str, *arguments: Any) -> Any:  # noqa: ANN401
        code, value = self._call(name, *arguments)
        if code:
            raise Missing(f"the driver can't be queried: {name} says {self._named(code)}")
        return value

    def _named(self, code: int) -> str:
        _, name = self._call("cuGetErrorName", self._calls.CUresult(code)) if code else (0, None)
        return f"{code} ({name.decode()})" if name else str(code)

    def _described(self, index: int) -> tuple[str, int, int]:
        device = self._must("cuDeviceGet", index)
        name = self._must("cuDeviceGetName", 256, device)
        kinds = self._calls.CUdevice_attribute
        ask = functools.partial(self._must, "cuDeviceGetAttribute")
        major = ask(kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)
        minor = ask(kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)
        return name.split(b"\0")[0].decode("utf-8", "replace"), int(major), int(minor)

    def enter(self, index: int) -> int:
        """Make a GPU's context the current one; return a code."""
        if index not in self._contexts:
            code, device = self._call("cuDeviceGet", index)
            if not code:
                code, context = self._call("cuDevicePrimaryCtxRetain", device)
            if code:
                return code
            self._contexts[index] = context
        return self._call("cuCtxSetCurrent", self._contexts[index])[0]

    def load(self, image: bytes, log_bytes: int) -> tuple[int, Any, tuple[bytes, bytes]]:
        """Return the code, the module, and the JIT compiler's logs: errors and information."""
        options = self._calls.CUjit_option
        logs = [bytearray(log_bytes) for _ in range(2)]
        code, module = self._call(
            "cuModuleLoadDataEx",
            image,
            4,
            [
                options.CU_JIT_ERROR_LOG_BUFFER,
                options.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                options.CU_JIT_INFO_LOG_BUFFER,
                options.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
            ],
            [logs[0], log_bytes, logs[1], log_bytes],
        )
        errors, information = (bytes(log).partition(b"\0")[0] for log in logs)
        return code, module, (errors, information)

    def function(self, module: _Handle, kernel: str) -> tuple[int, Any]:
        """Return the code and the kernel, which is loaded now at the latest."""
        name = kernel.encode("utf-8", "surrogateescape")
        code, function = self._call("cuModuleGetFunction", module, name)
        if not code and self.lazy:
            # cuFuncLoad came with CUDA 12.4; to ask for registers needs the kernel as well.
            registers = self._calls.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NUM_REGS
            loaded = self._optional("cuFuncLoad", function)
            code, _ = loaded or self._call("cuFuncGetAttribute", registers, function)
        return code, function

    def sound(self) -> bool:
        """Return whether the current context still works after a failure."""
        return self._call("cuCtxSynchronize")[0] == 0

    def unload(self, module: _Handle) -> None:
        """Give the module back."""
        self._call("cuModuleUnload", module)

    def launch(self, function: _Handle, launch: Launch) -> tuple[int, bytes]:
        """Run a kernel to its end; return the code and the content of its last buffer."""
        buffers: _Buffers = []
        values: list[int | float] = []
        types: list[Any] = []
        try:
            for argument in launch.arguments:
                if isinstance(argument, bytes):
                    code, address = self._call("cuMemAlloc", len(argument))
                    if code:
                        return code, b""
                    buffers.append((address, argument))
                    values.append(int(address))
                    types.append(ctypes.c_void_p)
                else:
                    values.append(argument)
                    types.append(_TYPES[type(argument)])
            return self._run(function, launch, (tuple(values), tuple(types)), buffers)
        finally:
            for address, _ in buffers:
                self._call("cuMemFree", address)

    def _run(
        self, function: _Handle, launch: Launch, arguments: tuple[Any, Any], buffers: _Buffers
    ) -> tuple[int, bytes]:
        result = bytearray(len(buffers[-1][1])) if buffers else bytearray()
        signature = (launch.blocks, 1, 1, launch.threads, 1, 1)
        steps: list[tuple[Any, ...]] = [
            *(("cuMemcpyHtoD", address, content, len(content)) for address, content in buffers),
            ("cuLaunchKernel", function, *signature, 0, 0, arguments, 0),
            ("cuCtxSynchronize",),
        ]
        if buffers:
            steps.append(("cuMemcpyDtoH", result, buffers[-1][0], len(result)))
        for name, *given in steps:
            code, _ = self._call(name, *given)
            if code:
                return code, b""
        return 0, bytes(result)


def _files() -> Files:
    """The files that a driver uses: its devices, what the kernel says of them, its libraries."""
    devices = tuple(path for pattern in _DEVICES for path in glob.glob(pattern))
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    use = (*devices, _MYSELF, *([_service_folder()] if _has_service() else []))
    return Files((*_TOLD_BY_THE_SYSTEM, *filter(os.path.isabs, folders)), use)


def _service_folder() -> str:
    return os.environ.get("CUDA_MPS_PIPE_DIRECTORY") or _SERVICE_FOLDER


def _has_service() -> bool:
    return os.path.exists(os.path.join(_service_folder(), _SERVICE_SOCKET))


class LoadServer(serving.Server):
    """The server that makes the driver's calls for each request: one module on one GPU."""

    forks = False  # a driver that was started does not survive it
    reserves_memory = True
    open_files = _OPEN_FILES

    def start(self) -> Reply:
        """See ``Server``."""
        self.at(AT_START)
        calls = serving.bindings("driver", "asks the driver")
        os.open(_MYSELF, os.O_PATH)  # as long as it is open, it is the folder that may be used
        self._service = _has_service()
        held = sandbox.enter(
            self.limits,
            _files(),
            profiles.driver(service=self._service, starting=True),
            landlock_since=_SOCKETS_SINCE if self._service else 1,
        )
        self._cuda = cuda = _Cuda(calls)
        return {
            "sandbox": held,
            "library": cuda.library,
            "cuda": cuda.version,
            "gpus": cuda.gpus,
            "lazy": cuda.lazy,
        }

    def calls(self) -> Calls:
        """See ``Server``."""
        return profiles.driver(service=self._service)

    def serve(self, message: Message) -> tuple[Reply, bytes]:
        """See ``Server``; the output is the output of the launch."""
        reply: Reply = {}
        output = self._serve(decode(message), reply)
        if reply["code"]:
            reply["sound"] = self._cuda.sound()
        return reply, output

    def _serve(self, request: LoadRequest, reply: Reply) -> bytes:
        cuda = self._cuda
        self.at(AT_START)
        code = cuda.enter(request.gpu)
        if code:
            reply.update(step=AT_START, code=code)
            return b""
        self.at(AT_LOAD)
        start = perf_counter()
        code, module, logs = cuda.load(request.data, self.limits.log_bytes)
        reply.update(step=AT_LOAD, code=code, seconds=perf_counter() - start)
        for name, log in zip(("error", "info"), logs, strict=True):
            if log:
                reply[name] = log.decode("utf-8", "replace")
        if code:
            return b""
        found = self._found(module, request, reply)
        reply["seconds"] = perf_counter() - start
        output = self._launched(module, request.launch, reply) if found and request.launch else b""
        if reply["step"] != AT_LAUNCH or not reply["code"]:
            # Else the kernel has spoilt the context, and the process ends with it.
            self.at(AT_UNLOAD)
            cuda.unload(module)
        return output

    def _found(self, module: _Handle, request: LoadRequest, reply: Reply) -> bool:
        for number, kernel in enumerate(request.kernels):
            self.at(AT_FUNCTION, number)
            code, _ = self._cuda.function(module, kernel)
            reply.update(step=AT_FUNCTION, code=code)
            if code:
                reply["kernel"] = number
                return False
        return True

    def _launched(self, module: _Handle, launch: Launch, reply: Reply) -> bytes:
        self.at(AT_LAUNCH)
        code, function = self._cuda.function(module, launch.kernel)
        output = b""
        if not code:
            code, output = self._cuda.launch(function, launch)
        reply.update(step=AT_LAUNCH, code=code)
        return output


def main() -> None:
    """Serve until the parent hangs up."""
    LoadServer().run()
    # The driver's own clean-up at exit is not part of any answer.
    os._exit(0)
