"""The suite of attacks: what code can do that has taken over a child of a trial.

``attacks.c`` is a stand-in for each library or program, which tries what its input says. Each
attempt has files of its own, which are looked at afterwards, whatever it said. What succeeds has to
stand in ``data/attacks.toml`` with its reason. ``python tests/attacks.py --write`` tries all with
all rights, as root and as another user, and writes the table in .github/SECURITY.md.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import re
import socket
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ltocompat.model.linker import Tool
from ltocompat.trial import sandbox
from ltocompat.trial.compile_pool import CompilerProcess
from ltocompat.trial.link_pool import Pool
from ltocompat.trial.load_pool import LoadPool
from ltocompat.trial.load_values import LoadRequest
from ltocompat.trial.protocol import Message
from ltocompat.trial.values import (
    LANDLOCK,
    SECCOMP,
    InputKind,
    Request,
    TrialAnswer,
    TrialInput,
    TrialLimits,
)

TESTS = Path(__file__).parent
ROOT = TESTS.parent
SOURCE = TESTS / "attacks.c"
SECURITY = ROOT / ".github" / "SECURITY.md"
LISTED = TESTS / "data" / "attacks.toml"
OTHER_USER = 65534
NEWEST = 9

ATTEMPTS = tuple(
    name
    for name in re.findall(r'^  WHEN\("([^"]+)"', SOURCE.read_text(encoding="utf-8"), re.MULTILINE)
    if os.uname().machine == "x86_64" or name not in {"x32", "32-bit", "iopl", "ioperm", "utime"}
)
# What ends, replaces or cuts the process can't be tried while a library is loaded, or unconfined.
_ENDING_WORDS = (
    "shell shell-by-loader shell-in-memory shell-at start-itself 32-bit fork vfork clone clone3 "
    "leave-a-process descriptors other-user own-truncate"
)
_ENDING = frozenset(_ENDING_WORDS.split())
CHILDREN = ("nvJitLink", "nvJitLink while it is loaded", "nvlink", "NVRTC", "libcuda")
# Landlock alone holds these of each child (nvlink's own files and a driver's devices apart).
_NEVER_WORDS = (
    "read read-openat2 list-temporary write append make make-creat unlink unlinkat rmdir rename "
    "renameat2 link linkat symlink symlinkat mkdir mkdirat make-pipe make-device make-disk "
    "truncate-by-neither shell shell-at memory-of-victim environment-of-victim shm_open "
    "terminal"
)
NEVER_WITH_LANDLOCK = frozenset(_NEVER_WORDS.split())
_SIGNALS_SINCE = 6
# Planted things are there, so that ENOENT is a refusal, too; bounds have errors of their own.
_REFUSED = {"denied", "EPERM", "EACCES", "ENOSYS", "ENOENT", "ENOMEM", "EMFILE", "EFBIG", "EAGAIN"}
_ENDED = {"SIGSYS", "SIGSEGV"}  # by the kernel, for a call of another processor


class Rights(NamedTuple):
    """The mechanisms that confine a child; the version of Landlock, 0 for none."""

    landlock: int
    seccomp: bool

    def __str__(self) -> str:
        landlock = f"Landlock {self.landlock}" if self.landlock else ""
        words = [landlock, "seccomp" if self.seccomp else ""]
        return " and ".join(filter(None, words)) or "neither"

    @property
    def limits(self) -> TrialLimits:
        """As a pool takes them."""
        held = [LANDLOCK] * bool(self.landlock) + [SECCOMP] * self.seccomp
        return TrialLimits(
            sandbox=tuple(held), landlock_version=self.landlock or NEWEST, wall_seconds=20
        )


def all_rights() -> list[Rights]:
    """All that this kernel can give, but for none at all: then nothing is demanded."""
    newest = max(0, min(NEWEST, sandbox.landlock_version()))
    with_seccomp = [Rights(version, seccomp=True) for version in range(newest, -1, -1)]
    alone = [Rights(newest, seccomp=False)] if newest else []
    return with_seccomp + alone


def loader() -> str:
    """The path of the loader of programs."""
    found = re.search(r"(\S*/ld-\S+)", Path("/proc/self/maps").read_text(encoding="utf-8"))
    return found[1] if found else "/lib64/ld-linux-x86-64.so.2"


class Planted:
    """Files of each attempt, a process, and sockets that listen; a context manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ATTEMPTS:
            there = folder / name
            (there / "folder").mkdir(parents=True)
            (there / "file").write_text("token")
            (there / "file").chmod(0o600)
            (there / "link").symlink_to("file")
            with contextlib.suppress(OSError):
                os.setxattr(there / "file", "user.planted", b"1")
        self._before = {name: self._state(name) for name in ATTEMPTS}
        self.victim = subprocess.Popen(
            [sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True
        )
        self._sockets = [self._listening(socket.AF_UNIX, str(folder / "socket"))]
        self._sockets.append(self._listening(socket.AF_UNIX, f"\0ltocompat-{self.victim.pid}"))
        self._sockets.append(self._listening(socket.AF_INET, ("127.0.0.1", 0)))
        self.port = self._sockets[-1].getsockname()[1]

    @staticmethod
    def _listening(family: socket.AddressFamily, address: str | tuple[str, int]) -> socket.socket:
        made = socket.socket(family)
        made.bind(address)
        made.listen()
        return made

    def close(self) -> None:
        """End the process and the sockets."""
        for made in self._sockets:
            made.close()
        self.victim.kill()
        self.victim.communicate()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"/dev/shm/ltocompat-{self.victim.pid}")  # noqa: S108 - planted, too

    def words(self, own: str) -> str:
        """What an attempt is told of these, and of the file that it is itself."""
        return f"{self.folder} {self.victim.pid} {self.port} {own}"

    def _state(self, name: str) -> object:
        there = self.folder / name
        found: list[object] = []
        for path in sorted(there.iterdir()):
            status = path.lstat()
            content = path.read_text() if path.name == "file" and path.is_file() else ""
            attributes: Sequence[str] = ()
            with contextlib.suppress(OSError):
                attributes = os.listxattr(path, follow_symlinks=False)
            found.append((path.name, status.st_mode, status.st_uid, status.st_mtime_ns, content))
            found.append((path.name, tuple(attributes)))
        return found

    def changed(self, name: str) -> bool:
        """Whether something of this attempt's is not as it was."""
        return self._state(name) != self._before[name]

    def victim_ended(self) -> bool:
        """Whether the process that was planted is gone."""
        return self.victim.poll() is not None


@contextlib.contextmanager
def planted(folder: Path) -> Iterator[Planted]:
    """See ``Planted``."""
    found = Planted(folder)
    try:
        yield found
    finally:
        found.close()


def compiled(output: Path, *flags: str, sources: Sequence[Path] = (SOURCE,)) -> Path:
    inputs = map(str, sources)
    words = ["gcc", "-w", f'-DLOADER="{loader()}"', *flags, "-o", str(output), *inputs, "-ldl"]
    subprocess.run(words, check=True)
    return output


def _build(child: str, folder: Path, there: Planted) -> Path:
    shared: tuple[str, ...] = ("-shared", "-fPIC")
    if child == "nvlink":
        return compiled(folder / "nvlink", "-DAS_NVLINK")
    if child == "NVRTC":
        return compiled(folder / "libnvrtc.so.13", *shared, "-DAS_NVRTC")
    if child == "libcuda":
        shared += ("-DAS_LIBCUDA", "-include", str(SOURCE))
        fake = TESTS / "fake_libcuda.c"
        return compiled(folder / "libcuda.so.1", *shared, sources=(fake,))
    library = folder / "libnvJitLink.so.13"
    shared += ("-DAS_NVJITLINK",)
    if child != "nvJitLink":
        names = ",".join(f'"{name}"' for name in ATTEMPTS if name not in _ENDING)
        shared += (f"-DON_LOAD={names}", f'-DPLANTED="{there.words(str(library))}"')
    return compiled(library, *shared)


def _said(answer: TrialAnswer) -> str:
    """The last word of what was said: ``done``, or the name of an error or signal."""
    words = answer.log.split()
    if answer.signal in _ENDED and "done" not in words:
        return str(answer.signal)
    return words[-1] if words else f"{answer.outcome} {answer.signal or answer.exit_status}"


def _words(text: str) -> list[str]:
    """The words of ``its process ended (SIGSYS)``."""
    return text.replace("(", " ").replace(")", " ").split()


def _ask(child: str, built: Path, texts: Sequence[str], rights: Rights) -> list[str]:
    if child == "libcuda":
        with LoadPool(limits=rights.limits) as loads:
            requests = [LoadRequest("input", text.encode(), ()) for text in texts]
            return [_said(answer) for answer in loads.run(requests)]
    if child == "NVRTC":
        with CompilerProcess(limits=rights.limits) as compiler:
            fields = {"name": "input.cu", "options": [], "want": "ptx"}
            messages = [Message(fields, [text.encode()]) for text in texts]
            answers = compiler.run(messages)
            return [(a.log.replace("\0", " ").split() or _words(a.failure))[-1] for a in answers]
    tool = Tool.NVLINK if child == "nvlink" else Tool.NVJITLINK
    with Pool(built, workers=1, limits=rights.limits, tool=tool) as pool:
        asked = [
            Request((TrialInput("input", InputKind.LTOIR, text.encode()),), ("-arch=sm_90",), False)
            for text in texts
        ]
        return [_said(answer) for answer in pool.run(asked)]


def results(child: str, rights: Rights, attempts: Iterable[str] = ATTEMPTS) -> dict[str, str]:
    """What came of each attempt: ``refused``, or what happened instead."""
    left_out = _ENDING if child == CHILDREN[1] else frozenset()
    if rights == Rights(0, seccomp=False):
        left_out |= {"own-truncate"}
    names = [name for name in attempts if name not in left_out]
    with tempfile.TemporaryDirectory() as folder, planted(Path(folder, "planted")) as there:
        libraries = Path(folder, "libraries")
        libraries.mkdir()
        built = _build(child, libraries, there)
        before = os.environ.get("LD_LIBRARY_PATH")
        os.environ["LD_LIBRARY_PATH"] = str(libraries)
        try:
            texts = [f"{name} {there.words(str(built))}" for name in names]
            said = dict(zip(names, _ask(child, built, texts, rights), strict=True))
        finally:
            os.environ.pop("LD_LIBRARY_PATH")
            if before is not None:
                os.environ["LD_LIBRARY_PATH"] = before
        if there.victim_ended():
            said["tgkill-fault"] = "done"
        for name in names:
            refused = said[name] in _REFUSED | _ENDED and not there.changed(name)
            said[name] = "refused" if refused else said[name]
            if there.changed(name):
                said[name] = "done"
        return said


def of_other_user(child: str, rights: Rights) -> dict[str, str] | None:
    """The same, tried by a user who is not root; None where this Python is not for others."""
    paths = [str(ROOT), str(TESTS), *filter(None, sys.path), sysconfig.get_path("purelib")]
    minor = f"python3.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/{minor}", f"/usr/local/bin/{minor}"):
        words = [
            python,
            "-B",
            __file__,
            "--one",
            child,
            str(rights.landlock),
            str(int(rights.seccomp)),
        ]
        environ = {"PATH": os.environ["PATH"], "PYTHONPATH": ":".join(paths)}
        with contextlib.suppress(OSError):
            done = subprocess.run(
                words,
                user=OTHER_USER,
                group=OTHER_USER,
                extra_groups=[],
                cwd="/",
                check=False,
                capture_output=True,
                env=environ,
            )
            if done.returncode == 0:
                found: dict[str, str] = json.loads(done.stdout)
                return found
    return None


class Row(NamedTuple):
    """Attempts that succeed, for a reason."""

    attempts: frozenset[str]
    children: frozenset[str]
    rights: str
    reason: str

    def covers(self, child: str, rights: Rights) -> bool:
        """Whether it is about this child with these rights."""
        return (
            child in self.children
            and {
                "any": True,
                "no seccomp": not rights.seccomp,
                "no Landlock": not rights.landlock,
                "old Landlock": rights.landlock < _SIGNALS_SINCE,
            }[self.rights]
        )


@functools.cache
def listed() -> tuple[Row, ...]:
    """The rows of ``data/attacks.toml``."""
    rows = tomllib.loads(LISTED.read_text(encoding="utf-8"))["succeeds"]
    return tuple(
        Row(
            frozenset(row["attempts"]),
            frozenset(row.get("children", CHILDREN)),
            row["rights"],
            row["reason"],
        )
        for row in rows
    )


def on_list(child: str, rights: Rights) -> frozenset[str]:
    """What may succeed: without seccomp all but what Landlock holds, with neither everything."""
    if not rights.seccomp:
        held = NEVER_WITH_LANDLOCK if rights.landlock else frozenset()
        return frozenset(ATTEMPTS) - held
    return frozenset().union(
        *(row.attempts for row in listed() if row.covers(child, rights)), frozenset()
    )


def succeeded(found: Mapping[str, str]) -> set[str]:
    """The attempts that were not refused."""
    return {name for name, said in found.items() if said != "refused"}


def table(rows: Iterable[tuple[str, Rights, str, int, int]]) -> str:
    """The table of SECURITY.md: of each child, with which rights how many attempts succeed."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for child, rights, user, succeeding, number in rows:
        cell = f"{succeeding} of {number}"
        found.setdefault((str(rights), user), {})[child] = cell
    head = f"| confined by | user | {' | '.join(CHILDREN)} |"
    lines = [head, "|---|---|" + "---|" * len(CHILDREN)]
    for (rights_, user), cells in found.items():
        lines.append(f"| {rights_} | {user} | {' | '.join(cells.get(c, '') for c in CHILDREN)} |")
    return "\n".join(lines)


def reasons() -> str:
    """The list of SECURITY.md: what succeeds, and why it may."""
    when = {
        "any": "always",
        "no Landlock": "without Landlock",
        "no seccomp": "without seccomp",
        "old Landlock": f"with Landlock before version {_SIGNALS_SINCE}, or none",
    }
    rows = []
    for row in listed():
        children = ", ".join(child for child in CHILDREN if child in row.children)
        attempts = ", ".join(sorted(row.attempts))
        rows.append(f"| {attempts} | {children} | {when[row.rights]} | {row.reason} |")
    return "\n".join(["| attempts | children | when | why |", "|---|---|---|---|", *rows])


def written(text: str, mark: str, content: str) -> str:
    """``text`` with this content between the marks."""
    begin, end = f"<!-- {mark} -->\n", f"\n<!-- end of {mark} -->"
    before, _, rest = text.partition(begin)
    return f"{before}{begin}{content}{end}{rest.partition(end)[2]}"


def try_all(children: Iterable[str]) -> Iterator[tuple[str, Rights, str, int, int]]:
    """Try all with all rights, and end with exit status 1 where something is not listed."""
    as_root = os.getuid() == 0
    for rights in all_rights():
        for user in ("root", "another user")[not as_root :]:
            for child in children:
                other = as_root and user != "root"
                found = of_other_user(child, rights) if other else results(child, rights)
                if found is None:
                    continue
                more = succeeded(found) - on_list(child, rights)
                if more:
                    sys.exit(
                        f"{child}, {rights}, {user}: { ({name: found[name] for name in more}) }"
                    )
                print(child, rights, user, len(succeeded(found)), len(found), flush=True)
                yield child, rights, user, len(succeeded(found)), len(found)


def main() -> None:
    """Try one child, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=3, metavar=("CHILD", "LANDLOCK", "SECCOMP"))
    parser.add_argument("--only", action="append", metavar="CHILD")
    parser.add_argument("--write", action="store_true", help="the tables in SECURITY.md")
    options = parser.parse_args()
    if options.one:
        child, landlock, seccomp = options.one
        print(json.dumps(results(child, Rights(int(landlock), bool(int(seccomp))))))
        return
    rows = list(try_all(options.only or CHILDREN))
    text = written(SECURITY.read_text(encoding="utf-8"), "what succeeds", reasons())
    if options.write:
        SECURITY.write_text(written(text, "attempts", table(rows)), encoding="utf-8")


if __name__ == "__main__":
    main()
