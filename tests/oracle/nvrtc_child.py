"""One NVRTC, in a process of its own: ``python nvrtc_child.py`` reads JSON requests, one a line.

A request is one of ``sample_artifacts/shim.py`` with the file for the result (``output``); the
answer is a line: empty for success, else what the compiler said.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from shim import VendorError, nvrtc


def main() -> None:
    """Serve until standard input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        try:
            Path(request["output"]).write_bytes(nvrtc(request))
            print(json.dumps(""), flush=True)
        except VendorError as error:
            print(json.dumps(str(error)), flush=True)


if __name__ == "__main__":
    main()
