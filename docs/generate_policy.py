"""Write docs/policy.md: python docs/generate_policy.py [--check]."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from generated_page import write_or_check

from ltocompat.cli import VERBS, verb_command
from ltocompat.commands.policy.key_list import EXCEPTIONS, TABLES, PolicyKey

PAGE = Path(__file__).with_name("policy.md")
_INTRODUCTION = """\
# The policy

What a project holds its releases to, read by `ltocompat audit`: tables `[tool.ltocompat.*]` of
`pyproject.toml`, or the same tables in an `ltocompat.toml` (with or without `tool.ltocompat.`
before their names). The nearest file counts, in the current folder or one around it; `--config
FILE` names another. Without a policy, `audit` judges what holds on any target,
and what a package declares itself: the nvJitLinks and NVRTCs that its metadata admit, the drivers
of the CUDA major that its name or its dependencies lead to, and the platform of its tag.

`ltocompat init dist/*.whl` writes the policy that packages pass today.

For editors that read JSON Schemas: `ltocompat schema policy > policy.schema.json`, and
`#:schema policy.schema.json` as the first line of an `ltocompat.toml`.

This page is written by `python docs/generate_policy.py` out of
`ltocompat/commands/policy/key_list.py`; a change belongs there.
"""
_TITLES = {
    "targets.NAME": "Where releases go, one table a target; values are those of `--deploy-target`.",
    "promise": "What the project promises of its packages.",
    "audit": "What is held against them, and how strictly.",
    "audit.ignore": "Findings that do not count for a while; as many such tables as needed.",
    "audit.allow": "Findings that do not count for good. Of two tables that are about one finding, "
    "the narrower decides: by path, then subject, kernels, target, GPUs and route.",
}
_ENVIRONMENT = """\
## Environment variables

Options that a CI job sets once for all its commands; what stands on the command line beats them.
A flag is set by 1.

| variable | the same as |
|---|---|
"""
_OTHERS = (
    (
        "LTOCOMPAT_FACTS",
        "a document of `ltocompat facts --format json` in place of our tables",
    ),
    ("LTOCOMPAT_TRACEBACK", "the traceback of an internal error, on standard error"),
)
_CODES = """\
## Exit codes

| code | meaning |
|---|---|
| 0 | `audit passed` |
| 1 | `audit failed`: a finding is at or above `fail-on` |
| 2 | wrong usage, or a mistake in the policy |
| 3 | `audit undecided`: a verdict is unknown, a path is unread, or there is no device code |
| 4 | something is missing that is to be asked: an nvJitLink (`--install-linkers` gets it) |
"""


def page() -> str:
    """The whole page."""
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    yield _INTRODUCTION
    for table, keys in TABLES.items():
        header = (
            f"[[tool.ltocompat.{table}]]"
            if table.removeprefix("audit.") in EXCEPTIONS
            else f"[tool.ltocompat.{table}]"
        )
        yield f"## `{header}`\n\n{_TITLES[table]}\n"
        yield "| key | example | without it | what it says |\n|---|---|---|---|"
        yield "".join(f"{_row(key)}\n" for key in keys)
    yield _ENVIRONMENT + "".join(f"| `{name}` | {text} |\n" for name, text in _variables())
    yield _CODES


def _row(key: PolicyKey) -> str:
    example = f"`{key.example}`" if key.example else ""
    code = key.default.startswith(('"', "[", "{")) or key.default == "false"
    default = f"`{key.default}`" if code else key.default
    return f"| `{key.name}` | {example} | {default or 'it must be there'} | {key.text} |"


def _variables() -> Iterator[tuple[str, str]]:
    """The variables of all verbs, each once, with the option that it stands for."""
    options = {
        str(param.envvar): param.opts[0]
        for verb in map(verb_command, VERBS)
        for param in verb.params
        if param.envvar
    }
    yield from ((name, f"`{option}`") for name, option in sorted(options.items()))
    yield from _OTHERS


if __name__ == "__main__":
    sys.exit(write_or_check({PAGE: page()}, __doc__))
