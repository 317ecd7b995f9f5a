"""Options that the command line alone has, in several verbs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Annotated

from msgspec import Struct

from ltocompat.commands.options import Option, StrPath
from ltocompat.model.errors import UsageError
from ltocompat.model.image import ImageKind, Role
from ltocompat.model.limits import DEFAULT_LIMITS, REQUIRE_SANDBOX, Limits
from ltocompat.model.location import Location
from ltocompat.model.verdict import Verdict
from ltocompat.report import FINDING_FORMATS, FORMATS, LIST_FORMATS, Options
from ltocompat.scan.filters import ImageFilter

# The verdicts that ``--fail-on`` accepts.
FAIL_ON = ("jit", "undocumented", "unknown", "fail")

KIND = Option(
    f"Only images of this kind: {', '.join(ImageKind)}. Repeatable; commas may separate kinds.",
    metavar="KIND",
    complete=lambda: [str(kind) for kind in ImageKind],
)


class ImageChoice(Struct, frozen=True):
    """Which images are meant.

    Attributes:
        arch: Only images for this architecture: sm_90a, compute_90 or lto_75. 90a without a prefix
            selects images of all kinds.
        made_by: Only images that this tool may have made. MAKER is a release (12.4), a version
            (13.3.73), a tool (nvlink), a role (linker) or unknown.
    """

    kind: Annotated[tuple[str, ...], KIND] = ()
    arch: Annotated[tuple[str, ...], Option(metavar="ARCH")] = ()
    made_by: Annotated[
        tuple[str, ...], Option(metavar="MAKER", complete=lambda: [*map(str, Role), "unknown"])
    ] = ()

    def filter(self) -> ImageFilter | None:
        """The filter; None for all images."""
        return ImageFilter.parse(kinds=self.kind, archs=self.arch, made_by=self.made_by) or None


def _format_option(names: Sequence[str]) -> Option:
    return Option(
        f"{', '.join(names)}. =FILE writes the output to a file. Repeatable. Default: table. Only "
        "json has everything.",
        flags=("--format",),
        metavar="FORMAT[=FILE]",
        complete=lambda: list(names),
    )


Format = Annotated[tuple[str, ...], _format_option(FORMATS)]
ListFormat = Annotated[tuple[str, ...], _format_option(LIST_FORMATS)]
FindingFormat = Annotated[tuple[str, ...], _format_option(FINDING_FORMATS)]


def _require_sandbox(wanted: bool) -> bool:  # noqa: FBT001 - called with what was typed
    if wanted:
        os.environ[REQUIRE_SANDBOX] = "1"
    else:  # it may say 0
        os.environ.pop(REQUIRE_SANDBOX, None)
    return wanted


class Sandbox(Struct, frozen=True):
    """Confinement of trials, which read it out of their environment.

    Attributes:
        require_sandbox: Refuse trials that the system can't sandbox. Use this for code that you
            don't trust.
    """

    require_sandbox: Annotated[
        bool, Option(env=True, parse=_require_sandbox, after="install_linkers")
    ] = False


class GateOptions(Sandbox, frozen=True):
    """Options that only the command lines of check and audit have.

    Attributes:
        trial_seconds: CPU time for all trials together; one trial gets at most a quarter of it.
        strict: The same as --fail-on undocumented, and also exit with 3 if a route (load or link)
            was not checked.
        fail_on: Exit with 1 at this verdict or a worse one (default: the verdict in the policy, or
            fail).
    """

    trial_seconds: Annotated[
        float, Option(metavar="SECONDS", env=True, within=(1, 10**9), after="trial_load")
    ] = DEFAULT_LIMITS.trial_cpu_seconds
    strict: Annotated[bool, Option()] = False
    fail_on: Annotated[str | None, Option(choices=FAIL_ON, env=True)] = None

    def limits(self) -> Limits:
        """The limits of a run."""
        return Limits(trial_cpu_seconds=self.trial_seconds)

    def verdict(self) -> Verdict | None:
        """The best verdict that counts as a finding; None if no option sets it.

        Raises:
            UsageError: both options were given.
        """
        if self.fail_on is not None and self.strict:
            raise UsageError("--strict means --fail-on undocumented; leave out one of the two")
        if self.fail_on is not None:
            return Verdict[self.fail_on.upper()]
        return Verdict.UNDOCUMENTED if self.strict else None


QUIET, VERBOSE = ("-q", "--quiet"), ("-v", "--verbose")


class Shown(Struct, frozen=True):
    """Options for the detail of findings.

    Attributes:
        why: Show each finding in full, with the reasoning behind each verdict.
        notes: Also list notes (by default they are only counted).
        quiet: Show only findings.
        verbose: The same as --notes --why.
    """

    why: Annotated[bool, Option()] = False
    notes: Annotated[bool, Option()] = False
    quiet: Annotated[bool, Option(flags=QUIET)] = False
    verbose: Annotated[bool, Option(flags=VERBOSE)] = False

    def view(self) -> Options:
        """The report's options."""
        why, notes = self.why or self.verbose, self.notes or self.verbose
        return Options(why=why, notes=notes, quiet=self.quiet)


def choose(option: str, value: str, valid: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``valid``.

    Raises:
        UsageError: it is not; the sentence names the valid values.
    """
    choices = tuple(valid)
    if value not in choices:
        raise UsageError(f"{option} {value!r} is not known; give one of: {', '.join(choices)}")
    return value


class FormatRequest(Struct, frozen=True):
    """A requested format.

    Attributes:
        name: name of the format.
        file: its output file; None for standard output.
    """

    name: str
    file: str | None


def read_formats(texts: Sequence[str], formats: Sequence[str] = FORMATS) -> list[FormatRequest]:
    """Return the requested formats; if none goes to standard output, add a table there.

    Args:
        texts: ``FORMAT`` or ``FORMAT=FILE`` each.
        formats: the formats of the verb.

    Raises:
        UsageError: a format is unknown, or two of them go to the same file.
    """
    requests = list(dict.fromkeys(_request(text, formats) for text in texts))
    files = [os.path.realpath(request.file) if request.file else None for request in requests]
    if files.count(None) > 1:
        names = " and ".join(request.name for request in requests if request.file is None)
        raise UsageError(f"{names} both go to standard output; write one to a file: FORMAT=FILE")
    if len(set(files)) < len(files):
        raise UsageError("two formats go to one file; name a separate file for each format")
    return requests if None in files else [FormatRequest("table", None), *requests]


def _request(text: str, formats: Sequence[str]) -> FormatRequest:
    name, mark, file = text.partition("=")
    if mark and not file:
        raise UsageError(f"--format {text!r} names no file; write {name}=FILE, or only {name}")
    if name in FINDING_FORMATS and name not in formats:
        valid = f"check and matrix --deploy-target have; give one of: {', '.join(formats)}"
        raise UsageError(f"--format {name!r} is for findings, which {valid}")
    return FormatRequest(choose("--format", name, formats), file or None)


def refuse_to_replace(requests: Sequence[FormatRequest], inputs: Iterable[StrPath]) -> None:
    """Check that no report replaces an input.

    Raises:
        UsageError: one would.
    """
    read = {os.path.realpath(Location.parse(os.fspath(path)).path) for path in inputs}
    for request in requests:
        if request.file is not None and os.path.realpath(request.file) in read:
            raise UsageError(
                f"--format {request.name} would replace {request.file}; name another file"
            )
