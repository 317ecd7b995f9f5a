"""What metadata say of the drivers and GPUs that a package is for, as values.

Classifiers of Python packages (``Environment :: GPU :: NVIDIA CUDA :: 12 :: 12.4``), properties of
variant wheels (PEP 825, ``variant.json``; the values are those of nvidia-variant-provider), and the
virtual packages of conda (CEP 30: ``__cuda``; CEP 46: ``__cuda_arch``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ltocompat.model.arch import Release

# \d alone would take digits of other scripts, which no release is written with.
_CLASSIFIER = re.compile(
    r"Environment :: GPU :: NVIDIA CUDA :: \d{1,2} :: (\d{1,2}\.\d{1,2})", re.ASCII
)
_PROVIDER = "nvidia"
_LOWER_BOUND, _SM_ARCH = "cuda_version_lower_bound", "sm_arch"
_ARCH = re.compile(r"(\d{2,3})(?:_(real|virtual))?", re.ASCII)
_RELEASE = re.compile(r"(\d{1,2})(?:\.(\d{1,2}))?", re.ASCII)
_LOWER = re.compile(r"(?:>=|==|~=|>)\s*(\d{1,3})(?:\.(\d{1,2}))?", re.ASCII)
_BELOW = re.compile(r"<(\d{1,3})(?:\.(\d{1,2}))?", re.ASCII)
_CUDA, _CUDA_ARCH = "-cuda", "-cuda-arch"  # __cuda and __cuda_arch, normalized
_MOST = 1000  # values of one property


@dataclass(frozen=True, slots=True)
class Declared:
    """What one line of metadata says of drivers or GPUs.

    Attributes:
        source: as it is written.
        binding: installers go by it; else it is for readers.
        cuda: drivers of this CUDA release are new enough.
        gpus: each GPU that begins an architecture it is for, as 10 * major + minor.
        kind: with ``gpus``: ``real`` for SASS, ``virtual`` for PTX, empty for either.
        and_newer: it is for all GPUs from those of ``gpus`` on, below ``end`` where that is given.
        end: the first compute capability that it is not for.
    """

    source: str
    binding: bool
    cuda: Release | None = None
    gpus: tuple[int, ...] = ()
    kind: str = ""
    and_newer: bool = False
    end: int | None = None


def of_classifiers(lines: Iterable[str]) -> tuple[Declared, ...]:
    """The oldest CUDA release of those that classifiers name: it works with each of them."""
    found = {}
    for line in lines:
        match = _CLASSIFIER.fullmatch(line)
        if match:
            found[Release.parse(match[1])] = Declared(
                f"Classifier: {line}", binding=False, cuda=Release.parse(match[1])
            )
    return (found[min(found)],) if found else ()


def of_variant(data: bytes, label: str, problems: list[str]) -> tuple[Declared, ...]:
    """What the properties of a variant wheel say; what can't be read is a problem.

    Args:
        data: ``variant.json``; empty where there is none.
        label: of the file name; empty where that is not known.
        problems: gets a sentence for what is broken.
    """
    if not data:
        return ()
    try:
        variants = json.loads(data)["variants"]
        features = (variants[label] if label in variants else next(iter(variants.values())))[
            _PROVIDER
        ]
        bounds = _texts(features.get(_LOWER_BOUND, []))
        archs = _texts(features.get(_SM_ARCH, []))
    except (KeyError, StopIteration):
        return ()  # a variant of something else
    except (ValueError, TypeError, AttributeError, RecursionError):
        problems.append("variant.json is not as PEP 825 has it")
        return ()
    return (*_of_bounds(bounds, problems), *_of_archs(archs, problems))


def _texts(value: object) -> list[str]:
    """A list of texts.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise TypeError(value)
    return value[:_MOST]


def _of_bounds(values: list[str], problems: list[str]) -> Iterator[Declared]:
    """Any of the values may be met, so that the least decides."""
    found: dict[Release, str] = {}
    for value in values:
        match = _RELEASE.fullmatch(value)
        if match is None:
            problems.append(f"variant.json: {_LOWER_BOUND} {value[:80]!r} is no CUDA release")
        else:
            found[Release(int(match[1]), int(match[2] or 0))] = value
    if found:
        least = min(found)
        source = f"variant.json: {_PROVIDER} :: {_LOWER_BOUND} :: {found[least]}"
        yield Declared(source, binding=True, cuda=least)


def _of_archs(values: list[str], problems: list[str]) -> Iterator[Declared]:
    for value in values:
        match = _ARCH.fullmatch(value)
        if match is None:
            problems.append(f"variant.json: {_SM_ARCH} {value[:80]!r} is no architecture")
            continue
        source = f"variant.json: {_PROVIDER} :: {_SM_ARCH} :: {value}"
        yield Declared(source, binding=True, gpus=(int(match[1]),), kind=match[2] or "")


def of_conda(name: str, versions: Iterable[str], line: str) -> Declared | None:
    """What a dependency on a virtual package says; None for another, and for any version.

    Args:
        name: normalized.
        versions: alternative specifiers, of which one has to hold.
        line: as it is written.
    """
    if name not in (_CUDA, _CUDA_ARCH):
        return None
    least = [max(map(_release, _LOWER.finditer(text)), default=None) for text in versions]
    known = [release for release in least if release is not None]
    if not known or len(known) < len(least):
        return None
    floor = min(known)
    if name == _CUDA:
        return Declared(line, binding=True, cuda=floor)
    ends = [_BELOW.search(text) for text in versions]
    end = max(10 * int(e[1]) + int(e[2] or 0) for e in ends if e) if all(ends) else None
    gpu = 10 * floor.major + floor.minor
    return Declared(line, binding=True, gpus=(gpu,), and_newer=True, end=end)


def _release(match: re.Match[str]) -> Release:
    return Release(int(match[1]), int(match[2] or 0))
