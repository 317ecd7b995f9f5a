# The public names, and the module of each: __init__.py reads them here.

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from ltocompat.commands.architectures import (
    Architectures as Architectures,
    architectures as architectures,
    serves as serves,
)
from ltocompat.commands.coherent import Coherence as Coherence, coherent as coherent
from ltocompat.commands.deployment_target import DeploymentTarget as DeploymentTarget
from ltocompat.commands.deployment_target import TargetLike
from ltocompat.commands.env import Surroundings as Surroundings, env as env
from ltocompat.commands.evaluator import Evaluator as Evaluator
from ltocompat.commands.extract import Extracted as Extracted
from ltocompat.commands.inspect import producer as producer
from ltocompat.commands.link import Linked as Linked
from ltocompat.commands.options import OnError, StrPath
from ltocompat.commands.linkable import LinkVerdict as LinkVerdict, linkable as linkable
from ltocompat.commands.policy.baseline import Baseline as Baseline
from ltocompat.commands.policy.extent import ExtentPart as ExtentPart
from ltocompat.commands.policy.fingerprint import FindingKey as FindingKey
from ltocompat.commands.policy.gate import (
    Assessed as Assessed,
    Audited as Audited,
    Standing as Standing,
)
from ltocompat.commands.policy.values import Policy as Policy, PolicyException as PolicyException
from ltocompat.commands.read import Reading as Reading, read as read
from ltocompat.commands.require import needs as needs
from ltocompat.commands.selftest import (
    SelfTestResult as SelfTestResult,
    SelfTestStep as SelfTestStep,
)
from ltocompat.commands.versions import (
    cuda_driver as cuda_driver,
    driver_cuda as driver_cuda,
    ptx_toolkit as ptx_toolkit,
    supports as supports,
    toolkit_ptx as toolkit_ptx,
)
from ltocompat.model.arch import ArchForm as ArchForm, Release as Release, SmArch as SmArch
from ltocompat.model.diff import (
    Change as Change,
    Diff as Diff,
    DiffSummary as DiffSummary,
    Metadata as Metadata,
)
from ltocompat.model.distribution import Distribution as Distribution
from ltocompat.model.errors import (
    LtocompatError as LtocompatError,
    Missing as Missing,
    UnreadableInput as UnreadableInput,
    UsageError as UsageError,
)
from ltocompat.model.explained import AtFault as AtFault, Explained as Explained
from ltocompat.model.failure import Progress as Progress
from ltocompat.model.image import (
    Artifact as Artifact,
    Compression as Compression,
    CubinFacts as CubinFacts,
    CudaLibrary as CudaLibrary,
    HostBinary as HostBinary,
    Image as Image,
    ImageKind as ImageKind,
    ImageLayer as ImageLayer,
    LtoIrVersions as LtoIrVersions,
    Producer as Producer,
    Module as Module,
    Needs as Needs,
    Origin as Origin,
    PtxFlaw as PtxFlaw,
    PtxText as PtxText,
    Record as Record,
    Role as Role,
    Skipped as Skipped,
)
from ltocompat.model.limits import Limits as Limits
from ltocompat.model.link_options import Disagreement as Disagreement
from ltocompat.model.matrix import Matrix as Matrix
from ltocompat.model.location import Location as Location
from ltocompat.model.mend import Mend as Mend, Mended as Mended, Repaired as Repaired
from ltocompat.model.requirement import (
    ModuleRequirement as ModuleRequirement,
    LinkerFloor as LinkerFloor,
    PasteLine as PasteLine,
    Required as Required,
    RouteFloor as RouteFloor,
    GpuSupport as GpuSupport,
    VariantFloors as VariantFloors,
)
from ltocompat.model.slimmed import (
    CodeTally as CodeTally,
    KeptVerdict as KeptVerdict,
    LostGpu as LostGpu,
    Removal as Removal,
    RemovalReason as RemovalReason,
    Slimmed as Slimmed,
    Untouched as Untouched,
)
from ltocompat.model.symbols import DeviceSymbols as DeviceSymbols
from ltocompat.model.target import (
    DriverVersion as DriverVersion,
    Gpu as Gpu,
    Quantifier as Quantifier,
    System as System,
    Target as Target,
    VersionSet as VersionSet,
)
from ltocompat.model.verdict import (
    Coverage as Coverage,
    Extent as Extent,
    Finding as Finding,
    Level as Level,
    Result as Result,
    Route as Route,
    VariantVerdict as VariantVerdict,
    Verdict as Verdict,
)
from ltocompat.model.weight import (
    ArchWeight as ArchWeight,
    KernelWeight as KernelWeight,
    LibraryWeight as LibraryWeight,
    Saving as Saving,
    Waste as Waste,
    Weight as Weight,
)
from ltocompat.model.policy import Promise as Promise
from ltocompat.report.to_json import to_json as to_json
from ltocompat.rules.rule import Problem as Problem
from ltocompat.scan.filters import ArchFilter as ArchFilter, ImageFilter as ImageFilter
from ltocompat.scan.sources import Source
from ltocompat.model.linker import Linker as Linker, Tool as Tool
from ltocompat.model.environment import (
    CompatFolder as CompatFolder,
    CompatNote as CompatNote,
    Compiler as Compiler,
    Conda as Conda,
    Environment as Environment,
    InstalledPackage as InstalledPackage,
    Jetson as Jetson,
    KernelDriver as KernelDriver,
    LibraryPick as LibraryPick,
    LocalGpu as LocalGpu,
    Sibling as Sibling,
    Toolkit as Toolkit,
    UserDriver as UserDriver,
)
from ltocompat.trial.values import (
    Answer as Answer,
    LinkOutcome as LinkOutcome,
    Seconds as Seconds,
    Step as Step,
)

__version__: str

# docs/generate_stub.py writes what follows.

def audit(
    paths: StrPath | Sequence[StrPath] = ...,
    policy: Policy | StrPath | None = None,
    *,
    targets: Target | StrPath | Sequence[Target | StrPath] = ...,
    require_archs: str | Sequence[str] = ...,
    max_bytes: int | None = None,
    max_member_bytes: int | None = None,
    baseline: Baseline | str | None = None,
    install_linkers: bool = False,
    beside: StrPath | Sequence[StrPath] = ...,
    cache: bool = True,
    limits: Limits = ...,
    progress: Callable[[Progress], None] | None = None,
    on_error: OnError | None = None,
) -> Iterator[Audited | Required]: ...
def check(
    paths: Source | Sequence[Source] = ...,
    targets: TargetLike | Sequence[TargetLike] = ...,
    *,
    route: Route | str | None = None,
    together: bool = False,
    python: str | None = None,
    floors: bool = True,
    trial_link: bool | Literal["auto"] = False,
    trial_load: bool = False,
    install_linkers: bool = False,
    beside: StrPath | Sequence[StrPath] = ...,
    cache: bool = True,
    limits: Limits = ...,
    progress: Callable[[Progress], None] | None = None,
    on_error: OnError | None = None,
) -> Iterator[Result]: ...
def diff(
    old: StrPath,
    new: StrPath,
    *,
    forbid: str | Sequence[str] = ...,
    kernels: bool = True,
    limits: Limits = ...,
    progress: Callable[[Progress], None] | None = None,
) -> Diff: ...
def explain(
    text: str = "",
    *places: StrPath,
    python: str | None = None,
    here: bool = False,
    progress: Callable[[Progress], None] | None = None,
    on_error: OnError | None = None,
) -> tuple[Explained, ...]: ...
def extract(
    *places: StrPath,
    output: StrPath,
    where: ImageFilter | None = None,
    limits: Limits = ...,
    progress: Callable[[Progress], None] | None = None,
) -> Iterator[Extracted | Skipped]: ...
def inspect(
    *paths: Source,
    kernels: bool = False,
    jobs: int | None = None,
    hashes: bool = False,
    trial_link: bool = False,
    install_linkers: bool = False,
    where: ImageFilter | None = None,
    limits: Limits = ...,
    progress: Callable[[Progress], None] | None = None,
    on_error: OnError | None = None,
) -> Iterator[Record]: ...
def link(
    *places: StrPath,
    arch: str | None = None,
    linkers: str | Sequence[str] = ...,
    output: StrPath | None = None,
    each: bool = False,
    add_only: bool = False,
    install_linkers: bool = False,
    where: ImageFilter | None = None,
    limits: Limits = ...,
    progress: Callable[[Progress], None] | None = None,
) -> Iterator[Linked | Disagreement | Skipped]: ...
def matrix(
    *paths: Source,
    python: str | None = None,
    trial_link: bool = False,
    install_linkers: bool = False,
    targets: TargetLike | Sequence[TargetLike] = ...,
    limits: Limits = ...,
    progress: Callable[[Progress], None] | None = None,
    on_error: OnError | None = None,
) -> Iterator[Matrix]: ...
def repair(
    *wheels: StrPath,
    output: StrPath | None = None,
    dry_run: bool = False,
    only: str | Sequence[str] = ...,
    beside: StrPath | Sequence[StrPath] = ...,
    limits: Limits = ...,
    progress: Callable[[Progress], None] | None = None,
    on_error: OnError | None = None,
) -> Iterator[Repaired]: ...
def require(
    *paths: Source,
    python: str | None = None,
    trial_link: bool = False,
    install_linkers: bool = False,
    together: bool = False,
    limits: Limits = ...,
    progress: Callable[[Progress], None] | None = None,
    on_error: OnError | None = None,
) -> Iterator[Required]: ...
def selftest(
    *,
    nvjitlink: str | None = None,
    install_linkers: bool = False,
) -> Iterator[SelfTestStep]: ...
def slim(
    *paths: StrPath,
    output: StrPath,
    keep_gpus: str | Sequence[str] = ...,
    keep_archs: str | Sequence[str] = ...,
    targets: TargetLike | Sequence[TargetLike] = ...,
    policy: Policy | StrPath | None = None,
    ptx: bool = True,
    pack: str | int | None = None,
    to_zstd: bool = False,
    max_bytes: int | None = None,
    build: str | None = None,
    in_place: bool = False,
    limits: Limits = ...,
    progress: Callable[[Progress], None] | None = None,
    on_error: OnError | None = None,
) -> Iterator[Slimmed]: ...
def weigh(
    *paths: Source,
    kernels: bool = False,
    keep_gpus: str | Sequence[str] = ...,
    jobs: int | None = None,
    limits: Limits = ...,
    progress: Callable[[Progress], None] | None = None,
    on_error: OnError | None = None,
) -> Iterator[Weight]: ...

# So far.
