"""What metadata say of drivers and GPUs, read and held against the bytes (PKG-15, PKG-16)."""

from __future__ import annotations

import json
import re
import zipfile
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import yaml
from elf_writer import Part, elf
from fatbin_writer import KINDS, EntrySpec, entry, region
from generated_artifacts import ARTIFACTS
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from newest import ptx_beyond
from packages_made import CUBIN_12_4, conda, judged, told, wheel
from packaging.requirements import Requirement
from rule_cases import spares, strikes
from samples import FOLDER

from ltocompat.cli import run
from ltocompat.facts import drivers, toolkits
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.errors import UsageError
from ltocompat.model.image import HostBinary, PtxText
from ltocompat.model.location import Location
from ltocompat.model.requirement import NEXT, Required
from ltocompat.model.verdict import Verdict
from ltocompat.packages.conda import alternatives
from ltocompat.packages.declared import of_classifiers, of_conda, of_variant
from ltocompat.packages.values import Declared, Dependency, Kind, Package, Shipped, normalized
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.rules.engine.judge_package import problems
from ltocompat.targets import parse

PTX_12_9 = (FOLDER / "ptx" / "nvrtc-12.9-compute_80.ptx").read_bytes()  # PTX 8.8, driver 575
CUDA_12_4 = "Environment :: GPU :: NVIDIA CUDA :: 12 :: 12.4"
FAIL, UNDOCUMENTED, OK = Verdict.FAIL, Verdict.UNDOCUMENTED, Verdict.OK
# PEP 825, "Variant properties": what each part may be.
PROPERTY = re.compile(r"nvidia :: (cuda_version_lower_bound|sm_arch) :: ([a-z0-9_.]+)")


def variant(**features: list[str]) -> bytes:
    """variant.json of a wheel with the label cu12."""
    value: dict[str, Any] = {
        "$schema": "https://variants-schema.wheelnext.dev/v0.0.3.json",
        "default-priorities": {"namespace": ["nvidia"]},
        "variants": {"cu12": {"nvidia": features}},
    }
    return json.dumps(value).encode()


def variant_wheel(folder: Path, code: dict[str, bytes], **features: list[str]) -> Path:
    inside = {**code, "libx-1.0.dist-info/variant.json": variant(**features)}
    return wheel(folder, inside, tag="py3-none-manylinux_2_28_x86_64-cu12")


def test_the_oldest_release_that_classifiers_name_is_what_they_promise() -> None:
    lines = [CUDA_12_4, CUDA_12_4.replace("12.4", "12.8"), "Environment :: GPU :: NVIDIA CUDA"]
    (found,) = of_classifiers(lines)
    assert (found.cuda, found.binding) == (Release(12, 4), False)
    assert found.source == f"Classifier: {CUDA_12_4}"
    assert of_classifiers(lines[2:]) == ()


def test_digits_of_other_scripts_are_no_release() -> None:
    problems: list[str] = []
    bound = '{"variants": {"x": {"nvidia": {"cuda_version_lower_bound": ["12.\u0664"]}}}}'
    assert of_classifiers(["Environment :: GPU :: NVIDIA CUDA :: 12 :: 12.\u0664"]) == ()
    assert of_variant(bound.encode(), "x", problems) == ()
    assert problems == ["variant.json: cuda_version_lower_bound '12.\u0664' is not a CUDA release"]


@pytest.mark.parametrize(
    "data", [b"{", b"[]", b'{"variants": []}', b'{"variants": {"a": {"nvidia": {"sm_arch": 3}}}}']
)
def test_a_broken_variant_json_is_told(data: bytes) -> None:
    told_problems: list[str] = []
    assert of_variant(data, "cu12", told_problems) == ()
    assert told_problems == ["variant.json does not follow PEP 825"]


def test_virtual_packages_of_conda_are_read() -> None:
    driver = asking("__cuda", "<13,>=12.4")
    assert driver is not None
    assert driver.cuda == Release(12, 4)
    gpus = asking("__cuda_arch", ">=7.5,<10.0", only_limits=True)
    assert gpus is not None
    assert (gpus.gpus, gpus.end, gpus.and_newer) == ((75,), 100, True)
    assert asking("__cuda", "") is None
    assert asking("cudatoolkit", ">=11.8") is None


def asking(name: str, *versions: str, only_limits: bool = False) -> Declared | None:
    line = f"depends: {name} {'|'.join(versions)}"
    return of_conda(Dependency(normalized(name), versions, line, only_limits=only_limits))


@pytest.mark.parametrize(
    ("versions", "major"),
    [
        ([">=12.9,<13"], 12),
        ([">=13.0,<14.0a0"], 13),
        (["==12.9.*"], 12),
        ([">=12.0,<13", "==12.9"], 12),
        ([">=12.4"], None),
        ([">=12.4,<14"], None),
        (["==11.8", ">=12,<13"], None),
        ([""], None),
    ],
)
def test_cuda_version_of_conda_forge_is_for_the_drivers_of_its_major(
    versions: list[str], major: int | None
) -> None:
    """Its recipe: run_constrained __cuda >=12, for each 12.x."""
    found = asking("cuda-version", *versions)
    assert (found and found.major) == major
    assert found is None or found.binding
    assert asking("cuda-version", *versions, only_limits=True) is None


def test_metapackages_of_conda_forge_are_held_against_the_code(tmp_path: Path) -> None:
    """Drivers before 550.54.14 can't unpack Zstandard; SASS for sm_80 is for 8.x alone."""
    packed = region([entry(EntrySpec(KINDS["sass"], CUBIN_12_4, 80, compression="zstd"))])
    code = {"lib/x.fatbin": packed}
    asks = conda(tmp_path, code, ["cuda-version >=12.9,<13"])
    assert told(judged(asks)) == {"PKG-13": UNDOCUMENTED}
    assert judged(conda(tmp_path, code, ["cuda-version >=13.0,<14"])) == ()
    assert judged(conda(tmp_path, code, ["__cuda >=12.4", "cuda-version >=12.9,<13"])) == ()
    plain = {"lib/x.cubin": CUBIN_12_4}
    for line, verdict in (("cuda-arch >=7.5", FAIL), ("cuda-arch >=8.0", UNDOCUMENTED)):
        assert told(judged(conda(tmp_path, plain, [line]))) == {"PKG-15": verdict}


def test_majors_count_where_classifiers_name_no_release() -> None:
    majors = [f"Environment :: GPU :: NVIDIA CUDA :: {major}" for major in (12, 13)]
    assert [each.major for each in of_classifiers(majors)] == [12, 13]
    assert [each.cuda for each in of_classifiers([*majors, CUDA_12_4])] == [Release(12, 4)]


@strikes("PKG-16")
def test_a_driver_that_metadata_admit_has_to_take_the_code(tmp_path: Path) -> None:
    code = {"libx/x.ptx": PTX_12_9}
    named = wheel(tmp_path, code, classifiers=[CUDA_12_4])
    (problem,) = judged(named)
    assert (problem.rule, problem.verdict) == ("PKG-16", UNDOCUMENTED)
    assert problem.message == (
        "the metadata allows CUDA 12.4 drivers (550.54.14), but libx needs driver 575.51.03"
    )
    bound = variant_wheel(tmp_path, code, cuda_version_lower_bound=["12.4"])
    assert told(judged(bound)) == {"PKG-16": FAIL}
    assert told(judged(conda(tmp_path, code, ["__cuda >=12.4"]))) == {"PKG-16": FAIL}


def test_metadata_need_not_admit_what_links_of_loaded_code_would_ask(tmp_path: Path) -> None:
    """PTX 7.8 loads on R520; what an nvJitLink makes of it would need R525."""
    code = {"libx/x.ptx": (FOLDER / "ptx" / "nvrtc-11.8-compute_80.ptx").read_bytes()}
    assert judged(conda(tmp_path, code, ["__cuda >=11.8"])) == ()
    assert told(judged(conda(tmp_path, code, ["__cuda >=11.7"]))) == {"PKG-16": FAIL}


@spares("PKG-16")
def test_metadata_that_ask_for_the_driver_break_no_promise(tmp_path: Path) -> None:
    code = {"libx/x.ptx": PTX_12_9}
    assert judged(wheel(tmp_path, code, classifiers=[CUDA_12_4.replace("12.4", "12.9")])) == ()
    assert judged(variant_wheel(tmp_path, code, cuda_version_lower_bound=["12.9"])) == ()
    assert judged(conda(tmp_path, code, ["__cuda"], ["__cuda >=12.9"])) == ()
    sass = entry(EntrySpec(KINDS["sass"], CUBIN_12_4, 80))  # which serves sm_80 beside the PTX
    both = region([sass, entry(EntrySpec(KINDS["ptx"], PTX_12_9, 80))])
    assert judged(wheel(tmp_path, {"libx/x.fatbin": both}, classifiers=[CUDA_12_4])) == ()


@settings(max_examples=60, deadline=None)
@given(
    summary=ARTIFACTS,
    isa=st.sampled_from(sorted(toolkits.ptx_releases())),
    cuda=st.sampled_from([drivers.branch_cuda(branch) for branch in drivers.driver_branches()]),
)
def test_ptx_text_that_may_need_a_driver_is_not_said_to_need_it(
    summary: ArtifactSummary, isa: tuple[int, ...], cuda: Release
) -> None:
    """As in tensorflow 2.21.0: XLA passes its PTX 8.3 only to drivers that know graph conditions.

    The classifier of CUDA 12.2 is right, and metadata that bind are left open.
    """
    host = HostBinary(
        place=Location("x.whl", ("x.so",)),
        format="ELF",
        machine="x86-64",
        type="shared library",
        ptx_texts=(PtxText(".".join(map(str, isa)), "sm_50", 9),),
    )
    with_text = replace(summary, hosts=[*summary.hosts, host])
    for binding in (False, True):
        before, after = (of_drivers(each, cuda, binding=binding) for each in (summary, with_text))
        assert after in (before, ({"PKG-16": Verdict.UNKNOWN} if binding else {}) | before)


def of_drivers(summary: ArtifactSummary, cuda: Release, *, binding: bool) -> dict[str, Verdict]:
    """Verdicts on the drivers of a package that is for CUDA 12, and whose metadata names one."""
    declared = Declared(source="metadata", cuda=cuda, binding=binding)
    package = Package(kind=Kind.WHEEL, path="x", name="libx-cu12", declared=(declared,))
    groups = tuple((group.signature, group.count) for group in summary.groups)
    shipped = Shipped(package=package, ask=lambda: required(summary), signatures=groups)
    found = problems(shipped)
    return {each.rule: each.verdict for each in found if each.rule in ("PKG-13", "PKG-16")}


@spares("PKG-16")
def test_ptx_as_text_leaves_metadata_that_bind_open(tmp_path: Path) -> None:
    text = b".version 8.8\n.target sm_50\n.address_size 64\n"
    code = {"libx/x.cubin": CUBIN_12_4, "libx/x.so": elf([Part(".rodata", text)])}
    assert judged(wheel(tmp_path, code, classifiers=[CUDA_12_4])) == ()
    (problem,) = judged(conda(tmp_path, code, ["__cuda >=12.4"]))
    assert (problem.rule, problem.verdict) == ("PKG-16", Verdict.UNKNOWN)
    assert problem.message == (
        "the metadata allows CUDA 12.4 drivers (550.54.14), but libx may need driver 575.51.03"
    )


@strikes("PKG-15")
def test_a_gpu_that_metadata_admit_has_to_be_served(tmp_path: Path) -> None:
    code = {"libx/x.cubin": CUBIN_12_4}  # SASS for sm_80
    assert told(judged(variant_wheel(tmp_path, code, sm_arch=["80_real", "90_real"]))) == {
        "PKG-15": FAIL
    }
    assert told(judged(conda(tmp_path, code, ["__cuda_arch >=7.5"]))) == {"PKG-15": FAIL}
    later = judged(conda(tmp_path, code, ["__cuda_arch >=8.0"]))
    assert told(later) == {"PKG-15": UNDOCUMENTED}
    assert later[0].message.startswith("the metadata allows sm_90, sm_100, ")


@spares("PKG-15")
def test_gpus_that_are_served_break_no_promise(tmp_path: Path) -> None:
    code = {"libx/x.cubin": CUBIN_12_4}
    assert judged(variant_wheel(tmp_path, code, sm_arch=["80_real", "86_real"])) == judged(
        variant_wheel(tmp_path, code, sm_arch=["86_real"])
    )
    assert told(judged(variant_wheel(tmp_path, code, sm_arch=["86_real"]))) == {"PKG-15": OK}
    assert judged(variant_wheel(tmp_path, code, sm_arch=["80_real"])) == ()
    assert judged(conda(tmp_path, code, ["__cuda_arch >=8.0,<9.0"])) == ()
    assert judged(conda(tmp_path, {"libx/x.ptx": PTX_12_9}, ["__cuda_arch >=8.0"])) == ()


def lines_for(answer: Required, where: str) -> list[str]:
    return [line.text for line in answer.lines if line.where == where]


@settings(max_examples=60, deadline=None)
@given(ARTIFACTS)
def test_what_require_prints_keeps_the_promise_that_it_makes(summary: ArtifactSummary) -> None:
    """Paste: pasted into the metadata, no line is one that the code breaks."""
    answer = required(summary)
    declared: list[Declared] = []
    for text in lines_for(answer, "conda"):
        name, _, versions = text.partition(" ")
        known = alternatives(versions)
        assert known is not None
        found = of_conda(Dependency(normalized(name), known, text))
        declared += [found] if found else []
        if name == "__cuda_arch":  # begins with a GPU that a known driver brings code onto
            first = int(versions.removeprefix(">=").partition(",")[0].replace(".", ""))
            (service,) = [each for each in answer.services if each.number == first]
            assert service.name != NEXT
            assert service.driver is not None
    features: dict[str, list[str]] = {}
    for text in lines_for(answer, "variant"):
        match = PROPERTY.fullmatch(text)
        assert match is not None, text
        features.setdefault(match[1], []).append(match[2])
    broken: list[str] = []
    declared += of_variant(variant(**features), "cu12", broken)
    assert broken == []
    package = Package(kind=Kind.CONDA, path="x", name="libx", declared=tuple(declared))
    groups = tuple((group.signature, group.count) for group in summary.groups)
    shipped = Shipped(package=package, ask=lambda: answer, signatures=groups)
    promised = [each for each in problems(shipped) if each.rule in ("PKG-15", "PKG-16")]
    assert promised == []


def test_code_that_no_known_driver_runs_promises_no_gpu(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing but GPUs to come is left for it, which is no reason to shut out all others."""
    for path in (FOLDER / "ltoir/nvrtc-11.8-lto_80.ltoir", ptx_beyond(tmp_path)):
        assert run(["require", str(path), "--for", "conda"]) == 0
        assert "__cuda_arch" not in capsys.readouterr().out


@pytest.mark.parametrize("where", ["pip", "conda", "container", "variant"])
def test_lines_for_a_place_are_valid_there(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = FOLDER / "ltoir" / "nvrtc-12.4-lto_80.ltoir"
    cubin = FOLDER / "cubin" / "nvcc-13.0-sm_80.cubin"
    assert run(["require", str(path), str(cubin), "--for", where]) == 0
    text = capsys.readouterr().out
    lines = [line for line in text.splitlines() if not line.startswith("# ")]
    assert lines
    if where == "pip":
        assert {Requirement(line).name for line in lines} == {"nvidia-nvjitlink-cu12"}
    elif where == "conda":
        specs = yaml.safe_load(text)
        assert all(re.fullmatch(r"[a-z_]+ [\d.,<>=]+", each) for each in specs)
        asked = [each for each in specs if each.startswith("__cuda ")]
        assert asked == ["__cuda >=13.0"]  # which includes that of the older file
    elif where == "container":  # the newest of both: a second ENV would replace the first
        assert lines == ['ENV NVIDIA_REQUIRE_CUDA="cuda>=13.0"']
    else:
        assert lines[0] == "nvidia :: cuda_version_lower_bound :: 13.0"
        assert all(map(PROPERTY.fullmatch, lines))


def test_what_an_image_admits_is_held_against_its_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = str(FOLDER / "ptx" / "nvrtc-12.9-compute_80.ptx")
    words = ["check", path, "--route", "load", "--deploy-target"]
    assert run([*words, "gpu=h100,container=cuda>=12.4"]) == 1
    assert "PTX 8.8 needs driver >= 575 (CUDA 12.9)" in capsys.readouterr().out
    for_cuda_12_9 = "gpu=h100,container=cuda>=12.9"
    assert run([*words, for_cuda_12_9]) == 0
    # As NVIDIA's images write it: data-center GPUs of older branches, which have cuda-compat.
    with_brands = f"{for_cuda_12_9} brand=tesla,driver>=535,driver<536"
    assert run([*words, with_brands]) == 1
    (target,) = parse([with_brands])
    assert target.driver is not None
    first = [str(driver) for driver in target.driver.values][:2]
    assert first == ["535.54.03", "575.51.03"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("container=cuda>12x", "container=cuda>12x can't be read"),
        ("container=cuda>=99.0", "excludes every known driver"),
        ("driver=550,container=cuda>=12.4", "driver= and container= both name the drivers"),
        ("container>=12.4", "container can't be compared"),
    ],
)
def test_what_no_image_says_is_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        parse([text])


@pytest.mark.parametrize(
    "names",
    [
        ["ltoir/nvrtc-12.4-lto_80.ltoir"],
        ["ltoir/nvrtc-13.5-lto_80.ltoir"],
        ["ltoir/nvrtc-12.4-lto_80.ltoir", "cubin/nvcc-13.0-sm_80.cubin"],
    ],
)
def test_the_lines_of_the_answer_are_pasted_as_they_are(
    names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(FOLDER / name) for name in names]
    assert run(["require", *paths]) == 0
    shown = capsys.readouterr().out.split("\n\n")[0]
    files = {"pip": "requirements", "conda": "a conda recipe", "dockerfile": "a Dockerfile"}
    for where, title in files.items():
        assert run(["require", *paths, "--for", where]) == 0
        alone = capsys.readouterr().out.splitlines()
        _, _, below = shown.partition(f"to paste into {title}:\n")
        lines = [*takewhile(lambda line: line.startswith("  "), below.splitlines())]
        assert {line.removeprefix("  ") for line in lines} <= {*alone}
        assert [line[2:] for line in lines if "#" not in line] == [
            line for line in alone if "#" not in line
        ]


def test_what_the_lines_leave_out_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lines are for one of the variants, be they files of a package or packages."""
    code = {"12.4": "ltoir/nvrtc-12.4-lto_80.ltoir", "13.0": "ltoir/nvrtc-13.0-lto_80.ltoir"}
    paths = [tmp_path / f"x-1.0+cu{each.replace('.', '')}-py3-none-any.whl" for each in code]
    for path, name in zip(paths, code.values(), strict=True):
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(FOLDER / name, "x/x.ltoir")
    assert run(["require", *map(str, paths), "--for", "pip"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"# without {paths[1].name}, which is for another CUDA release" in lines
    assert "nvidia-nvjitlink-cu12>=12.4,<13" in lines
    assert not any("nvidia-nvjitlink>=13" in line for line in lines)
    assert run(["require", str(paths[1]), "--for", "pip"]) == 0
    assert "without" not in capsys.readouterr().out


def test_where_nothing_goes_a_comment_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    path = FOLDER / "cubin" / "nvcc-13.0-sm_80.cubin"
    assert run(["require", str(path), "--for", "pip"]) == 0
    assert capsys.readouterr().out == "# nothing to paste for pip\n"
    assert run(["require", str(path), "--for", "npm"]) == 2
