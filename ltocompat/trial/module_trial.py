"""What a trial of modules is: a question about some modules, and an answer for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ltocompat.model.trial_answer import Trials
from ltocompat.scan.walk import Modules

TryModules = Callable[[Modules], Sequence[Trials]]
"""Asks linkers or drivers about modules of one file; what they did with each, in their order."""
Tries = Callable[[], TryModules]
"""Begins a file: what is asked about it depends on no other file."""
