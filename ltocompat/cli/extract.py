"""``ltocompat extract``."""

from __future__ import annotations

from msgspec.structs import replace

from ltocompat.cli.options import Format, ImageChoice
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import ExtractOptions
from ltocompat.report.exit_status import ReadingStatus


@verb
def extract(*, options: ExtractOptions, images: ImageChoice, form: Format = ()) -> int:
    """Write images to files, decompressed where possible.

    For example: ltocompat extract libx.so@0x1f40.3 -o images

    Scrambled LTO-IR becomes a .fatbin file with one entry; nvJitLink accepts this file.
    """
    where = images.filter()
    from ltocompat.commands import extract as command
    from ltocompat.report.verbs.extract import REPORT

    options = replace(options, where=where)
    status = ReadingStatus(filtered=where is not None)
    return run_verb(command.run, options, in_format(form, REPORT), status)
