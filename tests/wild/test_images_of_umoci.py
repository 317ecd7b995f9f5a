"""Images of umoci and skopeo, each with a trick of layers or two: read as umoci unpacks them.

Debian has both (``apt-get install umoci skopeo``).
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ltocompat.files.archives import container_of
from ltocompat.files.archives.member import Member
from ltocompat.files.byteview import ByteView
from ltocompat.model.image import Skipped
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location

pytestmark = pytest.mark.wild


def run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


def removed_file(root: Path) -> None:
    (root / "opt/a/x").unlink(missing_ok=True)


def removed_folder(root: Path) -> None:
    shutil.rmtree(root / "opt/b", ignore_errors=True)


def replaced_file(root: Path) -> None:
    (root / "opt/c/x").write_text("replaced")


def file_for_folder(root: Path) -> None:
    if (root / "opt/d").is_dir():
        shutil.rmtree(root / "opt/d")
    (root / "opt/d").write_text("a file now")


def folder_for_file(root: Path) -> None:
    path = root / "opt/e/x"
    if not path.is_dir():
        path.unlink(missing_ok=True)
        path.mkdir(parents=True)
    (path / "deep").write_text("in a folder now")


def hard_link(root: Path) -> None:
    (root / "opt/hard").unlink(missing_ok=True)
    os.link(root / "opt/f/x", root / "opt/hard")


def last_hard_link(root: Path) -> None:
    (root / "opt/g/only").unlink(missing_ok=True)
    os.link(root / "opt/g/x", root / "opt/g/only")
    (root / "opt/g/x").unlink()
    (root / "opt/g/x").write_text("another file")


def through_a_link(root: Path) -> None:
    (root / "lib/new").write_text("below usr/lib")


def emptied_folder(root: Path) -> None:
    """As a builder that writes an opaque folder: all of it is gone, and one file is new."""
    shutil.rmtree(root / "opt/h", ignore_errors=True)
    (root / "opt/h").mkdir()
    (root / "opt/h/new").write_text("alone")


TRICKS: tuple[Callable[[Path], None], ...] = (
    removed_file,
    removed_folder,
    replaced_file,
    file_for_folder,
    folder_for_file,
    hard_link,
    last_hard_link,
    through_a_link,
    emptied_folder,
)
CASES = [(trick,) for trick in TRICKS] + [*itertools.permutations(TRICKS, 2)][::3]


def base(root: Path) -> None:
    for name in "abcdefgh":
        for file in ("x", "y/z"):
            path = root / "opt" / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{name} {file}")
    (root / "usr/lib").mkdir(parents=True)
    (root / "usr/lib/old").write_text("old")
    (root / "lib").symlink_to("usr/lib")


def seen(path: Path) -> dict[str, bytes]:
    view, place = ByteView.of(path.read_bytes()), Location("image.tar")
    found = container_of(view)
    assert found is not None
    members = list(found.members(view, place, place, Budget()))
    assert not [each for each in members if isinstance(each, Skipped)]
    files = [each for each in members if isinstance(each, Member)]
    return {each.place.innermost: each.view.all() for each in files}


def unpacked(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return {f"/{path.relative_to(root)}": path.read_bytes() for path in files}


@pytest.mark.parametrize("form", ["oci-archive", "docker-archive"])
def test_each_trick_alone_and_in_pairs(tmp_path: Path, form: str) -> None:
    assert len(CASES) >= 30
    for number, tricks in enumerate(CASES):
        folder = tmp_path / str(number)
        folder.mkdir()
        image, bundle = f"{folder}/layout:t", folder / "bundle"
        run("umoci", "init", "--layout", f"{folder}/layout")
        run("umoci", "new", "--image", image)
        run("umoci", "unpack", "--rootless", "--image", image, str(bundle))
        for change in (base, *tricks):
            change(bundle / "rootfs")
            run("umoci", "repack", "--refresh-bundle", "--image", image, str(bundle))
        run("umoci", "unpack", "--rootless", "--image", image, f"{folder}/out")
        run("skopeo", "copy", f"oci:{image}", f"{form}:{folder}/image.tar:app:t")
        found, whole = seen(folder / "image.tar"), unpacked(folder / "out/rootfs")
        names = [trick.__name__ for trick in tricks]
        assert found.items() <= whole.items(), names
        assert set(found.values()) == set(whole.values()), names
        shutil.rmtree(folder)
