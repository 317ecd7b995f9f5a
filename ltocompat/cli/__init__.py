"""The command line: one verb a file, no logic; nothing heavy is imported before a verb runs."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import sys
from contextlib import suppress
from itertools import pairwise
from typing import Any

import click

from ltocompat.cli.group import Group, at_once
from ltocompat.model.version import VERSION

# The verbs in the order of the help, each with the first line of its docstring. A new verb needs
# one file of its name, a function or group of its name in it, and one entry here.
VERBS = {
    "check": "Check whether device code will link and load on deploy targets.",
    "audit": "Check packages against the project's policy before a release.",
    "init": "Write a policy that the packages pass today.",
    "require": "Show the driver, nvJitLink and GPUs that device code needs.",
    "matrix": "Check against every nvJitLink, driver branch and GPU in one run.",
    "diff": "Show what changed between two releases of a package or file.",
    "explain": "Explain an error text or a rule: the cause and the fix.",
    "inspect": "List the LTO-IR, PTX and SASS in files, and the tools that made them.",
    "extract": "Write images to files, decompressed where possible.",
    "slim": "Write smaller packages, without the device code that no GPU uses.",
    "repair": "Write wheels with repaired metadata, RUNPATHs and tags.",
    "link": "Link inputs with real linkers and show result, time and size.",
    "env": "Show the driver, GPUs and linkers on this machine.",
    "selftest": "Compile, link, load and run a kernel here; show what fails.",
    "targets": "List the GPUs, drivers and releases that targets can name.",
    "facts": "Print the compatibility tables behind the rules.",
    "schema": "Print the JSON Schema of a command's output, or of a policy.",
    "survey": "Survey many packages: write a dataset of what they contain and require.",
    "linkers": "List, install and remove nvJitLinks and nvlinks.",
}


# The variable by which a shell asks for completions.
_COMPLETE = "_LTOCOMPAT_COMPLETE"


def verb_command(name: str) -> click.Command:
    """Import the module of a verb or group of verbs and return its parser."""
    command: click.Command = getattr(importlib.import_module(f"{__name__}.{name}"), name)
    return command


class _LazyVerb(click.Command):
    """A verb in the list of verbs, whose own parser is made when it is typed or completed."""

    def make_context(self, *args: Any, **facts: Any) -> click.Context:  # noqa: ANN401 - click's
        """Parse the words after the verb with the verb's parser."""
        return verb_command(str(self.name)).make_context(*args, **facts)


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click calls it so
    if wanted:
        # Imported here: no other option needs a table.
        from ltocompat.facts.horizon import tables_end

        click.echo(f"ltocompat {VERSION} (facts up to {tables_end()})")
        ctx.exit()


def _print_completion(ctx: click.Context, _: click.Parameter, shell: str | None) -> None:
    if shell:
        from click.shell_completion import get_completion_class

        if made_by := get_completion_class(shell):
            click.echo(made_by(ctx.command, {}, "ltocompat", _COMPLETE).source())
            ctx.exit()


_COLOR = False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None

app = Group(
    "ltocompat",
    help="Tell, before you ship, whether CUDA device code will link and load on users' machines.",
    epilog="Exit codes: 0 done, 1 findings, 2 wrong usage, 3 something could not be read, 4 "
    "something requested is missing, 70 internal error, 130 interrupted, 141 output closed early.",
    commands=[_LazyVerb(name, short_help=line) for name, line in VERBS.items()],
    params=[
        at_once("-V/--version", "Show the version and exit.", _print_version, is_flag=True),
        at_once(
            "--show-completion",
            "Print a shell's completion script and exit. Line for the shell's start-up file: "
            'eval "$(ltocompat --show-completion bash)".',
            _print_completion,
            type=click.Choice(["bash", "fish", "zsh"]),
        ),
    ],
    context_settings={"help_option_names": ["-h", "--help"], "color": _COLOR},
)


def main() -> None:
    """Run the command line and exit with the code of ``report/exit_status.py``."""
    from ltocompat.model import watchdog
    from ltocompat.report.streams import AnswerLost, flush_answer, lost, replace_missing_streams

    replace_missing_streams()
    watchdog.begin()
    # Our values hold no cycles, so that Python looks for some more rarely; what is left at the end
    # goes with the process, unsearched.
    gc.set_threshold(10_000)
    atexit.register(gc.freeze)
    _keep_freed_memory()
    try:
        code = _complete() if _COMPLETE in os.environ else run(sys.argv[1:])
        flush_answer()
    except BrokenPipeError:
        from ltocompat.report.exit_status import CLOSED_PIPE

        code = CLOSED_PIPE
    except (AnswerLost, FileNotFoundError) as error:  # no stream says the latter
        code = _exit_code_of(error)
    except OSError as error:  # of what the parser writes itself, such as help
        code = _exit_code_of(lost(error))
    sys.exit(code)


def _keep_freed_memory() -> None:
    """Let buffers take what others freed: fresh pages of the system cost a third of reading."""
    import ctypes

    # Windows has no such function, nor musl and macOS.
    with suppress(OSError, AttributeError, TypeError):
        # mallopt(3): M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_TOP_PAD, in MiB.
        for option, size in ((-3, 32), (-1, 64), (-2, 8)):
            ctypes.CDLL(None).mallopt(option, size << 20)


def _complete() -> int:
    """Answer a shell that completes a line; the exit code."""
    from click.shell_completion import shell_complete

    return shell_complete(app, {}, "ltocompat", _COMPLETE, os.environ[_COMPLETE])


def _exit_code_of(error: Exception) -> int:
    """The exit code of an error, whose sentence goes to standard error."""
    from ltocompat.report.exit_status import ExitStatus

    status: ExitStatus[object] = ExitStatus()
    status.failed(error, sys.stderr)
    return status.code


# A flag takes no value, and an option that has one would take the file behind it.
_FLAGS_OF_WORDS = {"--trial-link=auto": "--trial-link-auto"}


def run(arguments: list[str]) -> int:
    """Run the command line ``arguments`` and return the exit code."""
    _escape_what_a_terminal_lacks()
    try:
        words = [_FLAGS_OF_WORDS.get(argument, argument) for argument in arguments]
        with app.make_context("ltocompat", words) as context:
            code = app.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except KeyboardInterrupt:
        from ltocompat.report.exit_status import INTERRUPTED

        return INTERRUPTED
    except Exception as error:
        code = _exit_code_of_words(error, arguments)
        if code is None:
            raise
    return int(code or 0)


def _exit_code_of_words(error: Exception, arguments: list[str]) -> int | None:
    """The exit code where words or an option have no meaning; None for every other error."""
    from ltocompat.cli.run_verb import write_error
    from ltocompat.model.errors import LtocompatError
    from ltocompat.model.failure import Failure
    from ltocompat.report.exit_status import USAGE

    if isinstance(error, click.ClickException):
        if isinstance(error, click.NoSuchOption):
            where = _where_it_is(error.option_name)
            similar = None if where else error.possibilities
            error = type(error)(error.option_name, error.message + where, similar, error.ctx)
        error.show()
        failure, code = Failure("usage", error.format_message()), USAGE
    elif isinstance(error, LtocompatError):  # an option has no meaning
        failure, code = Failure.of(error), _exit_code_of(error)
    else:
        return None
    if "--format=json" in arguments or ("--format", "json") in pairwise(arguments):
        write_error(failure)
    return code


def _where_it_is(flag: str) -> str:
    """A sentence about an option that a verb lacks: the verbs that have it, a key or a format."""
    from ltocompat.commands.options import DEPLOY_TARGET
    from ltocompat.report import FINDING_FORMATS
    from ltocompat.targets.inline import KEYS

    key = flag.lstrip("-")
    for option, value in ((flag, ""), (DEPLOY_TARGET, f" {key}=..." if key in KEYS else None)):
        verbs = [name for name in VERBS for it in verb_command(name).params if option in it.opts]
        if verbs and value is not None:
            return f"\n{option}{value} is an option of {', '.join(verbs)}."
    return f"\nFor this format, write --format {key}." if key in FINDING_FORMATS else ""


def _escape_what_a_terminal_lacks() -> None:
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a letter of some file's name gets its escape instead.
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
