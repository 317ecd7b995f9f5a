"""RPM packages hold the device code of their files, and tell when a byte of them is changed.

The packages are rpmbuild's (tests/data/rpm/acme.spec); what ``rpm -qp`` says of them stands here.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from package_writer import tar_of
from packages_made import rpm
from samples import FOLDER

import ltocompat
from ltocompat import Image, Module, Skipped
from ltocompat.model.errors import UnreadableInput
from ltocompat.packages.reading import package_of

PACKAGES = sorted((Path(__file__).parent / "data" / "rpm").glob("*.rpm"))
LIBRARY = FOLDER / "objects" / "libsaxpy.so"
EACH = pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.stem)
MEMBER = "./usr/lib64/acme/libsaxpy.so.1"


def images(path: str | Path) -> tuple[list[str | None], list[str]]:
    """The sums of the images in a file, and why something was not read."""
    found, reasons = list[Image](), []
    for record in ltocompat.inspect(path, hashes=True):
        if isinstance(record, Module):
            found += record.images
        elif isinstance(record, Skipped):
            reasons.append(record.reason)
    return [image.sha256 for image in found], reasons


@EACH
def test_a_link_in_a_package_names_its_target(package: Path) -> None:
    found, (reason, *_) = images(f"{package}::./usr/lib64/acme/libsaxpy.so")
    assert not found
    assert "it is a link to 'libsaxpy.so.1'" in reason


def test_a_package_depends_on_what_rpm_says() -> None:
    found = package_of(str(PACKAGES[0]))
    assert found is not None
    assert (found.kind, str(found), found.platforms) == ("rpm", "libacme 1.0", ("linux_x86_64",))
    lines = {dependency.line: dependency for dependency in found.requires}
    release = lines["Requires: libcublas-12-4"]
    assert (release.name, release.versions) == ("cuda-toolkit", ("==12.4.*",))
    assert lines["Requires: libcufft.so.11()(64bit)"].name.startswith("nvidia-cufft")
    assert {line.partition("(")[0] for line in lines} == {
        "Requires: libc.so.6",
        "Requires: libcublas-12-4",
        "Requires: libcufft.so.11",
        "Requires: libgcc_s.so.1",
        "Requires: libstdc++.so.6",
    }


@EACH
def test_changed_bytes_are_told(package: Path, tmp_path: Path) -> None:
    """A package without a word has all images; rpm's sums cover its header and its archive."""
    data, whole = package.read_bytes(), images(package)
    dice, path = random.Random(package.stem), tmp_path / "x.rpm"  # noqa: S311 - not for secrets
    for _ in range(60):
        at = dice.randrange(len(data))
        changed = data[:at]
        if dice.random() < 0.7:
            changed += bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]
        path.write_bytes(changed)
        try:
            found, reasons = images(path)
        except UnreadableInput:
            continue
        assert reasons or found == whole[0], at


def test_a_cpio_archive_that_breaks_off_is_told(tmp_path: Path) -> None:
    path = rpm(tmp_path, {MEMBER: LIBRARY.read_bytes()}, [])
    assert images(path) == images(LIBRARY)
    data = path.read_bytes()
    path.write_bytes(data[:-30])
    found, reasons = images(path)
    assert found == images(LIBRARY)[0] or reasons


def test_an_archive_of_another_kind_is_told(tmp_path: Path) -> None:
    path = rpm(tmp_path, {}, [])
    head = path.read_bytes().partition(b"\xfd7zXZ")[0]
    path.write_bytes(head + tar_of((MEMBER, LIBRARY.read_bytes())))
    found, (reason, *_) = images(path)
    assert not found
    assert "cpio" in reason
