"""Layers: the files that are read of a container image are those that a container sees.

An independent unpacker applies the layers from the lowest up; the reader goes from the top down.
"""

from __future__ import annotations

import io
import posixpath
import tarfile
from collections.abc import Callable, Sequence

from container_images_made import docker_archive, oci_layout
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct, field

from ltocompat.files.archives import container_image, container_of
from ltocompat.files.archives.member import Member
from ltocompat.files.byteview import ByteView
from ltocompat.model.image import Skipped
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location

PATHS = ("a", "a/b", "a/b/c", "a/d", "e", "e/f", "e/f/g", "h")
FILE, FOLDER, LINK, HARD, WHITEOUT, OPAQUE = "file", "folder", "link", "hard", "whiteout", "opaque"
KINDS = (FILE, FILE, FILE, FOLDER, LINK, HARD, WHITEOUT, WHITEOUT, OPAQUE)
Step = tuple[str, str, str]
"""Kind and path of an entry, and the target of a link."""


def around(path: str) -> list[str]:
    """The folders around a path, the innermost first."""
    found = []
    while path := posixpath.dirname(path):
        found.append(path)
    return found


class Tree(Struct):
    """What a container sees: path -> bytes of a file, None for a folder, "" for a link."""

    at: dict[str, bytes | str | None] = field(default_factory=dict)

    def remove(self, path: str, *, itself: bool = True) -> None:
        inside = [p for p in self.at if path in around(p) or not path]
        for gone in [*inside, *([path] if itself else [])]:
            self.at.pop(gone, None)

    def put(self, path: str, value: bytes | str | None) -> None:
        for folder in around(path):
            if self.at.get(folder, "") is not None:
                self.at[folder] = None
        if value is not None or self.at.get(path, "") is not None:
            self.remove(path)
            self.at[path] = value

    def apply(self, layer: Sequence[Step], number: int) -> None:
        for kind, path, _ in layer:
            if kind in (WHITEOUT, OPAQUE):
                self.remove(path, itself=kind == WHITEOUT)
        for place, (kind, path, target) in enumerate(layer):
            if kind == HARD:
                self.put(path, self.at[target])
            elif kind not in (WHITEOUT, OPAQUE):
                values: dict[str, bytes | str] = {FILE: content(number, place), LINK: ""}
                self.put(path, values.get(kind))

    @property
    def files(self) -> dict[str, bytes]:
        return {f"/{path}": data for path, data in self.at.items() if isinstance(data, bytes)}


def content(number: int, place: int) -> bytes:
    return f"file {place} of layer {number}".encode()


@st.composite
def images(draw: st.DrawFn) -> list[list[Step]]:
    """Layers that a builder may write: no entry of one contradicts another of the same."""
    tree = Tree()
    layers = []
    for number in range(draw(st.integers(1, 4))):
        layer: list[Step] = []
        own: dict[str, str] = {}
        for _ in range(draw(st.integers(0, 6))):
            kind, path = draw(st.sampled_from(KINDS)), draw(st.sampled_from(PATHS))
            later = Tree(dict(tree.at))
            later.apply(layer, number)
            targets = sorted(p.removeprefix("/") for p in later.files if p != f"/{path}")
            target = draw(st.sampled_from(targets)) if kind == HARD and targets else ""
            if kind == HARD and not target:
                continue
            if kind in (WHITEOUT, OPAQUE):
                # Removed is what lower layers have; a hard link may need it.
                if not any(step[0] == HARD for step in layer):
                    layer.append((kind, path, ""))
                continue
            inner = any(path in around(other) for other in own)
            within = any(own.get(folder, FOLDER) != FOLDER for folder in around(path))
            if path in own or within or (inner and kind != FOLDER):
                continue
            own[path] = kind
            layer.append((kind, path, target))
        tree.apply(layer, number)
        layers.append(layer)
    return layers


def layer_tar(layer: Sequence[Step], number: int) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for place, (kind, path, target) in enumerate(layer):
            folder, name = posixpath.split(path)
            stored = {
                WHITEOUT: posixpath.join(folder, f".wh.{name}"),
                OPAQUE: f"{path}/.wh..wh..opq",
            }.get(kind, path)
            info = tarfile.TarInfo(("./" if number % 2 else "") + stored)
            types = {FOLDER: tarfile.DIRTYPE, LINK: tarfile.SYMTYPE, HARD: tarfile.LNKTYPE}
            info.type = types.get(kind, tarfile.REGTYPE)
            info.linkname = target or ("elsewhere" if kind == LINK else "")
            data = content(number, place) if kind == FILE else b""
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def read(data: bytes) -> tuple[dict[str, bytes], list[Skipped]]:
    view, place = ByteView.of(data), Location("image.tar")
    found = container_of(view)
    assert found is container_image
    members = list(found.members(view, place, place, Budget()))
    skipped = [each for each in members if isinstance(each, Skipped)]
    files = [each for each in members if isinstance(each, Member)]
    assert len({each.place for each in files}) == len(files)
    return {each.place.innermost: each.view.all() for each in files}, skipped


def holds(found: dict[str, bytes], seen: dict[str, bytes]) -> None:
    assert found.items() <= seen.items()
    assert set(found.values()) == set(seen.values())  # a hard link is read under one of its names


@given(images(), st.sampled_from([oci_layout, docker_archive]))
@settings(max_examples=150, deadline=None)
def test_the_files_read_are_those_that_a_container_sees(
    layers: list[list[Step]], written: Callable[[Sequence[bytes]], bytes]
) -> None:
    tree = Tree()
    for number, layer in enumerate(layers):
        tree.apply(layer, number)
    found, skipped = read(written([layer_tar(layer, n) for n, layer in enumerate(layers)]))
    assert not skipped
    holds(found, tree.files)
