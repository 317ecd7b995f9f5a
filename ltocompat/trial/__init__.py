"""Trial links: what the real nvJitLink does with real inputs, asked in processes of their own.

>>> with Pool(path_of_a_library) as pool:  # doctest: +SKIP
...     for answer in pool.run(requests):
...         print(answer.outcome, answer.code_name, explain(answer.log))
"""

from ltocompat.trial.logs import Reason, explain
from ltocompat.trial.pool import Pool
from ltocompat.trial.probe import compiles_relocatable
from ltocompat.trial.values import (
    DEFAULT_TRIAL_LIMITS,
    Answer,
    InputKind,
    Outcome,
    Request,
    Seconds,
    Step,
    TrialImpossible,
    TrialInput,
    TrialLimits,
)

__all__ = [
    "DEFAULT_TRIAL_LIMITS",
    "Answer",
    "InputKind",
    "Outcome",
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
