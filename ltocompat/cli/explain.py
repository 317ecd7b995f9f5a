"""``ltocompat explain``."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.cli.options import Format
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import Argument, ExplainOptions, Option
from ltocompat.model.errors import Missing, UnreadableInput, UsageError
from ltocompat.model.explained import Explained
from ltocompat.model.failure import Failure, Note
from ltocompat.model.location import Location
from ltocompat.report import Options
from ltocompat.report.exit_status import ExitStatus, of_explained

_LONGEST = 1 << 20  # characters of standard input; more is no error message


def _rule_ids() -> list[str]:
    """Return the words that the shell offers."""
    from ltocompat.rules.prose import rule_ids

    return list(rule_ids())


class Typed(Struct, frozen=True):
    """Options that only the command line has.

    Attributes:
        words: A rule (PTX-01), an error (209, CUDA_ERROR_...), the text of an error, or a topic
            (LTO-IR, forward compatibility, -dlto). - reads the text from standard input. If you add
            file names, ltocompat searches these files for the cause.
        full: Also show the full entry of each rule in the catalogue.
    """

    words: Annotated[
        tuple[str, ...], Argument(metavar="RULE|TEXT... [PATH...]", complete=_rule_ids)
    ] = ()
    full: Annotated[bool, Option(after="every")] = False


@verb
def explain(*, typed: Typed, options: ExplainOptions, form: Format = ()) -> int:
    """Explain an error text or a rule: the cause and the fix.

    For example: ltocompat explain error 222 on driver 580.95.05

    The answer uses the versions, architectures, symbols and files in the text. A rule is explained
    by its ID: ltocompat explain PTX-01
    """
    from ltocompat.commands import explain as command
    from ltocompat.report.verbs.explain import INDEX, REPORT

    def run(options: ExplainOptions) -> Iterator[Explained | Failure | Note]:
        try:
            return command.run(options)
        except Missing as error:
            if writing.json:
                raise
            return iter((command.unexplained(error),))

    text, places = _parted(typed.words)
    options = replace(options, text=_read(text) if text else "", places=places)
    report = INDEX if options.every else REPORT
    writing = in_format(form, report, Options(why=typed.full), places)
    return run_verb(run, options, writing, ExitStatus(of_explained))


def _parted(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of the text, and the files that are named after them."""
    end = len(words)
    while end > 1 and (words[end - 1].endswith((".whl", ".conda")) or _is_file(words[end - 1])):
        end -= 1
    return words[:end], words[end:]


def _is_file(word: str) -> bool:
    return bool(word) and os.path.exists(Location.parse(word).path)


def _read(words: tuple[str, ...]) -> str:
    """Return the text that was typed, or standard input.

    Raises:
        UnreadableInput: it is closed, or no file.
        UsageError: the text is the name of a file.
    """
    if len(words) == 1 and "." in words[0] and _is_file(words[0]):
        command = f"ltocompat explain - < {shlex.quote(words[0])}"
        raise UsageError(f"{words[0]!r} is a file; to explain the text in the file, run: {command}")
    if words != ("-",):
        return " ".join(words)
    try:
        return sys.stdin.buffer.read(_LONGEST).decode("utf-8", "replace")
    except OSError as error:
        reason = f"standard input can't be read ({error.strerror}); type the text"
        raise UnreadableInput(reason) from error
