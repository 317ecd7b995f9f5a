"""Which libraries of CUDA the wheels on the package index bring, and where; no wheel is downloaded.

The directory of a zip and its METADATA are a few KB at the end of a file of up to 1 GB. pip reads
them by range requests where its resolver is asked to (``--use-feature=fast-deps``); the classes
that do so are its own, so that indexes, proxies and certificates are those of the user's pip.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from email import message_from_string
from pathlib import PurePosixPath
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version
from pip._internal.commands.index import IndexCommand
from pip._internal.index.collector import LinkCollector, parse_links
from pip._internal.models.link import Link
from pip._internal.network.lazy_wheel import LazyZipOverHTTP
from pip._internal.network.session import PipSession

PLATFORMS = {
    "linux-x86_64": re.compile(r"manylinux\w+_x86_64|any"),
    "linux-aarch64": re.compile(r"manylinux\w+_aarch64|any"),
    "win-amd64": re.compile(r"win_amd64|any"),
}
# Plugins, extension modules and what tools inject have other names, and nobody links with them.
_LIBRARY = re.compile(
    r"(?:lib[\w-]+|nvshmem_\w+)\.so(?:\.\d+){1,2}|libnvvm\.so|(?:cu|nv|npp|mathdx)[\w.-]*\.dll"
)
# These come with systems and drivers of every vendor, too.
_OF_ANYBODY = ("libOpenCL.so.1", "libucc.so.1")


@dataclass(frozen=True)
class Wheel:
    """What one wheel brings.

    Attributes:
        version: of the package.
        files: its libraries, as installed.
        requires: what it always depends on, ``cuda-toolkit[nvrtc]``; without versions.
        extras: by each of its extras what that adds, likewise.
    """

    version: str
    files: frozenset[str]
    requires: frozenset[str]
    extras: dict[str, frozenset[str]]


def ends_of_majors(package: str) -> Iterator[tuple[str, Wheel, Wheel]]:
    """For each platform and major version of a package: the oldest and the newest wheel."""
    session, wheels = _wheels(package)
    found: dict[tuple[str, int], dict[Version, Link]] = defaultdict(dict)
    for version, platforms, link in wheels:
        for platform in platforms:
            found[platform, version.major].setdefault(version, link)
    for (platform, _), links in sorted(found.items()):
        yield platform, _read(links[min(links)], session), _read(links[max(links)], session)


def every_wheel(package: str) -> Iterator[Wheel]:
    """The wheels of a package that is the same for all platforms."""
    session, wheels = _wheels(package)
    for _, _, link in sorted(wheels, key=lambda row: row[0]):
        yield _read(link, session)


def _wheels(package: str) -> tuple[PipSession, list[tuple[Version, list[str], Link]]]:
    """Version, platforms and link of every released wheel, and what reads them."""
    command = IndexCommand("index", "")
    options, _ = command.parse_args(["versions", package])
    with command.main_context():
        session = command._build_session(options)  # noqa: SLF001 - pip has no API
        finder = command._build_package_finder(options, session)  # noqa: SLF001
        collector = finder._link_collector  # noqa: SLF001
        return session, list(_released(_links(collector, package)))


def _links(collector: LinkCollector, package: str) -> Iterator[Link]:
    for url in collector.search_scope.get_index_urls_locations(package):
        page = collector.fetch_response(Link(url))
        if page is not None:
            yield from (link for link in parse_links(page) if link.is_wheel)


def _released(links: Iterator[Link]) -> Iterator[tuple[Version, list[str], Link]]:
    for link in links:
        _, version, _, tags = parse_wheel_filename(link.filename)
        names = [
            platform
            for platform, pattern in PLATFORMS.items()
            if any(pattern.fullmatch(tag.platform) for tag in tags)
        ]
        # Names that NVIDIA only keeps from others have versions 0.0.0a0 and 0.0.1.
        if names and not version.is_prerelease and version > Version("0.0.1"):
            yield version, names, link


def _read(link: Link, session: PipSession) -> Wheel:
    remote = None if link.is_file else LazyZipOverHTTP(link.url_without_fragment, session)
    with ZipFile(remote or link.file_path) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        headers = message_from_string(archive.read(metadata).decode())
    wanted = [Requirement(text) for text in headers.get_all("Requires-Dist", [])]
    extras: dict[str, set[str]] = defaultdict(set)
    for require in wanted:
        for extra in re.findall(r"extra == ['\"]([\w-]+)['\"]", str(require.marker)):
            extras[canonicalize_name(extra)].add(_without_versions(require))
    return Wheel(
        headers["Version"],
        frozenset(filter(_is_library, names)),
        frozenset(_without_versions(r) for r in wanted if "extra" not in str(r.marker)),
        {extra: frozenset(found) for extra, found in extras.items()},
    )


def _without_versions(require: Requirement) -> str:
    extras = f"[{','.join(sorted(require.extras))}]" if require.extras else ""
    return f"{canonicalize_name(require.name)}{extras}"


def _is_library(file: str) -> bool:
    path = PurePosixPath(file)
    if path.name in _OF_ANYBODY or path.parent.name in ("extensions", "ucc"):
        return False
    return _LIBRARY.fullmatch(path.name) is not None
