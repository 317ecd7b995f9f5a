"""Drafts the facts of a CUDA release: ``python tests/draft_release.py 13.6 [--cache FOLDER]``.

Everything that the release's own wheels tell is measured and written into the tables; what they
can't tell is left as named blanks, which keep ``test_facts_release.py`` red until they are filled.
Of a release that stands there already, an update's rows are added (12.9 for 12.9.2). Then what was
recorded of linkers is measured again; a record that says the same keeps its date.
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

RENEWED = ("tests/readme.py", "docs/generate_rules.py")
"""What writes the pages anew that say where the tables end."""


def main() -> None:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("release", help="a minor release of CUDA, such as 13.6")
    parser.add_argument("--cache", type=Path, default=base / "ltocompat-releases")
    parser.add_argument("--tables-only", action="store_true", help="leave recorded answers alone")
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
    if not options.tables_only:
        for script, *words in recordings(options.release, options.cache):
            _run(ROOT / "tests" / script, *words)
    for script in RENEWED:
        _run(ROOT / script)
    print(f"CUDA {options.release} is drafted; test_facts_release.py names what is to be filled in")
    print("what needs a GPU was not measured again: measure_loads.py (tests/data/loads.json)")


def recordings(release: str, cache: Path) -> list[tuple[str | Path, ...]]:
    """The scripts that measure what is recorded, with their words; dear ones keep their compilers.

    Those of links among releases that they name measure them all; of the others what is new.
    """
    return [
        ("measure_headers.py",),
        ("measure_picks.py", cache / "picks", release),
        ("measure_together.py", cache / "together"),
        ("measure_device_links.py", cache / "device-links"),
        ("measure_libraries.py",),
    ]


def _run(script: Path, *words: str | Path) -> None:
    paths = os.pathsep.join(map(str, (ROOT, SAMPLES, ROOT / "tests")))
    environment = {**os.environ, "PYTHONPATH": paths}  # the tables of this checkout
    subprocess.run([sys.executable, script, *words], check=True, env=environment)


if __name__ == "__main__":
    main()
