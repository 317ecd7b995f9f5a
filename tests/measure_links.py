"""Links LTO-IR of every compiler release with every nvJitLink; writes ``data/ltoir_links.json``.

``python tests/measure_links.py`` measures everything anew, ``python tests/measure_links.py 13.6``
only what has to do with that release: its LTO-IR, and its nvJitLink.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import samples
from facts_release.dated import store

from ltocompat import facts
from ltocompat.commands.link import Linked, link
from ltocompat.model.arch import Release

MINORS = tuple(map(str, facts.nvjitlink_minors()))
STORED = Path(__file__).parent / "data" / "ltoir_links.json"
FOLDERS = ("ltoir/", "fatbin-ltoir/")
Table = dict[str, dict[str, str]]


def links(*places: Path | str, **options: object) -> list[Linked]:
    """Trial links of these files, by nvJitLinks that are fetched where they are missing."""
    ask: Callable[..., object] = link
    found = list(ask(*places, install_linkers=True, **options))  # type: ignore[call-overload]
    return [value for value in found if isinstance(value, Linked)]


def producers(folder: str) -> dict[str, samples.Sample]:
    """One sample of each compiler release, for sm_80: raw, or scrambled in a fatbin."""
    found: dict[str, samples.Sample] = {}
    for sample in samples.GOOD:
        made_by = {release for row in sample.images for release in row["made_by"]}
        plain = "linked" not in sample.name and "nvjitlink" not in sample.name
        record = len(sample.images) == 1 and sample.images[0]["arch"] == "lto_80"
        if (
            sample.name.startswith(folder)
            and plain
            and record
            and sample.images[0].get("scrambled", False) == (folder == "fatbin-ltoir/")
        ):
            (release,) = made_by
            found.setdefault(release, sample)
    return found


def measure(folder: str, releases: Iterable[str] | None = None) -> Table:
    """Outcomes of whole links by producer and nvJitLink: those of ``releases``, or all."""
    wanted = set(MINORS if releases is None else releases)
    table: Table = {}
    for producer, sample in producers(folder).items():
        minors = MINORS if releases is None or producer in wanted else sorted(wanted & {*MINORS})
        found = links(sample.path, arch="sm_80", linkers=[f"nvjitlink={minor}" for minor in minors])
        table[producer] = {
            str(linked.linker.release): str(linked.answer.outcome)
            for linked in found
            if linked.way == "lto"
        }
    return table


def merged(stored: Table, measured: Table) -> Table:
    """Both tables in one, by release, oldest first; what was measured now counts."""
    producers_of_both = sorted({*stored, *measured}, key=Release.parse)
    return {
        producer: dict(
            sorted(
                {**stored.get(producer, {}), **measured.get(producer, {})}.items(),
                key=lambda outcome: Release.parse(outcome[0]),
            )
        )
        for producer in producers_of_both
    }


def main() -> None:
    """Measure, and store the tables with its date."""
    releases = sys.argv[1:]
    stored = json.loads(STORED.read_text("utf-8"))["tables"] if releases else {}
    tables = {
        folder: merged(stored.get(folder, {}), measure(folder, releases or None))
        for folder in FOLDERS
    }
    store(STORED, {"tables": tables})


if __name__ == "__main__":
    main()
