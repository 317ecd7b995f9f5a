"""Write docs/policy.md: python docs/generate_policy.py [--check]."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from generated_page import write_or_check

from ltocompat.cli import VERBS, verb_command
from ltocompat.commands.policy.key_list import EXCEPTIONS, PolicyKey, keys_of_tables

PAGE = Path(__file__).with_name("policy.md")
_INTRODUCTION = """\
# The policy

The policy lists the requirements for your releases; `ltocompat audit` checks them. It consists of
tables `[tool.ltocompat.*]` in `pyproject.toml`, or of the same tables in `ltocompat.toml` (with or
without `tool.ltocompat.` before their names). `audit` uses the nearest file, from the current
folder upwards; `--config FILE` names another one. Without a policy, `audit` checks the rules that
hold on every target, and the package's own declarations: the nvJitLinks and NVRTCs that its
metadata allow, the drivers of the CUDA major in its name or dependencies, and the platform in its
tag.

`ltocompat init dist/*.whl` writes a policy that your packages pass today.

For completion in an editor, run `ltocompat schema policy > policy.schema.json`, and write
`#:schema policy.schema.json` as the first line of `ltocompat.toml`.

<!-- docs/generate_policy.py writes this page: change ltocompat/commands/policy/key_list.py. -->
"""
_TITLES = {
    "targets.NAME": "Where your releases will run: one table per target, with the values of "
    "`--deploy-target`.",
    "promise": "What the project promises about its packages.",
    "audit": "The requirements for every release, and the findings that fail it.",
    "audit.ignore": "Findings that do not count until a given day. Write one table for each.",
    "audit.allow": "Findings that never count. If two tables match one finding, the narrower table "
    "decides: compared by path, then subject, kernels, target, GPUs and route.",
}
_ENVIRONMENT = """\
## Environment variables

A CI job can set options once for all its commands with these variables. Options on the command
line override them. The value 1 sets a flag.

| variable | meaning |
|---|---|
"""
_OTHERS = (
    (
        "LTOCOMPAT_FACTS",
        "the path of a document of `ltocompat facts --format json`, which replaces our tables",
    ),
    ("LTOCOMPAT_TRACEBACK", "1 prints the traceback of an internal error on standard error"),
)
_CODES = """\
## Exit codes

| code | meaning |
|---|---|
| 0 | `audit passed` |
| 1 | `audit failed`: a finding is at or above `fail-on` |
| 2 | wrong usage, or a mistake in the policy |
| 3 | `audit undecided`: a verdict is unknown, a path is unread, or there is no device code |
| 4 | something is missing, such as an nvJitLink (`--install-linkers` installs it) |
"""


def page() -> str:
    """The whole page."""
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    yield _INTRODUCTION
    for table, keys in keys_of_tables().items():
        header = (
            f"[[tool.ltocompat.{table}]]"
            if table.removeprefix("audit.") in EXCEPTIONS
            else f"[tool.ltocompat.{table}]"
        )
        yield f"## `{header}`\n\n{_TITLES[table]}\n"
        yield "| key | example | default | meaning |\n|---|---|---|---|"
        yield "".join(f"{_row(key)}\n" for key in keys)
    yield _ENVIRONMENT + "".join(f"| `{name}` | {text} |\n" for name, text in _variables())
    yield _CODES


def _row(key: PolicyKey) -> str:
    example = f"`{key.example}`" if key.example else ""
    code = key.default.startswith(('"', "[", "{")) or key.default == "false"
    default = f"`{key.default}`" if code else key.default
    return f"| `{key.name}` | {example} | {default or 'required'} | {key.text} |"


def _variables() -> Iterator[tuple[str, str]]:
    """The variables of all verbs, each once, with the option that it stands for."""
    options = {
        str(param.envvar): param.opts[0]
        for verb in map(verb_command, VERBS)
        for param in verb.params
        if param.envvar
    }
    yield from ((name, f"the same as `{option}`") for name, option in sorted(options.items()))
    yield from _OTHERS


if __name__ == "__main__":
    sys.exit(write_or_check({PAGE: page()}, __doc__))
