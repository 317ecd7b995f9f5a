"""``ltocompat link`` and ``inspect --trial-link`` where no nvJitLink is at hand."""

from __future__ import annotations

import io
import json
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from report_values import valid_json
from samples import FOLDER

from ltocompat import cli
from ltocompat.model.arch import Release
from ltocompat.targets.linkers import Linker, Tool

LTOIR = FOLDER / "ltoir" / "nvrtc-12.4-lto_80.ltoir"
SCRAMBLED = FOLDER / "fatbin-ltoir" / "nvfatbin-13.3-of-13.3-lto_80.fatbin"


def run(tmp_path: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """With a cache of trials that is empty."""
    words = [*map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setenv("XDG_CACHE_HOME", str(tmp_path))
        patch.setenv("LD_LIBRARY_PATH", "")
        code = cli.run(words)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


@pytest.mark.parametrize(
    "arguments",
    [
        ("link", LTOIR, "--arch", "sm_90", "--nvjitlink", "12.4.127"),
        ("inspect", SCRAMBLED, "--trial-link"),
    ],
    ids=["link", "inspect"],
)
def test_a_linker_that_is_missing_is_one_sentence_with_the_command_to_get_it(
    tmp_path: Path, arguments: tuple[str | Path, ...]
) -> None:
    done = run(tmp_path, *arguments)
    assert done.returncode == 4
    assert "ltocompat linkers install" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_it_is_an_error_in_json_too(tmp_path: Path) -> None:
    done = run(
        tmp_path, "link", LTOIR, "--arch", "sm_90", "--nvjitlink", "12.4.127", "--format", "json"
    )
    assert valid_json(done.stdout)["error"]["kind"] == "missing"
    assert json.loads(done.stdout)["schema"] == "ltocompat/error/v1"


def test_nothing_needs_a_linker_where_nothing_is_to_be_narrowed(tmp_path: Path) -> None:
    done = run(tmp_path, "inspect", LTOIR, "--trial-link")
    assert done.returncode == 0
    assert "12.4 (NVVM IR 2.71)" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("--linker", "nvlink=12.4"), 4, "nvlink 12.4 is not installed"),
        (("--linker", "nvlink=12.4", "--install-linkers"), 4, "but no nvlink; put the bin folder"),
        (("--linker", "nvlink=13.99"), 4, "linkers install nvlink=13.99 --allow-unknown"),
        (
            ("--linker", "13.5"),
            2,
            "as in nvjitlink=13.4, not '13.5'",
        ),
        (("--linker", f"nvlink={LTOIR}"), 2, "it is not a binary"),
        (("--linker", "nvlink=/nowhere/nvlink"), 4, "nor an existing file"),
    ],
)
def test_an_nvlink_that_cannot_be_had_is_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], code: int, text: str
) -> None:
    done = run(tmp_path, "link", LTOIR, "--arch", "sm_90", *arguments)
    assert done.returncode == code, done.stderr
    assert text in " ".join(done.stderr.split())
    assert done.stderr.count("ltocompat: ") == 1


@pytest.mark.parametrize("versions", [(), ("12.4.131", "13.0.88")])
def test_where_only_an_nvlink_is_at_hand_the_message_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, versions: tuple[str, ...]
) -> None:
    found = [
        Linker(Release.parse(v), v, "/n", "PATH", "file banner", machine="x86-64", tool=Tool.NVLINK)
        for v in versions
    ]
    monkeypatch.setattr(
        "ltocompat.commands.link.find",
        lambda _, tool=Tool.NVJITLINK: found if tool is Tool.NVLINK else [],
    )
    done = run(tmp_path, "link", LTOIR, "--arch", "sm_90")
    end = "; or add --linker nvlink=13.0.88" if versions else ""
    assert done.returncode == 4
    assert done.stderr == (
        "ltocompat: no nvJitLink is installed; get one with: ltocompat linkers install "
        f"nvjitlink=13.5{end}\n"
    )
