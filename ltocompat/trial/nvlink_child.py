"""The process that runs nvlink; its arguments: PROGRAM FOLDER SETTINGS.

Every link is a process of its own, so that a failure needs no second asking. nvlink knows its
inputs by their endings, ignores without a word what has another, and finds libnvvm in
``nvvm/lib64/libnvvm.so`` below ``-nvvmpath`` alone (strace of 13.0.88 and 13.5.37).
"""

from __future__ import annotations

import glob
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from time import perf_counter

from msgspec.structs import replace

from ltocompat.model.limits import MIB
from ltocompat.trial import outputs, protocol, sandbox, serving
from ltocompat.trial.protocol import Message
from ltocompat.trial.sandbox import Files
from ltocompat.trial.serving import Reply
from ltocompat.trial.system_calls import NETWORK, OTHERS, OWNERS, QUEUES, SYSTEM
from ltocompat.trial.values import LANDLOCK, InputKind, TrialImpossible, TrialLimits

_ENDINGS = {
    InputKind.CUBIN: "cubin",
    InputKind.PTX: "ptx",
    InputKind.LTOIR: "ltoir",
    InputKind.FATBIN: "fatbin",
    InputKind.OBJECT: "o",
    InputKind.LIBRARY: "a",
    InputKind.ANY: "o",
}
_RELEASE = re.compile(rb"release (\d{1,9})\.(\d{1,9}),")
# Where libnvvm lies, seen from the program: our own cache, a toolkit, a wheel.
_LIBNVVM = (".", "../nvvm/lib64", "../nvvm/lib", "../lib", "../lib64")


class NvlinkServer(serving.Server):
    """Runs nvlink for each request.

    Args:
        program: its path.
        folder: where its files may lie; whoever started this process removes it.
    """

    def __init__(self, program: str, folder: str) -> None:
        self._program = program
        self._folder = folder

    def start(self, notes: memoryview, limits: TrialLimits) -> Reply:
        """See ``Server``."""
        self._notes = notes
        self._limits = limits
        # Inputs may be larger than what a foreign program may print; nvlink has limits of its own.
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        libraries = tuple(os.path.realpath(path) for path in self._libraries())
        self._nvvm = self._place_of_libnvvm(libraries)
        # nvlink starts no other program (strace of 13.0.88 and 13.5.37).
        self._files = Files(libraries, (self._folder,), (self._program, *serving.mapped("/ld-")))
        never = NETWORK | QUEUES | SYSTEM | OTHERS | OWNERS
        held = sandbox.enter(limits, self._files, never)
        log = os.path.join(self._folder, f"version-{os.getpid()}")
        try:
            _, version = self._run(["--version"], self._folder, log)
        except OSError as error:
            raise TrialImpossible(
                f"{self._program!r} can't be run: {error.strerror}; name the program itself, not a "
                "script around it"
            ) from error
        release = _RELEASE.search(version)
        if release is None:
            raise TrialImpossible(f"{self._program!r} does not say which nvlink it is")
        return {"release": [int(number) for number in release.groups()], "sandbox": held}

    def enter_fork(self) -> None:
        """See ``Server``: nvlink, and what it leaves running, writes into a folder of the fork."""
        self._folder = tempfile.mkdtemp(dir=self._folder)
        self._nvvm = self._place_of_libnvvm(self._files.read)
        if LANDLOCK in self._limits.sandbox:
            sandbox.confine_files(replace(self._files, write=(self._folder,)))

    def _place_of_libnvvm(self, libraries: Sequence[str]) -> str:
        """A folder in which nvlink finds libnvvm; empty where there is none."""
        if not libraries:
            return ""
        nvvm = os.path.join(self._folder, f"nvvm-{os.getpid()}")
        os.makedirs(os.path.join(nvvm, "lib64"))
        os.symlink(libraries[0], os.path.join(nvvm, "lib64", "libnvvm.so"))
        return nvvm

    def _libraries(self) -> list[str]:
        """Every libnvvm that lies where this nvlink may have it."""
        folders = (os.path.join(os.path.dirname(self._program), name) for name in _LIBNVVM)
        patterns = (os.path.join(glob.escape(folder), "libnvvm.so*") for folder in folders)
        return [path for pattern in patterns for path in glob.glob(pattern)]

    def serve(self, message: Message) -> tuple[Reply, bytes]:
        """See ``Server``; linking is the one step."""
        named, options, _, keep_output = message.fields
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            files = [_file(number, kind) for number, (_, kind) in enumerate(named)]
            for file, (_, kind), data in zip(files, named, message.pieces, strict=True):
                with open(os.path.join(folder, file), "wb") as target:
                    # The zero byte behind PTX is for libraries.
                    target.write(data.rstrip(b"\0") if kind == InputKind.PTX else data)
            names = {file: name for file, (name, _) in zip(files, named, strict=True)}
            reply, output = self._link(options, files, folder)
        if "log" in reply:
            reply["error"] = _named(reply.pop("log"), names)
        return reply, output if keep_output and len(output) <= self._limits.output_bytes else b""

    def _link(
        self, options: Sequence[str], files: Sequence[str], folder: str
    ) -> tuple[Reply, bytes]:
        words = [*options, *([f"-nvvmpath={self._nvvm}"] if self._nvvm else []), *files]
        output, log = (os.path.join(folder, name) for name in ("output", "log"))
        self._notes[protocol.NOTE_STEP] = protocol.AT_COMPLETE
        start = perf_counter()
        status, printed = self._run([*words, "-o", output], folder, log)
        spent = int((perf_counter() - start) * 1e6)
        reply: Reply = {"step": protocol.AT_COMPLETE, "complete": spent}
        text = printed[: self._limits.log_bytes].decode("utf-8", "replace")
        if status < 0:
            return reply | {"died": status, "printed": text}, b""
        reply |= {"log": text} if text else {}
        if status:
            return reply | {"code": status}, b""
        with open(output, "rb") as file:
            data = file.read()
        return reply | {"size": len(data), **outputs.contents("cubin", data)}, data

    def _run(self, words: Sequence[str], folder: str, log: str) -> tuple[int, bytes]:
        """Exit status (below 0: minus a signal) and what was printed."""
        with open(log, "w+b") as file:
            done = subprocess.run(  # noqa: S603 - the linker that was asked for
                [self._program, *words],
                check=False,
                cwd=folder,
                env={"TMPDIR": folder},
                stdout=file,
                stderr=subprocess.STDOUT,
                preexec_fn=self._confine,
            )
            file.seek(0)
            return done.returncode, file.read(MIB)

    def _confine(self) -> None:
        """Limits of nvlink alone; those of time and memory it has from this process."""
        limit = self._limits.output_bytes
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        serving.die_with(os.getppid())


def _file(number: int, kind: int) -> str:
    return f"input{number}.{_ENDINGS[InputKind(kind)]}"


def _named(log: str, names: dict[str, str]) -> str:
    """The log with the inputs' own names; ``input10.o`` is not ``input1`` with something behind."""
    return re.sub(r"input[0-9]{1,9}\.\w+", lambda found: names.get(found[0], found[0]), log)


def main() -> None:
    """Serve until the parent hangs up."""
    serving.run(NvlinkServer(sys.argv[1], sys.argv[2]))
