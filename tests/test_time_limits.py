"""``Limits.seconds`` is heeded by every reader, and by every rule that works on as much.

A call into C that is never asked for the time (a pattern, ``json``, ``tomllib``, a decompressor) is
bounded by the length of what it is given.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

import pytest
from endless_inputs import ENDLESS, Reading

import ltocompat
from ltocompat.model.errors import LtocompatError
from ltocompat.model.limits import Budget, Limits
from ltocompat.model.watchdog import begin, end, watched

PACKAGE = str(Path(ltocompat.__file__).parent) + "/"
ROOMS = ("files", "packages", "targets", "scan")
WITHOUT_END = ("Budget", "ByteView", "Limits", "Tape", "bytes")
"""Types of what is read: a function that takes one of them is a reader."""
LITTLE = {
    "files.archives.layout_folder.view_of_layout": "opens as many files as Limits.members",
    "files.archives.tar.parse": "one block",
    "files.archives.tar.is_header": "one block",
    "files.archives.spool.holds_alone": "asks what a view is of",
    "files.archives.unpacking.inflated": "64 KiB, as a zip says before",
    "files.byteview.contains": "a text at hand, once",
    "files.byteview.occurrences": "one window",
    "files.fatbin.region.entry_at": "one entry",
    "files.fatbin.region.packed_header": "a header at hand",
    "files.fatbin.region.region_header": "writes",
    "files.fatbin.region.single_entry_region": "writes",
    "files.regular.read_regular": "as many bytes as it is asked for",
    "files.output.write_named": "writes",
    "files.output.write_new": "writes",
    "files.images.cubin.early_api_versions": "a prefix, which is asked for",
    "files.images.cubin.kernel_set": "the names of sections, once",
    "files.images.cubin_header.parse_header": "64 bytes",
    "files.images.ltoir.parse": "28 bytes",
    "files.images.tileir.parse": "a header",
    "files.objects.coff.long_name": "8 bytes",
    "files.objects.pe.checksum": "a file that is no link or pipe, once: slim wrote it",
    "files.objects.relocations.pointer_at": "8 bytes",
    "packages.index_answers.project_files": "a page that whoever fetches it bounds",
    "packages.index_answers.project_names": "a list that whoever fetches it bounds",
    "packages.reading.package_in": "package_of, of bytes at hand",
    "scan.slices.worth_it": "asks for a size",
    "scan.sources.opened_address": "copied within Limits.spool_bytes",
    "scan.sources.opened_file": "copied within Limits.spool_bytes",
    "scan.sources.opened_sources": "opened_file of each",
    "files.archives.zip.begin": "the end record and the first entry",
    "scan.walk.of_each_file": "hands each file to a reader",
    "scan.walk.spooled": "copied within Limits.spool_bytes",
    "targets.linkers.ldcache.parse_cache": "100,000 entries",
    "targets.seal.write_private": "writes",
    "scan.describe.image_bytes": "a payload, decoded",
    "scan.device_symbols.undefined_in_ptx": "calls of_ptx",
    "scan.walk.batches_of_view": "records_of_view in batches",
}
"""Readers of what has a size of its own, or that only call another one, and why."""


@pytest.fixture
def watchdog() -> Iterator[None]:
    """Ends what goes on for long after its time; a test in which it does has failed."""
    begin(grace=15.0, every=0.5)
    yield
    end()


@pytest.mark.slow
@pytest.mark.usefixtures("watchdog")
@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_input_ends_in_time(name: str, tmp_path: Path) -> None:
    read = ENDLESS[name](tmp_path)
    limits = Limits(seconds=0.5)
    with watched(Budget(limits)):
        _ended(lambda: read(limits))


def _ended(read: object) -> None:
    """A report or one sentence."""
    assert callable(read)
    try:
        read()
    except LtocompatError as error:
        sentence = str(error)
    else:
        sentence = ""
    assert len(sentence.splitlines()) <= 1


NEVER_LOOKS = """
from itertools import count
from ltocompat.cli.run_verb import run_verb
from ltocompat.model.limits import Budget, Limits
from ltocompat.model.watchdog import begin, watched
from ltocompat.report.exit_status import ExitStatus

class Writing:
    json = False
    def write(self, records, stream):
        for record in records:
            pass

def command(_):
    with watched(Budget(Limits(seconds=0.1))):
        for _ in count():
            try:
                pass
            except Exception:
                pass
    yield

begin(grace=0.2, every=0.1)
raise SystemExit(run_verb(command, None, Writing(), ExitStatus()))
"""


def test_a_reader_that_never_looks_at_the_clock_ends_the_process_in_one_sentence() -> None:
    child = [sys.executable, "-c", NEVER_LOOKS]
    done = subprocess.run(child, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 70
    assert done.stdout == ""
    (sentence,) = done.stderr.splitlines()
    assert "still being read 0.2 s after its time limit of 0.1 s" in sentence


class Followed(BaseException):
    """Ends a reading of which enough calls were seen."""


class Calls:
    """Notes which functions of ours are called; after many calls no new ones come."""

    MOST = 50_000

    def __init__(self) -> None:
        self.called: set[CodeType] = set()
        self._count = 0

    def follow(self, read: Reading) -> None:
        self._count = 0
        sys.setprofile(self._note)
        try:
            read(Limits(seconds=1.0))
        except (LtocompatError, Followed):
            pass
        finally:
            sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            self.called.add(frame.f_code)
            self._count += 1
            if self._count > self.MOST:
                raise Followed


@pytest.mark.nightly
def test_every_reader_has_an_endless_input(tmp_path: Path) -> None:
    calls = Calls()
    for number, make in enumerate(ENDLESS.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        calls.follow(make(folder))
    without = {name for name, code in readers() if code not in calls.called}
    assert not without - LITTLE.keys(), f"give these a row in endless_inputs: {without}"


def readers() -> Iterator[tuple[str, CodeType]]:
    """Every public function of the rooms that read, which takes what may have no end."""
    for room in ROOMS:
        package = importlib.import_module(f"ltocompat.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            found = vars(importlib.import_module(module.name))
            for name, value in found.items():
                public = not name.startswith("_") and inspect.isfunction(inspect.unwrap(value))
                if public and value.__module__ == module.name:
                    function = inspect.unwrap(value)
                    if any(
                        word in str(text)
                        for text in function.__annotations__.values()
                        for word in WITHOUT_END
                    ):
                        yield f"{module.name.removeprefix('ltocompat.')}.{name}", function.__code__
