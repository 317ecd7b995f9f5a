"""conda-lock.yml and pixi.lock -> pins; the extra ``yaml`` brings the reader of both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from ltocompat.model.errors import Missing, UsageError
from ltocompat.model.target import System
from ltocompat.targets.pins import Pin, is_wanted
from ltocompat.targets.text_file import read_text

Table = dict[str, Any]

_SUBDIRS = {
    ("linux", "x86_64"): "linux-64",
    ("linux", "aarch64"): "linux-aarch64",
    ("windows", "x86_64"): "win-64",
    ("windows", "aarch64"): "win-arm64",
}


def read_conda_lock(path: str, system: System) -> tuple[Pin, ...]:
    """The packages of a conda-lock.yml or a pixi.lock that a system gets.

    Of a pixi.lock that is the environment ``default``, or where it has none, any of its others.

    Args:
        path: the file.
        system: of the target; WSL2 is a Linux to conda.

    Raises:
        UsageError: it can't be read, or hasn't the structure of one.
        Missing: no reader of YAML is installed.
    """
    lock = _table(_load(path))
    subdir = _SUBDIRS["linux" if system.name == "wsl2" else system.name, system.machine]
    pins = _of_pixi(lock, subdir) if "environments" in lock else _of_conda_lock(lock, subdir)
    return tuple(dict.fromkeys(pins))


def _load(path: str) -> object:
    try:
        import yaml
    except ModuleNotFoundError:
        raise Missing(
            f"no reader of YAML is installed for {path}; run pip install 'ltocompat[yaml]'"
        ) from None
    text = read_text(path)
    try:
        return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(getattr(error, "problem", None) or "nested too deeply").split())
        raise UsageError(f"{path} is not a YAML file: {reason[:200]}; mend it") from error


def _of_conda_lock(lock: Table, subdir: str) -> Iterator[Pin]:
    for package in map(_table, _list(lock.get("package"))):
        if package.get("platform") == subdir:
            yield from _pin(_text(package.get("name")), _text(package.get("version")))


def _of_pixi(lock: Table, subdir: str) -> Iterator[Pin]:
    names = {subdir}
    for platform in _list(lock.get("platforms")):  # since version 7, with names of one's own
        if isinstance(platform, dict) and platform.get("subdir") == subdir:
            names.add(_text(platform.get("name")))
    environments = _table(lock.get("environments"))
    wanted = [environments["default"]] if "default" in environments else environments.values()
    for environment in map(_table, wanted):
        packages = _table(environment.get("packages"))
        for name in sorted(names & packages.keys()):
            for package in map(_table, _list(packages[name])):
                yield from _of_address(package)


def _of_address(package: Table) -> Iterator[Pin]:
    """What the file's name says: ``libnvjitlink-12.9.86-h5888daf_0.conda``, or that of a wheel."""
    if "conda" in package:
        name, _, rest = _file(package["conda"]).rpartition("-")[0].rpartition("-")
        yield from _pin(name, rest)
    elif "pypi" in package:
        name, version, *_ = (*_file(package["pypi"]).split("-"), "", "")
        yield from _pin(name.replace("_", "-"), version)


def _file(address: object) -> str:
    return unquote(_text(address).partition("#")[0].rpartition("/")[2])


def _pin(name: str, version: str) -> Iterator[Pin]:
    if is_wanted(name.lower()):
        yield Pin(name.lower(), f"=={version}" if version else "")


def _table(value: object) -> Table:
    if value is None or isinstance(value, dict):
        return value or {}
    raise _broken(value, "a table")


def _list(value: object) -> list[Any]:
    if value is None or isinstance(value, list):
        return value or []
    raise _broken(value, "a list")


def _text(value: object) -> str:
    if value is None or isinstance(value, str | int | float):
        return "" if value is None else str(value)
    raise _broken(value, "a text")


def _broken(value: object, wanted: str) -> UsageError:
    # The file may lead anywhere: what stands in it is not quoted.
    kind = type(value).__name__
    return UsageError(f"a value of type {kind} stands where {wanted} belongs; make the lock anew")
