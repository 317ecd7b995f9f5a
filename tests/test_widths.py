"""No answer or message is wider than its terminal, or 200 columns in a pipe; paths are whole."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
import tiers
from container_images_made import layer_of, oci_layout
from kernels_project import Project

from ltocompat.cli import VERBS, run
from ltocompat.report.exit_status import log

SAMPLES = Path(__file__).parents[1] / "sample_artifacts"
LOCKS = Path(__file__).parent / "data" / "locks"
LIBRARY = (SAMPLES / "objects" / "libsaxpy.so").read_bytes()
TARGETS = ["--deploy-target", "driver=535.54.03,nvjitlink=12.4,gpu=h100+a100+l4+b200"]
TARGETS += ["--deploy-target", "R580,gpu=rtx4090"]
WRONG_TARGETS = ("R999", "driver>=999", "nvjitlink=99", "gpu=h10", "drive=580", "cuda=12.7", "")
COLORS = re.compile(r"\x1b\[[0-9;]*m")
COMMAND = re.compile(r"\s*(?:\$ )?(?:ltocompat|pip|python3?|sudo|nvcc|nvidia-smi) ")
DECIDES = re.compile(
    r"\b(?:[A-Z]{2,4}-\d\d|fail|unknown|jit|sm_\d+\w?|\d{3}\.\d+(?:\.\d+)?|[ahbl]\d+0?|rtx\d+)\b(?!\s*ms)"
)
"""Rule IDs, verdicts, GPUs and drivers."""
PIPED = 200
WIDTHS = (60, 80, 120, 200, None)
INPUTS = ("wheel", "named", "image", "archive", "windows", "folder", "objects", "broken", "ltoir")


def answers() -> Iterator[list[str]]:
    """Every verb that answers in text, with every kind of input; ``{wheel}`` is one of INPUTS."""
    for path in (f"{{{name}}}" for name in INPUTS):
        yield from (["inspect", path], ["inspect", "--images", "--kernels", path])
        yield from (["inspect", "--weigh", path], ["require", path], ["require", "--why", path])
        yield from (["matrix", path], ["matrix", path, *TARGETS], ["check", path])
        yield ["check", "--why", "--notes", path, *TARGETS]
        yield from (["audit", path], ["diff", "{wheel}", path], ["init", path])
        yield ["audit", "--why", "--notes", "--require-archs", "7.0;9.0+PTX", path, *TARGETS]
        yield ["slim", "--keep-gpu", "a100", "-o", "slim", path]
        yield from (["extract", "-o", "extracted", path], ["link", path, "--arch", "sm_90"])
    for lock in sorted(path for path in LOCKS.rglob("*") if path.is_file()):
        yield ["check", "{wheel}", "--deploy-target", str(lock)]
    yield ["diff", "{wheel}", "{named}", "--forbid", "lost-arch"]
    yield ["repair", "--dry-run", "{wheel}", "{named}"]
    yield ["init", "{wheel}", "{named}", "-o", "policy.toml"]
    for text in ("PTX-01", "209", "__nvJitLinkComplete_12_4", "--all", "a text of no rule " * 20):
        yield ["explain", text]
    yield from (["targets"], ["targets", "hopper"], ["env"], ["linkers", "list"], ["selftest"])
    yield from ([verb, "--help-all"] for verb in VERBS if verb != "linkers")
    yield from mistakes("{wheel}", "{table}")


def mistakes(wheel: str, table: str) -> Iterator[list[str]]:
    """What ends in a message: wrong words, paths that are not there, and files of another kind."""
    for target in (*WRONG_TARGETS, f"{table}:edge", f"{table}:other", f"lock={wheel}"):
        yield ["check", wheel, "--deploy-target", target]
    yield from (["check", wheel, "--with", table], ["check", "absent.whl"])
    yield from (["check", wheel, "--baseline"], ["check", wheel, "--fail-on", "soon"])
    yield from (["audit", wheel, "--baseline", table], ["audit", wheel, "--max-bytes", "much"])
    yield from (["inspect", f"{wheel}::absent@0x40.3"], ["link", wheel], ["linkers", "list", "x"])
    yield from (["explain"], ["diff", "-", "-"], ["slim", wheel, "-o", wheel])
    yield from (["env", "--root", table], ["survey", wheel], ["inspect", wheel, "--format", "html"])


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("inputs")
    wheel = Project.copy(folder / "kernels").build()
    long_name = folder / f"{'a_very_long_name_' * 5}-1.0-py3-none-any.whl"
    long_name.write_bytes(wheel.read_bytes())
    image = folder / "image.tar"
    image.write_bytes(oci_layout([layer_of({"usr/lib/x86_64-linux-gnu/libsaxpy.so": LIBRARY})]))
    table = folder / "of targets.toml"
    table.write_text('[targets.edge]\ndriver = "999"\n', "utf-8")
    samples = {name: str(SAMPLES / name) for name in ("objects", "broken", "ltoir")}
    alone = {"archive": "libaxpy.a", "windows": "saxpy.dll"}
    made = {"wheel": wheel, "named": long_name, "image": image, "table": table, "folder": folder}
    return {
        **samples,
        **{name: str(SAMPLES / "objects" / file) for name, file in alone.items()},
        **{name: str(path) for name, path in made.items()},
    }


def stands_out(line: str) -> bool:
    """Whether a line may be wider than its terminal: it is one word, or a command, and no more.

    This is the only exception. A path, a symbol or a command that is broken can't be pasted, and
    one that is cut doesn't say which file it is. A place in an answer has lost its folders by then.
    """
    return len(line.replace("-->", "").split()) == 1 or COMMAND.match(line) is not None


def written(words: list[str], out: str) -> str:
    """An answer without the file that it shows: lines of a policy are as they stand in it."""
    return out.partition("\n\n")[0] + "\n" if words[0] == "init" else out


Case = tuple[list[str], int | None]
CASES: list[Case] = list(product(answers(), WIDTHS))


def drawn() -> Iterator[Case]:
    """One case of each verb, by its own sum, which every change meets; the rest is nightly."""
    for verb in VERBS:
        of_verb = [case for case in CASES if case[0][0] == verb and "{broken}" not in case[0]]
        yield from sorted(of_verb, key=lambda case: zlib.crc32(repr(case).encode()))[:1]


EVERY_CHANGE = [*drawn()]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=() if case in EVERY_CHANGE else pytest.mark.nightly)
        for case in CASES
        if case in EVERY_CHANGE or not tiers.left_out["nightly"]
    ],
    ids=str,
)
def test_no_answer_is_wider_than_its_terminal(
    case: Case,
    inputs: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words, width = case
    # On a busy machine lines of progress come between, which have no width where they are piped.
    monkeypatch.setattr("ltocompat.report.streams._LINES_PATIENCE", 1e9)
    texts = []
    for columns in dict.fromkeys((None, width)):
        (tmp_path / str(columns)).mkdir()
        monkeypatch.chdir(tmp_path / str(columns))
        for module in ("cli.run_verb", "report.exit_status"):
            monkeypatch.setattr(f"ltocompat.{module}.terminal_width", lambda _, it=columns: it)
        if columns is not None:
            monkeypatch.setenv("COLUMNS", str(columns))
        run([word.format_map(inputs) if "{" in word else word for word in words])
        out, messages = (COLORS.sub("", text) for text in capsys.readouterr())
        texts.append(out)
        lines = (written(words, out) + messages).splitlines()
        assert [
            line for line in lines if len(line) > (columns or PIPED) and not stands_out(line)
        ] == []
    decides, shown = ({*DECIDES.findall(text)} for text in (texts[0], texts[-1]))
    no_verdict = {"unknown"} if words[0] == "inspect" else set()  # whether an image is registered
    assert decides - shown - no_verdict == set()


@pytest.mark.parametrize("width", [60, 80, 120, None])
def test_each_condition_of_an_image_stands_in_any_terminal(
    width: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """NVIDIA_REQUIRE_CUDA has a dozen conditions without blanks, each wider than its column."""
    required = "cuda>=12.4 brand=tesla,driver>=470,driver<471 brand=unknown,driver>=535,driver<536"
    config = {"os": "linux", "config": {"Env": [f"NVIDIA_REQUIRE_CUDA={required}"]}}
    image = tmp_path / "image.tar"
    image.write_bytes(oci_layout([layer_of({"lib/libsaxpy.so": LIBRARY})], config=config))
    monkeypatch.setattr("ltocompat.cli.run_verb.terminal_width", lambda _: width)
    run(["env", "--root", str(image)])
    words = re.split(r"[\s,]+", COLORS.sub("", capsys.readouterr().out))
    assert set(re.split(r"[ ,]", required)) <= set(words)


@pytest.mark.parametrize("width", [60, 80, 120, None])
def test_a_command_in_an_answer_is_on_one_line(
    width: int | None,
    inputs: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("ltocompat.cli.run_verb.terminal_width", lambda _: width)
    command = f"ltocompat slim {inputs['named']} --max-bytes 10 -o smaller/"
    run(["audit", inputs["named"], *TARGETS[2:], "--max-bytes", "10"])
    assert any(line.endswith(command) for line in capsys.readouterr().out.splitlines())


def test_a_command_in_a_message_is_on_one_line() -> None:
    command = "ltocompat audit --write-baseline known.json"
    for length in range(80, 200):
        written = io.StringIO()
        log(f"{'x' * length} is not a baseline; write it again with: {command}; or not", written)
        assert any(command in line for line in written.getvalue().splitlines())
