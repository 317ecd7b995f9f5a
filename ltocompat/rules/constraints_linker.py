"""Another name of ``constraints``, until all import from there."""

from ltocompat.rules.constraints import LinkerOfCubin

__all__ = ["LinkerOfCubin"]
