"""Problems that a policy itself finds: architectures that are lost, a driver that rose."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from ltocompat.commands.policy.extent import gpu_key
from ltocompat.commands.policy.values import Policy
from ltocompat.files.byteview import ByteView, FileSource
from ltocompat.model.arch import ArchForm, SmArch
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.image import ImageKind
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location
from ltocompat.model.requirement import Required
from ltocompat.model.verdict import Level, Verdict
from ltocompat.packages.values import Package
from ltocompat.packages.zip_members import ZipMember, zip_members
from ltocompat.rules import artifact_code
from ltocompat.rules.builtin_rules import (
    ARCH_MISSING,
    DRIVER_ROSE,
    GPU_NOT_SERVED,
    SPARSE_COVERAGE,
    TOO_LARGE,
)
from ltocompat.rules.catalogue.package_contents import ANY_PLATFORM
from ltocompat.rules.catalogue.package_promises import driver_problems
from ltocompat.rules.rule import Problem
from ltocompat.rules.selection import runs

_KINDS = {
    ArchForm.REAL: (ImageKind.SASS, "SASS"),
    ArchForm.VIRTUAL: (ImageKind.PTX, "PTX"),
    ArchForm.LTO: (ImageKind.LTOIR, "LTO-IR"),
}


def should_hold_code(policy: Policy, summary: ArtifactSummary, package: Package | None) -> bool:
    """Return whether device code is expected: packages for any platform may have none."""
    if summary.modules or package is None or policy.allow_empty:
        return bool(summary.modules)
    return any(platform not in ANY_PLATFORM for platform in package.platforms)


def _is_one_image(summary: ArtifactSummary) -> bool:
    """Return whether a file is a bare cubin, PTX or LTO-IR, outside of fatbins and libraries."""
    signatures = [group.signature for group in summary.groups]
    whole = summary.groups[0].example == Location(summary.path)
    return whole and not any(
        image.in_fatbin for signature in signatures for image in signature.images
    )


def policy_problems(
    policy: Policy, summary: ArtifactSummary, required: Required, package: Package | None
) -> Iterator[Problem]:
    """Yield the problems of an artifact by the policy.

    Args:
        policy: the policy.
        summary: the summary of the artifact.
        required: its requirements.
        package: the package that it is; None for none.
    """
    yield from _size(policy, summary)
    if not should_hold_code(policy, summary, package):
        return
    if package is not None or not _is_one_image(summary):  # one image has one architecture
        for form in _KINDS:
            wanted = [arch for arch in policy.require_archs if arch.form is form]
            yield from _archs(policy, summary, form, wanted)
        yield from _gpus(policy, required)
    says, where = f"least-driver is {policy.least_driver}", policy.origin("least-driver")
    for problem in driver_problems(required, policy.least_driver, says, "least-driver", where):
        yield replace(problem, rule=DRIVER_ROSE)


def _archs(
    policy: Policy, summary: ArtifactSummary, form: ArchForm, wanted: list[SmArch]
) -> Iterator[Problem]:
    kind, word = _KINDS[form]
    there = artifact_code.archs((group.signature for group in summary.groups), kind)
    missing = [arch for arch in wanted if arch not in there]
    if not missing:
        return
    lost = ", ".join(map(str, missing))
    only = f" only for {', '.join(map(str, sorted(there)))}"
    yield Problem(
        Verdict.FAIL,
        f"{word} for {lost} is required, but there is {word + only if there else 'no ' + word}",
        f"compile with {_gencode(missing)}, or remove {lost} from require-archs",
        policy.origin("require-archs"),
        subject=word,
        asked=tuple(map(str, missing)),
        rule=ARCH_MISSING,
    )


def _gencode(archs: Iterable[SmArch]) -> str:
    """The options by which nvcc makes code for architectures."""
    return " ".join(f"-gencode arch=compute_{a.number}{a.suffix},code={a}" for a in archs)


def _gpus(policy: Policy, required: Required) -> Iterator[Problem]:
    """GPUs that nothing serves: neither SASS, nor PTX or LTO-IR that reaches them."""
    services = {service.number: service for service in required.services if service.how != "none"}
    missing = [gpu for gpu in policy.require_gpus if gpu.arch.number not in services]
    known = (gpu for gpu in policy.require_gpus if gpu not in missing)
    sparse = [gpu.name for gpu in known if services[gpu.arch.number].hardly]
    origin = policy.origin("require-gpus")
    if sparse:
        yield Problem(
            Verdict.OK,
            f"only a few modules have code for {', '.join(sparse)}, which require-gpus lists",
            "compile the other modules for these GPUs, too, or shorten require-gpus",
            origin,
            level=Level.WARNING,
            subject="GPUs",
            asked=tuple(sparse),
            rule=SPARSE_COVERAGE,
        )
    if not missing:
        return
    lost = ", ".join(
        gpu.name if gpu.name == str(gpu.arch) else f"{gpu.name} ({gpu.arch})" for gpu in missing
    )
    served = ", ".join(f"sm_{number}" for number in services) or "no GPU"
    archs = {SmArch(gpu.arch.number) for gpu in missing}
    # SASS for sm_100 also runs on sm_103, which an older nvcc may not know.
    least = sorted(a for a in archs if not any(b < a and runs(b, a.number) for b in archs))
    yield Problem(
        Verdict.FAIL,
        f"no code for {lost}, which require-gpus lists; there is code for {served}",
        f"compile with {_gencode(least)}, or shorten require-gpus",
        origin,
        subject="GPUs",
        asked=tuple(gpu_key(gpu) for gpu in missing),
        rule=GPU_NOT_SERVED,
    )


def _size(policy: Policy, summary: ArtifactSummary) -> Iterator[Problem]:
    """Find a file that is larger than may be released; a place in a file has no size of its own."""
    if not os.path.isfile(summary.path):
        return
    path, size = shlex.quote(summary.path), os.path.getsize(summary.path)
    weigh = f"see what takes the space: ltocompat inspect --weigh {path}"
    debug = sum(host.debug_size for host in summary.hosts)
    strip = f", strip {debug:,} bytes of debug sections (strip --strip-debug)" if debug else ""
    most, inside = policy.max_bytes, policy.max_member_bytes
    if most is not None and size > most:
        # Imported here: few files are too large.
        from ltocompat.rewrite.package import is_packed

        remedy = weigh
        if is_packed(summary.path):
            named = policy.names_gpus and not {"targets", "require-archs"} & {*policy.options}
            keep = f" --config {shlex.quote(policy.source)}" if policy.source and named else ""
            remedy = f"shrink the file: ltocompat slim {path} --max-bytes {most}{keep} -o smaller/"
        yield _too_large(policy, "max-bytes", size, most, f"{remedy}{strip}")
    if inside is not None and (member := _largest_member(summary.path)) and member.size > inside:
        found = _too_large(policy, "max-member-bytes", member.size, inside, f"{weigh}{strip}")
        yield replace(found, example=Location(summary.path).member(member.name))


def _too_large(policy: Policy, key: str, size: int, most: int, remedy: str) -> Problem:
    name, subject = ("the file", "size") if key == "max-bytes" else ("a file in it", "largest file")
    return Problem(
        Verdict.FAIL,
        f"{name} has {size:,} bytes; the limit is {most:,}",
        f"raise {key}, or {remedy}",
        policy.origin(key),
        subject=subject,
        asked=(f"bytes {size}",),
        rule=TOO_LARGE,
    )


def _largest_member(path: str) -> ZipMember | None:
    """The largest file inside of a zip, by its directory; None if that can't be read."""
    with open(path, "rb") as file:
        members = zip_members(ByteView(FileSource(file.fileno())), Budget())
    return max(members or (), key=lambda member: member.size, default=None)
