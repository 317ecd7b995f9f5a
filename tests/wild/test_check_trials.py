"""Verdicts after trial links with every nvJitLink, which settle what bytes leave open."""

from __future__ import annotations

import pytest
from test_check_links import FATBIN, LINKED, MINORS, RAW, sample, targets

from ltocompat.api.checking import check
from ltocompat.arch import Release
from ltocompat.verdict import Verdict

pytestmark = pytest.mark.wild


@pytest.mark.parametrize("folder", ["ltoir/", "fatbin-ltoir/"])
def test_with_a_trial_nothing_is_unknown_and_every_verdict_is_what_was_measured(
    folder: str,
) -> None:
    table = RAW if folder == "ltoir/" else FATBIN
    for release, row in table.items():
        found = check(
            sample(folder, release),
            targets=targets(),
            route="link",
            trial_link=True,
            install_missing=True,
        )
        for linker, result in zip(MINORS, found, strict=True):
            crossing = linker.major != Release.parse(release).major
            works = Verdict.UNDOCUMENTED if crossing else Verdict.OK
            expected = works if row[str(linker)] in LINKED else Verdict.FAIL
            said = [(one.rule, one.message) for one in result.findings]
            assert result.verdict is expected, (release, linker, said)
            assert "TRIAL-DISAGREES" not in [one.rule for one in result.findings], said
