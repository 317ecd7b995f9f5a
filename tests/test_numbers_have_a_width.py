"""Numbers without end in what is read: Python makes none of thousands of digits."""

from __future__ import annotations

import re
from pathlib import Path

import packages_made
import pytest
from package_writer import zip_of
from samples import FOLDER

import ltocompat
from ltocompat.cli import run

MANY = "9" * 5000
ROOMS = Path(ltocompat.__file__).parent
READING = ("files", "scan", "targets", "packages", "trial", "model")


@pytest.mark.parametrize("room", READING)
def test_no_pattern_of_a_room_that_reads_takes_digits_without_end(room: str) -> None:
    endless = re.compile(r'rb?"[^"]*(?:\\d|\[0-9\])\+')
    found = [
        f"{path.name}: {line.strip()}"
        for path in (ROOMS / room).rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if endless.search(line) and "Meta(" not in line
    ]
    assert not found


@pytest.mark.parametrize("room", READING)
def test_no_pattern_of_texts_in_a_room_that_reads_takes_digits_of_other_scripts(room: str) -> None:
    found = [
        f"{path.name}: {line.strip()}"
        for path in (ROOMS / room).rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if re.search(r'(?<!b)"[^"]*\\d', line) and not line.lstrip().startswith("#")
    ]
    assert not found


@pytest.mark.parametrize("text", [f"x.so@0x{MANY}", f"x.so@0x10.{MANY}", f"x.so@0x10.1.{MANY}"])
def test_a_place_with_endless_numbers_is_a_path_that_is_not_there(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["inspect", text]) == 3
    assert "internal error" not in capsys.readouterr().err


ENVIRONMENT = "channels:\n  - conda-forge\ndependencies:\n  - cuda-version"
REPORT = "==============NVSMI LOG==============\nDriver Version : 580.95.05\nAttached GPUs : "


@pytest.mark.parametrize(
    "text",
    [
        *(f"{ENVIRONMENT}{version}\n" for version in (f"={MANY}", f"=={MANY}.1", f"=12.{MANY}")),
        *(f"FROM nvidia/cuda:{version}-base" for version in (MANY, f"12.{MANY}")),
        f"{REPORT}{MANY}\nProduct Name : NVIDIA H200\n",
    ],
)
def test_a_description_of_a_machine_with_endless_numbers_ends_in_an_answer(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, sample = tmp_path / "machine", FOLDER / "ptx" / "nvrtc-13.5-compute_80.ptx"
    path.write_text(text)
    assert run(["check", str(sample), "--deploy-target", str(path)]) in (0, 1, 2)
    said = capsys.readouterr().err
    assert "internal error" not in said
    assert MANY not in said


@pytest.mark.parametrize(
    "line",
    [
        f"Requires-Dist: nvidia-nvjitlink>={MANY}",
        f"Requires-Dist: nvidia-nvjitlink>=12.{MANY}",
        f"Requires-Dist: nvidia-nvjitlink>=12.4; python_version > '{MANY}'",
        f"Version: {MANY}",
    ],
)
@pytest.mark.parametrize(
    "words", [["audit"], ["check", "--deploy-target", "13.0,h100"], ["require"]]
)
def test_metadata_with_endless_numbers_end_in_an_answer(
    line: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    image = (FOLDER / "fatbin-ltoir" / "nvfatbin-13.1-of-13.1-lto_80.fatbin").read_bytes()
    key, _, value = line.partition(": ")
    requires, version = ([value], "1.0") if key == "Requires-Dist" else ([], value)
    path = tmp_path / "libx-1.0-py3-none-any.whl"
    info = "libx-1.0.dist-info/"
    path.write_bytes(
        zip_of(
            ("a/x.fatbin", image),
            (info + "METADATA", packages_made.metadata("libx", version, requires)),
            (info + "WHEEL", b"Wheel-Version: 1.0\nTag: py3-none-any\n"),
            (info + "RECORD", b""),
        )
    )
    assert run([words[0], str(path), *words[1:]]) in (0, 1, 3)
    assert "internal error" not in capsys.readouterr().err
