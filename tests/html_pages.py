"""HTML pages, read strictly: whatever a browser would repair is a failure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "wbr", "input"}
SHAPES = {"path", "use"}  # of SVG, which close themselves


@dataclass(slots=True)
class Element:
    """An element of a page."""

    tag: str
    attributes: dict[str, str]
    around: Element | None = None
    inside: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    def all(self, tag: str = "", css_class: str = "") -> Iterator[Element]:
        for one in self.inside:
            if tag in ("", one.tag) and (not css_class or css_class in one.classes):
                yield one
            yield from one.all(tag, css_class)

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    @property
    def text(self) -> str:
        """Everything that is read, with single blanks."""
        return " ".join("".join(self.pieces).split())


class Page(HTMLParser):
    """A page that must be balanced, with each ID once."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.root = self.here = Element("", {})
        self.feed(source)
        self.close()
        assert self.here is self.root, f"{self.here.tag} is not closed"
        ids = [one.attributes["id"] for one in self.root.all() if "id" in one.attributes]
        assert len(ids) == len(set(ids))
        self.ids = set(ids)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        one = Element(tag, {name: value or "" for name, value in attrs}, self.here)
        assert len(one.attributes) == len(attrs)
        self.here.inside.append(one)
        if tag not in VOID:
            self.here = one

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in SHAPES
        self.here.inside.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.here.tag == tag, f"</{tag}> ends <{self.here.tag}>"
        assert self.here.around is not None
        self.here = self.here.around

    def handle_data(self, data: str) -> None:
        one: Element | None = self.here
        while one is not None:
            one.pieces.append(data)
            one = one.around

    def get(self, name: str) -> Element:
        return next(one for one in self.root.all() if one.attributes.get("id") == name)
