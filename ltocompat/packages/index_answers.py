"""Answers of package indexes: the simple API as JSON (PEP 691, 700, 714) and as HTML (PEP 503).

Whoever fetches a page bounds it; of the list of all projects, tens of MB, the names alone are made.
"""

from __future__ import annotations

import html.parser
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import unquote, urljoin

import msgspec
from msgspec.structs import replace

from ltocompat.model.errors import UnreadableInput, restated
from ltocompat.model.generic import T
from ltocompat.packages.values import normalized

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
# The header ``Accept``: JSON, else HTML from older indexes.
ACCEPTED = f"{JSON_TYPE}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_NO_NAME = re.compile(r"^\.|[/\\\0]")
_LONGEST_FILENAME = 255  # characters; no file system takes more


class IndexFile(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A file of a project in an index, with the names of the JSON answer, also for HTML.

    Attributes:
        filename: its name.
        url: its address.
        hashes: its checksums by algorithm.
        requires_python: its Python versions.
        core_metadata: checksums of its METADATA, which can be fetched by itself at ``url`` +
            ``.metadata`` (PEP 658).
        dist_info_metadata: the same, before PEP 714.
        yanked: the reason why its project withdrew it; empty without a reason.
        size: bytes; None if unknown.
        upload_time: time of the upload; None if unknown.
    """

    filename: str
    url: str
    hashes: dict[str, str] = {}
    requires_python: str | None = None
    core_metadata: bool | dict[str, str] | None = None
    dist_info_metadata: bool | dict[str, str] | None = None
    yanked: bool | str = False
    size: Annotated[int, msgspec.Meta(ge=0)] | None = None
    upload_time: datetime | None = None

    @property
    def sha256(self) -> str | None:
        """Its SHA-256 in lower-case hexadecimal; None if the index has none."""
        return _sum(self.hashes.get("sha256"))

    @property
    def _metadata(self) -> bool | dict[str, str] | None:
        return self.dist_info_metadata if self.core_metadata is None else self.core_metadata

    @property
    def has_metadata(self) -> bool:
        """Return whether its METADATA can be fetched by itself."""
        return bool(self._metadata)

    @property
    def metadata_sha256(self) -> str | None:
        """The SHA-256 of its METADATA; None if the index has none."""
        return _sum(self._metadata.get("sha256")) if isinstance(self._metadata, dict) else None


class _JsonProject(msgspec.Struct):
    files: list[IndexFile]


class _JsonName(msgspec.Struct):
    name: str


class _JsonProjects(msgspec.Struct):
    projects: list[_JsonName]


def project_files(data: bytes, content_type: str, url: str) -> list[IndexFile]:
    """Return the files on a project's page.

    Args:
        data: the page.
        content_type: its content type.
        url: its address after redirects, to which its links are
            relative.

    Raises:
        UnreadableInput: the page doesn't match its content type.
    """
    if _is_json(content_type):
        files = _decoded(data, _JsonProject, url, "a page of a project").files
    else:
        files = [_of_link(*link) for link in _links(data)]
    made = (
        replace(file, url=_joined(url, file.url), upload_time=_in_utc(file.upload_time))
        for file in files
    )
    return [*filter(_can_be_kept, made)]


def project_names(data: bytes, content_type: str, url: str) -> Iterator[str]:
    """Yield the normalized names of all projects.

    Args:
        data: the page.
        content_type: its content type.
        url: its address after redirects.

    Raises:
        UnreadableInput: the page doesn't match its content type.
    """
    if _is_json(content_type):
        found = _decoded(data, _JsonProjects, url, "a list of projects")
        return (normalized(project.name) for project in found.projects)
    names = (text.strip() or found.get("href", "").strip("/") for found, text in _links(data))
    return (normalized(name.rpartition("/")[2]) for name in names if name)


def _is_json(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower().endswith("json")


def _decoded(data: bytes, kind: type[T], url: str, what: str) -> T:
    with restated(UnreadableInput, f"{url} is not {what}", ValueError, RecursionError):
        return msgspec.json.decode(data, type=kind)


def _links(data: bytes) -> list[tuple[dict[str, str], str]]:
    """The attributes and the text of each link of a page of HTML.

    Raises:
        UnreadableInput: Python's parser gives up on it.
    """
    parser = _Links()
    text = "the answer of the package index is not HTML"
    with restated(UnreadableInput, text, AssertionError):  # of a declaration that it does not know
        parser.feed(data.decode("utf-8", "replace"))  # names are ASCII
    return parser.links


class _Links(html.parser.HTMLParser):
    """Collects the attributes and the text of each link."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[tuple[dict[str, str], str]] = []
        self._open: dict[str, str] | None = None
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self._open = {name: value or "" for name, value in attrs}
            self._text = ""

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._open is not None:
            self.links.append((self._open, self._text))
            self._open = None


def _of_link(attributes: dict[str, str], text: str) -> IndexFile:
    address, _, fragment = attributes.get("href", "").partition("#")
    metadata = attributes.get("data-core-metadata", attributes.get("data-dist-info-metadata", ""))
    algorithm, _, digest = metadata.partition("=")
    return IndexFile(
        filename=text.strip() or unquote(address.rpartition("/")[2]),
        url=address,
        hashes=dict([fragment.partition("=")[::2]]),
        requires_python=attributes.get("data-requires-python"),
        core_metadata={algorithm: digest} if metadata not in ("", "false") else None,
        yanked=attributes.get("data-yanked", False),
    )


def _can_be_kept(file: IndexFile) -> bool:
    """Return whether a file can be fetched, and kept under its name."""
    fetchable = file.url.startswith(("http://", "https://"))
    named = 0 < len(file.filename) <= _LONGEST_FILENAME
    return fetchable and named and not _NO_NAME.search(file.filename)


def _joined(url: str, link: str) -> str:
    """Return the address that a link of a page leads to; empty if it has no meaning."""
    with suppress(ValueError):
        return urljoin(url, link)
    return ""


def _in_utc(time: datetime | None) -> datetime | None:
    with suppress(OverflowError):  # in the year 1 or 9999
        return time and time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC)
    return None


def _sum(text: str | None) -> str | None:
    return text.lower() if text is not None and _SHA256.fullmatch(text) else None
