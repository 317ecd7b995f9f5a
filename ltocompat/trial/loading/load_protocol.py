"""Requests to load as frames (see ``protocol``), and the numbers of the steps in the notes."""

from __future__ import annotations

from typing import Any, BinaryIO, NamedTuple

from ltocompat.trial import protocol
from ltocompat.trial.loading.values import Argument, Launch, LoadRequest

# 0 is ``protocol.AT_REST``.
AT_START, AT_LOAD, AT_FUNCTION, AT_LAUNCH, AT_UNLOAD = range(1, 6)


class LoadFrame(NamedTuple):
    """A request as the child reads it.

    Attributes:
        data: the module; its bytes object ends with a zero byte of its own, as PTX must.
        gpu: index of the GPU.
        kernels: names to ask for.
        launch: see ``LoadRequest``.
    """

    data: bytes
    gpu: int
    kernels: list[str]
    launch: Launch | None


def encode_request(request: LoadRequest, gpu: int) -> list[protocol.Raw]:
    """One module for one GPU, as parts to write one after the other (the data aren't copied)."""
    launch = request.launch
    buffers = launch.buffers if launch else ()
    header: dict[str, Any] = {"gpu": gpu, "kernels": request.kernels, "size": len(request.data)}
    if launch:
        # A buffer is told by its size, in a list so that it is no number.
        arguments = [[len(a)] if isinstance(a, bytes) else a for a in launch.arguments]
        header["launch"] = [launch.kernel, launch.blocks, launch.threads, arguments]
    size = len(request.data) + sum(map(len, buffers))
    return [protocol.head_of(header, size), request.data, *buffers]


def read_request(stream: BinaryIO) -> LoadFrame | None:
    """The next request of a blocking stream; None at its end."""
    frame = protocol.read_frame(stream)
    if frame is None:
        return None
    header = frame.header
    position = int(header["size"])
    data = bytes(frame.body[:position])
    launch = None
    if "launch" in header:
        kernel, blocks, threads, given = header["launch"]
        arguments: list[Argument] = []
        for value in given:
            if isinstance(value, list):
                arguments.append(bytes(frame.body[position : position + value[0]]))
                position += value[0]
            else:
                arguments.append(value)
        launch = Launch(kernel, blocks, threads, tuple(arguments))
    return LoadFrame(data, header["gpu"], header["kernels"], launch)
