"""Identification of linkers by their bytes: one that was found is never loaded or run here.

The linker's own banner, "Cuda compilation tools, release 12.4, V12.4.127", is the best evidence:
each file in ``facts/nvjitlink.toml``, and each nvlink in ``facts/nvlink.toml``, holds exactly that
of its wheel, and no other. Other programs have such banners, too: nvlink is told by the title that
it prints for --version.
The exported names tell the minor: a library M.m exports ``__nvJitLinkCreate_M_0`` .. ``_M_m`` of
its own major (compatibility.md 4.2, from ``readelf --dyn-syms``). What packages say of their files
comes in between, and only where it agrees with the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ltocompat.files.byteview import ByteView
from ltocompat.files.objects.libraries import BANNER
from ltocompat.files.objects.structure import ObjectReader
from ltocompat.model.arch import Release
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import Budget
from ltocompat.model.linker import Linker, Tool

_NVLINK = b"\0Cuda linker\0"
_BANNER_TEXT = re.compile(rb"Cuda compilation tools, release (\d{1,9}\.\d{1,9}), V(\1\.\d{1,9})\0")
_LONGEST_BANNER = 80
_CREATE = re.compile(r"__nvJitLinkCreate_([0-9]{1,9})_([0-9]{1,9})")


_Claims = Iterable[tuple[str, str]]


def identify(view: ByteView, budget: Budget, claims: _Claims, tool: Tool) -> Linker:
    """Read the version of a linker from its bytes; leave its path empty.

    Args:
        view: its bytes.
        budget: the budget for reading them.
        claims: (version, evidence) of packages for an nvJitLink, only used if it has no banner.
        tool: the expected kind of linker.

    Raises:
        Malformed: it is not that linker, or doesn't contain its version.
        LimitExceeded: the budget is used up.
    """
    host = _host(view, budget, tool)
    versions = banners(view, budget, host.data_spans())
    if len(versions) == 1:
        version, evidence = versions.pop(), "file banner"
    else:
        version, evidence = _without_banner(host, claims, tool)
    return Linker(
        Release.parse(version), version, "", "", evidence, machine=host.machine, tool=tool
    )


def _host(view: ByteView, budget: Budget, tool: Tool) -> ObjectReader:
    # Imported here: most callers find their library in the trial cache, where all is known.
    from ltocompat.files.objects import structure_of
    from ltocompat.files.objects.structure import occurrences
    from ltocompat.model.library_name import library_name

    host = structure_of(view, budget)
    nvlink = tool is Tool.NVLINK
    if host is None or host.format == "COFF":
        raise Malformed(f"it is not a {'binary' if nvlink else 'library'} for Linux or Windows")
    if not nvlink and library_name(host.own_name or "") != "libnvJitLink":
        raise Malformed(f"it is not nvJitLink: it calls itself {host.own_name or 'nothing'!r}")
    spans = host.data_spans() if nvlink else ()
    titles = (at for span in spans for at in occurrences(view, budget, *span, _NVLINK))
    if nvlink and next(titles, None) is None:
        raise Malformed("it is not nvlink: it does not contain the title 'Cuda linker'")
    return host


def _without_banner(host: ObjectReader, claims: _Claims, tool: Tool) -> tuple[str, str]:
    """The version and its evidence: what packages claim of nvJitLink, where its names agree."""
    if tool is Tool.NVJITLINK:
        # The highest of the minors that the names end in; 12.0 .. 12.9 means 12.9.
        matches = filter(None, map(_CREATE.fullmatch, host.symbols().nvjitlink_defined))
        minor = max((Release(int(match[1]), int(match[2])) for match in matches), default=None)
        for version, evidence in claims:
            if minor is None or Release.parse(version) == minor:
                return version, evidence
        if minor is not None:
            return str(minor), "exported symbols"
    raise Malformed(f"it doesn't contain the version of this {tool.label}")


def banners(view: ByteView, budget: Budget, spans: Iterable[tuple[int, int]]) -> set[str]:
    """Return the versions in banners of CUDA's compilers in parts of a file.

    Args:
        view: the file.
        budget: bounds for reading it.
        spans: offset and size of each part, bytes.
    """
    from ltocompat.files.objects.structure import occurrences

    places = (at for span in spans for at in occurrences(view, budget, *span, BANNER))
    found = (_BANNER_TEXT.match(view.peek(at, _LONGEST_BANNER)) for at in places)
    return {banner[2].decode("ascii") for banner in found if banner}
