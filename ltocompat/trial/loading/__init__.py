"""Trial loads: what the real CUDA driver does with real modules, asked in processes of its own.

>>> with LoadPool() as pool:  # doctest: +SKIP
...     for answers in pool.run([LoadRequest("saxpy.fatbin", data, ("saxpy",))]):
...         for answer in answers:  # one a GPU
...             print(answer.gpu_name, answer.outcome, answer.code_name)
"""

import importlib
from typing import TYPE_CHECKING, Any

from ltocompat.trial.loading.values import (
    DEFAULT_LOAD_LIMITS,
    Launch,
    LoadAnswer,
    LoadedDriver,
    LoadGpu,
    LoadOutcome,
    LoadRequest,
    LoadStep,
)

if TYPE_CHECKING:
    from ltocompat.trial.loading.pool import LoadPool

__all__ = [
    "DEFAULT_LOAD_LIMITS",
    "Launch",
    "LoadAnswer",
    "LoadGpu",
    "LoadOutcome",
    "LoadPool",
    "LoadRequest",
    "LoadStep",
    "LoadedDriver",
]

# The parent's side, which a child does not need.
_LAZY = {"LoadPool": "ltocompat.trial.loading.pool"}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    if name not in _LAZY:
        raise AttributeError(f"module 'ltocompat.trial.loading' has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
