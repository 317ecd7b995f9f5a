"""Another name of ``constraints``, until all import from there."""

from ltocompat.rules.constraints import DriverOfWriter, DriverSureFrom

__all__ = ["DriverOfWriter", "DriverSureFrom"]
