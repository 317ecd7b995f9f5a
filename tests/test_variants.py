"""Variants: files of a package of which its loader opens one, told by names, exports and DT_NEEDED.

Packages are real libraries by gcc with cubins of the samples inside. A driver of CUDA 12 refuses
that of CUDA 13.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from every_case import every
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from libraries_made import build, needs_gcc
from packages_made import wheel
from report_values import written
from rule_cases import spares, strikes
from samples import FOLDER

import ltocompat
from ltocompat import Result, Verdict
from ltocompat.cli import run
from ltocompat.model.cuda_tag import tagged_path
from ltocompat.model.image import HostBinary
from ltocompat.model.location import Location
from ltocompat.report.verbs.inspect import REPORT
from ltocompat.scan.variants import find_variants, named_variants

OF_12 = FOLDER / "cubin" / "nvrtc-12.4-sm_80.cubin"
OF_13 = FOLDER / "cubin" / "nvrtc-13.0-sm_80.cubin"
OF_SM_90 = FOLDER / "cubin" / "nvrtc-12.4-sm_90.cubin"
DRIVER_12 = "driver=535.104.05,gpu=a100"
DRIVER_13 = "driver=580.65.06,gpu=a100"


@pytest.mark.parametrize(
    ("path", "pattern", "version"),
    [
        ("b/libb_cuda118.so", "b/libb_cuda*.so", "11.8"),
        ("b/libb_cuda110_nocublaslt.so", "b/libb_cuda*_nocublaslt.so", "11.0"),
        ("c/cu12/cccl/libc.so", "c/cu*/cccl/libc.so", "12"),
        ("lib/cuda_v13/libggml.so", "lib/cuda_v*/libggml.so", "13"),
        ("x/_ir.cu13.cpython-312.so", "x/_ir.cu*.cpython-312.so", "13"),
        ("libx-cuda-12.4.so", "libx-cuda-*.so", "12.4"),
        ("libx_CUDA12_4.dll", "libx_CUDA*.dll", "12.4"),
        ("nvidia/cu13/lib/libcudart.so.13", "nvidia/cu*/lib/libcudart.so.13", "13"),
    ],
)
def test_a_path_may_name_a_version_of_cuda(path: str, pattern: str, version: str) -> None:
    tagged = tagged_path(path)
    assert tagged is not None
    assert (tagged.pattern, tagged.version) == (pattern, version)


@every(
    "path",
    [
        "libx.so.12",
        "libcudart.so.13",
        "libx_sm90.so",
        "libx_cuda80.so",
        "libx_v12.so",
        "cu.so",
        "nvrtc64_120_0.dll",
        "libcuda.so.1",
        "libx4.so",
        "py312/x.so",
        "libcublas12.so",
    ],
)
def test_other_numbers_are_no_version_of_cuda(path: str) -> None:
    """Sonames, architectures, Pythons and file names of NVIDIA's own."""
    assert tagged_path(path) is None


def host(path: str, *exports: str, needs: tuple[str, ...] = (), soname: str = "") -> HostBinary:
    return HostBinary(
        place=Location("x.whl", (path,)),
        format="ELF",
        machine="x86-64",
        type="shared library",
        soname=soname or None,
        needed=needs,
        exports=exports,
    )


def versions(*hosts: HostBinary) -> list[str]:
    return [variant.version for variant in find_variants(hosts)]


SUFFIX = ("lib/libx_cuda{}.so", ("118", "124", "130"), ["11.8", "12.4", "13.0"])
MIXED = ("lib/libx_cuda{}.so", ("118", "12", "130"), ["11.8", "12", "13.0"])
FOLDERS = ("x/cu{}/lib/libx.so", ("11", "12", "13"), ["11", "12", "13"])


@pytest.mark.parametrize(("shape", "tags", "expected"), [SUFFIX, MIXED, FOLDERS])
def test_files_that_differ_in_their_version_of_cuda_are_variants(
    shape: str, tags: tuple[str, ...], expected: list[str]
) -> None:
    common = host("x/_core.so", "PyInit__core", needs=("libcudart.so.12",))
    of_tags = [host(shape.format(tag), "run", f"of_cu{tag}", "_Zonly" + tag) for tag in tags]
    alone = host("y/liby_cuda118.so", "go")  # which is no choice
    assert versions(*of_tags, common) == versions(*of_tags, common, alone) == expected


@pytest.mark.parametrize(("shape", "tags", "expected"), [SUFFIX, FOLDERS])
@given(names=st.lists(st.sets(st.sampled_from("abcdefgh"), max_size=6), min_size=3, max_size=3))
def test_only_what_has_half_of_its_names_in_common_is_a_variant(
    shape: str, tags: tuple[str, ...], expected: list[str], names: list[set[str]]
) -> None:
    of_tags = [host(shape.format(t), *n) for t, n in zip(tags, names, strict=True)]
    shared, every = set.intersection(*names), set.union(*names)
    alike = bool(shared) and len(shared) * 2 >= len(every)
    assert versions(*of_tags) == (expected if alike else [])


@pytest.mark.parametrize(("shape", "tags", "expected"), [SUFFIX, FOLDERS])
@pytest.mark.parametrize("by", ["file", "soname"])
def test_what_another_file_needs_is_no_choice(
    shape: str, tags: tuple[str, ...], expected: list[str], by: str
) -> None:
    """Both plug-ins of a library are brought with it, whatever they are called."""
    of_tags = [host(shape.format(tag), "run", soname=f"libx-{tag}.so") for tag in tags]
    name = shape.format(tags[1]).rsplit("/", 1)[-1] if by == "file" else f"libx-{tags[1]}.so"
    assert versions(*of_tags) == expected
    assert versions(*of_tags, host("x/_core.so", "PyInit__core", needs=(name,))) == []
    assert versions(*of_tags, host("x/_other.so", needs=("libother.so",))) == expected


def test_files_of_one_version_may_need_each_other() -> None:
    """As in cuda-cccl: each folder has bindings that need the library beside them."""
    hosts = [
        each
        for tag in ("12", "13")
        for each in (
            host(f"x/cu{tag}/_bindings.so", "PyInit__bindings", needs=("libx.so",)),
            host(f"x/cu{tag}/lib/libx.so", "run", soname="libx.so"),
        )
    ]
    assert versions(*hosts) == ["12", "13"]
    crossed = host("x/cu12/_crossed.so", "PyInit__crossed", needs=("liby13.so",))
    brought = host("x/cu13/liby.so", "go", soname="liby13.so")
    assert versions(*hosts, crossed, brought) == []


def test_a_named_version_is_whole_when_it_has_what_several_have() -> None:
    """What one version alone has is no part of the others."""
    files = {"cu11": ("x",), "cu12": ("x", "y"), "cu13": ("x", "y", "z")}
    members = [(f"lib{name}_{cuda}.so",) for cuda, names in files.items() for name in names]
    found = named_variants(members, ["lib*_cu*.so"])
    assert {v.version: v.whole for v in found} == {"11": False, "12": True, "13": True}
    assert [v.name for v in found] == [
        "libx_cu11.so",
        "libx_cu12.so and 1 more",
        "libx_cu13.so and 2 more",
    ]
    folders = [("x", f"lib/cu{major}/liby.so") for major in ("12", "13")]
    assert [v.name for v in named_variants(folders, ["lib/cu*/*"])] == ["lib/cu12", "lib/cu13"]


def test_versions_are_chosen_for_all_files_at_once() -> None:
    """No package runs one library of CUDA 11 with another one of CUDA 13."""
    first = [host(f"liba_cuda{tag}.so", "run") for tag in ("118", "121", "130")]
    second = [host(f"libb_cuda{tag}.so", "go") for tag in ("121", "130")]
    found = find_variants([*first, *second])
    assert [(v.version, v.whole) for v in found] == [
        ("11.8", False),
        ("12.1", True),
        ("13.0", True),
    ]
    apart = [host(f"libb_cuda{tag}.so", "go") for tag in ("110", "120")]
    assert find_variants([*first, *apart]) == ()


@given(
    names=st.lists(st.sampled_from(["cupti", "cupti-blackwell", "old", "x.y"]), unique=True),
    majors=st.lists(st.integers(10, 15), min_size=4, max_size=4, unique=True),
    extra=st.sampled_from(["", "first", "all"]),
    alike=st.booleans(),
    user=st.sampled_from(["none", "inside", "outside"]),
)
@example(names=["a", "b"], majors=[12, 13, 14, 15], extra="first", alike=True, user="none")
@example(names=["a", "b"], majors=[12, 13, 14, 15], extra="", alike=True, user="outside")
def test_folders_of_one_library_in_several_majors_are_variants(
    names: list[str], majors: list[int], extra: str, *, alike: bool, user: str
) -> None:
    """As triton has two of CUPTI, whose folders name no version of CUDA."""
    hosts = []
    for number, (name, major) in enumerate(zip(names, majors, strict=False)):
        folder, version = f"x/lib/{name}", major if alike or number else majors[0]
        soname = f"libcupti.so.{version if alike or number else majors[1]}"
        hosts.append(host(f"{folder}/{soname}", "run", soname=soname))
        hosts.append(host(f"{folder}/libnvperf.so", soname="libnvperf.so"))
        if extra == "all" or (extra == "first" and not number):
            hosts.append(host(f"{folder}/libmore.so"))
        if user != "none":
            place = f"{folder}/libuser.so" if user == "inside" else f"x/_user{number}.so"
            hosts.append(host(place, needs=(soname,)))
    several = len(names) > 1
    are_variants = several and alike and extra != "first" and user != "outside"
    assert versions(*hosts) == (sorted(map(str, majors[: len(names)])) if are_variants else [])


@pytest.mark.parametrize(
    "paths",
    [
        ("a/libcupti.so.12", "a/libcupti.so.13"),
        ("a/libcupti.so.12", "b/c/libcupti.so.13"),
        ("a/libcupti.so.12", "b/libcublas.so.13"),
        ("a/libmine.so.12", "b/libmine.so.13"),
        ("a/libcurand.so.10", "b/libcurand.so.10"),
    ],
    ids=["one folder", "not beside", "two libraries", "not of CUDA", "one major"],
)
def test_other_sonames_tell_no_variants(paths: tuple[str, str]) -> None:
    assert versions(*(host(path, "run", soname=path.rsplit("/", 1)[-1]) for path in paths)) == []


# What a package does, from bytes to words.


def library(folder: Path, name: str, cubin: Path, *, source: str = "", needs: str = "") -> bytes:
    """A library that exports ``run`` and has a cubin inside."""
    code = (
        '__asm__(".section .nv_fatbin,\\"a\\"\\n.balign 8\\n'
        f'.incbin \\"{cubin}\\"\\n.previous\\n");'
    )
    stubs = [build(folder / "stubs" / needs)] if needs else []
    text = f"{code}\n{source or 'void run(void) {}'}\n"
    return build(folder / name, source=text, needs=stubs).read_bytes()


def both(folder: Path, shape: str) -> dict[str, bytes]:
    """A library for CUDA 12 and one for CUDA 13."""
    return {
        shape.format("12"): library(folder, "x12.so", OF_12),
        shape.format("13"): library(folder, "x13.so", OF_13),
    }


def verdicts(path: Path, *targets: str) -> list[Verdict]:
    found = ltocompat.check(path, targets)
    return [r.verdict for r in found if r.gpu is not None]


def of(path: Path, target: str) -> Result:
    (found,) = [r for r in ltocompat.check(path, target) if r.gpu is not None]
    return found


SHAPES = ("x/libx_cuda{}.so", "x/cu{}/libx.so", "x/cuda_{}/y/_x.cpython-312.so")


@needs_gcc
@pytest.mark.parametrize("shape", SHAPES)
@strikes("VAR-01")
def test_the_variant_that_fits_best_decides_on_each_target(tmp_path: Path, shape: str) -> None:
    path = wheel(tmp_path, both(tmp_path, shape))
    old, new = of(path, DRIVER_12), of(path, DRIVER_13)
    assert (old.verdict, new.verdict) == (Verdict.OK, Verdict.OK)
    assert [(v.version, v.verdict, v.decides) for v in old.variants] == [
        ("12", Verdict.OK, True),
        ("13", Verdict.FAIL, False),
    ]
    assert [(v.version, v.decides) for v in new.variants] == [("12", False), ("13", True)]
    assert verdicts(path, "driver=450.80.02,gpu=a100") == [Verdict.FAIL]
    alone = of(Path(f"{path}::{shape.format('13')}"), DRIVER_12)
    assert (alone.verdict, alone.variants) == (Verdict.FAIL, ())


def _look_so(folder: Path) -> Mapping[str, Mapping[str, bytes]]:
    old, new = both(folder, "{}").values()
    other = library(folder, "y13.so", OF_13, source="void go(void) {} void stop(void) {}")
    user = library(folder, "user.so", OF_12, needs="libx_cuda13.so")
    return {
        "sonames": {"x/libx.so.12": old, "x/libx.so.13": new},
        "other exports": {"x/libx_cuda12.so": old, "x/libx_cuda13.so": other},
        "needed": {"x/libx_cuda12.so": old, "x/libx_cuda13.so": new, "x/_core.so": user},
        "architectures": {"x/libx_sm80.so": old, "x/libx_sm90.so": new},
        "other stems": {"x/libx_cuda12.so": old, "x/liby_cuda13.so": new},
        "beside": {"x/libx_cuda12.so": old, "x/libx_cuda13.so": old, "x/_core.so": new},
    }


FOLDERS_OF_CUPTI = ("x/cupti/libcupti.so.12", "x/cupti-blackwell/libcupti.so.13")


def of_cupti(folder: Path) -> dict[str, bytes]:
    """Equal but for the CUDA of their code, so that they share all else that is judged."""
    code = zip(FOLDERS_OF_CUPTI, (OF_12, OF_13), strict=True)
    found = {path: library(folder, Path(path).name, cubin) for path, cubin in code}
    helper = library(folder, "libhelper.so", OF_12)
    return found | {f"{Path(path).parent}/libhelper.so": helper for path in FOLDERS_OF_CUPTI}


@needs_gcc
def test_of_a_library_in_two_majors_the_one_that_fits_best_decides(tmp_path: Path) -> None:
    members = of_cupti(tmp_path)
    result = of(wheel(tmp_path, members), DRIVER_12)
    assert result.verdict is Verdict.OK
    assert result.coverage.modules == 2
    assert [(v.name, v.verdict, v.decides) for v in result.variants] == [
        ("x/cupti", Verdict.OK, True),
        ("x/cupti-blackwell", Verdict.FAIL, False),
    ]
    for number, path in enumerate(FOLDERS_OF_CUPTI):
        stub = build(tmp_path / "stubs" / Path(path).name)
        members[f"x/_user{number}.so"] = build(tmp_path / "u.so", needs=[stub]).read_bytes()
    assert verdicts(wheel(tmp_path, members), DRIVER_12) == [Verdict.FAIL]


@needs_gcc
@spares("VAR-01")
def test_none_that_only_look_so_are_folded(tmp_path: Path) -> None:
    """Each package has a file that a driver of CUDA 12 refuses, and that may always be in use."""
    for what, members in _look_so(tmp_path).items():
        path = wheel(tmp_path, members)
        assert verdicts(path, DRIVER_12) == [Verdict.FAIL], what


@needs_gcc
def test_require_tells_what_the_best_variant_needs(tmp_path: Path) -> None:
    path = wheel(tmp_path, both(tmp_path, "x/cu{}/libx.so"))
    (whole,) = ltocompat.require(path)
    floors = {each.name: each.driver for each in whole.variants}
    assert list(floors) == ["x/cu12", "x/cu13"]
    assert whole.driver_sass == floors["x/cu12"]
    assert str(floors["x/cu13"]) == "580.65.06"
    (service,) = [each for each in whole.services if each.number == 80]
    (alone,) = ltocompat.require(f"{path}::x/cu12/libx.so")
    (expected,) = [each for each in alone.services if each.number == 80]
    assert service.driver == expected.driver


CODES = (
    OF_12,
    OF_13,
    OF_SM_90,
    FOLDER / "fatbin" / "nvfatbin-13.5-mixed-makers.fatbin",
    FOLDER / "fatbin-ltoir" / "nvfatbin-13.1-of-13.1-lto_80.fatbin",
)


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a library of each code."""
    folder = tmp_path_factory.mktemp("libraries")
    for code in CODES:
        library(folder, f"{code.stem}.so", code)
    return folder


@needs_gcc
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shape=st.sampled_from(SHAPES),
    codes=st.dictionaries(
        st.sampled_from(("11", "12", "13")), st.sampled_from([c.stem for c in CODES]), min_size=1
    ),
    common=st.none() | st.sampled_from([code.stem for code in CODES]),
    of_tests=st.none() | st.sampled_from((OF_12, OF_13)),
)
def test_inspect_names_the_driver_that_require_names(  # noqa: PLR0917 - fixtures and what is drawn
    tmp_path: Path,
    libraries: Path,
    shape: str,
    codes: Mapping[str, str],
    common: str | None,
    of_tests: Path | None,
) -> None:
    """Of packages with variants and without, with loose images that decide nothing."""
    members = {
        shape.format(tag): (libraries / f"{code}.so").read_bytes() for tag, code in codes.items()
    }
    if common:
        members["x/_core.so"] = (libraries / f"{common}.so").read_bytes()
    if of_tests:
        members["x/tests/loose.cubin"] = of_tests.read_bytes()
    path = wheel(tmp_path, members)
    line = written("table", REPORT, ltocompat.inspect(path)).splitlines()[1]
    (asked,) = ltocompat.require(path)
    named = re.findall(r"[0-9]+(?:\.[0-9]+)+", line.partition("need driver")[2])
    floors = [floor for floor in (asked.driver_sass, asked.driver_ptx) if floor]
    assert named == [str(f) for n, f in enumerate(floors) if n == 0 or f > floors[0]]
    variants = len(asked.variants)
    assert not floors or (f"the lowest of {variants} variants" in line) is (variants > 0)


@needs_gcc
def test_a_policy_says_that_all_are_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = wheel(tmp_path, both(tmp_path, "x/libx_cuda{}.so"))
    policy = '[targets.old]\ndriver = "535.104.05"\ngpu = ["a100"]\n'
    for more, code in (("", 0), ("[audit]\nvariants = []\n", 1)):
        Path("ltocompat.toml").write_text(policy + more, "utf-8")
        assert run(["audit", str(path)]) == code, capsys.readouterr().out


@needs_gcc
@pytest.mark.parametrize("shape", SHAPES)
def test_init_writes_the_variants_that_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shape: str
) -> None:
    """The policy passes, needs no more than the best variant does, and has the same variants."""
    monkeypatch.chdir(tmp_path)
    path = wheel(tmp_path, both(tmp_path, shape))
    assert run(["init", str(path)]) == 0
    written = Path("ltocompat.toml").read_text("utf-8")
    names = [shape.format(tag) for tag in ("12", "13")]
    (patterns,) = [line for line in written.splitlines() if line.startswith("variants = ")]
    (pattern,) = json.loads(patterns.removeprefix("variants = "))
    assert all(fnmatchcase(name, pattern) for name in names)
    assert 'driver = "580' not in written
    assert run(["audit", str(path), "--format", "json"]) == 0
    out = capsys.readouterr().out
    (result,) = [r for r in json.loads(out[out.index("{") :])["results"] if r["gpu"] == "sm_80"]
    assert [(v["version"], v["decides"]) for v in result["variants"]] == [
        ("12", True),
        ("13", False),
    ]


@needs_gcc
def test_a_policy_of_init_leaves_variants_that_no_pattern_names_to_be_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Folders of one library in two majors, alone and beside variants that names tell."""
    monkeypatch.chdir(tmp_path)
    by_major = wheel(tmp_path, of_cupti(tmp_path), name="liby")
    by_name = wheel(tmp_path, both(tmp_path, SHAPES[0]))
    for paths in ([str(by_major)], [str(by_major), str(by_name)]):
        Path("ltocompat.toml").unlink(missing_ok=True)
        assert run(["init", *paths]) == 0
        written = Path("ltocompat.toml").read_text("utf-8")
        assert "variants" not in written
        assert 'driver = "580' not in written
        assert run(["audit", *paths]) == 0
    capsys.readouterr()


def installed(folder: Path, members: Mapping[str, bytes]) -> Path:
    """A folder of packages as pip leaves it, with one distribution."""
    site = folder / "site-packages"
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir()
    with zipfile.ZipFile(wheel(folder, members)) as archive:
        archive.extractall(site)
        names = archive.namelist()
    (site / "libx-1.0.dist-info" / "RECORD").write_text("".join(f"{name},,\n" for name in names))
    return site


@needs_gcc
@pytest.mark.parametrize("shape", SHAPES)
def test_of_installed_files_those_that_are_not_opened_do_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shape: str
) -> None:
    """Each has its own row, and its own verdict, as it has alone."""
    members = both(tmp_path, shape)
    site = installed(tmp_path, members)
    assert run(["check", str(site), "--deploy-target", DRIVER_12]) == 0, capsys.readouterr()
    rows = {Path(r.path): r for r in ltocompat.check(site, DRIVER_12)}
    old, new = (rows[site / shape.format(tag)] for tag in ("12", "13"))
    assert (old.verdict, new.verdict) == (Verdict.OK, Verdict.FAIL)
    assert (old.forgiven, new.forgiven) == ("", "another variant decides")
    (alone,) = ltocompat.check(site / shape.format("13"), DRIVER_12)
    assert alone.verdict is new.verdict
    assert run(["check", str(site), "--deploy-target", "driver=450.80.02,gpu=a100"]) == 1
    capsys.readouterr()


@needs_gcc
def test_of_installed_folders_in_two_majors_one_is_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in the wheel that they come from; the helper beside each library is in its variant."""
    site = installed(tmp_path, of_cupti(tmp_path))
    assert run(["check", str(site), "--deploy-target", DRIVER_12]) == 0, capsys.readouterr()
    rows = {Path(r.path): r for r in ltocompat.check(site, DRIVER_12)}
    old, new = (rows[site / path] for path in FOLDERS_OF_CUPTI)
    assert (old.verdict, new.verdict) == (Verdict.OK, Verdict.FAIL)
    assert (old.forgiven, new.forgiven) == ("", "another variant decides")
    helpers = [rows[site / path.parent / "libhelper.so"] for path in map(Path, FOLDERS_OF_CUPTI)]
    assert [each.forgiven for each in helpers] == ["", "another variant decides"]
    assert run(["check", str(site), "--deploy-target", "driver=450.80.02,gpu=a100"]) == 1
    capsys.readouterr()


@needs_gcc
def test_an_installed_file_that_another_one_needs_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the other one has no device code, and so no row."""
    members = both(tmp_path, "x/libx_cuda{}.so")
    stub = build(tmp_path / "stubs" / "libx_cuda13.so")
    members["x/_core.so"] = build(tmp_path / "core.so", needs=[stub]).read_bytes()
    site = installed(tmp_path, members)
    assert run(["check", str(site), "--deploy-target", DRIVER_12]) == 1, capsys.readouterr()
    capsys.readouterr()
