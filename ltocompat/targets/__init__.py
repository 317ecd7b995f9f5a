"""The spellings of a deploy target -> ``Target``: inline keys, TOML files, names, locks, stock."""

from ltocompat.targets.reading import parse

__all__ = ["parse"]
