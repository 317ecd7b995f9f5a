"""The version of this program (read by the build too), and where the project is found."""

from __future__ import annotations

import os

VERSION = "0.1.0"


# The account at GitHub that hosts the code, as ``.github/set_address.py`` writes it.
OWNER = "PROJECT_OWNER"

# The address of the project's files, with a slash at its end; empty if they have none.
PROJECT_URL = ""

# The address of the pages of ``docs/``, with a slash at its end. Findings, SARIF, HTML pages,
# ``explain`` and the metadata of packages lead there. No host under ``.example`` exists; whoever
# serves the pages puts the real address here.
SITE_URL = "https://ltocompat.example/"


# The variable that names a facts document to use instead of the program's own.
FACTS_VARIABLE = "LTOCOMPAT_FACTS"


def program_files() -> list[tuple[str, str]]:
    """Return all files of this program but compiled Python: sorted names, and paths.

    A facts document that replaces the program's own facts is one of them.
    """
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths = (
        os.path.join(folder, name)
        for folder, _, names in os.walk(root)
        if os.path.basename(folder) != "__pycache__"
        for name in names
    )
    named = [(os.path.relpath(path, root).replace(os.sep, "/"), path) for path in paths]
    facts = os.environ.get(FACTS_VARIABLE)
    return sorted([*named, (FACTS_VARIABLE, facts)] if facts else named)


def rule_url(rule_id: str) -> str:
    """Return the page of a rule (``rules/ptx-01.html`` below the site's address) or topic.

    An empty ID (no rule knows the text) leads to the list of topics.
    """
    if not rule_id[:1].isupper():
        return f"{SITE_URL}guides/topics.html#{rule_id}".rstrip("#")
    return f"{SITE_URL}rules/{rule_id.lower()}.html"
