"""A trait of linkers begins with the release that the tables name, and no earlier."""

from __future__ import annotations

import pytest

from ltocompat import facts
from ltocompat.model.arch import Release
from ltocompat.rules.linker_traits import traits_of

# What each measured floor is about (its source in floors.toml), and what its release has.
BEGINS = {
    "concat-passed-linker": "passes_concatenated",
    "concat-seen-linker": "sees_concatenated",
    "arch-check-linker": "checks_arch",
    "family-linker": "knows_family",
    "suffix-entry-linker": "minds_suffix",
    "tegra-sass-linker": "joins_tegra",
    "family-tcgen05-linker": "links_all_for_family",
}


@pytest.mark.parametrize(("floor", "trait"), BEGINS.items())
def test_a_trait_begins_with_its_release(floor: str, trait: str) -> None:
    first = Release.parse(facts.floor(floor))
    has = {minor: getattr(traits_of(minor), trait) for minor in facts.nvjitlink_minors()}
    assert has == {minor: minor >= first for minor in has}
    assert len(set(has.values())) == 2


def test_one_release_has_a_gap_and_two_forget_architectures() -> None:
    gap = Release.parse(facts.floor("family-sass-gap-linker"))
    minors = facts.nvjitlink_minors()
    assert [minor for minor in minors if not traits_of(minor).links_upward] == [gap]
    forgetting = [str(m) for m in minors if m.major == 13 and 101 not in traits_of(m).archs]
    assert forgetting == ["13.0", "13.1"]  # measured, see "forgotten-entries-linker"
