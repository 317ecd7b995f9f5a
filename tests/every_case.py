"""One test for many small cases: thousands of tests would cost more than what they look at."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable

Test = Callable[..., None]


def every(name: str, cases: Iterable[object]) -> Callable[[Test], Test]:
    """Run a test on each of many cases; whatever fails is named, and none hides another.

    Args:
        name: the parameter of the test that takes a case, or several by commas, of a case each.
        cases: its values.
    """
    names = name.split(", ")

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def on_every_case(**fixtures: object) -> None:
            errors = []
            for case in cases:
                try:
                    values = case if isinstance(case, tuple) and len(names) > 1 else (case,)
                    test(**dict(zip(names, values, strict=True)), **fixtures)
                except Exception as error:  # noqa: BLE001 - raised below
                    error.add_note(f"{name}: {_name(case)}")
                    errors.append(error)
            if errors:
                raise ExceptionGroup(f"of {test.__name__}", errors)

        signature = inspect.signature(test)
        fixtures = [each for each in signature.parameters.values() if each.name not in names]
        on_every_case.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=fixtures
        )
        return on_every_case

    return decorate


def _name(case: object) -> object:
    return getattr(case, "name", None) or getattr(case, "id", None) or case
