"""What the fuzzer once found is read in peace, and every target stands a few new changes."""

from __future__ import annotations

import io
import json
import os
import random
import re
import tarfile
import time
import zipfile
from pathlib import Path

import pytest
from every_case import every
from fuzz import meaning
from fuzz.fuzz import FOUND, TARGETS, Task, work
from fuzz.machine import MACHINE, machine_in
from fuzz.meaning import Step
from fuzz.mutate import Material, mutated
from fuzz.planted import FRESH, PLANTED, THIRD
from fuzz.put_back import BUGS, PROJECT
from fuzz.readers import READERS, seeds
from fuzz.relations import LAWS
from fuzz.structure import FORMS, WRAPPERS, fields_of, forms_of
from fuzz.watch import Broken, Watch
from msgspec.structs import replace
from package_writer import tar_of, zip_of
from reading import modules_of
from samples import FOLDER

from ltocompat.files.fatbin import walk

KEPT = sorted(path for path in FOUND.glob("*") if path.suffix != ".md")
READ_BY = {name.replace(" ", "-"): target for name, target in TARGETS.items()}
FATBIN = (FOLDER / "fatbin" / "nvcc-13.0-default.fatbin").read_bytes()


def test_what_was_found_is_mended() -> None:
    with Watch() as watch:
        for path in KEPT:
            name, _, _ = path.name.rpartition("-")
            target = READ_BY[name]
            assert watch.failure(target.read, path.read_bytes(), target.seconds) is None, path.name


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_a_target_stands_changed_bytes(name: str) -> None:
    inputs = 6 if name in LAWS else 150
    done = work(Task(name, inputs, time.monotonic() + 60, seed=name, lines=False))
    assert done.inputs
    assert done.found == {}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_a_law_holds_for_changed_bytes(name: str) -> None:
    done = work(Task(name, 600, time.monotonic() + 300, seed=name, lines=False))
    assert done.inputs
    assert done.found == {}


SOUND = (FOLDER / "objects" / "libaxpy-no-device-link.so").read_bytes()


@every("kind", range(12))
def test_damage_is_what_its_numbers_say(kind: int) -> None:
    step = Step(kind, 0, 1, 8 << 1)
    at, end = 1, 2
    after = {
        meaning.CUT: SOUND[:at],
        meaning.ZERO: SOUND[:at] + b"\0" + SOUND[end:],
        meaning.FILL: SOUND[:at] + b"\xff" + SOUND[end:],
        meaning.DELETE: SOUND[:at] + SOUND[end:],
        meaning.INSERT: SOUND[:at] + b"\0" + SOUND[at:],
        meaning.BEHEAD: SOUND[at:],
    }
    content, damaged = meaning.damaged(bytes([1, kind, 0, 1, 0, 0, 0, 16, 0, 0, 0]) + SOUND)
    assert content == SOUND
    assert step.done_to(SOUND) == damaged
    assert damaged == after.get(kind, damaged) != SOUND


def test_a_law_that_is_broken_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    read = walk.FatbinWalk._read_region  # noqa: SLF001 - what it can't read it keeps to itself
    cut = bytes([1, meaning.CUT, 0]) + (len(FATBIN) // 2).to_bytes(4, "little") + bytes(4) + FATBIN
    assert meaning.damage(cut) is not None  # it is told
    monkeypatch.setattr(
        walk.FatbinWalk, "_read_region", lambda *words: replace(read(*words), unread=[])
    )
    with pytest.raises(Broken, match="fewer images"), Watch() as watch:
        raise Broken(watch.failure(meaning.damage, cut, 10.0))


def breaks(data: bytes) -> None:
    if data.startswith(b"x"):
        raise KeyError(data)
    if data.startswith(b"p"):
        print("hello")
    if data.startswith(b"m"):
        b"x" * (300 << 20)
    if data.startswith(b"o"):
        os.open(os.devnull, os.O_RDONLY)
    while data.startswith(b"e"):
        pass


def test_a_failure_is_seen() -> None:
    seen = {
        b"fine": None,
        b"x": "KeyError at test_fuzz.py:",
        b"p": "output: hello",
        b"m": "too much memory",
        b"o": "a file is left open",
        b"e": "too long",
    }
    with Watch() as watch:
        for data, what in seen.items():
            found = watch.failure(breaks, data, seconds=0.05 if data == b"e" else 2.0)
            assert found == what if what is None else (found or "").startswith(what), data


def test_a_payload_changed_under_its_compression_is_decoded_again() -> None:
    form, dice = FORMS["region"], random.Random(1)  # noqa: S311 - the same each time
    kinds = set()
    for _ in range(20):
        for part in form.parts(FATBIN, dice):
            (module,) = modules_of(part.put(part.data + b"\0" * 8))
            kinds |= {image.compression.value for image in module.images}
    assert kinds == {"none", "lz4", "zstd"}


def test_fields_lie_inside_of_what_they_describe() -> None:
    for path in (FOLDER / "objects").iterdir():
        data = path.read_bytes()
        for form in FORMS.values():
            if form.fits(data):
                assert all(at + size <= len(data) for at, size in fields_of(data, form))


def test_a_tar_that_was_changed_has_right_sums() -> None:
    dice, seed = random.Random(1), tar_of(("a", b"x" * 600))  # noqa: S311 - the same each time
    whole = 0
    for _ in range(100):
        data = mutated(seed, Material([seed]), dice)
        if len(data) >= 512:
            block = data[:148] + b" " * 8 + data[156:512]
            whole += data[148:154] == b"%06o" % sum(block)
    assert whole > 60


def test_links_among_members_are_links_of_the_archive() -> None:
    dice = random.Random(1)  # noqa: S311 - the same each time
    a_tar, a_zip = tar_of(("a/b", b"1"), ("c", b"2")), zip_of(("a/b", b"1"), ("c", b"2"))
    ends = set()
    for _ in range(80):
        with tarfile.open(fileobj=io.BytesIO(FORMS["tar"].rearrange(a_tar, dice))) as tar:
            ends |= {member.linkname for member in tar if member.issym()}
        with zipfile.ZipFile(io.BytesIO(FORMS["zip"].rearrange(a_zip, dice))) as archive:
            links = [info for info in archive.infolist() if info.external_attr >> 16]
            ends |= {archive.read(info).decode() for info in links}
    assert ends >= {"c", "/c", "../c", "b", "/a/b"}


def test_a_machine_has_links_to_themselves_and_to_folders() -> None:
    (machine, *_), dice = seeds("root"), random.Random(1)  # noqa: S311 - the same each time
    ends = set()
    for _ in range(300):
        root = Path(machine_in(MACHINE.rearrange(machine, dice)))
        ends |= {(path, os.readlink(path)) for path in root.glob("usr/lib/*") if path.is_symlink()}
    assert any(path.name == end for path, end in ends)
    assert any(end == "/usr/lib" for _, end in ends)


def test_values_of_json_become_others_and_come_many_times() -> None:
    text, dice = b'{"a": [1, {"b": "c"}]}', random.Random(1)  # noqa: S311 - the same each time
    (form,) = forms_of(text)
    changed = {part.put(b"[[]]") for _ in range(60) for part in form.parts(text, dice)}
    assert {b"[[]]", b'{"a": [[]]}', b'{"a": [[[]], {"b": "c"}]}'} <= changed
    assert max(map(len, changed)) > 3000
    assert all(json.loads(each) is not None for each in changed)


def test_lines_that_grow_together_show_what_each_pair_of_them_costs() -> None:
    seed, dice = b"Name: x\nProvides: a\nRequires: a b\n", random.Random(1)  # noqa: S311 - the same
    texts = (mutated(seed, Material([seed], text=True), dice) for _ in range(1500))
    assert any(min(text.count(b"Provides"), text.count(b"Requires")) > 100 for text in texts)


def test_memory_is_counted_from_what_the_process_has_now() -> None:
    with Watch() as watch:
        assert watch.failure(lambda _: b"x" * (140 << 20), b"") is None
        assert watch.failure(lambda _: None, b"x" * (200 << 20)) is None
        assert watch.failure(lambda _: b"x" * (180 << 20), b"") == "too much memory"


def test_the_modules_of_every_target_are_there() -> None:
    assert all(reader.files() for reader in READERS.values() if reader.modules)


def test_every_format_of_containers_has_a_target() -> None:
    read = set().union(*(reader.files() for reader in READERS.values()))
    for path in sorted((PROJECT / "ltocompat" / "files" / "archives").glob("*.py")):
        if re.search(r"(?m)^def sniff\(", path.read_text("utf-8")):
            assert str(path) in read, f"READERS of fuzz/readers.py lacks {path.stem}"


def test_mended_bugs_can_still_be_put_back() -> None:
    for bug in (*BUGS, *PLANTED, *FRESH, *THIRD):
        text = (PROJECT / "ltocompat" / bug.file).read_text("utf-8")
        for new, _ in bug.changes:
            assert new in text, f"{bug.name}: {bug.file} has no {new!r}"


def test_every_wrapper_is_a_container_that_is_entered() -> None:
    for wrap in WRAPPERS[1:]:
        if not wrap(b"").startswith(b"\x04\x22\x4d\x18"):  # LZ4 frames are no files of packages
            assert modules_of(wrap(FATBIN))
