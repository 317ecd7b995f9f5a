"""Options that several verbs share, each with its one line of help."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from ltocompat.model.errors import UsageError
from ltocompat.model.image import ImageKind, Role
from ltocompat.model.limits import REQUIRE_SANDBOX
from ltocompat.model.target import THIS_MACHINE
from ltocompat.report import FINDING_FORMATS, FORMATS

if TYPE_CHECKING:
    from ltocompat.model.verdict import Verdict


FAIL_ON = ("jit", "undocumented", "unknown", "fail")
"""The verdicts that ``--fail-on`` takes."""

Paths = Annotated[
    list[str],
    typer.Argument(metavar="PATH...", help="Files, folders, places (libx.a::m.o@0x40) or -."),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help=f"Only images of this kind: {', '.join(ImageKind)}; repeat it or separate by commas.",
        autocompletion=lambda: [str(kind) for kind in ImageKind],
    ),
]
Archs = Annotated[
    list[str] | None,
    typer.Option(
        "--arch",
        metavar="ARCH",
        help="Only images for this architecture: sm_90a, compute_90 or lto_75; 90a means any form.",
    ),
]
MadeBy = Annotated[
    list[str] | None,
    typer.Option(
        "--made-by",
        metavar="MAKER",
        help="Only images that this release (12.4), exact version (13.3.73), tool (nvlink) or role "
        "may have made; or unknown.",
        autocompletion=lambda: [*map(str, Role), "unknown"],
    ),
]
Jobs = Annotated[
    str | None,
    typer.Option(
        "--jobs",
        metavar="NUMBER",
        help="Processes that read at the same time (default: one a core, at most 12 a file).",
    ),
]
_ONE_OF_SEVERAL = "repeat it for several, at most one of them without a file (default: table)."


def _format_option(names: Sequence[str]) -> Any:  # noqa: ANN401 - typer says no type of its options
    return typer.Option(
        "--format",
        metavar="FORMAT[=FILE]",
        help=f"{', '.join(names)} (json lists everything); {_ONE_OF_SEVERAL}",
        autocompletion=lambda: list(names),
    )


Format = Annotated[list[str] | None, _format_option(FORMATS)]
FindingFormat = Annotated[list[str] | None, _format_option(FINDING_FORMATS)]
Linkers = Annotated[
    list[str] | None,
    typer.Option(
        "--linker",
        metavar="LINKER=VERSION",
        help="Who is to link: nvlink=13.5, nvjitlink=12.4.127, or =PATH; repeat it to compare "
        "(default: the newest nvJitLink).",
    ),
]
NvJitLinks = Annotated[
    list[str] | None,
    typer.Option(
        "--nvjitlink",
        metavar="VERSION",
        help="nvJitLink to ask: 12.4, 12.4.127 or a path; repeat it to compare (default: newest).",
    ),
]
InstallLinkers = Annotated[
    bool,
    typer.Option(
        "--install-linkers",
        "--install-nvjitlink",
        envvar="LTOCOMPAT_INSTALL_LINKERS",
        show_envvar=False,
        help="Install linkers that are not at hand, for trials.",
    ),
]
TrialLink = Annotated[
    bool,
    typer.Option(
        "--trial-link",
        envvar="LTOCOMPAT_TRIAL_LINK",
        show_envvar=False,
        help="Ask real linkers; no GPU and no driver is needed.",
    ),
]


def _require_sandbox(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        os.environ[REQUIRE_SANDBOX] = "1"
    else:  # it may say 0
        os.environ.pop(REQUIRE_SANDBOX, None)


RequireSandbox = Annotated[
    bool,
    typer.Option(
        "--require-sandbox",
        envvar=REQUIRE_SANDBOX,
        show_envvar=False,
        callback=_require_sandbox,
        expose_value=False,
        help="Make no trial that the system can't confine: for code that you don't trust.",
    ),
]
TrialLoad = Annotated[
    bool,
    typer.Option(
        "--trial-load",
        envvar="LTOCOMPAT_TRIAL_LOAD",
        show_envvar=False,
        help="Load the modules on this machine's GPUs and fold in the answers.",
    ),
]
Beside = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="FILE",
        help="A package that is installed beside: a wheel, a conda package, a *.dist-info folder; "
        "repeat it for more.",
    ),
]
Why = Annotated[
    bool, typer.Option("--why", help="Show the whole sentences and the reasoning of each verdict.")
]
Notes = Annotated[bool, typer.Option("--notes", help="Show notes, too, which are only counted.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Show only what is wrong.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="The same as --notes --why.")]
NoCache = Annotated[
    bool,
    typer.Option(
        "--no-cache",
        envvar="LTOCOMPAT_NO_CACHE",
        show_envvar=False,
        help="Ask linkers anew, whatever they answered before.",
    ),
]
AllowEmpty = Annotated[
    bool,
    typer.Option(
        "--allow-empty",
        envvar="LTOCOMPAT_ALLOW_EMPTY",
        show_envvar=False,
        help="Pass where there is no device code, or no file at all.",
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="The same as --fail-on undocumented; a half that was not judged ends in exit code 3.",
    ),
]


def _fail_on_option(default: str) -> Any:  # noqa: ANN401 - typer says no type of its options
    return typer.Option(
        "--fail-on",
        metavar="|".join(FAIL_ON),
        envvar="LTOCOMPAT_FAIL_ON",
        show_envvar=False,
        help=f"The mildest verdict that ends in exit code 1 (default: {default}).",
        autocompletion=lambda: list(FAIL_ON),
    )


FailOn = Annotated[str | None, _fail_on_option("fail")]
FailOnOrPolicy = Annotated[str | None, _fail_on_option("the policy's, else fail")]


def choose(option: str, value: str, valid: Iterable[str]) -> str:
    """``value``, when it is one of ``valid``.

    Raises:
        UsageError: it is not; the sentence names those that are.
    """
    choices = tuple(valid)
    if value not in choices:
        raise UsageError(f"{option} {value!r} is not known; give one of: {', '.join(choices)}")
    return value


def threshold(fail_on: str | None, *, strict: bool) -> Verdict | None:
    """The best verdict that counts as a finding; None where no option says so.

    Raises:
        UsageError: it is not one of ``FAIL_ON``, or both options were given.
    """
    from ltocompat.model.verdict import Verdict

    if fail_on is not None and strict:
        raise UsageError("--strict is --fail-on undocumented; give one of the two")
    if fail_on is not None:
        return Verdict[choose("--fail-on", fail_on, FAIL_ON).upper()]
    return Verdict.UNDOCUMENTED if strict else None


OPTION = "--deploy-target"


def complete_target() -> list[str]:
    """What the shell offers: names of the project, then every word that the tables know."""
    from ltocompat.commands.targets import TargetsOptions, run
    from ltocompat.targets.inline import KEYS
    from ltocompat.targets.reading import names_of_project

    _, names = names_of_project(".")
    words = [f"{word.key}={word.value}" for word in run(TargetsOptions())]
    return [*names, *(f"{key}=" for key in KEYS), *words]


DeployTargets = Annotated[
    list[str] | None,
    typer.Option(
        OPTION,
        metavar="TARGET",
        autocompletion=complete_target,
        help="Where it goes: 12.4, R550, driver=580.65.06,gpu=h100+l4, prod.toml:edge, or a name "
        "in pyproject.toml; repeat it for more (default, and without a value: this machine).",
    ),
]


class VerbCommand(TyperCommand):
    """A verb's parser, which reads a bare ``--deploy-target`` as this machine.

    Its help shows arguments as they are written, without types of Python.
    """

    def __init__(self, *args: Any, **facts: Any) -> None:  # noqa: ANN401 - what typer gives
        super().__init__(*args, **facts)
        for argument in self._arguments:
            argument.display_type_rich = _no_type

    @property
    def _arguments(self) -> list[Any]:
        # Each version of typer has their type somewhere else.
        return [param for param in self.params if param.param_type_name == "argument"]

    def format_usage(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - see below
        """Write ``Usage: ltocompat check [OPTIONS] [PATH...]``."""
        words = ["[OPTIONS]", *(argument.metavar for argument in self._arguments)]
        formatter.write_usage(ctx.command_path, " ".join(words))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - see below
        """Parse the words behind the verb."""
        # Each version of typer has the type of ``ctx`` somewhere else.
        return super().parse_args(ctx, with_values(args))


def _no_type(ctx: object) -> None:
    """What stands behind the name of an argument: nothing."""
    del ctx


def with_values(arguments: Sequence[str]) -> list[str]:
    """Give each bare ``--deploy-target`` (the last word, or before an option) its value.

    typer knows no option whose value may be missing, so that the target's own spelling is
    put there.
    """
    done: list[str] = []
    for number, word in enumerate(arguments):
        if word == "--":
            return [*done, *arguments[number:]]
        done.append(word)
        following = arguments[number + 1] if number + 1 < len(arguments) else "-"
        if word == OPTION and following.startswith("-"):
            done.append(THIS_MACHINE)
    return done


def jobs_of(text: str | None) -> int | None:
    """The number of processes that ``--jobs`` asks for.

    Raises:
        UsageError: it is no number from 1 on.
    """
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:9]) < 10_000):
        raise UsageError(f"--jobs takes a number of processes, not {text!r}; --jobs 1 is one")
    return int(text)
