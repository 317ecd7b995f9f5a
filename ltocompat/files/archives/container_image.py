"""Container images: archives of ``docker save`` and OCI layouts, with their layers applied.

An archive of Docker names config and layers of each image in manifest.json; in an OCI layout
index.json names manifests by digest, and these name config and layers. Layers are read from the
last to the first, each once: what a layer has or removes, those below it no longer show. ``.wh.x``
removes x, ``.wh..wh..opq`` all that lies in a folder.

Sources: Docker Image Specification 1.2; OCI Image Format Specification 1.1, "image-layout",
"manifest" and "layer".
"""

from __future__ import annotations

import functools
import json
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ltocompat.files.archives.image_packages import folders_searched, packages_listed
from ltocompat.files.archives.member import (
    ImageMembers,
    Member,
    Members,
    Names,
    concerns,
    until_damage,
)
from ltocompat.files.archives.tar import (
    DEVICES,
    FOLDER,
    HARD_LINK,
    LINK,
    Plain,
    Tape,
    TarHeader,
    file_of,
    headers,
    tape_of,
    walk,
)
from ltocompat.files.byteview import ByteView, NamesOfTable, chunks, digest_of
from ltocompat.files.first_bytes import names_image
from ltocompat.model.errors import LimitExceeded, Malformed
from ltocompat.model.image import ImageLayer, Skipped
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location
from ltocompat.model.words import items_of

_MANIFEST, _INDEX, _LAYOUT = "manifest.json", "index.json", "oci-layout"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_BLOB = re.compile(r"blobs/sha256/([0-9a-f]{64})")
# What no other archive holds: blobs, layers of Docker's.
_PART = re.compile(rf"{_LAYOUT}|{_BLOB.pattern}|[0-9a-f]{{64}}/layer\.tar")
_TAG = "org.opencontainers.image.ref.name"
_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
_FETCH = "fetch the image again"
_DEEPEST = 4  # indexes in indexes


class Layer(Struct, frozen=True):
    """One layer.

    Attributes:
        name: its name in the archive.
        view: its bytes; None if the archive doesn't have them.
        history: the line that made it; empty if unknown.
    """

    name: str
    view: ByteView | None
    history: str = ""


class ContainerImage(Struct, frozen=True):
    """One image of an archive.

    Attributes:
        name: its tag, or its platform, for archives with several images.
        config: its config.
        layers: the layers, the lowest first.
    """

    name: str
    config: dict[str, Any]
    layers: tuple[Layer, ...]


def sniff(view: ByteView, budget: Budget) -> bool:
    """Return whether this is an archive that names images."""
    try:
        return _Archive(view, Location(""), budget).is_image
    except LimitExceeded:
        return False  # as a tar it is read as far as the limits allow


def members(view: ByteView, place: Location, wanted: Location, budget: Budget) -> ImageMembers:
    """Yield the files that a container sees; with several images, each below its name."""
    archive = _Archive(view, place, budget)
    images = list(archive.images())
    yield from archive.unread
    if not images:
        yield Skipped(place, f"it names no container image that can be read; {_FETCH}")
        yield from walk(Plain(view), place, wanted, budget)
        return
    yield from archive.problems
    names = Names(place, budget.limits)
    if len(images) > 1:
        example = f"{place.path}:{images[0].name}"
        reason = f"its {len(images)} images are read as one; name one, such as {example}"
        yield Skipped(place, reason)
    for image in images:
        at = place if len(images) == 1 else names.take(image.name)[0]
        asks = functools.partial(concerns, wanted=wanted)
        for found in applied(image, place, at, wanted, budget, asks=asks):
            # Of several images that are read as one, nobody knows whose a file is.
            if at == place or not isinstance(found, ImageLayer):
                yield found


def archive_of(path: str) -> str:
    """Return the archive of ``image.tar:linux/arm64``, a path of one image; else the path."""
    archive = path
    while ":" in archive and not os.path.lexists(archive):
        archive = archive.rpartition(":")[0]
    return archive if os.path.lexists(archive) else path


def images_in(view: ByteView, place: Location, budget: Budget) -> list[ContainerImage]:
    """Return the images of an archive, or the one in its path; none for any other file."""
    begins = names_image(functools.partial(view.peek, 0))
    return list(_Archive(view, place, budget).images()) if begins else []


class _Archive:
    """The files of an archive by name, and what is wrong with it."""

    def __init__(self, view: ByteView, place: Location, budget: Budget) -> None:
        self.files: dict[str, ByteView] = {}
        self.problems: list[Skipped] = []
        self.unread: list[Skipped] = []
        self._place, self._budget = place, budget
        self._asked = place.path.removeprefix(archive_of(place.path))[1:]
        self._listed: set[str] = set()
        links: dict[str, str] = {}
        tape = Plain(view)
        for found in until_damage(self._read(tape, place, links), place):
            if isinstance(found, Skipped):
                self.problems.append(found)
                continue
            name = _path(found.place.innermost)
            before = self.files.get(name)
            if before is not None and self._sum(before) != self._sum(found.view):
                reason = f"the image has two versions of this part; the last one is read; {_FETCH}"
                self.problems.append(Skipped(found.place, reason))
            self.files[name] = found.view
        self.files |= {name: self.files[to] for name, to in links.items() if to in self.files}

    def _sum(self, view: ByteView) -> bytes:
        return digest_of(chunks(view, 0, view.size, self._budget))

    def _read(self, tape: Tape, place: Location, links: dict[str, str]) -> Members:
        for header in headers(tape, place, self._budget):
            if isinstance(header, Skipped):
                yield header
            elif header.type in (LINK, HARD_LINK):
                folder = posixpath.dirname(header.name) if header.type == LINK else ""
                links[_path(header.name)] = _path(posixpath.join(folder, header.target))
            elif header.type != FOLDER:
                at = place.member(header.name)
                yield from file_of(tape, header, at, self._budget, wanted=True)

    @property
    def is_image(self) -> bool:
        """Return whether it names an image, or has parts of an unnamed one."""
        return any(True for _ in self.images()) or any(map(_PART.fullmatch, self.files))

    def images(self) -> Iterator[ContainerImage]:
        """Yield the images in the archive, each with a different name, or the requested one."""
        listed, names = self._json(_MANIFEST), set[str]()
        found: Iterable[ContainerImage] = ()
        if isinstance(listed, list):
            found = (self._of_docker(each) for each in listed if _is_docker(each))
        elif _LAYOUT in self.files:
            found = self._of_index(self._json(_INDEX), _DEEPEST)
        for image in found:
            name = image.name if image.name not in names else f"{image.name},{len(names) + 1}"
            names.add(name)
            if self._asked in ("", name):
                yield replace(image, name=name)

    def _of_docker(self, entry: dict[str, Any]) -> ContainerImage:
        tags = entry.get("RepoTags")
        name = str(tags[0]) if isinstance(tags, list) and tags else entry["Config"]
        return self._image(name, entry["Config"], entry["Layers"])

    def _of_index(self, index: object, depth: int) -> Iterator[ContainerImage]:
        """The images of an index, and of those that it names, each once; attestations are none."""
        for described in _objects(index, "manifests"):
            blob, platform = _blob(described), platform_of(described.get("platform"))
            manifest = None if blob in self._listed else self._json(blob)
            self._listed.add(blob)
            if depth and isinstance(manifest, dict) and "manifests" in manifest:
                yield from self._of_index(manifest, depth - 1)
            if isinstance(manifest, dict) and "layers" in manifest and "unknown" not in platform:
                layers = map(_blob, _objects(manifest, "layers"))
                image = self._image("", _blob(manifest.get("config")), layers)
                tags = described.get("annotations")
                tag = str(tags.get(_TAG, "")) if isinstance(tags, dict) else ""
                yield replace(image, name=tag or platform or platform_of(image.config) or blob)

    def _image(self, name: str, config: str, layers: Iterable[str]) -> ContainerImage:
        found, names = self._json(config), list(layers)
        known = found if isinstance(found, dict) else {}
        made_by = _histories(known, len(names))
        views = (self.files.get(_path(each)) for each in names)
        return ContainerImage(name, known, tuple(map(Layer, names, views, made_by)))

    def _json(self, name: str) -> object:
        self._budget.check_time()
        view = self.files.get(_path(name))
        if view is None or view.size > self._budget.limits.tables_bytes:
            return None
        layer = Layer(name, view)
        self.unread += _false_digest(layer, self._place.member(name), self._budget)
        try:
            return json.loads(view.all())
        except (ValueError, RecursionError):
            self.unread.append(Skipped(self._place.member(name), f"it is not JSON; {_FETCH}"))
            return None


def _is_docker(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("Config"), str)
        and isinstance(entry.get("Layers"), list)
        and all(isinstance(name, str) for name in entry["Layers"])
    )


# Builders write the shell and its arguments into the line.
_SHELL = re.compile(
    r"^(?:RUN )?(?:\|[0-9]{1,9} .*?)?/bin/(?:ba)?sh (?:-[a-z]+ (?:pipefail )?)+(#\(nop\) )?"
)


def _histories(config: dict[str, Any], number: int) -> list[str]:
    """The line of a Dockerfile that made each layer; none if they are not as many."""
    lines = [
        str(each.get("created_by", ""))
        for each in _objects(config, "history")
        if not each.get("empty_layer")
    ]
    if len(lines) != number:
        return [""] * number
    plain = (" ".join(line.removesuffix("# buildkit").split()) for line in lines)
    return [_SHELL.sub(lambda m: "" if m[1] else "RUN ", line, count=1) for line in plain]


def _objects(value: object, key: str) -> list[dict[str, Any]]:
    found = value.get(key) if isinstance(value, dict) else None
    return items_of(found, dict)


def _blob(described: object) -> str:
    """The member that a descriptor names."""
    digest = described.get("digest") if isinstance(described, dict) else None
    match = _DIGEST.fullmatch(str(digest))
    return f"blobs/sha256/{match[1]}" if match else ""


def platform_of(value: object) -> str:
    """Return ``linux/arm64`` or ``linux/arm/v7`` for a platform or config; empty if unknown."""
    if not isinstance(value, dict):
        return ""
    return "/".join(str(value[key]) for key in ("os", "architecture", "variant") if value.get(key))


def applied(
    image: ContainerImage,
    archive: Location,
    at: Location,
    wanted: Location,
    budget: Budget,
    *,
    asks: Callable[[Location], bool],
    links: dict[str, str] | None = None,
) -> ImageMembers:
    """Yield the files of an image that a container sees, and each layer after its files.

    Args:
        image: the image.
        archive: its archive.
        at: the prefix of paths in it.
        wanted: the requested place.
        budget: the budget for reading.
        asks: returns whether the bytes of a file are wanted.
        links: gets the symbolic links that a container sees, with their targets.
    """
    shown = _Shown()
    owed: dict[int, str] = {}
    kept = NamesOfTable(budget.limits.names_bytes)
    done = 0
    for layer in reversed(image.layers):
        place = archive.member(layer.name)
        if layer.view is None:
            yield Skipped(place, "the image needs this layer, which is missing")
            continue
        if wanted.contains(archive):
            yield from _false_digest(layer, place, budget)
        walk = _LayerWalk(
            layer.view, place, at, wanted, budget, asks, links, shown, owed, kept, done
        )
        yield from until_damage(walk.members(), place)
        lists = tuple(walk.packages), tuple(walk.searched)
        yield ImageLayer(place, layer.history, walk.size, walk.hidden, *lists)
        shown.add(walk.has)
        owed = walk.lower | owed
        done += layer.view.size


def _false_digest(layer: Layer, place: Location, budget: Budget) -> Iterator[Skipped]:
    """Report a layer whose bytes are not those that its name promises."""
    match, view = _BLOB.fullmatch(layer.name), layer.view
    if match is None or view is None:
        return
    found = digest_of(chunks(view, 0, view.size, budget)).hex()
    if found != match[1]:
        yield Skipped(place, f"its bytes have a different digest, {found}; {_FETCH}")


class _Shown(Struct):
    """Paths, as hashes, that layers have or remove, which those below no longer show.

    Attributes:
        gone: files and links, and what was removed; with all that lies below them.
        emptied: folders of which lower layers show nothing.
        folders: which hide files of the same path.
    """

    gone: set[int] = field(default_factory=set)
    emptied: set[int] = field(default_factory=set)
    folders: set[int] = field(default_factory=set)

    def add(self, other: _Shown) -> None:
        """Add the files and the removals of a layer."""
        self.gone |= other.gone
        self.emptied |= other.emptied
        self.folders |= other.folders

    def add_folder(self, path: str) -> None:
        """Add a folder with its parents."""
        while path and hash(path) not in self.folders:
            self.folders.add(hash(path))
            path = path.rpartition("/")[0]

    def shows(self, path: str) -> bool:
        """Return whether a file at this path is visible, if its folder is."""
        return hash(path) not in self.gone and hash(path) not in self.folders

    def shows_below(self, folder: str) -> bool:
        """Return whether the contents of a folder may be visible."""
        while hash(folder) not in self.gone and hash(folder) not in self.emptied:
            if not folder:
                return True
            folder = folder.rpartition("/")[0]
        return False


class _LayerWalk(Struct):
    """One walk through one layer. Paths are kept as hashes, names of links as such.

    Attributes:
        asks: says of a file whether its bytes are wanted.
        links: gets the symbolic links that are seen; None: nobody wants them.
        shown: what is seen of it below the layers above.
        owed: files of this layer -> hard links to them in those above, which are seen.
        kept: the account of their names.
        done: bytes of the layers above.
        has: what it has and removes.
        passed: files that are not seen, and hard links to them that aren't either -> the file.
        again: files of which only a hard link behind them is seen -> its name.
        below: hard links to files of lower layers that are not seen -> the file.
        lower: files of lower layers -> hard links to them here that are seen.
        size: bytes of its files.
        hidden: bytes of those that are not seen.
        packages: the distributions whose lists of files are seen.
        searched: the folders of its loader.
        folder: of the last entry.
        below_shown: what lies in it may be seen.
    """

    view: ByteView
    place: Location
    at: Location
    wanted: Location
    budget: Budget
    asks: Callable[[Location], bool]
    links: dict[str, str] | None
    shown: _Shown
    owed: dict[int, str]
    kept: NamesOfTable
    done: int
    has: _Shown = field(default_factory=_Shown)
    passed: dict[int, int] = field(default_factory=dict)
    below: dict[int, int] = field(default_factory=dict)
    again: dict[int, str] = field(default_factory=dict)
    lower: dict[int, str] = field(default_factory=dict)
    size: int = 0
    hidden: int = 0
    packages: list[tuple[str, str]] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
    folder: str | None = None
    below_shown: bool = True

    def members(self) -> Members:
        names = Names(self.at, self.budget.limits)
        tape = tape_of(self.view, self.budget)
        for header in headers(tape, self.place, self.budget, may_end=True):
            if isinstance(header, Skipped):
                yield header
                continue
            paths = len(self.shown.gone) + len(self.has.gone)
            self.budget.check("entries", paths, "the layers have over {most} files")
            path = _path(header.name)
            folder, _, name = path.rpartition("/")
            if name.startswith(_WHITEOUT):
                self._white_out(folder, name)
            elif header.type == FOLDER:
                self.has.add_folder(path)
                continue
            elif header.type not in (LINK, HARD_LINK, *DEVICES):
                yield from self._file(tape, header, path, names)
                continue
            else:
                yield from self._link(header, path)
            self._pass_over(tape, header)
        yield from self._passed_over()

    def _pass_over(self, tape: Tape, header: TarHeader) -> None:
        """Skip what holds no code or is not seen, whatever may be wrong with it."""
        for _ in file_of(tape, header, self.place, self.budget, wanted=False):
            pass

    def _white_out(self, folder: str, name: str) -> None:
        if name == _OPAQUE:
            self.has.emptied.add(hash(folder))
        elif not name.startswith(_WHITEOUT * 2):  # of AUFS itself
            self.has.gone.add(hash(posixpath.join(folder, name.removeprefix(_WHITEOUT))))

    def _file(self, tape: Tape, header: TarHeader, path: str, names: Names) -> Members:
        name = self._seen_as(path)
        self.size += header.size
        if name is None:
            self.hidden += header.size
            self.passed[hash(path)] = hash(path)
            self._pass_over(tape, header)
            return
        taken, problems = names.take(name)
        place = self.at.member(f"/{taken.innermost}")
        yield from (Skipped(place, problem) for problem in problems)
        for found in file_of(tape, header, place, self.budget, wanted=self.asks(place)):
            if isinstance(found, Member):
                try:
                    self.searched += folders_searched(name, found.view, self.kept)
                    self.packages += packages_listed(name, found.view, self.budget, self.kept)
                except Malformed as error:
                    yield Skipped(place, str(error), header.size)
                yield Member(place, found.view, self.done + found.end)
            else:
                yield found

    def _link(self, header: TarHeader, path: str) -> Iterator[Skipped]:
        """A link or device; the bytes of a hard link may be seen under no other name."""
        target = hash(_path(header.target))
        below = self.below.get(target, None if target in self.has.gone else target)
        name, here = self._seen_as(path), self.passed.get(target)
        links, file = (self.lower, below) if here is None else (self.again, here)
        if header.type == HARD_LINK and file is not None:
            if name is None:
                (self.below if here is None else self.passed)[hash(path)] = file
            else:
                links.setdefault(file, self.kept.keep(name))
        elif name is not None and header.target:
            if self.links is not None and header.type == LINK:
                self.links[self.kept.keep(name)] = self.kept.keep(header.target)
            place = self.at.member(f"/{name}")
            if place.contains(self.wanted):
                yield Skipped(place, f"it is a link to {header.target[:100]!r}; name its target")

    def _passed_over(self) -> Members:
        """The files of which only now is known that they are seen."""
        tape = tape_of(self.view, self.budget)
        for header in headers(tape, self.place, self.budget, may_end=True) if self.again else ():
            if isinstance(header, Skipped) or header.type == FOLDER:
                continue
            linked = header.type in (LINK, HARD_LINK, *DEVICES)
            name = None if linked else self.again.get(hash(_path(header.name)))
            place = self.at.member(f"/{name}")
            if name is not None:
                self.hidden -= header.size
            if name is not None and self.asks(place):
                yield from file_of(tape, header, place, self.budget, wanted=True)
            else:
                self._pass_over(tape, header)

    def _seen_as(self, path: str) -> str | None:
        """The name under which a container sees an entry, which this layer has from now on."""
        linked = self.owed.pop(hash(path), None)
        self.has.gone.add(hash(path))
        folder = path.rpartition("/")[0]
        if folder != self.folder:  # one after another lie in one
            self.folder, self.below_shown = folder, self.shown.shows_below(folder)
            self.has.add_folder(folder)
        return path if self.below_shown and self.shown.shows(path) else linked


def _path(name: str) -> str:
    """A path from the top of an image, without a slash in front."""
    found = posixpath.normpath(name.lstrip("/") or ".")
    return "" if found == "." else found
