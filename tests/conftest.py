"""How property tests run: no word about a slow machine is a word about the code.

The examples of a test are always the same, so that what is green once is green on the next machine;
`nox -s laws` draws new ones every time (`--hypothesis-profile=explore`).
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

QUIET = (HealthCheck.too_slow,)

settings.register_profile("explore", deadline=None, suppress_health_check=QUIET)
settings.register_profile("any machine", settings.get_profile("explore"), derandomize=True)
settings.load_profile("any machine")
