"""What was measured again keeps its date where it says the same."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any


def store(path: Path, measured: dict[str, Any], indent: int = 1) -> None:
    """Write what was measured as JSON, with the day's date where it differs from what is there."""
    there = json.loads(path.read_text("utf-8")) if path.exists() else {}
    date = there.pop("date", None)
    if date is None or there != json.loads(json.dumps(measured)):
        date = str(today())
    document = {"date": date, **measured}
    path.write_text(json.dumps(document, indent=indent) + "\n", "utf-8")


def today() -> dt.date:
    return dt.datetime.now(tz=dt.UTC).date()
