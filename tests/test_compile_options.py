"""Options in which the LTO-IR images of one link differ."""

from __future__ import annotations

import pytest

from ltocompat.model.link_options import disagreements, parsed
from ltocompat.model.location import Location


def image(name: str, options: str | None) -> tuple[str | None, Location]:
    return options, Location(name)


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


def test_only_options_that_differ_are_named() -> None:
    a, b = image("a", "-ftz=0 -fmad=1"), image("b", "-ftz=1 -fmad=1")
    (disagreement,) = disagreements([a, b, image("c", "-ftz=0 -fmad=1")])
    assert disagreement.option == "-ftz"
    assert disagreement.values == (("0", (Location("a"), Location("c"))), ("1", (Location("b"),)))


def test_an_option_that_is_not_given_differs_too() -> None:
    (disagreement,) = disagreements([image("a", "-ftz=0 -maxreg 64"), image("b", "-ftz=0")])
    assert disagreement.values == (("64", (Location("a"),)), (None, (Location("b"),)))


def test_images_that_keep_no_options_say_nothing() -> None:
    assert list(disagreements([image("a", "-ftz=0"), image("b", None)])) == []
