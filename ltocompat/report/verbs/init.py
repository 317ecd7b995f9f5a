"""The answer of ``init``: what was written, or what moved since; then lines for a CI system."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.resources import files

from ltocompat.commands.init import PolicyDraft
from ltocompat.model.words import count
from ltocompat.report import Failure, Writable, answers
from ltocompat.report.exit_status import fitted
from ltocompat.report.text import escape

# CI systems, each with the place of its lines.
CI = {
    "github": ".github/workflows/release.yml, after the packages are in dist/",
    "gitlab": ".gitlab-ci.yml; the job that builds puts its packages into dist/",
    "cibuildwheel": "pyproject.toml",
    "pre-commit": ".pre-commit-config.yaml",
}


def write(records: Iterable[PolicyDraft | Failure], stream: Writable, ci: str | None) -> None:
    """Write the result for the policy, and the lines for ``ci``, one of ``CI``."""
    for record in answers(records):
        stream.write("".join(fitted(line, sys.stdout) for line in _lines(record)))
        if record.written:
            stream.write("".join(f"{escape(line)}\n" for line in ("", *record.text.splitlines())))
    if ci is not None:
        snippet = files("ltocompat.report.verbs") / "init_lines" / f"{ci}.txt"
        stream.write(f"\n# {CI[ci]}\n{snippet.read_text('utf-8')}")


def _lines(draft: PolicyDraft) -> Iterable[str]:
    if draft.written:
        yield f"wrote {draft.path}; these packages pass it; to check again: {draft.audit}"
        yield from _ignored(draft)
    elif draft.moved:
        yield f"{draft.path} exists and is not changed; these packages differ from it:"
        yield from (f"  {line}" for line in draft.moved)
        yield f"next: write intended changes into the policy; then check with: {draft.audit}"
    else:
        yield f"{draft.path} exists, and these packages still pass it"


def _ignored(draft: PolicyDraft) -> Iterable[str]:
    told = {(f.verdict, f.rule, f.message): f.remedy for f in draft.ignored}
    if told:
        number = count(len(told), "finding")
        yield f"until {draft.expires}, it ignores {number}; after each fix, delete its exceptions:"
    for (verdict, rule, message), remedy in told.items():
        yield f"  {verdict} {rule}: {message}"
        if remedy:
            yield f"    what to do: {remedy}"
    if draft.missing:
        yield f"a trial link may settle this: add --install-linkers ({draft.missing})"
