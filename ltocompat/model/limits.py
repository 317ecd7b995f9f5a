"""Bounds on the cost of one hostile file, and the running account of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

from msgspec import Struct, field

from ltocompat.model.errors import LimitExceeded
from ltocompat.model.generic import T

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

# The environment variable that forbids trials that the system can't confine.
REQUIRE_SANDBOX = "LTOCOMPAT_REQUIRE_SANDBOX"

_RATIO_FROM = 16 * MIB
_BETWEEN_LOOKS = 256


class Limits(Struct, frozen=True, repr_omit_defaults=True):
    """Limits for reading one input file; the defaults are far above the needs of any real library.

    The highest known compression ratio of a real section is 12.6:1 (libcublasLt 13.10). Single PTX
    frames reach ratios of a few hundred to 1.

    Attributes:
        image_bytes: largest size of one image in bytes; the stored and the decoded image must not
            be larger.
        image_ratio: decoded bytes for each stored byte of one image. This limit applies only if an
            image has more than 1 MiB of decoded bytes.
        total_bytes: decoded bytes of all images of one input file.
        spool_bytes: bytes read from standard input.
        unpacked_bytes: unpacked bytes of all compressed members of one input file. The bytes of a
            member inside a member are counted once for each level. Files listed in a thin archive
            count, too.
        unpacked_ratio: unpacked bytes for each stored byte of a member or a stream. This limit
            applies only if there are more than 16 MiB of unpacked bytes. Deflate's compression
            ratio can't exceed 1032:1; the ratio of real wheels stays below 10:1.
        window_bytes: bytes that a decompressor keeps in memory for a member or an image. The
            strongest preset of xz needs 64 MiB; the strongest preset of zstd needs 128 MiB. An LZ4
            image is decoded as a whole, which needs twice its decoded size in memory. The largest
            known LZ4 image, a cubin of gpu4pyscf-libxc-cuda12x 0.9.0, is 134 MiB in size.
        depth: how many levels of containers may be nested.
        members: number of members of one container, or of files in one folder tree.
        entries: number of entries in one fatbin region, or of images in one concatenated entry.
            Also the number of files in all layers of one container image.
        sections: number of sections of one ELF file.
        symbols: number of symbols that are read from one host file.
        text_bytes: length in bytes of one string that is read from a file and stored: options,
            identifier, symbol name, note.
        names_bytes: total length in bytes of the names that are read from one table. In a hostile
            file, a million names can share the same bytes.
        line_bytes: length in bytes of one line that is parsed as a whole: a requirement with its
            marker, or a target. Real lines stay below 1 KiB.
        comparisons: number of comparisons, such as ``>=12.4``, in one requirement. Real
            requirements have five.
        dependencies: number of dependencies of one package. Real packages have hundreds.
        tables_bytes: largest size in bytes of a TOML, JSON or YAML file, which is parsed as a
            whole. Real lock files stay below 10 MB.
        skipped: for one input file, the number of skipped places that are listed. If there are
            more, one more row gives the number of places that are not listed.
        seconds: wall-clock time for one input file.
        trial_cpu_seconds: CPU time of all trials of one run, in all of their processes. A single
            link or load gets a quarter of this time. The 6,573 fragments of libcufft 12.5 take 7 s
            for three GPUs.
    """

    image_bytes: int = GIB
    image_ratio: int = 1000
    total_bytes: int = 16 * GIB
    spool_bytes: int = 16 * GIB
    unpacked_bytes: int = 16 * GIB
    unpacked_ratio: int = 1000
    window_bytes: int = 512 * MIB
    depth: int = 4
    members: int = 200_000
    entries: int = 1_000_000
    sections: int = 1_000_000
    symbols: int = 20_000_000
    text_bytes: int = 64 * KIB
    names_bytes: int = 256 * MIB
    line_bytes: int = 8 * KIB
    comparisons: int = 100
    dependencies: int = 10_000
    tables_bytes: int = 16 * MIB
    skipped: int = 10_000
    seconds: float = 600.0
    trial_cpu_seconds: float = 60.0


DEFAULT_LIMITS = Limits()


class Work(Struct):
    """Bytes that this process has decompressed so far; benchmarks print it, tests bound it.

    Attributes:
        decoded: of images.
        unpacked: of members of packages.
    """

    decoded: int = 0
    unpacked: int = 0


WORK = Work()

_MUCH = 4 * MIB
_MOST_RECENT = 32 * MIB


class Recent(Struct):
    """The images that were decoded last. Readers may need them again at once."""

    _images: dict[tuple[object, int], bytes] = {}
    _size: int = 0

    @property
    def much(self) -> bool:
        """Return whether the kept images have to be used before more images are kept."""
        return self._size >= _MUCH

    def get(self, file: object, start: int) -> bytes | None:
        """Return the kept bytes of the image at an offset of a file; None if there are none."""
        return self._images.get((file, start))

    def keep(self, file: object, start: int, data: bytes) -> None:
        """Keep decoded bytes for a while."""
        if self._size + len(data) > _MOST_RECENT:
            self.forget()
        if len(data) <= _MUCH:
            self._images[file, start] = data
            self._size += len(data)

    def forget(self) -> None:
        """Drop all kept images and their files."""
        self._images.clear()
        self._size = 0


class Budget(Struct):
    """The account of one input file against its ``Limits``.

    Attributes:
        limits: the bounds.
        decoded: bytes that images were decoded to.
        unpacked: bytes that members were unpacked to.
        unpacking: called with the source and the offset of the bytes that were unpacked last; for
            progress.
        deadline: end of the time, on the monotonic clock, seconds.
        recent: images that were decoded last.
    """

    limits: Limits = DEFAULT_LIMITS
    decoded: int = 0
    unpacked: int = 0
    unpacking: Callable[[object, int], None] = lambda *_: None
    deadline: float = field(default=0.0)
    recent: Recent = field(default_factory=Recent)

    def __post_init__(self) -> None:
        self.deadline = self.deadline or time.monotonic() + self.limits.seconds

    def check_time(self) -> None:
        """Raise ``LimitExceeded`` once the time for this file is used up."""
        if time.monotonic() > self.deadline:
            raise self._out_of_time("is used up")

    def check_half(self, begun: float) -> None:
        """Raise ``LimitExceeded`` once half of the time that was left at ``begun`` is used up.

        The other half is for reading the things that the search found.

        Args:
            begun: begin of the search, on the monotonic clock, seconds.
        """
        if time.monotonic() > (begun + self.deadline) / 2:
            raise self._out_of_time("leaves no time to look further")

    def _out_of_time(self, how: str) -> LimitExceeded:
        text = f"the time limit of {self.limits.seconds:g} s for one file {how}"
        return LimitExceeded("seconds", f"{text}; raise Limits.seconds to read on")

    def check(self, limit: str, size: int, sentence: str) -> None:
        """Raise ``LimitExceeded`` if a size exceeds the named limit."""
        most = getattr(self.limits, limit)
        if size > most:
            raise LimitExceeded(limit, sentence.format(size=size, most=most))

    def timed(self, values: Iterable[T], *, slow: bool = False) -> Iterator[T]:
        """Yield the values and check the time now and then. If ``slow``, check before each value.

        Raises:
            LimitExceeded: the time for this file is used up.
        """
        rest, behind = iter(values), 0 if slow else _BETWEEN_LOOKS - 1

        def looked() -> Iterator[Iterable[T]]:
            for first in rest:
                self.check_time()
                yield chain((first,), islice(rest, behind))

        return chain.from_iterable(looked())  # no frame of ours for each of them

    def members(self, values: Iterable[T]) -> Iterator[T]:
        """Yield the members of an archive; check the time and their number before each.

        Raises:
            LimitExceeded: the time for this file is used up, or there are too many.
        """
        for number, value in enumerate(self.timed(values, slow=True), 1):
            self.check("members", number, "the archive has over {most} members")
            yield value

    def check_tables(self, size: int) -> None:
        """Raise ``LimitExceeded`` when tables of ``size`` bytes must not be parsed as a whole."""
        sentence = "{size} bytes of tables are over the limit of {most} bytes (Limits.tables_bytes)"
        self.check("tables_bytes", size, sentence)

    def check_call(self, size: int, speed: int) -> None:
        """Raise ``LimitExceeded`` when one call that can't be interrupted takes all the time.

        Args:
            size: bytes that the call reads.
            speed: bytes per second that it reads at worst.
        """
        if size > int(self.limits.seconds * speed):
            raise LimitExceeded(
                "seconds",
                f"{size} bytes can't be read as a whole in {self.limits.seconds:g} s; raise "
                "Limits.seconds to read on",
            )

    def check_image(self, stored: int, decoded: int) -> None:
        """Raise ``LimitExceeded`` when an image of these sizes (bytes) must not be decoded."""
        sentence = "an image of {size} bytes is over the limit of {most} bytes"
        self.check("image_bytes", max(stored, decoded), sentence)
        self._check_ratio("image_ratio", stored, decoded, MIB, f"decode to {decoded} bytes")

    def check_unpacked(self, stored: int, unpacked: int) -> None:
        """Raise ``LimitExceeded`` when ``stored`` bytes must not unpack to ``unpacked`` bytes."""
        how = f"unpack to {unpacked} bytes or more"
        self._check_ratio("unpacked_ratio", stored, unpacked, _RATIO_FROM, how)

    def _check_ratio(self, limit: str, stored: int, size: int, least: int, how: str) -> None:
        most = getattr(self.limits, limit)
        if size > least and size > most * max(stored, 1):
            raise LimitExceeded(limit, f"{stored} bytes {how}; the limit is {most} times as many")

    def check_room(self, unpacked: int) -> None:
        """Raise ``LimitExceeded`` when ``unpacked`` more bytes exceed this file's limit."""
        sentence = (
            "this file's members unpack to more than {most} bytes; raise Limits.unpacked_bytes to "
            "read on"
        )
        self.check("unpacked_bytes", self.unpacked + unpacked, sentence)

    def check_window(self, size: int) -> None:
        """Raise ``LimitExceeded`` when a decompressor must not keep ``size`` bytes in memory."""
        sentence = (
            "its decompressor would need {size} bytes of memory; the limit is {most} "
            "(Limits.window_bytes)"
        )
        self.check("window_bytes", size, sentence)

    def spend(self, decoded: int) -> None:
        """Book ``decoded`` bytes; raise ``LimitExceeded`` when the file's total is used up."""
        self.decoded += decoded
        sentence = "the images of this file decode to more than {most} bytes"
        self.check("total_bytes", self.decoded, sentence)
