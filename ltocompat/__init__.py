"""Tell, before you ship, whether CUDA device code will link and load on users' machines.

>>> import ltocompat
>>> for record in ltocompat.inspect("libexample.so"):  # doctest: +SKIP
...     if isinstance(record, ltocompat.Module):
...         for image in record.images:
...             print(image.place, image.kind, image.arch, *image.made_by)
"""

import functools
import importlib
import pkgutil
import re
from typing import Any

from ltocompat.model.version import VERSION

__version__ = VERSION


@functools.cache
def _stub() -> str:
    """The stub, where types are checked against the names that are read from it."""
    return (pkgutil.get_data(__name__, "__init__.pyi") or b"").decode()


@functools.cache
def _modules() -> dict[str, str]:
    """The module of each public name; functions that take options are in that of their name."""
    verbs = re.findall(r"(?m)^def (\w+)", _stub())
    return {name: f"ltocompat.commands.{name}" for name in verbs} | {
        name: module
        for module, names in re.findall(r"(?m)^from (\S+) import (\([^)]*\)|.*)$", _stub())
        for name in re.findall(r" as (\w+)", names)
    }


def __dir__() -> list[str]:
    return sorted(_modules())


# The use cases import every part of the package; a program that only asks for help, or for
# a few values, as the processes of trials do, need not wait for that.
def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    if name == "__all__":
        return __dir__()
    if name.startswith("__") or name not in _modules():
        raise AttributeError(f"module 'ltocompat' has no attribute {name!r}")
    value = getattr(importlib.import_module(_modules()[name]), name)
    globals()[name] = value  # the next access does not come here
    return value
