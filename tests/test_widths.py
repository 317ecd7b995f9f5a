"""No answer or message is wider than its terminal, or 200 columns in a pipe; paths are whole."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from container_images_made import layer_of, oci_layout
from kernels_project import Project

from ltocompat.cli import VERBS, run
from ltocompat.report.exit_status import log

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).parents[1] / "sample_artifacts"
LOCKS = Path(__file__).parent / "data" / "locks"
TARGETS = ["--deploy-target", "driver=535.54.03,nvjitlink=12.4,gpu=h100+a100+l4+b200"]
TARGETS += ["--deploy-target", "R580,gpu=rtx4090"]
WRONG_TARGETS = ("R999", "driver>=999", "nvjitlink=99", "gpu=h10", "drive=580", "cuda=12.7", "")
COLORS = re.compile(r"\x1b\[[0-9;]*m")
PIPED = 200


def answers(folder: Path) -> Iterator[list[str]]:
    """Every verb that answers in text, on wheels, samples, damaged files, an image and locks."""
    wheel = Project.copy(folder / "kernels").build()
    long_name = folder / f"{'a_very_long_name_' * 5}-1.0-py3-none-any.whl"
    long_name.write_bytes(wheel.read_bytes())
    image = folder / "image.tar"
    library = (SAMPLES / "objects" / "libsaxpy.so").read_bytes()
    image.write_bytes(oci_layout([layer_of({"usr/lib/x86_64-linux-gnu/libsaxpy.so": library})]))
    inputs = [wheel, long_name, image, *(SAMPLES / name for name in ("objects", "broken", "ltoir"))]
    for path in map(str, inputs):
        yield from (["inspect", path], ["inspect", "--images", "--kernels", path])
        yield from (["inspect", "--weigh", path], ["require", "--why", path], ["matrix", path])
        yield ["check", "--why", "--notes", path, *TARGETS]
        yield ["audit", "--why", "--notes", "--require-archs", "7.0;9.0+PTX", path, *TARGETS]
    for lock in sorted(path for path in LOCKS.rglob("*") if path.is_file()):
        yield ["check", str(wheel), "--deploy-target", str(lock)]
    yield ["diff", str(wheel), str(long_name)]
    yield ["repair", "--dry-run", str(wheel), str(long_name)]
    yield ["slim", "--keep-gpu", "a100", "-o", str(folder / "slim"), str(wheel)]
    yield ["extract", "-o", str(folder / "extracted"), str(SAMPLES / "broken")]
    yield from (
        ["explain", text] for text in ("PTX-01", "209", "__nvJitLinkComplete_12_4", "--all")
    )
    yield from (["targets"], ["env"], ["linkers", "list"])
    yield from ([verb, "--help-all"] for verb in VERBS if verb != "linkers")
    yield from mistakes(folder, str(wheel))


def mistakes(folder: Path, wheel: str) -> Iterator[list[str]]:
    """What ends in a message: wrong words, paths that are not there, and files of another kind."""
    table = folder / "of targets.toml"
    table.write_text('[targets.edge]\ndriver = "999"\n', "utf-8")
    for target in (*WRONG_TARGETS, f"{table}:edge", f"{table}:other", f"lock={wheel}"):
        yield ["check", wheel, "--deploy-target", target]
    yield from (["check", wheel, "--with", str(table)], ["check", str(folder / "absent.whl")])
    yield from (["check", wheel, "--baseline"], ["check", wheel, "--fail-on", "soon"])
    yield from (["audit", wheel, "--baseline", str(table)], ["audit", wheel, "--max-bytes", "much"])
    yield from (["inspect", f"{wheel}::absent@0x40.3"], ["link", wheel], ["linkers", "list", "x"])
    yield from (["explain", "a text that no rule knows " * 20], ["explain"], ["diff", "-", "-"])
    yield from (["slim", wheel, "-o", wheel], ["env", "--root", str(table)], ["survey", wheel])


def too_wide(text: str, width: int) -> list[str]:
    """The lines that are too long, except for what is pasted: one path or symbol, or a command."""
    lines = [COLORS.sub("", line) for line in text.splitlines()]
    return [
        line
        for line in lines
        if len(line) > width
        and len(line.replace("-->", "").split()) > 1
        and not line.startswith("  ltocompat ")
    ]


@pytest.mark.parametrize("width", [60, 80, 120, 200, None])
def test_no_answer_is_wider_than_its_terminal(
    width: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for module in ("cli.run_verb", "report.exit_status"):
        monkeypatch.setattr(f"ltocompat.{module}.terminal_width", lambda _: width)
    # On a busy machine lines of progress come between, which have no width where they are piped.
    monkeypatch.setattr("ltocompat.report.streams._LINES_PATIENCE", 1e9)
    if width is not None:
        monkeypatch.setenv("COLUMNS", str(width))
    found = {}
    with chdir(tmp_path):
        for words in answers(tmp_path):
            run(words)
            lines = too_wide("".join(capsys.readouterr()), width or PIPED)
            if lines:
                found[" ".join(words)] = lines
    assert found == {}


def test_a_command_in_a_message_is_on_one_line() -> None:
    command = "ltocompat audit --write-baseline known.json"
    for length in range(80, 200):
        written = io.StringIO()
        log(f"{'x' * length} is not a baseline; write it again with: {command}; or not", written)
        assert any(command in line for line in written.getvalue().splitlines())
