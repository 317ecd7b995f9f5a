"""``ltocompat diff`` on the samples, and its exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest
from report_values import valid_json
from samples import FOLDER

from ltocompat.cli import run

SAXPY = str(FOLDER / "objects" / "libsaxpy.so")
SASS_ONLY = str(FOLDER / "cubin" / "nvcc-13.5-sm_80.cubin")
OLD_PTX = str(FOLDER / "ptx" / "nvrtc-12.4-compute_80.ptx")
NEW_PTX = str(FOLDER / "ptx" / "nvrtc-13.5-compute_80.ptx")
OLD_LTOIR = str(FOLDER / "ltoir" / "nvrtc-12.4-lto_80.ltoir")
NEW_LTOIR = str(FOLDER / "ltoir" / "nvrtc-13.3-lto_80.ltoir")
TEXT = str(FOLDER / "README.md")
UNREAD = str(FOLDER / "broken" / "cubin-cut.cubin")

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([SAXPY, SASS_ONLY], 0),
        ([SAXPY, SASS_ONLY, "--forbid", "lost-ptx"], 1),
        ([SASS_ONLY, SAXPY, "--forbid", "lost-ptx"], 0),
        ([SAXPY, SASS_ONLY, "--forbid", "lost-arch"], 0),
        ([SAXPY, OLD_LTOIR, "--forbid", "lost-arch"], 1),
        ([OLD_PTX, NEW_PTX, "--forbid=driver-rose"], 1),
        ([NEW_PTX, OLD_PTX, "--forbid=driver-rose"], 0),
        ([OLD_LTOIR, NEW_LTOIR, "--forbid", "nvjitlink-rose"], 1),
        ([OLD_LTOIR, NEW_LTOIR, "--forbid", "lost-ptx", "--forbid", "nvjitlink-rose"], 1),
        ([OLD_LTOIR, NEW_LTOIR, "--forbid", "lost-ptx,nvjitlink-rose"], 1),
        ([OLD_LTOIR, NEW_LTOIR, "--forbid", "lost-ptx,lost-arch"], 0),
        # What nvJitLink 13 makes of the new one needs a driver of CUDA 13.
        ([OLD_LTOIR, NEW_LTOIR, "--forbid", "lost-ptx,driver-rose"], 1),
        ([SAXPY, SAXPY, "--no-kernels"], 0),
        ([TEXT, TEXT], 3),
        ([SAXPY, UNREAD, "--forbid", "driver-rose"], 3),  # it was not read: nobody knows
        ([SAXPY, "gone.so"], 3),
        ([SAXPY, SAXPY + "@0x123"], 2),
        ([SAXPY], 2),
        ([SAXPY, SAXPY, SAXPY], 2),
        (["-", "-"], 2),
        ([SAXPY, SAXPY, "--forbid", "lost-arches"], 2),
        ([SAXPY, SAXPY, "--forbid", "lost-arch,"], 2),
        ([SAXPY, SAXPY, "--forbid", ""], 2),
        ([SAXPY, SAXPY, "--format", "xml"], 2),
    ],
)
def test_the_exit_code(arguments: list[str], code: int, capsys: Captured) -> None:
    as_json = "--format" not in arguments
    assert run(["diff", *arguments, *(["--format", "json"] if as_json else [])]) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    if as_json:
        value = valid_json(captured.out)
        assert ("error" in value) == (code in (2, 3) and "changes" not in value)


@pytest.mark.parametrize("form", ["table", "markdown"])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([SAXPY, SASS_ONLY], 0),
        ([SAXPY, SASS_ONLY, "--forbid", "lost-ptx"], 1),
        ([SAXPY, SAXPY, "--forbid", "lost"], 2),
        ([SAXPY, "gone.so"], 3),
    ],
)
def test_no_format_changes_the_exit_code(
    arguments: list[str], code: int, form: str, capsys: Captured
) -> None:
    assert run(["diff", *arguments, "--format", form]) == code
    assert "Traceback" not in capsys.readouterr().err


def test_a_saved_inspection_stands_for_its_file(tmp_path: Path, capsys: Captured) -> None:
    run(["inspect", SAXPY, "--kernels", "--format", "json"])
    file = tmp_path / "old.json"
    file.write_text(capsys.readouterr().out)
    assert run(["diff", str(file), SAXPY, "--format", "json"]) == 0
    value = valid_json(capsys.readouterr().out)
    assert value["old"]["saved"]
    assert value["changes"] == []


def test_files_without_device_code_are_named_beside_the_exit_code(capsys: Captured) -> None:
    assert run(["diff", TEXT, TEXT]) == 3
    assert ": nothing changed, and neither has device code\n" in capsys.readouterr().out


def test_what_was_not_read_is_not_said_to_be_without_device_code(capsys: Captured) -> None:
    assert run(["diff", UNREAD, UNREAD]) == 3
    assert "neither has device code" not in capsys.readouterr().out
