"""A sentence ends, whatever value it quotes."""

from __future__ import annotations

import pytest

from ltocompat.model.errors import LtocompatError
from ltocompat.targets import parse

ENDLESS = "9" * 30_000


@pytest.mark.parametrize("key", ["", "driver=", "stock=", "lock=", "name=", "container="])
def test_a_sentence_about_an_endless_value_keeps_its_beginning_and_its_end(key: str) -> None:
    with pytest.raises(LtocompatError) as told:
        parse([key + ENDLESS])
    sentence = str(told.value)
    assert len(sentence) < 5000
    assert " .. " in sentence or "' ... is too long" in sentence
    assert not sentence.endswith("9")
