"""Write the pages of rules and topics out of the catalogue: docs/generate_rules.py [--check].

docs/rules/ has a page a rule; docs/guides/topics.md has all topics. What a rule says of itself is
the table of its family; the lines of real logs are those of ``tests/data``, with what ``explain``
makes of them.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from generated_page import write_or_check

from ltocompat.commands.explain import explain
from ltocompat.facts import nvjitlink_minors
from ltocompat.model.errors import Missing
from ltocompat.model.explained import Explained
from ltocompat.model.verdict import LEVELS
from ltocompat.rules.catalogue import rules_about
from ltocompat.rules.message_values import derived, filled
from ltocompat.rules.messages import matches, messages
from ltocompat.rules.prose import (
    FAMILIES,
    Prose,
    rows,
    rule_prose,
    rules,
    rules_left_out,
)

FOLDER = Path(__file__).with_name("rules")
_DATA = Path(__file__).parents[1] / "tests" / "data"
_INTRODUCTION = """\
# Rules

Each rule has a page with its meaning, the messages that programs print, the cause, the evidence and
the fix. `ltocompat explain ID` prints the same in a terminal, and `ltocompat explain TEXT` finds
the rules behind an error message.

<!-- docs/generate_rules.py writes these pages: change the text in ltocompat/rules/catalogue. -->
"""
_IGNORE = """\
In the [policy](../policy.md) of `ltocompat audit`, for a while and with a reason; `path`, `target`
and `kernel` narrow it down:

```toml
[[tool.ltocompat.audit.ignore]]
rule = "{rule}"
reason = "why it does no harm here"
expires = {expires}
```
"""
_OF_MACHINES = """\
This finding is about a machine, not about a package: `ltocompat env` reports it, and a policy for
releases doesn't need to ignore it.
"""
_EXPIRES = "2099-12-31"
_HOME = re.compile(r"/home/[^/\s]+")
_LONGEST_LINE = 300  # characters of a log's line that are shown
_FEW_CASES = 3  # from here on, the sentences of a condition or a verdict are a list
_NEWLINE, _BULLET, _NESTED = "\n", "\n* ", "\n  * "
_MOST_SEEN = 4  # lines of logs on a page, each with another cause
# Code in the prose of a rule: between backticks, or an option.
_IN_CODE = re.compile(
    r"`([^`]+)`|(?<![\w/.$*'-])"
    r"(-gencode arch=[\w,=]*\w|-Wl,\S+'|--?[A-Za-z][\w-]*(?:=[\w.-]*\w)?)(?![\w*])"
)
# A command at the end of a line of a topic.
_TYPED = re.compile(r"(?<=[:,] )ltocompat (?:[^,`\n]|,(?! ))+(?=, ltocompat |$)", re.MULTILINE)
# Within a word, Markdown takes an underscore as it is.
_SPECIAL = re.compile(r"([\\`*<>\[\]$~|{}]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")


class Seen(NamedTuple):
    """A message in a real log.

    Attributes:
        source: where it was found: an address, or a few words.
        entry: what ``explain`` makes of it.
    """

    source: str
    entry: Explained


def pages() -> dict[Path, str]:
    """The text of each page."""
    texts = {page_of(rule.id): "\n\n".join(_rule_page(rule)) + "\n" for rule in rules()}
    texts |= {
        page_of(left_out.id): _left_out_page(left_out) for left_out in rules_left_out().values()
    }
    topics_page = FOLDER.parent / "guides" / "topics.md"
    return {topics_page: _topics_page(), FOLDER / "index.md": "\n".join(_index()), **texts}


def _topics_page() -> str:
    """The ideas behind the rules, each with an anchor of its own."""
    parts = [
        "# Words and ideas",
        "This page explains the ideas behind the rules. `ltocompat explain WORD` explains an idea.",
    ]
    for row in rows("prose", "topics"):
        topic = row.values()
        links = ", ".join(
            f"[{rule_id}](../rules/{page_of(rule_id).name})" for rule_id in topic["rules"]
        )
        parts += [
            f"({row.head})=\n## {_plain(topic['title'])}",
            _prose(_TYPED.sub(r"`\g<0>`", topic["text"].strip())),
        ]
        parts += [f"* Rules: {links}\n* Source: {_plain(topic['source'])}"]
    return "\n\n".join(parts) + "\n"


def page_of(rule_id: str) -> Path:
    """Where the page of a rule lies."""
    return FOLDER / f"{rule_id.lower()}.md"


def _index() -> Iterator[str]:
    yield _INTRODUCTION
    for family in FAMILIES:
        yield f"## {_heading(family)}\n"
        yield "| rule | what is wrong | verdict |\n|---|---|---|"
        for row in rows("prose", family):
            prose = rule_prose(row.head)
            yield f"| {_link(prose.id)} | {_plain(prose.title)} | {_named(prose)} |"
        yield ""
    yield "## Not built\n\nAnother rule covers them, or no file shows the fault.\n"
    yield "| rule | what is wrong |\n|---|---|"
    for left_out in rules_left_out().values():
        yield f"| {_link(left_out.id)} | {_plain(left_out.title)} |"
    names = [rule.id for rule in rules()]
    names += [*rules_left_out()]
    entries = "\n".join(name.lower() for name in names)
    yield f"\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n"


def _named(prose: Prose) -> str:
    return ", ".join(_code(str(verdict)) for verdict in prose.verdicts)


def _link(rule_id: str) -> str:
    return f"[{rule_id}]({page_of(rule_id).name})"


def _heading(family: str) -> str:
    """The first line of the family's module, which says what its rules are about."""
    module = importlib.import_module(f"ltocompat.rules.catalogue.{family}")
    first, *_ = (module.__doc__ or family).splitlines()
    return _plain(first.rstrip("."))


def _left_out_page(left_out: Prose) -> str:
    why = f"## Why no check reports it\n\n{_prose(left_out.statement)}"
    parts = (f"# {left_out.id}: {_plain(left_out.title)}", *_what_users_see(left_out.id, ()), why)
    return "\n\n".join(parts) + "\n"


def _rule_page(rule: Prose) -> Iterator[str]:
    yield f"# {rule.id}: {_plain(rule.title)}"
    yield _prose(rule.statement)
    yield f"## Fix\n\n{_prose(rule.remedy)}"
    # With a file to fill in, as it is where a text tells no values.
    checks = [filled(row.check, derived({})) for row in messages() if row.rule == rule.id]
    if checks:
        yield "## Check\n\n" + "\n".join(f"* {_code(text)}" for text in dict.fromkeys(checks))
    yield from _what_users_see(rule.id, rule.messages)
    yield f"## When it is reported\n{_by_case(rule.condition, _NEWLINE, _BULLET)}"
    yield (
        "## Verdict and evidence\n\n"
        f"* Verdict:{_by_case(rule.verdict, ' ', _NESTED)}\n* Level: {LEVELS[rule.verdicts[0]]}\n"
        f"* Read from: {_prose(rule.evidence)}\n"
        f"* Source: {_plain(rule.source)}\n* Tests: {_tests(rule.id)}"
    )
    example = _examples().get(rule.id)
    if example is not None:
        yield "## Try it\n\nOn samples of this project, with a finding and without:"
        yield _block("\n".join(_command(*example[word]) for word in ("strikes", "spares")))
    text = _OF_MACHINES if _is_of_machines(rule) else _IGNORE
    yield "## How to ignore it\n\n" + text.format(rule=rule.id, expires=_EXPIRES).rstrip()


def _what_users_see(rule_id: str, texts: Sequence[str]) -> Iterator[str]:
    """The messages of a rule, each with an anchor, and lines of real logs with what is said."""
    seen = _seen().get(rule_id, [])[:_MOST_SEEN]
    if texts or seen:
        yield "## What you see"
    for number, text in enumerate(texts, 1):
        yield f"({rule_id.lower()}-message-{number})=\n{_block(text)}"
    if seen:
        yield "### In real logs"
        for example in seen:
            yield from _example(example)


def _is_of_machines(rule: Prose) -> bool:
    """Whether it judges nothing but machines and the libraries on them."""
    return rule.id in _about("Environment", "Library") - _about(*_IN_FILES)


_IN_FILES = ("Subject", "ImageSignature", "Link", "HostBinary", "ArtifactSummary", "Shipped")


def _about(*types: str) -> set[str]:
    return {found.id for looked_at in types for found in rules_about(looked_at)}


def _example(seen: Seen) -> Iterator[str]:
    entry = seen.entry
    yield _block(_cut(entry.line or ""))
    where = f"[{_plain(_issue(seen.source))}]({seen.source})" if "://" in seen.source else None
    yield "\n".join(
        (
            f"* Cause: {_plain(entry.cause or '')}",
            f"* Fix: {_plain(entry.fix or '')}",
            f"* Check: {_code(entry.check or '')}",
            f"* Seen in: {where or _plain(seen.source)}",
        )
    )


def _cut(line: str) -> str:
    """A line that fits on a page, without the name of who saw it."""
    line = _HOME.sub("/home/user", line)
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} ..."


def _issue(address: str) -> str:
    """An address as people write it: pytorch/pytorch 131312."""
    match = re.fullmatch(
        r"https://github\.com/([^/]+/[^/]+)/(?:issues|pull|discussions)/(\d+)\S*", address
    )
    return f"{match[1]} {match[2]}" if match else address.partition("://")[2]


@functools.cache
def _seen() -> dict[str, list[Seen]]:
    """The lines of real logs by the rule that explains them first, one for each cause."""
    found: dict[str, dict[str, Seen]] = {}
    for source, text in _logs():
        try:
            entry, *_ = explain(text)
        except Missing:
            continue
        cause = next(matches(text), None)
        if cause is not None and entry.cause is not None:
            found.setdefault(entry.id, {}).setdefault(cause.message.name, Seen(source, entry))
    return {rule_id: list(causes.values()) for rule_id, causes in found.items()}


def _logs() -> Iterator[tuple[str, str]]:
    logs = tomllib.loads((_DATA / "explain_messages.toml").read_text("utf-8"))
    for table in ("message", "held_out", "seen"):
        yield from ((row["found"], row["text"]) for row in logs[table])
    threads = tomllib.loads((_DATA / "explain_threads.toml").read_text("utf-8"))["paste"]
    yield from ((row["found"], row["text"]) for row in threads)
    incidents = tomllib.loads((_DATA / "incidents.toml").read_text("utf-8"))["incident"]
    yield from ((row["source"], row["text"]) for row in incidents if row["text"])


def _tests(rule_id: str) -> str:
    """The tests in which the rule is reported, and in which it is not."""
    for word in ("strikes", "spares"):
        if (rule_id, word) not in _cases():
            sys.exit(f'no test has @{word}("{rule_id}"); see "Add a rule" in CONTRIBUTING.md')
    strikes, spares = (_test(_cases()[rule_id, word]) for word in ("strikes", "spares"))
    if strikes == spares:
        return f"{strikes} checks a case with this finding and a case without it"
    return f"{strikes} checks a case with this finding; {spares} checks a case without it"


def _test(name: str) -> str:
    file, _, test = name.partition("::")
    return f"`tests/{file}.py::{test}`"


@functools.cache
def _cases() -> dict[tuple[str, str], str]:
    sys.path.append(str(_DATA.parent))
    from rule_cases import marked

    return marked()


@functools.cache
def _examples() -> dict[str, dict[str, tuple[str, str]]]:
    text = (_DATA / "rule_examples.toml").read_text("utf-8")
    return tomllib.loads(text.replace("{newest}", str(nvjitlink_minors()[-1])))


def _command(sample: str, target: str) -> str:
    return f"ltocompat check sample_artifacts/{sample} --notes --deploy-target {target}"


def _block(text: str) -> str:
    return f"```text\n{text}\n```"


def _prose(text: str) -> str:
    """The prose of a rule in Markdown, with its options and commands as code."""
    parts = _IN_CODE.split(text)
    # Between two matches stand the two groups of the expression, one of them empty.
    return "".join(
        _plain(part) if number % 3 == 0 else _code(part)
        for number, part in enumerate(parts)
        if part
    )


def _by_case(text: str, begin: str, bullet: str) -> str:
    """A condition or a verdict after a heading; if it has many sentences, as a list of them."""
    cases = re.split(r"(?<=\.) ", _prose(text))
    return begin + " ".join(cases) if len(cases) < _FEW_CASES else bullet + bullet.join(cases)


def _plain(text: str) -> str:
    """A text without Markdown of its own."""
    return _SPECIAL.sub(r"\\\1", text)


def _code(text: str) -> str:
    """A text between more backticks than it has in a row."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    inner = f" {text} " if text.startswith("`") or text.endswith("`") else text
    return f"{fence}{inner}{fence}"


if __name__ == "__main__":
    sys.exit(write_or_check(pages(), __doc__, folder=str(FOLDER)))
