"""Hold every link of the built site to what is there: python docs/check_links.py FOLDER.

A link inside the site has to lead to a file, and to an ID in it. Links to other places are listed,
and asked of nobody.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The IDs and the links of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what an element is called, and where it leads."""
        canonical = tag == "link" and ("rel", "canonical") in attrs  # the page's own address
        for name, value in () if canonical else attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)


def check(site: Path) -> tuple[list[str], dict[str, str]]:
    """The dead links of a site, and its links to other places with a page that has each."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    dead, outside = [], {}
    for path, page in pages.items():
        here = str(path.relative_to(site))
        for link in sorted(page.links):
            if urlsplit(link).scheme:
                outside.setdefault(link, here)
            elif not _lives(path, link, pages):
                dead.append(f"{here}: {link}")
    return dead, outside


def _lives(path: Path, link: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return False
    return not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].ids


def main() -> int:
    """Print dead links and foreign ones; 1 if one is dead."""
    dead, outside = check(Path(sys.argv[1]).resolve())
    for link, page in outside.items():
        print(f"outside: {link} ({page})")  # noqa: T201 - a script
    print(f"{len(outside)} links to other places, {len(dead)} dead links inside")  # noqa: T201
    for line in dead:
        print(f"dead: {line}", file=sys.stderr)  # noqa: T201
    return int(bool(dead))


if __name__ == "__main__":
    sys.exit(main())
