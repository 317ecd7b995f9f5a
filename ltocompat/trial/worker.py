"""A child that links with one nvJitLink, seen from its parent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ltocompat.model.arch import Release
from ltocompat.trial import child, protocol
from ltocompat.trial.process import Process
from ltocompat.trial.values import Request, TrialLimits

PROGRAM: tuple[str, ...] = ("-m", child.__name__)


class Worker(Process):
    """One child with one nvJitLink.

    Attributes:
        release: version of the library, None until the child has loaded it.
    """

    def __init__(self, library: str, limits: TrialLimits, *, fresh: bool) -> None:
        self.release: Release | None = None
        super().__init__((*PROGRAM, library), library, limits, fresh=fresh)

    def greet(self) -> Release:
        """Wait until the child has loaded the library; its version.

        Raises:
            TrialImpossible: it can't.
        """
        self.wait_ready()
        assert self.release is not None  # noqa: S101 - hello() has set it
        return self.release

    def hello(self, header: dict[str, Any]) -> None:
        """See ``Process``."""
        super().hello(header)
        self.release = Release(*header["release"])

    def send(self, requests: Sequence[Request], *, idle: bool) -> None:
        """Queue a frame of requests, and write what the pipe takes."""
        self.send_parts(protocol.encode_requests(requests), idle=idle)
