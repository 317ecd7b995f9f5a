"""Values that stand in a message, and what the tables make of them: 8.5 is the PTX of CUDA 12.5."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping

from ltocompat.facts.drivers import branch_cuda, cuda_branch
from ltocompat.facts.gpus import sm
from ltocompat.facts.toolkits import ptx_cuda
from ltocompat.model.arch import Release

# What else a text says of a machine; bounded as all patterns of messages are.
_AROUND = {
    "driver": re.compile(
        r"(?:[Dd]river(?: [Vv]ersion)?|NVIDIA-SMI|Kernel Module)[:= ]{1,3}"
        r"(?P<driver>\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b"
    ),
    "nvcc": re.compile(r"\brelease (?P<nvcc>\d{1,2}\.\d), V\d"),
}
_SUFFIXED = re.compile(r"(\d{2,3})([af]?)")
_FIRST_WITH_F = Release(12, 9)
"""Family targets (sm_100f) begin with CUDA 12.9, whatever their number (measured: nvJitLink)."""
_FIRST_90A = Release(12, 0)
"""sm_90 is of CUDA 11.8, sm_90a of 12.0 (PTX ISA, release history: 8.0)."""
_ZSTANDARD = (550, 54)
"""The first driver that unpacks Zstandard is 550.54.14 (nvcc guide, --compress-mode)."""

_LONG_PATH = 48  # what a sentence of an answer still takes
_LANGUAGES = {"++14": "9.0", "++17": "11.0", "++20": "12.0"}
"""The first nvcc with each C++ (CUDA's release notes)."""


def around(text: str) -> dict[str, str]:
    """What a text says of the driver and of nvcc, where it names them once or the same."""
    found = {}
    for name, pattern in _AROUND.items():
        values = {match[name] for match in pattern.finditer(text)}
        if len(values) == 1:
            found[name] = values.pop()
    return found


def derived(values: Mapping[str, str]) -> dict[str, str]:
    """The values of a message, with what the tables know of each.

    Args:
        values: by the names of the pattern's groups; a name with ``_`` at its end is an
            alternative of the name without.

    Returns:
        The same, and for example ``ptx_cuda`` and ``ptx_branch`` of ``ptx``.
    """
    found = {name.rstrip("_"): value for name, value in values.items()}
    if "cc" in found:
        found["sm"] = found["cc"].replace(".", "")
    for name, derive in _DERIVED.items():
        if name in found:
            found |= {
                f"{name}_{part}": value for part, value in derive(found[name]).items() if value
            }
    major = found.get("major") or found.get("builtins", "").partition(".")[0]
    found["cu_suffix"] = "-cu12" if major == "12" else "-cu11" if major == "11" else ""
    if "needs_file" in found:
        found["needs_path"] = _end_of(found["needs_file"])
    place = found.get("file") or found.get("needs_file")
    found["file_argument"] = shlex.quote(place) if place else "FILE"
    return found


def _end_of(path: str) -> str:
    """The path, or of a long one the folders at its end."""
    if len(path) <= _LONG_PATH:
        return path
    tail = path[-_LONG_PATH:]
    return "..." + tail[max(tail.find("/"), 0) :]


def _of_ptx(isa: str) -> dict[str, str]:
    cuda = ptx_cuda(isa)
    return {} if cuda is None else {"cuda": str(cuda), "branch": _branch(cuda)}


def _of_cuda(text: str) -> dict[str, str]:
    return {"branch": _branch(Release.parse(text))}


def _of_number(text: str) -> dict[str, str]:
    """12040 is CUDA 12.4."""
    number = int(text)
    cuda = Release(number // 1000, number % 1000 // 10)
    return {"cuda": str(cuda), "major": str(cuda.major), "branch": _branch(cuda)}


def _of_toolkit(text: str) -> dict[str, str]:
    """129 is CUDA 12.9."""
    return {"cuda": f"{text[:-1]}.{text[-1]}"}


def _of_language(text: str) -> dict[str, str]:
    return {"first": _LANGUAGES.get(text.removeprefix("gnu").removeprefix("c"), "")}


def _of_driver(text: str) -> dict[str, str]:
    cuda = branch_cuda(int(text.partition(".")[0]))
    return {} if cuda is None else {"cuda": str(cuda)}


def _of_sm(text: str) -> dict[str, str]:
    match = _SUFFIXED.fullmatch(text)
    row = sm(int(match[1])) if match else None
    if match is None or row is None:
        return {}
    first = row.first_toolkit
    if match[2] == "f":
        first = max(first, _FIRST_WITH_F)
    elif text == "90a":
        first = _FIRST_90A
    last = "" if row.last_toolkit is None else str(row.last_toolkit)
    return {"name": row.name, "first": str(first), "last": last}


def _branch(cuda: Release) -> str:
    branch = cuda_branch(cuda)
    return "" if branch is None else str(branch)


_DERIVED: dict[str, Callable[[str], dict[str, str]]] = {
    "ptx": _of_ptx,
    "reads": _of_ptx,
    "linker_reads": _of_ptx,
    "cuda": _of_cuda,
    "found": _of_number,
    "newer": _of_toolkit,
    "tool": _of_toolkit,
    "driver": _of_driver,
    "std": _of_language,
    "sm": _of_sm,
}


def _no_such_architecture(values: Mapping[str, str]) -> bool:
    return "sm_first" not in values


def _dropped(values: Mapping[str, str]) -> bool:
    """Whether the GPU was dropped; not where the nvcc of the text is from before that."""
    if "sm_last" not in values:
        return False
    nvcc = values.get("nvcc")
    return nvcc is None or Release.parse(nvcc) > Release.parse(values["sm_last"])


def _newer_than_the_tool(values: Mapping[str, str]) -> bool:
    return "sm_first" in values and not _dropped(values)


def _driver_reads_zstandard(values: Mapping[str, str]) -> bool:
    driver = values.get("driver")
    return driver is not None and tuple(map(int, driver.split(".")[:2])) >= _ZSTANDARD


CONDITIONS: Mapping[str, Callable[[Mapping[str, str]], bool]] = {
    "": lambda _: True,
    "no such architecture": _no_such_architecture,
    "dropped": _dropped,
    "newer than the tool": _newer_than_the_tool,
    "driver reads Zstandard": _driver_reads_zstandard,
}
"""What a row of messages may ask of the values, by the words of its ``when``."""
