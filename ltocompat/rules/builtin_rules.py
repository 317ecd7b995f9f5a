"""IDs of the rules that the tool itself speaks, outside of the catalogue's functions.

A rule of the catalogue finds requirements or problems, and carries its ID there. These are about
what is left when all rules have spoken, or about what a project asks of itself. Their prose stands
in the catalogue as that of the others; no other module names a rule by its ID.
"""

from __future__ import annotations

NOTHING_SERVES = "SASS-06"
"""No image of an artifact is for a GPU."""

ABSENT_FROM_DEVICE_LINK = "BLD-03"
"""Objects have no code for the GPU that a device link is for."""

OPTIONS_DIFFER = "LTO-12"
"""LTO-IR of one link was compiled with options that contradict each other."""

BYTES_UNREAD = "IMG-02"
"""Places that could not be read may hold device code."""

OLD_LINKER_ADMITTED = "NJL-06"
"""Metadata admit an nvJitLink that is older than the LTO-IR; a survey counts who does."""

NO_KERNELS = "IMG-03"
"""Modules without kernels: nothing of them runs by itself."""

SPARSE_COVERAGE = "IMG-04"
"""Hardly any of an artifact's kernels are for a GPU."""

TARGET_LEAVES_OPEN = "TGT-01"
"""The deploy target lacks keys that a verdict needs."""

ROUTE_IMPOSSIBLE = "TGT-02"
"""No module goes the route that was asked for."""

NOT_IN_TABLES = "TGT-03"
"""A version of the target is no row of the tables."""

VARIANT_DECIDES = "VAR-01"
"""Of several variants the one that fits best decides."""

TRIAL_REFUSED = "TRIAL"
"""A real linker or driver was asked, and settles what rules leave open."""

TRIAL_DISAGREES = "TRIAL-DISAGREES"
"""A real linker or driver contradicts the rules."""

ARCH_MISSING = "POL-01"
"""A policy's ``require-archs`` names an architecture that is not there."""

DRIVER_ROSE = "POL-02"
"""The code needs a newer driver than a policy's ``least-driver``."""

GPU_NOT_SERVED = "POL-03"
"""A policy's ``require-gpus`` names a GPU that nothing serves."""

TOO_LARGE = "POL-04"
"""A file is larger than a policy's ``max-bytes``."""

PROMISED_ARCH_MISSING = "PKG-09"
"""A project promises an architecture that is not in its package."""

PROMISED_VERSION_REFUSED = "PKG-10"
"""A project promises a version that its package can't keep."""

PROMISES_NOT_JUDGED = "PKG-11"
"""Metadata that can't be read, or are too much to judge."""

ASKED_BY_PROJECT = frozenset(
    {
        ARCH_MISSING,
        DRIVER_ROSE,
        GPU_NOT_SERVED,
        TOO_LARGE,
        PROMISED_ARCH_MISSING,
        PROMISED_VERSION_REFUSED,
    }
)
"""Rules on demands of a project on its own code: ``require`` shows them, on no deploy target."""
