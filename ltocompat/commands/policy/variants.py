"""The variants that a policy names, in place of those that are found."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.scan.variants import named_variants


def with_named_variants(
    summary: ArtifactSummary, patterns: Sequence[str] | None
) -> ArtifactSummary:
    """Return a package with the variants that a policy names.

    Args:
        summary: the package, with the variants that were found.
        patterns: names of the files that are variants; empty: it has none; None: keep the variants
            that were found.
    """
    if patterns is None:
        return summary
    places = [*(group.example for group in summary.groups), *(host.place for host in summary.hosts)]
    files = [place.members[:1] for place in places if place.members]
    named = [file for file in files if _is_named(file[0], patterns)]
    return replace(summary, variants=named_variants(named, patterns))


def _is_named(member: str, patterns: Sequence[str]) -> bool:
    """Return whether a pattern means a file of the package, by its path or by its name."""
    path = member.replace("\\", "/")
    name = posixpath.basename(path)
    return any(fnmatchcase(path, text) or fnmatchcase(name, text) for text in patterns)
