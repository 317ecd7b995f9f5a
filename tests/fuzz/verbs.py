"""Whole verbs on hostile files: what they print and how they end is held to their contract."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import random
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from samples import FOLDER

from fuzz.files import folder, written
from fuzz.machine import MACHINE, machine_in
from fuzz.readers import READERS, seeds
from fuzz.structure import Form, Part
from fuzz.watch import Broken
from ltocompat.cli import run

_TARGET = ("--deploy-target", "driver=550,gpu=h100+l4,nvjitlink=12.4")
_WRONG_USAGE = 2
_EXIT_CODES = {0, 1, 3, 4}
# Where the text is one that a user writes, it may be wrong usage, too: an empty one to explain.
_USAGE = {"-", "pylock.toml", "requirements.txt", "ltocompat.toml", "baseline.json", "saved.json"}
# A line that a runner of GitHub or Azure takes for a command, and what a terminal obeys.
_COMMAND = re.compile(r"^\s*(?:::[a-z]|##\[|##vso\[)", re.MULTILINE)
_TRACE = re.compile(r"^Traceback \(most", re.MULTILINE)  # in a line, it is quoted
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb as it is called.

    Attributes:
        words: the command line, with ``{}`` for the path of the hostile file.
        name: of the file; ``/`` for a whole machine.
        of: readers whose inputs are what the file may be.
    """

    words: tuple[str, ...]
    name: str
    of: tuple[str, ...]


def _verb(line: str, name: str, *of: str) -> Verb:
    return Verb(tuple(line.split()), name, of)


_CODE = ("elf", "pe", "coff", "ar", "fatbin", "cubin", "ptx", "ltoir", "containers")
_ON = " ".join(_TARGET)
# A case that was kept begins with the number of its verb: new ones come at the end.
VERBS = (
    _verb("inspect {}", "x.so", *_CODE),
    _verb("inspect --format json --kernels {}", "x.so", *_CODE),
    _verb("inspect --images --hash {}", "x.so", *_CODE),
    _verb("inspect --weigh {}", "x.so", *_CODE),
    _verb("inspect --format markdown {}", "x-1.0-py3-none-any.whl", "wheel", "zip"),
    _verb(f"check {_ON} {{}}", "x.so", *_CODE),
    _verb(f"check {_ON} --format json {{}}", "x.so", *_CODE),
    _verb(f"check {_ON} --format sarif {{}}", "x_cuda12.so", *_CODE),
    _verb(f"check {_ON} --format github --notes {{}}", "x-1.0-py3-none-any.whl", "wheel"),
    _verb(f"check {_ON} -v {{}}", "x-1.0-0.conda", "conda"),
    _verb(f"check {_ON} --route link --format junit {{}}", "x.o", *_CODE),
    _verb(f"check {_ON} --together --format html {{}}", "x.o", *_CODE),
    _verb("check --deploy-target 12.4,h100 --format csv {}", "x.fatbin", "fatbin"),
    _verb("check --deploy-target lock={},gpu=h100 SAMPLE", "pylock.toml", "toml lock"),
    _verb("check --deploy-target lock={},gpu=h100 SAMPLE", "requirements.txt", "requirements"),
    _verb("require {}", "x.so", "elf", "fatbin", "ltoir"),
    _verb("require --format json --why {}", "x.fatbin", "fatbin", "cubin", "ptx"),
    _verb("extract -o OUT {}", "x.so", *_CODE),
    _verb("extract -o OUT --format json {}", "x.whl", "wheel", "containers"),
    _verb("diff SAMPLE {}", "x.fatbin", "fatbin", "containers"),
    _verb("diff --format json {} SAMPLE", "x.fatbin", "fatbin"),
    _verb("audit {} --config POLICY", "x-1.0-py3-none-any.whl", "wheel"),
    _verb("audit {} --format gitlab", "x-1.0-py3-none-any.whl", "wheel"),
    _verb("audit {} --format json", "x-1.0-0.conda", "conda"),
    _verb("audit SAMPLE --config {}", "ltocompat.toml", "policy"),
    _verb("audit SAMPLE --config POLICY --baseline {}", "baseline.json", "policy"),
    _verb("explain - --format json", "-", "explain"),
    _verb("explain --full -", "-", "explain"),
    _verb("env --root {}", "/", "root"),
    _verb("env --root {} --format json", "/", "root"),
    _verb("diff {} SAMPLE", "saved.json", "saved"),
)


def seeds_of_verbs() -> Iterator[bytes]:
    """Each verb with some of the inputs of its readers; its number comes first."""
    for number, verb in enumerate(VERBS):
        for reader in verb.of:
            found = (_saved(),) if reader == "saved" else seeds(reader)
            step = max(1, len(found) // 3)
            yield from (bytes([number]) + data for data in found[::step] if len(data) < 30_000)


@functools.cache
def _saved() -> bytes:
    """What inspect wrote earlier, which diff reads."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        run(["inspect", "--kernels", "--format", "json", str(_SAMPLE)])
    return out.getvalue().encode()


_SAMPLE = FOLDER / "fatbin" / "nvcc-13.0-default.fatbin"
_POLICY = b"""
[tool.ltocompat.targets]
new = { driver = "580.95.05", gpu = ["h100", "sm_120"], nvjitlink = ">=13.0,<14" }
[tool.ltocompat.audit]
fail-on = "unknown"
require-gpus = ["sm_90"]
"""


def read(data: bytes) -> None:
    """Run the verb that the first byte names on the bytes behind it.

    Raises:
        Broken: it ends in another exit code than it may, or prints what it must not.
    """
    verb, content = VERBS[data[0] % len(VERBS) if data else 0], data[1:]
    path = machine_in(content) if verb.name == "/" else written(verb.name, content)
    names = {"SAMPLE": str(_SAMPLE), "OUT": _out(), "POLICY": written("policy.toml", _POLICY)}
    words = [names.get(word, word.replace("{}", path)) for word in verb.words]
    out, messages = io.StringIO(), io.StringIO()
    printed = contextlib.redirect_stdout(out), contextlib.redirect_stderr(messages)
    with no_cache(), _input(content), printed[0], printed[1]:
        code = run(words)
    if code == _WRONG_USAGE and verb.name in _USAGE:
        code = 0
    _hold(" ".join(verb.words), code, out.getvalue(), messages.getvalue())


@contextlib.contextmanager
def no_cache() -> Iterator[None]:
    """Nothing of earlier inputs, and nothing of this machine's user."""
    before = dict(os.environ)
    os.environ |= {"LTOCOMPAT_NO_CACHE": "1", "XDG_CACHE_HOME": folder(), "HOME": folder()}
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def _input(content: bytes) -> Iterator[None]:
    """A text on standard input."""
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(content), "utf-8", "surrogateescape")
    try:
        yield
    finally:
        sys.stdin = before


def _out() -> str:
    """An empty folder for what is extracted."""
    path = os.path.join(folder(), "out")
    if os.path.isdir(path) and os.listdir(path):
        shutil.rmtree(path)
    return path


def _hold(line: str, code: int, answer: str, messages: str) -> None:
    bad = any(text in messages for text in ("internal error", "not enough memory"))
    if code not in _EXIT_CODES or bad or _TRACE.search(messages):
        last = messages.strip().rpartition("\n")[2][:60]
        raise Broken(f"exit code {code} of {line}: {last}")
    wrong = _CONTROL.search(answer) or _CONTROL.search(messages)
    if wrong:
        raise Broken(f"{line} prints {wrong[0]!r}")
    if "github" not in line and _COMMAND.search(answer):
        raise Broken(f"{line} prints a workflow command")
    if "--format json" in line and answer:
        _hold_json(line, answer)


def _hold_json(line: str, answer: str) -> None:
    try:
        json.loads(answer)
    except ValueError as error:
        raise Broken(f"{line} prints no JSON") from error


def _is_machine(data: bytes) -> bool:
    return bool(data) and VERBS[data[0] % len(VERBS)].name == "/"


def _parts(data: bytes, dice: random.Random) -> Iterator[Part]:
    """The file behind the number of its verb; of a machine its files."""
    verb, content = data[:1], data[1:]
    if not _is_machine(data):
        yield Part(content, lambda new: verb + new)
    else:
        for part in MACHINE.parts(content, dice):
            yield Part(part.data, _behind(verb, part.put))


def _behind(verb: bytes, put: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda new: verb + put(new)


def _rearrange(data: bytes, dice: random.Random) -> bytes:
    return data[:1] + MACHINE.rearrange(data[1:], dice) if _is_machine(data) else b""


FORM = Form(lambda _: True, lambda _: iter(((0, 1),)), _parts, _rearrange)
"""The form of what ``read`` takes: a change of its one number is another verb."""


def words_of_verbs() -> tuple[bytes, ...]:
    """Words of all that verbs read."""
    return tuple({word for reader in READERS.values() for word in reader.words})
