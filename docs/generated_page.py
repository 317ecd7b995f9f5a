"""What the scripts beside it share: write pages, or say that they are not current."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Mapping
from pathlib import Path


def write_or_check(pages: Mapping[Path, str], description: str | None, folder: str = "") -> int:
    """Write pages; with --check, only show what would change: 0 if nothing, else 1.

    Args:
        pages: the text of each.
        description: what ``--help`` says.
        folder: holds nothing but these pages, so that others in it go.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if one is old")
    options = parser.parse_args()
    present = {page: page.read_text("utf-8") if page.exists() else "" for page in pages}
    left_over = [page for page in Path(folder).glob("*.md") if page not in pages] if folder else []
    if options.check:
        for page, wanted in pages.items():
            _show(page.name, present[page], wanted)
        for page in left_over:
            sys.stderr.write(f"{page.name} is left over; remove it with: python {sys.argv[0]}\n")
        return int(bool(left_over) or present != dict(pages))
    for page, wanted in pages.items():
        page.parent.mkdir(exist_ok=True)
        page.write_text(wanted, encoding="utf-8")
    for page in left_over:
        page.unlink()
    return 0


def _show(name: str, present: str, wanted: str) -> None:
    if present == wanted:
        return
    old, new = present.splitlines(keepends=True), wanted.splitlines(keepends=True)
    sys.stdout.writelines(difflib.unified_diff(old, new, "present", "wanted"))
    sys.stderr.write(f"{name} is not current; write it with: python {sys.argv[0]}\n")
