"""The site: made strictly out of docs/, without a dead link, its search without a server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from site_build import DOCS, build

from ltocompat.model.version import SITE_URL, rule_url
from ltocompat.rules.prose import rule_ids

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


def test_nothing_of_the_site_is_loaded_from_another_place(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert 'src="http' not in text
        assert 'src="//' not in text
        assert 'rel="stylesheet" href="http' not in text
