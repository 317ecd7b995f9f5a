"""The header of Tile IR bytecode: ``7F "TileIR" 00``, then major and minor of the bytecode."""

from __future__ import annotations

from ltocompat.files.images import TILEIR
from ltocompat.model.errors import Malformed

HEAD_SIZE = 10


def parse(head: bytes) -> str:
    """The bytecode version, e.g. ``13.5``; producers may write an older one than their release.

    Raises:
        Malformed: these are not bytes of Tile IR.
    """
    if len(head) < HEAD_SIZE or not head.startswith(TILEIR):
        raise Malformed("a Tile IR image does not begin with 7F 'TileIR' 00")
    return f"{head[8]}.{head[9]}"
