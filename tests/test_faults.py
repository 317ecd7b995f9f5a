"""Faults of the machine: nothing lost, nothing half written, nothing left, and one sentence.

Verbs that write, by all faults. What they write without one is the expectation; an exit code is
that, or 3 with a sentence, and never 70; the next run in the same folder writes the same.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from faults import ALL, FOLDER, NAME, OPEN, READ, SYNC, WRITE, Ended, Fault, Machine
from libraries_made import GCC, needs_gcc
from packages_made import conda, wheel
from samples import FOLDER as SAMPLES
from tiers import sampled

pytestmark = [
    needs_gcc,
    pytest.mark.skipif(sys.platform != "linux", reason="the shim is for Linux"),
]
TARGET = ("--deploy-target", "driver=580.65.06,gpu=a100")
VERBS: dict[str, tuple[str, ...]] = {
    "extract": ("extract", "x.fatbin", "-o", "out"),
    "init": ("init", "x.fatbin"),
    "save": ("env", "--save", "here.toml"),
    "baseline": ("audit", "x.fatbin", *TARGET, "--write-baseline", "known.json"),
    "report": ("check", "x.fatbin", *TARGET, "--format", "json=x.json"),
    "picture": ("matrix", "x.fatbin", "--svg", "x.svg"),
    "link": ("link", "a.o", "b.o", "--arch", "sm_80", "--linker", "nvlink=13.5", "-o", "out.cubin"),
    "survey": (
        "survey",
        "run",
        "--jobs",
        "1",
        "-o",
        "out",
        "x-1.0-py3-none-manylinux_2_28_x86_64.whl",
    ),
    "slim": (
        "slim",
        "y-1.0-py3-none-manylinux_2_28_x86_64.whl",
        *("-o", "new.whl", "--keep-gpu", "h100"),
    ),
    "slim conda": ("slim", "libx-1.0-0.conda", "-o", "out/", "--keep-gpu", "h100"),
    "slim folder": ("slim", "site", "-o", "new", "--keep-gpu", "h100"),
    "repair": ("repair", "z-1.0-py3-none-any.whl", "-o", "out"),
}
_DATE = re.compile(rb"\d{4}-\d\d-\d\d")
MOST = 40
"""Calls of a verb that are struck one after the other; more of them are of the same sort."""


@dataclass(frozen=True, slots=True)
class Case:
    """A verb, and what happens to it again and again: at the first call, the second, and so on."""

    verb: str
    what: str
    fault: Fault

    def __str__(self) -> str:
        return f"{self.verb}-{self.what}"


FAULTS = {
    "a full disk": Fault(OPEN | WRITE | NAME | SYNC | FOLDER, "ENOSPC"),
    "a disk that fails once": Fault(OPEN | WRITE | NAME | SYNC | FOLDER, "EIO", lasts=False),
    "an input that can't be read": Fault(READ, "EIO"),
    "interrupted calls": Fault(WRITE | READ | OPEN, "EINTR", lasts=False),
    "killed at a call": Fault(ALL, ""),
    "a full home": Fault(ALL, "ENOSPC", below="home"),
    "a home that can't be written": Fault(ALL, "EROFS", below="home"),
    "killed while it keeps": Fault(ALL, "", below="home"),
    "no room for temporary files": Fault(ALL, "ENOSPC", below="tmp"),
    "killed at a temporary file": Fault(ALL, "", below="tmp"),
}
ONCE = {
    "no /proc": Fault(hidden="/proc"),
    "no /dev/shm": Fault(hidden="/dev/shm"),  # noqa: S108 - its absence is meant
    "a clock that jumps": Fault(jump=10 * 365 * 86400),
    "a clock that jumps a little": Fault(jump=90),
    "little memory": Fault(memory=8),
    "some memory": Fault(memory=48),
}
CASES = [Case(verb, what, fault) for verb in VERBS for what, fault in FAULTS.items()]


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("shim") / "faults.so"
    source = Path(__file__).parent / "faults.c"
    flags = ("-O1", "-shared", "-fPIC", "-w")
    subprocess.run([GCC, *flags, "-o", library, source, "-ldl"], check=True)
    return library


@pytest.fixture
def machine(tmp_path: Path, shim: Path) -> Iterator[Machine]:
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    shutil.copy(SAMPLES / "fatbin/nvcc-13.2-none.fatbin", inputs / "x.fatbin")
    for name, part in (("a", "axpy"), ("b", "scale")):
        shutil.copy(SAMPLES / f"objects/nvcc-13.5-rdc-{part}.o", inputs / f"{name}.o")
    wheel(inputs, {"k/x.fatbin": (inputs / "x.fatbin").read_bytes()}, name="x", version="1.0")
    library = (SAMPLES / "objects/libsaxpy.so").read_bytes()
    wheel(inputs, {"k/x.so": library}, name="y", version="1.0")
    wheel(inputs, {"k/x.so": library}, name="z", version="1.0", tag="py3-none-any")
    conda(inputs, {"lib/x.so": library}, sums=True)
    with zipfile.ZipFile(inputs / "y-1.0-py3-none-manylinux_2_28_x86_64.whl") as archive:
        archive.extractall(inputs / "site")
    found = Machine(tmp_path, shim)
    yield found
    found.close()


def files(machine: Machine) -> dict[str, bytes]:
    """What lies in the folder where the verb runs; but for what differs from run to run."""
    work = machine.places["work"]
    paths = (path for path in work.rglob("*") if path.is_file())
    return {str(path.relative_to(work)): _content(path) for path in paths}


def _content(path: Path) -> bytes:
    if path.suffix == ".parquet" or path.name == "survey.json":
        return b""  # when rows were made
    if path.suffix == ".cubin":
        return str(path.stat().st_size).encode()  # nvlink names the folder that it ran in
    return _DATE.sub(b"", path.read_bytes())  # the day by which an example of a policy expires


def begin(machine: Machine) -> None:
    """A folder with what verbs read, and nothing kept."""
    for place in machine.places.values():
        shutil.rmtree(place)
        place.mkdir()
    for path in (machine.folder / "inputs").iterdir():
        (shutil.copytree if path.is_dir() else shutil.copy)(
            path, machine.places["work"] / path.name
        )


def settle(machine: Machine) -> None:
    """Let what a killed run left be as old as it is when anybody runs the verb again."""
    for path in (*machine.places["tmp"].iterdir(), *machine.places["work"].rglob("*.part")):
        os.utime(path, (0, 0))


def hold(
    machine: Machine, verb: str, fault: Fault, expected: tuple[Ended, dict[str, bytes]]
) -> Ended:
    """Run a verb with a fault, then without."""
    whole, written = expected
    begin(machine)
    before = files(machine)
    ended = machine.run(VERBS[verb], fault)
    killed = ended.code == -9
    assert killed or ended.code in (whole.code, 2, 3, 4), (fault, ended)
    assert killed or ended.code == whole.code or ended.messages.startswith("ltocompat: ")
    assert "Traceback" not in ended.messages
    assert "internal error" not in ended.messages
    after = files(machine)
    assert before.items() <= after.items()
    # A survey that was cut goes on where it was; each of its files is whole or has another name.
    # A report of an input that can't be read says so.
    if verb != "survey" and (fault.kinds != READ or killed):
        left = {name for name in after if ".part" in name} if killed else set()
        assert after.items() - written.items() <= {(name, after[name]) for name in left}, fault
    if not killed:
        assert ours_in(machine.places["tmp"]) == []
        assert ended.code != whole.code or after == written or verb == "survey", fault
    settle(machine)
    again = machine.run(VERBS[verb])
    # What is there already is never written over, unless that is what the verb is for.
    assert again.code in ((whole.code, 2, 3) if after.items() >= written.items() else (whole.code,))
    last = files(machine)
    assert last.items() >= written.items() or set(last.values()) >= set(written.values()), fault
    assert not [name for name in last if ".part" in name], fault
    assert ours_in(machine.places["tmp"]) == []
    return ended


def ours_in(folder: Path) -> list[str]:
    """What we have left in a temporary folder; Python leaves what it tries it with."""
    return [path.name for path in folder.iterdir() if path.name.startswith(("ltocompat", "tmp"))]


def soundly(machine: Machine, verb: str) -> tuple[Ended, dict[str, bytes]]:
    begin(machine)
    ended = machine.run(VERBS[verb])
    assert ended.code in (0, 1), ended
    return ended, files(machine)


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(CASES, 40), ids=str)
def test_a_fault_at_any_call_loses_nothing_and_leaves_nothing(case: Case, machine: Machine) -> None:
    expected = soundly(machine, case.verb)
    for nth in range(1, MOST + 1):
        ended = hold(machine, case.verb, replace(case.fault, nth=nth), expected)
        if ended.code >= 0 and ended.seen < nth:
            break


@pytest.mark.slow
@pytest.mark.parametrize("what", sampled(ONCE, 3))
@pytest.mark.parametrize("verb", sampled(VERBS, 8))
def test_a_machine_that_lacks_something(verb: str, what: str, machine: Machine) -> None:
    hold(machine, verb, ONCE[what], soundly(machine, verb))


KILLS = int(os.environ.get("LTOCOMPAT_TEST_KILLS", "8"))


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_is_killed_at_any_moment(verb: str, machine: Machine) -> None:
    expected = soundly(machine, verb)
    moments = random.Random(34)  # noqa: S311 - not for secrets
    for _ in range(KILLS):
        moment = moments.uniform(0.001, 1.1 * expected[0].seconds)
        hold(machine, verb, replace(Fault(), killed_after=moment), expected)
