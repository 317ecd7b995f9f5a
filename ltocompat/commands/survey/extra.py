"""What surveys need beyond the rest of this package: imported late, and missed in one sentence."""

from __future__ import annotations

from typing import Any

from ltocompat.model.errors import Missing

_INSTALL = "surveys need Dask and pyarrow; install them with: pip install 'ltocompat[survey]'"


def parquet() -> tuple[Any, Any]:
    """Pyarrow and pyarrow.parquet.

    Raises:
        Missing: they are not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise Missing(_INSTALL) from error
    return pa, pq


def http_library() -> Any:  # noqa: ANN401 - a module
    """urllib3, which Dask depends on.

    Raises:
        Missing: it is not installed.
    """
    try:
        import urllib3
    except ImportError as error:
        raise Missing(_INSTALL) from error
    return urllib3


def dask_library() -> tuple[Any, Any]:
    """Dask and its distributed scheduler.

    Raises:
        Missing: they are not installed.
    """
    try:
        import dask
        import distributed
    except ImportError as error:
        raise Missing(_INSTALL) from error
    return dask, distributed
