"""This machine as a deploy target, where something about it can't be read."""

from __future__ import annotations

import pytest
from samples import FOLDER

import ltocompat.commands.this_machine
from ltocompat.commands.check import check
from ltocompat.commands.this_machine import ThisMachine
from ltocompat.model.environment import Environment
from ltocompat.model.errors import LtocompatError, UnreadableInput
from ltocompat.model.target import THIS_MACHINE, Target
from ltocompat.targets.linkers import Machine
from ltocompat.targets.machine.python_environment import Installation

LIBRARY = str(FOLDER / "objects" / "libaxpy-no-device-link.so")  # it asks something of others


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> ThisMachine:
    """A machine on which every library goes away between its reading and its loading."""

    def gone(*_: object) -> None:
        raise UnreadableInput("it was there a moment ago")

    monkeypatch.setattr(ltocompat.commands.this_machine, "look_at", gone)
    packages = Installation("venv", "VIRTUAL_ENV", ())
    return ThisMachine(
        target=Target(name=THIS_MACHINE),
        machine=Machine.here(),
        environment=Environment(),
        installation=packages,
    )


def test_a_library_that_cannot_be_looked_at_is_an_error_and_is_still_judged(
    machine: ThisMachine,
) -> None:
    errors: list[LtocompatError] = []
    results = list(check(LIBRARY, [machine], on_error=errors.append))
    assert [result.path for result in results] == ["this-machine", LIBRARY]
    (error,) = errors
    assert isinstance(error, UnreadableInput)
    assert f"{LIBRARY!r} can't be followed: it was there a moment ago" in str(error)


def test_without_on_error_the_error_is_raised(machine: ThisMachine) -> None:
    with pytest.raises(UnreadableInput, match="a moment ago"):
        list(check(LIBRARY, [machine]))
