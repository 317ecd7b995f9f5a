"""The table of clients against the wheels that they released, of which single members are read."""

from __future__ import annotations

import re
import zlib
from fnmatch import fnmatchcase

import pytest
from remote_wheel import remote_wheel

from ltocompat.facts import table

ROWS = table("clients")["client"]
RELEASES = [
    (row, version) for row in ROWS for version in dict.fromkeys((row["first"], row["last"]))
]
IDS = [f"{row['package']}-{version}" for row, version in RELEASES]


def texts(package: str, version: str, member: str) -> str:
    """The members of a pattern as text; of compiled modules what Cython compressed, too."""
    with remote_wheel(package, version) as wheel:
        names = [name for name in wheel.namelist() if fnmatchcase(name, member)]
        assert names, f"{package} {version} has no {member}"
        found = [wheel.read(name) for name in names]
    for data in (data for data in tuple(found) if len(data) < 1 << 24):  # Cython's are small
        for start in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", data):
            try:
                found.append(zlib.decompressobj().decompress(data[start.start() :], 1 << 20))
            except zlib.error:
                continue
    return b"\n".join(found).decode("latin-1")


@pytest.mark.wild
@pytest.mark.parametrize(("row", "version"), RELEASES, ids=IDS)
def test_a_row_is_what_the_wheel_says(row: dict[str, str], version: str) -> None:
    text = texts(row["package"], version, row["member"])
    assert row["text"] in text
    if row["package"] == "cuda-core":  # the names of the change that was taken back
        assert "driver_major" not in text
        assert "major version" not in text
