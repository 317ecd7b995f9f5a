"""Bytes and open files are read as the files that they came from, by every verb that reads."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from package_writer import zip_of
from samples import FOLDER

import ltocompat
from ltocompat.scan.sources import Source

FATBIN = FOLDER / "fatbin" / "nvfatbin-13.5-sm_90a.fatbin"
ARCHIVE = FOLDER / "objects" / "libaxpy.a"
TARGET = "driver=525.60.13,gpu=a100"
METADATA = b"Metadata-Version: 2.1\nName: some\nVersion: 1\nRequires-Dist: nvidia-nvjitlink-cu12\n"

SHAPES: dict[str, Callable[[bytes], Source]] = {
    "bytes": bytes,
    "bytearray": bytearray,
    "memoryview": memoryview,
    "BytesIO": io.BytesIO,
    "buffered": lambda data: io.BufferedReader(io.BytesIO(data)),
}


def as_shown(records: Any, name: str) -> str:  # noqa: ANN401 - of any verb
    return ltocompat.to_json(records).replace(name, "input-0")


@pytest.mark.parametrize("path", [FATBIN, ARCHIVE], ids=["fatbin", "archive"])
def test_bytes_get_the_answers_of_their_file(path: Any) -> None:  # noqa: ANN401
    verbs: list[Callable[[Any], Any]] = [
        ltocompat.inspect,
        ltocompat.require,
        ltocompat.matrix,
        lambda one: ltocompat.check(one, TARGET),
        lambda one: ltocompat.check([one], TARGET, route="link"),
    ]
    expected = [as_shown(verb(path), str(path)) for verb in verbs]
    for number, shape in enumerate(SHAPES.values()):
        for verb, answer in [*zip(verbs, expected, strict=True)][: 1 if number % 4 else None]:
            assert as_shown(verb(shape(path.read_bytes())), "input-0") == answer


def test_a_wheel_in_memory_is_a_package() -> None:
    wheel = io.BytesIO(
        zip_of(("some/x.fatbin", FATBIN.read_bytes()), ("some-1.dist-info/METADATA", METADATA))
    )
    wheel.name = "some-1-py3-none-any.whl"
    rules = [
        {finding.rule for result in results for finding in result.findings}
        for results in (
            ltocompat.check(wheel, TARGET),
            ltocompat.check(wheel, TARGET, floors=False),
        )
    ]
    assert rules[1] < rules[0]
    assert all(rule.startswith("PKG-") for rule in rules[0] - rules[1])


def test_what_is_no_source_is_refused_in_a_sentence() -> None:
    with pytest.raises(ltocompat.UsageError, match="7 is neither a path, bytes nor an open file"):
        list(ltocompat.check([7], TARGET))  # type: ignore[list-item]
    with pytest.raises(ltocompat.UsageError, match="a StringIO is open as text; give bytes, or"):
        ltocompat.architectures(io.StringIO(".version 8.0"))  # type: ignore[arg-type]
    with (
        open(__file__, encoding="utf-8") as file,
        pytest.raises(ltocompat.UsageError, match=f"'{__file__}' is open as text; give bytes, or"),
    ):
        ltocompat.architectures(file)  # type: ignore[arg-type]
    for wrong in ([__file__], 7, {"x.so"}):
        with pytest.raises(ltocompat.UsageError, match="is neither a path, bytes nor an open file"):
            list(ltocompat.read(wrong))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "target"),
    [
        ("13", "13.0"),
        ("R550", "R550"),
        ("h100", "h100"),
        ("rtx 4090", "'rtx 4090'"),
    ],
)
def test_a_target_that_was_given_as_a_path_leads_to_the_option(given: str, target: str) -> None:
    advice = f"if it is a deploy target, write: ltocompat check FILE --deploy-target {target}$"
    with pytest.raises(ltocompat.UnreadableInput, match=advice):
        ltocompat.needs(given)
    with pytest.raises(ltocompat.UnreadableInput, match=r"No such file or directory$"):
        ltocompat.needs("nowhere.whl")


# A call with an argument of a wrong type, and the part of the sentence about it.
WRONG: dict[str, tuple[Callable[[Any], object], str]] = {
    "explain": (ltocompat.explain, "explain() takes str as text"),
    "place": (
        lambda wrong: ltocompat.explain("PTX-01", wrong),
        "explain() takes str | PathLike",
    ),
    "audit": (
        lambda wrong: list(ltocompat.audit(wrong)),
        "audit() takes str | PathLike[str] as",
    ),
    "policy": (lambda wrong: list(ltocompat.audit("x", wrong)), "as policy"),
    "baseline": (lambda wrong: list(ltocompat.audit("x", baseline=wrong)), "as baseline"),
    "size": (
        lambda wrong: list(ltocompat.audit("x", max_bytes=wrong)),
        "audit() takes int | None as max_bytes, not ",
    ),
    "slim": (
        lambda wrong: list(ltocompat.slim("x", output="y", max_bytes=wrong)),
        "slim() takes int | None as max_bytes, not ",
    ),
    "diff": (
        lambda wrong: ltocompat.diff(wrong, "x"),
        "diff() takes str | PathLike[str] as old",
    ),
    "extract": (lambda wrong: list(ltocompat.extract("x", output=wrong)), "as output"),
    "repair": (lambda wrong: list(ltocompat.repair(wrong, output="x")), "as wheels"),
    "link": (lambda wrong: list(ltocompat.link("x", arch=wrong)), "as arch"),
    "limits": (lambda wrong: list(ltocompat.inspect("x", limits=wrong)), "Limits as limits"),
    "coherent": (ltocompat.coherent, "as parts"),
    "env": (ltocompat.env, "as root"),
    "serves": (lambda wrong: ltocompat.serves(b"", wrong), "takes str | Sequence["),
    "supports": (lambda wrong: ltocompat.supports("580", wrong), "supports() takes str as arch"),
    "inspect": (lambda wrong: list(ltocompat.inspect(wrong)), "is neither a path"),
    "check": (lambda wrong: list(ltocompat.check(b"", wrong)), ""),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_argument_of_a_wrong_type_is_said_in_one_sentence(case: str) -> None:
    """The sentence names the function, the argument, its type and the value."""
    call, sentence = WRONG[case]
    accepted: dict[str, list[object]] = {
        "policy": [None], "baseline": [None], "link": [None], "env": [None], "check": [b"x"],
        "size": [None, 3], "slim": [None, 3],
    }  # fmt: skip
    for wrong in (None, 3, b"x", object(), [3], *(["1kB"] if case in ("size", "slim") else [])):
        if (case == "inspect" and wrong == b"x") or wrong in accepted.get(case, []):
            continue
        with pytest.raises(ltocompat.UsageError) as raised:
            call(wrong)
        assert sentence in str(raised.value)
