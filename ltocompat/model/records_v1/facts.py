"""`ltocompat/facts/v1`."""

from __future__ import annotations

from typing import Any

from ltocompat.model.records_v1.base import Document


class Facts(Document, tag="ltocompat/facts/v1"):
    """The compatibility tables; each row has its source and date.

    Attributes:
        tables: For each table, its lists of rows. If a row lacks a column, the value is unknown.
    """

    tables: dict[str, dict[str, tuple[dict[str, Any], ...]]]
