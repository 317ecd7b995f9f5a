"""Tells, before you ship, whether CUDA device code will link and load where it is going.

>>> import ltocompat
>>> for record in ltocompat.inspect("libexample.so"):  # doctest: +SKIP
...     if isinstance(record, ltocompat.Module):
...         for image in record.images:
...             print(image.place, image.kind, image.arch, *image.made_by)
"""

import importlib
from typing import TYPE_CHECKING, Any

from ltocompat.arch import ArchForm, Release, SmArch
from ltocompat.errors import LtocompatError, Missing, UnreadableInput, UsageError
from ltocompat.filters import ImageFilter
from ltocompat.limits import Limits
from ltocompat.model import (
    Artifact,
    Compression,
    CubinFacts,
    CudaLibrary,
    Host,
    Image,
    ImageKind,
    LtoIrVersions,
    Maker,
    Module,
    Needs,
    Record,
    Role,
    Skipped,
)
from ltocompat.place import Place

if TYPE_CHECKING:
    from ltocompat.api.auditing import audit
    from ltocompat.api.checking import check
    from ltocompat.api.diffing import diff
    from ltocompat.api.explaining import Explained, explain
    from ltocompat.api.extracting import Extracted, extract
    from ltocompat.api.gridding import matrix
    from ltocompat.api.inspecting import inspect
    from ltocompat.api.linking import Linked, link
    from ltocompat.api.progress import Progress
    from ltocompat.api.requiring import require
    from ltocompat.api.selftesting import SelfTestStep, selftest
    from ltocompat.compile_options import Disagreement
    from ltocompat.difference import Change, Diff, Summary
    from ltocompat.grid import Grid
    from ltocompat.policy.gate import Assessed, Audited, Standing
    from ltocompat.policy.values import Ignore, Policy
    from ltocompat.required import Required
    from ltocompat.target import Target
    from ltocompat.verdict import Coverage, Finding, Result, Verdict

__version__ = "0.1.0"

__all__ = [
    "ArchForm",
    "Artifact",
    "Assessed",
    "Audited",
    "Change",
    "Compression",
    "Coverage",
    "CubinFacts",
    "CudaLibrary",
    "Diff",
    "Disagreement",
    "Explained",
    "Extracted",
    "Finding",
    "Grid",
    "Host",
    "Ignore",
    "Image",
    "ImageFilter",
    "ImageKind",
    "Limits",
    "Linked",
    "LtoIrVersions",
    "LtocompatError",
    "Maker",
    "Missing",
    "Module",
    "Needs",
    "Place",
    "Policy",
    "Progress",
    "Record",
    "Release",
    "Required",
    "Result",
    "Role",
    "SelfTestStep",
    "Skipped",
    "SmArch",
    "Standing",
    "Summary",
    "Target",
    "UnreadableInput",
    "UsageError",
    "Verdict",
    "__version__",
    "audit",
    "check",
    "diff",
    "explain",
    "extract",
    "inspect",
    "link",
    "matrix",
    "require",
    "selftest",
]

# The use cases bring every room of the house with them; a program that only asks for help, or for
# the values, need not wait for that.
_LAZY = {
    "audit": "ltocompat.api.auditing",
    "check": "ltocompat.api.checking",
    "diff": "ltocompat.api.diffing",
    "Explained": "ltocompat.api.explaining",
    "explain": "ltocompat.api.explaining",
    "Extracted": "ltocompat.api.extracting",
    "extract": "ltocompat.api.extracting",
    "matrix": "ltocompat.api.gridding",
    "inspect": "ltocompat.api.inspecting",
    "Linked": "ltocompat.api.linking",
    "link": "ltocompat.api.linking",
    "Progress": "ltocompat.api.progress",
    "require": "ltocompat.api.requiring",
    "Disagreement": "ltocompat.compile_options",
    "Change": "ltocompat.difference",
    "Diff": "ltocompat.difference",
    "Summary": "ltocompat.difference",
    "Grid": "ltocompat.grid",
    "Assessed": "ltocompat.policy.gate",
    "Audited": "ltocompat.policy.gate",
    "Standing": "ltocompat.policy.gate",
    "Ignore": "ltocompat.policy.values",
    "Policy": "ltocompat.policy.values",
    "Required": "ltocompat.required",
    "Target": "ltocompat.target",
    "Coverage": "ltocompat.verdict",
    "Finding": "ltocompat.verdict",
    "Result": "ltocompat.verdict",
    "Verdict": "ltocompat.verdict",
    "SelfTestStep": "ltocompat.api.selftesting",
    "selftest": "ltocompat.api.selftesting",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    if name not in _LAZY:
        raise AttributeError(f"module 'ltocompat' has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
