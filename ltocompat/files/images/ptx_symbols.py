"""The functions and variables of PTX text: what it defines, and what it leaves to others.

Measured with ptxas 13.0.88: a call of a function that has no body in the text is refused, even in a
function that nobody calls, and whether or not its declaration says ``.extern``; a declaration that
nothing uses is not. A variable that is declared ``.extern`` counts in a link even where nothing
uses it; without a link it is a warning.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from ltocompat.files.byteview import offsets
from ltocompat.files.images.ptx import SPEED
from ltocompat.model.limits import KIB, Budget

# Attributes, what is returned and the name stand in front of the parameters.
_BEFORE_NAME = 64 * KIB

_IDENTIFIER = rb"[A-Za-z_$%][\w$]*"
_NAME = re.compile(_IDENTIFIER)
_IN_WORD = re.compile(rb"[\w$%]")
_WHOLE_WORDS = re.compile(rb".{1,65536}[\w$%]*+", re.DOTALL)
_FUNC = re.compile(rb"\.(func|entry)\b")
_LINKAGES = (b".visible", b".weak", b".extern")
_HEAD = re.compile(
    # .attribute(.unified(1, 2)) and .noreturn stand in front of the name, and what is returned.
    rb"(?:\s*+\.noreturn\b|\s*+\.attribute\s*+\((?:[^()]|\([^()]*+\))*+\))*+"
    rb"\s*+(?:\(([^()]*+)\))?\s*+(" + _IDENTIFIER + rb")(?:\s*+\(([^()]*+)\))?"
)
_TYPE = re.compile(rb"\.([busf])(8|16|32|64|128)\b")
_LENGTH = re.compile(rb"\[\s*(\d*)\s*\]")
_LETTERS = {b"8": "b", b"16": "h", b"32": "i", b"64": "l", b"128": "x", b"f32": "f", b"f64": "d"}
_END_OF_HEAD = re.compile(rb"[;{]")
_ALIAS = re.compile(rb"\.alias\s+(" + _IDENTIFIER + rb")\s*,\s*(" + _IDENTIFIER + rb")")
_VARIABLE = re.compile(rb"\.(visible|weak|common|extern)\s+\.(global|const|shared)\b")
_BRACKET_OR_STOP = re.compile(rb"[(){}=,;]")


class PtxFunction(Struct, frozen=True):
    """A declaration or definition of a function or a kernel.

    Attributes:
        name: its name.
        linkage: ``visible``, ``weak``, ``extern``, or empty if no other object sees it.
        is_kernel: True for an ``.entry``.
        head: begin and end of its name and parameters in the text.
        body: begin and end of its body; None for a declaration.
        prototype: its result and parameters, as in cubins.
    """

    name: str
    linkage: str
    is_kernel: bool
    head: tuple[int, int]
    body: tuple[int, int] | None
    prototype: str


class PtxSymbols(Struct, frozen=True):
    """The symbols of PTX text, in the order of the text.

    Attributes:
        functions: every declaration and definition.
        aliases: other names of functions, with the functions.
        undefined_variables: variables that are ``.extern``, without dynamic shared memory.
        defined: names that are ``.visible``.
        weak: names that are ``.weak`` or ``.common``.
    """

    functions: tuple[PtxFunction, ...]
    aliases: dict[str, str]
    undefined_variables: tuple[str, ...]
    defined: tuple[str, ...]
    weak: tuple[str, ...]

    @property
    def kernels(self) -> tuple[str, ...]:
        """Kernels that are defined."""
        return tuple(f.name for f in self.functions if f.is_kernel and f.body)

    @property
    def bodiless(self) -> tuple[str, ...]:
        """Functions that are declared but not defined."""
        there = {function.name for function in self.functions if function.body} | {*self.aliases}
        names = dict.fromkeys(function.name for function in self.functions)
        return tuple(name for name in names if name not in there)


def read(text: bytes, budget: Budget) -> PtxSymbols:
    """Return the symbols of PTX text without comments."""
    budget.check_call(len(text), SPEED)
    seen: dict[str, dict[str, None]] = {"visible": {}, "weak": {}, "extern": {}, "common": {}}
    named = (_ALIAS.match(text, at) for at in budget.timed(offsets((b".alias",), text)))
    aliases = {alias[1].decode(): alias[2].decode() for alias in named if alias is not None}
    functions = tuple(_functions(text, budget))
    for function in functions:
        if function.linkage in ("visible", "weak") and (function.body or function.name in aliases):
            seen[function.linkage][function.name] = None
    for linkage, space, name in _variables(text, budget):
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
    text: bytes, symbols: PtxSymbols, names: Collection[str], budget: Budget
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names that the text uses, and the ones that its kernels reach by calls."""
    functions = symbols.functions
    uses: dict[str, set[str]] = {each.name: set() for each in functions if each.body}
    uses.update((name, {other}) for name, other in symbols.aliases.items())
    everywhere: set[str] = set()
    heads = [function.head[0] for function in functions]
    for at, name in _mentions(text, sorted({*names, *uses}), budget):
        number = bisect(heads, at)
        before = functions[number - 1] if number else None
        if before is None or at >= (before.body or before.head)[1]:
            everywhere.add(name)  # outside of functions, as in initial values
        elif before.body and at >= before.body[0]:
            uses[before.name].add(name)
    reached: set[str] = set()
    waiting = [function.name for function in functions if function.is_kernel]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += uses.get(name, ())
    everywhere.update(*uses.values())
    return (
        tuple(name for name in names if name in everywhere),
        tuple(name for name in names if name in reached),
    )


def _mentions(text: bytes, names: Sequence[str], budget: Budget) -> Iterator[tuple[int, str]]:
    """Yield each place where one of these names stands as a word of its own.

    They are searched all at once: a text of megabytes mentions registers, and few functions.
    """
    from ahocorasick_rs import BytesAhoCorasick, MatchKind

    search = BytesAhoCorasick([n.encode() for n in names], matchkind=MatchKind.LeftmostLongest)
    for window in budget.timed(_WHOLE_WORDS.finditer(text), slow=True):
        for number, start, end in search.find_matches_as_indexes(window[0]):
            around = window[0][max(start - 1, 0) : start] + window[0][end : end + 1]
            if not _IN_WORD.search(around):
                yield window.start() + start, names[number]


def _functions(text: bytes, budget: Budget) -> Iterator[PtxFunction]:
    """Every function and kernel, declared or defined.

    What was read is never read again, so that hostile text takes no longer than other.
    """
    position = 0
    for at in offsets((b".func", b".entry"), text):
        start = _FUNC.match(text, at)
        if start is None or at < position:
            continue
        budget.check_time()
        end = _END_OF_HEAD.search(text, start.end())
        if end is None:
            return
        linkage, before = _linkage(text, position, at)
        position = end.end() if end[0] == b";" else _behind_body(text, end.end(), budget)
        head = _HEAD.match(text, start.end(), min(end.start(), start.end() + _BEFORE_NAME))
        if head is not None:
            yield PtxFunction(
                head[2].decode(),
                linkage,
                start[1] == b"entry",
                (before, end.end()),
                None if end[0] == b";" else (end.end(), position),
                f"#{_letters(head[1] or b'') or 'v'}{_letters(head[3] or b'')}",
            )


def _letters(parameters: bytes) -> str:
    """A letter for the type of each, and the length of an array (measured with ptxas 13.0.88)."""
    found = ""
    for parameter in parameters.split(b","):
        if (kind := _TYPE.search(parameter)) is not None:
            length = _LENGTH.search(parameter)
            letter = _LETTERS.get(b"f" + kind[2] if kind[1] == b"f" else kind[2])
            found += (letter or _LETTERS[kind[2]]) + (length[1].decode() or "0" if length else "")
    return found


def _linkage(text: bytes, position: int, at: int) -> tuple[str, int]:
    """The linkage in front of a function, and where that, or else the function, begins.

    Args:
        text: the text.
        position: behind all that was read.
        at: of ``.func`` or ``.entry``.
    """
    before = text[position:at].rstrip()
    word = next((linkage for linkage in _LINKAGES if before.endswith(linkage)), None)
    if word is None or position + len(before) == at:
        return "", at
    return word[1:].decode(), position + len(before) - len(word)


def _behind_body(text: bytes, position: int, budget: Budget) -> int:
    """Behind the brace that closes one which was opened in front of a position."""
    depth = 1
    for _ in budget.timed(itertools.repeat(None)):
        closing = text.find(b"}", position)
        if closing < 0:
            return len(text)
        depth += text.count(b"{", position, closing) - 1
        position = closing + 1
        if not depth:
            break
    return position


def _variables(text: bytes, budget: Budget) -> Iterator[tuple[str, str, str]]:
    """Linkage, state space and name of each variable that others see; a line may hold several."""
    position = 0
    for at in offsets((b".visible", b".weak", b".common", b".extern"), text):
        start = _VARIABLE.match(text, at)
        if start is None or at < position:
            continue
        position, stop = start.end(), b","
        while stop == b",":
            budget.check_time()
            before = position
            position, stop = _next_stop(text, position, budget)
            words = text[before : position - 1].partition(b"[")[0].split()
            if words and _NAME.fullmatch(words[-1]):
                yield start[1].decode(), start[2].decode(), words[-1].decode()
            if stop == b"=":
                position, stop = _next_stop(text, position, budget)


def _next_stop(text: bytes, position: int, budget: Budget) -> tuple[int, bytes]:
    """Behind the next ``=``, ``,`` or ``;`` outside of brackets; at the end of text, ``;``."""
    depth = 0
    for found in budget.timed(_BRACKET_OR_STOP.finditer(text, position)):
        if found[0] in b"({":
            depth += 1
        elif found[0] in b")}":
            depth -= 1
        elif depth <= 0:
            return found.end(), found[0]
    return len(text) + 1, b";"
