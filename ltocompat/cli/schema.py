"""``ltocompat schema``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ltocompat.cli.options import choose


def schema(
    name: Annotated[
        str, typer.Argument(metavar="VERB", help="A verb; or error, which any of them can write.")
    ],
) -> int:
    """Print the JSON Schema of what a verb writes with --format json."""
    from ltocompat.report.schema import DOCUMENTS, schema_text

    choose("VERB", name, DOCUMENTS)
    sys.stdout.write(schema_text(name))
    return 0
