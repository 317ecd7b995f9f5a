"""What a tool made: the bytes, the commands behind them, and the images they must hold.

What is known of a sample is known by construction; nothing here looks into the bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Image:
    """A device image that a sample holds, known from the commands that made it.

    `made_by` are the CUDA releases of the compilers of its code; `linked_by` those of the linkers
    that put compiled pieces together.
    """

    kind: str
    arch: str
    made_by: tuple[str, ...]
    linked_by: tuple[str, ...] = ()
    compression: str = "none"
    scrambled: bool = False
    relocatable: bool = False
    debug: bool = False
    ptx_isa: str | None = None


@dataclass(frozen=True)
class Product:
    """Bytes, the tool that gave them their final form, the commands, and the images inside."""

    data: bytes = field(repr=False)
    tool: str
    version: str
    package: str
    commands: tuple[str, ...]
    images: tuple[Image, ...]


@dataclass(frozen=True)
class Member:
    """One input of nvFatbin."""

    add: str
    product: Product
    arch: str = ""
    identifier: str = ""
    options: str = ""


def history(inputs: Iterable[Product], command: str) -> tuple[str, ...]:
    """The commands that made the inputs, each once, then `command`."""
    earlier = (line for product in inputs for line in product.commands)
    return tuple(dict.fromkeys([*earlier, command]))


def releases(groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The union of sets of releases, oldest first."""
    union = {release for group in groups for release in group}
    return tuple(sorted(union, key=lambda text: tuple(map(int, text.split(".")))))


def stored(image: Image, options: Sequence[str], algorithm: str) -> Image:
    """How nvFatbin stores an image under these options, when it compresses with `algorithm`.

    Executable SASS without debug information is only compressed on request; compressed LTO-IR is
    always scrambled.
    """
    plain = image.kind == "sass" and not (image.relocatable or image.debug)
    if algorithm == "none" or (plain and "-compress-all" not in options):
        return image
    return replace(image, compression=algorithm, scrambled=image.kind == "ltoir")
