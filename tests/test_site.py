"""The site: made strictly out of docs/, without a dead link, its search without a server."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from site_build import DOCS, build

from ltocompat.cli import VERBS
from ltocompat.model.version import SITE_URL, rule_url
from ltocompat.rules.prose import rule_ids

DATA = DOCS.parent / "tests" / "data"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("site"))


def test_no_link_of_the_site_is_dead(site: Path) -> None:
    command = [sys.executable, str(DOCS / "check_links.py"), str(site)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (0, "")


def test_the_address_of_every_rule_is_a_page_of_the_site(site: Path) -> None:
    for rule_id in rule_ids():
        page = site / rule_url(rule_id).removeprefix(SITE_URL)
        assert f"<h1>{rule_id}: " in page.read_text("utf-8")


def test_the_reference_has_every_verb_and_every_table_of_facts(site: Path) -> None:
    verbs = (site / "reference" / "verbs.html").read_text("utf-8")
    facts = (site / "reference" / "facts.html").read_text("utf-8")
    for name in VERBS:
        assert f"Usage: ltocompat {name} " in verbs
    for file in (DOCS.parent / "ltocompat" / "facts").glob("*.toml"):
        assert f'id="facts-{file.stem}"' in facts


def test_nothing_of_the_site_is_loaded_from_another_place(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert 'src="http' not in text
        assert 'src="//' not in text
        assert 'rel="stylesheet" href="http' not in text


class Tables(HTMLParser):
    """The tables of a page, each cell with its small number cut off."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[list[str]]] = []
        self._small = False
        self._open = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag == "table":
            self.rows.append([])
        elif tag == "tr":
            self.rows[-1].append([])
        elif tag in ("td", "th"):
            self.rows[-1][-1].append("")
            self._open = True
        elif tag == "sup":
            self._small = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "sup":
            self._small = False
        elif tag in ("td", "th"):
            self._open = False

    def handle_data(self, data: str) -> None:
        if self._open and not self._small:
            self.rows[-1][-1][-1] += data


def cells(site: Path, corner: str) -> dict[tuple[str, str], str]:
    """Row and column -> letter, of the table of compatibility with this corner."""
    tables = Tables((site / "compatibility.html").read_text("utf-8"))
    (table,) = (rows for rows in tables.rows if rows[0][0] == corner)
    header, *rows = table
    return {
        (row[0], column): cell
        for row in rows
        for column, cell in zip(header[1:], row[1:], strict=True)
    }


def test_the_table_of_linkers_says_what_the_linkers_said(site: Path) -> None:
    measured = json.loads((DATA / "ltoir_links.json").read_text("utf-8"))["tables"]["ltoir/"]
    shown = cells(site, "LTO-IR of \\ nvJitLink")
    assert len(shown) == 16 * 15
    for (release, linker), letter in shown.items():
        worked = measured[release][linker] == "linked"
        assert (letter in "DM") is worked, (release, linker)
        same_major = release.partition(".")[0] == linker.partition(".")[0]
        assert (letter == "D") is (worked and same_major)


def test_the_tables_of_drivers_say_what_the_driver_said(site: Path) -> None:
    loads = json.loads((DATA / "loads.json").read_text("utf-8"))["modules"]
    column = "R580 (13.0)"
    ptx = {
        row.partition(" (")[0]: cell
        for (row, branch), cell in cells(site, "PTX (CUDA) \\ driver").items()
        if branch == column
    }
    sass = {
        row: cell
        for (row, branch), cell in cells(site, "SASS of \\ driver").items()
        if branch == column
    }
    for isa, release in (("7.8", "11.8"), ("8.4", "12.4"), ("8.8", "12.9"), ("9.0", "13.0")):
        assert loads[f"ptx/nvrtc-{release}-compute_80.ptx"]["outcome"] == "loaded"
        assert ptx[isa] == "D"
    assert loads["ptx/nvrtc-13.5-compute_80.ptx"]["outcome"] == "refused"
    assert ptx["9.5"] == "N"
    for release, letter in sass.items():
        outcome = loads[f"cubin/nvrtc-{release}-sm_90.cubin"]["outcome"]
        assert (letter == "D") is (outcome == "loaded")


MINIMUM_DRIVERS = "guides/drivers.html#the-minimum-driver-for-each-cuda-release"
SEARCHES = {
    "209": "rules/sass-06.html",
    "222": "rules/ptx-01.html",
    "12.4 driver": MINIMUM_DRIVERS,
    "blackwell": "guides/topics.html#compute-capability",
    "cuda 12 to 13": "guides/cuda-13.html",
    "cuda 13 minimum driver": MINIMUM_DRIVERS,
    "driver 535": MINIMUM_DRIVERS,
    "exit code 3": "reference/exit-codes.html",
    "forward compatibility": "guides/topics.html#forward-compatibility",
    "github action": "ci.html#github",
    "h100 compute capability": "guides/topics.html#compute-capability",
    "install": "start.html#install",
    "json schema": "reference/json.html",
    "lto-ir": "guides/ltoir.html",
    "minimum driver for cuda 12.8": MINIMUM_DRIVERS,
    "no kernel image is available": "rules/sass-06.html",
    "nvjitlink version mismatch": "guides/errors.html",
    "policy file": "policy.html",
    "pre-commit": "ci.html#pre-commit",
    "ptx 8.4": MINIMUM_DRIVERS,
    "pytorch cuda 12.4 driver": MINIMUM_DRIVERS,
    "R580": MINIMUM_DRIVERS,
    "rtx 5090": "guides/topics.html#compute-capability",
    "unsupported toolchain": "rules/ptx-01.html",
    "which driver for 12.4": MINIMUM_DRIVERS,
}


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_what_users_type_leads_to_the_right_page_first(site: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.json"
    texts.write_text(json.dumps([*SEARCHES]), "utf-8")
    script = Path(__file__).parent / "site_search.js"
    command = ["node", str(script), str(site / "_static"), str(texts)]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert dict(zip(SEARCHES, found, strict=True)) == SEARCHES
