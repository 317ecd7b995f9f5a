"""Declarations in metadata of the drivers and GPUs that a package is for, as values.

Classifiers of Python packages (``Environment :: GPU :: NVIDIA CUDA :: 12 :: 12.4``), properties of
variant wheels (PEP 825, ``variant.json``; the values are those of nvidia-variant-provider), and the
virtual packages of conda (CEP 30: ``__cuda``; CEP 46: ``__cuda_arch``) with conda-forge's packages
that depend on them: ``cuda-version 12.9`` is installed where ``__cuda >=12`` is (its recipe), and
``cuda-arch 8.0`` where ``__cuda_arch >=8.0`` is (conda-forge.org, "CUDA architecture detection").
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from operator import attrgetter

from ltocompat.model.arch import Release
from ltocompat.packages.values import Declared, Dependency

# \d alone would take digits of other scripts, which no release is written with.
_CLASSIFIER = re.compile(
    r"Environment :: GPU :: NVIDIA CUDA :: ([0-9]{1,2})(?: :: ([0-9]{1,2}\.[0-9]{1,2}))?", re.ASCII
)
_PROVIDER = "nvidia"
_LOWER_BOUND, _SM_ARCH = "cuda_version_lower_bound", "sm_arch"
_ARCH = re.compile(r"([0-9]{2,3})(?:_(real|virtual))?", re.ASCII)
_RELEASE = re.compile(r"([0-9]{1,2})(?:\.([0-9]{1,2}))?", re.ASCII)
_LOWER = re.compile(r"(?:>=|==|~=|>)\s*([0-9]{1,3})(?:\.([0-9]{1,2}))?", re.ASCII)
_BELOW = re.compile(r"<([0-9]{1,3})(?:\.([0-9]{1,2}))?", re.ASCII)
_CUDA, _CUDA_ARCH = "-cuda", "-cuda-arch"  # __cuda and __cuda_arch, normalized
_OF_DRIVERS, _OF_GPUS = "cuda-version", "cuda-arch"
_MOST = 1000  # values of one property


def of_classifiers(lines: Iterable[str]) -> tuple[Declared, ...]:
    """Return the oldest CUDA release that classifiers name, else each major that they name.

    A package works with each of these releases.
    """
    releases, majors = dict[Release, Declared](), dict[int, Declared]()
    for line in lines:
        match = _CLASSIFIER.fullmatch(line)
        if match is None:
            continue
        source = f"Classifier: {line}"
        if match[2]:
            release = Release.parse(match[2])
            releases[release] = Declared(source, binding=False, cuda=release)
        else:
            majors[int(match[1])] = Declared(source, binding=False, major=int(match[1]))
    return (releases[min(releases)],) if releases else tuple(majors.values())


def of_variant(data: bytes, label: str, problems: list[str]) -> tuple[Declared, ...]:
    """Read the properties of a variant wheel; unreadable parts become problems.

    Args:
        data: ``variant.json``; empty if there is none.
        label: the label in the file name; empty if unknown.
        problems: gets a sentence for each broken part.
    """
    if not data:
        return ()
    try:
        variants = json.loads(data)["variants"]
        variant = variants[label] if label in variants else next(iter(variants.values()))
        features = variant[_PROVIDER]
        bounds, archs = (_texts(features.get(key, [])) for key in (_LOWER_BOUND, _SM_ARCH))
    except (KeyError, StopIteration):
        return ()  # a variant of something else
    except (ValueError, TypeError, AttributeError, RecursionError):
        problems.append("variant.json does not follow PEP 825")
        return ()
    releases = [
        Declared(source, binding=True, cuda=_release(match))
        for source, match in _read(_LOWER_BOUND, bounds, _RELEASE, "a CUDA release", problems)
    ]
    gpus = [
        Declared(source, binding=True, gpus=(int(match[1]),), kind=match[2] or "")
        for source, match in _read(_SM_ARCH, archs, _ARCH, "an architecture", problems)
    ]
    # Any of the releases may be met, so that the least decides.
    return (*sorted(releases, key=attrgetter("cuda"))[:1], *gpus)


def _texts(value: object) -> list[str]:
    """A list of texts.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise TypeError(value)
    return value[:_MOST]


def _read(
    key: str, values: list[str], pattern: re.Pattern[str], what: str, problems: list[str]
) -> Iterator[tuple[str, re.Match[str]]]:
    """The values of a property that can be read, each with its source."""
    for value in values:
        match = pattern.fullmatch(value)
        if match is None:
            problems.append(f"variant.json: {key} {value[:80]!r} is not {what}")
        else:
            yield f"variant.json: {_PROVIDER} :: {key} :: {value}", match


def of_conda(dependency: Dependency) -> Declared | None:
    """Read a line on drivers or GPUs; None if it is about something else, or any version.

    A line that only limits (``constrains``) installs no package, but a virtual package always
    exists.
    """
    name, versions, line = dependency.name, dependency.versions, dependency.line
    virtual = name in (_CUDA, _CUDA_ARCH)
    if not virtual and (name not in (_OF_DRIVERS, _OF_GPUS) or dependency.only_limits):
        return None
    least = [max(map(_release, _LOWER.finditer(text)), default=None) for text in versions]
    known = [release for release in least if release is not None]
    if not known or len(known) < len(least):
        return None
    floor = min(known)
    if name == _CUDA:
        return Declared(line, binding=True, cuda=floor)
    if name == _OF_DRIVERS:
        one = all(_is_of_major(text, floor.major) for text in versions)
        return Declared(line, binding=True, major=floor.major) if one else None
    ends = [_BELOW.search(text) for text in versions]
    limited = virtual and all(ends)  # cuda-arch 8.0 is for all GPUs from 8.0 on
    end = max(10 * int(e[1]) + int(e[2] or 0) for e in ends if e) if limited else None
    gpu = 10 * floor.major + floor.minor
    return Declared(line, binding=True, gpus=(gpu,), and_newer=True, end=end)


def _is_of_major(versions: str, major: int) -> bool:
    """Return whether versions of no other major are admitted: ``>=12.4,<13``, ``==12.9.*``."""
    lower, end = _LOWER.search(versions), _BELOW.search(versions)
    below = end is not None and (int(end[1]), int(end[2] or 0)) <= (major + 1, 0)
    return lower is not None and int(lower[1]) == major and ("==" in versions or below)


def _release(match: re.Match[str]) -> Release:
    return Release(int(match[1]), int(match[2] or 0))
