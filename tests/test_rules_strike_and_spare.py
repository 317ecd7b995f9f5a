"""Every rule has a case in which it strikes and one in which it spares.

Tests say it themselves (``@strikes``, ``@spares``); those that no other file has stand here.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
import recorded
from every_case import every
from fatbin_writer import KINDS, EntrySpec, entry, region
from link_cases import Given, bare, fatbin
from newest import ptx_beyond
from report_values import valid_json
from rule_cases import WORDS, marked, spares, strikes
from samples import FOLDER

import ltocompat
from ltocompat.cli import run
from ltocompat.commands.explain import explain
from ltocompat.facts.gpus import GpuModel, gpu_models
from ltocompat.model.errors import Missing
from ltocompat.model.verdict import Level, Verdict
from ltocompat.rules.prose import rules


@every("rule_id", [rule.id for rule in rules()])
def test_every_rule_has_a_test_that_strikes_and_one_that_spares(rule_id: str) -> None:
    assert {word for word in WORDS if (rule_id, word) in marked()} == set(WORDS)


def test_tests_speak_of_rules_that_there_are() -> None:
    assert {rule_id for rule_id, _ in marked()} == {rule.id for rule in rules()}


def found(target: str, *paths: str, together: bool = False) -> set[str]:
    """The rules that speak of samples on a target, be it by a note."""
    names = [str(FOLDER / path) for path in paths]
    results = ltocompat.check(names, [target], together=together)
    return {finding.rule for result in results for finding in result.findings}


@strikes("IMG-03")
@spares("IMG-03")
def test_modules_without_kernels_are_told_where_nothing_else_serves() -> None:
    target = "driver=580.95.05,gpu=sm_80"
    assert "IMG-03" in found(target, "cubin/nvcc-13.0-sm_80-without-kernels.cubin")
    assert "IMG-03" not in found(target, "cubin/nvcc-13.0-sm_80.cubin")


AXPY, SCALE = "objects/nvcc-13.5-lto.o", "objects/nvcc-13.5-rdc-scale.o"
OPTIONS = "fatbin-ltoir/nvfatbin-13.0-options.fatbin"  # its LTO-IR: -ftz=1 -prec-div=0
PROGRAM = "objects/nvcc-13.5-lto+sass.o"  # its LTO-IR: -ftz=0 -prec_div=1


@pytest.mark.parametrize(
    ("rule_id", "strikes", "spares", "paths"),
    [
        (
            "SASS-06",
            "driver=580,gpu=b200",
            "driver=580,gpu=h100",
            ["cubin/nvrtc-13.0-sm_90a.cubin"],
        ),
        ("BLD-03", "nvlink=13.5,gpu=sm_75", "nvlink=13.5,gpu=sm_80", ["objects/nvcc-13.5-lto.o"]),
        ("TGT-01", "gpu=h100", "driver=580,gpu=h100", ["cubin/nvrtc-13.0-sm_90.cubin"]),
        (
            "LTO-03",
            "nvjitlink=13.0,gpu=h100",
            "nvjitlink=13.0,gpu=b200",
            ["ltoir/nvrtc-13.0-lto_100.ltoir"],
        ),
        (
            "LTO-14",
            "nvjitlink=13.0,gpu=sm_120",
            "nvjitlink=13.0,gpu=sm_120a",
            ["fatbin-ltoir/nvfatbin-13.0-of-13.0-lto_120a-none.fatbin"],
        ),
        # CUDA 13 has one name for the architecture, CUDA 12.9 the other; sm_100 is another one.
        (
            "LTO-03",
            "nvjitlink=13.0,gpu=sm_103",
            "nvjitlink=13.0,gpu=sm_110",
            ["fatbin-ltoir/nvfatbin-13.0-of-13.0-lto_110f-none.fatbin"],
        ),
    ],
)
@strikes("SASS-06", "LTO-03", "LTO-14", "BLD-03", "TGT-01")
@spares("SASS-06", "LTO-03", "LTO-14", "BLD-03", "TGT-01")
def test_a_rule_strikes_on_one_target_and_spares_another(
    rule_id: str, strikes: str, spares: str, paths: list[str]
) -> None:
    assert rule_id in found(strikes, *paths)
    assert rule_id not in found(spares, *paths)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("target", ["gpu=h100", "driver=550|580", "R580"])
@pytest.mark.parametrize("path", ["objects/nvcc-13.5-rdc-axpy.o", "ltoir/nvrtc-13.0-lto_80.ltoir"])
def test_the_target_that_a_fix_shows_has_the_missing_key(
    target: str, path: str, *, named: bool
) -> None:
    def missing(spelling: str) -> dict[str, str]:
        results = ltocompat.check(str(FOLDER / path), [spelling])
        found = (finding for result in results for finding in result.findings)
        return {each.message: each.remedy for each in found if each.rule == "TGT-01"}

    checked = f"name=edge,{target}" if named and "=" in target else target
    for message, remedy in missing(checked).items():
        shown = remedy.rpartition(", for example ")[2]
        assert message not in missing(f"{checked},{shown}" if checked != target else shown)


def test_no_code_for_a_gpu_names_the_error_of_its_launch_and_the_toolkits_for_the_gpu() -> None:
    """Errors of the driver 580.159.04 on an H200: 209 plain, 500 or 300 for device-linked modules.

    The toolkits are those of ``ptxas --help``, release by release.
    """
    for path, error in (("nvcc-13.0-plain-sass", "error 209"), ("nvcc-13.0-rdc-sass", "error 500")):
        for gpu, releases in (("sm_30", "10.2 or older"), ("sm_37", "11.8 or older"), ("h100", "")):
            (result,) = ltocompat.check(str(FOLDER / "objects" / path), [f"driver=470,gpu={gpu}"])
            finding = result.findings[0]
            assert (finding.rule, error in finding.message) == ("SASS-06", True)
            assert ("with CUDA" in finding.remedy) == bool(releases)
            assert releases in finding.remedy


@strikes("TGT-02")
@spares("TGT-02")
def test_a_route_that_no_module_goes_is_told() -> None:
    target = "driver=580,nvjitlink=13.5,gpu=sm_80"
    program, waiting = "objects/nvcc-13.5-plain-sass", "objects/nvcc-13.5-rdc-axpy.o"
    for path, route, other in ((program, "link", "load"), (waiting, "load", "link")):
        (impossible,) = ltocompat.check(str(FOLDER / path), [target], route=route)
        (possible,) = ltocompat.check(str(FOLDER / path), [target], route=other)
        assert str(impossible.verdict) == "unknown"
        assert not impossible.coverage.served
        assert {"TGT-02"} == {finding.rule for finding in impossible.findings} - {
            "BLD-01",
            "PTX-07",
        }
        assert "TGT-02" not in {finding.rule for finding in possible.findings}


@strikes("TGT-04")
@spares("TGT-04")
@pytest.mark.parametrize(
    ("name", "system", "fails"),
    [
        ("libsaxpy.so", "linux-aarch64", True),
        ("libsaxpy.so", "windows", True),
        ("libsaxpy.so", "linux", False),
        ("libsaxpy.so", "wsl2", False),
        ("saxpy.dll", "linux", True),
        ("saxpy.dll", "windows", False),
        ("bin2c.o", "windows", False),  # an object is linked, not loaded
    ],
)
def test_what_is_built_for_another_platform_fails_and_a_release_may_have_it(
    tmp_path: Path, name: str, system: str, *, fails: bool
) -> None:
    """The target has to name its system: without ``os=``, a file is checked for its own."""
    target, path = "driver=595.45.04,gpu=l4", FOLDER / "objects" / name
    assert "TGT-04" not in found(target, str(path))
    (result,) = [r for r in ltocompat.check(path, f"os={system},{target}", floors=False) if r.gpu]
    assert ("TGT-04" in {f.rule for f in result.findings}) is fails
    assert result.verdict is Verdict.FAIL or not fails
    wheel = tmp_path / "x-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(path, f"x/{name}")
    (packed,) = [r for r in ltocompat.check(wheel, f"os={system},{target}", floors=False) if r.gpu]
    assert packed.verdict is result.verdict
    answer = ltocompat.audit(wheel, targets=f"os={system},{target}")
    audited = [each.checked for each in answer if isinstance(each, ltocompat.Audited)]
    (row,) = [each for each in audited if each.gpu]  # its tag is the fault on every target
    levels = [finding.level for finding in row.findings if finding.rule == "TGT-04"]
    assert levels == [Level.WARNING] * fails
    assert row.verdict is not Verdict.FAIL


MODELS = {(model.number, model.cpu): model for model in gpu_models()}.values()
"""A model of each architecture, and one that is sold with Arm cores alone."""


@strikes("TGT-04")
@spares("TGT-04")
@pytest.mark.parametrize("name", ["libsaxpy.so", "saxpy.dll"])
@pytest.mark.parametrize("system", ["", "os=linux,", "os=linux-aarch64,"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_gpu_with_arm_cores_runs_no_program_of_x86(
    name: str, system: str, model: GpuModel
) -> None:
    """NVIDIA sells Jetson, GB10, GH200 and GB200 with Arm cores alone; an sm_ number names none."""
    words = re.split(r"\W+", model.name)
    arm = {*words} & {"Jetson", "Tegra", "GB10", "Spark", "GH200", "GH200L", "GB200", "GB300"}
    target = f"{system}driver=595.45.04,gpu={model.name}"
    (result,) = ltocompat.check(FOLDER / "objects" / name, target, floors=False)
    other = bool(arm) or system == "os=linux-aarch64," or (bool(system) and name == "saxpy.dll")
    told = [finding for finding in result.findings if finding.rule == "TGT-04"]
    assert bool(told) is other
    assert result.verdict is Verdict.FAIL or not told
    assert all((f"{model.name} has Arm cores" in each.message) is bool(arm) for each in told)
    by_number = target.replace(model.name, f"sm_{model.number}")
    if not system:
        assert "TGT-04" not in found(by_number, f"objects/{name}")


@strikes("BLD-08")
@spares("BLD-08")
def test_final_sass_is_not_linked_and_relocatable_sass_is() -> None:
    target = "nvjitlink=13.0,gpu=sm_80"
    for name, refused in (("nvrtc-12.4-sm_80", True), ("nvrtc-12.4-sm_80-rdc", False)):
        path = str(FOLDER / f"cubin/{name}.cubin")
        (result,) = ltocompat.check(path, [target], route="link")
        assert ("BLD-08" in {finding.rule for finding in result.findings}) is refused


@strikes("LTO-08")
@spares("LTO-08")
def test_lto_is_partial_where_one_of_two_objects_has_none() -> None:
    target = "nvlink=13.5,gpu=sm_80"
    assert "LTO-08" in found(target, AXPY, SCALE, together=True)
    assert "LTO-08" not in found(target, AXPY, together=True)
    assert "LTO-08" not in found(target, SCALE, together=True)


def ptx(name: str, body: str, kernel: str) -> str:
    """PTX with a function of this name and body, and a kernel that calls it."""
    return (
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        f"{body.replace('NAME', name)}\n"
        f".visible .entry {kernel}()\n{{\n call.uni {name}, ();\n ret;\n}}\n"
    )


DEFINED, DECLARED = ".visible .func NAME()\n{\n ret;\n}", ".extern .func NAME();"


@strikes("BLD-09", "BLD-10")
@spares("BLD-09", "BLD-10")
def test_two_definitions_and_none_at_all_are_told_of_one_link(tmp_path: Path) -> None:
    files = {
        "a": ptx("scale", DEFINED, "first"),
        "b": ptx("scale", DEFINED, "second"),
        "c": ptx("scale", DECLARED, "third"),
    }
    # No kernel needs what it misses: linkers leave it out.
    files["d"] = files["c"].replace(".entry third()", ".func third()")
    for name, text in files.items():
        (tmp_path / f"{name}.ptx").write_text(text, "ascii")

    def verdicts(names: str, linker: str) -> dict[str, str]:
        paths = [str(tmp_path / f"{name}.ptx") for name in names]
        (result,) = ltocompat.check(paths, [f"nvjitlink={linker},gpu=sm_80"], together=True)
        of_rules = {finding.rule: str(finding.verdict) for finding in result.findings}
        return {rule: of_rules[rule] for rule in ("BLD-09", "BLD-10") if rule in of_rules}

    assert verdicts("ab", "12.5") == {"BLD-09": "fail"}
    assert verdicts("ab", "12.6") == {"BLD-09": "undocumented"}
    assert verdicts("c", "13.0") == {"BLD-10": "fail"}
    assert verdicts("ac", "13.0") == verdicts("d", "13.0") == {}
    assert verdicts("aa", "12.5") == {"BLD-09": "fail"}


@strikes("BLD-05")
def test_an_object_with_ltoir_wants_dlto_again_and_a_finished_program_does_not() -> None:
    target = "nvlink=13.5,gpu=sm_80,driver=580"
    assert "BLD-05" in found(target, AXPY)
    assert "BLD-05" not in found(target, "objects/nvcc-13.5-lto-program")


@strikes("LTO-12")
@spares("LTO-12")
def test_options_of_one_link_are_compared() -> None:
    target = "nvjitlink=13.5,gpu=sm_90"
    assert "LTO-12" in found(target, OPTIONS, PROGRAM, together=True)
    assert "LTO-12" not in found(target, OPTIONS, together=True)
    assert "LTO-12" not in found(target, PROGRAM, together=True)


@strikes("IMG-02")
@spares("IMG-02")
def test_what_can_not_be_read_is_told_and_what_can_is_not() -> None:
    target = "nvjitlink=13.5,gpu=sm_80,driver=580"
    assert "IMG-02" in found(target, "broken/archive-member-size.a")
    assert "IMG-02" not in found(target, "objects/libaxpy.a")


@strikes("SASS-05")
@spares("SASS-05")
def test_sass_05_names_of_one_architecture_serve_each_other_and_no_neighbour() -> None:
    thor = "fatbin-ltoir/nvfatbin-13.0-of-13.0-lto_110f-none.fatbin"
    excluding = {"LTO-03", "LTO-14"}
    assert not found("nvjitlink=13.0,gpu=sm_110", thor) & excluding
    for neighbour in ("sm_100", "sm_103"):
        assert found(f"nvjitlink=13.0,gpu={neighbour}", thor) & excluding


@pytest.mark.parametrize(
    ("rule_id", "strikes", "spares"),
    [
        # What nvlink 13.0.88 and nvcc 12.6 say; the last words are those of other programs.
        (
            "BLD-04",
            "nvlink fatal   : Link target of 'lto_80' is virtual target that is not JIT-able",
            "the target of this link is a virtual machine",
        ),
        (
            "BLD-07",
            "nvcc fatal   : Unsupported gpu architecture 'compute_100f'",
            "error: unrecognized command-line option '-fgpu'",
        ),
    ],
)
@strikes("BLD-04", "BLD-07")
@spares("BLD-04", "BLD-07")
def test_a_rule_on_the_log_of_a_build_knows_its_message(
    rule_id: str, strikes: str, spares: str
) -> None:
    assert explain(strikes)[0].id == rule_id
    try:
        others = {entry.id for entry in explain(spares)}
    except Missing:
        others = set()
    assert rule_id not in others


@pytest.mark.parametrize(
    ("policy", "path", "rule_id", "verdict"),
    [
        # measured: CUDA 13 needs driver 580.65.06 (require says the same)
        ('least-driver = "535"', "cubin/nvrtc-13.0-sm_90.cubin", "POL-02", "fail"),
        ('least-driver = "580"', "cubin/nvrtc-13.0-sm_90.cubin", "POL-02", None),
        ('least-driver = "535"', "ptx/nvrtc-12.4-compute_80.ptx", "POL-02", "fail"),
        ('least-driver = "580"', "ptx/nvrtc-12.4-compute_80.ptx", "POL-02", None),
        ('least-driver = "580"', "ptx/nvrtc-13.5-compute_80.ptx", "POL-02", "fail"),
        ('least-driver = "999"', "", "POL-02", "unknown"),  # PTX that no driver in the tables reads
        ('require-archs = ["sm_90"]', "fatbin/nvcc-13.2-none.fatbin", "POL-01", "fail"),
        ('require-archs = ["sm_80"]', "objects/nvcc-13.0-plain.o", "POL-01", None),
        # SASS for sm_80, and PTX that newer architectures compile, but no older one
        ('require-gpus = ["l4", "h100"]', "fatbin/nvcc-13.2-none.fatbin", "POL-03", None),
        ('require-gpus = ["t4", "h100"]', "fatbin/nvcc-13.2-none.fatbin", "POL-03", "fail"),
        ("max-bytes = 1000", "fatbin/nvcc-13.2-none.fatbin", "POL-04", "fail"),
        ('max-bytes = "1MB"', "fatbin/nvcc-13.2-none.fatbin", "POL-04", None),
    ],
)
@strikes("POL-01", "POL-02", "POL-03", "POL-04")
@spares("POL-01", "POL-02", "POL-03", "POL-04")
def test_a_policy_strikes_and_spares(  # noqa: PLR0917 - a table and two fixtures
    policy: str,
    path: str,
    rule_id: str,
    verdict: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    targets = '[targets.prod]\ndriver = "580.95.05"\ngpu = "h100"\n'
    (tmp_path / "ltocompat.toml").write_text(f"{targets}[audit]\n{policy}\n", "utf-8")
    file = FOLDER / path if path else ptx_beyond(tmp_path)
    run(["audit", str(file), "--format", "json"])
    value = valid_json(capsys.readouterr().out)
    verdicts = {
        finding["rule"]: finding["verdict"]
        for result in value["results"]
        for finding in result["findings"]
    }
    assert verdicts.get(rule_id) == verdict


@strikes("FB-05")
@spares("FB-05")
def test_sass_that_the_first_nvjitlink_copies_is_unknown_there(tmp_path: Path) -> None:
    pieces, _ = recorded.parts()
    of_12 = {
        (piece.kind, piece.name, piece.arch): piece for piece in pieces if piece.release == "12.0"
    }

    def verdict(linker: str, file: Given) -> str:
        path = tmp_path / file.file
        path.write_bytes(file.data)
        targets = [f"{linker},gpu=sm_80"]
        (result,) = ltocompat.check(path, targets, route="link", together=True, cache=False)
        struck = {str(f.verdict) for f in result.findings if f.rule == "FB-05"}
        assert struck <= {str(result.verdict)}
        return struck.pop() if struck else "spared"

    sass, ptx = of_12["cubin", "first", "80"], of_12["ptx", "first", "80"]
    assert verdict("nvjitlink=12.0", fatbin(sass, compression="lz4")) == "unknown"
    assert verdict("nvjitlink=12.1", fatbin(sass, compression="lz4")) == "spared"
    assert verdict("nvjitlink=12.0", fatbin(sass)) == "spared"
    assert verdict("nvjitlink=12.0", bare(sass)) == "spared"
    assert verdict("nvjitlink=12.0", fatbin(ptx, compression="lz4")) == "spared"


@strikes("FB-04")
@spares("FB-04")
def test_an_entry_without_a_place_for_options_is_not_linked(tmp_path: Path) -> None:
    target = "nvjitlink=13.5,driver=615,gpu=sm_80"

    def verdicts(kind: str, sample: str, options: str | None) -> dict[str, set[str]]:
        path = tmp_path / "code.fatbin"
        spec = EntrySpec(KINDS[kind], (FOLDER / sample).read_bytes(), options=options)
        path.write_bytes(region([entry(spec)]))
        return {
            str(result.route): {finding.rule for finding in result.findings}
            for result in ltocompat.check(path, [target], cache=False)
        }

    ptx, ltoir = "ptx/nvrtc-12.4-compute_80.ptx", "ltoir/nvrtc-12.4-lto_80.ltoir"
    assert "FB-04" in verdicts("ptx", ptx, None)["link"]
    assert "FB-04" not in verdicts("ptx", ptx, None)["load"]
    assert "FB-04" not in verdicts("ptx", ptx, "")["link"]
    assert "FB-04" in verdicts("ltoir", ltoir, None)["None"]
    assert "FB-04" not in verdicts("ltoir", ltoir, "")["None"]
