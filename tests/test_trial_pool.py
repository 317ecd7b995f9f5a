"""Isolation: whatever the library does to its process, an answer comes and nothing is left behind.

The child is the real one; in place of NVIDIA's library it drives a few lines that crash, hang or
print when the input says so.
"""

from __future__ import annotations

import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from msgspec.structs import replace

from ltocompat.model.arch import Release
from ltocompat.model.errors import Malformed, UsageError
from ltocompat.model.trial_answer import TrialOutcome
from ltocompat.targets.linkers import Linker, Tool
from ltocompat.targets.seal import Seal
from ltocompat.trial import link_pool, protocol
from ltocompat.trial.cached_linker import CachedLinker, TrialCache
from ltocompat.trial.link_pool import Pool
from ltocompat.trial.protocol import Report
from ltocompat.trial.trial_run import TrialRun
from ltocompat.trial.values import (
    Answer,
    InputKind,
    LinkOutcome,
    Request,
    Step,
    TrialImpossible,
    TrialInput,
    TrialLimits,
)

ROOT = Path(__file__).parent.parent

NO_FORK = """
import tempfile
tempfile.tempdir = {folder!r}
from ltocompat.trial.link_pool import Pool
from ltocompat.trial.sandbox import Calls, Word, confine_calls
from ltocompat.trial.system_calls import calls_of
from ltocompat.trial.values import TrialImpossible
threads = ((Word(0, 0x10000, 0x10000),),)
confine_calls(Calls(calls_of("computing", "looking", "making"), {{"clone": threads}}))
try:
    Pool("any.so").__enter__()
except TrialImpossible as error:
    print(error)
"""
CHILD = """
import ctypes, json, os, signal, struct, sys, time
from ltocompat.model.arch import Release
from ltocompat.trial import link_child, protocol

class Driver:
    release, name, poisoned, said = Release(13, 0), "fake", False, b""

    def create(self, options):
        self.options = options
        return 0, 1, ""

    def add(self, handle, kind, data, name):
        word = data.decode()
        if word == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if word == "exit":
            os._exit(3)
        if word == "hang":
            time.sleep(1000)
        if word == "hold":
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
            time.sleep(1000)
        if word == "spin":
            while True:
                pass
        if word == "garbage":
            for number in range(3, 20):
                try:
                    os.write(number, b"garbage" * 10)
                except OSError:
                    pass
        if word == "print":
            ctypes.CDLL(None).puts(b"on stdout")
            os.write(2, b"on stderr")
            return 3
        if word == "flood":
            for _ in range(100):
                try:
                    os.write(1, b"x" * 1000000)
                except OSError:
                    pass
            return 3
        if word == "memory":
            bytearray(1 << 40)
        if word == "poison":
            Driver.poisoned = True
        if word == "options":
            os.write(2, " ".join(self.options).encode())
            return 3
        if word == "deep":
            text = b"[" * 1000000
            for number in range(3, 20):
                try:
                    os.write(number, struct.pack("<4sIQ", b"LTCT", len(text), 0) + text)
                except OSError:
                    pass
            os._exit(0)
        if word.startswith("{"):
            for number in range(3, 20):
                try:
                    os.write(number, protocol.head_of(json.loads(word), 0))
                except OSError:
                    pass
            os._exit(0)
        if word.startswith("old"):
            self.said = b"nvvmAddNVVMContainerToProgram"
        if word == "forge":
            accepted = protocol.head_of({}, 0) * 8
            for number in range(3, 20):
                try:
                    os.write(number, accepted)
                    os.write(number, protocol.head_of({"died": 0}, len(accepted)) + accepted)
                except OSError:
                    pass
        if word.endswith("pid"):
            os.write(2, b"%d" % os.getpid())
            return 3
        return 3 if word == "old" or word == "refuse" or word == "victim" and self.poisoned else 0

    def complete(self, handle):
        return 0

    def log(self, handle, which):
        said, self.said = self.said, b""
        return said

    def size(self, handle, what):
        return 0, 3000000

    def content(self, handle, what, size):
        return 0, bytes(size)

    def destroy(self, handle):
        pass

link_child.load = lambda path: Driver()
main = link_child.main
"""


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "fake_child.py"
    path.write_text(CHILD)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(link_pool, "PROGRAM", (path.stem,))
    return path


QUICK = TrialLimits(wall_seconds=1.0, cpu_seconds=5)


def request(
    *words: str, complete: bool = False, keep: bool = False, file: str | None = "a.so"
) -> Request:
    inputs = tuple(TrialInput(w, InputKind.FATBIN, w.encode()) for w in words)
    return Request(inputs, ("-arch=sm_80",), complete, keep, file)


def ask(*requests: Request, workers: int = 1, limits: TrialLimits = QUICK) -> list[Answer]:
    with Pool("fake", workers=workers, limits=limits) as pool:
        return list(pool.run(requests))


def children(of: int) -> list[int]:
    """Processes that run a fake child and whose parent, or group, is not yet gone."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                state = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            ours = any(word == b"fake_child" for word in words)
            if ours and state[0] != "Z" and f'"parent":{of},'.encode() in b" ".join(words):
                found.append(int(entry.name))
    return found


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    assert until(0, os.getpid())  # what was killed may take a moment to go


@pytest.mark.parametrize("workers", [1, 3])
def test_answers_come_in_order(workers: int) -> None:
    words = ["fine", "refuse", "fine", "crash", "fine"] * 2
    answers = ask(*map(request, words), workers=workers)
    want = {
        "fine": LinkOutcome.ACCEPTED,
        "refuse": LinkOutcome.REFUSED,
        "crash": LinkOutcome.CRASHED,
    }
    assert [a.outcome for a in answers] == [want[w] for w in words]
    assert all(a.confirmed == (a.outcome is not LinkOutcome.ACCEPTED) for a in answers)


def test_a_reply_is_no_larger_than_a_reply_can_be() -> None:
    text = b'"' + b"a" * ((1 << 20) - 2) + b'"'
    header = struct.Struct("<4sIQ")
    reader = protocol.FrameReader(0)
    (frame,) = reader.feed(header.pack(b"LTCT", len(text), 0) + text)
    assert len(frame[0]) == len(text) - 2
    with pytest.raises(Malformed, match="not a reply"):
        list(reader.feed(header.pack(b"LTCT", len(text) + 1, 0)))


def test_crash_is_pinned_to_its_input() -> None:
    before, answer, after = ask(
        request("fine"), request("fine", "crash", "refuse"), request("fine", "fine")
    )
    assert (before.outcome, after.outcome) == (LinkOutcome.ACCEPTED, LinkOutcome.ACCEPTED)
    assert (answer.outcome, answer.step, answer.input_name) == (
        LinkOutcome.CRASHED,
        Step.ADD,
        "crash",
    )
    assert (answer.signal, answer.exit_status, answer.confirmed) == ("SIGSEGV", None, True)
    assert "Fatal Python error" not in answer.log


def test_exit_without_a_reply_is_a_crash() -> None:
    (answer,) = ask(request("exit"))
    assert (answer.outcome, answer.signal, answer.exit_status) == (LinkOutcome.CRASHED, None, 3)


def test_refusal_names_code_and_input() -> None:
    (answer,) = ask(request("fine", "refuse"))
    assert (answer.outcome, answer.input_name, answer.code) == (LinkOutcome.REFUSED, "refuse", 3)
    assert answer.code_name == "INVALID_INPUT"
    assert answer.confirmed


def test_refusal_by_a_spoilt_process_does_not_count() -> None:
    _, victim = ask(request("poison"), request("victim"), workers=1)
    assert (victim.outcome, victim.confirmed) == (LinkOutcome.ACCEPTED, False)
    assert victim.note.endswith("answer was: refused (INVALID_INPUT)")


def test_files_share_no_process() -> None:
    words = ["poison", "victim", "forge", "refuse", "crash", "exit", "garbage"] * 2
    others = [request(word, file=f"{number}.so") for number, word in enumerate(words)]
    answers = ask(*others, limits=TrialLimits())
    good, bad, crash = LinkOutcome.ACCEPTED, LinkOutcome.REFUSED, LinkOutcome.CRASHED
    assert [a.outcome for a in answers] == [good, good, good, bad, crash, crash, crash] * 2
    assert {a.note for a in answers} == {""}


def test_what_names_no_file_shares_no_process() -> None:
    _, victim = ask(request("poison", file=None), request("victim", file=None))
    assert (victim.outcome, victim.note) == (LinkOutcome.ACCEPTED, "")


def test_a_fork_forges_no_answer_for_the_next() -> None:
    # All are on their way to one process when its first fork writes more replies than it owes.
    mine = [request("fine"), request("forge"), request("fine")]
    others = [request("refuse", file="b.so"), request("old", file="b.so")] * 3
    answers = ask(*mine, *others, limits=TrialLimits())
    assert [a.outcome for a in answers[len(mine) :]] == [LinkOutcome.REFUSED] * len(others)
    assert all(a.confirmed for a in answers[len(mine) :])


@pytest.mark.parametrize(
    "fatal", ["crash", "exit", pytest.param("hang", marks=pytest.mark.slow), "garbage"]
)
def test_what_ends_a_shared_process_is_told_of_itself_alone(fatal: str) -> None:
    words = ["fine", "refuse", fatal, "old", "fine", fatal, "old", "fine"]
    limits = TrialLimits(wall_seconds=3 if fatal == "hang" else 60)
    together = ask(*map(request, words), limits=limits)
    alone = {word: ask(request(word), limits=limits)[0] for word in set(words)}
    for word, answer in zip(words, together, strict=True):
        assert answer == replace(alone[word], seconds=answer.seconds)


def test_too_new_is_confirmed_in_company() -> None:
    words = ["fine", "old pid", "old pid", "pid", "pid"]
    in_company = False
    for _ in range(5):  # on a busy machine the second refusal may come after the first is confirmed
        answers = ask(*map(request, words), limits=TrialLimits())
        assert all(a.confirmed for a in answers[1:])
        processes = [int(a.log.split()[-1]) for a in answers[1:]]
        assert len({*processes[1:]}) == 3  # other refusals are confirmed alone
        in_company |= processes[0] == processes[1]
    assert in_company


@pytest.mark.parametrize(
    ("word", "signal_name"),
    [
        ("hang", "SIGALRM"),
        pytest.param("hold", "SIGALRM", marks=pytest.mark.slow),
        pytest.param("spin", "SIGXCPU", marks=pytest.mark.slow),
    ],
)
def test_hang_ends_in_time(word: str, signal_name: str) -> None:
    wall = 60.0 if word == "spin" else 0.3
    limits = TrialLimits(wall_seconds=wall, cpu_seconds=0)
    before, answer, after = ask(request("fine"), request(word), request("fine"), limits=limits)
    assert (before.outcome, after.outcome) == (LinkOutcome.ACCEPTED, LinkOutcome.ACCEPTED)
    assert (answer.outcome, answer.signal) == (LinkOutcome.TIMED_OUT, signal_name)
    assert (answer.step, answer.input_name, answer.confirmed) == (Step.ADD, word, True)


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("complete", [False, True])
def test_all_trials_of_a_run_share_their_time(*, complete: bool) -> None:
    before, limits = cpu_of_children(), TrialLimits()
    trial_run, seen = TrialRun(2.0), set[int]()
    words = ["fine", *["spin"] * 8, "fine"]
    requests = [request(word, complete=complete) for word in words]
    with Pool("fake", workers=2, limits=limits, trial_run=trial_run) as pool:
        answers = list(pool.run(requests, seen.add))
    assert trial_run.used_up
    assert cpu_of_children() - before < 2 + 2 + 2  # a second more for each child, and their start
    assert answers[0].outcome is LinkOutcome.ACCEPTED
    assert {answer.outcome for answer in answers[1:]} == {LinkOutcome.TIMED_OUT}
    # The last one had no time at all, and is not to be kept.
    assert answers[-1].cpu_seconds is None
    assert sum(map(len, words)) in seen


def test_what_is_not_used_is_given_back() -> None:
    trial_run = TrialRun(8.0)
    with Pool("fake", workers=2, trial_run=trial_run) as pool:
        for _ in range(10):
            answers = pool.run([request("fine", complete=True), request("fine")] * 8)
            assert {answer.outcome for answer in answers} == {LinkOutcome.ACCEPTED}


FAKE = Linker(
    Release(13, 0), "13.0.88", "fake", "path", "a test", machine="x86-64", for_trials=True
)


def test_what_is_only_added_goes_into_one_link(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Request] = []
    run = Pool.run

    def recorded(pool: Pool, requests: Sequence[Request], _: object) -> Iterator[Answer]:
        sent.extend(requests)
        return run(pool, requests)

    monkeypatch.setattr(Pool, "run", recorded)
    other = replace(request("a"), options=("-arch=sm_90",))
    full = request("b", complete=True)
    with ExitStack() as stack:
        linker = CachedLinker(FAKE, None, stack, TrialRun())
        fine = linker.ask([request("a"), full, request("b"), other, request("c")])
        assert sent == [request("a", "b", "c"), full, other]
        one_by_one = linker.ask([request(word) for word in ("a", "old", "b", "crash", "refuse")])
    assert [answer.outcome for answer in fine] == ["accepted"] * 5
    assert [(each.outcome, each.cause) for each in one_by_one] == [
        ("accepted", None),
        ("refused", "ltoir too new"),
        ("accepted", None),
        ("crashed", None),
        ("refused", None),
    ]


def asked(cache: TrialCache, cpu_seconds: float, word: str) -> tuple[TrialOutcome, float]:
    """What a linker with a cache answers in a new run, and the CPU time that it took."""
    before = cpu_of_children()
    with ExitStack() as stack:
        (answer,) = CachedLinker(FAKE, cache, stack, TrialRun(cpu_seconds)).ask([request(word)])
    return answer, cpu_of_children() - before


def test_a_time_out_is_asked_again_where_there_is_more_time(tmp_path: Path) -> None:
    cache = TrialCache(str(tmp_path / "trials"), Seal(b"a secret"))
    first, took = asked(cache, 4.0, "spin")
    assert (first.outcome, first.cpu_seconds) == ("timed out", 1.0)
    assert first.reason == "it used up its time limit of 1 s of CPU"
    assert took > 0.9
    for cpu_seconds in (4.0, 2.0):
        assert asked(cache, cpu_seconds, "spin") == (first, 0.0)
    assert asked(cache, 8.0, "spin")[0].cpu_seconds == 2.0


def test_garbage_is_a_crash() -> None:
    before, answer, after = ask(request("fine"), request("garbage"), request("fine"))
    assert [before.outcome, after.outcome] == [LinkOutcome.ACCEPTED] * 2
    assert answer.outcome is LinkOutcome.CRASHED


@pytest.mark.parametrize(
    "reply", ['{"died": 0}', '{"code": "x"}', '{"step": 99, "code": []}', "deep"]
)
def test_a_reply_that_is_none_of_ours_is_a_crash(reply: str) -> None:
    answer, after = ask(request(reply), request("fine"), limits=TrialLimits())
    assert [answer.outcome, after.outcome] == [LinkOutcome.CRASHED, LinkOutcome.ACCEPTED]


def test_the_driver_is_asked_for_no_cache() -> None:
    (answer,) = ask(request("options"))
    assert answer.log == "-arch=sm_80 -no-cache"


def test_wild_notes_are_a_crash_all_the_same() -> None:
    reply = {"died": -11, "step": 1734698849, "input": 1734698849}
    with Pool("fake", workers=1, limits=QUICK) as pool:
        answer = pool.judge(request("fine"), Report(reply))
    assert (answer.outcome, answer.input_name) == (LinkOutcome.CRASHED, None)


def test_memory_is_limited() -> None:
    (answer,) = ask(request("memory"))
    assert answer.outcome is LinkOutcome.CRASHED


def test_prints_are_evidence_and_stay_inside(capfd: pytest.CaptureFixture[str]) -> None:
    answer, other = ask(request("print"), request("refuse"), workers=1)
    assert "on stdout" in answer.log
    assert "on stderr" in answer.log
    assert other.log == ""
    assert capfd.readouterr() == ("", "")


def test_a_flood_of_prints_is_cut() -> None:
    limits = TrialLimits(printed_bytes=1 << 20, log_bytes=1000)
    (answer,) = ask(request("flood"), limits=limits)
    assert answer.outcome is LinkOutcome.REFUSED
    assert len(answer.log) == 1000


def test_output_comes_along_up_to_its_limit() -> None:
    kept = request("fine", complete=True, keep=True)
    (whole,) = ask(kept)
    assert (whole.output, whole.output_size) == (bytes(3000000), 3000000)
    (cut,) = ask(kept, limits=TrialLimits(output_bytes=2999999))
    assert (cut.output, cut.output_size) == (None, 3000000)
    (unwanted,) = ask(request("fine", complete=True))
    assert (unwanted.output, unwanted.kernels_in_output) == (None, None)


def test_large_inputs_pass_through_small_pipes() -> None:
    many = [
        Request((TrialInput("x", InputKind.LTOIR, b" " * 3_000_000),), (), complete=False)
        for _ in range(20)
    ]
    assert {a.outcome for a in ask(*many)} == {LinkOutcome.ACCEPTED}


def test_leaving_early_leaves_no_process() -> None:
    with Pool("fake", workers=2, limits=TrialLimits()) as pool:
        words = ["fine"] * 5 + ["hang"] * 5
        answers = pool.run(request(word, complete=True) for word in words)
        assert next(answers).outcome is LinkOutcome.ACCEPTED
        answers.close()  # type: ignore[attr-defined]
        assert len(children(os.getpid())) <= 2
        assert [a.outcome for a in pool.run([request("fine")])] == [LinkOutcome.ACCEPTED]


def test_a_pool_answers_one_run_at_a_time() -> None:
    with Pool("fake", workers=1) as pool:
        run = pool.run([request("fine")] * 2)
        next(run)
        with pytest.raises(UsageError, match="one run at a time"):
            next(pool.run([request("fine")]))


def test_an_error_of_the_caller_passes_through() -> None:
    def broken() -> Iterator[Request]:
        yield request("fine")
        raise ZeroDivisionError

    with Pool("fake", workers=1) as pool, pytest.raises(ZeroDivisionError):
        list(pool.run(broken()))


SCRIPT = """
import sys
from ltocompat.trial import link_pool
from ltocompat.trial.link_pool import Pool
from ltocompat.trial.values import InputKind, Request, TrialInput
link_pool.PROGRAM = (sys.argv[1],)
if __name__ == "__main__":
    word = TrialInput("x", InputKind.LTOIR, sys.argv[2].encode())
    with Pool("fake", workers=2) as pool:
        for answer in pool.run([Request((word,), (), complete=True)] * 4):
            print(answer.outcome, file=sys.stderr)
"""


def script(program: Path, word: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, program.stem, word],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{program.parent}"},
        preexec_fn=lambda: os.close(1),  # noqa: PLW1509 - works without a standard output, too
    )


def until(count: int, of: int) -> bool:
    """Whether so many children are there within a few seconds."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if len(children(of)) == count:
            return True
        time.sleep(0.05)
    return False


def test_works_without_standard_output(program: Path) -> None:
    with script(program, "fine") as process:
        assert process.communicate()[1].split() == ["accepted"] * 4


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)],
)
def test_no_process_outlives_its_parent(program: Path, number: signal.Signals) -> None:
    with script(program, "hang") as process:
        assert until(4, process.pid)  # two that fork, and their forks
        process.send_signal(number)
        process.communicate()
        assert until(0, process.pid)


def test_what_is_no_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    text = tmp_path / "libnvJitLink.so.12"
    text.write_text("no library")
    with pytest.raises(TrialImpossible, match="can't be loaded"), Pool(text):
        pass
    with pytest.raises(TrialImpossible, match="can't be loaded"), Pool(tmp_path / "missing"):
        pass


def test_another_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with open("/proc/self/maps", encoding="utf-8") as maps:
        libc = next(line.split()[5] for line in maps if "libc" in line and ".so" in line)
    with pytest.raises(TrialImpossible, match="no function of nvJitLink"), Pool(libc):
        pass


def test_where_no_process_can_be_started_is_one_sentence(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    words = [sys.executable, "-c", NO_FORK.format(folder=str(folder))]
    done = subprocess.run(words, capture_output=True, check=False, text=True)
    assert "no separate process can be started" in done.stdout, done.stderr
    assert not list(folder.iterdir())


@pytest.mark.parametrize("tool", Tool)
def test_no_folder_for_temporary_files_is_one_sentence(
    tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/proc/none")
    with pytest.raises(TrialImpossible, match="folder for temporary files"):
        Pool("any.so", tool=tool).__enter__()
