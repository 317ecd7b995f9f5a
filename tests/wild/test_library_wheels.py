"""The table of NVIDIA's packages of libraries against the wheels that the index has today."""

from __future__ import annotations

import pytest
from facts_release.library_wheels import every_wheel
from measure_libraries import extras, packages, rows_of

from ltocompat.facts.libraries import library_packages, toolkit_packages

pytestmark = [
    pytest.mark.wild,
    # pip leaves the pages of an index open that is a folder.
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize("package", sorted(packages()))
def test_todays_wheels_bring_what_the_table_has(package: str) -> None:
    """A newer version may stand for the last one; files and dependencies may only be more."""
    known = {
        (row.major, platform): row
        for row in library_packages()[package]
        for platform in row.platforms
    }
    for found in rows_of(package):
        for platform in found["platforms"]:
            row = known[int(found["first"].partition(".")[0]), platform]
            assert set(row.files) <= set(found["files"])
            assert found["first"] == row.first


def test_todays_cuda_toolkit_has_the_extras_of_the_table() -> None:
    for row in extras():
        assert set(toolkit_packages(row["toolkit"], row["extra"])) <= set(row["packages"])


def test_metadata_are_read_without_downloading_the_wheel() -> None:
    """pip download --no-deps cuda-toolkit==13.0.2, METADATA."""
    (wheel,) = (wheel for wheel in every_wheel("cuda-toolkit") if wheel.version == "13.0.2")
    assert wheel.extras["cudart"] == {"nvidia-cuda-runtime"}
    assert wheel.files == frozenset()
