"""Promises of a project on its packages: ``[tool.ltocompat.promise]`` -> a value.

In a pyproject.toml the table is ``[tool.ltocompat.promise]``, in an ltocompat.toml ``[promise]``::

    [tool.ltocompat.promise]
    sass = ["sm_80", "sm_90"]    # SASS for these is inside
    ptx = ["compute_90"]         # and PTX for these
    driver = "525.60.13"         # all of it loads from this driver on
    nvjitlink = "12.4"           # and links from this nvJitLink on
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from ltocompat.model.arch import ArchForm, Release, SmArch
from ltocompat.model.errors import UsageError
from ltocompat.model.target import DriverVersion

if TYPE_CHECKING:
    from ltocompat.targets.text_file import OwnTables

T = TypeVar("T")
PROMISE_KEYS = ("sass", "ptx", "driver", "nvjitlink")
_FORMS = {"sass": ArchForm.REAL, "ptx": ArchForm.VIRTUAL}


class Promise(Struct, frozen=True):
    """The promise of a project.

    Attributes:
        source: the file that says so.
        sass: architectures that it has SASS for.
        ptx: architectures that it has PTX for.
        driver: the least driver; None for no promise.
        nvjitlink: the least nvJitLink; None for no promise.
    """

    source: str
    sass: tuple[SmArch, ...] = ()
    ptx: tuple[SmArch, ...] = ()
    driver: DriverVersion | None = None
    nvjitlink: Release | None = None


def read_promise(path: str) -> Promise | None:
    """The promise in a TOML file; None where it makes none.

    Raises:
        UsageError: the file can't be read, has an unknown key, or a value that means nothing; the
            text names file and key.
    """
    # Imported here: most runs read no promise.
    from ltocompat.targets.text_file import own_tables
    from ltocompat.targets.versions.drivers import least_driver
    from ltocompat.targets.versions.releases import exact_release

    found = own_tables(path)
    table = (found.tables or {}).get("promise")
    if table is None:
        return None
    header = found.header("promise")
    if not isinstance(table, dict):
        raise UsageError(f"{path}: promise is not a table; write {header} with sass = [...]")
    for key in table:
        if key not in PROMISE_KEYS:
            near = difflib.get_close_matches(str(key)[:100], PROMISE_KEYS, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(PROMISE_KEYS)}"
            raise UsageError(f"{path}: {header} has no key {key!r}; {hint}")
    return Promise(
        path,
        _archs(found, "sass", table.get("sass", [])),
        _archs(found, "ptx", table.get("ptx", [])),
        _version(found, "driver", least_driver, 'driver; write driver = "525.60.13"'),
        # A number with a point is none: 12.10 would be read as 12.1.
        _version(
            found,
            "nvjitlink",
            lambda value: exact_release("nvjitlink", value if isinstance(value, str) else ""),
            'release; write nvjitlink = "12.4"',
        ),
    )


def _wrong(tables: OwnTables, key: str, text: str) -> UsageError:
    """The error for a key whose value has no meaning."""
    return UsageError(f"{tables.path}: {key} in {tables.header('promise')}{text}")


def _archs(tables: OwnTables, key: str, value: object) -> tuple[SmArch, ...]:
    form = _FORMS[key]
    example = f'write {key} = ["{form}_80", "{form}_90"]'
    if not isinstance(value, list):
        raise _wrong(tables, key, f" is not a list; {example}")
    found = []
    for record in value:
        text = str(record) if isinstance(record, str | int) and not isinstance(record, bool) else ""
        try:
            arch = SmArch.parse(text, form)
        except UsageError as error:
            text = f": {record!r} is not an architecture; {example}"
            raise _wrong(tables, key, text) from error
        if arch.form is not form:
            raise _wrong(tables, key, f" takes no {arch}; {example}")
        found.append(arch)
    return tuple(dict.fromkeys(found))


def _version(tables: OwnTables, key: str, read: Callable[[Any], T], what: str) -> T | None:
    """A version; ``what`` it would be, and how that is written."""
    value = (tables.tables or {})["promise"].get(key)
    try:
        return None if value is None else read(value)
    except UsageError as error:
        raise _wrong(tables, key, f" is {value!r}, which is no {what}") from error
