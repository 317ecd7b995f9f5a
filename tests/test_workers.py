"""Processes that share work: answers, errors and ends are those of one process."""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from fatbin_writer import KINDS, EntrySpec, entry, region
from package_writer import zip_of
from samples import FOLDER
from worker_pool import in_order

import ltocompat
from ltocompat import UnreadableInput
from ltocompat.scan import parallel, slices, workers

NUMBERS = list(range(40))
ARCHIVE = FOLDER / "objects" / "libaxpy.a"


@pytest.fixture(autouse=True)
def no_child_is_left() -> Iterator[None]:
    """None that a test here started; other tests' may still be there, such as Python's own."""
    before = children()
    yield
    assert not children() - before


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


@pytest.fixture
def in_time() -> Iterator[None]:
    """Who waits for ever fails."""

    def late(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("number", [1, 2, 5, pytest.param(16, marks=pytest.mark.slow)])
@pytest.mark.parametrize("order", [None, NUMBERS[::-1]])
def test_answers_come_in_order(number: int, order: list[int] | None) -> None:
    found = in_order(lambda item: bytes([item]) * 100_000, NUMBERS, number, order)
    assert list(found) == [bytes([item]) * 100_000 for item in NUMBERS]


def test_no_worker_has_two_tasks_while_another_has_none(tmp_path: Path) -> None:
    def work(item: int) -> int:
        (tmp_path / str(item)).touch()
        deadline = time.monotonic() + 60
        while len(os.listdir(tmp_path)) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)  # until all of them have begun
        return os.getpid()

    assert len(set(in_order(work, [1, 2, 3], 3))) == 3


def test_what_goes_wrong_in_a_worker_is_left_to_its_parent() -> None:
    def work(item: int) -> int:
        return 1 // (item % 4)

    found = list(in_order(work, NUMBERS, 3))
    assert found == [None if item % 4 == 0 else 1 // (item % 4) for item in NUMBERS]


@pytest.mark.usefixtures("in_time")
@pytest.mark.parametrize("kept", [0, 1 << 20])
def test_a_worker_that_dies_leaves_what_it_had_to_its_parent(
    kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_MOST_KEPT", kept)

    def work(item: int) -> int:
        if item in (3, 20) and workers.inside():
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    found = list(in_order(work, NUMBERS, 3))
    assert [item for item in NUMBERS if found[item] not in (None, item)] == []
    assert found[3] is found[20] is None
    assert found.count(None) <= 4  # each had one more at hand


@pytest.mark.usefixtures("in_time")
@pytest.mark.parametrize("number", [5, 39])
@pytest.mark.parametrize("kept", [0, 1 << 20])
def test_a_worker_that_dies_before_it_says_what_it_took_keeps_nobody_waiting(
    number: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However little may be kept: where what is next is lost, the others would wait for it."""
    read = os.read
    monkeypatch.setattr(workers, "_MOST_KEPT", kept)

    def fatal(pipe: int, size: int) -> bytes:
        data = read(pipe, size)
        if workers.inside() and data == number.to_bytes(8, "little"):
            os.kill(os.getpid(), signal.SIGKILL)
        return data

    monkeypatch.setattr(os, "read", fatal)
    found = list(in_order(lambda item: item, NUMBERS, 3))
    assert [item for item in NUMBERS if found[item] not in (None, item)] == []
    assert found[number] is None


def test_more_tasks_than_a_pipe_takes_keep_nobody_waiting() -> None:
    items = range(20_000)
    with workers.Pool(abs, items, 2, queued=len(items)) as pool:
        assert list(pool) == list(items)


def test_a_worker_leaves_what_was_there_alone_and_has_room_for_its_results() -> None:
    """Memory that no collector touches stays that of the parent."""
    frozen = list(in_order(lambda _: gc.get_freeze_count(), NUMBERS, 2))
    assert all(count is None or count > 1000 for count in frozen)
    with workers.Pool(abs, NUMBERS, 2) as pool:
        pipes = [found.fileno() for found in pool._workers]  # noqa: SLF001 - before they end
        assert [fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) for pipe in pipes] == [1 << 20] * 2


def test_without_workers_everything_is_left_to_the_parent() -> None:
    assert list(in_order(os._exit, NUMBERS, 2)) == [None] * 40


def test_no_descriptor_is_left_open() -> None:
    before = psutil.Process().num_fds()
    for _ in range(3):
        assert len(list(in_order(bytes, [8] * 20, 4))) == 20
    assert psutil.Process().num_fds() == before


def test_who_stops_early_leaves_no_process() -> None:
    found = in_order(bytes, [1 << 20] * 40, 4)
    next(found)
    found.close()  # type: ignore[attr-defined]  # a generator's


def comes(there: Callable[[], bool]) -> bool:
    """Wait for what other processes do."""
    deadline = time.monotonic() + 60
    while not there() and time.monotonic() < deadline:
        time.sleep(0.01)
    return there()


def test_workers_begin_before_anybody_asks_and_end_when_nothing_is_left(tmp_path: Path) -> None:
    """One goes on while its last result, of half a MiB, waits to be read."""
    before = children()

    def work(item: int) -> bytes:
        (tmp_path / str(item)).touch()
        return bytes(500_000)

    with workers.Pool(work, [0, 1], 1) as pool:
        assert comes((tmp_path / "1").exists)
        assert [len(found or b"") for found in pool] == [500_000] * 2
        assert comes(lambda: not children() - before or _are_dead(children() - before))
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def _are_dead(processes: set[int]) -> bool:
    return all(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE for pid in processes)


def test_an_interrupt_ends_a_worker_and_its_work_is_left_to_the_parent() -> None:
    def work(item: int) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        return item

    assert list(in_order(work, [1, 2], 2)) == [None, None]


def test_an_interrupt_while_workers_start_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    before, met = psutil.Process().num_fds(), list[int]()

    def interrupted(pipe: int) -> None:
        met.append(pipe)
        if len(met) > 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(workers, "widen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        workers.Pool(time.sleep, [60] * 4, 3)
    gc.collect()
    assert psutil.Process().num_fds() == before


def test_who_stops_early_leaves_no_descriptor() -> None:
    before = psutil.Process().num_fds()
    with workers.Pool(bytes, [8] * 40, 2) as pool:
        assert next(iter(pool)) == bytes(8)
    assert psutil.Process().num_fds() == before


@pytest.mark.parametrize("most", [0, 1000])
def test_each_is_done_once_however_little_may_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(workers, "_MOST_KEPT", most)
    path = tmp_path / "done"

    def work(item: int) -> bytes:
        with path.open("ab", buffering=0) as file:
            file.write(bytes([item]))
        return bytes([item]) * 900

    found = list(in_order(work, NUMBERS, 3, NUMBERS[::-1]))
    assert found == [bytes([item]) * 900 for item in NUMBERS]
    assert sorted(path.read_bytes()) == NUMBERS


def test_what_the_parent_has_not_written_yet_no_worker_writes() -> None:
    code = "print('once', end='')\nwith workers.Pool(abs, [1, 2, 3], 2) as pool:\n    list(pool)"
    assert told_by(code) == "once"


def told_by(code: str) -> str:
    """What a process of its own prints, which has one thread as programs do."""
    code = f"from ltocompat.scan import workers\n{code}"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_worker_and_a_process_with_threads_work_alone() -> None:
    assert set(in_order(lambda _: workers.available(8), NUMBERS, 2)) == {1}
    assert told_by("print(workers.available(8))") == "8"
    code = """
        import threading
        done = threading.Event()
        thread = threading.Thread(target=done.wait)
        thread.start()
        print(workers.available(8))
        done.set()
    """
    assert told_by(textwrap.dedent(code)) == "1"


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("of_others", [False, True])
def test_a_process_shares_work_where_a_fork_is_safe_and_cores_are_free(
    system: str, threads: int, monkeypatch: pytest.MonkeyPatch, *, inside: bool, of_others: bool
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(workers, "_inside", inside)
    monkeypatch.setattr(workers, "_threads", lambda: threads)
    monkeypatch.setattr(workers, "_is_worker_of_others", lambda: of_others)
    shares = (system, inside, threads, of_others) == ("linux", False, 1, False)
    assert [workers.available(jobs) for jobs in (1, 2, 7)] == ([1, 2, 7] if shares else [1] * 3)


def test_no_more_processes_than_cores_of_this_process() -> None:
    one = min(os.sched_getaffinity(0))
    code = f"import os; os.sched_setaffinity(0, {{{one}}}); print(workers.available())"
    assert told_by(code) == "1"


@pytest.mark.parametrize(
    ("quota", "processes"), [("max 100000", None), ("95000 100000", 1), ("", None)]
)
def test_a_control_group_bounds_the_processes(
    quota: str, processes: int | None, tmp_path: Path
) -> None:
    (tmp_path / "cpu.max").write_text(f"{quota}\n")
    code = (
        f"import pathlib; workers._CGROUPS = pathlib.Path({str(tmp_path)!r})\n"
        "print(workers.available())"
    )
    assert told_by(code) == str(processes or len(os.sched_getaffinity(0)))


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are worth a process, too."""
    monkeypatch.setattr(parallel, "_WORTH_A_PROCESS", 1)
    monkeypatch.setattr(slices, "LARGE", 1)
    monkeypatch.setattr(slices, "_STEP", 500)


PATHS = [
    str(FOLDER / name) for name in ("objects", "broken", "fatbin", "cubin", "objects/libaxpy.a")
]


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("jobs", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_folders_files_and_packages_are_read_as_by_one_process(jobs: int) -> None:
    expected = list(ltocompat.inspect(*PATHS, jobs=1))
    assert list(ltocompat.inspect(*PATHS, jobs=jobs)) == expected
    assert [r for path in PATHS for r in ltocompat.inspect(path, jobs=jobs)] == expected


@pytest.mark.usefixtures("eager")
def test_an_unreadable_path_is_told_in_its_turn(tmp_path: Path) -> None:
    first, second = str(FOLDER / "cubin"), str(FOLDER / "ptx")
    errors: list[Exception] = []

    def paths() -> Iterator[str]:
        found = ltocompat.inspect(first, tmp_path / "no", second, jobs=2, on_error=errors.append)
        for record in found:
            yield record.path if isinstance(record, ltocompat.Artifact) else record.place.path

    names = list(dict.fromkeys(str(Path(path).parent) for path in paths()))
    assert names == [first, second]
    assert [type(error) for error in errors] == [UnreadableInput]


@pytest.mark.usefixtures("eager")
def test_progress_is_told_in_this_process(tmp_path: Path) -> None:
    for name in "abc":
        fatbin = region([entry(EntrySpec(KINDS["ptx"], b".version 8.4\n.target sm_80\n"))])
        (tmp_path / name).write_bytes(fatbin)
    told: list[str] = []
    list(ltocompat.inspect(tmp_path, jobs=2, progress=lambda progress: told.append(progress.path)))
    # Each is told where it is opened, and as its records come.
    assert list(dict.fromkeys(told)) == [str(tmp_path / name) for name in "abc"]


def test_an_interrupted_run_ends_with_its_workers(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, sys, time; from ltocompat.scan import workers\n"
        "def work(n):\n"
        "    pathlib.Path(sys.argv[1], str(os.getpid())).touch()\n"
        "    time.sleep(600)\n"
        "with workers.Pool(work, [1, 2], 2) as pool:\n"
        "    list(pool)\n"
    )
    child = [sys.executable, "-c", code, str(tmp_path)]
    run = subprocess.Popen(child, stderr=subprocess.DEVNULL)
    while len(os.listdir(tmp_path)) < 2:
        assert run.poll() is None
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    run.wait(timeout=60)
    for process in os.listdir(tmp_path):
        assert not Path("/proc", process).exists()


JUDGED_IN_SLICES = """
import sys
from ltocompat.commands.policy.values import NO_POLICY
from ltocompat.scan import parallel, slices, walk, workers
import ltocompat

parallel._WORTH_A_PROCESS = slices.LARGE = walk._SLICED = 1
slices._STEP = 500
targets = ["driver=535,gpu=a100", "driver=580.65.06,gpu=h100,nvjitlink=13.0"]
started = []
of_pool = workers.Pool.__init__

def counted(self, *arguments, **options):
    started.append(1)
    of_pool(self, *arguments, **options)

workers.Pool.__init__ = counted

def answers(processes):
    workers.cores = lambda: processes
    for path in sys.argv[1:]:
        yield list(ltocompat.inspect(path))
        yield list(ltocompat.check(path, targets, on_error=str))
        yield list(ltocompat.require(path, on_error=str))
        yield list(ltocompat.matrix(path, on_error=str))
        yield list(ltocompat.audit(path, NO_POLICY, on_error=str))

alone = list(answers(1))
assert not started
assert list(answers(PROCESSES)) == alone
assert len(started) >= 5  # each verb shares at least one of the files
print("equal")
"""


@pytest.mark.parametrize(
    ("processes", "step"),
    [
        (2, 8),
        pytest.param(2, 2, marks=pytest.mark.slow),
        pytest.param(5, 2, marks=pytest.mark.slow),
    ],
)
def test_every_verb_says_with_several_processes_what_it_says_with_one(
    processes: int, step: int, tmp_path: Path
) -> None:
    """Of a file of many regions, equal ones among them, and of one in a package."""
    pieces = sorted((FOLDER / "fatbin").glob("*.fatbin"))[::step] * 2
    host = (FOLDER / "objects" / "libsaxpy.so").read_bytes()
    library = tmp_path / "libx.so"
    library.write_bytes(host + b"".join(piece.read_bytes() for piece in pieces))
    package = tmp_path / "x.zip"
    package.write_bytes(
        zip_of(("a/libx.so", library.read_bytes()), ("libaxpy.a", ARCHIVE.read_bytes()))
    )
    paths = [str(library)] if step > 2 else [str(library), str(package), str(ARCHIVE)]
    command = [sys.executable, "-c", JUDGED_IN_SLICES.replace("PROCESSES", str(processes)), *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "equal\n", done.stderr
