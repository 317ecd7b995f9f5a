"""A number that its file can't hold is damage of one place, never a limit that ends the reading.

No file of a few kilobytes has a million sections, or gigabytes of names. A limit would leave all
that follows in the file unread.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import assume, example, given
from hypothesis import strategies as st
from samples import FOLDER

import ltocompat
from ltocompat.model.image import Skipped

FILES = sorted(
    path
    for kind in ("cubin", "objects", "fatbin")
    for path in (FOLDER / kind).iterdir()
    if path.stat().st_size < 40_000
)
UNPACKED = {"image_bytes", "image_ratio"}
"""Limits of what packed bytes may become, which only a decoder knows."""


@given(
    path=st.sampled_from(FILES),
    width=st.sampled_from((2, 4, 8)),
    place=st.integers(-1024, 1024),
    value=st.integers(0, 2**64 - 1) | st.sampled_from((2**63 - 1, 2**64 - 1, 2**31 - 1)),
)
@example(path=FOLDER / "cubin/nvcc-13.0-sm_80.cubin", width=8, place=2270, value=2**63 - 1)
def test_a_number_that_its_file_cannot_hold_is_no_limit(
    path: Path, width: int, place: int, value: int
) -> None:
    data = bytearray(path.read_bytes())
    at = place % len(data)
    assume(at + width <= len(data))
    data[at : at + width] = value.to_bytes(8, "little")[:width]
    with tempfile.TemporaryDirectory() as folder:
        changed = Path(folder, "x.bin")
        changed.write_bytes(data)
        read = list(ltocompat.inspect(changed, jobs=1))
    limits = {record.limit for record in read if isinstance(record, Skipped) and record.limit}
    assert limits <= UNPACKED
