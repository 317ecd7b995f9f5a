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
from typing import TYPE_CHECKING

from msgspec import Struct

from ltocompat.files.byteview import ByteView
from ltocompat.model.arch import Release
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import Budget
from ltocompat.targets.linkers.linker import Tool

if TYPE_CHECKING:
    from ltocompat.files.objects.structure import ObjectReader

_NVLINK = b"\0Cuda linker\0"
_BANNER = b"Cuda compilation tools, release "
_BANNER_TEXT = re.compile(rb"Cuda compilation tools, release (\d{1,9}\.\d{1,9}), V(\1\.\d{1,9})\0")
_LONGEST_BANNER = 80
_CREATE = re.compile(r"__nvJitLinkCreate_([0-9]{1,9})_([0-9]{1,9})")


class LinkerIdentity(Struct, frozen=True):
    """The identity of a linker, as its bytes prove it.

    Attributes:
        release: its minor.
        version: 12.4.127, or 12.4 where nothing proves more.
        evidence: where that was read.
        machine: the processor it runs on.
        tool: which linker it is.
    """

    release: Release
    version: str
    evidence: str
    machine: str
    tool: Tool = Tool.NVJITLINK


def identify(
    view: ByteView,
    budget: Budget,
    claims: Iterable[tuple[str, str]] = (),
    tool: Tool = Tool.NVJITLINK,
) -> LinkerIdentity:
    """Read the version of a linker.

    Args:
        view: its bytes.
        budget: what reading them may cost.
        claims: (version, evidence) that packages give for it, asked only where it has no banner.
        tool: which linker it is to be.

    Raises:
        Malformed: it is not that linker, or nothing in it tells its version.
        LimitExceeded: the budget is used up.
    """
    if tool is Tool.NVLINK:
        return _identify_nvlink(view, budget)
    return _identify(view, budget, claims)


def _host(view: ByteView, budget: Budget) -> ObjectReader | None:
    # Imported here: most callers find their library in the trial cache, where all is known.
    from ltocompat.files.objects.elf_host import read_elf
    from ltocompat.files.objects.pe import read_pe

    magic = view.peek(0, 4)
    if magic == b"\x7fELF":
        return read_elf(view, budget)
    return read_pe(view, budget) if magic[:2] == b"MZ" else None


def _identify(view: ByteView, budget: Budget, claims: Iterable[tuple[str, str]]) -> LinkerIdentity:
    from ltocompat.model.library_name import library_name

    host = _host(view, budget)
    if host is None:
        raise Malformed("it is no library of Linux or Windows")
    if library_name(host.own_name or "") != "libnvJitLink":
        raise Malformed(f"it is no nvJitLink: it calls itself {host.own_name or 'nothing'!r}")
    versions = banners(view, budget, host.data_spans())
    if len(versions) == 1:
        version = versions.pop()
        return LinkerIdentity(Release.parse(version), version, "file banner", host.machine)
    minor = _exported(host.symbols().nvjitlink_defined)
    for version, evidence in claims:
        if minor is None or Release.parse(version) == minor:
            return LinkerIdentity(Release.parse(version), version, evidence, host.machine)
    if minor is None:
        raise Malformed("nothing in it tells the version of this nvJitLink")
    return LinkerIdentity(minor, str(minor), "exported symbols", host.machine)


def _identify_nvlink(view: ByteView, budget: Budget) -> LinkerIdentity:
    from ltocompat.files.objects.structure import occurrences

    host = _host(view, budget)
    if host is None:
        raise Malformed("it is no program of Linux or Windows")
    spans = host.data_spans()
    titles = (at for span in spans for at in occurrences(view, budget, *span, _NVLINK))
    if next(titles, None) is None:
        raise Malformed("it is no nvlink: it lacks the title 'Cuda linker'")
    versions = banners(view, budget, spans)
    if len(versions) != 1:
        raise Malformed("nothing in it tells the version of this nvlink")
    version = versions.pop()
    return LinkerIdentity(Release.parse(version), version, "file banner", host.machine, Tool.NVLINK)


def banners(view: ByteView, budget: Budget, spans: Iterable[tuple[int, int]]) -> set[str]:
    """The versions in the banners of CUDA's compilers that lie in parts of a file.

    Args:
        view: the file.
        budget: what reading it may cost.
        spans: offset and size of each part, bytes.
    """
    from ltocompat.files.objects.structure import occurrences

    found = set()
    for offset, size in spans:
        for at in occurrences(view, budget, offset, size, _BANNER):
            banner = _BANNER_TEXT.match(view.peek(at, _LONGEST_BANNER))
            if banner:
                found.add(banner[2].decode("ascii"))
    return found


def _exported(names: Iterable[str]) -> Release | None:
    """The highest of the minors that the names end in; 12.0 .. 12.9 means 12.9."""
    matches = filter(None, map(_CREATE.fullmatch, names))
    return max((Release(int(match[1]), int(match[2])) for match in matches), default=None)
