"""``ltocompat link --each --add-only`` with several nvJitLinks, against their calls alone.

Run by hand: python tests/benchmarks/link_each_linker.py LIBRARY VERSION...
Processor time of whole processes, in turn. The calls are a plain loop in one process for each
linker, without limits, on images that were cut out before; what a linker refuses is added once
there, and twice by ltocompat, which confirms it. The versions have to be installed.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.resolve()))

from peers import Peer

from ltocompat.model.location import Location
from ltocompat.scan.filters import ImageFilter
from ltocompat.scan.walk import ScanSettings
from ltocompat.targets.linkers import Tool, obtain
from ltocompat.trial.link_inputs import LinkInput, gather_each

ROUNDS = 5
ARCH = "sm_90"
CALLS = """
import pickle, sys
from pathlib import Path
from ltocompat.trial.nvjitlink_calls import load
inputs = pickle.loads(Path(sys.argv[1]).read_bytes())
linker = load(sys.argv[2])
for name, kind, data in inputs:
    _, handle, _ = linker.create(("-lto", "-arch=" + sys.argv[3]))
    linker.add(handle, kind, data, name)
    linker.log(handle, "ErrorLog")
    linker.log(handle, "InfoLog")
    linker.destroy(handle)
"""


def inputs_of(library: str) -> list[tuple[str, int, bytes]]:
    """Name, kind and bytes of each LTO-IR image."""
    found = gather_each(Location(library), ScanSettings(), ImageFilter.parse(kinds=["ltoir"]))
    trials = [piece.trial for piece in found if isinstance(piece, LinkInput)]
    return [(trial.name, int(trial.kind), trial.data) for trial in trials]


def main(library: str, versions: list[str]) -> None:
    linkers = [obtain(v, install_missing=False, tool=Tool.NVJITLINK) for v in versions]
    link = [sys.executable, "-m", "ltocompat", "link", library, "--each", "--add-only"]
    options = [word for version in versions for word in ("--nvjitlink", version)]
    command = [*link, "--kind", "ltoir", "--arch", ARCH, *options]
    ours = Peer("link", command, codes=(0, 1))  # 1: some linker refuses an image
    with tempfile.NamedTemporaryFile() as file:
        inputs = inputs_of(library)
        pickle.dump(inputs, file)
        file.flush()
        calls = [
            Peer(str(linker), [sys.executable, "-c", CALLS, file.name, linker.path, ARCH])
            for linker in linkers
        ]
        for _ in range(ROUNDS):
            for peer in (ours, *calls):
                peer.run()
    print(f"{len(inputs)} images x {len(linkers)} linkers, processor time")
    for peer in (ours, *calls):
        times = " ".join(f"{second:.2f}" for second in peer.cpu)
        print(f"  {peer.name:<20} least {min(peer.cpu):6.2f} s   ({times})")
    print(f"  ratio {min(ours.cpu) / sum(min(peer.cpu) for peer in calls):.2f}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
