"""Options in which the LTO-IR images of one link differ."""

from __future__ import annotations

import pytest

from ltocompat.model.link_options import parsed


@pytest.mark.parametrize(
    ("options", "read"),
    [
        ("-ftz=0 -prec_div=1", {"-ftz": "0", "-prec_div": "1"}),
        ("-maxreg 64 -g", {"-maxreg": "64", "-g": ""}),
        ("", {}),
        (None, {}),
        ("stray -a", {"-a": ""}),
    ],
)
def test_options_are_names_and_values(options: str | None, read: dict[str, str]) -> None:
    assert parsed(options) == read
