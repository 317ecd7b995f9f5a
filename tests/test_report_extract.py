from __future__ import annotations

import pytest
from report_values import HOSTILE, valid_json, written
from syrupy.assertion import SnapshotAssertion

from ltocompat.commands.extract import Extracted
from ltocompat.model.image import Skipped
from ltocompat.model.location import Location
from ltocompat.report import FORMATS, Options
from ltocompat.report.verbs.extract import REPORT

RECORDS = [
    Extracted(Location("a.so").at(0x40, 0), "out/a.so@0x40.0.sm_80.cubin", "cubin", None),
    Extracted(Location("a.so").at(0x40, 1), "out/a.so@0x40.1.fatbin", "fatbin", "scrambled"),
    Skipped(Location("a.so").at(0x80), "its length is not recorded", 12),
    Extracted(Location(HOSTILE).at(0x40, 1), HOSTILE, "ptx", HOSTILE),
]


@pytest.mark.parametrize("form", FORMATS)
def test_every_file_is_named_as_it_is_written(form: str, snapshot: SnapshotAssertion) -> None:
    text = written(form, REPORT, RECORDS, Options(width=80))
    assert "\x1b" not in text
    if form == "json":
        assert valid_json(text)["summary"] == {"written": 3, "skipped": 1, "errors": []}
    assert text == snapshot
