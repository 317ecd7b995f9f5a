"""Write where the project is found into every file that says it: once, before the first release.

    python .github/set_address.py acme https://acme.github.io/ltocompat/
    python .github/set_address.py --check

``OWNER`` (the account at GitHub) and ``SITE_URL`` (where the pages are served) stand in
``ltocompat/model/version.py``; other files have the same words, and lose what says that they stand
in for something. ``--check`` names the files that still do, with exit code 1: a release begins so.
"""
# ruff: noqa: INP001, S603, S607, T201 - a program, which asks git

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

OWNER = "PROJECT_OWNER"  # nobody can be called so at GitHub, whose names have no underscore
SITE = "https://ltocompat.example/"
_NOTES = re.compile(
    rf"^# {OWNER} stands for .*\n| `{OWNER}` stands for [^.]*\.|^These pages have no .*\n.*\n\n",
    re.MULTILINE,
)
_PICTURE = re.compile(r"(?<=\]\()(?=[\w/]+\.(?:png|svg)\))")


def texts() -> Iterator[tuple[Path, str]]:
    """The files of a checkout that tell an address, with their text."""
    kept = ("ltocompat", "templates", ".conda", "docs", "README.md", "pyproject.toml")
    for name in subprocess.check_output(["git", "ls-files", "-z", *kept], text=True).split("\0"):
        if name.endswith((".md", ".toml", ".py", ".txt", ".yaml", ".yml")):
            yield Path(name), Path(name).read_text("utf-8")


def check() -> int:
    """Name the files with a stand-in."""
    found = [path for path, text in texts() if OWNER in text or SITE in text]
    for path in found:
        print(f"{path}: no address yet; run python .github/set_address.py OWNER SITE_URL")
    return 1 if found else 0


def fill_in(owner: str, site: str) -> None:
    """Write the addresses."""
    files = f"https://raw.githubusercontent.com/{owner}/ltocompat/main/"
    for path, text in texts():
        new = _NOTES.sub("", text).replace(OWNER, owner).replace(SITE, site.rstrip("/") + "/")
        new = new.replace('PROJECT_URL = ""', f'PROJECT_URL = "{files}"')
        if path.name == "README.md" and len(path.parts) == 1:
            new = _PICTURE.sub(files, new)  # a package index has the page alone
        if new != text:
            path.write_text(new, "utf-8")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--check"]:
            sys.exit(check())
        case [owner, site] if re.fullmatch("[A-Za-z0-9-]+", owner) and site.startswith("https://"):
            fill_in(owner, site)
        case _:
            sys.exit(__doc__)
