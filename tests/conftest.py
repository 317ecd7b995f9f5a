"""How property tests run: no word about a slow machine is a word about the code."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

QUIET = (HealthCheck.too_slow,)

settings.register_profile("any machine", deadline=None, suppress_health_check=QUIET)
settings.load_profile("any machine")
