"""The tables of a policy; every complaint about them names file and key."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from ltocompat.commands.policy.key_list import EXCEPTIONS, PolicyTables, keys_of_tables
from ltocompat.model.errors import UsageError, did_you_mean, restated
from ltocompat.model.generic import R, T
from ltocompat.targets.text_file import OwnTables

_SHOWN = 60
_FIELD = re.compile(r"Object (missing required|contains unknown) field `(.*)`", re.DOTALL)
_NUMBERS = re.compile(r"\[[0-9.]+\]")


class PolicyFile(OwnTables, frozen=True):
    """The tables of a policy as written."""

    def read(self) -> PolicyTables:
        """Return the tables with all values converted to their types.

        Raises:
            UsageError: a key is unknown or missing, or a value is invalid.
        """
        try:
            # A tuple, so that every complaint has a place.
            return msgspec.convert((self.tables,), tuple[PolicyTables])[0]
        except msgspec.ValidationError as error:
            text, _, place = str(error).rpartition(" - at `$[0]")
            raise self._complaint(text, place.strip("`.")) from error

    def _complaint(self, text: str, place: str) -> UsageError:
        """The error for what msgspec says of a place: ``audit.ignore[0].path``."""
        field = _FIELD.fullmatch(text)
        if field is None:
            key = re.sub(rf"({_NUMBERS.pattern})+$", "", place)
            return self.wrong(key, f"is {_brief(self._value(key))}")
        keys = keys_of_tables().get(_NUMBERS.sub("", place), ())
        if field[1].startswith("missing"):
            there: Any = self._value(place)
            missing = [key for key in keys if not key.default and key.name not in there]
            names = ", no ".join(key.name for key in missing)
            lines = ", ".join(f"{key.name} = {key.example}" for key in missing)
            return UsageError(f"{self.path}: {place} has no {names}; write {lines}")
        known = [key.name for key in keys]
        known = known or [*PolicyTables.__struct_fields__]
        title = place if "[" in place else self.header(place) if place else self.title
        near = did_you_mean(field[2], known)
        return UsageError(
            f"{self.path}: {title} has no key {field[2][:_SHOWN]!r}{near}; the keys are "
            f"{', '.join(known)}"
        )

    def _value(self, place: str) -> object:
        value: Any = self.tables
        for name, number in re.findall(r"([\w-]+)|\[([0-9]+)\]", place):
            value = value[name or int(number)]
        return value

    def parsed(self, place: str, parse: Callable[[R], T], value: R) -> T:
        """Parse the value of a key; errors name the key.

        Raises:
            UsageError: it is invalid.
        """
        with restated(UsageError, f"{self.path}: {place}", UsageError):
            return parse(value)

    def wrong(self, place: str, text: str, remedy: str = "") -> UsageError:
        """Return the error for a key with an invalid value; the remedy is the key's example."""
        return UsageError(f"{self.path}: {place} {text}; {remedy or self._example(place)}")

    def _example(self, place: str) -> str:
        table, _, name = _NUMBERS.sub("", place).rpartition(".")
        key = next((key for key in keys_of_tables().get(table, ()) if key.name == name), None)
        if key is None or not key.example:
            header = self.header(place)
            return f"write a table {f'[{header}]' if name in EXCEPTIONS else header}"
        words = " | ".join(f'"{word}"' for word in key.words if word)
        return f"write {name} = {words or key.example}"


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 2] + ".."
