"""What tells one sort of trial from another: its program, its requests, what its replies mean."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from ltocompat.trial.protocol import Message, Report

RequestT = TypeVar("RequestT")
AnswerT = TypeVar("AnswerT")

_NOTHING: Mapping[str, str] = MappingProxyType({})


class TrialKind(ABC, Generic[RequestT, AnswerT]):
    """One sort of trial.

    Attributes:
        program: the child's program as Python takes it, and its arguments but for the settings.
        subject: what a child loads, for sentences.
        environ: environment variables that a child gets beside our own.
        greeting: what the first child found out about its library; empty before that.
    """

    def __init__(
        self, program: Sequence[str], subject: str, environ: Mapping[str, str] = _NOTHING
    ) -> None:
        self.program = tuple(program)
        self.subject = subject
        self.environ = environ
        self.greeting: Mapping[str, Any] = {}

    @abstractmethod
    def encode(self, request: RequestT) -> Message:
        """The request as a child reads it."""

    @abstractmethod
    def judge(self, request: RequestT, report: Report) -> AnswerT:
        """The answer that a report amounts to, not yet confirmed."""

    @abstractmethod
    def failed(self, answer: AnswerT) -> bool:
        """Whether to ask again in a process that never served a request, before this is told."""

    @abstractmethod
    def confirm(self, first: AnswerT, second: AnswerT) -> AnswerT:
        """The answer of that process, and whether it says what the used one said."""

    def slow(self, request: RequestT) -> bool:
        """Whether it is sent alone; others travel together."""
        del request
        return True

    def spoils(self, answer: AnswerT) -> bool:
        """Whether a process that came to this answer can't serve another request."""
        del answer
        return False
