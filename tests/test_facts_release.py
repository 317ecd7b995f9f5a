"""A CUDA release in the tables: whole, without blanks, and written where a reader looks for it."""

from __future__ import annotations

import json
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from facts_release import published
from facts_release.dated import store, today
from facts_release.draft import BLANKS, FACTS, SAMPLES, Compiler, architectures, toolkit_rows
from facts_release.table_text import Tables, insert_block, insert_line
from measure_links import STORED
from new_release import missing

from ltocompat import facts
from ltocompat.facts import drivers, ltoir
from ltocompat.facts.gpus import sms
from ltocompat.facts.toolkits import ToolkitPin
from ltocompat.model.image import LtoIrVersions

NEWEST = facts.nvjitlink_minors()[-1]


def rows() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(FACTS.glob("*.toml")):
        for array, found in tomllib.loads(path.read_text("utf-8")).items():
            for row in found:
                yield f"{path.name}, {array}", row


def test_no_row_has_a_blank() -> None:
    blanks = [
        f"{table}: fill in {key!r} of {row}"
        for table, row in rows()
        for key, value in row.items()
        if value == ""
    ]
    assert not blanks, "\n".join(blanks)


def test_a_blank_is_filled_by_a_row_of_its_table_or_by_who_was_asked() -> None:
    """A source that begins with ``none: `` says that no page has the fact."""
    first = {sm.number: str(sm.first_toolkit) for sm in sms()}
    known = {
        "drivers.toml, branch": {row["cuda"] for row in facts.table("drivers")["branch"]},
        "compat.toml, package": {row["package"] for row in facts.table("compat")["package"]},
        "gpus.toml, gpu": {first[row["sm"]] for row in facts.table("gpus")["gpu"]},
    }
    for row in facts.table("blanks")["blank"]:
        filled = row["cuda"] in known[row["table"]]
        assert filled is not row["source"].startswith("none: "), row


def test_every_row_has_a_source_and_a_date() -> None:
    assert [(table, row) for table, row in rows() if not {"source", "date"} <= row.keys()] == []


def test_the_newest_release_is_in_every_table_that_is_measured() -> None:
    assert NEWEST in ltoir.releases()
    assert NEWEST in {row.cuda for row in facts.rows(drivers.ToolkitDriver)}
    assert any(pin.toolkit.startswith(f"{NEWEST}.") for pin in facts.rows(ToolkitPin))
    for table in json.loads(STORED.read_text("utf-8"))["tables"].values():
        assert str(NEWEST) in table
        assert all(str(NEWEST) in outcomes for outcomes in table.values())


def test_what_is_not_known_of_the_newest_release_is_named_with_who_was_asked() -> None:
    named = {
        row["table"]
        for table, row in rows()
        if table == "blanks.toml, blank" and row["cuda"] == str(NEWEST)
    }
    assert named <= BLANKS.keys()
    if drivers.cuda_branch(NEWEST) is None:
        assert "drivers.toml, branch" in named
    if NEWEST not in drivers.compat_packages():
        assert "compat.toml, package" in named


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("ltoir", "release"),
        ("nvjitlink", "release"),
        ("nvlink", "release"),
        ("nvjitlink_results", "result"),
        ("ptx", "isa"),
        ("sm", "sm"),
        ("drivers", "toolkit"),
        ("toolkit_pins", "pin"),
        ("compilers", "compiler"),
    ],
)
@pytest.mark.parametrize("place", [0, 3, -1])
def test_a_row_that_is_put_in_stands_where_it_stood(name: str, array: str, place: int) -> None:
    """Its neighbours, and the comments and other arrays of the file, stay as they are."""
    tables = Tables(FACTS, SAMPLES)
    whole, known = tables.text(name), tables.rows(name, array)
    row = known[place]
    before = known[: known.index(row)]
    lines = whole.splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if line == f"[[{array}]]\n"]
    if starts:
        put, first, size = insert_block, starts[known.index(row)], len(row) + 2
    else:
        put, first, size = insert_line, lines.index(f"{array} = [\n") + 1 + known.index(row), 1
    without = "".join(lines[:first] + lines[first + size :])
    assert put(without, array, row, lambda other: other in before) == whole


@pytest.mark.parametrize(
    ("name", "array", "keys"),
    [
        ("ltoir", "release", "cuda"),
        ("nvjitlink", "release", "package version platform"),
        ("nvlink", "release", "package version platform"),
        ("toolkit_pins", "pin", "toolkit part package specifier"),
        ("drivers", "toolkit", "cuda update"),
    ],
)
def test_a_row_that_says_the_same_keeps_its_date(name: str, array: str, keys: str) -> None:
    tables = Tables(FACTS, SAMPLES)
    text, known = tables.text(name), tables.rows(name, array)
    for row in known[::8]:
        tables.put(name, array, {**row, "date": today()}, keys, lambda _: True)
    assert tables.text(name) == text
    changed = {**known[3], "source": "another one", "date": today()}
    tables.put(name, array, changed, keys, lambda _: True)
    assert tables.rows(name, array) == [*known[:3], changed, *known[4:]]


@pytest.mark.parametrize(
    ("release", "toolkits", "new"),
    [
        ("12.5", ["12.5.0", "12.5.1", "12.5.2.0"], ["U2"]),
        ("12.6", ["12.6.0", "12.6.1", "12.6.2", "12.6.3"], []),
        ("11.0", ["11.0.1", "11.0.2", "11.0.3", "11.0.4"], ["U2(11.0.4)"]),
        ("98.6", ["98.6.0", "98.6.1"], ["GA", "U1"]),
    ],
)
def test_an_update_of_an_older_release_gets_a_row_with_a_blank(
    release: str, toolkits: list[str], new: list[str]
) -> None:
    """11.0.2 was the first 11.0 that NVIDIA supports, as 13.4.1 is of 13.4."""
    tables = Tables(FACTS, SAMPLES)
    before = tables.rows("drivers", "toolkit")
    for _ in range(2):
        toolkit_rows(release, toolkits, tables)
    after = [row for row in tables.rows("drivers", "toolkit") if row not in before]
    assert [(row["cuda"], row["update"], row["source"]) for row in after] == [
        (release, update, "") for update in new
    ]


def test_what_is_measured_again_keeps_its_date_where_it_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "recorded.json"
    path.write_text('{"date": "2026-01-02", "links": {"a": "linked"}}', "utf-8")
    store(path, {"links": {"a": "linked"}})
    assert json.loads(path.read_text("utf-8"))["date"] == "2026-01-02"
    store(path, {"links": {"a": "refused"}})
    found = {"date": str(today()), "links": {"a": "refused"}}
    assert json.loads(path.read_text("utf-8")) == found


def wheel(folder: Path, name: str, members: dict[str, bytes]) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return path


def test_pins_are_read_by_package_with_their_extras(tmp_path: Path) -> None:
    metadata = (
        "Name: cuda-toolkit\nVersion: 13.6.0\n"
        "Requires-Dist: nvidia-nvjitlink<14,>=13.6.1; (sys_platform == 'linux' or "
        "sys_platform == 'win32') and extra == 'cufft'\n"
        "Requires-Dist: nvidia-nvjitlink<14,>=13.6.1; sys_platform == 'linux' and extra == 'all'\n"
        "Requires-Dist: nvidia-cuda-nvrtc==13.6.2.*; extra == 'nvrtc'\n"
        "Requires-Dist: nvidia-cufft==12.7.*; extra == 'cufft'\n"
    )
    path = wheel(tmp_path, "t.whl", {"cuda_toolkit-13.6.0.dist-info/METADATA": metadata.encode()})
    assert published.pins(path) == [
        published.Pin("13.6.0", "cufft", "nvidia-cufft", "==12.7.*", ("cufft",)),
        published.Pin("13.6.0", "nvjitlink", "nvidia-nvjitlink", ">=13.6.1,<14", ("all", "cufft")),
        published.Pin("13.6.0", "nvrtc", "nvidia-cuda-nvrtc", "==13.6.2.*", ("nvrtc",)),
    ]


def test_a_wheel_of_nvjitlink_is_summed_with_its_library(tmp_path: Path) -> None:
    library = "nvidia/cu13/lib/libnvJitLink.so.13"
    path = wheel(tmp_path, "x.whl", {library: b"abc", "nvidia/cu13/include/nvJitLink.h": b""})
    row = published.linker_row(path, published.NVJITLINK)
    assert (row["member"], row["member_size"], row["source"]) == (library, 3, "x.whl")
    # The SHA-256 of "abc", from FIPS 180-2.
    assert row["member_sha256"] == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )
    assert row["size"] == path.stat().st_size


def test_a_release_of_nvlink_is_the_program_and_the_libnvvm_that_it_opens() -> None:
    """Of each wheel one file is kept: by their names in the wheels of 13.0.48 and 13.5.37."""
    kept = {
        "nvidia-cuda-nvcc": ["nvidia/cu13/bin/nvlink"],
        "nvidia-nvvm": ["nvidia/cu13/lib/libnvvm.so.4"],
    }
    others = ["nvidia/cu13/bin/nvcc", "nvidia/cu13/nvvm/libdevice/libdevice.10.bc"]
    assert {
        package: [name for name in [*kept[package], *others] if pattern.fullmatch(name)]
        for package, pattern in published.NVLINK.items()
    } == kept


def test_result_codes_are_read_from_the_header() -> None:
    header = """
    typedef enum { OTHER = 3 } nvJitLinkInputType;
    typedef enum {
      NVJITLINK_SUCCESS = 0, // {fine}
      NVJITLINK_ERROR_UNRECOGNIZED_OPTION, /* one, two */
      NVJITLINK_ERROR_NEW = 7,
    } nvJitLinkResult;
    """
    assert published.result_names(header) == {0: "SUCCESS", 1: "UNRECOGNIZED_OPTION", 7: "NEW"}


def test_architectures_that_come_and_go_are_written_with_a_blank_for_the_name() -> None:
    tables = Tables(FACTS, SAMPLES)
    targets = {sm.number for sm in sms() if sm.last_toolkit is None}
    compiler = Compiler(
        package="nvidia-cuda-nvrtc",
        version="98.6.1",
        architectures=frozenset(targets - {75} | {1234}),
        ptx_isa="98.1",
        ltoir=LtoIrVersions("1.255", "2.255"),
        llvm="98.0",
    )
    architectures("98.6", "98.5", compiler, tables)
    after = {row["number"]: row for row in tables.rows("sm", "sm")}
    assert list(after) == sorted(after)
    assert after[75]["last_toolkit"] == "98.5"
    assert (after[1234]["first_toolkit"], after[1234]["first_ptx"]) == ("98.6", "98.1")
    assert after[1234]["name"] == ""
    assert after[80] == next(row for row in Tables(FACTS).rows("sm", "sm") if row["number"] == 80)


def test_a_release_that_the_tables_lack_is_noticed() -> None:
    (known,) = {w.version for w in facts.linker_wheels("nvjitlink") if w.version == "13.5.37"}
    assert missing("nvidia-nvjitlink", [known, "13.5.99", "13.9.1"]) == ["13.5.99", "13.9.1"]
    assert missing("cuda-toolkit", ["12.9.1", "12.9.7"]) == ["12.9.7"]
