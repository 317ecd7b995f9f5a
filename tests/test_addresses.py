"""Addresses where a path is asked for: one sentence, and nothing is made or asked of a network."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from packages_made import wheel
from samples import FOLDER

import ltocompat
from ltocompat.cli import VERBS, run, verb_command

FATBIN = str(FOLDER / "fatbin" / "nvcc-13.5-tile.fatbin")
ADDRESSES = ("s3://bucket/x", "gs://b/x.toml", "https://host/x.whl", "file:///tmp/x", "S3://b")
# Not paths alone: package indexes, a cluster, surveys, and words of an error message.
TAKE_OTHERS = {("explain", "words")}
TAKE_OTHERS |= {("survey", name) for name in ("sources", "scheduler", "folder", "shards", "page")}


def verbs() -> Iterator[tuple[list[str], list[Any]]]:
    """The words and the parameters of each verb; a group has several verbs."""
    for name in VERBS:
        parser = verb_command(name)
        inner = getattr(parser, "commands", None)
        for word, verb in inner.items() if inner else [("", parser)]:
            yield list(filter(None, [name, word])), verb.params


def lines() -> Iterator[list[str]]:
    """A line for every argument and option that takes text, with HERE in place of the text."""
    for words, params in verbs():
        spelled = {
            param.name: [] if param.param_type_name == "argument" else [max(param.opts, key=len)]
            for param in params
        }
        for asked in params:
            flag = getattr(asked, "is_flag", False) or asked.name in ("help", "log_level")
            number = isinstance(asked.type, click.IntRange)
            if flag or number or (words[0], asked.name) in TAKE_OTHERS:
                continue
            others = (each for each in params if each.required and each is not asked)
            rest = [word for each in others for word in (*spelled[each.name], "x")]
            yield [*words, *spelled[asked.name], "HERE", *rest]


def test_what_takes_text_refuses_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    every = list(lines())
    assert len(every) > 70
    for number, line in enumerate(every):
        address = ADDRESSES[number % len(ADDRESSES)]
        assert run([address if word == "HERE" else word for word in line]) == 2, line
        said = capsys.readouterr().err
        assert f"{address!r} is an address" in said, said
        assert said.count("\n") == 1
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ["inspect", FATBIN, "--format", "json=s3://b/x.json"],
        ["check", FATBIN, "--deploy-target", "lock=s3://b/uv.lock"],
        ["check", FATBIN, "--deploy-target", "gpu=h100,lock=s3://b/uv.lock"],
        ["link", FATBIN, "--arch", "sm_100", "--linker", "nvjitlink=s3://b/libnvJitLink.so.13"],
    ],
)
def test_so_does_what_has_a_word_in_front(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(words) == 2
    assert "is an address" in capsys.readouterr().err
    assert not os.listdir(tmp_path)


def test_python_refuses_to_write_to_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ltocompat.UsageError, match="is an address"):
        list(ltocompat.extract(FATBIN, output="s3://b/x"))
    with pytest.raises(ltocompat.UsageError, match="is an address"):
        list(ltocompat.link(FATBIN, arch="sm_90", output="s3://b/x"))
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("folder", ["s3:/b", "file:x", "gs:b"])
def test_a_survey_writes_into_a_folder_that_looks_like_an_address(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = str(wheel(tmp_path, {"k/x.cubin": Path(FATBIN).read_bytes()}))
    assert run(["survey", "run", "--jobs", "1", source, "-o", folder]) == 0
    assert run(["survey", "report", folder]) == 0
    assert os.path.isdir(tmp_path / folder)
