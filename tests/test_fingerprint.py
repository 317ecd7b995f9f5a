"""Fingerprints stay when a package is built again, and differ where findings do."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from report_values import HOSTILE
from verdict_values import finding

from ltocompat.commands.policy.fingerprint import distribution, fingerprint, identity, unversioned
from ltocompat.model.place import Place
from ltocompat.model.verdict import Finding, Verdict

OLD = Place("dist/nvidia_cusparse_cu12-12.3.1.170-py3-none-manylinux2014_x86_64.whl")
NEW = Place("/ci/42/wheelhouse/nvidia_cusparse_cu12-12.5.9.5-py3-none-manylinux2014_x86_64.whl")


def in_wheel(wheel: Place, library: str, offset: int, text: str) -> Finding:
    place = wheel.member(f"nvidia/cusparse/lib/{library}").at(offset, 2)
    return finding(Verdict.FAIL, text, rule="PTX-01", example=place)


FIRST = in_wheel(OLD, "libcusparse.so.12.3.1", 0x40, "PTX 8.0 compute_52 needs driver >= 525")


def test_a_rebuild_keeps_the_fingerprint_of_a_finding() -> None:
    again = in_wheel(NEW, "libcusparse.so.12.5.9", 0x7F00, "PTX 8.4 compute_52 needs driver >= 550")
    assert fingerprint(OLD.path, "prod", FIRST) == fingerprint(NEW.path, "prod", again)


def test_a_fingerprint_says_rule_distribution_member_kind_architecture_and_target() -> None:
    finding_identity = identity(OLD.path, "prod", FIRST)
    assert (
        finding_identity.rule,
        finding_identity.distribution,
        finding_identity.kind,
        finding_identity.arch,
        finding_identity.target,
    ) == (
        "PTX-01",
        "nvidia-cusparse-cu12",
        "PTX",
        "compute_52",
        "prod",
    )
    assert finding_identity.member == "nvidia/cusparse/lib/libcusparse.so"


@pytest.mark.parametrize(
    "other",
    [
        replace(FIRST, rule="PTX-02"),
        replace(FIRST, message="PTX 8.0 compute_90 needs driver >= 525"),
        replace(FIRST, message="SASS sm_52 needs driver >= 525"),
        replace(FIRST, example=OLD.member("nvidia/cusparse/lib/libother.so.12")),
        replace(FIRST, example=Place("dist/other-1.0-py3-none-any.whl", ("libcusparse.so.12",))),
    ],
    ids=["rule", "architecture", "kind", "member", "distribution"],
)
def test_what_makes_another_finding_makes_another_fingerprint(other: Finding) -> None:
    assert fingerprint(OLD.path, "prod", FIRST) != fingerprint(OLD.path, "prod", other)


def test_another_target_makes_another_fingerprint() -> None:
    assert fingerprint(OLD.path, "prod", FIRST) != fingerprint(OLD.path, "edge", FIRST)


def test_a_finding_about_the_target_has_no_member() -> None:
    problem = finding(Verdict.OK, "loading it can't be judged", rule="TGT-01", example=None)
    assert identity("dist/x-1.0-py3-none-any.whl::libx.so", "prod", problem).member == ""
    assert identity("dist/x-1.0-py3-none-any.whl::libx.so", "prod", problem).distribution == "x"


def test_a_fingerprint_is_the_same_in_every_version_of_this_program() -> None:
    # Baselines are files of users and would all be worth nothing. By sha256sum, of these words:
    # PTX-01, nvidia-cusparse-cu12, nvidia/cusparse/lib/libcusparse.so, PTX, compute_52, prod.
    assert fingerprint(OLD.path, "prod", FIRST) == "dc8ffdcdfc5dbb5accd17e92cc32aaf2"


@pytest.mark.parametrize(
    ("path", "name"),
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
        ("./build/libx.so.1.2", "build/libx.so"),
        ("libx.a", "libx.a"),
        ("-", "-"),
    ],
)
def test_the_name_of_a_distribution_is_read_from_its_file(path: str, name: str) -> None:
    assert distribution(path) == name


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("nvidia/cusparse/lib/libcusparse.so.12", "nvidia/cusparse/lib/libcusparse.so"),
        ("pkg.libs/libfoo-1a2b3c4d.so.1.2", "pkg.libs/libfoo.so"),
        ("bin/nvJitLink_130_0.dll", "bin/nvJitLink.dll"),
        ("cusparse64_12.dll", "cusparse64.dll"),
        ("pkg/_core.cpython-311-x86_64-linux-gnu.so", "pkg/_core.cpython--x86_64-linux-gnu.so"),
        ("pkg/_core.cp312-win_amd64.pyd", "pkg/_core.cp-win_amd64.pyd"),
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
    place = Place("bundle.tar").member("wheels/x-1.0-py3-none-any.whl").member("libx.so.1")
    problem = finding(Verdict.FAIL, example=place)
    assert identity("bundle.tar", "prod", problem).member == "x::libx.so"


def test_any_name_has_a_fingerprint() -> None:
    problem = finding(Verdict.FAIL, HOSTILE, rule=HOSTILE, example=Place(HOSTILE, (HOSTILE, "")))
    assert len(fingerprint(HOSTILE, HOSTILE, problem)) == 32
    assert len(fingerprint("", "", problem)) == 32
