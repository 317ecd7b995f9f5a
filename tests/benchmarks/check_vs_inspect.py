"""``ltocompat check`` against ten deploy targets, beside one ``ltocompat inspect`` of one file.

Run by hand: python tests/benchmarks/check_vs_inspect.py
Modules are folded into signatures while they are read, so that a target more costs next to nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

for folder in (".", "../wild"):
    sys.path.insert(0, str(Path(__file__).parent / folder))

import wheels  # noqa: E402 - beside the tests
from peers import Peer, compare  # noqa: E402

LIBRARY = ("nvidia-cublas==13.10.0.20", "nvidia/cu13/lib/libcublasLt.so.13")
DRIVERS = ("535", "550", "560", "570", "575", "580", "590", "595", "610", "615")
LINKERS = ("12.2", "12.4", "12.6", "12.8", "12.9", "13.0", "13.1", "13.2", "13.3", "13.4")


def main() -> None:
    path = str(wheels.member(*LIBRARY))
    ltocompat = [sys.executable, "-m", "ltocompat"]
    for gpus in ("h100", "h100+b200+rtx4090+a100"):
        targets = [
            word
            for driver, linker in zip(DRIVERS, LINKERS, strict=True)
            for word in ("--deploy-target", f"driver={driver},nvjitlink={linker},gpu={gpus}")
        ]
        # Whatever is found there is no failure of the benchmark.
        check = ["/bin/sh", "-c", '"$@"; exit 0', "sh", *ltocompat, "check", path, *targets]
        print(f"10 targets, gpu={gpus}")
        compare(Peer("inspect", [*ltocompat, "inspect", path]), Peer("check", check))


if __name__ == "__main__":
    main()
