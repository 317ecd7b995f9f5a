"""Which lines of a reader its inputs reach: by ``sys.monitoring`` (3.12), else by a trace.

Only lines inside functions count: those of modules and classes run when they are imported.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

Line = tuple[str, int]
"""A file and the number of a line in it."""


class Lines:
    """Collects the lines of some files that run, each once.

    Args:
        files: paths of the files.
        without: names of functions that don't count, by the file.
    """

    def __init__(
        self, files: Iterable[str], without: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        apart = without or {}
        self.wanted = {file: lines_of(Path(file), apart.get(file, ())) for file in files}
        self.hit: set[Line] = set()

    def start(self) -> None:
        """Begin to collect."""
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            sys.settrace(self._call)
            return
        tool = monitoring.COVERAGE_ID
        if monitoring.get_tool(tool) is None:
            monitoring.use_tool_id(tool, "fuzz")

        def line(code: CodeType, number: int) -> object:
            if code.co_filename in self.wanted:
                self.hit.add((code.co_filename, number))
            return monitoring.DISABLE

        monitoring.register_callback(tool, monitoring.events.LINE, line)
        monitoring.restart_events()
        monitoring.set_events(tool, monitoring.events.LINE)

    def stop(self) -> None:
        """Collect no more."""
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            sys.settrace(None)
        else:
            monitoring.set_events(monitoring.COVERAGE_ID, 0)

    def _call(self, frame: FrameType, _: str, __: object) -> Any:  # noqa: ANN401 - a trace function
        code = frame.f_code
        lines = self.wanted.get(code.co_filename)
        if lines is None:
            return None
        hit, name = self.hit, code.co_filename
        if all((name, number) in hit for number in _own_lines(code)):
            return None

        def line(frame: FrameType, event: str, _: object) -> Any:  # noqa: ANN401 - the same
            if event == "line":
                hit.add((name, frame.f_lineno))
            return line

        return line


@functools.cache
def lines_of(path: Path, without: tuple[str, ...] = ()) -> frozenset[int]:
    """Lines of a file that are in functions, but for those with these names."""
    module = compile(path.read_text("utf-8"), str(path), "exec")
    return frozenset(line for code in _functions(module, without) for line in _own_lines(code))


def by_function(path: Path, lines: Iterable[int]) -> dict[str, list[int]]:
    """Lines of a file by the name of the innermost function that each is in, in their order."""
    module = compile(path.read_text("utf-8"), str(path), "exec")
    names = {line: code.co_name for code in _functions(module, ()) for line in _own_lines(code)}
    found: dict[str, list[int]] = {}
    for line in sorted(lines):
        found.setdefault(names[line], []).append(line)
    return found


def _functions(code: CodeType, without: tuple[str, ...]) -> Iterator[CodeType]:
    if code.co_name in without:
        return
    if code.co_flags & inspect.CO_OPTIMIZED:
        yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _functions(inner, without)


_cached: dict[CodeType, frozenset[int]] = {}


def _own_lines(code: CodeType) -> frozenset[int]:
    """Lines of one function, without that of its name."""
    if code not in _cached:
        lines = {line for _, _, line in code.co_lines() if line}
        if not code.co_name.startswith("<"):
            lines.discard(code.co_firstlineno)
        _cached[code] = frozenset(lines)
    return _cached[code]


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as ``3-5 9``."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)
