"""``linkable`` against the link that it foretells, on bytes that neither has seen.

Run by hand: python tests/benchmarks/linkable_vs_nvjitlink.py FOLDER [SETS]
FOLDER keeps NVRTC and nvJitLink from PyPI (that of tests/oracle/measure.py will do). Each set is
ten kernels of their own, compiled for it; it is judged, then linked, in turn. Both are measured by
the time of the processor: nvJitLink's from nvJitLinkCreate to nvJitLinkComplete, in a process that
has linked before.
"""

from __future__ import annotations

import ctypes
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
SAMPLES = HERE.parents[1] / "sample_artifacts"
sys.path[:0] = [str(HERE.parent / "oracle"), str(HERE.parent), str(SAMPLES)]

from nvjitlink_child import Library  # noqa: E402
from pieces import KINDS  # noqa: E402
from toolchains import NVRTC, PackageCache  # noqa: E402

import ltocompat  # noqa: E402

RELEASE, LINKER, SUFFIX = "12.9", "nvidia-nvjitlink-cu12==12.9.86", "12_9"
FRAGMENTS = 10
INPUTS = {"ltoir": 3, "ptx": 2, "cubin": 1}  # nvJitLinkInputType
SOURCE = """extern "C" __global__ void NAME(float *values, float factor)
{
    values[threadIdx.x] *= factor;
}
"""


def compiled(kind: str, sets: int, folder: Path, cache: PackageCache) -> list[list[bytes]]:
    """Sets of kernels of which no two have one name."""
    want, options = KINDS[kind]
    library = cache.file(NVRTC[RELEASE], "libnvrtc.so*")
    source = folder / "kernel.cu"
    source.write_text(SOURCE)
    outputs = [folder / f"{kind}{number}" for number in range(sets * FRAGMENTS)]
    requests = [
        {
            "library": str(library),
            "source": str(source),
            "options": ["-arch=sm_80", *options, f"-DNAME=kernel_{kind}_{number}"],
            "want": want,
            "output": str(output),
        }
        for number, output in enumerate(outputs)
    ]
    subprocess.run(
        [sys.executable, str(HERE.parent / "oracle" / "nvrtc_child.py")],
        input="".join(json.dumps(request) + "\n" for request in requests),
        env={"LD_LIBRARY_PATH": str(library.parent), "PYTHONPATH": str(SAMPLES)},
        stdout=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    data = [output.read_bytes() for output in outputs]
    return [data[start : start + FRAGMENTS] for start in range(0, len(data), FRAGMENTS)]


def linked(library: Library, kind: str, fragments: list[bytes]) -> float:
    """Seconds that nvJitLink takes."""
    options = [b"-arch=sm_80", *([b"-lto"] if kind == "ltoir" else [])]
    handle = ctypes.c_void_p()
    start = time.process_time()
    array = (ctypes.c_char_p * len(options))(*options)
    status = library.call("Create", ctypes.byref(handle), len(options), array)
    for fragment in fragments:
        size = ctypes.c_size_t(len(fragment))
        status |= library.call("AddData", handle, INPUTS[kind], fragment, size, b"fragment")
    status |= library.call("Complete", handle)
    seconds = time.process_time() - start
    if status:
        sys.exit(f"nvJitLink refuses {kind}: {library.log(handle)}")
    library.call("Destroy", ctypes.byref(handle))
    return seconds


def judged(fragments: list[bytes]) -> float:
    start = time.process_time()
    verdict = ltocompat.linkable(fragments, linker=RELEASE, arch="sm_80")
    seconds = time.process_time() - start
    if verdict.verdict is ltocompat.Verdict.FAIL:
        sys.exit(f"{verdict.verdict}: {verdict.reasons}")
    return seconds


def main() -> None:
    cache = PackageCache(Path(sys.argv[1]) / "packages")
    sets = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    library = Library(str(cache.file(LINKER, "libnvJitLink.so*")), SUFFIX)
    for kind in INPUTS:
        with tempfile.TemporaryDirectory() as folder:
            made = compiled(kind, sets + 1, Path(folder), cache)
        pairs = [(judged(fragments), linked(library, kind, fragments)) for fragments in made][1:]
        ours, theirs = (sorted(column) for column in zip(*pairs, strict=True))
        ratios = sorted(mine / its for mine, its in pairs)
        p99 = int(0.99 * (len(ratios) - 1))
        print(
            f"{FRAGMENTS} of {kind:6} linkable {1e3 * statistics.median(ours):6.2f} ms, nvJitLink "
            f"{1e3 * statistics.median(theirs):7.2f} ms; ratio of pairs: median "
            f"{statistics.median(ratios):.3f}, p99 {ratios[p99]:.3f}; of medians "
            f"{statistics.median(ours) / statistics.median(theirs):.3f}, of p99 "
            f"{ours[p99] / theirs[p99]:.3f}"
        )


if __name__ == "__main__":
    main()
