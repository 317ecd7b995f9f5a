"""``require --why``: whose code sets a floor, and what it is without that distribution."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from container_images_made import layer_of, oci_layout
from packages_made import CUBIN_12_4, CUBIN_13_5, metadata, wheel
from samples import FOLDER
from surveys_made import example, survey
from tiers import sampled

import ltocompat
from ltocompat.cli import run

# Their floors differ: of drivers by the form of SASS and the version of PTX, of linkers by LTO-IR.
POOL = {
    "sass12": CUBIN_12_4,
    "sass13": CUBIN_13_5,
    "ptx": (FOLDER / "ptx" / "nvrtc-13.5-compute_80.ptx").read_bytes(),
    **{
        f"lto{release}": (FOLDER / "ltoir" / f"nvrtc-{release}-lto_80.ltoir").read_bytes()
        for release in ("12.2", "12.4", "12.6", "12.8")
    },
}
SUFFIX = {"sass": "cubin", "ptx": "ptx", "lto": "ltoir"}


def file_of(kind: str) -> str:
    return f"k.{next(suffix for start, suffix in SUFFIX.items() if kind.startswith(start))}"


def installed(site: Path, name: str, kinds: Sequence[str], version: str = "1.0") -> None:
    """Install a distribution with a file of each kind."""
    info = site / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_bytes(metadata(name, version))
    files = [f"{name}/{number}{file_of(kind)}" for number, kind in enumerate(kinds)]
    (site / name).mkdir()
    for file, kind in zip(files, kinds, strict=True):
        (site / file).write_bytes(POOL[kind])
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in (*files, f"{info.name}/RECORD")))


def setters(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    run(["require", *words, "--why", "--format=json"])
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["setters"]
    return found


def numbers(floor: str) -> tuple[int, ...]:
    """Of ``>= 580.65.06``; that of no known driver is above all."""
    return tuple(map(int, floor.removeprefix(">= ").split("."))) if floor[:1] == ">" else (10_000,)


def floors(
    kinds: Sequence[str], found: dict[str, ltocompat.Required]
) -> dict[Any, tuple[int, ...]]:
    """The floors of several files together: the greatest of each file, asked by itself."""
    whole: dict[Any, tuple[int, ...]] = {}
    for kind in kinds:
        if linker := found[kind].nvjitlink:
            value: tuple[int, ...] = (linker.at_least.major, linker.at_least.minor)
            whole["nvJitLink"] = max(whole.get("nvJitLink", ()), value)
        for service in found[kind].services:
            if service.how != "none" and not service.hardly and service.name != "next":
                value = (10_000,) if service.driver is None else service.driver.numbers
                whole[service.number] = max(whole.get(service.number, ()), value)
    return whole


@pytest.fixture(scope="module")
def alone() -> dict[str, ltocompat.Required]:
    return {kind: ltocompat.needs(content) for kind, content in POOL.items()}


def drawn(seed: int) -> dict[str, list[str]]:
    """Draw distributions, each with kinds of files."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    names = [f"p{number}" for number in range(draw.randint(2, 4))]
    return {name: draw.choices(list(POOL), k=draw.randint(1, 3)) for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled(range(200), 100))
def test_a_planted_floor_is_found_and_is_lower_without_the_package(
    seed: int,
    alone: dict[str, ltocompat.Required],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    packages = drawn(seed)
    for name, kinds in packages.items():
        installed(tmp_path, name, kinds)
    named = setters(capsys, str(tmp_path))
    whole = floors([kind for kinds in packages.values() for kind in kinds], alone)
    told: dict[Any, dict[str, str]] = {part: {} for part in whole}
    for setter in named:
        package = setter["distribution"].split()[0]
        assert f"/{package}/" in setter["place"]
        parts = setter["archs"] or ["nvJitLink"] if setter["component"] != "GPU" else []
        for part in parts:
            assert numbers(setter["floor"]) == whole[part]
            told[part][package] = setter["without"]
    for package in packages:
        others = [kind for name in packages if name != package for kind in packages[name]]
        left = floors(others, alone)
        for part, by_package in told.items():
            without = by_package.get(package, "")
            # Of one that is not named the removal changes nothing.
            expected = numbers(without) if without else () if package in by_package else whole[part]
            assert left.get(part, ()) == expected, (part, package)


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled(range(20), 20))
def test_what_is_said_of_a_removal_is_what_a_removal_gives(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packages = drawn(seed) | {"q": ["sass12", "lto12.2"], "r": ["sass12"]}
    for name, kinds in packages.items():
        installed(tmp_path, name, kinds)
    setter = next(s for s in setters(capsys, str(tmp_path)) if s["component"] == "driver")
    package = setter["distribution"].split()[0]
    shutil.rmtree(tmp_path / package)
    shutil.rmtree(tmp_path / f"{package}-1.0.dist-info")
    left = [s for s in setters(capsys, str(tmp_path)) if s["component"] == "driver"]
    again = {arch: s["floor"] for s in left for arch in s["archs"]}
    assert all(again.get(arch, "") == setter["without"] for arch in setter["archs"])


@pytest.mark.slow
def test_a_library_of_an_image_sets_a_floor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = "usr/lib/python3/site-packages"
    files = {f"{site}/old/k.cubin": CUBIN_12_4, f"{site}/new/k.cubin": CUBIN_13_5}
    files |= {f"{site}/new_gpu-2.0.dist-info/RECORD": b"new/k.cubin,,\n"}
    image = tmp_path / "image.tar"
    image.write_bytes(oci_layout([layer_of(files)]))
    found = [s for s in setters(capsys, str(image)) if s["component"] == "driver"]
    assert {(s["distribution"], s["floor"]) for s in found} >= {
        ("new-gpu 2.0 (pip)", ">= 580.65.06")
    }
    assert all(f"image.tar::/{site}/" in s["place"] for s in found)


@pytest.mark.slow
def test_of_files_for_several_toolkits_the_one_that_fits_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installed(tmp_path, "other", ["sass12"])
    installed(tmp_path, "tagged", ["sass12"])
    (tmp_path / "tagged" / "0k.cubin").rename(tmp_path / "tagged" / "k_cu12.cubin")
    (tmp_path / "tagged" / "k_cu13.cubin").write_bytes(POOL["sass13"])
    record = tmp_path / "tagged-1.0.dist-info" / "RECORD"
    record.write_text("tagged/k_cu12.cubin,,\ntagged/k_cu13.cubin,,\n")
    found = {arch: s["floor"] for s in setters(capsys, str(tmp_path)) for arch in s["archs"]}
    assert found[80] == ">= 525.60.13"


@pytest.mark.slow
def test_a_survey_names_the_newest_release_with_a_lower_floor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for version, content in (("1.0", CUBIN_12_4), ("1.5", CUBIN_12_4), ("2.0", CUBIN_13_5)):
        wheel(wheels, {"k/x.cubin": content}, name="only-sass", version=version)
    # What runs on Arm, or fails there, says nothing of this machine.
    arm = "py3-none-manylinux_2_28_aarch64"
    for version, content in (("1.5", CUBIN_13_5), ("1.7", CUBIN_12_4)):
        wheel(wheels, {"k/x.cubin": content}, name="only-sass", version=version, tag=arm)
    survey(wheels, tmp_path / "dataset")
    site = tmp_path / "site"
    installed(site, "only_sass", ["sass13"], "2.0")
    installed(site, "other", ["sass12"])
    found = setters(capsys, str(site), f"--survey={tmp_path / 'dataset'}")
    (setter,) = [s for s in found if s["without"] != s["floor"]]
    assert (setter["component"], setter["distribution"]) == ("driver", "only-sass 2.0")
    assert setter["release"] == "1.5"
    run(["require", str(site), "--why", f"--survey={tmp_path / 'none'}"])
    assert "has no survey" in capsys.readouterr().err
    # 12.4's cubin is for sm_80, drivers of CUDA 12; 13.5's asks a driver of CUDA 13.
    line = ["audit", str(wheels / "only_sass-2.0-py3-none-manylinux_2_28_x86_64.whl")]
    line += [f"--dataset={tmp_path / 'dataset'}", "--deploy-target"]
    for gpu, answer in (("a100", "1.5 is the newest release of"), ("h100", "no release of")):
        assert run([*line, f"driver=570.124.06,gpu={gpu}"]) == 1
        expected = f"{answer} only-sass in '{tmp_path / 'dataset'}' whose code runs on driver="
        assert expected in capsys.readouterr().err


def test_the_floors_of_a_lock_are_those_that_a_survey_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is said of a lock is what is said of the wheels that it pins."""
    data, lock = example(tmp_path), tmp_path / "requirements.txt"
    pins = (("only-sass", "2.0"), ("linked", "1.0"), ("hopper", "1.0"), ("pure", "1.0"))
    lock.write_text("".join(f"{name}=={version}\n" for name, version in pins))
    found = setters(capsys, str(lock), f"--survey={data}")
    stems = [f"{name.replace('-', '_')}-{version}-" for name, version in pins]
    wheels = [
        path for path in (tmp_path / "packages").iterdir() if path.name.startswith(tuple(stems))
    ]
    expected = setters(capsys, *map(str, wheels))

    # Rules that are of no image, such as the GPUs that a driver knows, no survey keeps.
    def said(rows: list[dict[str, Any]]) -> set[tuple[str, ...]]:
        keys = ("component", "floor", "distribution", "without")
        return {
            (*(row[key] for key in keys), arch) for row in rows for arch in row["archs"] or [""]
        }

    assert said(found) == said(expected)
    assert {row["distribution"] for row in found} == {"only-sass 2.0", "linked 1.0", "hopper 1.0"}
    lock.write_text("only-sass==2.0\nnumpy==2.0\n")
    assert run(["require", str(lock), "--why", f"--survey={data}"]) == 0
    out, err = capsys.readouterr()
    assert "driver >= 580.65.06 on sm_80, 86, 89: only-sass 2.0, SASS" in out
    assert "the survey has 1 of its 2 releases" in err


@pytest.mark.slow
def test_a_wheel_for_another_machine_sets_no_floor_of_a_lock(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    wheel(wheels, {"k/x.cubin": CUBIN_12_4}, name="only-sass")
    survey(wheels, tmp_path / "without")
    wheel(
        wheels, {"k/x.cubin": CUBIN_13_5}, name="only-sass", tag="py3-none-manylinux_2_28_aarch64"
    )
    survey(wheels, tmp_path / "with")
    lock = tmp_path / "requirements.txt"
    lock.write_text("only-sass==1.0\n")
    without, beside = (
        setters(capsys, str(lock), f"--survey={tmp_path / name}") for name in ("without", "with")
    )
    assert without == beside
    assert without
    arm = setters(capsys, str(lock), f"--survey={tmp_path / 'with'}", "--platform=linux/arm64")
    floors = {row["floor"] for row in arm if row["component"] == "driver"}
    assert floors == {">= 580.65.06"} != {row["floor"] for row in beside}
    lock.write_text("only-sass==1.0\nlinks @ https://x/links-1.0-cp312-cp312-linux_aarch64.whl\n")
    assert setters(capsys, str(lock), f"--survey={tmp_path / 'with'}") == arm


ARM = {"tag": "py3-none-manylinux_2_28_aarch64"}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["wheels", "environment", "image"])
def test_releases_are_for_the_processor_of_what_is_read(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An image, an environment and wheels for Arm are served by releases for Arm alone."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for version, tag in (("1.0", {}), ("1.5", ARM), ("1.7", {})):
        wheel(wheels, {"k/x.cubin": CUBIN_12_4}, name="only-sass", version=version, **tag)
    survey(wheels, tmp_path / "dataset")
    path = site = tmp_path / "site"
    for name, kind in (("only_sass", "sass13"), ("other", "sass12")):
        installed(site, name, [kind], "2.0")
        described = site / f"{name}-2.0.dist-info" / "WHEEL"
        described.write_text(f"Wheel-Version: 1.0\nTag: {ARM['tag']}\n")
    if form == "image":
        path = tmp_path / "image.tar"
        files = {f"opt/{p.relative_to(site)}": p.read_bytes() for p in site.glob("*/*")}
        config = {"os": "linux", "architecture": "arm64"}
        path.write_bytes(oci_layout([layer_of(files)], config))
    elif form == "wheels":
        path = tmp_path / "two"
        path.mkdir()
        for name, cubin in (("only-sass", CUBIN_13_5), ("other", CUBIN_12_4)):
            wheel(path, {f"{name[:4]}/x.cubin": cubin}, name=name, version="2.0", **ARM)
    dataset = f"--survey={tmp_path / 'dataset'}"
    releases = [row["release"] for row in setters(capsys, str(path), dataset)]
    assert "1.5" in releases


def test_a_lock_has_no_code_and_says_what_to_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.4.0\n")
    (tmp_path / "notes.txt").write_text("Torch is needed.\n")
    assert run(["require", str(tmp_path / "requirements.txt"), "--why"]) == 3
    assert "is a lock file, which has no code: name the wheels" in capsys.readouterr().err
    run(["require", str(tmp_path / "notes.txt")])
    assert "is a lock" not in capsys.readouterr().err
