"""Requests to load as messages (see ``protocol``), and the numbers of the steps in the notes."""

from __future__ import annotations

from typing import Any, NamedTuple

from ltocompat.trial.loading.values import Argument, Launch, LoadRequest
from ltocompat.trial.protocol import Message

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


def encode(request: LoadRequest, gpu: int) -> Message:
    """One module for one GPU."""
    launch = request.launch
    fields: dict[str, Any] = {"gpu": gpu, "kernels": request.kernels}
    if launch:
        # null stands for the next buffer, which is a piece.
        arguments = [None if isinstance(a, bytes) else a for a in launch.arguments]
        fields["launch"] = [launch.kernel, launch.blocks, launch.threads, arguments]
    return Message(fields, [request.data, *(launch.buffers if launch else ())])


def decode(message: Message) -> LoadFrame:
    """The reverse of ``encode``."""
    fields = message.fields
    data, *buffers = message.pieces
    launch = None
    if "launch" in fields:
        kernel, blocks, threads, given = fields["launch"]
        rest = iter(buffers)
        arguments: list[Argument] = [next(rest) if value is None else value for value in given]
        launch = Launch(kernel, blocks, threads, tuple(arguments))
    return LoadFrame(data, fields["gpu"], fields["kernels"], launch)
