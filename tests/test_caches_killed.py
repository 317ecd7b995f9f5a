"""Caches that processes share, some of which are killed as they write, change no answer."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from samples import FOLDER

from ltocompat.model.trial_answer import TrialOutcome
from ltocompat.targets.seal import Seal
from ltocompat.trial.cached_linker import Question, TrialCache

TOGETHER = 8
KILLED = int(os.environ.get("LTOCOMPAT_TEST_KILLS", "8"))
"""Moments at which a process is killed; by hand 50 and more were tried."""
SAMPLES = sorted(FOLDER.glob("fatbin*/*.fatbin"))[:6]
CHILD = (sys.executable, "-m", "ltocompat", "audit", "--format", "json")
POLICY = '[targets.prod]\ndriver = "550"\ngpu = "h100"\nnvjitlink = "12.4"\n'


def started(project: Path, kept: Path) -> subprocess.Popen[bytes]:
    """An audit of all files of a project, with the caches and the seal of a folder."""
    places = {"XDG_CACHE_HOME": str(kept / "cache"), "XDG_STATE_HOME": str(kept / "state")}
    files = [str(path) for path in sorted(project.glob("*.fatbin"))]
    return subprocess.Popen(
        [*CHILD, *files],
        cwd=project,
        env={**os.environ, **places},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def answer(child: subprocess.Popen[bytes]) -> tuple[int, object]:
    """Its exit code, and its answer without what differs from run to run."""
    out, error = child.communicate(timeout=300)
    assert b"Traceback" not in error
    document = json.loads(out)
    return child.returncode, document


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a policy, whose files are so large that their summaries are kept."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "ltocompat.toml").write_text(POLICY)
    for path in SAMPLES:
        (folder / path.name).write_bytes(path.read_bytes() * 300)
    return folder


@pytest.mark.slow
def test_eight_processes_of_which_some_are_killed_give_one_answer(
    project: Path, tmp_path: Path
) -> None:
    expected = answer(started(project, tmp_path / "alone"))
    begun = time.monotonic()
    assert answer(started(project, tmp_path / "alone")) == expected  # by what was kept
    took = time.monotonic() - begun
    moments = random.Random(18)  # noqa: S311 - not for secrets
    shared = tmp_path / "shared"
    for first in range(0, KILLED, TOGETHER - 1):
        running = [started(project, shared) for _ in range(TOGETHER)]
        begun = time.monotonic()
        for moment in sorted(moments.uniform(0, 2 * took) for _ in range(TOGETHER - 1)):
            time.sleep(max(0.0, begun + moment - time.monotonic()))
            running[0].send_signal(signal.SIGKILL)
            running.pop(0).communicate()
        assert answer(running[0]) == expected, f"after {first} and more were killed"
    assert answer(started(project, shared)) == expected


ASKED = 200


def outcome(number: int) -> TrialOutcome:
    reason = "x.so: it is too new " * number
    return TrialOutcome(f"nvJitLink {number}", "refused", "ltoir too new", reason)


def ask_for_ever(folder: Path, seed: int) -> None:
    """Ask of the trial-link cache, see that every answer is the question's own, and keep it."""
    cache = TrialCache(str(folder), Seal(b"a secret"))
    numbers = random.Random(seed)  # noqa: S311 - not for secrets
    while True:
        number = numbers.randrange(ASKED)
        question = Question(number.to_bytes(32, "big"), "x.so")
        if cache.get([question]) not in ([None], [outcome(number)]):
            os._exit(1)
        cache.keep([question], [outcome(number)])


def forked(folder: Path, seed: int) -> int:
    child = os.fork()
    if child == 0:
        try:
            ask_for_ever(folder, seed)
        finally:
            os._exit(1)
    return child


def killed(child: int) -> bool:
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1] == signal.SIGKILL


@pytest.mark.slow
def test_answers_of_trial_links_survive_processes_that_are_killed(tmp_path: Path) -> None:
    folder = tmp_path / "trials"
    moments = random.Random(4)  # noqa: S311 - not for secrets
    living = [forked(folder, seed) for seed in range(TOGETHER)]
    whole = []
    for seed in range(50):
        time.sleep(moments.uniform(0, 0.1))
        whole.append(killed(living.pop(0)))
        living.append(forked(folder, TOGETHER + seed))
    whole += map(killed, living)
    assert all(whole)  # none of them had ended by itself, at a wrong answer
    cache = TrialCache(str(folder), Seal(b"a secret"))
    questions = [Question(number.to_bytes(32, "big"), "x.so") for number in range(ASKED)]
    answers = [cache.get([question])[0] for question in questions]
    found = {number: answer for number, answer in enumerate(answers) if answer}
    assert found == {number: outcome(number) for number in found}
    assert len(found) > ASKED // 2
