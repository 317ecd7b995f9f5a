"""One table of a policy; every complaint about it names file and key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from ltocompat.commands.policy.key_list import TABLES
from ltocompat.model.errors import UsageError, did_you_mean

_SHOWN = 60
_PATTERNS = '["libcudart.so.*"]'  # of what another package provides, by the name of that

T = TypeVar("T")


class PolicyTable(Struct, frozen=True):
    """A table.

    Attributes:
        path: the file.
        key: the way to it: ``audit.ignore[0]``; empty at the top.
        values: its keys and values.
        title: what to call it.
    """

    path: str
    key: str
    values: dict[str, Any]
    title: str

    def only(self, known: Iterable[str]) -> None:
        """See that it has no other keys.

        Raises:
            UsageError: it has.
        """
        known = tuple(known)
        for key in self.values:
            if key not in known:
                near = did_you_mean(key, known)
                raise UsageError(
                    f"{self.path}: {self.title} has no key {key[:_SHOWN]!r}{near}; known are "
                    f"{', '.join(known)}"
                )

    def table(self, key: str) -> dict[str, Any]:
        """A table in it; empty where it is not there.

        Raises:
            UsageError: it is not a table.
        """
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, f"is {_brief(value)}", f"write a table [{key}]")
        return value

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of texts, none of them blank; None where it is not there.

        Raises:
            UsageError: it is anything else.
        """
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or not all(
            isinstance(each, str) and each.strip() for each in value
        ):
            raise self.wrong(key, f"is {_brief(value)}")
        return tuple(value)

    def text(self, key: str) -> str:
        """A text that must be there, and not be empty.

        Raises:
            UsageError: it isn't so.
        """
        value = self.values.get(key)
        if value is None:
            raise UsageError(f"{self.path}: {self.key} has no {key}; {self._as_in_list(key)}")
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(key, f"is {_brief(value)}")
        return value.strip()

    def flag(self, key: str) -> bool:
        """A truth value; false where it is not there.

        Raises:
            UsageError: it is anything else.
        """
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, f"is {value!r}")
        return value

    def number(self, key: str, least: int, most: int | None = None) -> int | None:
        """A whole number within bounds; None where it is not there.

        Raises:
            UsageError: it is anything else, or beyond them.
        """
        value = self.values.get(key)
        if value is None:
            return None
        # A truth value is a number for Python.
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or value < least or (most is not None and value > most):
            raise self.wrong(key, f"is {_brief(value)}")
        return int(value)

    def choice(self, key: str, choices: Mapping[str, T], default: T) -> T:
        """The value that the word of a key stands for; ``default`` where the key is not there.

        Raises:
            UsageError: it is none of these words.
        """
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, str) or value not in choices:
            known = " | ".join(f'"{word}"' for word in choices if word)
            raise self.wrong(key, f"is {value!r}", f"write {key} = {known}")
        return choices[value]

    def parsed(self, key: str, parse: Callable[[], T]) -> T:
        """Parse the value of a key; errors say which key it was.

        Raises:
            UsageError: it has no meaning.
        """
        try:
            return parse()
        except UsageError as error:
            raise UsageError(f"{self.path}: {self.key}.{key}: {error}") from error

    def wrong(self, key: str, text: str, remedy: str = "") -> UsageError:
        """The error for a key whose value has no meaning; the remedy is the example of its list."""
        where = f"{self.key}.{key}" if self.key else key
        return UsageError(f"{self.path}: {where} {text}; {remedy or self._as_in_list(key)}")

    def _as_in_list(self, key: str) -> str:
        keys = TABLES.get(re.sub(r"\[[0-9]+\]", "", self.key), ())
        examples = (each.example for each in keys if each.name == key)
        return f"write {key} = {next(examples, _PATTERNS)}"


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 2] + ".."
