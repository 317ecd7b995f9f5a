"""Reading logs of nvJitLink and nvlink: which symbols are open, and why an input was refused.

Every text of nvJitLink was measured on 15 versions, 12.0.140 .. 13.5.37
(tests/data/nvjitlink_logs.json, made by tests/wild/test_trial_logs.py), those of nvlink on 13.0.88
and 13.5.37; a log that none of them fits stays as it is.
"""

from __future__ import annotations

import functools
import re

from msgspec import Struct

from ltocompat.model.trial_answer import TOO_NEW

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
    """Symbols that the log says no input defines, each once, in the log's order."""
    found = [match for pattern in _UNRESOLVED for match in pattern.finditer(log)]
    found.sort(key=lambda match: match.start())
    return tuple(dict.fromkeys(match[1] for match in found))


class Reason(Struct, frozen=True):
    """Why a link failed, as far as the log tells.

    Attributes:
        cause: a short name for tables and tests, such as ``ltoir too new``.
        sentence: the same for people, with the values from the log.
    """

    cause: str
    sentence: str


class _Text(Struct, frozen=True):
    """A text that a linker writes; groups of the pattern fill the sentence's places."""

    pattern: str
    cause: str
    sentence: str


# The first that fits counts, so that a general text stands below the particular ones.
_TEXTS = (
    _Text(
        r"LTOIR arch newer than target arch",
        "ltoir arch too new",
        "the LTO-IR is for a newer architecture than the link's target",
    ),
    _Text(
        r"nvvmAddNVVMContainerToProgram",
        TOO_NEW,
        "the LTO-IR was made by a newer CUDA release than this {linker}",
    ),
    _Text(
        r"IR version ([0-9.]+) incompatible with current version ([0-9.]+)",
        "ltoir too old",
        "the LTO-IR holds IR {0}, from before CUDA 12.0, and this {linker} wants {1}",
    ),
    _Text(
        r"in nvvmGetArch",
        "ltoir unreadable",
        "this {linker} finds no LTO-IR that it can read in the input",
    ),
    _Text(
        r"nvvm input without LTO|LTO-IR input cannot be used without LTO enabled",
        "lto not enabled",
        "LTO-IR was given without the option -lto",
    ),
    _Text(
        r"NVVM_ERROR_NO_MODULE_IN_PROGRAM",
        "no ltoir",
        "the option -lto was given, but no input holds LTO-IR",
    ),
    _Text(
        r"LTO objects found, use -dlto|should only see nvvm files when -lto",
        "lto not enabled",
        "LTO-IR was given without the option -dlto",
    ),
    _Text(
        r"Cicc option values for '([^']+)' do not match|'(-[\w-]+)' do not match",
        "options differ",
        "the inputs were compiled with different values of {0}",
    ),
    _Text(
        r"Input file '([^']+)' newer than toolkit \(([0-9]{1,9})([0-9]) vs ([0-9]{1,9})([0-9])\)",
        "cubin too new",
        "{0} holds code of CUDA {1}.{2}, and this {linker} is of {3}.{4}",
    ),
    _Text(
        r"Input file '([^']+)' arch does not match target '([^']+)'",
        "other architecture",
        "{0} is SASS for another architecture than {1}",
    ),
    _Text(
        r"Producer: '([^']+)' Reader: '([^']+)'",
        "ltoir arch too new",
        "the LTO-IR, which is written as {0}, is for newer architectures than the link's target",
    ),
    _Text(
        r"Value '([^']+)' is not defined for option 'arch'",
        "target unsupported",
        "this {linker} does not link for the architecture {0}",
    ),
    _Text(
        r"elfLink linker library load error",
        "no libnvvm",
        "this {linker} finds no libnvvm, which -dlto needs",
    ),
    _Text(
        r"Unsupported \.version ([0-9.]+); current version is '([0-9.]+)'",
        "ptx too new",
        "the input is PTX ISA {0}, and this {linker} reads up to {1}",
    ),
    _Text(
        r"Linking globals named '([^']+)': symbol multiply defined"
        r"|Multiple definition of '([^']+)'",
        "duplicate symbol",
        "two inputs define {0}",
    ),
    _Text(
        r"un(?:supported|recognized) architecture \(compute_(\w+)\)"
        r"|-arch=compute_(\w+) is an unsupported option",
        "target unsupported",
        "this {linker} does not link for the architecture {0}",
    ),
    _Text(
        r"couldn't initialize arch state",
        "target unsupported",
        "this {linker} does not link for the architecture that was asked for",
    ),
    _Text(
        r"unrecognized option: (\S+)",
        "option unknown",
        "this {linker} does not know the option {0}",
    ),
    _Text(
        r"Instruction '([^']+)' not supported on \.target '([^']+)'",
        "instruction unsupported",
        "the code uses {0}, which {1} does not have",
    ),
    _Text(
        r"binary format mismatch",
        "cubin format",
        "the cubin's format, of another generation of toolkits, does not go with the link's target",
    ),
    _Text(
        r"Uncompress failed",
        "compression unreadable",
        "this {linker} can't decompress the fatbin",
    ),
    _Text(
        r"does not match type NVJITLINK_INPUT_(CUBIN|PTX|LTOIR|FATBIN|OBJECT|LIBRARY)",
        "wrong kind",
        "the input is not of the kind {0} that it was given as",
    ),
    _Text(
        r"elfLink nvvm error",
        "bad ltoir",
        "this {linker} can't use the LTO-IR: it is damaged, or from a newer toolkit; the log does "
        "not say which",
    ),
    _Text(
        r"Could not open input file '([^']+)'",
        "bad input",
        "this {linker} can't use the input {0}: it is damaged, or of another kind than it is "
        "called; the log does not say which",
    ),
    _Text(
        r"bad input: ?(.+)",
        "bad input",
        "this {linker} can't use the input {0}: it is damaged, for another architecture, "
        "or from a newer toolkit; the log does not say which",
    ),
)


def first_line(log: str) -> str:
    """The first line that says something; empty where none does."""
    return next((line.strip() for line in log.splitlines() if line.strip()), "")


@functools.lru_cache(maxsize=64)
def explain(log: str, linker: str = "nvJitLink") -> Reason | None:
    """The reason that a log gives for a failure; None for a log that is not known.

    Args:
        log: all that was written.
        linker: what to call the linker that wrote it.
    """
    if names := unresolved(log):
        more = "; there may be more, since the log stops at the first" * ("ptxas fatal" in log)
        return Reason("unresolved", f"no input defines {', '.join(names)}{more}")
    for text in _TEXTS:
        if found := re.search(text.pattern, log):
            values = (value for value in found.groups() if value is not None)
            return Reason(text.cause, text.sentence.format(*values, linker=linker))
    return None
