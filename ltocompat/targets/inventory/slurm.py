"""``scontrol show node`` -> machines; Slurm knows their GPUs by names that a site gives, no driver.

Fields: scontrol(1), gres.conf(5): ``Gres=gpu:TYPE:COUNT(S:SOCKETS)``, the type being any text or,
as AutoDetect=nvml has it, the name of the GPU with underscores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ltocompat.targets.inventory.node import Node

_GRES = re.compile(r"(?<!\w)Gres=(\S+)")
_GPU = re.compile(r"gpu(?::(?P<type>[^:(),]*))?:[0-9]{1,6}[KM]?(?:\([^)]*\))?")
# The profile of a MIG, as NVML names it behind the GPU: a100_1g.5gb, nvidia_a100_3g.20gb.
_PROFILE = re.compile(r" (?:[0-9]c\.)?[0-9]g\.[0-9]{1,4}gb.*")


def is_nodes(lines: Sequence[str]) -> bool:
    """Return whether lines are scontrol's output about nodes."""
    return any(line.lstrip().startswith("NodeName=") for line in lines)


def read_nodes(lines: Sequence[str]) -> Iterator[Node]:
    """The nodes with GPUs."""
    starts = [n for n, line in enumerate(lines) if line.lstrip().startswith("NodeName=")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        text = " ".join(map(str.strip, lines[start:end]))
        name = text.partition(" ")[0].removeprefix("NodeName=")
        listed = match[1] if (match := _GRES.search(text)) else ""
        if gpus := list(_GPU.finditer(listed)):
            keys = {"os": "linux-aarch64" if " Arch=aarch64" in text else ""}
            kinds = ((match["type"] or "").replace("_", " ") for match in gpus)
            yield Node(keys, tuple((_PROFILE.sub("", kind), "") for kind in kinds), name)
