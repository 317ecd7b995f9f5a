"""What code can do that has taken over a child of a trial: nothing but answer.

The processes are the real ones; what they load or start is built from ``attacks.c``.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from pathlib import Path

import attacks
import pytest
from attacks import ATTEMPTS, CHILDREN, SECURITY, Rights, all_rights, on_list, succeeded
from libraries_made import needs_gcc
from tiers import sampled

from ltocompat.cli import run
from ltocompat.trial import sandbox, system_calls
from ltocompat.trial.child_pool import ChildPool
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
BOTH = (LANDLOCK, SECCOMP)
NEWEST = Rights(attacks.NEWEST, seccomp=True)
# One attempt of each sort, for the quick tier.
SOME = (
    *(
        "read",
        "write",
        "unlink",
        "chmod",
        "truncate-by-reading",
        "mkdir",
        "make-device",
        "own-mode",
    ),
    *(
        "shell",
        "fork",
        "clone3",
        "setsid",
        "kill",
        "tgkill",
        "ptrace",
        "pidfd",
        "renice",
        "limit-victim",
    ),
    *(
        "raise-memory",
        "large-file",
        "tcp",
        "connect",
        "connect-abstract",
        "io_uring",
        "shared-memory",
    ),
    *("user", "capabilities", "namespace", "bpf", "outlive-parent", "watch-itself", "new-call"),
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    flags = ("-shared", "-fPIC", "-DAS_NVJITLINK", "-Wl,-soname,libnvJitLink.so.13")
    return attacks.compiled(folder / "libnvJitLink.so.13", *flags)


@pytest.mark.parametrize("child", [child for child in CHILDREN if "while" not in child])
def test_a_child_that_was_taken_over_can_do_nothing_that_is_not_listed(child: str) -> None:
    if not LANDLOCK or len(sandbox.available()) < len(BOTH):
        pytest.skip("this kernel has not both mechanisms")
    found = attacks.results(child, NEWEST, SOME)
    assert len(found) == len(SOME)
    assert {name: found[name] for name in succeeded(found) - on_list(child, NEWEST)} == {}


def test_each_of_them_succeeds_where_nothing_confines_it() -> None:
    # What proves that the attempts are real ones; some need a right that a container lacks.
    what = (
        "read",
        "write",
        "fork",
        "tcp",
        "chmod",
        "kill",
        "connect",
        "connect-abstract",
        "setsid",
    )
    found = attacks.results("nvJitLink", Rights(0, seccomp=False), what)
    assert succeeded(found) == set(what)


@pytest.mark.slow
@pytest.mark.parametrize("user", ["root", "another user"])
@pytest.mark.parametrize("rights", sampled(all_rights(), 4), ids=str)
@pytest.mark.parametrize("child", CHILDREN)
def test_all_attempts_with_all_rights(child: str, rights: Rights, user: str) -> None:
    if (user == "root") != (os.getuid() == 0):
        found = attacks.of_other_user(child, rights) if user != "root" else None
        if found is None:
            pytest.skip(f"can't be {user} here")
    else:
        found = attacks.results(child, rights)
    assert {name: found[name] for name in succeeded(found) - on_list(child, rights)} == {}


def test_the_security_policy_lists_what_succeeds() -> None:
    text = SECURITY.read_text(encoding="utf-8")
    assert attacks.written(text, "what succeeds", attacks.reasons()) == text
    numbers = {int(number) for number in re.findall(r"\d+ of (\d+)", text)}
    assert len(ATTEMPTS) in numbers or os.uname().machine != "x86_64"


HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


@pytest.mark.parametrize("processor", system_calls.PROCESSORS)
def test_calls_have_the_numbers_of_the_kernel(processor: str) -> None:
    if not HEADERS[processor].exists():
        pytest.skip("needs the headers of Linux")
    text = HEADERS[processor].read_text(encoding="utf-8")
    named = {
        name: int(number)
        for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)
    }
    if processor == "aarch64":
        # Of the 64-bit calls the header names the 32-bit ones' twins (fcntl64, fstatat64 ...).
        named["newfstatat"] = named["fstatat"]
    ours = system_calls.numbers(processor)
    assert len(ours) > 100
    assert {name: named.get(name) for name in ours} == ours


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


def test_a_trial_can_be_bound_to_a_sandbox(library: Path) -> None:
    limits = TrialLimits(sandbox=(LANDLOCK,), require_sandbox=True)
    with pytest.raises(TrialImpossible, match="seccomp can't confine a trial here"):
        Pool(library, workers=1, limits=limits).__enter__()


@pytest.mark.parametrize("mechanisms", [(), (LANDLOCK,), (SECCOMP,)])
def test_what_does_not_confine_a_trial_is_said_in_one_line(
    library: Path, mechanisms: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    missing = [mechanism for mechanism in BOTH if mechanism not in mechanisms]
    pool = Pool(library, workers=1, limits=TrialLimits(sandbox=mechanisms))
    pool.__enter__()
    pool.close()
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("ltocompat.trial", logging.WARNING)
    assert record.getMessage().startswith(" and ".join(missing))
    assert "--require-sandbox" in record.getMessage()


def test_the_line_is_said_once_a_run_on_standard_error(
    library: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ChildPool, "sandbox", ())
    samples = sorted((attacks.ROOT / "sample_artifacts" / "ltoir").glob("*.ltoir"))[:2]
    for each in ([], ["--each"]):
        run(
            [
                "link",
                *map(str, samples),
                "--linker",
                f"nvjitlink={library}",
                "--arch",
                "sm_90",
                *each,
            ]
        )
    said = capsys.readouterr().err
    assert said.count("can't confine trials here") == 2, said  # of two runs


def children_of(parent: int, word: str) -> list[Path]:
    """Folders in /proc of processes with this word on their command line."""
    listed = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii").split()
    folders = [Path("/proc", number) for number in listed]
    return [folder for folder in folders if word.encode() in (folder / "cmdline").read_bytes()]


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
    value: str,
    required: bool,
    library: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
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
        assert [message.split()[0] for message in caplog.messages] == ["seccomp"]
