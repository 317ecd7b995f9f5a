"""``ltocompat schema``."""

from __future__ import annotations

import json
import sys
from typing import Annotated

from msgspec import Struct

from ltocompat.cli.options import choose
from ltocompat.cli.verb import verb
from ltocompat.commands.options import Argument

_POLICY = "policy"


class SchemaOptions(Struct, frozen=True):
    """Which schema to print.

    Attributes:
        name: The name of a command; or "error" (the schema of failures), or "policy" (for editors).
    """

    name: Annotated[str, Argument(metavar="VERB")]


@verb
def schema(*, options: SchemaOptions) -> int:
    """Print the JSON Schema of a command's output, or of a policy.

    For example: ltocompat schema check
    """
    from ltocompat.report.schema import DOCUMENTS
    from ltocompat.report.schema import schema as schema_of

    if choose("VERB", options.name, (*DOCUMENTS, _POLICY)) == _POLICY:
        from ltocompat.commands.policy.key_list import schema as policy_schema

        found = policy_schema()
    else:
        found = schema_of(options.name)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    return 0
