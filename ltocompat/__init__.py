"""Tells, before you ship, whether CUDA device code will link and load where it is going.

>>> import ltocompat
>>> for record in ltocompat.inspect("libexample.so"):  # doctest: +SKIP
...     if isinstance(record, ltocompat.Module):
...         for image in record.images:
...             print(image.place, image.kind, image.arch, *image.made_by)
"""

import importlib
from typing import TYPE_CHECKING, Any

from ltocompat.model.version import VERSION

if TYPE_CHECKING:
    from ltocompat.commands.audit import audit
    from ltocompat.commands.check import check
    from ltocompat.commands.deployment_target import DeploymentTarget
    from ltocompat.commands.diff import diff
    from ltocompat.commands.env import Surroundings, env
    from ltocompat.commands.explain import AtFault, Explained, explain
    from ltocompat.commands.extract import Extracted, extract
    from ltocompat.commands.inspect import inspect, made_by
    from ltocompat.commands.link import Linked, link
    from ltocompat.commands.matrix import matrix
    from ltocompat.commands.policy.baseline import Baseline
    from ltocompat.commands.policy.extent import ExtentPart
    from ltocompat.commands.policy.fingerprint import FindingKey
    from ltocompat.commands.policy.gate import Assessed, Audited, Standing
    from ltocompat.commands.policy.values import Policy, PolicyException
    from ltocompat.commands.read import Reading, read
    from ltocompat.commands.require import require
    from ltocompat.commands.selftest import SelfTestResult, SelfTestStep, selftest
    from ltocompat.commands.weigh import weigh
    from ltocompat.model.arch import ArchForm, Release, SmArch
    from ltocompat.model.diff import Change, Diff, DiffSummary, Metadata
    from ltocompat.model.distribution import Distribution
    from ltocompat.model.errors import LtocompatError, Missing, UnreadableInput, UsageError
    from ltocompat.model.failure import Progress
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
    from ltocompat.model.link_options import Disagreement
    from ltocompat.model.matrix import Matrix
    from ltocompat.model.place import Place
    from ltocompat.model.requirement import (
        Asked,
        LinkerFloor,
        PasteLine,
        Required,
        RouteFloor,
        Service,
        VariantFloors,
    )
    from ltocompat.model.symbols import DeviceSymbols
    from ltocompat.model.target import DriverVersion, Gpu, Quantifier, System, Target, VersionSet
    from ltocompat.model.verdict import (
        Coverage,
        Extent,
        Finding,
        Level,
        Result,
        Route,
        VariantVerdict,
        Verdict,
    )
    from ltocompat.model.weight import (
        ArchWeight,
        KernelWeight,
        LibraryWeight,
        Saving,
        Waste,
        Weight,
    )
    from ltocompat.packages.promise import Promise
    from ltocompat.report.to_json import to_json
    from ltocompat.rules.rule import Problem
    from ltocompat.scan.filters import ArchFilter, ImageFilter
    from ltocompat.targets.linkers.linker import Linker, Tool
    from ltocompat.targets.machine.environment import (
        CompatFolder,
        CompatNote,
        Compiler,
        Conda,
        Environment,
        InstalledPackage,
        Jetson,
        KernelDriver,
        LibraryPick,
        LocalGpu,
        Sibling,
        Toolkit,
        UserDriver,
    )
    from ltocompat.trial.values import Answer, LinkOutcome, Seconds, Step

__version__ = VERSION

__all__ = [
    "Answer",
    "ArchFilter",
    "ArchForm",
    "ArchWeight",
    "Artifact",
    "Asked",
    "Assessed",
    "AtFault",
    "Audited",
    "Baseline",
    "Change",
    "CompatFolder",
    "CompatNote",
    "Compiler",
    "Compression",
    "Conda",
    "Coverage",
    "CubinFacts",
    "CudaLibrary",
    "DeploymentTarget",
    "DeviceSymbols",
    "Diff",
    "DiffSummary",
    "Disagreement",
    "Distribution",
    "DriverVersion",
    "Environment",
    "Explained",
    "Extent",
    "ExtentPart",
    "Extracted",
    "Finding",
    "FindingKey",
    "Gpu",
    "Host",
    "Image",
    "ImageFilter",
    "ImageKind",
    "InstalledPackage",
    "Jetson",
    "KernelDriver",
    "KernelWeight",
    "Level",
    "LibraryPick",
    "LibraryWeight",
    "Limits",
    "LinkOutcome",
    "Linked",
    "Linker",
    "LinkerFloor",
    "LocalGpu",
    "LtoIrVersions",
    "LtocompatError",
    "Maker",
    "Matrix",
    "Metadata",
    "Missing",
    "Module",
    "Needs",
    "PasteLine",
    "Place",
    "Policy",
    "PolicyException",
    "Problem",
    "Progress",
    "Promise",
    "Quantifier",
    "Reading",
    "Record",
    "Release",
    "Required",
    "Result",
    "Role",
    "Route",
    "RouteFloor",
    "Saving",
    "Seconds",
    "SelfTestResult",
    "SelfTestStep",
    "Service",
    "Sibling",
    "Skipped",
    "SmArch",
    "Standing",
    "Step",
    "Surroundings",
    "System",
    "Target",
    "Tool",
    "Toolkit",
    "UnreadableInput",
    "UsageError",
    "UserDriver",
    "VariantFloors",
    "VariantVerdict",
    "Verdict",
    "VersionSet",
    "Waste",
    "Weight",
    "__version__",
    "audit",
    "check",
    "diff",
    "env",
    "explain",
    "extract",
    "inspect",
    "link",
    "made_by",
    "matrix",
    "read",
    "require",
    "selftest",
    "to_json",
    "weigh",
]

# The use cases import every part of the package; a program that only asks for help, or for
# a few values, as the processes of trials do, need not wait for that.
_LAZY = {
    "ArchForm": "ltocompat.model.arch",
    "Release": "ltocompat.model.arch",
    "SmArch": "ltocompat.model.arch",
    "Distribution": "ltocompat.model.distribution",
    "LtocompatError": "ltocompat.model.errors",
    "Missing": "ltocompat.model.errors",
    "UnreadableInput": "ltocompat.model.errors",
    "UsageError": "ltocompat.model.errors",
    "Artifact": "ltocompat.model.image",
    "Compression": "ltocompat.model.image",
    "CubinFacts": "ltocompat.model.image",
    "CudaLibrary": "ltocompat.model.image",
    "Host": "ltocompat.model.image",
    "Image": "ltocompat.model.image",
    "ImageKind": "ltocompat.model.image",
    "LtoIrVersions": "ltocompat.model.image",
    "Maker": "ltocompat.model.image",
    "Module": "ltocompat.model.image",
    "Needs": "ltocompat.model.image",
    "Record": "ltocompat.model.image",
    "Role": "ltocompat.model.image",
    "Skipped": "ltocompat.model.image",
    "Limits": "ltocompat.model.limits",
    "Place": "ltocompat.model.place",
    "DeviceSymbols": "ltocompat.model.symbols",
    "ImageFilter": "ltocompat.scan.filters",
    "DeploymentTarget": "ltocompat.commands.deployment_target",
    "Quantifier": "ltocompat.model.target",
    "audit": "ltocompat.commands.audit",
    "check": "ltocompat.commands.check",
    "diff": "ltocompat.commands.diff",
    "AtFault": "ltocompat.commands.explain",
    "Explained": "ltocompat.commands.explain",
    "explain": "ltocompat.commands.explain",
    "Extracted": "ltocompat.commands.extract",
    "extract": "ltocompat.commands.extract",
    "inspect": "ltocompat.commands.inspect",
    "Linked": "ltocompat.commands.link",
    "link": "ltocompat.commands.link",
    "matrix": "ltocompat.commands.matrix",
    "Baseline": "ltocompat.commands.policy.baseline",
    "ExtentPart": "ltocompat.commands.policy.extent",
    "FindingKey": "ltocompat.commands.policy.fingerprint",
    "Assessed": "ltocompat.commands.policy.gate",
    "Audited": "ltocompat.commands.policy.gate",
    "Standing": "ltocompat.commands.policy.gate",
    "PolicyException": "ltocompat.commands.policy.values",
    "Policy": "ltocompat.commands.policy.values",
    "Reading": "ltocompat.commands.read",
    "read": "ltocompat.commands.read",
    "require": "ltocompat.commands.require",
    "SelfTestResult": "ltocompat.commands.selftest",
    "SelfTestStep": "ltocompat.commands.selftest",
    "selftest": "ltocompat.commands.selftest",
    "weigh": "ltocompat.commands.weigh",
    "Change": "ltocompat.model.diff",
    "Diff": "ltocompat.model.diff",
    "DiffSummary": "ltocompat.model.diff",
    "Metadata": "ltocompat.model.diff",
    "Disagreement": "ltocompat.model.link_options",
    "Matrix": "ltocompat.model.matrix",
    "Asked": "ltocompat.model.requirement",
    "LinkerFloor": "ltocompat.model.requirement",
    "PasteLine": "ltocompat.model.requirement",
    "Required": "ltocompat.model.requirement",
    "RouteFloor": "ltocompat.model.requirement",
    "Service": "ltocompat.model.requirement",
    "DriverVersion": "ltocompat.model.target",
    "Gpu": "ltocompat.model.target",
    "System": "ltocompat.model.target",
    "Target": "ltocompat.model.target",
    "VersionSet": "ltocompat.model.target",
    "Coverage": "ltocompat.model.verdict",
    "Extent": "ltocompat.model.verdict",
    "Finding": "ltocompat.model.verdict",
    "Level": "ltocompat.model.verdict",
    "Result": "ltocompat.model.verdict",
    "Route": "ltocompat.model.verdict",
    "VariantFloors": "ltocompat.model.requirement",
    "VariantVerdict": "ltocompat.model.verdict",
    "Verdict": "ltocompat.model.verdict",
    "ArchWeight": "ltocompat.model.weight",
    "KernelWeight": "ltocompat.model.weight",
    "LibraryWeight": "ltocompat.model.weight",
    "Saving": "ltocompat.model.weight",
    "Waste": "ltocompat.model.weight",
    "Weight": "ltocompat.model.weight",
    "Promise": "ltocompat.packages.promise",
    "ArchFilter": "ltocompat.scan.filters",
    "Progress": "ltocompat.model.failure",
    "Linker": "ltocompat.targets.linkers.linker",
    "Tool": "ltocompat.targets.linkers.linker",
    "CompatFolder": "ltocompat.targets.machine.environment",
    "CompatNote": "ltocompat.targets.machine.environment",
    "Compiler": "ltocompat.targets.machine.environment",
    "Conda": "ltocompat.targets.machine.environment",
    "Environment": "ltocompat.targets.machine.environment",
    "InstalledPackage": "ltocompat.targets.machine.environment",
    "Jetson": "ltocompat.targets.machine.environment",
    "KernelDriver": "ltocompat.targets.machine.environment",
    "LibraryPick": "ltocompat.targets.machine.environment",
    "LocalGpu": "ltocompat.targets.machine.environment",
    "Sibling": "ltocompat.targets.machine.environment",
    "Toolkit": "ltocompat.targets.machine.environment",
    "UserDriver": "ltocompat.targets.machine.environment",
    "Problem": "ltocompat.rules.rule",
    "Surroundings": "ltocompat.commands.env",
    "env": "ltocompat.commands.env",
    "made_by": "ltocompat.commands.inspect",
    "to_json": "ltocompat.report.to_json",
    "Answer": "ltocompat.trial.values",
    "LinkOutcome": "ltocompat.trial.values",
    "Seconds": "ltocompat.trial.values",
    "Step": "ltocompat.trial.values",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    if name not in _LAZY:
        raise AttributeError(f"module 'ltocompat' has no attribute {name!r}")
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value  # the next access does not come here
    return value
