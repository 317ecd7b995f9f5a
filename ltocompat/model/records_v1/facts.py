"""`ltocompat/facts/v1`."""

from __future__ import annotations

from typing import Any

from ltocompat.model.records_v1.base import Document


class Facts(Document, tag="ltocompat/facts/v1"):
    """NVIDIA's tables as this program has them, each row with its source and date.

    Attributes:
        tables: Lists of rows by table, and by list; a column that a row lacks is not known of it.
    """

    tables: dict[str, dict[str, tuple[dict[str, Any], ...]]]
