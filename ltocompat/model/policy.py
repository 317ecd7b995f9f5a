"""What a policy asks of packages, which an audit says as well."""

from __future__ import annotations

from msgspec import Struct

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.target import DriverVersion, Gpu
from ltocompat.model.verdict import Verdict

ANY = "*"
"""A pattern of everything, and whatever is asked for."""


class Promise(Struct, frozen=True):
    """The promises of a project about its packages, from its policy.

    Attributes:
        source: the file with the policy.
        sass: architectures for which packages have SASS.
        ptx: architectures for which packages have PTX.
        driver: the minimum driver; None for no promise.
        nvjitlink: the minimum nvJitLink; None for no promise.
    """

    source: str
    sass: tuple[SmArch, ...] = ()
    ptx: tuple[SmArch, ...] = ()
    driver: DriverVersion | None = None
    nvjitlink: Release | None = None


class ExceptionBounds(Struct, frozen=True, kw_only=True):
    """The findings that an exception is about.

    Attributes:
        key: where it stands in its file: ``audit.ignore[0]``.
        rule: ID of their rule.
        path: pattern (``*``, ``?``, ``[ab]``) of the artifact or of a file in it: of its whole
            path, its name, or its place without versions: ``libx-cu12::pkg/libx.so``.
        target: pattern of the name of the deploy target.
        kernel: pattern of the names of kernels, mangled or in source: all kernels of all modules
            of a finding have to match.
        reason: why they do not count, for those who read it later.
        about: pattern of the subject of findings.
        route: ``load``, ``link``, or empty where modules have one way only; None for any.
        gpus: the GPUs, as extents name them; None for any.
        verdict: the worst that it forgives.
        modules: the most modules that it forgives; 0: an artifact as a whole; None: any number.
        asks: the newest versions, or the names, that it forgives.
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


class PolicyDemands(Struct, frozen=True, kw_only=True):
    """The demands of a policy on packages, wherever they go.

    Attributes:
        source: the file that says so; empty for no policy.
        fail_on: the best verdict that counts.
        require_gpus: GPUs that every artifact must serve.
        require_archs: architectures that every artifact must hold code for: ``sm_90`` (SASS),
            ``compute_90`` (PTX), ``lto_90`` (LTO-IR).
        least_driver: the driver that every artifact must keep loading on; None for any.
        allow_empty: what has no device code passes.
        trial_links: nvJitLinks are asked.
        trial_releases: only these of those that the targets name; empty for all of them.
        trial_load: the driver of the machine that audits is asked.
        promise: what it promises of its packages; None for nothing.
        variants: patterns of files of a package of which its loader opens one; None: those that
            are found.
        provided_by: patterns of library files that a dependency brings, by its normalized name.
        max_bytes: the largest file that may be released; None for any size.
        max_member_bytes: the largest file, unpacked, inside of one that is a zip; None for any.
        coverage: the least kernels that a GPU has, in percent of those of the best-served one.
        options: the keys that were given as options of this run instead.
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
