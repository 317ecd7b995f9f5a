"""`ltocompat/error/v1`: nothing but errors."""

from __future__ import annotations

from ltocompat.model.records_v1.base import Document, Failure


class Error(Document, tag="ltocompat/error/v1"):
    """Written when there is nothing but errors."""

    error: Failure
    others: tuple[Failure, ...]
