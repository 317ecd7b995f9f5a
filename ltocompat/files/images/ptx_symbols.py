"""The symbols of PTX text: what it defines for others, and what it leaves to them.

Measured with ptxas 13.0.88: a call of a function that has no body in the text is refused, even in a
function that nobody calls, and whether or not its declaration says ``.extern``; a declaration that
nothing uses is not. A variable that is declared ``.extern`` counts in a link even where nothing
uses it; without a link it is a warning.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

_IDENTIFIER = rb"[A-Za-z_$%][\w$]*"
_NAME = re.compile(_IDENTIFIER)
_FUNC = re.compile(rb"(?:\.(visible|weak|extern)\s+)?\.(func|entry)\b")
_HEAD = re.compile(
    # .attribute(.unified(1, 2)) and .noreturn stand in front of the name, and what is returned.
    rb"(?:\s*\.noreturn\b|\s*\.attribute\s*\((?:[^()]|\([^()]*\))*\))*"
    rb"\s*(?:\([^()]*\))?\s*(" + _IDENTIFIER + rb")"
)
_END_OF_HEAD = re.compile(rb"[;{]")
_BRACE = re.compile(rb"[{}]")
_ALIAS = re.compile(rb"\.alias\s+(" + _IDENTIFIER + rb")\s*,\s*(" + _IDENTIFIER + rb")")
_VARIABLE = re.compile(rb"\.(visible|weak|common|extern)\s+\.(global|const|shared)\b")
_BRACKET_OR_STOP = re.compile(rb"[(){}=,;]")


class PtxFunction(NamedTuple):
    """A declaration or definition of a function or a kernel.

    Attributes:
        name: its name.
        linkage: ``visible``, ``weak``, ``extern``, or nothing for one that no other object sees.
        is_kernel: it is an ``.entry``.
        head: where its name and parameters stand in the text, from and to.
        body: the same of its body; None for a declaration.
    """

    name: str
    linkage: str
    is_kernel: bool
    head: tuple[int, int]
    body: tuple[int, int] | None


class PtxSymbols(NamedTuple):
    """The symbols of PTX text, in the order of the text.

    Attributes:
        functions: every declaration and definition.
        aliases: other names of functions, and whose they are.
        undefined_variables: declared ``.extern``; not those in shared memory, whose size the launch
            decides.
        defined: what is ``.visible``.
        weak: what is ``.weak`` or ``.common``.
    """

    functions: tuple[PtxFunction, ...]
    aliases: dict[str, str]
    undefined_variables: tuple[str, ...]
    defined: tuple[str, ...]
    weak: tuple[str, ...]

    @property
    def bodiless(self) -> tuple[str, ...]:
        """Functions that are declared and nowhere defined."""
        there = {function.name for function in self.functions if function.body} | {*self.aliases}
        names = dict.fromkeys(function.name for function in self.functions)
        return tuple(name for name in names if name not in there)


def read(text: bytes) -> PtxSymbols:
    """The symbols of PTX text, of which the comments were taken away."""
    seen: dict[str, dict[str, None]] = {"visible": {}, "weak": {}, "extern": {}, "common": {}}
    aliases = {name.decode(): other.decode() for name, other in _ALIAS.findall(text)}
    functions = tuple(_functions(text))
    for function in functions:
        if function.linkage in ("visible", "weak") and (function.body or function.name in aliases):
            seen[function.linkage][function.name] = None
    for linkage, space, name in _variables(text):
        if linkage != "extern" or space != "shared":
            seen[linkage][name] = None
    return PtxSymbols(
        functions,
        aliases,
        tuple(name for name in seen["extern"] if name not in seen["visible"]),
        tuple(seen["visible"]),
        (*seen["weak"], *seen["common"]),
    )


def used(
    text: bytes, symbols: PtxSymbols, names: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those of the names that the text uses, and those of them that its kernels reach by calls."""
    bodies = {function.name: function.body for function in symbols.functions if function.body}
    wanted = {*names, *bodies, *symbols.aliases}
    uses = {name: _named(text, *body) & wanted for name, body in bodies.items()}
    uses.update((name, {other}) for name, other in symbols.aliases.items())
    reached: set[str] = set()
    waiting = [function.name for function in symbols.functions if function.is_kernel]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += uses.get(name, ())
    everywhere = set().union(*uses.values()) | _outside(text, symbols.functions)
    return (
        tuple(name for name in names if name in everywhere),
        tuple(name for name in names if name in reached),
    )


def _outside(text: bytes, functions: tuple[PtxFunction, ...]) -> set[str]:
    """The names that stand outside of functions, as those in initial values do."""
    found: set[str] = set()
    position = 0
    for function in functions:
        found |= _named(text, position, function.head[0])
        position = (function.body or function.head)[1]
    return found | _named(text, position, len(text))


def _named(text: bytes, start: int, end: int) -> set[str]:
    return {name.decode() for name in {match[0] for match in _NAME.finditer(text, start, end)}}


def _functions(text: bytes) -> Iterator[PtxFunction]:
    """Every function and kernel, declared or defined.

    What was read is never read again, so that hostile text takes no longer than other.
    """
    position = 0
    while (start := _FUNC.search(text, position)) is not None:
        end = _END_OF_HEAD.search(text, start.end())
        if end is None:
            return
        position = end.end() if end[0] == b";" else _behind_body(text, end.end())
        head = _HEAD.match(text, start.end(), end.start())
        if head is not None:
            yield PtxFunction(
                head[1].decode(),
                (start[1] or b"").decode(),
                start[2] == b"entry",
                (start.start(), end.end()),
                None if end[0] == b";" else (end.end(), position),
            )


def _behind_body(text: bytes, position: int) -> int:
    """Behind the brace that closes one which was opened in front of a position."""
    depth = 1
    for brace in _BRACE.finditer(text, position):
        depth += 1 if brace[0] == b"{" else -1
        if not depth:
            return brace.end()
    return len(text)


def _variables(text: bytes) -> Iterator[tuple[str, str, str]]:
    """Linkage, state space and name of each variable that others see; a line may hold several."""
    position = 0
    while (start := _VARIABLE.search(text, position)) is not None:
        position, stop = start.end(), b","
        while stop == b",":
            before = position
            position, stop = _next_stop(text, position)
            words = text[before : position - 1].split(b"[", 1)[0].split()
            if words and _NAME.fullmatch(words[-1]):
                yield start[1].decode(), start[2].decode(), words[-1].decode()
            if stop == b"=":
                position, stop = _next_stop(text, position)


def _next_stop(text: bytes, position: int) -> tuple[int, bytes]:
    """Behind the next ``=``, ``,`` or ``;`` outside of brackets; at the end of text, ``;``."""
    depth = 0
    for found in _BRACKET_OR_STOP.finditer(text, position):
        if found[0] in b"({":
            depth += 1
        elif found[0] in b")}":
            depth -= 1
        elif depth <= 0:
            return found.end(), found[0]
    return len(text) + 1, b";"
