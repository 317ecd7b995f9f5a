"""The reader of a policy and its JSON Schema agree on every value of every key.

What only the reader can know is left out: whether a target, a file, a GPU or a release exists.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ltocompat.commands.policy.key_list import keys_of_tables, schema
from ltocompat.commands.policy.reading import read_policy
from ltocompat.model.errors import UsageError

TODAY = dt.date(2026, 11, 21)
CHECKER = jsonschema.Draft202012Validator(
    schema(), format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
)
VERSIONS = ("12.4", "13.3", "13", "12.4.127", ">=12.4,<14", "==12.4.*", "~=12.4", "12.4+13.3")
DRIVERS = ("580", "580.65.06", ">=550", "535+580", "535.54.03|580.65.06", " 580 ", "!=580", "R550")
GOOD: dict[str, tuple[object, ...]] = {
    "driver": (*DRIVERS, 580),
    "container": ("cuda>=12.4", " CUDA>=12.9 brand=tesla,driver>=535,driver<536", "driver>=550"),
    "nvjitlink": (*VERSIONS, 13),
    "nvrtc": VERSIONS,
    "nvlink": VERSIONS,
    "lto": ("on", "off"),
    "compat": ("13-0", "13.0", "580.95.05"),
    "gpu": ("h100", "h100+l4", ["a100", "sm_90a"], 90, "rtx 4090", "9.0", "NVIDIA A100-SXM4-80GB"),
    "cuda": ("12.4",),
    "os": ("linux", "Linux-aarch64", "wsl2", "windows-x86_64"),
    "stock": ("13.3", "12.4.1"),
    "python": ("3.12", "3.12.1"),
    "name": ("old machines",),
    "sass": ([], ["sm_80", "90a", "SM_100F", 75]),
    "ptx": ([], ["compute_80", 75]),
    "targets": (["prod"],),
    "require-gpus": ([], ["h100", "sm_90", "rtx-4090"]),
    "require-archs": ([], ["sm_80", "COMPUTE_90", "lto_90", "75"], "8.0;9.0+PTX", ["90a-real"]),
    "coverage": (1, 75, 100),
    "max-member-bytes": (1, "400MB"),
    "max-bytes": (104_857_600, "100MB", "1.5 GiB", " 20k"),
    "least-driver": ("580", "525.60.13", 580),
    "fail-on": ("fail", "unknown", "undocumented", "jit"),
    "trial-link": (True, False, ["13.3"], ["13.3.33"]),
    "trial-load": (True, False),
    "no-device-code": ("pass", "undecided"),
    "variants": ([], ["libx_cuda*.so"]),
    "provided-by": ({}, {"torch": ["libcudart.so.*"]}, {"torch": []}),
    "ignore": ([],),
    "allow": ([],),
    "verdict": ("fail", "unknown", "undocumented", "jit"),
    "about": ("PTX compute_90", "*"),
    "route": ("load", "link", ""),
    "modules": (0, 1, 794),
    "asks": ([], ["driver 525.60.13", "sm_90"]),
    "rule": ("PTX-06", "ptx-06", " Ptx-06 "),
    "reason": ("libx gets SASS in 1.1",),
    "expires": ("2099-12-31", dt.date(2099, 12, 31)),
    "path": ("libx*.so",),
    "target": ("prod",),
    "kernel": ("*nopHardware*", "gemm::*"),
}
PIECES = ("12.4", "13", ".", "+", "|", ",", ">=", "<", "=", "~=", "!=", ".*", "-", " ", "x", "sm_")
TEXTS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=4).map("".join),
    st.sampled_from(
        ("", " ", "new", "hopper", "sm_9", "compute_90", "2099-13-31", "20991231", "²")
    ),
)
SCALARS = st.one_of(
    TEXTS,
    st.booleans(),
    st.sampled_from((-1, 0, 7, 13, 90, 580, 12345, 10**9)),
    st.sampled_from((12.4, 580.65)),  # to JSON Schema, 13.0 is an integer
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("torch", "rule", "x")), inner, max_size=2)
    ),
    max_leaves=4,
)
UNKNOWN_TO_EDITORS = (
    "; there are prod",  # another target
    "is not a deploy target",  # as a text
    " has no key; write ",
    "is not a GPU",
    "names no architecture",
    "is not an architecture but several",
    "write the whole name",
    "there is no",  # sm_9, CUDA 12.45
    "is known",
    "is of no branch",
    "which no target has",
)
"""Complaints about values that are well written: editors don't know what there is."""


def toml(value: object) -> str:
    """A value as TOML, tables in one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case dict():
            pairs = (f"{json.dumps(key)} = {toml(inner)}" for key, inner in value.items())
            return f"{{{', '.join(pairs)}}}"
        case list():
            return f"[{', '.join(map(toml, value))}]"
        case dt.date():
            return value.isoformat()
        case float():
            assert math.isfinite(value)
            return repr(value)
        case _:
            return json.dumps(value)


NEEDED: dict[str, dict[str, object]] = {
    "audit.ignore": {"rule": "PTX-06", "reason": "x", "expires": dt.date(2099, 1, 1)},
    "audit.allow": {"rule": "PTX-06", "reason": "x", "path": "x", "verdict": "fail"},
}


def policy(table: str, key: str, value: object) -> dict[str, Any]:
    """A policy with this value, and what its table needs beside."""
    whole: dict[str, Any] = {"targets": {"prod": {"nvjitlink": "13.3"}}}
    if table == "targets.NAME":
        whole["targets"]["prod"] = {"nvjitlink": "13.3", key: value}
    elif table in NEEDED:
        kind = table.removeprefix("audit.")
        whole["audit"] = {kind: [{**NEEDED[table], key: value}]}
    else:
        whole[table] = {key: value}
    return whole


def verdicts(folder: Path, whole: dict[str, Any]) -> tuple[str, bool]:
    """What the reader complains of, and whether the schema accepts the policy."""
    path = folder / "ltocompat.toml"
    path.write_text("".join(f"{k} = {toml(v)}\n" for k, v in whole.items()), "utf-8")
    complaint = ""
    try:
        read_policy(str(path), TODAY)
    except UsageError as error:
        complaint = str(error)
    plain = json.loads(json.dumps(whole, default=str))
    return complaint, CHECKER.is_valid(plain)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("policy")


def agree(folder: Path, whole: dict[str, Any]) -> None:
    complaint, valid = verdicts(folder, whole)
    if complaint and valid and any(text in complaint for text in UNKNOWN_TO_EDITORS):
        return
    assert valid == (not complaint), (whole, complaint)


KEYS = [
    (table, key.name)
    for table, keys in keys_of_tables().items()
    for key in keys
    if key.name != "lock"
]


@pytest.mark.parametrize(("table", "key"), KEYS, ids=[f"{t}.{k}" for t, k in KEYS])
def test_every_right_value_of_a_key_is_read_and_in_the_schema(
    folder: Path, table: str, key: str
) -> None:
    for value in GOOD[key]:
        if key in ("driver", "nvjitlink") and table == "promise" and not is_floor(value):
            continue
        assert verdicts(folder, policy(table, key, value)) == ("", True), value


def is_floor(value: object) -> bool:
    """A promise takes a release or a branch, and no range."""
    return isinstance(value, str) and value.replace(".", "").isdecimal() and "." in value


@pytest.mark.parametrize(("table", "key"), KEYS, ids=[f"{t}.{k}" for t, k in KEYS])
def test_values_of_every_type_mean_the_same_to_both(folder: Path, table: str, key: str) -> None:
    values: tuple[object, ...] = (
        True,
        -1,
        7,
        13,
        580,
        10**9,
        12.4,
        "",
        " ",
        "x",
        "12.4",
        [],
        [13],
        ["x"],
        {},
    )
    for value in values:
        agree(folder, policy(table, key, value))


@given(st.sampled_from(KEYS), ANYTHING)
@settings(max_examples=300)
def test_the_schema_rejects_what_the_reader_rejects_and_nothing_else(
    folder: Path, place: tuple[str, str], value: object
) -> None:
    agree(folder, policy(*place, value))


@given(
    st.sampled_from((*keys_of_tables(), "", "targets")),
    st.sampled_from(("", "drivers", "fail_on", "Rule", "tools", "trial-links")),
    SCALARS,
)
def test_an_unknown_key_of_any_table_is_rejected_by_both(
    folder: Path, table: str, key: str, value: object
) -> None:
    whole = policy(table, key, value) if table else policy("audit", "variants", []) | {key: value}
    agree(folder, whole)


@given(st.dictionaries(st.sampled_from(("targets", "promise", "audit")), ANYTHING, max_size=3))
def test_tables_that_are_none_are_rejected_by_both(folder: Path, whole: dict[str, Any]) -> None:
    agree(folder, whole)


@pytest.mark.parametrize("table", ["targets.NAME", "audit.ignore"])
@pytest.mark.parametrize("number", range(1, 4))
def test_a_key_that_must_be_there_is_missed_by_both(folder: Path, table: str, number: int) -> None:
    keys = ("name", "python", "nvjitlink") if table[0] == "t" else ("rule", "reason", "expires")
    for left in itertools.combinations(keys, number):
        inner: dict[str, Any] = {key: GOOD[key][0] for key in left}
        whole = policy("audit", "ignore", [inner])
        if table == "targets.NAME":
            whole = {"targets": {"prod": inner}}
        agree(folder, whole)
        assert verdicts(folder, whole)[1] is (number == 3 or "nvjitlink" in left)


def test_tables_that_were_copied_from_a_pyproject_are_in_the_schema(folder: Path) -> None:
    whole = policy("audit", "fail-on", "jit")
    assert verdicts(folder, {"tool": {"ltocompat": whole}}) == ("", True)
    wrong = policy("audit", "fail-on", "ok")
    for tables in ({"ltocompat": wrong}, {"ltocompat": 1}):
        agree(folder, {"tool": tables})
        assert not verdicts(folder, {"tool": tables})[1]
    agree(folder, {"tool": {"ltocompat": whole}, **whole})
    agree(folder, {"tool": {}})
