"""Tells, before you ship, whether CUDA device code will link and load where it is going.

>>> import ltocompat
>>> for record in ltocompat.inspect("libexample.so"):  # doctest: +SKIP
...     if isinstance(record, ltocompat.Module):
...         for image in record.images:
...             print(image.place, image.kind, image.arch, *image.made_by)
"""

import importlib
from typing import TYPE_CHECKING, Any

from ltocompat.model.arch import ArchForm, Release, SmArch
from ltocompat.model.errors import LtocompatError, Missing, UnreadableInput, UsageError
from ltocompat.model.image import (
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
from ltocompat.model.limits import Limits
from ltocompat.model.place import Place
from ltocompat.model.version import VERSION
from ltocompat.scan.filters import ImageFilter

if TYPE_CHECKING:
    from ltocompat.commands.audit import audit
    from ltocompat.commands.check import check
    from ltocompat.commands.diff import diff
    from ltocompat.commands.explain import Explained, explain
    from ltocompat.commands.extract import Extracted, extract
    from ltocompat.commands.inspect import inspect
    from ltocompat.commands.link import Linked, link
    from ltocompat.commands.matrix import matrix
    from ltocompat.commands.policy.gate import Assessed, Audited, Standing
    from ltocompat.commands.policy.values import Ignore, Policy
    from ltocompat.commands.require import require
    from ltocompat.commands.selftest import SelfTestStep, selftest
    from ltocompat.model.diff import Change, Diff, DiffSummary
    from ltocompat.model.link_options import Disagreement
    from ltocompat.model.matrix import Matrix
    from ltocompat.model.requirement import Required
    from ltocompat.model.target import Target
    from ltocompat.model.verdict import Coverage, Finding, Result, Verdict
    from ltocompat.scan.progress import Progress

__version__ = VERSION

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
    "DiffSummary",
    "Disagreement",
    "Explained",
    "Extracted",
    "Finding",
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
    "Matrix",
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
    "audit": "ltocompat.commands.audit",
    "check": "ltocompat.commands.check",
    "diff": "ltocompat.commands.diff",
    "Explained": "ltocompat.commands.explain",
    "explain": "ltocompat.commands.explain",
    "Extracted": "ltocompat.commands.extract",
    "extract": "ltocompat.commands.extract",
    "matrix": "ltocompat.commands.matrix",
    "inspect": "ltocompat.commands.inspect",
    "Linked": "ltocompat.commands.link",
    "link": "ltocompat.commands.link",
    "Progress": "ltocompat.scan.progress",
    "require": "ltocompat.commands.require",
    "Disagreement": "ltocompat.model.link_options",
    "Change": "ltocompat.model.diff",
    "Diff": "ltocompat.model.diff",
    "DiffSummary": "ltocompat.model.diff",
    "Matrix": "ltocompat.model.matrix",
    "Assessed": "ltocompat.commands.policy.gate",
    "Audited": "ltocompat.commands.policy.gate",
    "Standing": "ltocompat.commands.policy.gate",
    "Ignore": "ltocompat.commands.policy.values",
    "Policy": "ltocompat.commands.policy.values",
    "Required": "ltocompat.model.requirement",
    "Target": "ltocompat.model.target",
    "Coverage": "ltocompat.model.verdict",
    "Finding": "ltocompat.model.verdict",
    "Result": "ltocompat.model.verdict",
    "Verdict": "ltocompat.model.verdict",
    "SelfTestStep": "ltocompat.commands.selftest",
    "selftest": "ltocompat.commands.selftest",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    if name not in _LAZY:
        raise AttributeError(f"module 'ltocompat' has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
