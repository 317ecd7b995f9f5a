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
        for element in self.inside:
            if tag in ("", element.tag) and (not css_class or css_class in element.classes):
                yield element
            yield from element.all(tag, css_class)

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
        ids = [
            element.attributes["id"] for element in self.root.all() if "id" in element.attributes
        ]
        assert len(ids) == len(set(ids))
        self.ids = set(ids)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs}, self.here)
        assert len(element.attributes) == len(attrs)
        self.here.inside.append(element)
        if tag not in VOID:
            self.here = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in SHAPES
        self.here.inside.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.here.tag == tag, f"</{tag}> ends <{self.here.tag}>"
        assert self.here.around is not None
        self.here = self.here.around

    def handle_data(self, data: str) -> None:
        element: Element | None = self.here
        while element is not None:
            element.pieces.append(data)
            element = element.around

    def get(self, name: str) -> Element:
        return next(element for element in self.root.all() if element.attributes.get("id") == name)
