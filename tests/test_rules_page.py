"""docs/rules/: the catalogue as pages, read back by a Markdown parser."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from every_case import every
from markdown_it import MarkdownIt
from markdown_it.token import Token
from newest import NEWEST
from samples import FOLDER

import ltocompat
from ltocompat.commands.policy.reading import read_policy
from ltocompat.model.verdict import Prose
from ltocompat.rules.prose import rules

DOCS = Path(__file__).parents[1] / "docs"


def text_of(token: Token) -> str:
    """What a reader sees of a paragraph, a heading or a cell."""
    parts = (" " if child.type == "softbreak" else child.content for child in token.children or ())
    return "".join(parts)


def texts_of(name: str) -> list[str]:
    """The texts of a page: paragraphs, headings, items, cells, and blocks line by line."""
    found = []
    page = (DOCS / "rules" / f"{name.lower()}.md").read_text("utf-8")
    for token in MarkdownIt("gfm-like", {"linkify": False}).parse(page):
        if token.type == "inline":
            found.append(text_of(token))
        elif token.type == "fence":
            found += token.content.splitlines()
    return found


def test_the_pages_are_current() -> None:
    command = [sys.executable, str(DOCS / "generate_rules.py"), "--check"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")


@every("rule", rules())
def test_a_reader_sees_what_a_rule_says_letter_by_letter(rule: Prose) -> None:
    texts = texts_of(rule.id)
    assert texts[0] == f"{rule.id}: {rule.title}"
    # Code between backticks is a code span of the page.
    prose = {text.replace("`", "") for text in (rule.statement, rule.remedy)}
    assert {*prose, f"Source: {rule.source}"} <= set(texts)
    # Many cases are a list.
    cases = re.split(r"(?<=\.) ", f"{rule.condition} {rule.verdict}".replace("`", ""))
    assert [case for case in cases if not any(case in text for text in texts)] == []
    assert set(rule.messages) <= set(texts)


@every("rule", rules())
def test_the_lines_that_ignore_a_rule_are_a_policy(rule: Prose, tmp_path: Path) -> None:
    page = (DOCS / "rules" / f"{rule.id.lower()}.md").read_text("utf-8")
    _, fence, rest = page.partition("```toml\n")
    if not fence:
        assert "`ltocompat env` reports it" in page
        return
    path = tmp_path / f"{rule.id}.toml"
    target = '[tool.ltocompat.targets.prod]\ndriver = "580"\n'
    path.write_text(target + rest.partition("```")[0], "utf-8")
    assert [each.rule for each in read_policy(str(path)).exceptions] == [rule.id]


_EXAMPLES = (DOCS.parent / "tests" / "data" / "rule_examples.toml").read_text("utf-8")
EXAMPLES = tomllib.loads(_EXAMPLES.replace("{newest}", str(NEWEST)))


@every("rule_id", EXAMPLES)
def test_a_rule_speaks_of_its_example_and_not_of_the_other(rule_id: str) -> None:
    for word, speaks in (("strikes", True), ("spares", False)):
        sample, target = EXAMPLES[rule_id][word]
        results = ltocompat.check([FOLDER / sample], [target], cache=False)
        told = {finding.rule for result in results for finding in result.findings}
        assert (rule_id in told) is speaks, word
        command = f"ltocompat check sample_artifacts/{sample} --notes --deploy-target {target}"
        assert command in texts_of(rule_id)
