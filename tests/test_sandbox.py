"""What code can do that has taken over a linker: nothing but answer.

The process is the real one; the library in it is built from ``hostile_nvjitlink.c``, which tries
what its input says, either when it is loaded or when it is given an input.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from libraries_made import GCC, needs_gcc

from ltocompat.cli import run
from ltocompat.trial.link_pool import Pool
from ltocompat.trial.values import (
    LANDLOCK,
    SECCOMP,
    InputKind,
    LinkOutcome,
    Request,
    TrialImpossible,
    TrialInput,
    TrialLimits,
)

pytestmark = [
    needs_gcc,
    pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux's"),
]
SOURCE = Path(__file__).parent / "hostile_nvjitlink.c"
BOTH = (LANDLOCK, SECCOMP)

FILES = ("read", "read-openat2", "list", "write", "make", "truncate", "unlink", "rename", "link")
CHILDREN = ("fork", "vfork", "clone3", "leave-group")
OTHERS = ("kill", "ptrace", "limits", "shm", "signal-by-pipe", "renice", "pin", "schedule")
MEMORY = ("parent-memory", "parent-memory-at-once", "parent-descriptor", "own-memory")
NETWORK = ("tcp", "udp", "unix", "abstract", "pair", "netlink", "io_uring", "io_uring-enter")
RIGHTS = ("user", "group", "namespace", "io-priority")
EVERYTHING = (
    *FILES,
    "chmod",
    "mkdir",
    "x32",
    "shell",
    "shell-in-memory",
    "shell-in-memory-at",
    "terminal",
    "watch",
    "file-attributes",
    *CHILDREN,
    *OTHERS,
    *MEMORY,
    *NETWORK,
    *RIGHTS,
)
ON_LOAD = ("write", "unlink", "chmod", "tcp", "shell", "mkdir")
REFUSED = {"EPERM", "EACCES", "ENOSYS", "ENOENT"}  # nothing tried here is absent


def build(folder: Path, on_load: str = "") -> Path:
    library = folder / "libnvJitLink.so.13"
    flags = ["-shared", "-fPIC", "-w", f'-DON_LOAD="{on_load}"']
    subprocess.run([GCC, *flags, "-o", library, SOURCE], check=True)
    return library


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("library"))


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("token")
    path.chmod(0o600)
    return path


def attempts(library: Path, *what: str, mechanisms: tuple[str, ...] = BOTH) -> dict[str, set[str]]:
    """What came of each attempt, in a process that served others and in one that did not."""
    limits = TrialLimits(sandbox=mechanisms)
    requests = [
        Request((TrialInput("input", InputKind.LTOIR, text.encode()),), ("-arch=sm_90",), False)
        for text in what
    ]
    came: dict[str, set[str]] = {}
    with Pool(library, workers=1, limits=limits) as pool:
        assert pool.sandbox == mechanisms
        for text, answer in zip(what, pool.run(requests), strict=True):
            # A refusal is asked again in a fresh process; both must have come to the same.
            assert answer.confirmed, answer
            came.setdefault(text.split(" ")[0], set()).add(answer.log.strip())
    return came


def children_of(parent: int, word: str) -> list[Path]:
    """Folders in /proc of processes with this word on their command line."""
    listed = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii").split()
    folders = [Path("/proc", number) for number in listed]
    return [folder for folder in folders if word.encode() in (folder / "cmdline").read_bytes()]


def done(came: dict[str, set[str]]) -> set[str]:
    return {what for what, results in came.items() if not results <= REFUSED}


def with_path(path: Path, *what: str) -> list[str]:
    return [f"{word} {path}" for word in what]


def test_a_linker_that_was_taken_over_can_do_nothing(library: Path, secret: Path) -> None:
    came = attempts(library, *with_path(secret, *EVERYTHING))
    assert done(came) == set()
    assert len(came) == len(EVERYTHING)
    assert secret.read_text() == "token"
    assert secret.stat().st_mode & 0o777 == 0o600


SIX = ("read", "write", "connect", "shell", "fork", "unlink")


@pytest.mark.parametrize(
    ("mechanisms", "could"),
    [
        ((LANDLOCK,), {"fork"}),
        pytest.param(BOTH, set(), marks=pytest.mark.slow),
        pytest.param((SECCOMP,), set(), marks=pytest.mark.slow),
        pytest.param((), set(SIX), marks=pytest.mark.slow),
    ],
)
def test_what_each_mechanism_holds_alone(
    mechanisms: tuple[str, ...], could: set[str], library: Path, secret: Path
) -> None:
    came = attempts(library, *with_path(secret, *SIX[:-1]), mechanisms=mechanisms)
    came |= attempts(library, *with_path(secret, SIX[-1]), mechanisms=mechanisms)
    unlinked = set() if secret.exists() else {"unlink"}  # which can be done only once
    assert done(came) | unlinked == could


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_linker_that_was_taken_over_answers_for_no_other_file(
    library: Path, workers: int, *, complete: bool
) -> None:
    # Of each file the same three inputs; only a file that takes the linker over is answered by it.
    def request(word: str, file: str | None) -> Request:
        input_ = TrialInput(word, InputKind.LTOIR, word.encode())
        return Request((input_,), ("-arch=sm_90",), complete, file=file)

    words = ("read", "take over", "read")
    hostile = [request(word, "hostile.so") for word in words]
    others = [request("read", f"{n}.so") for n in range(6)] + [request("read", None)] * 2
    with Pool(library, workers=workers) as pool:
        for _ in range(2):
            answers = list(pool.run([*hostile, *others, *hostile, *others]))
            outcomes = [answer.outcome for answer in answers]
            for first in (0, 11):
                accepted = LinkOutcome.ACCEPTED
                assert outcomes[first : first + 3] == [LinkOutcome.REFUSED, accepted, accepted]
                assert set(outcomes[first + 3 : first + 11]) == {LinkOutcome.REFUSED}


def test_without_a_sandbox_it_could(library: Path, secret: Path) -> None:
    # What proves that the attempts above are real ones.
    what = ("read", "fork", "tcp", "chmod", *OTHERS[4:], *MEMORY, *RIGHTS, "watch", "pair")
    came = attempts(library, *with_path(secret, *what), mechanisms=())
    assert done(came) == set(what)


@pytest.mark.parametrize(
    "what",
    ["read", *(pytest.param(w, marks=pytest.mark.slow) for w in ON_LOAD)],
)
def test_nor_can_it_when_it_is_loaded(what: str, tmp_path: Path, secret: Path) -> None:
    library = build(tmp_path, f"{what} {secret}")
    assert done(attempts(library, what)) == set()


def test_seccomp_alone_holds_all_of_it(library: Path, secret: Path) -> None:
    came = attempts(library, *with_path(secret, *EVERYTHING), mechanisms=(SECCOMP,))
    assert done(came) == set()


def test_landlock_alone_holds_files_and_programs_in_them(library: Path, secret: Path) -> None:
    came = attempts(library, *with_path(secret, *FILES, "shell"), mechanisms=(LANDLOCK,))
    assert done(came) == set()


def test_a_trial_can_be_bound_to_a_sandbox(library: Path) -> None:
    limits = TrialLimits(sandbox=(LANDLOCK,), require_sandbox=True)
    with pytest.raises(TrialImpossible, match="seccomp can't confine a trial here"):
        Pool(library, workers=1, limits=limits).__enter__()


def test_it_sees_no_variable_of_the_user(monkeypatch: pytest.MonkeyPatch, library: Path) -> None:
    monkeypatch.setenv("UPLOAD_TOKEN", "token")
    with Pool(library, workers=1) as pool:
        (child,) = children_of(os.getpid(), str(library))
        environment = (child / "environ").read_bytes()
        folder = os.readlink(child / "cwd")
        session = os.getsid(int(child.name))
        assert pool.sandbox == BOTH
    assert b"token" not in environment
    assert folder.endswith(" (deleted)")
    assert session != os.getsid(0)  # and so no terminal


@pytest.mark.parametrize(("value", "required"), [("1", True), ("0", False), ("", False)])
def test_the_variable_asks_for_it_as_the_option_does(
    value: str, required: bool, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LTOCOMPAT_REQUIRE_SANDBOX", value)
    run(["link", "no-such-file", "--arch", "sm_90"])  # as every verb reads it
    limits = TrialLimits(sandbox=(LANDLOCK,))
    pool = Pool(library, workers=1, limits=limits)
    if required:
        with pytest.raises(TrialImpossible, match="seccomp can't confine"), pool:
            pass
    else:
        with pool:
            assert pool.sandbox == (LANDLOCK,)
