"""Reading logs of nvJitLink and nvlink: which symbols are open, and why an input was refused.

Every text of nvJitLink was measured on 15 versions, 12.0.140 .. 13.5.37
(tests/data/nvjitlink_logs.json, made by tests/wild/test_trial_logs.py), those of nvlink on 13.0.88
and 13.5.37; a log that none of them fits stays as it is. The texts are data, ``logs.toml``.
"""

from __future__ import annotations

import functools
import pkgutil
import re
import tomllib

from msgspec import Struct

from ltocompat.model.projection import from_rows

# LTO: the assembler stops at the first function; variables get a definition of their own and a
# warning in the info log. Otherwise the linker names all, on standard error up to 12.8 (there with
# the mark of its severity before it) and in the error log since 12.9.
_UNRESOLVED = (
    re.compile(r"^ptxas fatal\s*: Unresolved extern function '([^']+)'", re.MULTILINE),
    re.compile(r"^ptxas warning\s*: Unresolved extern variable '([^']+)'", re.MULTILINE),
    re.compile(r"^(?:@E@|nvlink )?error\s*: Undefined reference to '([^']+)' in ", re.MULTILINE),
)


@functools.lru_cache(maxsize=64)  # a library's many images are refused in the same words
def unresolved(log: str) -> tuple[str, ...]:
    """Return the symbols that no input defines according to the log, each once, in its order."""
    found = [match for pattern in _UNRESOLVED for match in pattern.finditer(log)]
    found.sort(key=lambda match: match.start())
    return tuple(dict.fromkeys(match[1] for match in found))


class Reason(Struct, frozen=True):
    """The reason why a link failed, or should not have succeeded, from its log.

    Attributes:
        cause: a short name for tables and tests, such as ``ltoir too new``.
        sentence: the same for people, with the values from the log.
    """

    cause: str
    sentence: str

    @property
    def only_printed(self) -> bool:
        """Return whether links succeed with it: since 12.6 with two definitions, one in PTX."""
        return self.cause == "duplicate symbol"


class _Text(Struct, frozen=True):
    """A text that a linker writes; groups of the pattern fill the sentence's places."""

    pattern: str
    cause: str
    sentence: str


@functools.cache
def _texts() -> tuple[_Text, ...]:
    data = pkgutil.get_data(__name__, "logs.toml") or b""
    return from_rows(_Text, tomllib.loads(data.decode("utf-8"))["text"])


def first_line(log: str) -> str:
    """Return the first line with content; empty if there is none."""
    return next((line.strip() for line in log.splitlines() if line.strip()), "")


@functools.lru_cache(maxsize=64)
def explain(log: str, linker: str = "nvJitLink") -> Reason | None:
    """Return the reason in a log for a failure; None for an unknown log.

    Args:
        log: the whole log.
        linker: the name of the linker that wrote it.
    """
    if names := unresolved(log):
        more = "; there may be more: the log stops at the first name" * ("ptxas fatal" in log)
        return Reason("unresolved", f"no input defines {', '.join(names)}{more}")
    for text in _texts():
        if found := re.search(text.pattern, log):
            values = (value for value in found.groups() if value is not None)
            return Reason(text.cause, text.sentence.format(*values, linker=linker))
    return None
