"""Matrices with a picture of them in a file of its own."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.commands import matrix
from ltocompat.commands.options import MatrixOptions
from ltocompat.model.errors import LtocompatError
from ltocompat.model.failure import Failure
from ltocompat.model.matrix import Matrix


def run_and_draw(options: MatrixOptions, *, svg: str) -> Iterator[Matrix | Failure]:
    """The matrices; when they end they are drawn into the file ``svg``."""
    matrices: list[Matrix] = []
    for record in matrix.run(options):
        if isinstance(record, Matrix):
            matrices.append(record)
        yield record
    if not matrices:
        return
    from ltocompat.report.formats.svg import picture

    try:
        with open(svg, "w", encoding="utf-8") as file:
            file.write(picture(matrices))
    except OSError as error:
        yield Failure.of(
            LtocompatError(f"{svg!r} can't be written ({error.strerror}); check the path")
        )
