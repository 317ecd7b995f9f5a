"""What surveys need beyond the rest of this package: imported late, and missed in one sentence."""

from __future__ import annotations

import importlib
from types import ModuleType

from ltocompat.model.errors import Missing


def extra(name: str) -> ModuleType:
    """A module that comes with ``ltocompat[survey]``: Dask, distributed, pyarrow, urllib3.

    Args:
        name: as ``import`` has it.

    Raises:
        Missing: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Missing(
            "surveys need Dask and pyarrow; install them with: pip install 'ltocompat[survey]'"
        ) from error
