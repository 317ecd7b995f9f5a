"""Find the files that cause an error: those of which ``check`` says what the error's rule says."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Mapping, Sequence

from ltocompat.commands.check import run as check
from ltocompat.commands.options import CheckOptions, ExplainOptions
from ltocompat.facts import nvjitlink_minors
from ltocompat.facts.gpus import sms
from ltocompat.model.arch import Release
from ltocompat.model.failure import Failure
from ltocompat.model.target import THIS_MACHINE
from ltocompat.model.verdict import Result

_MOST = 3  # files that are named
_Reason = tuple[tuple[bool, int], str, str]


def files_at_fault(
    rules: Sequence[str], values: Mapping[str, str], options: ExplainOptions
) -> Iterator[tuple[str, str] | Failure]:
    """Yield the files that have a cause, the worst first; an unreadable place is a failure.

    Args:
        rules: the rule of the cause, and the rules with the same message.
        values: the values in the text.
        options: the places to look in; without any, the packages of its interpreter.

    Yields:
        A place, and its problem.

    Raises:
        UsageError: the interpreter does not run.
    """
    # Where the text says nothing of the machine, this one is what the program met.
    targets = _targets(values)
    files = options.places or tuple(_packages_of(options.python, values))
    if not files:
        return
    python, progress = None if targets else options.python, options.progress
    checked = CheckOptions(files, targets or (THIS_MACHINE,), python=python, progress=progress)
    found: list[_Reason] = []
    for record in check(checked):
        if isinstance(record, Failure):
            yield record
        elif isinstance(record, Result):
            found += _of_result(record, rules, values.get("file", "").partition(".")[0])
    # Once a place: what a rule says of it differs from GPU to GPU in words only.
    reasons: dict[str, str] = {}
    for _, place, reason in sorted(found, key=lambda row: row[0]):
        reasons.setdefault(place, reason)
    yield from [*reasons.items()][:_MOST]


def _of_result(result: Result, rules: Sequence[str], library: str) -> Iterator[_Reason]:
    """Reasons by the rules, but for other libraries than the text's.

    The rule that decides is before those that share its message.
    """
    for finding in result.findings:
        stems = [asked.partition(" ")[0] for asked in finding.asked if asked.startswith("lib")]
        other = bool(stems) and library.startswith("lib") and library not in stems
        if finding.rule in rules and result.verdict > result.verdict.OK and not other:
            rank = rules.index(finding.rule) > 0, -finding.verdict
            place = result.path if finding.example is None else str(finding.example)
            yield rank, place, f"{finding.message} ({finding.rule})"


def _targets(values: Mapping[str, str]) -> tuple[str, ...]:
    """The deploy targets that the values of a text tell; none if they tell nothing."""
    driver = values.get("driver") or values.get("reads_branch") or values.get("found_branch")
    met = values.get("has") or values.get("linker_reads_cuda")
    linker = met or _before(values) or values.get("nvjitlink")
    keys = [("driver", driver), ("nvjitlink", linker)]
    known = ",".join(f"{key}={value}" for key, value in keys if value)
    named = (values.get("sm") or values.get("gpu_sm") or values.get("gpu_sms", "")).split(";")
    # No deploy target has a Fermi.
    if gpus := [f"sm_{gpu}" for gpu in named if gpu and int(gpu.rstrip("af")) >= 30]:
        return (",".join(filter(None, (known, f"gpu={'+'.join(gpus)}"))),)
    if driver is None:
        return (known,) if known else ()
    return tuple(f"{known},gpu=sm_{row.number}" for row in sms() if row.last_branch is None)


def _before(values: Mapping[str, str]) -> str:
    """The newest nvJitLink that lacks a symbol such as ``__nvJitLinkCreate_12_4``."""
    if "symbol" not in values or "minor" not in values:
        return ""
    needed = Release(int(values["major"]), int(values["minor"]))
    return str(max((minor for minor in nvjitlink_minors() if minor < needed), default=""))


def _packages_of(python: str | None, values: Mapping[str, str]) -> Iterator[str]:
    """The files of an environment; of those the ones that the text can be about."""
    from ltocompat.targets.linkers import Machine
    from ltocompat.targets.machine.python_environment import binary_files, chosen

    machine = Machine.here()
    name = os.path.basename(values.get("needs_file", ""))
    symbol = values.get("symbol", "").encode()
    for path in binary_files(chosen(python, machine.environ, machine)):
        if (not name or os.path.basename(path) == name) and (not symbol or _holds(path, symbol)):
            yield path


def _holds(path: str, symbol: bytes) -> bool:
    """Return whether a name is among the bytes of a file; True if that can't be told."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(symbol) >= 0
    except (OSError, ValueError):
        return True
