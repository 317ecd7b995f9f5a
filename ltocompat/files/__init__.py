"""Stored images and object files, read from bytes; nothing here knows a table of NVIDIA's."""
