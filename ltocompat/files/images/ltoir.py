"""The header of an LTO-IR image; the body is scrambled by its vendor and stays so.

Measured on the output of 16 releases of NVRTC and nvcc (11.7 .. 13.5), the same layout in all, but
for 442 images of an older compiler in nvidia-cusparse-cu11 11.7.5.86, which have no key word:

=====  ====  ==========================================================
at     size  field
=====  ====  ==========================================================
0      4     magic
4      2     container version: 1, NN
6      2     NVVM IR version: 2, NN; different in every CUDA release
8      2     debug metadata version: 3, 1 up to 12.6; 3, 2 from 12.8 on
10     2     LLVM version: 7, 0 below sm_100; 20 .. 23, 0 from there on
12     2     offset of the tag list, 0x18
14     2     1 from a compiler (30 samples, 170 real images), 0 from nvJitLink (7 samples)
16     4     offset of the key word
20     4     offset of the body
0x18   2+2   tags: (1, 10 * SM), ... (0x20, 1) on ``a``, ... (0, 0)
=====  ====  ==========================================================
"""

from __future__ import annotations

import functools
import struct

from msgspec import Struct

from ltocompat.model.arch import ArchForm, SmArch
from ltocompat.model.errors import Malformed
from ltocompat.model.image import LtoIrVersions

MAGIC = b"\xed\x43\x4e\x7f"
HEAD_SIZE = 0x100

_HEADER = struct.Struct("<4s8BHHII")
_TAG = struct.Struct("<HH")
_KEY_SIZE = 4
_FIRST_WITH_KEY = (1, 54)  # container
_TAG_LIST = 0x18
_TAG_ARCH = 1
_TAG_ACCELERATED = 0x20


class LtoIr(Struct, frozen=True):
    """The header of an LTO-IR image.

    Attributes:
        versions: the versions of container, NVVM IR, LLVM and debug metadata.
        arch: the architecture of the code; a family suffix is not recorded.
        linked: True if a linker wrote it (nvJitLink 13.4 and later) with its own versions.
        keyless: True without a keyword before the body, as before CUDA 11.7.
    """

    versions: LtoIrVersions
    arch: SmArch
    linked: bool
    keyless: bool


@functools.lru_cache(maxsize=64)  # a walk finds an image by its header, and a description reads it
def parse(head: bytes) -> LtoIr:
    """Read the header from the first bytes (at least 0x30, at best ``HEAD_SIZE``) of an image.

    Raises:
        Malformed: these are not bytes of an LTO-IR image.
    """
    if not head.startswith(MAGIC):
        raise Malformed("an LTO-IR image does not begin with ED 43 4E 7F")
    if len(head) < _TAG_LIST:
        raise Malformed(f"an LTO-IR image of {len(head)} bytes is truncated inside its header")
    fields = _HEADER.unpack_from(head)
    container, ir, debug, llvm = (fields[i : i + 2] for i in (1, 3, 5, 7))
    tag_list, compiled, key, body = fields[9:]
    # Versions are for those to judge who know which linker reads them.
    keyless = body == key and container < _FIRST_WITH_KEY
    known = tag_list == _TAG_LIST < key and (keyless or body == key + _KEY_SIZE)
    if not known or body > HEAD_SIZE or len(head) <= key:
        raise Malformed(f"an LTO-IR header has unknown fields: {head[:24].hex(' ')}")
    arch = _arch(head[_TAG_LIST:key])
    if arch is None:
        raise Malformed("the tags of an LTO-IR header name no architecture")
    versions = LtoIrVersions(*(f"{major}.{minor}" for major, minor in (container, ir, llvm, debug)))
    return LtoIr(versions, arch, compiled == 0, keyless)


def _arch(tags: bytes) -> SmArch | None:
    pairs = dict(_TAG.iter_unpack(tags[: len(tags) // _TAG.size * _TAG.size]))
    number = pairs.get(_TAG_ARCH, 0)
    if not number:
        return None
    return SmArch(number // 10, "a" if pairs.get(_TAG_ACCELERATED) else "", ArchForm.LTO)
