"""The law of spliced sentences: whatever an answer leaves out, the rest is a sentence.

Each row is asked alone and in what texts show of each ecosystem (``data/ecosystems.toml``), whose
words go into its sentences and whose readers get some of its clauses only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from test_first_commands import LONGEST, TABLE, texts_by_row

from ltocompat.commands.explain import explain
from ltocompat.model.errors import Missing, UsageError

ALONE = {"name": "alone", "evidence": [["", ""]]}
ECOSYSTEMS = [ALONE, *TABLE["ecosystem"]]
VERBS = "install|use|build|run|add|set|put|point|start|update|turn|make|replace|reinstall|remove"
SIGNS = {
    "a part without words": r"\0|(?<![\w?/=])\?(?![\w?*])|(?<![\w!$'])\( *\)|\( ",
    "two marks": r"[,;:]\.(?!\.)|[;,] ?; |, ?, |, ?:|: [,.] |\?[.,)]|[\w)]\.\.(?![./\w])|\w\.; | ,",
    "a conjunction at the end": r"\b(?:or|with|for|of|by|in) \.(?:\s[A-Z]|$)|\b(?:or|and)\.(?!\S)",
    "two blanks": r"  ",
    "two openings": r"\b[Oo]therwise: (?:If|Or|Otherwise)\b|: Or\b|\b[Oo]r[ ,] ?[Oo]r\b",
    "a conjunction in small letters": r"(?:^|[\w)]\. )(?:or|and|but|which(?! -)|then|otherwise) ",
    "a verb in small letters": rf"(?:^|[\w)]\. )(?:{VERBS}) (?:the|an?|its?|that|this|your) ",
}
"""What a badly spliced sentence shows."""


def answers(ecosystem: dict[str, Any], every: int) -> Iterator[tuple[str, str]]:
    """The causes and fixes of the rows in an ecosystem, each with the row's name."""
    for number, (name, text) in enumerate(texts_by_row().items()):
        if number % every or len(text) > LONGEST:
            continue
        for before, after in ecosystem["evidence"]:
            try:
                first = explain(f"{before}\n{text}\n{after}".strip())[0]
            except (Missing, UsageError):
                continue
            yield from ((name, part) for part in (first.cause, first.fix, first.check) if part)


def broken(ecosystem: dict[str, Any], every: int) -> list[tuple[str, str, str]]:
    """The rows with an answer that shows a sign."""
    return [
        (name, sign, answer[max(0, found.start() - 40) : found.end() + 40])
        for name, answer in answers(ecosystem, every)
        for sign, pattern in SIGNS.items()
        for found in [re.search(pattern, answer)]
        if found
    ]


@pytest.mark.parametrize("ecosystem", ECOSYSTEMS, ids=lambda row: row["name"])
def test_a_sample_of_answers_has_no_sign_of_a_bad_splice(ecosystem: dict[str, Any]) -> None:
    assert broken(ecosystem, every=1 if ecosystem is ALONE else 11) == []


@pytest.mark.slow
@pytest.mark.parametrize("ecosystem", ECOSYSTEMS, ids=lambda row: row["name"])
def test_an_answer_has_no_sign_of_a_bad_splice(ecosystem: dict[str, Any]) -> None:
    assert broken(ecosystem, every=1) == []


@pytest.mark.parametrize(
    ("text", "said", "unsaid"),
    [
        # A program that says why it stopped is not CUDA's, whatever number it gives.
        ("write failed: error 222: disk full", "", "PTX"),
        ("error 209: permission denied by policy", "", "SASS"),
        ("error 222", "PTX", ""),
        ("error 222: the provided PTX was compiled", "PTX", ""),
        ("CUDA error 209: etwas ging schief", "SASS", ""),
        # PyTorch for ROCm is a build, but not for CUDA.
        ("xFormers wasn't build with CUDA support\ntorch 2.4.1+rocm6.1", "ROCm", "USE_CUDA"),
        ("XFormers wasn't built with CUDA support\ntorch 2.4.1+rocm6.1", "ROCm", "USE_CUDA"),
        ("xFormers wasn't build with CUDA support", "a different PyTorch", "ROCm"),
        # Ray hides GPUs, however a text names it; V-Ray doesn't.
        ("(RayWorkerWrapper pid=1) RuntimeError: No CUDA GPUs are available", "num_gpus=1", ""),
        ("Ray 2.9 with vLLM: RuntimeError: No CUDA GPUs are available", "num_gpus=1", ""),
        ("(raylet) RuntimeError: No CUDA GPUs are available", "num_gpus=1", ""),
        ("V-Ray 6: no CUDA-capable device is detected", "nvidia-smi -L", "num_gpus"),
        # A check finds a file by its whole name.
        ("Unable to load DLL 'nppc64_11'", "where nppc64_11.dll", ""),
        ("Unable to load DLL 'nppc64_11.dll'", "where nppc64_11.dll", ".dll.dll"),
        ('Unable to dynamically load the "cublas" shared library', "'libcublas*'", ""),
        # What is known of a driver may be its CUDA alone.
        (
            "cudaErrorInsufficientDriver\nCUDA Driver Version: 13.0",
            "names a driver of CUDA 13.0, which",
            "?",
        ),
        ("cuFFT LTO callbacks not supported", "12.6 Update 2", ""),
        ("cuFFT: this plan does not support LTO callbacks", "nvJitLink", "Update 2"),
    ],
)
def test_an_answer_that_was_wrong_once_is_right(text: str, said: str, unsaid: str) -> None:
    try:
        first = explain(text)[0]
    except Missing:
        answer = ""
    else:
        answer = f"{first.id} {first.cause} {first.fix} {first.check}"
    assert said in answer
    assert not unsaid or unsaid not in answer
