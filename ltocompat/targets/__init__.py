"""The spellings of a deploy target -> ``Target``: inline keys, TOML files, names, locks, stock."""

from ltocompat.targets.reading import parse
from ltocompat.targets.writing import as_toml

__all__ = ["as_toml", "parse"]
