"""What the scripts beside it share: write a page, or say that it is not current."""  # noqa: INP001 - a script

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path


def write_or_check(page: Path, wanted: str, description: str | None) -> int:
    """Write a page; with --check, only show what would change: 0 if nothing, else 1."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; 1 if it is not current"
    )
    options = parser.parse_args()
    if not options.check:
        page.write_text(wanted, encoding="utf-8")
        return 0
    present = page.read_text("utf-8") if page.exists() else ""
    sys.stdout.writelines(
        difflib.unified_diff(
            present.splitlines(keepends=True), wanted.splitlines(keepends=True), "present", "wanted"
        )
    )
    if present != wanted:
        sys.stderr.write(f"{page.name} is not current; write it with: python {sys.argv[0]}\n")
    return int(present != wanted)
