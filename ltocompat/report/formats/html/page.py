"""The frame of an HTML page that needs nothing else: no network, no server, no script to be read.

Every text passes ``elements.escaped``; a policy in the page forbids all that it does not bring
itself, so that even a name that slipped through could load and run nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from string import Template

from msgspec import Struct
from msgspec.structs import asdict

from ltocompat.model.version import VERSION
from ltocompat.report.formats.html.elements import Section, sprite


class Page(Struct, frozen=True):
    """A page.

    Attributes:
        title: its heading, HTML.
        tab: what a tab or a bookmark shows, HTML.
        lede: the answer in one line, HTML.
        sections: what it is made of.
        styles: the files beside this one that style it.
        scripts: those that make it easier to use; without them nothing is missing.
    """

    title: str
    tab: str
    lede: str
    sections: Sequence[Section]
    styles: tuple[str, ...]
    scripts: tuple[str, ...]

    def text(self) -> str:
        """The whole page: ``page.html`` with all of this in its places."""
        style = "".join(map(_asset, self.styles))
        script = "".join(map(_asset, self.scripts))
        return Template(_asset("page.html")).substitute(
            asdict(self),
            version=VERSION,
            policy=_policy(style, script),
            style=style,
            script=script,
            sprite=sprite(),
            links="".join(section.link for section in self.sections),
            sections="".join(map(str, self.sections)),
        )


def _asset(name: str) -> str:
    return (files("ltocompat.report.formats.html") / name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    """Nothing from outside, and of what is inside only the one style and the one script."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
