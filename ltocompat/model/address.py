"""Addresses such as ``s3://bucket/x.whl``, where a path of this machine is asked for."""

from __future__ import annotations

import os
import re

from ltocompat.model.errors import UsageError

# A drive of Windows is one letter; what a path is for may stand in front of it: json=s3://b/x.
_ADDRESS = re.compile(r"(?:^|[=,])[A-Za-z][A-Za-z0-9+.-]+://")


def refuse_address(path: str | os.PathLike[str], option: str) -> None:
    """See that what is to be read or written lies on this machine.

    Raises:
        UsageError: it is an address.
    """
    text = os.fspath(path)
    if _ADDRESS.search(text):
        raise UsageError(
            f"{text!r} is an address, and {option} takes what lies on this machine; name a path, "
            "and copy the files from there or to there"
        )
