"""Libraries that a dependency of a package brings, as a policy says."""

from __future__ import annotations

from fnmatch import fnmatchcase

from msgspec.structs import replace

from ltocompat.commands.policy.values import Policy
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.image import CudaLibrary, Host
from ltocompat.packages.values import Package


def without_provided(
    summary: ArtifactSummary, policy: Policy, package: Package | None
) -> ArtifactSummary:
    """The summary of a package without the libraries that its dependencies are known to bring.

    A dependency brings them only where the metadata requires it.
    """
    required = {dependency.name for dependency in package.requires} if package else set()
    patterns = [p for name, files in policy.provided_by if name in required for p in files]
    if not patterns:
        return summary
    return replace(summary, hosts=[_without(host, patterns) for host in summary.hosts])


def _without(host: Host, patterns: list[str]) -> Host:
    kept = tuple(library for library in host.libraries if not _provided(library, patterns))
    return replace(host, libraries=kept)


def _provided(library: CudaLibrary, patterns: list[str]) -> bool:
    return library.file is not None and any(fnmatchcase(library.file, text) for text in patterns)
