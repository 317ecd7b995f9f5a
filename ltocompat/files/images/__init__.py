"""Readers of single images, one file for each kind; no file here knows a table of releases."""

TILEIR = b"\x7fTileIR\0"
"""The first bytes of Tile IR."""
