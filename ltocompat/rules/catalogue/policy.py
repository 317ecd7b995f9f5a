"""Policies: demands of a project on its own releases (POL)."""

from __future__ import annotations

from ltocompat.model.verdict import Level
from ltocompat.rules.catalogue.family import Family

FAMILY = Family("policy")


# An artifact lacks an architecture that its project's policy requires (commands/policy).
FAMILY.declare("POL-01", Level.ERROR)


# An artifact needs a newer driver than its project's policy keeps (commands/policy).
FAMILY.declare("POL-02", Level.ERROR)


# An artifact serves a GPU that its project's policy requires by nothing (commands/policy).
FAMILY.declare("POL-03", Level.ERROR)


# A file is larger than its project's policy allows (commands/policy).
FAMILY.declare("POL-04", Level.ERROR)
