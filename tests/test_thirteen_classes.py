"""Thirteen classes of wrong verdicts on packages, each on inputs of its own.

Every row was written before the first run, with whom the expectation comes from: what was put in,
the layout of files, the loader (ldd), pip, or NVIDIA's documents.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fatbin_writer as writer
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from libraries_made import GCC, build, needs_gcc
from package_writer import zip_of, zstd
from packages_made import library, wheel
from samples import FOLDER
from test_installed_packages import findings, installed

import ltocompat
from ltocompat.cli import run
from ltocompat.model.verdict import Verdict

pytestmark = [needs_gcc, pytest.mark.slow]
FAIL, UNKNOWN, UNDOCUMENTED, OK = (
    Verdict.FAIL,
    Verdict.UNKNOWN,
    Verdict.UNDOCUMENTED,
    Verdict.OK,
)
R525, R580 = "driver=525.60.13,gpu=a100", "driver=580.65.06,gpu=a100"
Rules = set[tuple[str, Verdict]]
Captured = pytest.CaptureFixture[str]


def sass(arch: int, kernel: bytes = b"saxpy", compression: str = "none") -> writer.EntrySpec:
    code = (FOLDER / "cubin" / f"nvrtc-12.4-sm_{arch}.cubin").read_bytes()
    code = code.replace(b"saxpy", kernel)
    return writer.EntrySpec(
        writer.KINDS["sass"], code, sm=arch, version=(12, 4), compression=compression
    )


def ptx(release: str, kernel: bytes = b"saxpy") -> writer.EntrySpec:
    code = (FOLDER / "ptx" / f"nvrtc-{release}-compute_80.ptx").read_bytes()
    return writer.EntrySpec(writer.KINDS["ptx"], code.replace(b"saxpy", kernel), version=(9, 5))


def host(path: Path, *regions: Sequence[writer.EntrySpec], data: bytes = b"") -> Path:
    """A library with these registered regions, and bytes in .rodata."""
    lines = []
    for number, entries in enumerate(regions):
        region = path.with_suffix(f".{number}.fatbin")
        region.write_bytes(writer.region([writer.entry(each) for each in entries]))
        lines += [
            '.section .nv_fatbin, "a"',
            f'.balign 8\nr{number}: .incbin "{region}"',
            '.section .nvFatBinSegment, "aw"',
            f".balign 8\n.int 0x466243b1, 1\n.quad r{number}, 0",
        ]
    if data:
        blob = path.with_suffix(".blob")
        blob.write_bytes(data)
        lines += ['.section .rodata, "a"', f'.balign 8\n.incbin "{blob}"']
    text = "".join(f"{line}\n" for line in lines).replace('"', '\\"').replace("\n", "\\n")
    return build(path, source=f'asm("{text}.text");')


def checked(
    capsys: Captured, *paths: Path | str, target: str = R580, options: Sequence[str] = ()
) -> tuple[int, list[dict[str, Any]], str]:
    """Exit code, results and the text of a check."""
    words = ["check", *map(str, paths), "--deploy-target", target, *options]
    capsys.readouterr()
    code = run([*words, "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    run([*words, "--notes"])
    return code, document["results"], capsys.readouterr().out


def rules(results: Sequence[Mapping[str, Any]], least: str = "undocumented") -> set[str]:
    order = ["ok", "jit", "undocumented", "unknown", "fail"]
    return {
        finding["rule"]
        for result in results
        for finding in result["findings"]
        if order.index(finding["verdict"]) >= order.index(least)
    }


# 1. Zstandard frames that no driver sees: a driver is given fatbin entries, nothing else.


@pytest.mark.parametrize(
    ("where", "code"), [("naked in .rodata", 0), ("a member of a wheel", 0), ("an entry", 1)]
)
def test_frames_that_a_library_unpacks_itself(
    where: str, code: int, tmp_path: Path, capsys: Captured
) -> None:
    cubin = (FOLDER / "cubin" / "nvrtc-12.4-sm_80.cubin").read_bytes()
    if where == "naked in .rodata":
        path = host(tmp_path / "x.so", [sass(80)], data=zstd(cubin))
    elif where == "an entry":
        path = host(tmp_path / "x.so", [sass(80, compression="zstd")])
    else:
        inside = {
            "x/x.so": host(tmp_path / "x.so", [sass(80)]).read_bytes(),
            "x/k.cubin.zst": zstd(cubin),
        }
        path = wheel(tmp_path, inside)
    found, results, _ = checked(capsys, path, target=R525)
    assert (found, "FB-01" in rules(results)) == (code, bool(code))


# 2. Units split by architecture: a module's PTX is asked for only where none has SASS.


@pytest.mark.parametrize(
    ("unit", "files", "code"),
    [(b"saxpy", 1, 0), (b"daxpy", 1, 1), (b"saxpy", 2, 1)],
    ids=["split", "another kernel", "another library, which is loaded by itself"],
)
def test_units_split_by_architecture(
    unit: bytes, files: int, code: int, tmp_path: Path, capsys: Captured
) -> None:
    """R580 is CUDA 13.0: it compiles no PTX of 13.5 (release notes, table 3)."""
    old, new = [sass(80)], [sass(90, unit), ptx("13.5", unit)]
    if files == 1:
        path = host(tmp_path / "x.so", old, new)
    else:
        parts = {
            f"x/{name}.so": host(tmp_path / f"{name}.so", region).read_bytes()
            for name, region in (("a", old), ("b", new))
        }
        path = wheel(tmp_path, parts)
    assert checked(capsys, path)[0] == code


# 3. A GPU that gets a part of the kernels of its neighbours: what was put in.


@pytest.mark.parametrize(
    ("kernels", "told"),
    [
        ({b"k_one": (80, 90), b"k_two": (90,), b"ktres": (90,), b"kfour": (90,)}, "3 of 4"),
        ({b"k_one": (80, 90), b"k_two": (80, 90), b"ktres": (90,)}, "1 of 3"),
        ({b"k_one": (80, 90), b"k_two": (80, 90), b"ksm90": (90,)}, ""),
    ],
    ids=["most are lost", "one is lost", "one is for another GPU by its name"],
)
def test_lost_kernels_are_told_on_the_first_screen(
    kernels: dict[bytes, tuple[int, ...]], told: str, tmp_path: Path, capsys: Captured
) -> None:
    regions = [[sass(arch, name) for arch in archs] for name, archs in kernels.items()]
    code, _, text = checked(capsys, host(tmp_path / "x.so", *regions))
    assert code == 0
    assert (f"{told} kernels have no code for sm_80" in text) if told else "IMG-04" not in text


# 4. Dependencies that pip resolves.


@pytest.mark.parametrize("given", ["a report of pip", "nothing", "a policy"])
def test_a_library_that_comes_through_another_package(
    given: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runpath = "$ORIGIN/../nvidia/cublas/lib"
    members = {"x/x.so": library(tmp_path, needs=["libcublas.so.12"], runpath=runpath)}
    members["x/k.cubin"] = (FOLDER / "cubin" / "nvrtc-12.4-sm_80.cubin").read_bytes()
    path = wheel(tmp_path, members, ["acme-runtime>=3"], name="solverx")
    if given == "a policy":
        Path("ltocompat.toml").write_text(
            '[targets.a]\ndriver = "580"\ngpu = "a100"\n'
            '[audit]\nprovided-by = {acme-runtime = ["*"]}\n'
        )
        assert run(["audit", str(path)]) == 0
        return
    report = tmp_path / "report.json"
    rows = [
        {"name": "acme-runtime", "version": "3.1", "requires_dist": ["nvidia-cublas-cu12"]},
        {"name": "nvidia-cublas-cu12", "version": "12.9.1.4"},
    ]
    report.write_text(json.dumps({"install": [{"metadata": row} for row in rows]}))
    options = ["--with", str(report)] if given == "a report of pip" else []
    code, results, text = checked(capsys, path, options=options)
    assert "PKG-01" not in rules(results)
    assert code == 0
    assert ("may come with acme-runtime" in text) == (given == "nothing")


# 5. The same files, another answer by the folder's name.


PIP = [sys.executable, "-m", "pip"]
NEEDS = ("libcusolver.so.11", "libnvrtc.so.13", "libcudnn.so.9")
REQUIRES = ((), ("nvidia-cublas-cu12",), ("nvidia-cudnn-cu12<9",))


@pytest.mark.nightly
def test_the_same_files_have_one_answer(tmp_path: Path) -> None:
    """pip itself installs them; one of the packages lies there alone each time."""
    for number, (needs, requires) in enumerate(zip(NEEDS, REQUIRES, strict=True)):
        members = {f"lib{number}/x.so": library(tmp_path, needs=[needs])}
        path = wheel(tmp_path, members, requires, name=f"lib{number}")
        installed(tmp_path / f"unzipped{number}", path)
        target = tmp_path / f"target{number}"
        pip = [*PIP, "install", "--no-deps", "--no-index", "--quiet", "--target", str(target)]
        subprocess.run([*pip, str(path)], check=True)
        answers = [findings(path), findings(tmp_path / f"unzipped{number}"), findings(target)]
        assert answers == answers[:1] * 3, (needs, requires)


# 6. An installed environment: pip check, and what lies there.

CONFLICTS = {
    "alpha": ("nvidia-cublas-cu12==12.4.5.8", "12.9.1.4"),
    "beta": ("nvidia-cufft-cu12>=11.2,<11.4", "11.3.3.83"),
    "gamma": ("nvidia-cusparse-cu12~=12.4", "13.1.0.3"),
}


@pytest.mark.nightly
def test_pip_check_never_knows_more(tmp_path: Path, capsys: Captured) -> None:
    site = tmp_path / "site"
    for name, (requires, version) in CONFLICTS.items():
        brings = re.split("[=<>~]", requires)[0]
        installed(site, wheel(tmp_path, {}, [requires], name=name))
        installed(site, wheel(tmp_path, {}, name=brings, version=version))
    variables = {"PYTHONPATH": str(site), "PATH": os.defpath}
    done = subprocess.run(
        [*PIP, "check"], env=variables, capture_output=True, text=True, check=False
    )
    known = {name for name in CONFLICTS if name in done.stdout}
    _, results, _ = checked(capsys, site)
    told = {
        finding["message"].split()[0]
        for result in results
        for finding in result["findings"]
        if finding["rule"] == "PKG-12" and finding["verdict"] != "ok"
    }
    assert told == known == {"alpha", "gamma"}


# 7. Exact pins, majors in names, libraries of old toolkits.


@pytest.mark.parametrize(
    ("name", "needs", "requires", "expected"),
    [
        ("libx", "libcusparse.so.12", "nvidia-cusparse==12.6.3.3", set()),
        ("libx-cuda114", "libcudart.so.12", "nvidia-cuda-runtime-cu12", {("PKG-05", FAIL)}),
        ("libx", "libcufft.so.9.2", "numpy", {("PKG-01", UNKNOWN)}),
    ],
    ids=["a pin admits no other major", "cuda114 is CUDA 11", "a library of CUDA 9"],
)
def test_versions_are_read_as_they_are_meant(
    name: str, needs: str, requires: str, expected: Rules, tmp_path: Path
) -> None:
    host = library(
        tmp_path,
        needs=[needs],
        runpath="$ORIGIN/../nvidia/cu13/lib:$ORIGIN/../nvidia/cuda_runtime/lib",
    )
    path = wheel(tmp_path, {"libx/x.so": host}, [requires], name=name)
    assert findings(path) == expected


# 8. PTX as text.


@pytest.mark.parametrize("where", ["x/k.yaml", "x/weights.bin", "x/x.so"])
def test_ptx_as_text_is_listed_with_its_place(where: str, tmp_path: Path, capsys: Captured) -> None:
    text = "// made here\n.version 8.5\n.target sm_89\n.address_size 64\n"
    data = {
        "x/k.yaml": f"kernel: |\n{text}".encode(),
        "x/weights.bin": bytes(70_000) + text.encode() + bytes(9),
        "x/x.so": host(tmp_path / "x.so", data=text.encode()).read_bytes(),
    }[where]
    path = wheel(tmp_path, {where: data})
    capsys.readouterr()
    assert run(["inspect", str(path)]) == 0
    assert (
        f"PTX 8.5 for sm_89, the first at {data.index(b'.version'):#x}" in capsys.readouterr().out
    )


def _in_zip(name: str, data: bytes) -> tuple[str, bytes]:
    return f"{name}.zip", zip_of((name, data))


def _in_tar(name: str, data: bytes) -> tuple[str, bytes]:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as file:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        file.addfile(member, io.BytesIO(data))
    return f"{name}.tar", packed.getvalue()


def _in_ar(name: str, data: bytes) -> tuple[str, bytes]:
    head = f"{f'{name[-15:]}/':16}{'0':12}{'0':6}{'0':6}{'644':8}{len(data):<10}`\n".encode()
    return f"{name}.a", b"!<arch>\n" + head + data + b"\n" * (len(data) % 2)


@given(
    form=st.sampled_from(("text", "JSON", "an object", "a library")),
    layers=st.lists(st.sampled_from((_in_zip, _in_tar, _in_ar)), max_size=2),
    arch=st.integers(75, 121),
)
@example(form="an object", layers=[_in_ar], arch=89)
@settings(max_examples=30, deadline=None)
def test_ptx_as_text_is_listed_wherever_it_lies(
    form: str, layers: list[Callable[[str, bytes], tuple[str, bytes]]], arch: int
) -> None:
    text = f"// made here\n.version 8.5\n.target sm_{arch}\n.address_size 64\n"
    with TemporaryDirectory() as folder:
        if form in ("text", "JSON"):
            name, words = "k.txt", json.dumps([text]) if form == "JSON" else f"kernel = `{text}`"
            data = words.encode()
        else:
            name = "k.o" if form == "an object" else "k.so"
            words = "".join(f"{line}\\n" for line in text.splitlines())
            Path(folder, "k.c").write_text(f'const char text[] = "{words}";')
            option = "-c" if form == "an object" else "-shared"
            command = [str(GCC), option, "-fPIC", f"{folder}/k.c", "-o", f"{folder}/{name}"]
            subprocess.run(command, check=True)
            data = Path(folder, name).read_bytes()
        for layer in layers:
            name, data = layer(name, data)
        path = Path(folder, f"given-{name}")
        path.write_bytes(data)
        found = [r for r in ltocompat.inspect(path) if isinstance(r, ltocompat.HostBinary)]
    told = [str(text) for host in found for text in host.ptx_texts]
    assert [f"PTX 8.5 for sm_{arch}" in line for line in told] == [True], (form, layers, told)


# 9. The policy: nothing invented, and no probe of a build system is a part of a build.


@pytest.mark.parametrize("what", ["a wheel of x86-64", "no device code", "probes of Meson"])
def test_a_policy_asks_what_a_package_can_do(
    what: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if what == "probes of Meson":
        probe = tmp_path / "build" / "meson-private"
        probe.mkdir(parents=True)
        # Meson compiles it for the oldest GPU and leaves it there (mesonbuild/compilers/cuda.py).
        host(probe / "sanitycheckcuda.exe", [ptx("13.5")])
        host(tmp_path / "build" / "libx.so", [sass(80)])
        assert checked(capsys, tmp_path / "build")[0] == 0
        return
    regions = [[sass(80), sass(90)]] if what == "a wheel of x86-64" else []
    members = {"x/x.so": host(tmp_path / "x.so", *regions).read_bytes()}
    path = wheel(tmp_path, members)
    capsys.readouterr()
    run(["init", str(path), "-o", "made.toml"])
    text = Path("made.toml").read_text()
    assert not any(word in text for word in ("sm_87", "sm_72", "sm_101", "orin", "615"))
    assert ("driver =" in text) == bool(regions)


# 10. A whole library of a wheel that has nothing for the GPU.


@pytest.mark.parametrize(
    ("libraries", "code"),
    [
        ({"x/a.so": (80, 90), "x/b.so": (90,)}, 1),
        ({"x/a.so": (80,), "x/b.so": (80, 90), "y/c.so": (90,)}, 1),
        ({"x/a_cuda118.so": (90,), "x/a_cuda124.so": (80, 90)}, 0),
    ],
    ids=["one of two", "one of three", "one of two variants"],
)
def test_a_library_with_nothing_for_the_gpu_is_as_alone(
    libraries: dict[str, tuple[int, ...]], code: int, tmp_path: Path, capsys: Captured
) -> None:
    members = {
        name: host(
            tmp_path / Path(name).name, [sass(arch, b"kern" + name[2].encode()) for arch in archs]
        ).read_bytes()
        for name, archs in libraries.items()
    }
    found, results, text = checked(capsys, wheel(tmp_path, members))
    assert (found, "SASS-06" in rules(results, "fail")) == (code, bool(code))
    if code:
        assert [*libraries][-1] in text


# 11. Remedies that make it worse, and what metapackages bring.


@pytest.mark.parametrize("case", ["bundled linker", "one file", "cuda-toolkit[all]"])
def test_no_remedy_makes_it_worse(case: str, tmp_path: Path) -> None:
    if case == "cuda-toolkit[all]":
        # METADATA of cuda-toolkit 12.9.1: Provides-Extra: all, which has nvidia-cusolver-cu12.
        code = library(
            tmp_path, needs=["libcusolver.so.11"], runpath="$ORIGIN/../nvidia/cusolver/lib"
        )
        path = wheel(tmp_path, {"libx/x.so": code}, ["cuda-toolkit[all]==12.9.*"])
        assert findings(path) == set()
        return
    opens = ["libnvrtc.so.13", "libnvrtc.so.12"]
    members = {}
    if case == "bundled linker":
        members["libx/libnvJitLink.so.12"] = build(tmp_path / "libnvJitLink.so.12").read_bytes()
        members["libx/x.so"] = library(tmp_path, needs=["libnvJitLink.so.12"], opens=opens)
    else:
        mark = "NVJITLINK_TRACE_MESSAGES"
        banner = "Cuda compilation tools, release 12.4, V12.4.131"
        members["libx/x.so"] = library(tmp_path, opens=[*opens, mark, banner])
    path = wheel(tmp_path, members)
    assert ("NJL-07", UNKNOWN) in findings(path) or ("NJL-07", FAIL) in findings(path)
    from packages_made import judged

    told = [problem.remedy for problem in judged(path)]
    assert not any("nvidia-cuda-nvrtc>=13" in text for text in told), told


# 12. Tags, and files that two packages write.


@pytest.mark.parametrize("case", ["a broken tag", "another Python", "one file of two packages"])
def test_what_installers_trip_over(case: str, tmp_path: Path, capsys: Captured) -> None:
    cubin = (FOLDER / "cubin" / "nvrtc-12.4-sm_80.cubin").read_bytes()
    if case == "one file of two packages":
        paths = [wheel(tmp_path, {"nvidia/shared/k.cubin": cubin}, name=n) for n in ("one", "two")]
        _, results, text = checked(capsys, paths[0], options=["--with", str(paths[1])])
        assert "PKG-17" in rules(results)
        assert "one 1.0 and two 1.0 both install nvidia/shared/k.cubin" in text
        return
    path = wheel(tmp_path, {"x/k.cubin": cubin}, tag="cp312-cp312-manylinux_2_28_x86_64")
    if case == "another Python":
        path = path.rename(tmp_path / "libx-1.0-cp311-cp311-manylinux_2_28_x86_64.whl")
    else:
        with zipfile.ZipFile(path) as old:
            parts = {name: old.read(name) for name in old.namelist()}
        parts["libx-1.0.dist-info/WHEEL"] = b"Wheel-Version: 1.0\nTag: cp312-manylinux\n"
        path.write_bytes(zip_of(*parts.items()))
    assert ("PKG-06", UNDOCUMENTED) in findings(path)


# 13. Sentences that say what they mean.


@pytest.mark.parametrize("case", ["torch", "a part of the modules", "no device code"])
def test_sentences_say_what_they_mean(case: str, tmp_path: Path, capsys: Captured) -> None:
    if case == "torch":
        members = {"x/x.so": library(tmp_path, needs=["libcusparse.so.12"])}
        text = checked(capsys, wheel(tmp_path, members, ["torch"]))[2]
        told = "x.so needs libcusparse.so.12, and it has to come with torch: if a release"
        assert told in text
    elif case == "a part of the modules":
        text = checked(capsys, host(tmp_path / "x.so", [sass(80)], [sass(90, b"daxpy")]))[2]
        assert "modules for it" in text
        assert "1 of 2" in text
    else:
        code, _, text = checked(capsys, host(tmp_path / "x.so"))
        assert code == 3
        assert "without device code" in text
        assert ": ok" not in text
