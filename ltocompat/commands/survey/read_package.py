"""One package, read once in this process alone, and asked all that a survey asks."""

from __future__ import annotations

import functools
import io
from collections.abc import Sequence

from msgspec import Struct

from ltocompat.commands.read import read_known_file
from ltocompat.commands.survey.default_targets import default_targets
from ltocompat.commands.survey.image_groups import ImageGroup, ImageGroups
from ltocompat.model.distribution import Distribution as Package
from ltocompat.model.image import HostBinary, Module, Skipped
from ltocompat.model.limits import DEFAULT_LIMITS, KIB, MIB, Limits
from ltocompat.model.requirement import Required
from ltocompat.model.target import Target
from ltocompat.model.verdict import Result
from ltocompat.model.weight import Weight
from ltocompat.targets import parse

_LARGEST_KEPT = 32 * MIB - 64 * KIB  # the block that counts has a header, and ends with a page


class PackageAnswers(Struct, frozen=True):
    """The contents and needs of one package, and the verdicts on it.

    Attributes:
        filename: name of its file, with which all places in it begin.
        sha256: of its file.
        size: bytes of its file.
        package: what its metadata say; None where it is no package.
        groups: its images, those that are alike counted together.
        hosts: its libraries, executables and objects that need something.
        skipped: places in it that could not be read.
        required: what it needs wherever it goes.
        results: the verdicts, target by target; last, what is wrong with it on any target.
        weight: what its device code weighs.
    """

    filename: str
    sha256: str
    size: int
    package: Package | None
    groups: tuple[ImageGroup, ...]
    hosts: tuple[HostBinary, ...]
    skipped: tuple[Skipped, ...]
    required: Required
    results: tuple[Result, ...]
    weight: Weight


def read_package(
    file: io.FileIO,
    filename: str,
    sha256: str,
    targets: Sequence[str],
    limits: Limits = DEFAULT_LIMITS,
) -> PackageAnswers:
    """Read a package and ask all that a survey asks; no other process is started.

    Args:
        file: its file, open.
        filename: its name.
        sha256: of its bytes.
        targets: spellings of deploy targets; none: those of its platforms.
        limits: what reading it may cost.

    Raises:
        UnreadableInput: it can't be read to its end.
        UsageError: a target has no meaning.
    """
    _keep_memory()
    file.name = filename  # what places begin with
    reading = read_known_file(file, sha256, limits=limits)
    groups, hosts, skipped = ImageGroups(), list[HostBinary](), list[Skipped]()
    for record in reading.records():
        if isinstance(record, Module):
            groups.take(record)
        elif isinstance(record, HostBinary):
            hosts.append(record)
        elif isinstance(record, Skipped):
            skipped.append(record)
    package = reading.distribution
    platforms = package.platforms if package is not None else ()
    goals = targets or _parsed(default_targets(platforms))
    return PackageAnswers(
        filename=filename,
        sha256=reading.sha256,
        size=reading.size,
        package=package,
        groups=groups.found(),
        hosts=tuple(hosts),
        skipped=tuple(skipped),
        required=reading.require(),
        results=tuple(reading.check(goals)),
        weight=reading.weigh(),
    )


@functools.cache
def _keep_memory() -> None:
    """Have memory of unpacked images used again, which else goes back to the system with each.

    glibc gives a block back at once unless a larger one was freed before: here one of the largest
    size that counts. It is never written to, so that it takes no memory itself.
    """
    bytes(_LARGEST_KEPT)


@functools.cache
def _parsed(spellings: tuple[str, ...]) -> tuple[Target, ...]:
    """Default targets, which are the same for all packages of a system."""
    return tuple(parse(list(spellings)))
