"""The process that runs nvlink; its arguments: PROGRAM FOLDER SETTINGS.

Every link is a process of its own, so that a failure needs no second asking. nvlink knows its
inputs by their endings, ignores without a word what has another, and finds libnvvm in
``nvvm/lib64/libnvvm.so`` below ``-nvvmpath`` alone (strace of 13.0.88 and 13.5.37).
"""

from __future__ import annotations

import functools
import glob
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from time import perf_counter

from ltocompat.model.errors import restated
from ltocompat.model.limits import MIB
from ltocompat.trial import outputs, profiles, protocol, sandbox, serving
from ltocompat.trial.protocol import Message
from ltocompat.trial.sandbox import Calls, Files
from ltocompat.trial.serving import Reply
from ltocompat.trial.values import LANDLOCK, InputKind, TrialImpossible

# nvlink goes by endings; the other kinds have their names as endings.
_ENDINGS = {InputKind.OBJECT: "o", InputKind.LIBRARY: "a", InputKind.ANY: "o"}
_OUTPUT = "output"
_RELEASE = re.compile(rb"release (\d{1,9})\.(\d{1,9}),")
# Where libnvvm lies, seen from the program: our own cache, a toolkit, a wheel.
_LIBNVVM = (".", "../nvvm/lib64", "../nvvm/lib", "../lib", "../lib64")
# LTO-IR in objects is linked only beside the device runtime, which builds give to every link.
_DEVICE_RUNTIME = (".", "../lib64", "../lib")


# Those that NVIDIA's programs name; Python may have been started by another.
_LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")


class NvlinkServer(serving.Server):
    """The server that runs nvlink for each request.

    Args:
        program: its path.
        folder: the folder for its files; the parent process removes it.
    """

    writes_files = True  # inputs, which may be larger than what a foreign program may print

    def __init__(self, program: str, folder: str) -> None:
        self._program = program
        self._folder = folder

    def start(self) -> Reply:
        """See ``Server``."""
        libraries = tuple(map(os.path.realpath, self._beside(_LIBNVVM, "libnvvm.so*")))
        self._nvvm = self._place_of_libnvvm(libraries)
        self._runtime = self._beside(_DEVICE_RUNTIME, "libcudadevrt.a")[:1]
        # nvlink starts no other program (strace of 11.8.89 and 13.0.48 .. 13.5.37).
        program = (self._program, *_LOADERS, *serving.mapped("/ld-"))
        read = (*libraries, *map(os.path.realpath, self._runtime))
        self._files = Files(read, make=(self._folder,), execute=program)
        held = sandbox.enter(self.limits, self._files, profiles.laying_out())
        text = f"{self._program!r} can't be run"
        advice = "; name the program itself, not a script around it"
        with (
            restated(TrialImpossible, text, OSError, advice=advice, brief=True),
            tempfile.TemporaryDirectory(dir=self._folder) as folder,
        ):
            _, version = self._run(["--version"], folder)
        release = _RELEASE.search(version)
        if release is None:
            raise TrialImpossible(f"{self._program!r} is not nvlink; it prints no nvlink version")
        numbers = [int(number) for number in release.groups()]
        return {"release": numbers, "sandbox": held, "device_runtime": bool(self._runtime)}

    def calls(self) -> Calls | None:
        """See ``Server``; each nvlink is confined at its start."""
        return None

    def _place_of_libnvvm(self, libraries: Sequence[str]) -> str:
        """A folder in which nvlink finds libnvvm; empty if there is none."""
        if not libraries:
            return ""
        nvvm = os.path.join(self._folder, f"nvvm-{os.getpid()}")
        os.makedirs(os.path.join(nvvm, "lib64"))
        os.symlink(libraries[0], os.path.join(nvvm, "lib64", "libnvvm.so"))
        return nvvm

    def _beside(self, names: Sequence[str], file: str) -> list[str]:
        """Every such file in the folders where this nvlink may have it."""
        folders = (os.path.join(os.path.dirname(self._program), name) for name in names)
        patterns = (os.path.join(glob.escape(folder), file) for folder in folders)
        return [path for pattern in patterns for path in glob.glob(pattern)]

    def serve(self, message: Message) -> tuple[Reply, bytes]:
        """See ``Server``; linking is the only step."""
        named, options, _, keep_output, kernels = message.fields
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            kinds = (InputKind(kind) for _, kind in named)
            endings = (_ENDINGS.get(kind, kind.name.lower()) for kind in kinds)
            files = [f"input{number}.{ending}" for number, ending in enumerate(endings)]
            for file, (_, kind), data in zip(files, named, message.pieces, strict=True):
                with open(os.path.join(folder, file), "wb") as target:
                    # The zero byte behind PTX is for libraries.
                    target.write(data.rstrip(b"\0") if kind == InputKind.PTX else data)
            names = {file: name for file, (name, _) in zip(files, named, strict=True)}
            reply, output = self._link(options, files, kernels, folder)
        if log := reply.pop("log", ""):
            # input10.o is not input1 with something behind.
            shown = lambda found: names.get(found[0], found[0])  # noqa: E731
            reply["error"] = re.sub(r"input[0-9]{1,9}\.\w+", shown, log)
        return reply, output if keep_output and len(output) <= self.limits.output_bytes else b""

    def _link(
        self, options: Sequence[str], files: Sequence[str], kernels: Sequence[str], folder: str
    ) -> tuple[Reply, bytes]:
        words = [*options, *([f"-nvvmpath={self._nvvm}"] if self._nvvm else []), *files]
        words += self._runtime if "-lto" in options else []
        output = os.path.join(folder, _OUTPUT)
        self.at(protocol.AT_COMPLETE)
        start = perf_counter()
        status, printed = self._run([*words, "-o", output], folder)
        spent = int((perf_counter() - start) * 1e6)
        reply: Reply = {"step": protocol.AT_COMPLETE, "complete": spent}
        text = printed[: self.limits.log_bytes].decode("utf-8", "replace")
        if status < 0:
            return reply | {"died": status, "printed": text}, b""
        reply |= {"log": text} if text else {}
        if status:
            return reply | {"code": status}, b""
        with open(output, "rb") as file:
            data = file.read()
        return reply | {"size": len(data), **outputs.contents("Cubin", data, kernels)}, data

    def _run(self, words: Sequence[str], folder: str) -> tuple[int, bytes]:
        """Return the exit status (below 0: minus a signal) and what was printed.

        nvlink makes no file but its output (strace), which is there already: it may make none.
        """
        output = os.path.join(folder, _OUTPUT)
        with open(output, "xb"), open(os.path.join(folder, "log"), "w+b") as file:
            done = subprocess.run(  # noqa: S603 - the linker that was asked for
                [self._program, *words],
                check=False,
                cwd=folder,
                env={"TMPDIR": folder},
                stdout=file,
                stderr=subprocess.STDOUT,
                preexec_fn=functools.partial(self._confine, folder, output),
            )
            file.seek(0)
            return done.returncode, file.read(MIB)

    def _confine(self, folder: str, output: str) -> None:
        """Confine nvlink, between fork and exec; its limit of CPU time it has from this process."""
        sandbox.lower(resource.RLIMIT_FSIZE, self.limits.output_bytes)
        serving.die_with(os.getppid())
        if LANDLOCK in self.limits.sandbox:
            nvvm = (self._nvvm,) if self._nvvm else ()
            read = (folder, *nvvm, *self._files.read)
            files = Files(read, use=(output,), execute=self._files.execute)
            version = min(sandbox.landlock_version(), self.limits.landlock_version)
            sandbox.confine_files(files, version)
        sandbox.seal(self.limits, profiles.program())


def main() -> None:
    """Serve until the parent hangs up."""
    NvlinkServer(sys.argv[1], sys.argv[2]).run()
