"""Trial links: what the real nvJitLink does with real inputs, asked in processes of their own.

>>> with Pool(path_of_a_library) as pool:  # doctest: +SKIP
...     for answer in pool.run(requests):
...         print(answer.outcome, answer.code_name, explain(answer.log))
"""

import importlib
from typing import TYPE_CHECKING, Any

from ltocompat.trial.values import (
    DEFAULT_TRIAL_LIMITS,
    Answer,
    InputKind,
    LinkOutcome,
    Request,
    Seconds,
    Step,
    TrialImpossible,
    TrialInput,
    TrialLimits,
)

if TYPE_CHECKING:
    from ltocompat.trial.logs import Reason, explain
    from ltocompat.trial.pool import Pool
    from ltocompat.trial.probe import compiles_relocatable

__all__ = [
    "DEFAULT_TRIAL_LIMITS",
    "Answer",
    "InputKind",
    "LinkOutcome",
    "Pool",
    "Reason",
    "Request",
    "Seconds",
    "Step",
    "TrialImpossible",
    "TrialInput",
    "TrialLimits",
    "compiles_relocatable",
    "explain",
]

# The parent's side, which a child does not need: it starts in half the time without it, and after
# each crash there is a new one.
_LAZY = {
    "Pool": "ltocompat.trial.pool",
    "Reason": "ltocompat.trial.logs",
    "compiles_relocatable": "ltocompat.trial.probe",
    "explain": "ltocompat.trial.logs",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    if name not in _LAZY:
        raise AttributeError(f"module 'ltocompat.trial' has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
