"""What a policy asks of packages, which an audit says as well."""

from __future__ import annotations

from msgspec import Struct

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.target import DriverVersion, Gpu
from ltocompat.model.verdict import Verdict

# A pattern that matches everything.
ANY = "*"


class Promise(Struct, frozen=True):
    """The architectures, the driver and the nvJitLink that a project promises for its packages.

    Attributes:
        source: the file with the policy.
        sass: architectures for which packages have SASS.
        ptx: architectures for which packages have PTX.
        driver: the oldest driver that is promised to work; None if the policy promises no driver.
        nvjitlink: the oldest nvJitLink that is promised to work; None if the policy promises none.
    """

    source: str
    sass: tuple[SmArch, ...] = ()
    ptx: tuple[SmArch, ...] = ()
    driver: DriverVersion | None = None
    nvjitlink: Release | None = None


class ExceptionBounds(Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """The findings that an exception is about.

    Attributes:
        key: its position in the file: ``audit.ignore[0]``.
        rule: ID of their rule.
        path: pattern (``*``, ``?``, ``[ab]``) of the artifact or of a file in it. It matches the
            whole path, the name, or the place without versions: ``libx-cu12::pkg/libx.so``.
        target: pattern of the name of the deploy target.
        kernel: pattern of the names of kernels, mangled or in source: it has to match all kernels
            of all modules of a finding.
        reason: the reason why they do not count.
        about: pattern of the subject of findings.
        route: ``load``, ``link``, or empty if modules have only one route; None for any.
        gpus: the GPUs, as extents name them; None for any.
        verdict: the worst verdict that it allows.
        modules: the largest allowed number of modules. 0: findings about an artifact as a whole.
            None: any number.
        asks: the highest required versions, or the names, that the exception allows.
    """

    key: str = ""
    rule: str
    path: str = ANY
    target: str = ANY
    kernel: str = ANY
    reason: str
    about: str = ANY
    route: str | None = None
    gpus: tuple[str, ...] | None = None
    verdict: Verdict = Verdict.FAIL
    modules: int | None = None
    asks: tuple[str, ...] = (ANY,)


class PolicyDemands(Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """The demands of a policy on packages, for every target.

    Attributes:
        source: the file of the policy; empty without a policy.
        fail_on: the best verdict that counts.
        require_gpus: GPUs that every artifact must serve.
        require_archs: architectures for which every artifact must have code: ``sm_90`` (SASS),
            ``compute_90`` (PTX), ``lto_90`` (LTO-IR).
        least_driver: the oldest driver that every artifact must support; None for any.
        allow_empty: True if artifacts without device code pass.
        trial_links: True if nvJitLinks are tried.
        trial_releases: the only releases that are tried of those in the targets; empty for all of
            them.
        trial_load: True if the driver of this machine is tried.
        promise: the promises about its packages; None for none.
        variants: patterns of files of which the package opens one; None: those that are found
            automatically.
        provided_by: patterns of library files that a dependency installs, by its normalized name.
        max_bytes: the largest file that may be released; None for any size.
        max_member_bytes: the largest unpacked file inside of a zip; None for any.
        coverage: the minimum of kernels for a GPU, in percent of the kernels for the GPU with the
            most.
        options: the keys that options of this run replaced.
    """

    source: str
    fail_on: Verdict = Verdict.FAIL
    require_gpus: tuple[Gpu, ...] = ()
    require_archs: tuple[SmArch, ...] = ()
    least_driver: DriverVersion | None = None
    allow_empty: bool = False
    trial_links: bool = False
    trial_releases: tuple[Release, ...] = ()
    trial_load: bool = False
    promise: Promise | None = None
    variants: tuple[str, ...] | None = None
    provided_by: tuple[tuple[str, tuple[str, ...]], ...] = ()
    max_bytes: int | None = None
    max_member_bytes: int | None = None
    coverage: int | None = None
    options: tuple[str, ...] = ()
