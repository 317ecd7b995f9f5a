"""Options that the command line alone has, in several verbs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Annotated

from msgspec import Struct

from ltocompat.commands.options import Option
from ltocompat.model.errors import UsageError
from ltocompat.model.image import ImageKind, Role
from ltocompat.model.limits import DEFAULT_LIMITS, REQUIRE_SANDBOX, Limits
from ltocompat.model.verdict import Verdict
from ltocompat.report import FINDING_FORMATS, FORMATS, Options
from ltocompat.scan.filters import ImageFilter

FAIL_ON = ("jit", "undocumented", "unknown", "fail")
"""The verdicts that ``--fail-on`` takes."""

KIND = Option(
    f"Only images of this kind: {', '.join(ImageKind)}; repeat it or separate by commas.",
    metavar="KIND",
    complete=lambda: [str(kind) for kind in ImageKind],
)


class ImageChoice(Struct, frozen=True):
    """Which images are meant.

    Attributes:
        arch: Only images for this architecture: sm_90a, compute_90 or lto_75; 90a means any form.
        made_by: Only images that this release (12.4), exact version (13.3.73), tool (nvlink) or
            role may have made; or unknown.
    """

    kind: Annotated[tuple[str, ...], KIND] = ()
    arch: Annotated[tuple[str, ...], Option(metavar="ARCH")] = ()
    made_by: Annotated[
        tuple[str, ...],
        Option(metavar="MAKER", complete=lambda: [*map(str, Role), "unknown"]),
    ] = ()

    def filter(self) -> ImageFilter | None:
        """The filter; None where all images are meant."""
        found = ImageFilter.parse(kinds=self.kind, archs=self.arch, made_by=self.made_by)
        return found or None


def _format_option(names: Sequence[str]) -> Option:
    return Option(
        f"{', '.join(names)} (json lists everything); repeat it for several, at most one of them "
        "without a file (default: table).",
        flags=("--format",),
        metavar="FORMAT[=FILE]",
        complete=lambda: list(names),
    )


Format = Annotated[tuple[str, ...], _format_option(FORMATS)]
FindingFormat = Annotated[tuple[str, ...], _format_option(FINDING_FORMATS)]


def _trial_seconds(text: str) -> float:
    """The CPU time of all trials.

    Raises:
        UsageError: it is no number of seconds from 1 on.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds < float("inf"):
        raise UsageError(f"--trial-seconds takes seconds of CPU time from 1 on, not {text!r}")
    return seconds


def _require_sandbox(wanted: bool) -> bool:  # noqa: FBT001 - called with what was typed
    if wanted:
        os.environ[REQUIRE_SANDBOX] = "1"
    else:  # it may say 0
        os.environ.pop(REQUIRE_SANDBOX, None)
    return wanted


class Sandbox(Struct, frozen=True):
    """Confinement of trials.

    Attributes:
        require_sandbox: Make no trial that the system can't confine: for code that you don't trust.
    """

    require_sandbox: Annotated[
        bool, Option(env=REQUIRE_SANDBOX, parse=_require_sandbox, after="install_linkers")
    ] = False


class TrialBounds(Sandbox, frozen=True):
    """The bounds of trials.

    Attributes:
        trial_seconds: CPU time of all trials together; one of them gets a quarter.
    """

    trial_seconds: Annotated[
        float,
        Option(
            metavar="SECONDS",
            env="LTOCOMPAT_TRIAL_SECONDS",
            parse=_trial_seconds,
            after="trial_load",
        ),
    ] = DEFAULT_LIMITS.trial_cpu_seconds

    def limits(self) -> Limits:
        """The limits of a run."""
        return Limits(trial_cpu_seconds=self.trial_seconds)


QUIET, VERBOSE = ("-q", "--quiet"), ("-v", "--verbose")


class Shown(Struct, frozen=True):
    """How much of findings is shown.

    Attributes:
        why: Show the whole sentences and the reasoning of each verdict.
        notes: Show notes, too, which are only counted.
        quiet: Show only what is wrong.
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


class Threshold(Struct, frozen=True):
    """Which verdicts end in exit code 1.

    Attributes:
        strict: The same as --fail-on undocumented; a half that was not judged ends in exit code 3.
        fail_on: The mildest verdict that ends in exit code 1 (default: fail).
    """

    strict: Annotated[bool, Option()] = False
    fail_on: Annotated[str | None, Option(choices=FAIL_ON, env="LTOCOMPAT_FAIL_ON")] = None

    def verdict(self) -> Verdict | None:
        """The best verdict that counts as a finding; None where no option says so.

        Raises:
            UsageError: both options were given.
        """
        if self.fail_on is not None and self.strict:
            raise UsageError("--strict is --fail-on undocumented; give one of the two")
        if self.fail_on is not None:
            return Verdict[self.fail_on.upper()]
        return Verdict.UNDOCUMENTED if self.strict else None


class PolicyThreshold(Threshold, frozen=True):
    """The threshold of a verb whose policy may give it as well.

    Attributes:
        fail_on: The mildest verdict that ends in exit code 1 (default: the policy's, else fail).
    """


def choose(option: str, value: str, valid: Iterable[str]) -> str:
    """``value``, when it is one of ``valid``.

    Raises:
        UsageError: it is not; the sentence names those that are.
    """
    choices = tuple(valid)
    if value not in choices:
        raise UsageError(f"{option} {value!r} is not known; give one of: {', '.join(choices)}")
    return value
