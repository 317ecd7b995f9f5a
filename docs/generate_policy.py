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

The policy lists the requirements for your releases; `ltocompat audit` checks them. Write the policy
as tables `[tool.ltocompat.*]` in `pyproject.toml`. You can also write the same tables in
`ltocompat.toml`, without the prefix `tool.ltocompat.`. `audit` uses the nearest of these files,
from the current folder upwards. If a folder has a policy in both files, `audit` exits with 2. To
use another file, add `--config FILE`.

Without a policy, `audit` checks the rules that hold on every target. It also checks what the
package itself declares:

* the nvJitLink and NVRTC versions that the package's metadata allows
* the drivers for the CUDA major version in the package's name or dependencies
* the platform in the package's tag

`ltocompat init dist/*.whl` writes a policy that your packages pass today.

For completion in an editor, run `ltocompat schema policy > policy.schema.json`, and write
`#:schema policy.schema.json` as the first line of `ltocompat.toml`.

<!-- docs/generate_policy.py writes this page from ltocompat/commands/policy/key_list.py. -->
"""
_TITLES = {
    "targets.NAME": "Each table describes a target on which your releases will run. The table has "
    "the keys of `--deploy-target`.",
    "promise": "This table says what your project promises about its packages, such as wheels. In "
    "`[tool.ltocompat.audit]`, `require-archs` and `least-driver` are requirements for every file. "
    "A promised `driver` also replaces the oldest driver of the CUDA major version in the "
    "package's name (PKG-13).",
    "audit": "This table lists the requirements for every release. It also says which findings "
    "make the audit fail.",
    "audit.ignore": "Each table accepts findings until a given day. Write one table for each "
    "finding.",
    "audit.allow": "Each table accepts the findings that it matches, forever. If two tables "
    "match one finding, the table with the narrower pattern applies. `audit` first compares the "
    "paths of the two tables, then their subjects, kernels, targets, GPUs and routes.",
}
_ENVIRONMENT = """\
## Environment variables

With these variables, a CI job can set options once for all commands of the job.
Options on the command line override the variables. For an option without a value, set the
variable to 1.

| variable | meaning |
|---|---|
"""
_OTHERS = (
    (
        "LTOCOMPAT_FACTS",
        "the path of a file with newer tables; `ltocompat facts --format json` writes such a file",
    ),
    ("LTOCOMPAT_TRACEBACK", "1 prints the traceback of an internal error to standard error"),
)
_CODES = """\
## Exit codes

| code | meaning |
|---|---|
| 0 | `audit passed` |
| 1 | `audit failed`: a finding is at or above `fail-on` |
| 2 | wrong usage, or a mistake in the policy |
| 3 | `audit undecided`: a verdict is unknown, a path was not read, or there is no device code |
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
