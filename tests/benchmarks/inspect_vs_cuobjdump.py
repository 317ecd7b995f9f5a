"""``ltocompat inspect`` against ``cuobjdump -lelf`` on real libraries (downloads them when needed).

Run by hand: python tests/benchmarks/inspect_vs_cuobjdump.py
It checks first that both see the same cubins; ours lists PTX, naked images and makers besides.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

for folder in (".", "../oracle", "../wild"):
    sys.path.insert(0, str(Path(__file__).parent / folder))

import cuobjdump  # noqa: E402 - beside the tests
import wheels  # noqa: E402
from peers import Peer, compare  # noqa: E402

import ltocompat  # noqa: E402

LIBRARIES = (
    ("nvidia-cublas==13.10.0.20", "nvidia/cu13/lib/libcublasLt.so.13"),
    ("libcuvs-cu13==26.10.0", "libcuvs/lib64/libcuvs.so"),
)


def same_cubins(path: Path) -> bool:
    text = cuobjdump.run("-lelf", path).stdout
    theirs = Counter(re.findall(r"\.sm_(\d+a?)f?\.cubin", text))
    ours = Counter(
        f"{image.arch.number}{image.arch.suffix.replace('f', '')}"
        for record in ltocompat.inspect(path)
        if isinstance(record, ltocompat.Module) and record.section == ".nv_fatbin"
        for image in record.images
        if image.kind == "sass" and image.arch
    )
    return ours == theirs


def main() -> None:
    for requirement, name in LIBRARIES:
        path = wheels.member(requirement, name)
        if not same_cubins(path):
            sys.exit(f"{path.name}: the two see different cubins")
        print(f"{path.name} ({path.stat().st_size >> 20} MiB), the same cubins in both")
        ours = Peer("ltocompat inspect", [sys.executable, "-m", "ltocompat", "inspect", str(path)])
        peer = Peer("cuobjdump -lelf", [str(cuobjdump.executable()), "-lelf", str(path)])
        compare(ours, peer)


if __name__ == "__main__":
    main()
