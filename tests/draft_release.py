"""Drafts the facts of a CUDA release: ``python tests/draft_release.py 13.6 [--cache FOLDER]``.

Everything that the release's own wheels tell is measured and written into the tables; what they
can't tell is left as named blanks, which keep ``test_facts_release.py`` red until they are filled.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from facts_release.draft import FACTS, ROOT, SAMPLES, DraftError, draft
from facts_release.published import Index
from facts_release.table_text import Tables


def main() -> None:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("release", help="a minor release of CUDA, such as 13.6")
    parser.add_argument("--cache", type=Path, default=base / "ltocompat-releases")
    options = parser.parse_args()
    tables = Tables(FACTS, SAMPLES)
    try:
        draft(options.release, Index(options.cache.resolve()), tables)
    except DraftError as error:
        sys.exit(str(error))
    tables.save()
    # New processes: they read the tables as they are now.
    for folder in ("ltoir/nvrtc-", "fatbin-ltoir/nvfatbin-*-of-"):
        only = f"{folder}{options.release}-lto_80.*"
        _run(SAMPLES / "build.py", "--only", only, "--cache", options.cache / "samples")
    _run(ROOT / "tests" / "measure_links.py", options.release)
    print(f"CUDA {options.release} is drafted; test_facts_release.py names what is to be filled in")


def _run(script: Path, *words: str | Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # the tables of this checkout
    subprocess.run([sys.executable, script, *words], check=True, env=environment)


if __name__ == "__main__":
    main()
