"""The command line, with stand-ins for the readers."""
# ruff: noqa: ANN401 - stand-ins take whatever options they are given

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from report_values import bare_file, library, valid_json

import ltocompat.commands.extract
import ltocompat.commands.inspect
from ltocompat.cli import VERBS, run, verb_command
from ltocompat.commands.options import InspectOptions
from ltocompat.model import watchdog
from ltocompat.model.errors import LtocompatError, UnreadableInput, UsageError
from ltocompat.model.failure import Failure, Progress
from ltocompat.model.image import Record, Skipped
from ltocompat.report.streams import ProgressLine

REPO = Path(__file__).parents[1]
BANNED = (
    "ahocorasick_rs",
    "cuda",
    "elftools",
    "jinja2",
    "ltocompat.facts",
    "lz4",
    "rich",
    "zstandard",
)

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What ``inspect`` was asked; each file holds what its name says."""
    seen: list[dict[str, Any]] = []

    def inspect(options: InspectOptions) -> Iterator[Record | Failure]:
        for path in map(str, options.paths):
            seen.append({"path": path, "options": options})
            try:
                yield from of_path(path)
            except LtocompatError as error:
                yield Failure.of(error)

    def of_path(path: str) -> Iterator[Record]:
        errors: dict[str, Exception] = {
            "missing": UnreadableInput("'missing' does not exist; check the path"),
            "bad": UsageError("there is nothing at bad"),
            "bug": RuntimeError("kaboom \x1b[31m"),
            "full": MemoryError(),
            "no room": OSError(
                errno.ENOMEM, "Cannot allocate memory", "a package that is imported"
            ),
            "interrupt": KeyboardInterrupt(),  # type: ignore[dict-item]
        }
        if path.startswith("late-"):
            yield from list(library())[:2]
        if path.removeprefix("late-") in errors:
            raise errors[path.removeprefix("late-")]
        whole = (record for record in library() if not isinstance(record, Skipped))
        yield from [bare_file("d/x")] if path == "d" else whole

    monkeypatch.setattr(ltocompat.commands.inspect, "run", inspect)
    return seen


def python(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(REPO), **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        **options,
    )


@pytest.mark.parametrize(
    ("paths", "code"),
    [
        (["bad"], 2),
        (["missing", "bad"], 2),
        (["bad", "missing"], 2),
        (["bug", "bad"], 70),
        (["bad", "late-bug"], 70),
        (["interrupt"], 130),
        (["late-interrupt"], 130),
    ],
)
@pytest.mark.usefixtures("calls")
def test_the_most_important_code_wins(paths: list[str], code: int, capsys: Captured) -> None:
    assert run(["inspect", *paths]) == code
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("path", ["full", "no room"])
@pytest.mark.usefixtures("calls")
def test_too_little_memory_is_no_internal_error(path: str, capsys: Captured) -> None:
    """Imports list folders, which ends in an OSError where there is no memory for that."""
    assert run(["inspect", path]) == 3
    assert capsys.readouterr().err.startswith("ltocompat: there is not enough memory; allow more")


@pytest.mark.usefixtures("calls")
def test_an_internal_error_is_one_escaped_sentence(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LTOCOMPAT_TRACEBACK", raising=False)
    assert run(["inspect", "bug"]) == 70
    text = capsys.readouterr().err
    assert text.startswith(r"ltocompat: internal error (RuntimeError: kaboom \x1b[31m); this is")
    assert text.count("\n") == 1
    monkeypatch.setenv("LTOCOMPAT_TRACEBACK", "1")
    run(["inspect", "bug"])
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.usefixtures("calls")
@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        (["inspect", "missing"], "unreadable", 3),
        (["inspect", "bug"], "internal", 70),
        (["inspect", "bad"], "usage", 2),
        (["inspect", "a.so", "--kind", "cubin"], "usage", 2),
        (["inspect", "a.so", "--by", "size"], "usage", 2),
        (["inspect", "a.so", "--by", "arch", "--images"], "usage", 2),
        (["inspect", "a.so", "--colour"], "usage", 2),
        (["inspect"], "usage", 2),
        (["inspekt"], "usage", 2),
        (["extract", "a.so"], "usage", 2),
    ],
)
def test_an_error_is_the_only_json_document_when_nothing_was_written(
    arguments: list[str], kind: str, code: int, capsys: Captured
) -> None:
    assert run([*arguments, "--format", "json"]) == code
    captured = capsys.readouterr()
    assert valid_json(captured.out)["error"]["kind"] == kind
    assert captured.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--format", "xml"], "--format 'xml' is not known; give one of: table, json, markdown"),
        (
            ["--by", "size"],
            "--by 'size' is not known; give one of: kind, arch, section, compression",
        ),
        (
            ["--by", "arch", "--hash"],
            "--by is for the summary, but --images and --hash show no summary",
        ),
        (["--kind", "x"], "'x' is not a kind of image; give one of: ltoir, ptx, sass"),
    ],
)
@pytest.mark.usefixtures("calls")
def test_wrong_usage_is_2_and_one_sentence(
    arguments: list[str], sentence: str, capsys: Captured
) -> None:
    assert run(["inspect", "a.so", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"ltocompat: {sentence}")
    assert captured.err.count("\n") == 1


def test_the_version_is_shown(capsys: Captured) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("ltocompat ")


def test_help_imports_nothing_slow() -> None:
    code = (
        "import sys; from ltocompat.cli import run\n"
        "for line in (['--help'], ['inspect', '--help'], ['extract', '-h']):\n"
        "    assert run(line) == 0\n"
        f"bad = set({BANNED}) & set(sys.modules)\n"
        "assert not bad, bad\n"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: ltocompat") == 3


COMMANDS: dict[str, Any] = {name: verb_command(name) for name in VERBS}
GROUPS = ("linkers", "survey")


def test_the_list_of_verbs_says_of_each_what_its_own_help_does() -> None:
    own = {name: command.get_short_help_str(100) for name, command in COMMANDS.items()}
    assert own == VERBS


def test_only_the_verb_that_is_typed_is_imported() -> None:
    code = (
        "import sys; from ltocompat.cli import VERBS, run\n"
        "def verbs():\n"
        "    return [verb for verb in VERBS if f'ltocompat.cli.{verb}' in sys.modules]\n"
        "assert run(['--help']) == 0 and not verbs(), verbs()\n"
        "assert run(['inspect', '--help']) == 0 and verbs() == ['inspect'], verbs()\n"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr


HELP: dict[tuple[str, ...], Any] = {
    (verb,): command for verb, command in COMMANDS.items() if verb not in GROUPS
}
HELP |= {(name, verb): each for name in GROUPS for verb, each in COMMANDS[name].commands.items()}


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("group", [[], ["linkers"], ["survey"]])
def test_no_summary_is_cut_at_80_columns(group: list[str], capsys: Captured) -> None:
    run([*group, "--help"])
    text = capsys.readouterr().out
    assert "..." not in text.partition("Commands:")[2]


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_help_names_no_type_of_python_and_breaks_no_word(
    words: tuple[str, ...], capsys: Captured
) -> None:
    run([*words, "--help"])
    text = capsys.readouterr().out
    assert not re.search(r"list\[|<str>|<int>", text)
    assert "12\n" not in text
    usage = text.splitlines()[0]
    assert usage.startswith(f"Usage: ltocompat {' '.join(words)} [OPTIONS]")
    assert not re.search(r"\[\[|\{", usage)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_help_has_an_example_that_can_be_typed(words: tuple[str, ...], capsys: Captured) -> None:
    run([*words, "--help"])
    (example,) = re.findall(r"For example: ltocompat (.*)", capsys.readouterr().out)
    typed = example.split()
    assert tuple(typed[: len(words)]) == words
    HELP[words].make_context("ltocompat", typed[len(words) :])


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_help_all_has_every_option_and_help_the_common_ones(
    words: tuple[str, ...], capsys: Captured
) -> None:
    def flags(option: str) -> set[str]:
        run([*words, option])
        return set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", capsys.readouterr().out, re.MULTILINE))

    options = [each for each in HELP[words].params if isinstance(each, click.Option)]
    every = {each.opts[-1] for each in options if not each.hidden}
    assert flags("--help-all") == every | {"--help"}
    assert flags("--help") <= every | {"--help"}


@pytest.mark.parametrize("words", [[], ["linkers"]])
def test_a_list_of_verbs_takes_help_all(words: list[str], capsys: Captured) -> None:
    shown = [
        (run([*words, option]), capsys.readouterr().out) for option in ("--help-all", "--help")
    ]
    assert shown[0] == shown[1]
    assert shown[0][0] == 0


@pytest.mark.parametrize(("words", "code"), [([], 2), (["linkers"], 0)])
def test_a_list_of_verbs_alone_shows_its_help(
    words: list[str], code: int, capsys: Captured
) -> None:
    assert run(words) == code
    shown = capsys.readouterr()
    assert "Commands:" in (shown.err if code else shown.out)


def test_completion_is_kept() -> None:
    done = python("-c", "from ltocompat.cli import main; main()", "--show-completion", "zsh")
    assert "#compdef ltocompat" in done.stdout


def test_a_pipe_that_closes_early_ends_quietly(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import ltocompat.commands.inspect as api\n"
        "from ltocompat.model.location import Location\n"
        "from ltocompat.model.image import Artifact, Skipped\n"
        "def inspect(options):\n"
        "    for n in range(100_000):\n"
        "        yield Skipped(Location('a').at(n), 'x' * 100)\n"
        "        yield Artifact('a', 1, 0, 0, 1)\n"
        "api.run = inspect\n"
        "from ltocompat.cli import main\n"
        "main()\n"
    )
    command = f"{sys.executable} {script} inspect a | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(REPO)},
    )
    assert done.returncode == 141
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


def test_names_that_the_terminal_lacks_are_escaped(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import ltocompat.commands.inspect as api\n"
        "from ltocompat.model.image import Artifact\n"
        "api.run = lambda options: [Artifact('x', 1, 0, 0, 0)]\n"
        "import sys\n"
        "from ltocompat.cli import main\n"
        "sys.argv = ['x', 'inspect', 'x', '--made-by', '\\u4e2d']\n"
        "main()\n"
    )
    done = python(str(script), env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 2
    assert r"'\u4e2d' does not say what made an image" in done.stderr


class Terminal:
    """A standard error that says it is a terminal, and what it was sent."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return True


def line_at(
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[ProgressLine, Terminal, Callable[[float], None]]:
    now = [100.0]
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setenv("COLUMNS", "40")

    def advance(seconds: float) -> None:
        now[0] += seconds

    return ProgressLine(), terminal, advance


def test_progress_is_silent_for_a_second_and_then_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    line, terminal, advance = line_at(monkeypatch)
    advance(0.9)
    line(Progress("a.so", 1, 100))
    assert terminal.text == ""
    advance(0.2)
    line(Progress("a.so", 42 << 20, 100 << 20))
    assert terminal.text == "\r 42% of 100.0 MiB a.so"
    line(Progress("a.so", 43 << 20, 100 << 20))
    assert terminal.text.count("%") == 1


def test_progress_is_erased_and_never_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    line, terminal, advance = line_at(monkeypatch)
    advance(2)
    line(Progress("\x1b[31m" + "x" * 100, 1, 0))
    shown = terminal.text.removeprefix("\r")
    assert len(shown) == 39
    assert "\x1b" not in shown
    line.erase()
    assert terminal.text.endswith("\r" + " " * 39 + "\r")
    line.erase()
    assert terminal.text.count("\r") == 3


def test_off_a_terminal_a_line_comes_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    line = ProgressLine()
    shown = []
    for second in range(1, 301):
        now[0] += 1
        line(Progress("nvlink 13.5.37", 2 << 20, 4 << 20))
        if text := capsys.readouterr().err:
            left = second - 1  # half is done: the rest takes as long
            minutes = f"({left / 60:.0f} min left) " if left > 60 else ""
            assert text == f"ltocompat: 50% of 4.0 MiB {minutes}nvlink 13.5.37\n"
            shown.append(second)
    line.erase()
    assert shown == [5, *range(10, 301, 10)]
    assert capsys.readouterr().err == ""


def test_the_first_seconds_tell_no_remaining_minutes(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """The first library of a wheel may take most of the time and be a twentieth of its bytes."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    line = ProgressLine()
    line(Progress("x.whl", 0, 400 << 20))
    for second, end in ((6, ""), (6, "(4 min left) ")):
        now[0] += second
        line(Progress("x.whl", 20 << 20, 400 << 20))
        assert capsys.readouterr().err == f"ltocompat: 5% of 400.0 MiB {end}x.whl\n"
    line.close()


def test_no_size_is_told_of_what_is_done_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    line = ProgressLine()
    now[0] += 10
    line(Progress("tiny.ptx", 233, 233))
    line.close()
    assert capsys.readouterr().err == "ltocompat: just read: tiny.ptx\n"


def test_off_a_terminal_a_line_comes_while_one_member_is_unpacked(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The timer that looks after readers asks for it: a member may take minutes."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    line = ProgressLine()
    line(Progress("x\u2028.deb", 1 << 20, 4 << 20))
    for _ in range(3):
        now[0] += 10
        watchdog._look()  # noqa: SLF001 - as SIGALRM does
    told = capfd.readouterr()
    # No estimate: it would grow with every line.
    assert told.err == "ltocompat: 25% of 4.0 MiB x\\u2028.deb, still at work\n" * 3
    assert told.out == ""
    line.close()
    now[0] += 10
    watchdog._look()  # noqa: SLF001
    assert capfd.readouterr().err == ""


def test_work_that_tells_nothing_is_told_at_any_rate(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    line = ProgressLine()
    for _ in range(25):
        now[0] += 1
        watchdog._look()  # noqa: SLF001 - as SIGALRM does
    line.close()
    seconds = re.findall(r"ltocompat: still at work after (\d+) s\n", capfd.readouterr().err)
    assert seconds == ["5", "10", "20"]


def test_a_terminal_shows_that_a_member_takes_long(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    line, terminal, advance = line_at(monkeypatch)
    advance(2)
    line(Progress("x.whl", 1 << 20, 4 << 20))
    for _ in range(7):
        advance(1)
        watchdog._look()  # noqa: SLF001 - as SIGALRM does
    assert terminal.text == "\r 25% of 4.0 MiB x.whl"
    stale = "\r 25% of 4.0 MiB x.whl, still at work"
    assert capfd.readouterr().err == 2 * stale
    line.close()
    assert terminal.text.endswith("\r" + " " * len(stale[1:]) + "\r")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("env --python x", "--python is an option of check, require, matrix, explain."),
        ("check x --require-archs 8.0", "--require-archs is an option of audit."),
        ("audit --sarif", "For this format, write --format sarif."),
        ("check x --driver 550", "--deploy-target driver=... is an option of check, audit, "),
    ],
)
def test_an_option_that_a_verb_lacks_is_told_with_those_that_have_it(
    words: str, told: str, capsys: Captured
) -> None:
    assert run(words.split()) == 2
    assert told in capsys.readouterr().err


def test_an_option_that_no_verb_has_is_no_option_of_any(capsys: Captured) -> None:
    assert run(["check", "x", "--colour"]) == 2
    assert "is an option of" not in capsys.readouterr().err
