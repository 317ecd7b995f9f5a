"""A trial pool against calling nvJitLink in a plain loop of one process, on real fragments.

Run by hand: python tests/benchmarks/trial_vs_plain_loop.py
Both link the same inputs with the same library through cuda.bindings, in turn; start-up is left out
of both. The pool's child gets its inputs through a pipe, with limits, logs and notes.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

for folder in (".", "..", "../wild"):
    sys.path.insert(0, str((Path(__file__).parent / folder).resolve()))

import samples  # noqa: E402 - beside the tests
import wheels  # noqa: E402

import ltocompat  # noqa: E402
from ltocompat.trial.link_pool import Pool  # noqa: E402
from ltocompat.trial.values import InputKind, LinkOutcome, Request, TrialInput  # noqa: E402

NVJITLINK = ("nvidia-nvjitlink==13.5.37", "nvidia/cu13/lib/libnvJitLink.so.13")
CUVS = ("libcuvs-cu13==26.10.0", "libcuvs/lib64/libcuvs.so")
OPTIONS = ("-lto", "-arch=sm_90")
ROUNDS = 15


def fragments() -> list[Request]:
    """The 1,549 fragments of libcuvs, each to be added to a link of its own."""
    only = ltocompat.ImageFilter(kinds=frozenset({ltocompat.ImageKind.LTOIR}))
    with tempfile.TemporaryDirectory() as folder:
        found = ltocompat.extract(wheels.member(*CUVS), output=folder, where=only)
        files = [Path(record.path) for record in found if isinstance(record, ltocompat.Extracted)]
        data = [file.read_bytes() for file in files]
    inputs = [TrialInput("fragment", InputKind.FATBIN, each_data) for each_data in data]
    return [Request((input_,), OPTIONS, complete=False, file=CUVS[1]) for input_ in inputs]


def links() -> list[Request]:
    """A hundred links of a kernel."""
    data = (samples.FOLDER / "ltoir" / "nvrtc-12.0-lto_80.ltoir").read_bytes()
    return [Request((TrialInput("saxpy", InputKind.LTOIR, data),), OPTIONS)] * 100


def plain_loop(requests: list[Request]) -> None:
    from cuda.bindings import nvjitlink  # type: ignore[import-untyped, unused-ignore]

    for request in requests:
        handle = nvjitlink.create(len(OPTIONS), OPTIONS)
        (trial_input,) = request.inputs
        nvjitlink.add_data(
            handle, int(trial_input.kind), trial_input.data, len(trial_input.data), trial_input.name
        )
        if request.complete:
            nvjitlink.complete(handle)
            nvjitlink.get_linked_cubin(handle, bytearray(nvjitlink.get_linked_cubin_size(handle)))
        nvjitlink.destroy(handle)


def through(pool: Pool, requests: list[Request]) -> None:
    good = (LinkOutcome.LINKED, LinkOutcome.ACCEPTED)
    if not all(answer.outcome in good for answer in pool.run(requests)):
        sys.exit("not all inputs were taken")


def compare(name: str, requests: list[Request], pools: dict[str, Pool]) -> None:
    """Print the median and the best of each way, and what a pool costs over the plain loop."""
    ways: dict[str, Callable[[], None]] = {"plain loop": lambda: plain_loop(requests)}
    for label, pool in pools.items():
        ways[label] = lambda pool=pool: through(pool, requests)  # type: ignore[misc]
    seconds: dict[str, list[float]] = {label: [] for label in ways}
    for number in range(ROUNDS + 1):
        for label, way in ways.items():
            start = time.perf_counter()
            way()
            if number:  # the first round warms the caches
                seconds[label].append(time.perf_counter() - start)
    print(f"{len(requests)} {name}")
    base = seconds["plain loop"]
    for label, row in seconds.items():
        each = statistics.median(row) / len(requests) * 1e6
        median = statistics.median(a / b for a, b in zip(row, base, strict=True))
        best = min(row) / min(base)
        print(
            f"  {label:<20} median {statistics.median(row):6.3f} s ({each:7.1f} us each)   best "
            f"{min(row):6.3f} s   ratio to plain: median of pairs {median:.2f}, best {best:.2f}"
        )


def main() -> None:
    library = str(wheels.member(*NVJITLINK).resolve())
    ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL | os.RTLD_NOW)  # what cuda.bindings follows
    with Pool(library, workers=1) as pool, Pool(library) as all_cores:
        pools = {"pool of 1": pool, "pool of all cores": all_cores}
        compare("fragments added", fragments(), pools)
        compare("kernels linked", links(), pools)


if __name__ == "__main__":
    main()
