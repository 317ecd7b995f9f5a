"""Verbs under faults of the machine: a process that runs them, one a fork, armed by ``faults.c``.

``python tests/faults.py`` with ``LD_PRELOAD`` reads cases, a line of JSON each, and answers with
how each ended. Verbs are imported once, so that a case takes hundredths of a second.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

HERE = Path(__file__).parent
OPEN, WRITE, NAME, SYNC, READ, FOLDER = (1 << n for n in range(6))
ALL = OPEN | WRITE | NAME | SYNC | FOLDER
CODES = {name: getattr(errno, name) for name in ("ENOSPC", "EIO", "EINTR", "EROFS", "EACCES")}


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong.

    Attributes:
        kinds: calls that it strikes.
        code: of the error; empty: the process is killed.
        nth: the call that is struck first.
        lasts: all later ones are, too.
        below: the folder of the files, by its word: ``work``, ``home``, ``tmp``.
        hidden: a folder that seems not to be there.
        jump: seconds by which the clock goes to and fro.
        memory: MiB of address space that the process may still take; 0 for any number.
        killed_after: seconds.
    """

    kinds: int = 0
    code: str = ""
    nth: int = 1
    lasts: bool = True
    below: str = "work"
    hidden: str = ""
    jump: int = 0
    memory: int = 0
    killed_after: float = 0.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a verb ended.

    Attributes:
        code: its exit code; below 0 a signal.
        seen: so many calls of the kinds were made.
        seconds: it took.
        messages: on standard error.
    """

    code: int
    seen: int
    seconds: float
    messages: str


class Machine:
    """Runs verbs in folders of its own, with faults."""

    def __init__(self, folder: Path, shim: Path) -> None:
        self.folder = folder
        self.places = {name: folder / name for name in ("work", "home", "tmp")}
        for place in self.places.values():
            place.mkdir()
        environment = {
            **os.environ,
            "LD_PRELOAD": str(shim),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(self.places["home"]),
            "TMPDIR": str(self.places["tmp"]),
        }
        for name in ("CACHE", "STATE", "CONFIG", "DATA"):
            environment.pop(f"XDG_{name}_HOME", None)
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def run(self, words: tuple[str, ...], fault: Fault | None = None) -> Ended:
        """Run a verb in the folder ``work``."""
        request = {"words": words, "fault": asdict(fault or Fault())}
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(request) + "\n")
        stdin.flush()
        return Ended(**json.loads(stdout.readline()))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def _imports() -> None:
    import ltocompat.cli
    import ltocompat.commands.audit
    import ltocompat.commands.check
    import ltocompat.commands.env
    import ltocompat.commands.extract
    import ltocompat.commands.init
    import ltocompat.commands.matrix  # noqa: F401 - what a fork has need not be loaded


def _arm(folder: Path, fault: Fault) -> ctypes.CDLL:
    shim = ctypes.CDLL(None)
    shim.fault_seen.restype = ctypes.c_long
    shim.fault_jump(ctypes.c_longlong(fault.jump))
    shim.fault_hide(fault.hidden.encode())
    below = str(folder / fault.below).encode()
    code = CODES.get(fault.code, 0)
    shim.fault_arm(below, fault.kinds, ctypes.c_long(fault.nth), code, int(fault.lasts))
    if fault.memory:
        own = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
        most = own + (fault.memory << 20)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    return shim


def _child(folder: Path, words: list[str], fault: Fault, result: IO[bytes]) -> None:
    code = 99
    try:
        from ltocompat.cli import run

        os.chdir(folder / "work")
        for number, name in ((1, "out"), (2, "err")):
            fd = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(fd, number)
        shim = _arm(folder, fault)
        try:
            code = run(words)
            sys.stdout.flush()
        finally:
            seen = shim.fault_seen()
            shim.fault_arm(b"", 0, ctypes.c_long(-1), 0, 0)
        result.write(str(seen).encode())
        result.flush()
    except BaseException:  # noqa: BLE001 - the parent tells
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def _case(folder: Path, request: dict[str, object]) -> Ended:
    fault = Fault(**request["fault"])  # type: ignore[arg-type]
    path = folder / "seen"
    begun = time.monotonic()
    with open(path, "wb") as result:
        child = os.fork()
        if child == 0:
            os.setsid()
            _child(folder, list(request["words"]), fault, result)  # type: ignore[call-overload]
        if fault.killed_after:
            time.sleep(fault.killed_after)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    messages = (folder / "err").read_text("utf-8", "replace")
    seen = int(path.read_bytes() or b"0")
    return Ended(code, seen, time.monotonic() - begun, messages)


def main() -> None:
    """Answer cases until the parent hangs up."""
    folder = Path(sys.argv[1])
    _imports()
    for line in sys.stdin:
        print(json.dumps(asdict(_case(folder, json.loads(line)))), flush=True)


if __name__ == "__main__":
    main()
