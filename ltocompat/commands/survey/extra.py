"""Libraries that surveys alone need: imported late, and missed in one sentence."""

from __future__ import annotations

import importlib.util
from types import ModuleType

from ltocompat.model.errors import Missing

_MISSING = (
    "surveys need Dask, DuckDB and pyarrow; install them with: pip install 'ltocompat[survey]'"
)


def extra(name: str) -> ModuleType:
    """Return a module of ``ltocompat[survey]``: Dask, DuckDB, fsspec, pyarrow, urllib3.

    Args:
        name: the name for ``import``.

    Raises:
        Missing: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Missing(_MISSING) from error


def see_installed(name: str) -> None:
    """Check that a package of the extra is installed, without importing it.

    Args:
        name: the name for ``import``.

    Raises:
        Missing: it is not installed.
    """
    if importlib.util.find_spec(name) is None:
        raise Missing(_MISSING)
