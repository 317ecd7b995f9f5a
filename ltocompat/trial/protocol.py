"""Frames between the parent and a child: a JSON header and raw bytes, each with its length.

A frame of requests has the CPU seconds for all of them and a row for each: its fields, and the
sizes of its pieces, which follow one after the other. A reply is a frame of its own, with its
output as the body. What a fork writes is passed on as it comes, in the bodies of frames by the
process that it was forked from; the header of the last one says how the fork ended.

No pickle: a child that ran foreign code must not be able to make its parent do anything but read.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from msgspec import Struct, field

from ltocompat.model.errors import Malformed
from ltocompat.model.limits import MIB

Raw = bytes | bytearray | memoryview

# Mark of a frame, bytes of the header, bytes of the body.
_HEAD = struct.Struct("<4sIQ")
_MARK = b"LTCT"
# Of replies: three logs at most, which are cut before, take 6 letters a byte in JSON.
_HEADER_LIMIT = MIB
_NO_LIMIT = 1 << 62

# What the child writes down before each step, in memory that both share, so that a process that
# ends is pinned to what it was doing: step, number of the input.
NOTES_SIZE = 8
NOTE_STEP, NOTE_INPUT = range(2)
# Those of ``values.Step``, in its order, behind the first.
AT_REST, AT_CREATE, AT_ADD, AT_COMPLETE, AT_GET, AT_DESTROY = range(6)


# A message: its header (a JSON value) and its body.
Frame = tuple[Any, memoryview]


def head_of(header: object, body_size: int) -> bytes:
    """Return the bytes of a frame before its body."""
    text = json.dumps(header, separators=(",", ":")).encode()
    return _HEAD.pack(_MARK, len(text), body_size) + text


class FrameReader(Struct):
    """Assembles frames from arriving bytes.

    Raises:
        Malformed: (from ``feed``) the bytes are no frames, or a frame is larger than ``body_limit``
            bytes.
    """

    _body_limit: int
    _buffer: bytearray = field(default_factory=bytearray)

    def feed(self, data: Raw) -> Iterator[Frame]:
        """Yield the frames that ``data`` completes."""
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            header_size, body_size = _sizes(self._buffer, _HEADER_LIMIT, self._body_limit)
            start = _HEAD.size + header_size
            if len(self._buffer) < start + body_size:
                return
            whole = bytes(self._buffer[: start + body_size])
            del self._buffer[: start + body_size]
            yield _header(whole[_HEAD.size : start]), memoryview(whole)[start:]


def _sizes(data: Raw, header_limit: int, body_limit: int) -> tuple[int, int]:
    mark, header_size, body_size = _HEAD.unpack_from(data)
    if mark != _MARK or header_size > header_limit or body_size > body_limit:
        raise Malformed("a trial process sent bytes that are not a reply")
    return header_size, body_size


def _header(text: Raw) -> Any:  # noqa: ANN401 - JSON is anything
    try:
        return json.loads(str(text, "utf-8"))
    except (ValueError, RecursionError) as error:
        raise Malformed("a trial process sent a reply that is not JSON") from error


class Message(Struct, frozen=True):
    """A request to a child.

    Attributes:
        fields: any JSON value; each kind of child has its own.
        pieces: its bytes; for a child, a zero byte follows each piece, which readers of PTX need.
        file: the file whose requests may share a process; None: it shares none.
        slow: True if a worker gets only few of them at a time.
    """

    fields: Any
    pieces: Sequence[bytes]
    file: str | None = None
    slow: bool = True


def encode_requests(messages: Sequence[Message], cpu_seconds: float) -> list[Raw]:
    """Return a frame of requests as parts to write in order (no piece is copied)."""
    rows = [[message.fields, [len(piece) for piece in message.pieces]] for message in messages]
    pieces = [piece for message in messages for piece in message.pieces]
    return [head_of([cpu_seconds, rows], sum(map(len, pieces))), *pieces]


def read_requests(stream: BinaryIO) -> tuple[float, Iterator[Message]] | None:
    """Return CPU seconds and requests of the next frame of a blocking stream; None at its end.

    The caller must take all requests one by one, since each reads its pieces when it is taken.
    """
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    header_size, _ = _sizes(head, _NO_LIMIT, _NO_LIMIT)
    cpu_seconds, rows = _header(stream.read(header_size))
    return cpu_seconds, (
        Message(fields, [stream.read(size) for size in sizes]) for fields, sizes in rows
    )


class Report(Struct, frozen=True):
    """A child's reply to one request, and its output; usual values are left out of replies.

    Attributes:
        reply: the header of its frame.
        output: the body.
        fresh: True if the process had served no request before.
    """

    reply: Mapping[str, Any]
    output: bytes = b""
    fresh: bool = False


def log_of(reply: Mapping[str, Any]) -> str:
    """The library's logs, errors first, and its printed output."""
    found = [str(reply[key]) for key in ("error", "info", "printed") if key in reply]
    return "\n".join([log.rstrip("\n") for log in found if log])
