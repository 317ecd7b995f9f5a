"""Runs ltocompat as on Windows or macOS: without the modules and names that Python lacks there.

    python tests/another_system.py win32 '["inspect", "FILE"]' '["linkers", "list"]'

prints a JSON array [exit code, stdout, stderr] a line for each command.

What is lacking is taken from the type stubs of the standard library that come with mypy. Packages
that others wrote are imported before, since they choose their code by the system. Paths, files and
processes stay those of Linux.
"""

from __future__ import annotations

import ast
import importlib
import json
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.abc import MetaPathFinder
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import click._termui_impl
import mypy

STUBS = Path(mypy.__file__).parent / "typeshed" / "stdlib"
PARTLY_THERE = ("os", "select", "signal", "mmap", "time")
"""Modules that ltocompat uses and that are smaller elsewhere."""
WHOLLY_POSIX = ("fcntl", "grp", "pwd", "resource", "termios")
KEPT = {"SIGKILL", "WNOHANG", "WIFSTOPPED", "WSTOPSIG", "waitpid", "kill", "killpg"}
"""What Python's own subprocess needs on Linux."""
LOADED = (click._termui_impl, shutil, subprocess, zipfile)  # noqa: SLF001


def defined(module: str, platform: str) -> set[str]:
    """The names that a module of the standard library has on a platform."""
    path = STUBS / f"{module}.pyi"
    path = path if path.exists() else STUBS / module / "__init__.pyi"
    return set(_names(ast.parse(path.read_text("utf-8")).body, platform))


def _names(body: Sequence[ast.stmt], platform: str) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, ast.If):
            yield from _names(
                statement.body if _holds(statement.test, platform) else statement.orelse, platform
            )
        elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield statement.name
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id
        elif isinstance(statement, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in statement.names)


def _holds(test: ast.expr, platform: str) -> bool:
    """Whether a condition of a stub holds: they ask for the platform and for Python's version."""
    condition = compile(ast.Expression(test), "stub", "eval")
    names = {"sys": SimpleNamespace(platform=platform, version_info=sys.version_info)}
    return bool(eval(condition, names))  # noqa: S307 - the stubs of mypy


class Lacking(MetaPathFinder):
    """Finds modules nowhere."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._modules = modules

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        del path, target
        if name in self._modules:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def become(platform: str) -> None:
    """Take from this process what ``platform`` lacks."""
    sysconfig.get_config_vars()  # read from a file that is called after the platform
    for module in PARTLY_THERE:
        for name in defined(module, "linux") - defined(module, platform) - KEPT:
            vars(importlib.import_module(module)).pop(name, None)
    if platform == "win32":
        for module in WHOLLY_POSIX:
            sys.modules.pop(module, None)
        sys.meta_path.insert(0, Lacking(WHOLLY_POSIX))
    sys.platform = platform


def outcome(words: Sequence[str]) -> tuple[int, str, str]:
    """What a command ends in, and what it writes."""
    from ltocompat.cli import main

    sys.argv = ["ltocompat", *words]
    code = 0
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue(), err.getvalue()


if __name__ == "__main__":
    become(sys.argv[1])
    for command in sys.argv[2:]:
        sys.stdout.write(f"{json.dumps(outcome(json.loads(command)))}\n")
