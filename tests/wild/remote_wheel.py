"""Read single members of released wheels, by range requests to the index that pip is set to."""

# ruff: noqa: S310 - the only address is that of the index that pip is set to

from __future__ import annotations

import io
import re
import urllib.parse
import urllib.request
import zipfile

from ltocompat.packages.index_settings import IndexSettings

BLOCK = 1 << 22


class RemoteFile(io.RawIOBase):
    """A file behind an address, read block by block."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._blocks: dict[int, bytes] = {}
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD")) as answer:
            self._size = int(answer.headers["Content-Length"])
        self._position = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = (0, self._position, self._size)[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._size, self._position + size)
        data = b"".join(self._block(n) for n in range(self._position // BLOCK, -(-end // BLOCK)))
        start = self._position % BLOCK
        data = data[start : start + max(end - self._position, 0)]
        self._position += len(data)
        return data

    def _block(self, number: int) -> bytes:
        if number not in self._blocks:
            span = f"bytes={number * BLOCK}-{min((number + 1) * BLOCK, self._size) - 1}"
            request = urllib.request.Request(self._url, headers={"Range": span})
            with urllib.request.urlopen(request) as answer:
                self._blocks[number] = answer.read()
        return self._blocks[number]


_LINUX = re.compile(
    r"-(cp3[0-9]+|py[23.py]+)-\w+-(?:many)?linux[0-9_.a-z]*x86_64.*\.whl|-py3-none-any\.whl"
)


def remote_wheel(name: str, version: str) -> zipfile.ZipFile:
    """The wheel of a release for Linux on x86-64, of the last Python that there is one for."""
    index = IndexSettings.of().urls[0].rstrip("/")
    page = f"{index}/{name}/"
    accept = {"Accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.1"}
    with urllib.request.urlopen(urllib.request.Request(page, headers=accept)) as answer:
        text = answer.read().decode()
    start = f"{name.replace('-', '_')}-{version}-"
    urls = re.findall(r'"url"\s*:\s*"([^"]+)"|href="([^"#]+)', text)
    found = [
        url
        for url in (first or second for first, second in urls)
        if (file := urllib.parse.unquote(url.rsplit("/", 1)[-1])).startswith(start)
        and _LINUX.search(file)
    ]
    if not found:
        raise LookupError(f"the index has no wheel of {name} {version} for Linux on x86-64")
    return zipfile.ZipFile(RemoteFile(urllib.parse.urljoin(page, max(found))))
