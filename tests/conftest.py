"""What all tests share: the samples and what their manifest says of them."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in (".", "oracle", "wild"):
    sys.path.insert(0, str(Path(__file__).parent / folder))
