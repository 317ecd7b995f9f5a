"""No line of a table, listing or paragraph is wider than the terminal, or than 200 columns."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO

from hypothesis import given
from hypothesis import strategies as st

from ltocompat.report import Options, Report, writer
from ltocompat.report.document import (
    Block,
    Code,
    Column,
    Diagnostic,
    Heading,
    Items,
    Listing,
    Row,
    Style,
    Table,
)

WIDTHS = (60, 80, 120, 200, None)
WORDS = st.text("abcXYZ019_-.", min_size=1, max_size=30)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)
PLACES = st.lists(st.text("abc019_-.", min_size=1, max_size=90), min_size=1, max_size=5).map(
    lambda parts: "/".join(parts) + "@0x1f40.3"
)


@st.composite
def rows(draw: st.DrawFn) -> tuple[tuple[Column, ...], tuple[Row, ...]]:
    """Columns as verbs have them, the last of them sometimes places, and rows for them."""
    number, places = draw(st.integers(1, 8)), draw(st.booleans())
    columns = tuple(
        Column(draw(WORDS), draw(st.booleans()), draw(st.sampled_from([0, 7, 14, 27])))
        for _ in range(number)
    )
    columns += (Column("place", place=True),) if places else ()
    cells = st.tuples(*[TEXTS] * number, *[PLACES.map(Code)] * places)
    below = st.lists(st.tuples(st.just("kernel"), st.text("_ZN0a", max_size=700)), max_size=2)
    made = st.builds(Row, cells, below.map(tuple))
    return columns, tuple(draw(st.lists(made, max_size=4)))


def lines_of(block: Block, width: int | None) -> list[str]:
    def blocks(*_: object) -> Iterator[Block]:
        yield block

    stream = StringIO()
    report: Report[object] = Report(blocks, blocks)  # type: ignore[arg-type]
    writer("table")(report, [], stream, Options(width=width))
    return stream.getvalue().splitlines()


@given(rows(), PLACES, TEXTS)
def test_no_line_is_wider_than_it_may_be(
    drawn: tuple[tuple[Column, ...], tuple[Row, ...]], place: str, text: str
) -> None:
    columns, made = drawn
    listed = tuple(Column(c.name, c.right, c.width or 9, place=c.place) for c in columns)
    member = place.replace("/", "::")
    fixed: list[Block] = [
        Diagnostic("fail", Style.FAIL, "PTX-01", text, ((Code(member),), (text,)), member, ()),
        Table(columns, tuple(row.cells for row in made)),
        Heading((Code(place), ": ", text)),
        Items("problems", ((Code(place), "; ", text), (Code(member), "; ", text))),
    ]
    for width in WIDTHS:
        for block in (*fixed, Listing(listed, iter(made))):
            for line in lines_of(block, width):
                assert len(line) <= (width or 200), (width, line)


@given(rows())
def test_nothing_beneath_a_row_is_cut(drawn: tuple[tuple[Column, ...], tuple[Row, ...]]) -> None:
    columns, made = drawn
    listed = tuple(Column(c.name, c.right, c.width or 9, place=c.place) for c in columns)
    shown = "".join(line.strip() for line in lines_of(Listing(listed, iter(made)), 60))
    for row in made:
        assert all(text in shown for _, text in row.below)
