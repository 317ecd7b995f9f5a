"""Containers that the suffixes of file names promise, checked against the bytes.

A download that ended in an error page and a build that broke off bear the name of a package: that
nothing in them is device code must not be mistaken for a package without any.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from ltocompat.files.archives import container_of
from ltocompat.files.byteview import ByteView
from ltocompat.files.elf_layout import CUDA_ABIS, EM_CUDA, OS_ABI
from ltocompat.files.elf_layout import MAGIC as ELF
from ltocompat.files.first_bytes import (
    BLOCK,
    CODE_MAGICS,
    DEB_MAGIC,
    GZIP_MAGIC,
    RPM_MAGIC,
    holds_no_code,
    is_ar,
    is_tar,
    is_text,
    packing_of,
)
from ltocompat.files.images import TILEIR, ptx
from ltocompat.model.errors import LimitExceeded, Malformed
from ltocompat.model.limits import Budget


class _Promise(Struct, frozen=True):
    """The container that some suffixes promise.

    Attributes:
        suffixes: in small letters.
        what: the words after "it is not".
        keeps: whether bytes are that; ``Malformed`` says why not, too.
        others: first bytes of files in folders and packages that have such names by chance.
        remedy: what to do about bytes that are none.
    """

    suffixes: tuple[str, ...]
    what: str
    keeps: Callable[[ByteView, Budget], bool]
    others: tuple[bytes, ...] = ()
    remedy: str = "build or fetch it again"


_CONDA = re.compile(r"pkg-[^/]+\.tar\.(?:zst|bz2)")
_LINKER_SCRIPT = re.compile(rb"\s*(?:/\*|INPUT\b|GROUP\b|OUTPUT_FORMAT\b)")
_ANY = (b"",)
_FETCH = "build or fetch it again (git lfs pull, if it is a pointer)"
_MACHINE = 18  # offset of e_machine
_HEAD = 4
_PACKED = (".gz", ".bz2", ".xz", ".lzma", ".zst")
# ELF, PE, LLVM's bitcode, WebAssembly, Go's objects, what macOS has (mach-o/loader.h,
# mach-o/fat.h), and imports of a DLL (Microsoft, "PE Format", import header).
_OBJECTS = (
    *(ELF, b"MZ", b"BC\xc0\xde", b"\0asm", b"go object "),
    *(b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\0\0\xff\xff\0\0"),
)
# Clang's bundles hold code of other makers' GPUs.
_IMAGES = (*CODE_MAGICS[2:], TILEIR, b"__CLANG_OFFLOAD_BUNDLE__", b"\x10\xff\x10\xad")


# A check loads the reader that it asks: most names promise nothing.


def _is_zip(view: ByteView, budget: Budget) -> bool:
    from ltocompat.files.archives.zip import find_end, sniff

    return sniff(view, budget) and find_end(view).size > 0


def _is_conda(view: ByteView, budget: Budget) -> bool:
    from ltocompat.files.archives.zip import entries, find_end

    members = budget.timed(entries(view, find_end(view)))
    return any(_CONDA.fullmatch(entry.name) for entry in members)


def _is_tar(view: ByteView, budget: Budget) -> bool:
    if packing_of(view) is None:
        return is_tar(view.peek(0, BLOCK))
    from ltocompat.files.archives.compressed import unpacked_head

    return is_tar(unpacked_head(view, BLOCK, budget))


def _is_host(view: ByteView, budget: Budget) -> bool:
    # Objects of Windows begin with no magic.
    from ltocompat.files.objects import structure_of

    host = structure_of(view, budget)
    return host is not None and not host.machine.isdecimal()


def _is_library(view: ByteView, budget: Budget) -> bool:
    # Linkers take by such a name what glibc has as libm.a and libmcheck.a, too.
    head = view.peek(0, BLOCK)
    known = head.startswith(_OBJECTS) or _LINKER_SCRIPT.match(head) is not None
    return known or is_ar(view) or _is_host(view, budget)


def _is_image(view: ByteView, budget: Budget) -> bool:
    if not view.size:
        return False
    if is_text(view) and holds_no_code(view):
        raise Malformed("it is text")
    head = ptx.head_of(view)
    os_abi = int.from_bytes(head[OS_ABI : OS_ABI + 1], "little")
    machine = int.from_bytes(head[_MACHINE : _MACHINE + 2], "little")
    # Of a cubin that is damaged more is said where it is read.
    cubin = head.startswith(ELF) and (machine == EM_CUDA or os_abi in CUDA_ABIS)
    if cubin or head.startswith(_IMAGES) or ptx.sniff(head):
        return True
    # A library serves under any name, if it is whole.
    return container_of(view, budget) is not None or _is_host(view, budget)


# The first row counts of which a suffix fits. Sources: PEP 427 (.whl); setuptools, "The Internal
# Structure of Python Eggs" (.egg); OPC, ECMA-376-2 (.nupkg); "JAR File Specification" (.jar, which
# .aar and .apk extend); conda-package-streaming, "Package format" (.conda); deb(5); rpm's
# manual; GNU tar's
# manual, "Creating and Reading Compressed Archives" (suffixes of tar); ar(5), ld(1); nvcc's guide,
# "Supported Input File Suffixes". Git LFS leaves a text in place of a file that nobody fetched.
_PROMISES = (
    _Promise(
        (".whl", ".egg", ".zip", ".nupkg", ".jar", ".aar"),
        "a zip archive with files in it",
        _is_zip,
    ),
    # Alpine's packages, which are compressed, are called .apk, too.
    _Promise((".apk",), "a zip archive with files in it", _is_zip, (GZIP_MAGIC,)),
    _Promise((".conda",), "a conda package", _is_conda),
    _Promise(
        (".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tzst", *map(".tar".__add__, _PACKED)),
        "a tar archive with files in it",
        _is_tar,
    ),
    _Promise(
        (".deb",), "a Debian package", lambda view, _: view.peek(0, len(DEB_MAGIC)) == DEB_MAGIC
    ),
    _Promise((".rpm",), "an RPM", lambda view, _: view.peek(0, len(RPM_MAGIC)) == RPM_MAGIC),
    _Promise((".cubin", ".fatbin", ".ltoir"), "device code", _is_image, remedy=_FETCH),
    # PreTeXt's documents, which are XML, are called .ptx, too.
    _Promise((".ptx",), "device code", _is_image, (b"<", b"\xef\xbb\xbf<"), _FETCH),
    _Promise(
        (".so", ".dll", ".pyd", ".o"),
        "a library or device code",
        lambda view, budget: _is_library(view, budget) or _is_image(view, budget),
        remedy=_FETCH,
    ),
    _Promise((".a", ".lib"), "a static library", _is_library, _ANY),
    _Promise(_PACKED, "a compressed file", lambda view, _: packing_of(view) is not None, _ANY),
    _Promise(
        (".7z", ".rar", ".tar.lz", ".tar.lz4", ".tar.lzma", ".tar.z"),
        "an archive of a kind that ltocompat reads",
        lambda view, budget: container_of(view, budget) is not None,
        _ANY,
        remedy="unpack it and name the folder",
    ),
)


def broken_promise(
    name: str, view: ByteView, budget: Budget, *, typed: bool, inside: bool = False
) -> str | None:
    """Return how a file differs from its name's promise, and the fix; None if it doesn't.

    Args:
        name: the name of the file.
        view: its bytes.
        budget: the budget for reading them.
        typed: True if the user named it; else it was found in a folder or a package.
        inside: True for a member of a package, whose test data may have texts instead of archives.
    """
    lower = name.lower()
    promise = next((row for row in _PROMISES if lower.endswith(row.suffixes)), None)
    if promise is None or (not typed and view.peek(0, _HEAD).startswith(promise.others)):
        return None
    if inside and promise.remedy != _FETCH and is_text(view) and view.peek(0, _HEAD).isascii():
        return None
    why = "it is empty" if not view.size else ""
    try:
        if promise.keeps(view, budget):
            return None
    except LimitExceeded:
        return None  # whoever reads it to its end says so
    except Malformed as error:
        why = why or str(error)
    return f"it is not {promise.what}{f' ({why})' if why else ''}; {promise.remedy}"
