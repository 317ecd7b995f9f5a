"""Some hundreds of links with their answers, stored with the tests; what is linked is made anew.

``python tests/oracle/measure.py FOLDER 40 --record`` writes both files.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from link_cases import Case, cases, key
from nvcc_objects import Made
from pieces import Piece
from real_linkers import Answer

DATA = Path(__file__).parents[1] / "data"
PIECES, ANSWERS = DATA / "link_pieces.zip", DATA / "link_answers.json"
_RELEASES = ("12.0", "12.4", "13.0", "13.5")
_ARCHS = ("80", "90", "100", "90a", "100f")
_OBJECTS = ("13.0", "13.5")


def kept(pieces: Iterable[Piece], objects: Iterable[Made]) -> tuple[list[Piece], list[Made]]:
    """The few of all that are stored: enough for every stratum."""
    return (
        [
            piece
            for piece in pieces
            if piece.release in _RELEASES and piece.arch in _ARCHS and piece.kind != "final"
        ],
        [made for made in objects if made.release in _OBJECTS],
    )


def record(
    pieces: Sequence[Piece], objects: Sequence[Made], answers: Sequence[tuple[Case, Answer]]
) -> None:
    """Write what ``stored`` reads."""
    with zipfile.ZipFile(PIECES, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        items: list[Piece | Made] = [*pieces, *objects]
        for item in items:
            # A fixed date: the same pieces make the same archive.
            archive.writestr(zipfile.ZipInfo(item.file), item.data, zipfile.ZIP_DEFLATED, 9)
    rows = {key(case): [answer.accepted, answer.words] for case, answer in answers}
    body = ",\n".join(f" {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    each = len(answers) // len({case.stratum for case, _ in answers})
    ANSWERS.write_text(f'{{"each": {each}, "answers": {{\n{body}\n}}}}\n', "utf-8")


def stored() -> list[tuple[Case, Answer]]:
    """The links that were recorded, with the answers of the real linkers.

    Raises:
        KeyError: the links are made otherwise now; record them anew.
    """
    document = json.loads(ANSWERS.read_text("utf-8"))
    made = cases(*parts(), document["each"])
    return [(case, Answer(*document["answers"][key(case)])) for case in made]


@cache
def parts() -> tuple[list[Piece], list[Made]]:
    """What the links are made of."""
    with zipfile.ZipFile(PIECES) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    return (
        [Piece.of(name, data) for name, data in files.items() if not name.endswith(".o")],
        [Made.of(name, data) for name, data in files.items() if name.endswith(".o")],
    )
