"""What the keys of a policy make of real packages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from libraries_made import build, needs_gcc
from packages_made import library, wheel
from report_values import valid_json
from samples import FOLDER

from ltocompat.cli import run

Captured = pytest.CaptureFixture[str]
OLD, NEW = (FOLDER / "ptx" / f"nvrtc-{release}-compute_80.ptx" for release in ("12.4", "13.5"))
CUBIN = (FOLDER / "cubin" / "nvrtc-13.0-sm_90.cubin").read_bytes()
TARGET = '[targets.prod]\ndriver = "580"\nnvjitlink = "13.3"\ngpu = "h100"\n[audit]\n'


pytestmark = pytest.mark.usefixtures("folder")


def audit(path: Path, policy: str, capsys: Captured) -> tuple[int, list[dict[str, Any]]]:
    Path("ltocompat.toml").write_text(TARGET + policy, "utf-8")
    capsys.readouterr()
    code = run(["audit", str(path), "--format", "json"])
    return code, valid_json(capsys.readouterr().out)["results"]


def test_what_is_no_variant_is_judged_with_each(folder: Path, capsys: Captured) -> None:
    """A pattern that takes the wrong file for a variant of itself hides nothing beside it."""
    path = wheel(folder, {"k/x_1.cubin": CUBIN, "k/x_2.cubin": CUBIN, "k/y.ptx": NEW.read_bytes()})
    assert audit(path, 'variants = ["x_*.cubin"]', capsys)[0] == 3
    bad = wheel(folder, {"k/x_1.ptx": NEW.read_bytes(), "k/x_2.ptx": NEW.read_bytes()}, name="bad")
    assert audit(bad, 'variants = ["x_*.ptx"]', capsys)[0] == 1


@needs_gcc
def test_a_dependency_brings_what_the_policy_says_where_it_is_required(
    folder: Path, capsys: Captured
) -> None:
    host = library(folder, needs=["libnvJitLink.so.13"], imports=["nvJitLinkX"])
    members = {"k/libx.so": host, "k/x.cubin": CUBIN}
    provided = 'provided-by = {torch = ["libnvJitLink.so.*"]}'
    alone = wheel(folder, members, name="alone")
    asking = wheel(folder, members, ["torch>=2.4"], name="asking")
    assert [audit(path, "", capsys)[0] for path in (alone, asking)] != [0, 0]
    assert audit(alone, provided, capsys)[0] != 0
    assert audit(asking, provided, capsys)[0] == 0
    exact = wheel(folder, members, ["nvidia-nvjitlink==13.0.*"], name="exact")
    assert audit(exact, 'provided-by = {nvidia-nvjitlink = ["libnvrtc.so.*"]}', capsys)[0] != 0


@needs_gcc
@pytest.mark.parametrize("debug", [True, False])
def test_a_large_library_with_debug_sections_is_to_be_stripped(
    folder: Path, capsys: Captured, *, debug: bool
) -> None:
    """By as many bytes as ``strip --strip-debug`` frees of its sections .debug_*."""
    source = "int answer(int x) { return x + 42; }"
    path = build(folder / "libx.so", source=source, flags=["-g"] if debug else [])
    _, results = audit(path, "max-bytes = 10\nno-device-code = 'pass'", capsys)
    (finding,) = (f for r in results for f in r["findings"] if f["rule"] == "POL-04")
    assert bool(re.search(r", strip [\d,]+ bytes of debug sections", finding["remedy"])) is debug


def ptx(*kernels: str) -> bytes:
    """PTX of CUDA 13.5, which driver 580 refuses."""
    entries = "".join(f".visible .entry {k}()\n{{\nbar.sync 0;\nret;\n}}\n" for k in kernels)
    return f".version 9.4\n.target sm_80\n.address_size 64\n{entries}".encode()


def ignoring(kernel: str, rule: str = "PTX-01") -> str:
    keys = {"rule": rule, "kernel": kernel, "reason": "never launched", "expires": "2099-12-31"}
    return "[[audit.ignore]]\n" + "".join(f'{key} = "{text}"\n' for key, text in keys.items())


def test_an_ignore_by_kernel_is_about_findings_that_strike_such_kernels_alone(
    folder: Path, capsys: Captured
) -> None:
    probes = wheel(folder, {"k/x.ptx": ptx("_ZN3lib10nopProbeAEv", "_ZN3lib10nopProbeBEv")})
    mixed = wheel(folder, {"k/x.ptx": ptx("_ZN3lib10nopProbeAEv", "_ZN3lib3runEv")}, name="mixed")
    links = ignoring("*nopProbe*", "PTX-02")
    for kernel in ("*nopProbe*", "lib::nop*"):
        code, results = audit(probes, ignoring(kernel) + links, capsys)
        assert (code, results[0]["findings"][0]["standing"]) == (0, "ignored")
    assert audit(probes, ignoring("run") + links, capsys)[0] == 1
    code, results = audit(mixed, ignoring("*nopProbe*") + links, capsys)
    (finding,) = (f for f in results[0]["findings"] if f["rule"] == "PTX-01")
    assert (code, finding["standing"]) == (1, "counts")
    assert finding["remedy"].endswith("covers only a part of it: there is _ZN3lib3runEv")


def test_an_exception_for_another_gpu_is_not_called_superfluous(
    folder: Path, capsys: Captured
) -> None:
    path = wheel(folder, {"k/x.ptx": ptx("run")})
    other = ignoring("*") + 'gpu = ["v100"]\n'
    Path("ltocompat.toml").write_text(TARGET + other, "utf-8")
    assert run(["audit", str(path)]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "no PTX-01 finding: compare path, target, gpu and about (here 'PTX')" in text


def test_an_exception_for_an_architecture_is_for_all_its_gpus(
    folder: Path, capsys: Captured
) -> None:
    path = wheel(folder, {"k/x.ptx": ptx("run")})
    for gpu, code in (("sm_90", 0), ("sm_80", 1)):
        both = (ignoring("*", rule) + f'gpu = ["{gpu}"]\n' for rule in ("PTX-01", "PTX-02"))
        assert audit(path, "".join(both), capsys)[0] == code, gpu


def test_an_ignore_by_kernel_that_no_finding_needs_is_told(folder: Path, capsys: Captured) -> None:
    path = wheel(folder, {"k/x.ptx": ptx("run")})
    Path("ltocompat.toml").write_text(TARGET + ignoring("rum"), "utf-8")
    assert run(["audit", str(path)]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "audit.ignore[0] (PTX-01 for kernels rum): it covers only a part of the finding: there is "
        "run" in text
    )
