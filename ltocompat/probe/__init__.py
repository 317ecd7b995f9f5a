"""This machine, or a recorded one, as an ``Environment``: drivers, GPUs, linkers, who loads which.

Facts only; what they mean for device code is for the rules to say.
"""

from __future__ import annotations

from ltocompat.probe.environment import Environment
from ltocompat.probe.loaded import Loaded, Resolved, Rule
from ltocompat.probe.loader import Loader, load_order, resolve
from ltocompat.probe.probing import probe
from ltocompat.probe.saving import target_of

__all__ = [
    "Environment",
    "Loaded",
    "Loader",
    "Resolved",
    "Rule",
    "load_order",
    "probe",
    "resolve",
    "target_of",
]
