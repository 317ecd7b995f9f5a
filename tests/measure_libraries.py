"""Writes the table ``facts/cuda_libraries.toml`` anew, from the wheels on the package index.

``python tests/measure_libraries.py`` asks for each package of ``PACKAGES`` which wheels there are,
and reads the directory and the METADATA of the oldest and the newest of each major version, by
range requests: 10 MB in all, a few minutes.
"""

from __future__ import annotations

import json
import logging
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from facts_release.dated import today
from facts_release.library_wheels import Wheel, ends_of_majors, every_wheel
from packaging.version import Version

TABLE = Path(__file__).parent.parent / "ltocompat" / "facts" / "cuda_libraries.toml"
_SUFFIXED = [
    "nvidia-cublasmp",
    "nvidia-cudnn",
    "nvidia-cudnn-jit",
    "nvidia-cudss",
    "nvidia-cufftmp",
    "nvidia-cusolvermp",
    "nvidia-cusparselt",
    "nvidia-libmathdx",
    "nvidia-libnvcomp",
    "nvidia-nccl",
    "nvidia-nvcomp",
    "nvidia-nvimgcodec",
    "nvidia-nvjpeg2k",
    "nvidia-nvshmem",
    "nvidia-nvtiff",
    "cudensitymat",
    "cupauliprop",
    "cuquantum",
    "cuquantum-python",
    "custabilizer",
    "custatevec",
    "cutensor",
    "cutensornet",
]
_OF_TOOLKIT = [
    "nvidia-cublas",
    "nvidia-cuda-cccl",
    "nvidia-cuda-cupti",
    "nvidia-cuda-cuxxfilt",
    "nvidia-cuda-nvcc",
    "nvidia-cuda-nvrtc",
    "nvidia-cuda-opencl",
    "nvidia-cuda-profiler-api",
    "nvidia-cuda-runtime",
    "nvidia-cuda-sanitizer-api",
    "nvidia-cufft",
    "nvidia-cufile",
    "nvidia-curand",
    "nvidia-cusolver",
    "nvidia-cusparse",
    "nvidia-npp",
    "nvidia-nvfatbin",
    "nvidia-nvjitlink",
    "nvidia-nvjpeg",
    "nvidia-nvml-dev",
    "nvidia-nvtx",
]
_SINCE_13 = [
    "nvidia-cuda-crt",
    "nvidia-cuda-culibos",
    "nvidia-cuda-cuobjdump",
    "nvidia-cuda-nvdisasm",
    "nvidia-cuda-tileiras",
    "nvidia-cudla",
    "nvidia-nvptxcompiler",
    "nvidia-nvvm",
]
_ONLY_FOR_12 = ("nvidia-cufile", "nvidia-cuda-opencl", "nvidia-nvfatbin", "nvidia-nvjitlink")
_NEVER_FOR_11 = (
    "cublasmp",
    "cudnn-jit",
    "cudss",
    "cufftmp",
    "cusolvermp",
    "cusparselt",
    "libmathdx",
    "libnvcomp",
    "cupauliprop",
    "custabilizer",
)
"""What has no package with -cu11 on the index."""

_HEAD = """\
# Libraries of CUDA on the package index: which file each package brings, where pip puts it, and
# what else it installs. A row for each major version of a package; ``first`` and ``last`` are the
# oldest and newest version of it that were read, and what either has stands in the row. Packages
# without files bring headers, tools or static libraries, nothing that a library needs while it
# runs. Written by tests/measure_libraries.py.
"""


def packages() -> Iterator[str]:
    """The names of all packages that are read."""
    for name in _SUFFIXED:
        yield from (f"{name}-cu{major}" for major in (11, 12, 13) if _is_there(name, major))
    for name in _OF_TOOLKIT:
        yield name
        yield from (f"{name}-cu{major}" for major in (11, 12) if _is_there(name, major))
    yield from _SINCE_13
    yield "nvidia-libcal-cu12"


def _is_there(name: str, major: int) -> bool:
    return major > 11 or (
        name not in _ONLY_FOR_12 and name.removeprefix("nvidia-") not in _NEVER_FOR_11
    )


def rows_of(package: str) -> list[dict[str, Any]]:
    """The rows of one package; platforms that have the same share one."""
    found: dict[str, dict[str, Any]] = {}
    for platform, first, last in ends_of_majors(package):
        row = _row(package, first, last)
        found.setdefault(json.dumps(row), {**row, "platforms": []})["platforms"].append(platform)
    return sorted(found.values(), key=lambda row: (Version(row["first"]), row["platforms"]))


def _row(package: str, first: Wheel, last: Wheel) -> dict[str, Any]:
    names = dict.fromkeys((first.version, last.version))
    return {
        "package": package,
        "first": first.version,
        "last": last.version,
        "files": sorted(first.files | last.files),
        "requires": sorted(first.requires | last.requires),
        "source": f"names and METADATA in the wheels {package} {' and '.join(names)}",
    }


def extras() -> Iterator[dict[str, Any]]:
    """What each extra of cuda-toolkit leads to, in any version of a major."""
    found: dict[tuple[int, str], set[str]] = defaultdict(set)
    versions: dict[int, list[str]] = defaultdict(list)
    for wheel in every_wheel("cuda-toolkit"):
        major = Version(wheel.version).major
        versions[major].append(wheel.version)
        for extra, names in wheel.extras.items():
            found[major, extra] |= names
    for (major, extra), asked in sorted(found.items()):
        first, last = versions[major][0], versions[major][-1]
        yield {
            "toolkit": major,
            "extra": extra,
            "packages": sorted(asked),
            "source": f"METADATA of the wheels cuda-toolkit {first} to {last}",
        }


def _lines(array: str, rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """The rows of an array; one that says what it said keeps its date."""
    there = tomllib.loads(TABLE.read_text("utf-8"))[array]
    yield f"\n{array} = ["
    for row in rows:
        pairs = [f"{key} = {json.dumps(value)}" for key, value in row.items()]
        dates = [other["date"] for other in there if other == {**row, "date": other["date"]}]
        yield f"  {{ {', '.join(pairs)}, date = {dates[0] if dates else today()} }},"
    yield "]"


def main() -> None:
    logging.disable(logging.CRITICAL)  # pip says for each package which index it looks into
    with ThreadPoolExecutor(6) as pool:
        rows = [row for found in pool.map(rows_of, sorted(packages())) for row in found]
    text = [_HEAD.rstrip("\n"), *_lines("package", rows), *_lines("toolkit_extra", extras())]
    TABLE.write_text("\n".join(text) + "\n", "utf-8")


if __name__ == "__main__":
    main()
