"""`ltocompat/facts/v1`."""

from __future__ import annotations

from typing import Any

from ltocompat.model.records_v1.base import Document


class Facts(Document, tag="ltocompat/facts/v1"):
    """The tables of facts, each row with its source and date.

    Attributes:
        tables: The rows, by table and list; if a row has no value in a column, the value is
            unknown.
    """

    tables: dict[str, dict[str, tuple[dict[str, Any], ...]]]
