"""IDs of the rules that the tool itself speaks, outside of the catalogue's functions.

A rule of the catalogue finds requirements or problems, and carries its ID there. These are about
what is left when all rules have spoken, or about what a project asks of itself. Their prose stands
in the catalogue as that of the others, with the title of each; no other module names a rule by its
ID.
"""

from __future__ import annotations

NOTHING_SERVES = "SASS-06"
ABSENT_FROM_DEVICE_LINK = "BLD-03"
DEFINED_TWICE = "BLD-09"
OPTIONS_DIFFER = "LTO-12"
BYTES_UNREAD = "IMG-02"
OLD_LINKER_ADMITTED = "NJL-06"
NO_KERNELS = "IMG-03"
SPARSE_COVERAGE = "IMG-04"
TARGET_LEAVES_OPEN = "TGT-01"
CONTAINER_REFUSED = "ENV-01"
OWN_DRIVER = "PKG-23"
ROUTE_IMPOSSIBLE = "TGT-02"
NOT_IN_TABLES = "TGT-03"
OTHER_PLATFORM = "TGT-04"
VARIANT_DECIDES = "VAR-01"
TRIAL_REFUSED = "TRIAL"
TRIAL_DISAGREES = "TRIAL-DISAGREES"
ARCH_MISSING = "POL-01"
DRIVER_ROSE = "POL-02"
GPU_NOT_SERVED = "POL-03"
TOO_LARGE = "POL-04"
PROMISED_ARCH_MISSING = "PKG-09"
PROMISED_VERSION_REFUSED = "PKG-10"
PROMISES_NOT_JUDGED = "PKG-11"

_ASKED_BY_POLICY = (ARCH_MISSING, DRIVER_ROSE, GPU_NOT_SERVED, TOO_LARGE)
# Rules on demands of a project on its own code: ``require`` shows them, on no deploy target.
ASKED_BY_PROJECT = frozenset((*_ASKED_BY_POLICY, PROMISED_ARCH_MISSING, PROMISED_VERSION_REFUSED))
