"""What is told to hold no code is nothing to any format: no container, no program, no PTX."""

from __future__ import annotations

import io
import tarfile
import zipfile

from fatbin_writer import KINDS, EntrySpec, entry, region
from hypothesis import event, example, given
from hypothesis import strategies as st
from samples import FOLDER

from ltocompat.files.archives import container_of
from ltocompat.files.byteview import ByteView
from ltocompat.files.fatbin.walk import FatbinWalk
from ltocompat.files.first_bytes import holds_no_code
from ltocompat.files.images import TILEIR, ptx
from ltocompat.files.objects import read_host
from ltocompat.files.objects.ptx_texts import ptx_texts
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location

PTX = b"// made here\n.version 8.4\n.target sm_80\n"


def _tar() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a"))
    return data.getvalue()


def _zip() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("a", "text")
    return data.getvalue()


# Whole files, their first bytes, and those that a format is known by, wherever they lie.
CODE = [
    PTX,
    region([entry(EntrySpec(KINDS["ptx"], PTX))]),
    *((FOLDER / name).read_bytes() for name in ("cubin/nvcc-13.0-sm_80.cubin",)),
    (FOLDER / "ltoir" / "nvrtc-13.0-lto_80.ltoir").read_bytes(),
    (FOLDER / "objects" / "nvcc-13.5-rdc-axpy.o").read_bytes(),
    _tar(),
    _tar().replace(b"\0", b" ")[:512],
    _zip(),
    b"\x50\xed\x55\xba",
    b"\x28\xb5\x2f\xfd",
    b"\x50\x2a\x4d\x18",
    b"\x1f\x8b\x08",
    b"BZh91AY&SY",
    b"\xfd7zXZ\0",
    b"\xed\xab\xee\xdb",
    b"!<arch>\n",
    b"!<thin>\n",
    b"MZ",
    b"d\x86",
    b"L\1",
]
PIECES = st.one_of(
    st.text(max_size=60).map(str.encode),
    st.text(st.characters(max_codepoint=126), max_size=600).map(str.encode),
    st.sampled_from(CODE),
    st.sampled_from(CODE).map(lambda data: data[:40]),
    st.binary(max_size=8),
)


def found_in(data: bytes) -> bool:
    """Whether any format sees something in these bytes, each asked by itself."""
    view = ByteView.of(data)
    head = view.peek(0, ptx.HEAD_SIZE)
    return bool(
        container_of(view)
        or read_host(view, Budget())
        or ptx.sniff(head)
        or head.startswith(TILEIR)
        or ptx_texts(view, Budget())
        or list(FatbinWalk(view, Location("input"), None, Budget()))
    )


@given(st.lists(PIECES, max_size=4).map(b"".join))
@example(b"")
@example(PTX)
@example(_tar().replace(b"\0", b" ")[:512])
@example(b".version\r\n\t 8.4\r\n.target sm_80\r\n")
@example(b"'.version 8.4\\n.target sm_80' in a source, \x00 and a sys.version")
@example(b"text before " + _zip())
@example(b"\xa7\r\r\n\0 byte code " + _zip())
@example(b"\xa7\r\r\n\0 byte code " + CODE[1])
@example(b"\x7fTileIR\0")
@example(b"\x28\xb5\x2f\xfd and text behind")
@example(b"text before \xed\x43\x4e\x7f and text behind")
@example(b"\x50\xed\x55\xba and text behind")
@example(b"\xed\xab\xee\xdb and text behind")
@example(b"!<arch>\n")
@example(b"BZh91AY&SY and text behind")
def test_text_is_nothing_to_any_format(data: bytes) -> None:
    text = holds_no_code(ByteView.of(data))
    event(f"text: {text}")
    assert not (text and found_in(data))


def test_what_packages_hold_most_is_text() -> None:
    sources = [b"", b"# -*- coding: utf-8 -*-\n", "Größe = 1\r\n".encode(), b"a" * 60_000]
    assert all(holds_no_code(ByteView.of(source)) for source in sources)
