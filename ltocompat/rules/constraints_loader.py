"""Another name of ``constraints``, until all import from there."""

from ltocompat.rules.constraints import LinkerExporting, LinkerNamed, NvrtcOfMinor

__all__ = ["LinkerExporting", "LinkerNamed", "NvrtcOfMinor"]
