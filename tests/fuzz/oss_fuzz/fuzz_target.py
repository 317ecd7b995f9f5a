"""A target for atheris, as OSS-Fuzz runs it: each reader and each law of ``fuzz.py``.

``--list``: their names. ``--seeds NAME FOLDER``: sound inputs, a file each. ``NAME [libFuzzer's
options]``: fuzz it; ``TARGET``, which ``build.sh`` sets, is its name in a program of its own.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
for folder in (HERE.parents[2], HERE.parents[1], HERE.parents[1] / "oracle"):
    sys.path.insert(0, str(folder))

TARGET = ""


def main() -> None:
    """Read the command line, and fuzz."""
    from fuzz.fuzz import TARGETS
    from fuzz.watch import Broken

    from ltocompat.model.errors import LtocompatError

    names = {name.replace(" ", "-"): name for name in TARGETS}
    if sys.argv[1:2] == ["--list"]:
        print("\n".join(names))
        return
    if sys.argv[1:2] == ["--seeds"]:
        folder = Path(sys.argv[3])
        folder.mkdir(parents=True, exist_ok=True)
        for data in TARGETS[names[sys.argv[2]]].seeds():
            (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
        return
    import atheris  # type: ignore[import-untyped, import-not-found, unused-ignore]

    read = TARGETS[names[TARGET or sys.argv.pop(1)]].read

    def one(data: bytes) -> None:
        try:
            read(data)
        except Broken:
            raise
        except LtocompatError:
            return

    atheris.instrument_all()
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
