"""A package index on the loopback, as polite or as broken as a test wants it."""

from __future__ import annotations

import functools
import hashlib
import html
import json
import re
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest

from ltocompat.packages.values import normalized

JSON = "application/vnd.pypi.simple.v1+json"


@dataclass
class Index:
    """The index of the wheels in a folder.

    Attributes:
        folder: the wheels.
        html: it knows no JSON.
        ranges: it sends parts of files.
        metadata: it has METADATA apart from wheels (PEP 658).
        faults: file name -> what is wrong with it: ``stall``, ``cut``, ``cut always``, ``sum``,
            ``busy``, ``gone``, ``changes``.
        asked: is called with the name of each wheel that is asked for, before it is sent, and with
            the port of whoever asks.
        requests: what was asked for: method and path, and the header ``Range``.
        sent: bytes of bodies by path.
        at_once: the most requests that were answered at the same time.
        url: of its simple API.
    """

    folder: Path
    html: bool = False
    ranges: bool = True
    metadata: bool = True
    faults: dict[str, str] = field(default_factory=dict)
    asked: Callable[[str, int], None] | None = None
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    sent: Counter[str] = field(default_factory=Counter)
    at_once: int = 0
    url: str = ""
    met: Counter[str] = field(default_factory=Counter)
    open: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def wheels(self) -> dict[str, list[Path]]:
        found: dict[str, list[Path]] = {}
        for path in sorted(self.folder.rglob("*.whl")):
            found.setdefault(normalized(path.name.split("-")[0]), []).append(path)
        return found


@contextmanager
def serving(index: Index) -> Iterator[Index]:
    """The index while it answers."""

    class Handler(_Handler):
        pass

    Handler.index = index
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    index.url = f"http://127.0.0.1:{server.server_port}/simple"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield index
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    index: Index

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        index = self.index
        with index.lock:
            index.open += 1
            index.at_once = max(index.at_once, index.open)
            index.requests.append((self.path, self.headers.get("Range")))
        try:
            self._answer(unquote(self.path))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with index.lock:
                index.open -= 1

    def _answer(self, path: str) -> None:
        wheels = self.index.wheels()
        if path == "/simple/":
            self._list(list(wheels))
        elif path.startswith("/simple/") and path.strip("/").split("/")[-1] in wheels:
            self._project(wheels[path.strip("/").split("/")[-1]])
        elif path.startswith("/files/"):
            self._file(path.removeprefix("/files/"))
        else:
            self._send(404, b"", {})

    def _page(self, text: str) -> None:
        page = f"<html><body>{text}</body></html>".encode()
        self._send(200, page, {"Content-Type": "text/html"})

    def _list(self, names: list[str]) -> None:
        if self.index.html:
            text = "".join(f'<a href="/simple/{name}/">{name}</a>\n' for name in names)
            self._send(
                200, f"<html><body>{text}</body></html>".encode(), {"Content-Type": "text/html"}
            )
            return
        data = {"meta": {"api-version": "1.1"}, "projects": [{"name": name} for name in names]}
        self._send(200, json.dumps(data).encode(), {"Content-Type": JSON})

    def _project(self, wheels: list[Path]) -> None:
        if self.index.html:
            text = "".join(map(self._link, wheels))
            self._send(
                200, f"<html><body>{text}</body></html>".encode(), {"Content-Type": "text/html"}
            )
            return
        files = [self._described(path) for path in wheels]
        data = {"meta": {"api-version": "1.1"}, "name": "x", "files": files}
        self._send(200, json.dumps(data).encode(), {"Content-Type": JSON})

    def _sum(self, path: Path) -> str:
        if self.index.faults.get(path.name) == "sum":
            return "0" * 64
        return _sha256(path, path.stat().st_mtime_ns)

    def _link(self, path: Path) -> str:
        metadata = ""
        if self.index.metadata:
            metadata = f' data-core-metadata="sha256={hashlib.sha256(_metadata(path)).hexdigest()}"'
        name = html.escape(path.name)
        return f'<a href="../../files/{name}#sha256={self._sum(path)}"{metadata}>{name}</a>\n'

    def _described(self, path: Path) -> dict[str, object]:
        found: dict[str, object] = {
            "filename": path.name,
            "url": f"../../files/{path.name}",
            "hashes": {"sha256": self._sum(path)},
            "requires-python": ">=3.9",
            "size": path.stat().st_size,
            "upload-time": "2026-03-04T05:06:07.000000Z",
            "yanked": "it was wrong" if "yanked" in path.name else False,
        }
        if self.index.metadata:
            found["core-metadata"] = {"sha256": hashlib.sha256(_metadata(path)).hexdigest()}
        return found

    def _file(self, name: str) -> None:
        wanted = name.removesuffix(".metadata")
        paths = [path for path in self.index.folder.rglob("*.whl") if path.name == wanted]
        if not paths or (name != wanted and not self.index.metadata):
            self._send(404, b"", {})
            return
        if name != wanted:
            self._send(200, _metadata(paths[0]), {})
            return
        with self.index.lock:
            self.index.met[name] += 1
        if self.index.asked is not None:
            self.index.asked(name, self.client_address[1])
        self._with_fault(name, paths[0], self.index.faults.get(name, ""))

    def _with_fault(self, name: str, path: Path, fault: str) -> None:
        times = self.index.met[name]
        size = path.stat().st_size
        etag = f'"{times if fault == "changes" else size}"'
        if fault == "gone":
            self._send(404, b"", {})
        elif fault == "busy" and times < 3:
            self._send(503, b"later", {"Retry-After": "1"})
        elif fault == "stall":
            self._begin(200, {"Content-Length": str(size)})
            self.wfile.write(b"PK")
            self.wfile.flush()
            time.sleep(3)
            self.close_connection = True
        else:
            cut = fault == "cut always" or (fault == "cut" and times < 4)
            self._ranged(path, size, etag, cut=cut)

    def _ranged(self, path: Path, size: int, etag: str, *, cut: bool) -> None:
        span = self.headers.get("Range")
        same = self.headers.get("If-Range") in (None, etag)
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", span or "")
        if not self.index.ranges or match is None or not same:
            self._begin(200, {"ETag": etag, "Content-Length": str(size)})
            self._body(path, 0, size, cut=cut)
            return
        if match[1]:
            start, end = int(match[1]), int(match[2] or size - 1)
        else:
            start, end = max(size - int(match[2]), 0), size - 1
        count = min(end, size - 1) + 1 - start
        span = f"bytes {start}-{start + count - 1}/{size}"
        headers = {"ETag": etag, "Content-Range": span, "Content-Length": str(count)}
        self._begin(206, headers)
        self._body(path, start, count, cut=cut)

    def _body(self, path: Path, start: int, count: int, *, cut: bool) -> None:
        """Send bytes of a file; half of them and no more, where the connection is to be cut."""
        left = count // 2 if cut else count
        with path.open("rb") as file:
            file.seek(start)
            while data := file.read(min(left, 1 << 20)):
                self.wfile.write(data)
                self.index.sent[self.path] += len(data)
                left -= len(data)
        if cut:
            self.wfile.flush()
            self.close_connection = True

    def _send(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self._begin(status, headers | {"Content-Length": str(len(data))})
        self.wfile.write(data)
        self.index.sent[self.path] += len(data)

    def _begin(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


@functools.cache
def _sha256(path: Path, changed: int) -> str:
    del changed
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _metadata(path: Path) -> bytes:
    try:
        with zipfile.ZipFile(path) as wheel:
            (name,) = (n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
            return wheel.read(name)
    except (zipfile.BadZipFile, ValueError):
        return b""


def ask_no_index_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let no test ask the index, or use the cache, of whoever runs it."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_CERT", "PIP_PROXY", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
