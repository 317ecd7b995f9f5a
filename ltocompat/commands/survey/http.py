"""Requests to package indexes: few connections, patience with busy servers, bounds on every answer.

A process has one connection to a host at a time. What a server asks for (``Retry-After``) is kept
to, up to two minutes; then the request fails, and whoever sent it may try in a later run.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import os
import re
import time
import urllib.request
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from msgspec import Struct

from ltocompat.commands.survey.extra import extra
from ltocompat.model.errors import LtocompatError
from ltocompat.model.limits import MIB
from ltocompat.model.version import VERSION
from ltocompat.packages.index_settings import IndexSettings

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

_AGENT = f"ltocompat/{VERSION}"
_CONNECT_SECONDS, _READ_SECONDS = 10.0, 30.0
_ATTEMPTS = 4
_LONGEST_WAIT = 120.0  # seconds
_SLOWEST = 50_000  # bytes a second, over a whole file
_GRACE = 60.0  # seconds for any file, however small
_CHUNK = 256 << 10
_GONE = (401, 403, 404, 405, 410, 451)


class FetchFailed(LtocompatError):
    """Something could not be fetched.

    Attributes:
        passing: True if another try may succeed.
    """

    def __init__(self, message: str, *, passing: bool) -> None:
        super().__init__(message)
        self.passing = passing

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(FetchFailed, passing=self.passing), self.args


class Traffic(Struct):
    """The traffic of a task: received bytes, and requests."""

    fetched: int = 0
    requests: int = 0


class Page(Struct, frozen=True):
    """A whole answer.

    Attributes:
        data: its bytes.
        content_type: its content type.
        url: its address after redirects.
    """

    data: bytes
    content_type: str
    url: str


class Part(Struct, frozen=True):
    """Some bytes of a file.

    Attributes:
        data: the bytes.
        start: their offset in the file.
        size: bytes of the whole file.
    """

    data: bytes
    start: int
    size: int


class Http:
    """Sends requests, through the user's proxies and with the user's certificates.

    Args:
        settings: the settings of the user's indexes.
    """

    def __init__(self, settings: IndexSettings) -> None:
        self._settings = settings
        self._pools: dict[str | None, Any] = {}
        users = {_host(url): split_address(url).netloc.rpartition("@")[0] for url in settings.urls}
        self._credentials = {host: unquote(user) for host, user in users.items() if user}

    def page(self, url: str, accept: str, most: int, traffic: Traffic) -> Page:
        """A whole answer.

        Args:
            url: where.
            accept: the accepted content types.
            most: bytes; a longer answer is an error.
            traffic: is added to.

        Raises:
            FetchFailed: there is none.
        """
        with self._answer(url, {"Accept": accept}, traffic) as answer:
            data = b"".join(self._pieces(answer, url, most, traffic))
            final = urljoin(url, answer.geturl() or "")
            return Page(data, answer.headers.get("Content-Type", ""), final)

    def part(self, url: str, span: str, most: int, traffic: Traffic) -> Part | None:
        """Some bytes of a file.

        Args:
            url: of the file.
            span: which, as the header ``Range`` has it: ``-65536``, ``100-199``.
            most: bytes; a longer answer is an error.
            traffic: is added to.

        Returns:
            The bytes; None if the server sends no ranges, or the connection broke. An answer with
            the whole file is not read.

        Raises:
            FetchFailed: the server can't be reached, or has no such file.
        """
        headers = {"Range": f"bytes={span}", "Accept-Encoding": "identity"}
        with self._answer(url, headers, traffic, allowed=(200, 206, 416)) as answer:
            there = _content_range(answer.headers)
            if answer.status != 206 or there is None:
                return None
            start, end, size = there
            try:
                data = b"".join(self._pieces(answer, url, most, traffic))
            except _Cut:
                return None
            return Part(data, start, size) if len(data) == end - start + 1 else None

    def download(
        self, url: str, file: io.FileIO, sha256: str | None, most: int, traffic: Traffic
    ) -> str:
        """Download into a file; after a broken connection, resume.

        Args:
            url: where.
            file: the file, written from its beginning.
            sha256: the expected SHA-256; None if unknown.
            most: bytes; a longer file is an error.
            traffic: is added to.

        Returns:
            Its SHA-256.

        Raises:
            FetchFailed: it can't be fetched completely, or its SHA-256 differs.
        """
        etag, wrong, reason = None, False, ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(min(2.0**attempt / 4, _LONGEST_WAIT))
            try:
                self._go_on(url, file, etag, most, traffic)
            except _Cut as error:
                etag, reason = error.etag, f"{url} was interrupted {attempt + 1} times: {error}"
                continue
            file.seek(0)
            total = hashlib.file_digest(file, "sha256").hexdigest()
            if sha256 in (None, total):
                return total
            etag, reason = None, f"{url} has SHA-256 {total}, not {sha256} as its index says"
            if wrong:
                break
            wrong = True  # it may be a cache's half file, for once
        raise FetchFailed(reason, passing=True)

    def _go_on(
        self, url: str, file: io.FileIO, etag: str | None, most: int, traffic: Traffic
    ) -> None:
        """Write the rest of the file of which something is there, or all of it.

        Raises:
            _Cut: it broke off again, or has changed since it was first read.
        """
        done = 0 if etag is None else file.tell()
        headers = {"Accept-Encoding": "identity"}
        if etag is not None:
            headers |= {"Range": f"bytes={done}-", "If-Range": etag}
        with self._answer(url, headers, traffic, allowed=(200, 206)) as answer:
            there, found = _content_range(answer.headers), _etag(answer.headers)
            if answer.status == 200:
                done = 0
            elif there is None or there[0] != done or found != etag:
                raise _Cut(f"{url} has changed since it was first read", passing=True)
            file.seek(done)
            file.truncate()
            try:
                for piece in self._pieces(answer, url, most - done, traffic):
                    file.write(piece)
            except _Cut as error:
                error.etag = found
                raise

    @contextlib.contextmanager
    def _answer(
        self,
        url: str,
        headers: Mapping[str, str],
        traffic: Traffic,
        allowed: tuple[int, ...] = (200,),
    ) -> Iterator[BaseHTTPResponse]:
        """An answer of which nothing was read yet; it is closed in the end, read or not.

        Raises:
            FetchFailed: there is none.
        """
        library = extra("urllib3")
        credentials = self._credentials.get(_host(url))
        agent = library.make_headers(user_agent=_AGENT, basic_auth=credentials)
        traffic.requests += 1
        try:
            answer = self._pool(url).request(
                "GET",
                url,
                headers=agent | headers,
                preload_content=False,
                retries=library.Retry(
                    total=_ATTEMPTS,
                    redirect=5,
                    status_forcelist=(429, 500, 502, 503, 504),
                    backoff_factor=0.25,
                    backoff_max=_LONGEST_WAIT,
                    backoff_jitter=0.25,
                    retry_after_max=_LONGEST_WAIT,
                    raise_on_status=False,
                ),
            )
        except library.exceptions.HTTPError as error:
            raise FetchFailed(f"{url} can't be fetched: {_reason(error)}", passing=True) from error
        try:
            if answer.status not in allowed:
                raise FetchFailed(
                    f"{url} answers {answer.status} {answer.reason or ''}".rstrip(),
                    passing=answer.status not in _GONE,
                )
            yield answer
        finally:
            # What was not read to its end stays unread: the connection is closed, not drained.
            answer.close()
            answer.release_conn()

    def _pieces(
        self, answer: BaseHTTPResponse, url: str, most: int, traffic: Traffic
    ) -> Iterator[bytes]:
        """The body in pieces.

        Raises:
            FetchFailed: it is longer than it may be.
            _Cut: it breaks off, or comes too slowly.
        """
        library = extra("urllib3")
        expected = most if answer.length_remaining is None else answer.length_remaining
        if expected > most:
            raise FetchFailed(
                f"{url} has {expected} bytes, over the limit of {most}", passing=False
            )
        deadline = time.monotonic() + _GRACE + expected / _SLOWEST
        done = 0
        try:
            for piece in answer.stream(_CHUNK):
                done += len(piece)
                traffic.fetched += len(piece)
                if done > most:
                    raise FetchFailed(f"{url} is over the limit of {most} bytes", passing=False)
                if time.monotonic() > deadline:
                    raise _Cut(f"{url} arrives too slowly: {done} bytes so far", passing=True)
                yield piece
        except library.exceptions.HTTPError as error:
            reason = f"{url} was interrupted after {done} bytes: {_reason(error)}"
            raise _Cut(reason, passing=True) from error

    def _pool(self, url: str) -> Any:  # noqa: ANN401 - urllib3's own
        proxy = self._proxy(url)
        if proxy not in self._pools:
            library = extra("urllib3")
            through = functools.partial(library.ProxyManager, proxy)
            path = self._settings.cert
            certificates = {"ca_cert_dir" if path and os.path.isdir(path) else "ca_certs": path}
            self._pools[proxy] = (through if proxy else library.PoolManager)(
                num_pools=4,
                maxsize=1,
                block=True,
                timeout=library.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS),
                **certificates,
            )
        return self._pools[proxy]

    def _proxy(self, url: str) -> str | None:
        parts = urlsplit(url)
        if urllib.request.proxy_bypass(parts.hostname or ""):
            return None
        return self._settings.proxy or urllib.request.getproxies().get(parts.scheme)


class _Cut(FetchFailed):
    """A body broke off.

    Attributes:
        etag: what the bytes are of that came; None if nothing tells.
    """

    etag: str | None = None


# Bytes of one project's page; real ones stay below 10 MiB.
MOST_PAGE = 64 * MIB
# Bytes of the list of all projects; the largest known has 40 MB.
MOST_LIST = 256 * MIB
# Bytes of one METADATA.
MOST_METADATA = 16 * MIB


_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")


def _content_range(headers: Mapping[str, str]) -> tuple[int, int, int] | None:
    """First byte, last byte and size of ``bytes 0-99/1000``; None if that is not said so."""
    found = _RANGE.fullmatch(headers.get("Content-Range", ""))
    if found is None:
        return None
    start, end, total = map(int, found.groups())
    return (start, end, total) if start <= end < total else None


def _etag(headers: Mapping[str, str]) -> str | None:
    """The strong validator, which alone tells that bytes are the same."""
    text = headers.get("ETag", "")
    return text if text.startswith('"') else None


def without_credentials(url: str) -> str:
    """Return an address without the user's name and password."""
    parts = split_address(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() or url


def split_address(url: str) -> SplitResult:
    """Return the parts of an address; empty parts if it is invalid."""
    with contextlib.suppress(ValueError):
        return urlsplit(url)
    return urlsplit("")


def _host(url: str) -> tuple[str, str]:
    """The scope of credentials: scheme and host, with its port."""
    parts = split_address(url)
    return parts.scheme, parts.netloc.rpartition("@")[2].lower()


def _reason(error: Exception) -> str:
    """A few words of an error of urllib3, without the addresses of its objects."""
    cause = getattr(error, "reason", None) or error.__cause__ or error
    text = str(cause).rpartition(">: ")[2] or type(cause).__name__
    return text.rpartition("): ")[2] if text.startswith("HTTP") else text
