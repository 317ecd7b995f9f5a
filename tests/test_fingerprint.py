"""Fingerprints stay when a package is built again, and differ where findings do."""

from __future__ import annotations

import pytest
from every_case import every
from msgspec.structs import replace
from report_values import HOSTILE
from verdict_values import H100, L4, finding, linker, result, target

from ltocompat.commands.policy.fingerprint import (
    distribution,
    key_of,
    target_key,
)
from ltocompat.model.file_name import unversioned
from ltocompat.model.location import Location
from ltocompat.model.target import ANY_TARGET, Gpu, Target
from ltocompat.model.verdict import Finding, Route, Verdict
from ltocompat.targets.reading import parse

OLD = Location("dist/nvidia_cusparse_cu12-12.3.1.170-py3-none-manylinux2014_x86_64.whl")


def in_wheel(wheel: Location, library: str, offset: int, text: str) -> Finding:
    place = wheel.member(f"nvidia/cusparse/lib/{library}").at(offset, 2)
    return finding(Verdict.FAIL, text, rule="PTX-01", example=place, subject="PTX compute_52")


FIRST = in_wheel(OLD, "libcusparse.so.12.3.1", 0x40, "PTX 8.0 compute_52 needs driver >= 525")
PROD, EDGE = target("prod"), target("edge", nvjitlink=linker("13.2"))


def digest(path: str, goal: Target, found: Finding, route: Route | None = None) -> str:
    return key_of(result(Verdict.FAIL, goal, H100, path=path, route=route), found).digest


def test_a_fingerprint_is_the_same_in_every_version_of_this_program() -> None:
    # Baselines are files of users and would all be worth nothing. By sha256sum, of these words:
    # PTX-01, nvidia-cusparse-cu12, nvidia/cusparse/lib/libcusparse.so, PTX compute_52, load,
    # os=linux,driver=580.95.05.
    assert digest(OLD.path, PROD, FIRST, Route.LOAD) == "6bc28deb19d88d6e65e55744cb74f822"


@pytest.mark.parametrize(
    ("one", "same"),
    [
        ("name=prod,driver=580", "driver=R580,gpu=h100,name=edge"),
        ("nvjitlink>=13.2,<14", "nvjitlink=<14,>=13.2,name=other,gpu=l4"),
        ("driver=550,os=linux", "driver = 550"),
        ("cuda=12.4", "stock=12.4,gpu=h100+l4"),
        ("driver=580.65.06", "driver==580.65.06"),
    ],
)
def test_a_target_is_known_by_its_keys_in_any_spelling(one: str, same: str) -> None:
    (first,), (second,) = parse([one]), parse([same])
    assert target_key(first) == target_key(second)


def test_other_keys_make_another_target() -> None:
    texts = ["driver=580", "driver=550", "driver>=580", "driver=580,nvjitlink=13.2", "cuda=12.4"]
    texts += ["driver=580,os=windows", "driver=580,compat=13.0", "nvlink=13.2", "nvjitlink=13.2"]
    assert len({target_key(target) for text in texts for target in parse([text])}) == len(texts)
    assert target_key(ANY_TARGET) == "every target"


def test_an_installed_file_is_known_as_in_its_wheel() -> None:
    place = Location("/venv/lib/python3.12/site-packages/nvidia/cusparse/lib/libcusparse.so.12")
    installed = replace(FIRST, example=place)
    of_wheel = result(Verdict.FAIL, PROD, H100, path=OLD.path)
    of_wheel = replace(of_wheel, distribution="nvidia-cusparse-cu12 12.3.1.170")
    of_file = replace(of_wheel, path=place.path, distribution="nvidia_cusparse_cu12 12.5.9.5")
    assert key_of(of_file, installed) == key_of(of_wheel, FIRST)


@every(
    "path, name",
    [
        ("dist/libcuvs_cu13-26.10.0-py3-none-manylinux_2_28_x86_64.whl", "libcuvs-cu13"),
        ("dist/My.Package-1.0-2-cp311-cp311-win_amd64.whl", "my-package"),
        ("dist/my_package-1.0rc1.tar.gz", "my-package"),
        ("dist/my_package-1.0.2.tar.gz", "my-package"),
        ("linux-64/libcublas-dev-12.4.5.8-h59595ed_1.conda", "libcublas-dev"),
        ("libcublas-12-4_12.4.5.8-1_amd64.deb", "libcublas-12-4"),
        ("libcublas-12-4-12.4.5.8-1.x86_64.rpm", "libcublas-12-4"),
        ("NVIDIA.Cuda.12.4.1.nupkg", "nvidia-cuda"),
        ("cusparse-linux-x86_64-12.3.1.170-archive.tar.xz", "cusparse-linux-x86-64"),
        ("build/libx.so.1.2", "build/libx.so"),
        ("build-1.2/libx.so.1.2", "build-1.2/libx.so"),
        ("libx.a", "libx.a"),
        ("-", "-"),
    ],
)
def test_the_name_of_a_distribution_is_read_from_its_file(path: str, name: str) -> None:
    assert distribution(path) == name


@every(
    "name, left",
    [
        ("nvidia/cusparse/lib/libcusparse.so.12", "nvidia/cusparse/lib/libcusparse.so"),
        ("pkg.libs/libfoo-1a2b3c4d.so.1.2", "pkg.libs/libfoo.so"),
        ("bin/nvJitLink_130_0.dll", "bin/nvJitLink.dll"),
        ("cusparse64_12.dll", "cusparse64.dll"),
        ("pkg/_core.cpython-311-x86_64-linux-gnu.so", "pkg/_core.so"),
        ("pkg/_core.cp312-win_amd64.pyd", "pkg/_core.pyd"),
        ("lib/python3.11/site-packages/x.so", "lib/python/site-packages/x.so"),
        ("usr/local/cuda-12.4/lib64/libx.a", "usr/local/cuda/lib64/libx.a"),
        ("libx-1.2.3.a", "libx.a"),
        ("kernels_sm_90.cubin", "kernels_sm_90.cubin"),
        ("axpy.3.fatbin", "axpy.3.fatbin"),
        ("1.2.3", "1.2.3"),
    ],
)
def test_versions_leave_the_names_of_members(name: str, left: str) -> None:
    assert unversioned(name) == left


def test_a_package_in_a_package_goes_by_its_name() -> None:
    place = Location("bundle.tar").member("wheels/x-1.0-py3-none-any.whl").member("libx.so.1")
    problem = finding(Verdict.FAIL, example=place)
    assert key_of(result(Verdict.FAIL, PROD, path="bundle.tar"), problem).member == "x::libx.so"


def test_any_name_has_a_fingerprint() -> None:
    problem = finding(Verdict.FAIL, HOSTILE, rule=HOSTILE, example=Location(HOSTILE, (HOSTILE, "")))
    for word in (HOSTILE, "", "\ud800"):
        assert len(digest(word, replace(PROD, name=word), replace(problem, subject=word))) == 32


@pytest.mark.parametrize("gpus", [(H100, L4), ()])
def test_gpus_are_no_part_of_a_key(gpus: tuple[Gpu, ...]) -> None:
    assert target_key(replace(PROD, gpus=gpus, name="x")) == target_key(PROD)
