"""What nvJitLinks take out of fatbins that nvFatbin made of SASS from sm_100 on.

``python tests/oracle/family_entries.py FOLDER`` writes ``data/family_entries.json``; FOLDER is that
of ``measure.py``. Beside the cubin lies PTX that every linker compiles for every target, so that a
link fails where the SASS is picked and refused, and the kernel in the output tells what was taken.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
SAMPLES = HERE.parents[1] / "sample_artifacts"
sys.path[:0] = [str(HERE.parent), str(SAMPLES)]

from link_cases import FATBIN, NVJITLINKS, known  # noqa: E402
from pieces import Piece, compiled, number  # noqa: E402
from real_linkers import nvjitlink_rows, worked  # noqa: E402
from toolchains import NVFATBIN, PackageCache  # noqa: E402

STORED = HERE.parent / "data" / "family_entries.json"
ABOUT = "linker, entry, targets: S its SASS was linked, P the PTX for compute_80 beside it, - none"
TARGETS = ("100", "100a", "100f", "103", "103a", "120", "120a", "120f", "121")
NVFATBIN_RELEASE = "13.0"


def packed(cubin: Piece, ptx: Piece, folder: Path, cache: PackageCache) -> Path:
    """A fatbin of both, as nvFatbin makes it."""
    work = folder / cubin.file
    work.mkdir(parents=True, exist_ok=True)
    members = []
    for piece, function in ((cubin, "Cubin"), (ptx, "PTX")):
        (work / piece.file).write_bytes(piece.data)
        empty = {"identifier": "", "options": ""}
        members.append({"add": function, "file": piece.file, "arch": piece.arch, **empty})
    library = cache.file(NVFATBIN[NVFATBIN_RELEASE], "libnvfatbin.so*")
    request = {"tool": "nvfatbin", "library": str(library), "options": [], "members": members}
    (work / "request.json").write_text(json.dumps(request), "utf-8")
    shim = [sys.executable, str(SAMPLES / "shim.py"), "request.json"]
    subprocess.run(shim, cwd=work, check=True)
    return work / "out"


def taken(fatbins: list[Path], release: str, cache: PackageCache) -> Iterator[str]:
    """For each fatbin what a linker takes, target by target."""
    targets = [target for target in TARGETS if known(target, release)]
    requests = [
        {"kernels": [kernel], "options": [f"-arch=sm_{target}"], "inputs": [[FATBIN, str(path)]]}
        for path in fatbins
        for target in targets
        for kernel in ("first", "second")
    ]
    answers = map(worked, nvjitlink_rows(requests, release, cache))
    for _ in fatbins:
        found = []
        for target in targets:
            sass, ptx = next(answers), next(answers)
            found.append(f"{target}:{'S' if sass else 'P' if ptx else '-'}")
        yield " ".join(found)


def main() -> None:
    """Pack, ask, store."""
    folder = Path(sys.argv[1])
    cache = PackageCache(folder / "packages")
    pieces = compiled(folder / "pieces", cache)
    (ptx,) = (p for p in pieces if p.file == "kernel-second-80-12.0.ptx")
    cubins = [
        piece
        for piece in pieces
        if (piece.source, piece.name, piece.kind) == ("kernel", "first", "cubin")
        and int(piece.arch.rstrip("af")) in (100, 103, 120)
    ]
    cubins.sort(key=lambda piece: (piece.arch, number(piece.release)))
    fatbins = [packed(cubin, ptx, folder / "family", cache) for cubin in cubins]
    measured = {
        release: {
            f"sm_{cubin.arch} by {cubin.release}": found
            for cubin, found in zip(cubins, taken(fatbins, release, cache), strict=True)
        }
        for release in NVJITLINKS
        if number(release) >= (12, 8)
    }
    stored = {"about": ABOUT, "nvfatbin": NVFATBIN_RELEASE, "measured": measured}
    STORED.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
