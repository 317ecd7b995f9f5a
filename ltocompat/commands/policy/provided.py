"""Libraries that a dependency of a package brings, as a policy says."""

from __future__ import annotations

from fnmatch import fnmatchcase

from msgspec.structs import replace

from ltocompat.commands.policy.values import Policy
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.image import HostBinary
from ltocompat.packages.values import Package


def without_provided(
    summary: ArtifactSummary, policy: Policy, package: Package | None
) -> ArtifactSummary:
    """Return the summary of a package without the libraries that its dependencies install.

    A dependency counts only if the metadata requires it.
    """
    required = {dependency.name for dependency in package.requires} if package else set()
    patterns = [
        pattern
        for name, files in policy.provided_by
        if any(fnmatchcase(each, name) for each in required)
        for pattern in files
    ]
    if not patterns:
        return summary
    return replace(summary, hosts=[_without(host, patterns) for host in summary.hosts])


def _without(host: HostBinary, patterns: list[str]) -> HostBinary:
    return replace(
        host,
        libraries=tuple(each for each in host.libraries if not _provided(each.file, patterns)),
        needed=tuple(file for file in host.needed if not _provided(file, patterns)),
    )


def _provided(file: str | None, patterns: list[str]) -> bool:
    return file is not None and any(fnmatchcase(file, pattern) for pattern in patterns)
