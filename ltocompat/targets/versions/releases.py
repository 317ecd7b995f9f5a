"""Texts about a library or tool (``12.4``, ``12``, ``>=12.4,<13``) -> CUDA releases."""

from __future__ import annotations

import functools

from ltocompat.facts import drivers, linker_wheels, nvjitlink_minors, rows
from ltocompat.model.arch import Release, version_numbers
from ltocompat.model.errors import UsageError
from ltocompat.model.target import Quantifier, VersionSet
from ltocompat.targets.versions.comparisons import (
    Numbers,
    admitted,
    is_range,
    read_clauses,
    read_numbers,
)
from ltocompat.targets.versions.drivers import LEAST_BRANCH

# Below this a version is that of a CUDA release, not of the driver that a package holds.

TITLES = {
    "nvjitlink": "nvJitLink",
    "nvrtc": "NVRTC",
    "nvlink": "nvlink",
    "compat": "cuda-compat package",
    "toolkit": "CUDA toolkit",
}


@functools.cache
def known_releases(part: str) -> tuple[Release, ...]:
    """Return the releases of ``nvjitlink``, ``nvrtc``, ``nvlink``, ``compat`` or ``toolkit``."""
    if part == "nvjitlink":
        return nvjitlink_minors()
    if part == "compat":
        return tuple(drivers.compat_packages())
    # Each toolkit has an NVRTC and an nvlink. There was no toolkit 12.7, only a driver of that.
    return tuple(sorted({row.cuda for row in rows(drivers.ToolkitDriver)}))


def read_releases(part: str, text: str, source: str) -> VersionSet[Release]:
    """Return the releases that ``text`` means, without patch levels.

    A bare major means one of its minors. A range means every known release in it, and its lower end
    if that is newer than the tables. ``12.4+13.0`` means both, ``12.4|13.0`` one of them.

    Args:
        part: ``nvjitlink``, ``nvrtc``, ``nvlink`` or ``compat``.
        text: one version, a range or several; cuda-compat packages also as ``13-0``, or by the
            driver in them, ``580.95.05``, from the name of the package's folder.
        source: the source of the text.

    Raises:
        UsageError: it is not a version, there is no such release, or the range is empty.
    """
    plain = text.replace("-", ".") if part == "compat" else text
    if is_range(plain):
        return VersionSet(text, _in_range(part, plain), Quantifier.ALL, source)
    quantifier = Quantifier.ALL if "+" in plain else Quantifier.ONE_OF
    found = {
        release
        for word in plain.split("+" if "+" in plain else "|")
        for release in _releases(part, word)
    }
    return VersionSet(text, tuple(sorted(found)), quantifier, source)


def exact_release(part: str, text: str) -> Release:
    """Return the release of ``12.4`` or ``12.4.1``.

    Raises:
        UsageError: it is not a release, or there is no such release.
    """
    numbers = read_numbers(text)
    if numbers is None or len(numbers) < 2:
        raise UsageError(f"{text!r} is not a release of a {TITLES[part]}; write it like 12.4")
    return existing(part, Release(*numbers[:2]))


def existing(part: str, release: Release) -> Release:
    """Return ``release`` if it exists, or may exist after the tables.

    Raises:
        UsageError: there is none.
    """
    if _possible(part, release):
        return release
    raise UsageError(f"there is no {TITLES[part]} {release}; there are {_listed(part)}")


def _possible(part: str, release: Release) -> bool:
    # nvJitLink begins with 12.0; of the others the tables only leave out the oldest.
    return release >= known_releases(part)[0] or (part != "nvjitlink" and release.major > 0)


def _releases(part: str, word: str) -> tuple[Release, ...]:
    numbers = read_numbers(word)
    if numbers is None:
        raise UsageError(
            f"{word!r} is not a version of {TITLES[part]}; write it like 12.4, 12.4.127 or "
            f"'{part}>=12.4,<13'"
        )
    if part == "compat" and numbers[0] >= LEAST_BRANCH:
        return (_of_driver(numbers[0], word),)
    if len(numbers) > 1:
        return (existing(part, Release(*numbers[:2])),)
    minors = tuple(minor for minor in known_releases(part) if minor.major == numbers[0])
    if not minors:
        raise UsageError(
            f"no {TITLES[part]} {word} is known; write a minor release such as {word.strip()}.0, "
            f"or one of {_listed(part)}"
        )
    return minors


def _of_driver(branch: int, word: str) -> Release:
    """The package that a driver of this branch comes in: 13.0 of 580.95.05."""
    release = drivers.branch_cuda(branch)
    if release is None:
        known = ", ".join(map(str, drivers.driver_branches()))
        raise UsageError(
            f"driver {word} belongs to no known branch; write the cuda-compat release, such as "
            f"compat=13.0, or a driver of the branches {known}"
        )
    return release


def _in_range(part: str, text: str) -> tuple[Release, ...]:
    clauses = read_clauses(text)
    candidates = list(_versions(part))
    candidates += [(*clause.numbers, 0)[:4] for clause in clauses if clause.is_low_end]
    found = {Release(*numbers[:2]) for numbers in candidates if admitted(numbers, clauses)}
    releases = tuple(sorted(release for release in found if _possible(part, release)))
    if not releases:
        raise UsageError(f"the tables have no {TITLES[part]} {text}; they have {_listed(part)}")
    return releases


@functools.cache
def _versions(part: str) -> tuple[Numbers, ...]:
    """Full versions where the tables have them, so that ``>=12.4.100`` can be told."""
    if part == "nvjitlink":
        texts = {wheel.version for wheel in linker_wheels("nvjitlink")}
        return tuple(sorted(map(version_numbers, texts)))
    return tuple((release.major, release.minor) for release in known_releases(part))


def _listed(part: str) -> str:
    return ", ".join(str(release) for release in known_releases(part))
