"""Readers of single images, one file for each kind; no file here knows a table of releases."""

# The first bytes of Tile IR.
TILEIR = b"\x7fTileIR\0"
