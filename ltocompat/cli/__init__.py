"""The command line: one verb a file, no logic; nothing heavy is imported before a verb runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Protocol, runtime_checkable

import typer

from ltocompat.cli import (
    audit,
    check,
    diff,
    env,
    explain,
    extract,
    init,
    inspect,
    link,
    linkers,
    matrix,
    require,
    schema,
    selftest,
    targets,
)
from ltocompat.cli.options import VerbCommand
from ltocompat.cli.run_verb import wants_json, write_error
from ltocompat.model.errors import LtocompatError
from ltocompat.model.failure import Failure
from ltocompat.model.version import VERSION
from ltocompat.report.exit_status import CLOSED_PIPE, INTERRUPTED, USAGE, ExitStatus
from ltocompat.report.streams import AnswerLost, flush_answer, lost, replace_missing_streams

VERBS: tuple[Callable[..., int] | typer.Typer, ...] = (
    check.check,
    audit.audit,
    init.init,
    require.require,
    matrix.matrix,
    diff.diff,
    explain.explain,
    inspect.inspect,
    extract.extract,
    link.link,
    linkers.linkers,
    linkers.nvjitlink,
    env.env,
    selftest.selftest,
    targets.targets,
    schema.schema,
)
"""Each verb is a function of this name, or a group of them; a new one is one file and one entry."""


@runtime_checkable
class _WrongUsage(Protocol):
    """typer's error for words that it can't parse; each version keeps it somewhere else."""

    def show(self) -> None: ...

    def format_message(self) -> str: ...


app = typer.Typer(
    name="ltocompat",
    help="Tell, before you ship, whether CUDA device code will link and load where it is going.",
    epilog="Exit codes: 0 done, 1 findings, 2 wrong usage, 3 something could not be read, 4 "
    "something asked for is missing, 70 internal error, 130 interrupted, 141 output closed early.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in VERBS:
    if isinstance(verb, typer.Typer):
        app.add_typer(verb)
    else:
        app.command(cls=VerbCommand)(verb)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        typer.echo(f"ltocompat {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line and exit with the code of ``report/exit_status.py``."""
    replace_missing_streams()
    try:
        code = run(sys.argv[1:])
        flush_answer()
    except BrokenPipeError:
        code = CLOSED_PIPE
    except OSError as error:  # of what the parser writes itself, such as help
        code = _exit_code_of(lost(error))
    except AnswerLost as error:
        code = _exit_code_of(error)
    sys.exit(code)


def _exit_code_of(error: Exception) -> int:
    """Its exit code; its sentence goes to standard error."""
    status: ExitStatus[object] = ExitStatus()
    status.failed(error, sys.stderr)
    return status.code


def run(arguments: list[str]) -> int:
    """Run the command line ``arguments``; the exit code."""
    _escape_what_a_terminal_lacks()
    try:
        code = _command()(arguments, prog_name="ltocompat", standalone_mode=False)
    except typer.Abort:
        return INTERRUPTED
    except Exception as error:
        if isinstance(error, _WrongUsage):
            error.show()
            failure, code = Failure("usage", error.format_message()), USAGE
        elif isinstance(error, LtocompatError):  # an option has no meaning
            failure, code = Failure.of(error), _exit_code_of(error)
        else:
            raise
        if wants_json(arguments):
            write_error(failure)
    return int(code or 0)


@cache
def _command() -> Callable[..., Any]:
    """The parser of all verbs: made once, which takes longer than most runs of one."""
    return typer.main.get_command(app)


def _escape_what_a_terminal_lacks() -> None:
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a letter of some file's name gets its escape instead.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
