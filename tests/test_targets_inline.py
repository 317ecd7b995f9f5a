"""Deploy targets as they are written on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import pytest
from every_case import every
from hypothesis import given, settings
from hypothesis import strategies as st
from newest import from_on

from ltocompat.model.errors import UsageError
from ltocompat.model.target import Quantifier, Target, VersionSet
from ltocompat.targets import parse
from ltocompat.targets.versions.drivers import read_driver
from ltocompat.targets.versions.releases import read_releases
from ltocompat.targets.writing import as_toml

T = TypeVar("T")


def one(text: str, where: Path | None = None) -> Target:
    (target,) = parse([text], where=str(where or "."))
    return target


def said(known: VersionSet[T] | None) -> list[str]:
    assert known is not None
    return [str(value) for value in known.values]


def values(target: Target) -> list[object]:
    parts = (target.driver, target.nvjitlink, target.nvrtc)
    return [*(part and part.values for part in parts), target.gpus]


def sentence(text: str, where: Path | None = None) -> str:
    with pytest.raises(UsageError) as caught:
        parse([text], where=str(where or "."))
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("cuda=12.4", "stock=12.4"),
        ("12.4", "stock=12.4"),
        ("R550", "driver=550"),
        ("550.54.15", "driver=550.54.15"),
        ("driver=R550", "driver=550"),
        ("h100", "gpu=h100"),
        ("h100+a100", "gpu=h100+a100"),
        ("12.4,h100,a100", "stock=12.4,gpu=h100+a100"),
        ("h100,gpu=a100", "gpu=h100+a100"),
        ("R550,nvjitlink=12.4,sm_90", "driver=550,nvjitlink=12.4,gpu=sm_90"),
        ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", "gpu=NVIDIA A100-SXM4-80GB MIG 1g.10gb"),
    ],
)
def test_a_value_that_tells_what_it_is_needs_no_key(text: str, same: str) -> None:
    assert values(one(text)) == values(one(same))
    name = one(text).name
    assert values(one(name)) == values(one(same))
    assert "=" in name


@every(
    "text, numbers",
    [
        ("gpu=hopper", [90]),
        ("gpu=blackwell", [100, 103, 120, 121]),
        ("gpu=blackwell,os=linux-aarch64", [100, 103, 110, 120, 121]),
        ("gpu=Ada Lovelace", [89]),
        ("gpu=jetson", [87, 110]),
        ("gpu=jetson,driver=450", [32, 53, 62, 72]),
        ("gpu=datacenter", [75, 80, 86, 89, 90, 100, 103, 107, 120]),
        ("gpu=data-centre,driver=450", [30, 35, 37, 50, 52, 60, 61, 70, 75, 80]),
        ("gpu=geforce,driver=550", [50, 52, 61, 70, 75, 86, 89]),
        ("gpu=all", [75, 80, 86, 89, 90, 100, 103, 107, 120, 121]),
        ("gpu=all,driver=525", [50, 52, 60, 61, 70, 75, 80, 86, 89, 90]),
        # What a driver doesn't know is judged where it is asked for by name.
        ("driver=550,gpu=blackwell", [100, 103, 120, 121]),
        ("hopper,sm_120", [90, 120]),
    ],
)
def test_a_group_is_one_gpu_for_each_architecture_that_its_driver_runs(
    text: str, numbers: list[int]
) -> None:
    assert [gpu.arch.number for gpu in one(text).gpus] == numbers


def test_a_branch_alone_is_its_first_production_release_or_a_later_one() -> None:
    driver = one("driver=550").driver
    assert said(driver) == ["550.54.14", "a later 550"]
    assert driver is not None
    assert not driver.every


@pytest.mark.parametrize("minor", ["12.7", "12.10", "13.9", "14.0"])
@pytest.mark.parametrize("key", ["nvjitlink", "nvlink", "nvrtc", "compat"])
def test_a_library_that_the_tables_do_not_have_is_taken_as_it_is(key: str, minor: str) -> None:
    assert said(getattr(one(f"{key}={minor}"), key)) == [minor]
    assert said(getattr(one(f"{key}>={minor},<={minor}"), key)) == [minor]


def test_a_range_is_every_known_release_in_it() -> None:
    target = one("nvjitlink>=12.4,<13,gpu=h100")
    assert said(target.nvjitlink) == ["12.4", "12.5", "12.6", "12.8", "12.9"]
    assert target.nvjitlink is not None
    assert target.nvjitlink.every
    assert target.nvjitlink.text == ">=12.4,<13"
    assert len(target.gpus) == 1


@pytest.mark.parametrize(
    ("written", "releases"),
    [
        (">12.8,<13", ["12.9"]),  # 12.8 is all of 12.8
        ("<=12.1", ["12.0", "12.1"]),
        ("==12.4", ["12.4"]),
        ("==12.*,!=12.4,<12.6", ["12.0", "12.1", "12.2", "12.3", "12.5"]),
        ("~=13.3", from_on("13.3")),
        ("<12.4.100,>=12.4", ["12.4"]),  # 12.4.99 is in it
        (">12,<13.2", ["13.0", "13.1"]),
        (">=13.99", ["13.99"]),
    ],
)
def test_versions_are_compared_in_as_many_numbers_as_are_written(
    written: str, releases: list[str]
) -> None:
    assert said(read_releases("nvjitlink", written, "given")) == releases


def test_a_range_of_drivers_is_the_first_production_release_of_each_branch() -> None:
    drivers = said(one("driver>=575,<=590").driver)
    assert drivers == ["575.51.03", "580.65.06", "590.44.01"]


def test_files_say_the_system_where_stock_alone_names_the_driver() -> None:
    """Toolkits from 13.0 on bring no driver to Windows (release notes, table 3)."""
    target = one("stock=12.4")
    assert (str(target.on_windows.system), said(target.on_windows.driver)) == (
        "windows",
        said(one("stock=12.4,os=windows").driver),
    )
    assert one("stock=13.0").on_windows.driver is None
    for text in ("stock=12.4,os=linux", "stock=12.4,driver=580.65.06", "driver=580.65.06"):
        assert one(text).on_windows == one(text)


@pytest.mark.parametrize("text", ["compat=13.0", "compat=13-0", "compat=580.95.05", "compat=580"])
def test_a_compat_package_is_written_as_release_as_in_its_name_or_by_its_driver(text: str) -> None:
    assert said(one(text).compat) == ["13.0"]


def test_a_path_is_not_a_deploy_target(tmp_path: Path) -> None:
    assert sentence("a.so") == (
        "a.so is not a deploy target; to check it: ltocompat check a.so --deploy-target "
        "driver=550.54.15,nvjitlink=12.4,gpu=h100"
    )
    (tmp_path / "library").write_bytes(b"\x7fELF")
    assert sentence("library", tmp_path).startswith("library is not a deploy target; to check it: ")


@every(
    "text, part",
    [
        ("drivr=550", "did you mean driver?"),
        ("13", "did you mean 13.5 or 13.4?"),
        ("colour=red", "the keys are cuda, name, os, driver, container, compat"),
        ("driver=550,driver=560", "driver is given twice"),
        ("driver=", "driver has no value"),
        ("driver=abc", "'abc' is not a driver; write driver=550.54.15"),
        ("driver=550,prod", "'prod' in 'driver=550,prod' has no key"),
        ("driver=12.4", "'12.4' is a CUDA release, not a driver; write cuda=12.4"),
        ("driver>=12.4", "is a CUDA release, not a driver"),
        ("stock=12.4,cuda=12.6", "stock is given twice"),
        ("cuda>=12.4", "cuda can't be compared (cuda>=12.4)"),
        ("rtx 6000", "can mean Quadro RTX 6000 (sm_75), RTX 6000 Ada (sm_89) or"),
        ("gpu=hoper", "did you mean hopper?"),
        ("gpu>=80", "gpu can't be compared"),
        ("gpu=h100+", "has an empty name"),
        ("os=beos", "'beos' is not an operating system"),
        ("nvjitlink=11.8", "there is no nvJitLink 11.8"),
        ("nvjitlink=15", "write a minor release such as 15.0"),
        ("nvjitlink>=12.4,<12.4", "the tables have no nvJitLink >=12.4,<12.4; they have 12.0,"),
        ("driver>700", "they have the branches 450, 455"),
        ("driver>=550,<x", "'<x' in '>=550,<x' is not a comparison"),
        ("stock=12.7", "between 12.6 and 12.8, has no known driver for linux; add a driver"),
        ("stock=12", "'12' is not a release of a CUDA toolkit"),
        ("name=edge", "is not a key of a deploy target"),
        ("driver=550,python=2.7", "'2.7' is not a version of Python"),
        ("", "an empty deploy target"),
    ],
)
def test_an_error_names_the_value_and_what_to_write(text: str, part: str) -> None:
    assert part in sentence(text)


def test_two_targets_of_one_name_are_an_error_unless_they_are_the_same() -> None:
    assert len(parse(["driver=550", "driver=550", "driver=560"])) == 2
    with pytest.raises(UsageError, match="two deploy targets are called 'a'"):
        parse(["name=a,driver=550", "name=a,driver=560"])


_PIECES = (
    "driver nvjitlink gpu os stock compat nvrtc nvlink name = >= < ~= , + | . 550 12.4 12 13.3 "
    "h100 sm_90 700 linux 580.65.06 != * 550.9999"
)
_WORDS = st.sampled_from(_PIECES.split())


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=40), st.lists(_WORDS, max_size=12).map("".join)))
def test_any_text_ends_in_targets_or_a_sentence(text: str) -> None:
    try:
        targets = parse([text])
    except UsageError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert targets


_VERSIONS = st.sampled_from(
    ("12", "12.4", "13.9", ">=12.4,<13", "~=13.1", "12.4|13.0", "12.4+13.5", "!=12.4")
)
_DRIVERS = st.sampled_from(
    ("550", "550.54.15", "700", ">=550", ">580.95.05,<590", "535+580.95.05", "550|700", "565")
)
_FACTS = st.fixed_dictionaries(
    {"driver": _DRIVERS},
    optional={
        "os": st.sampled_from(("windows", "wsl2", "linux-aarch64")),
        "nvjitlink": _VERSIONS,
        "nvrtc": _VERSIONS,
        "nvlink": _VERSIONS,
        "compat": st.sampled_from(("13-0", "12.8", ">=12.8")),
        "gpu": st.sampled_from(("h100", "sm_90a+4090", "sm_120", "gb200+sm_121f")),
    },
)


def facts(target: Target) -> list[object]:
    parts = [target.driver, target.compat, target.nvjitlink, target.nvrtc, target.nvlink]
    known = [(part.values, part.every) if part else None for part in parts]
    return [target.name, target.system, *known, target.gpus]


@settings(max_examples=60, deadline=None)
@given(keys=_FACTS, name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_target_written_as_toml_reads_back_to_the_same_facts(
    tmp_path_factory: pytest.TempPathFactory, keys: dict[str, str], name: str
) -> None:
    from msgspec.structs import replace

    text = ",".join(f"{k}{v}" if v[0] in "<>=!~" else f"{k}={v}" for k, v in keys.items())
    target = replace(one(text), name=name)
    file = tmp_path_factory.mktemp("targets") / "saved.toml"
    file.write_bytes(as_toml(target).encode())
    assert facts(one(str(file))) == facts(target)


def test_a_later_driver_of_a_branch_keeps_its_name_when_it_is_saved(tmp_path: Path) -> None:
    from msgspec.structs import replace

    known = VersionSet(
        "a text of no form", read_driver("550", "").values, quantifier=Quantifier.ONE_OF, source=""
    )
    target = replace(one("name=a,driver=550"), driver=known)
    (tmp_path / "a.toml").write_text(as_toml(target))
    assert said(one("a.toml", tmp_path).driver) == ["550.54.14", "a later 550"]
