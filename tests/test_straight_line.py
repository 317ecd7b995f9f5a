"""A call is a straight line: verb, run_verb, format, report, command; nothing calls back up.

A trace function follows one run of every verb. Counted are frames of ltocompat's own code that
stand between the verb's function and the ``run`` function of its command, whenever that is entered
or goes on. A format pulls the records that it writes, so that a report's frames are among them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import unwrap
from pathlib import Path
from types import CodeType, FrameType

import pytest
from every_case import every
from samples import FOLDER

import ltocompat
from ltocompat.cli import run
from ltocompat.cli.audit import audit
from ltocompat.cli.check import check
from ltocompat.cli.diff import diff
from ltocompat.cli.env import env
from ltocompat.cli.explain import explain
from ltocompat.cli.extract import extract
from ltocompat.cli.inspect import inspect
from ltocompat.cli.link import link
from ltocompat.cli.linkers import install, list_, remove
from ltocompat.cli.matrix import matrix
from ltocompat.cli.require import require
from ltocompat.cli.selftest import selftest
from ltocompat.cli.targets import targets
from ltocompat.cli.verb import Verb
from ltocompat.commands import audit as audit_command
from ltocompat.commands import check as check_command
from ltocompat.commands import diff as diff_command
from ltocompat.commands import env as env_command
from ltocompat.commands import explain as explain_command
from ltocompat.commands import extract as extract_command
from ltocompat.commands import inspect as inspect_command
from ltocompat.commands import link as link_command
from ltocompat.commands import linkers as linkers_command
from ltocompat.commands import matrix as matrix_command
from ltocompat.commands import require as require_command
from ltocompat.commands import selftest as selftest_command
from ltocompat.commands import targets as targets_command
from ltocompat.commands import weigh as weigh_command
from ltocompat.rules.engine.evaluate import evaluate

PACKAGE = str(Path(ltocompat.__file__).parent) + "/"
SASS = str(FOLDER / "cubin" / "nvrtc-13.0-sm_90.cubin")
LTOIR = str(FOLDER / "fatbin-ltoir" / "nvfatbin-13.3-of-13.3-lto_80.fatbin")
GONE = "gone.so"
H100 = "driver=580.95.05,nvjitlink=13.4,gpu=h100"
MOST_FRAMES = 4
COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>"}
"""Of these Python 3.12 has no frames any more."""

Function = Callable[..., object]

RUNS: list[tuple[str, Verb, Function]] = [
    (f"inspect {SASS} {GONE}", inspect, inspect_command.run),
    (f"inspect --weigh {SASS} {GONE}", inspect, weigh_command.run),
    (f"check {SASS} {GONE} --deploy-target {H100}", check, check_command.run),
    (f"check {SASS}", check, check_command.run),
    (f"audit {SASS} {GONE}", audit, audit_command.run),
    (f"require {SASS} {GONE}", require, require_command.run),
    (f"matrix {SASS} {GONE}", matrix, matrix_command.run),
    (f"diff {SASS} {LTOIR}", diff, diff_command.run),
    ("explain PTX-01", explain, explain_command.run),
    (f"extract {SASS} {GONE} -o out", extract, extract_command.run),
    (f"link {LTOIR} --arch sm_80 --nvjitlink 99.9", link, link_command.run),
    ("linkers list", list_, linkers_command.run_list),
    ("linkers install nvlink=1.0", install, linkers_command.run_install),
    ("linkers remove nvlink=12.4", remove, linkers_command.run_remove),
    ("env", env, env_command.run),
    ("selftest --nvjitlink 99.9", selftest, selftest_command.run),
    ("targets hopper", targets, targets_command.run),
]


class Profile:
    """Follows calls of functions, and generators that go on."""

    def __init__(self, verb: Verb, command: Function) -> None:
        assert verb.callback
        self.verb = unwrap(verb.callback).__code__
        self.command = command.__code__
        self.lines: list[list[CodeType]] = []
        self.upward: set[tuple[str, str]] = set()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        if frame.f_code is self.command:
            self.lines.append(self.between(frame))
        caller = frame.f_back
        if room(frame) == "cli" and caller is not None and room(caller) not in ("cli", None):
            self.upward.add((name(caller.f_code), name(frame.f_code)))

    def between(self, frame: FrameType) -> list[CodeType]:
        """The frames of ours from the verb to the command, without these two."""
        found: list[CodeType] = []
        above = frame.f_back
        while above is not None and above.f_code is not self.verb:
            if room(above) is not None and above.f_code.co_name not in COMPREHENSIONS:
                found.append(above.f_code)
            above = above.f_back
        assert above is not None, "the command was called by something else than the verb"
        return found[::-1]


def room(frame: FrameType) -> str | None:
    path = frame.f_code.co_filename
    return path.removeprefix(PACKAGE).split("/")[0] if path.startswith(PACKAGE) else None


def name(code: CodeType) -> str:
    return f"{code.co_filename.removeprefix(PACKAGE)}:{code.co_qualname}"


@pytest.mark.parametrize("form", ["json", pytest.param("table", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("line", "verb", "command"), RUNS, ids=[row[0].split("/")[0] for row in RUNS]
)
def test_a_call_is_a_straight_line(
    *,
    line: str,
    verb: Verb,
    command: Function,
    form: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    profile = Profile(verb, command)
    sys.settrace(profile)  # of calls alone, since it asks for no lines
    try:
        run([*line.split(), "--format", form])
    finally:
        sys.settrace(None)
    longest = max(profile.lines, key=len)
    assert len(longest) <= MOST_FRAMES, [name(code) for code in longest]
    assert profile.upward == set()


MOST_TO_VERDICT = 12
FATBIN = str(FOLDER / "fatbin" / "nvcc-13.2-none.fatbin")
JUDGING = (
    f"check {FATBIN} --deploy-target {H100}",
    f"check {FATBIN} --deploy-target driver=580,nvjitlink=12",
    f"require {FATBIN} {LTOIR}",
)


@every("line", JUDGING)
def test_a_verdict_is_twelve_frames_below_its_use_case(line: str) -> None:
    found: list[list[str]] = []

    def follow(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or frame.f_code is not evaluate.__code__:
            return
        between, above = list[str](), frame.f_back
        while above is not None and room(above) != "commands":
            if room(above) is not None and above.f_code.co_name not in COMPREHENSIONS:
                between.append(name(above.f_code))
            above = above.f_back
        found.append(between[::-1])

    sys.settrace(follow)
    try:
        run(line.split())
    finally:
        sys.settrace(None)
    assert found
    longest = max(found, key=len)
    assert len(longest) <= MOST_TO_VERDICT, longest
