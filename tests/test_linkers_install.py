"""Installing with a stand-in for pip; the real one is run in tests/wild."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import re
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from linker_trees import IN_WHEEL, library, put, wheel
from msgspec.structs import replace
from newest import from_on
from package_writer import zip_of

from ltocompat.facts import LinkerWheel, linker_wheels
from ltocompat.model.errors import LtocompatError, Missing, UsageError
from ltocompat.targets.linkers import (
    Cache,
    Machine,
    Tool,
    installed_files,
    remove,
    resolve,
)
from ltocompat.targets.linkers.installing import Fetch, _environment, fetch, install_one
from ltocompat.targets.linkers.machine import program_path
from ltocompat.targets.linkers.version_request import VersionRequest, choose

LIBRARY = library("12.4.127")
WHEEL = wheel(LIBRARY)


@pytest.fixture(autouse=True)
def on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_platform", lambda: "linux-x86_64")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(str(tmp_path / "cache" / "nvjitlink"))


def known(library: bytes = LIBRARY, packed: bytes = WHEEL) -> VersionRequest:
    """12.4.127 as if these were its bytes."""
    (version_request,) = choose("12.4.127", allow_unknown=False)
    whole, inside = (hashlib.sha256(data).hexdigest() for data in (packed, library))
    (row,) = version_request.wheels
    return replace(
        version_request, wheels=(replace(row, wheel_sha256=whole, member_sha256=inside),)
    )


def request(version: str) -> VersionRequest:
    """A version that is not in our tables."""
    return VersionRequest(Tool.NVJITLINK, version, ("nvidia-nvjitlink-cu12",))


def bringing(data: bytes, name: str = "nvidia_nvjitlink_cu12-12.4.127-py3-none-any.whl") -> Fetch:
    """A stand-in for pip that brings this wheel."""

    def pip(_: str, folder: str) -> None:
        put(Path(folder), name, data)

    return pip


def left(cache: Cache) -> list[str]:
    """Every file and folder of the cache."""
    return sorted(str(path.relative_to(cache.folder)) for path in Path(cache.folder).rglob("*"))


def test_only_the_library_is_kept(cache: Cache) -> None:
    words = []

    def pip(requirement: str, folder: str) -> None:
        words.append(requirement)
        bringing(WHEEL)(requirement, folder)

    linker = install_one(known(), cache, pip)
    assert words == ["nvidia-nvjitlink-cu12==12.4.127"]
    files = ["libnvJitLink.so.12", "origin.json", "seal"]
    assert left(cache) == ["12.4.127", *(f"12.4.127/{name}" for name in files)]
    assert Path(linker.path).read_bytes() == LIBRARY
    assert (linker.version, linker.found_via, linker.for_trials) == (
        "12.4.127",
        "trial cache",
        True,
    )
    assert linker.evidence == "SHA-256 of the release"
    assert cache.installed() == (linker,)
    origin = json.loads((Path(cache.folder) / "12.4.127/origin.json").read_text())
    (file,) = origin["files"]
    assert file["sha256"] == hashlib.sha256(LIBRARY).hexdigest()
    assert file["wheel"].endswith(".whl")


@pytest.mark.filterwarnings("error")
def test_a_download_says_its_size_and_its_folder_and_how_far_it_is(
    cache: Cache, caplog: pytest.LogCaptureFixture
) -> None:
    told = list[tuple[str, int, int]]()
    first, last = WHEEL[:1000], WHEEL[1000:]

    def pip(_: str, folder: str) -> None:
        put(Path(folder), "x.whl", first)
        while not any(done == len(first) for _, done, _ in told):
            time.sleep(0.01)
        put(Path(folder), "x.whl", first + last)

    wanted = known()
    folder = re.escape(cache.folder)
    with caplog.at_level(logging.INFO, "ltocompat.trial"):
        install_one(wanted, cache, pip, lambda *words: told.append(words))
    (message,) = caplog.messages
    assert re.fullmatch(rf"downloading {wanted} \([0-9.]+ MiB\) to {folder}", message)
    assert {(what, total) for what, _, total in told} == {(str(wanted), wanted.size)}
    assert all(done < wanted.size for _, done, _ in told)


def test_a_tool_that_unpacks_is_as_good(cache: Cache) -> None:
    linker = install_one(known(), cache, bringing(LIBRARY, IN_WHEEL["12"]))
    assert Path(linker.path).read_bytes() == LIBRARY


def test_what_is_there_is_not_downloaded_again(cache: Cache) -> None:
    first = install_one(known(), cache, bringing(WHEEL))

    def pip(requirement: str, _: str) -> None:
        raise AssertionError(requirement)

    assert install_one(known(), cache, pip) == first


def other_wheel() -> bytes:
    return wheel(library("12.4.127", "x.1.2"))


def interrupted(_: str, folder: str) -> None:
    put(Path(folder), "half.whl", WHEEL[:100])
    raise KeyboardInterrupt


def offline(requirement: str, _: str) -> None:
    raise Missing(f"{requirement} can't be downloaded")


@pytest.mark.parametrize(
    ("wanted", "pip", "error", "text"),
    [
        (known(), bringing(other_wheel()), LtocompatError, "the wheel of .* has the wrong SHA-256"),
        (
            known(packed=other_wheel()),
            bringing(other_wheel()),
            LtocompatError,
            r"libnvJitLink\.so\.12 in the wheel of .* it was deleted",
        ),
        (known(), bringing(b"x", IN_WHEEL["12"]), LtocompatError, "SHA-256"),
        (known(packed=WHEEL[:-9]), bringing(WHEEL[:-9]), LtocompatError, "can't be unpacked"),
        (known(packed=b""), bringing(b""), LtocompatError, "can't be unpacked"),
        (known(), lambda _, __: None, LtocompatError, "has 0 files like libnvJitLink"),
        (known(packed=wheel(LIBRARY, "readme")), bringing(wheel(LIBRARY, "readme")),
         LtocompatError, "has 0 files like libnvJitLink"),
        (known(), interrupted, KeyboardInterrupt, "^$"),
        (known(), offline, Missing, "can't be downloaded"),
        (
            request("12.4.130"),
            bringing(WHEEL),
            LtocompatError,
            r"==12\.4\.130 contains nvJitLink 12\.4\.127",
        ),
        (
            request("12.4.130"),
            bringing(wheel(b"no library")),
            LtocompatError,
            "can't be used: it is not a library",
        ),
    ],
)  # fmt: skip
def test_whatever_goes_wrong_leaves_nothing_behind(
    wanted: VersionRequest, pip: Fetch, error: type[BaseException], text: str, cache: Cache
) -> None:
    with pytest.raises(error, match=text):
        install_one(wanted, cache, pip)
    assert left(cache) == []
    assert cache.installed() == ()


def test_a_broken_wheel_without_a_sum_is_an_error_or_whole(cache: Cache) -> None:
    """A version that is not in our tables has the checks of the zip format at least."""
    wanted = request("12.4")
    errors = 0
    for at in range(0, len(WHEEL), 3):
        broken = bytearray(WHEEL)
        broken[at] ^= 1 << at % 8
        try:
            linker = install_one(wanted, cache, bringing(bytes(broken)))
        except LtocompatError:
            errors += 1
            assert left(cache) == []
        else:
            assert Path(linker.path).read_bytes() == LIBRARY
            remove("all", cache)
    assert errors > 50


def test_the_first_of_two_parallel_installs_wins(cache: Cache) -> None:
    def slow(requirement: str, folder: str) -> None:
        install_one(known(), cache, bringing(WHEEL))
        bringing(WHEEL)(requirement, folder)

    linker = install_one(known(), cache, slow)
    assert cache.installed() == (linker,)
    assert len(left(cache)) == 4


def swap_bytes(path: Path) -> None:
    """Other bytes of the same size, with the times of before."""
    before = path.stat()
    path.write_bytes(bytes(reversed(path.read_bytes())))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def write_anew(path: Path) -> None:
    """As a cache that was restored: the same bytes in another file."""
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)


def let_others_write(path: Path) -> None:
    path.chmod(0o666)


def be_a_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


@pytest.mark.parametrize("change", [swap_bytes, write_anew, let_others_write, be_a_link])
def test_a_library_that_somebody_may_have_changed_is_not_ours(
    change: Callable[[Path], None], cache: Cache
) -> None:
    # This one is a stand-in, whose sum no table has: its seal alone vouches for it.
    linker = install_one(known(), cache, bringing(WHEEL))
    change(Path(linker.path))
    assert cache.installed() == ()
    assert install_one(known(), cache, bringing(WHEEL)) == linker


def test_a_library_with_the_sum_of_the_release_needs_no_seal(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    linker = install_one(known(), cache, bringing(WHEEL))
    write_anew(Path(linker.path))
    sums = frozenset({hashlib.sha256(LIBRARY).hexdigest()})
    monkeypatch.setattr(installed_files, "_known_sums", lambda *_: sums)
    assert cache.installed() == (linker,)
    swap_bytes(Path(linker.path))
    assert cache.installed() == ()


def test_a_damaged_copy_is_replaced_and_what_is_not_ours_is_not(cache: Cache) -> None:
    linker = install_one(known(), cache, bringing(WHEEL))
    Path(linker.path).write_bytes(b"cut")
    assert cache.installed() == ()
    assert install_one(known(), cache, bringing(WHEEL)) == linker
    origin = Path(cache.folder) / "12.4.127/origin.json"
    origin.unlink()
    with pytest.raises(LtocompatError, match="not made by ltocompat and is in the way"):
        install_one(known(), cache, bringing(WHEEL))
    assert left(cache) == ["12.4.127", "12.4.127/libnvJitLink.so.12", "12.4.127/seal"]


def test_a_killed_install_is_swept_a_day_later(cache: Cache) -> None:
    fresh = put(Path(cache.folder), ".part-fresh/half", b"x").parent
    old = put(Path(cache.folder), ".part-old/half", b"x").parent
    long_ago = time.time() - 2 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    install_one(known(), cache, bringing(WHEEL))
    assert fresh.exists()
    assert not old.exists()


def test_a_library_of_another_version_does_not_answer_in_its_name(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    linker = install_one(known(), cache, bringing(WHEEL))
    write_anew(Path(linker.path))  # which takes the seal away
    rows = [row for row in linker_wheels("nvjitlink") if str(row.release) == "12.4"]
    ours = hashlib.sha256(LIBRARY).hexdigest()
    for version, trusted in (("12.4.99", False), ("12.4.127", True)):
        row = next(row for row in rows if row.version == version)
        table = (replace(row, member_sha256=ours),)
        monkeypatch.setattr("ltocompat.facts.linker_wheels", lambda _, table=table: table)
        assert bool(cache.installed()) == trusted


def be_a_pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def be_endless(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize("name", ["origin.json", "seal", "libnvJitLink.so.12"])
@pytest.mark.parametrize("change", [be_a_pipe, be_endless])
def test_what_was_put_in_place_of_a_file_is_not_waited_for(
    name: str, change: Callable[[Path], None], cache: Cache
) -> None:
    linker = install_one(known(), cache, bringing(WHEEL))
    origin = Path(linker.path).with_name("origin.json")
    change(origin.with_name(name))
    if name == "libnvJitLink.so.12":  # whose size is compared first
        size = origin.with_name(name).stat().st_size
        said = json.loads(origin.read_text())
        said["files"][0]["size"] = size
        origin.write_text(json.dumps(said))
    assert cache.installed() == (() if name != "seal" or change is be_a_pipe else (linker,))


@pytest.mark.parametrize(
    "origin", ["", "[]", "{}", '{"version": "12.4"}', "\xff", "[" * 50_000, "9" * 5_000]
)
def test_a_folder_without_a_good_origin_is_ignored(origin: str, cache: Cache) -> None:
    put(Path(cache.folder), "12.4.127/origin.json", origin)
    put(Path(cache.folder), "12.4.127/libnvJitLink.so.12", LIBRARY)
    assert cache.installed() == ()
    with pytest.raises(Missing, match="is installed for trials"):
        remove("12.4.127", cache)


def unknown(version: str, cache: Cache) -> None:
    packed = wheel(library(version))
    install_one(request(version), cache, bringing(packed))


def test_remove_takes_what_was_asked_for_and_nothing_else(cache: Cache) -> None:
    for version in ("12.4.126", "12.4.127", "12.40.1", "12.5.1"):
        unknown(version, cache)
    put(Path(cache.folder), "12.4.9/mine", b"")
    assert [linker.version for linker in remove("12.4", cache)] == ["12.4.126", "12.4.127"]
    assert [each_linker.version for each_linker in cache.installed()] == ["12.5.1", "12.40.1"]
    with pytest.raises(Missing, match=r"no nvJitLink '\.\.' is installed"):
        remove("..", cache)
    remove("all", cache)
    assert left(cache) == ["12.4.9", "12.4.9/mine"]


def test_the_trial_cache_comes_first(cache: Cache) -> None:
    unknown("12.4.126", cache)
    (linker,) = cache.installed()
    if linker.machine == {"x86_64": "x86-64", "aarch64": "AArch64"}.get(platform.machine()):
        assert resolve("12.4", cache=cache) == linker
    assert resolve(linker.path, cache=cache) == linker


def test_a_cache_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    put(tmp_path, "file", b"")
    with pytest.raises(LtocompatError, match="can't be written"):
        install_one(known(), Cache(str(tmp_path / "file" / "x")), bringing(WHEEL))


def test_a_minor_or_major_is_its_newest_release_and_all_is_one_of_each() -> None:
    (version_request,) = choose("12.4", allow_unknown=False)
    assert version_request.asked == "12.4.127"
    for major, newest in (("12", "12.9"), ("13", "13.5")):
        assert choose(major, allow_unknown=False) == choose(newest, allow_unknown=False)
    minors = [w.asked.rpartition(".")[0] for w in choose("all", allow_unknown=False)]
    # There is no 12.7.
    assert minors == [*(f"12.{n}" for n in (0, 1, 2, 3, 4, 5, 6, 8, 9)), *from_on("13.0")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("12.4.130", r"12\.4\.130 is not in our tables, which have 12\.4\.99, 12\.4\.127"),
        ("12.7", r"which have 12\.0, .*--allow-unknown"),
        ("14", r"14 is not in our tables, which have 12\.0, .*nvjitlink=14 --allow-unknown"),
        ("12.4 ; rm", "is not a version"),
        ("-r", "is not a version"),
        ("latest", "is not a version"),
    ],
)
def test_what_is_not_known_is_wrong_usage(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        choose(text, allow_unknown=False)


def test_unknown_versions_can_be_allowed() -> None:
    table = {
        text: choose(text, allow_unknown=True)[0].requirements
        for text in ("12.4.130", "14.1", "12.4")
    }
    assert table == {
        "12.4.130": ("nvidia-nvjitlink-cu12==12.4.130",),
        "14.1": ("nvidia-nvjitlink==14.1.*",),
        "12.4": ("nvidia-nvjitlink-cu12==12.4.127",),
    }
    with pytest.raises(UsageError, match=r"the first is 12\.0"):
        choose("11.8", allow_unknown=True)


def test_a_platform_without_nvjitlink_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_platform", lambda: "macosx-14.0-arm64")
    with pytest.raises(Missing, match="NVIDIA publishes no nvJitLink for macosx"):
        choose("12.4", allow_unknown=False)


def test_the_table_of_wheels_is_whole() -> None:
    rows = linker_wheels("nvjitlink")
    by_platform: dict[str, list[LinkerWheel]] = {}
    for row in rows:
        by_platform.setdefault(row.platform, []).append(row)
        assert len(row.wheel_sha256) == len(row.member_sha256) == 64
        assert row.version.startswith(f"{row.release}.")
        assert row.package == f"nvidia-nvjitlink{'-cu12' if row.release.major == 12 else ''}"
        assert row.member_size > row.size // 10
    versions = {name: [row.version for row in found] for name, found in by_platform.items()}
    assert versions["win-amd64"] == versions["linux-x86_64"]
    assert versions["linux-aarch64"] == versions["linux-x86_64"][8:]
    assert (versions["linux-x86_64"][0], versions["linux-aarch64"][0]) == ("12.0.76", "12.3.101")
    assert len({row.member_sha256 for row in rows}) == len(rows)


@pytest.mark.parametrize("text", ["12.4", "12.9.86", "11.8"])
@pytest.mark.parametrize("allow_unknown", [True, False])
def test_why_there_is_no_nvlink_12_is_one_sentence(*, text: str, allow_unknown: bool) -> None:
    """By the wheels nvidia-cuda-nvcc-cu12 12.0.140, 12.6.85, 12.8.93 and 12.9.86."""
    with pytest.raises(Missing, match=r"ptxas and libnvvm, but no nvlink; put the bin folder"):
        choose(text, allow_unknown=allow_unknown, tool=Tool.NVLINK)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("WARNING: Retrying (Retry(total=4\nERROR: No matching distribution", "no package index"),
        ("ERROR: No matching distribution found for x", "the index lacks it"),
        ("  cause: there is no version of x==1 and", "the index lacks it"),
        ("a\nERROR: disk full.\n\n", "ERROR: disk full; check"),
        ("", "no reason was given"),
    ],
)
def test_a_failed_download_is_one_sentence(
    text: str, cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ltocompat.targets.linkers.installing._tool", saying(tmp_path, text))
    with pytest.raises(Missing, match=rf"x==1 can't be downloaded: {cause}") as caught:
        fetch("x==1", str(tmp_path))
    assert "\n" not in str(caught.value)


def saying(folder: Path, text: str) -> Callable[[str, str], list[str]]:
    """A tool that writes ``text`` to standard error and fails."""
    script = put(folder, "tool.py", f"import sys\nsys.stderr.write({text!r})\nsys.exit(1)\n")
    return lambda *_: [sys.executable, str(script)]


NAMES = ("uv", "pip3", "pip", "python3", "python", "ldconfig")


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, in which somebody else left programs and modules that leave a trace."""
    folder, trace = tmp_path / "checkout", tmp_path / "trace"
    for name in ("pip.py", "sitecustomize.py", "usercustomize.py"):
        put(folder, name, f"open({str(trace)!r}, 'a').write({name!r})\n")
    for name in (*NAMES, *(f"bin/{name}" for name in NAMES)):
        put(folder, name, f"#!/bin/sh\necho {name} >> {trace}\n").chmod(0o755)
    for name in ("tabulate.py", "encodings/__init__.py", "json/__init__.py", "msgspec.py"):
        put(folder, name, f"open({str(trace)!r}, 'a').write({name!r})\n")
    put(folder, "planted.pth", f"import os; open({str(trace)!r}, 'a').write('pth')\n")
    (tmp_path / "a-link").symlink_to(folder / "bin")
    inside = f"{folder}:{folder}/bin:{folder}/../checkout/bin:{tmp_path / 'a-link'}"
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f".::bin:./bin:../checkout:{inside}:{tmp_path / 'tools'}:")
    monkeypatch.setenv("PYTHONPATH", f".:{folder}")
    return folder


def without_pip(folder: Path) -> str:
    """A Python of its own, in which no pip is installed."""
    subprocess.run([sys.executable, "-I", "-m", "venv", "--without-pip", folder], check=True)
    return str(folder / "bin" / "python")


def noting(folder: Path, name: str) -> Path:
    """A tool that writes down its arguments, its folder, and what it sees there."""
    notes = 'echo "$@"; pwd; echo * $PYTHONPATH'
    tool = put(folder, name, f'#!/bin/sh\n{{ {notes}; }} > "$0.was"\n')
    tool.chmod(0o755)
    return tool


@pytest.mark.slow
def test_pip_of_our_own_python_downloads_and_nothing_of_the_current_folder_runs(
    planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real pip, and an index of one wheel that the user's configuration names."""
    name = "nvidia_nvjitlink_cu12-12.4.127-py3-none-any.whl"
    metadata = "Metadata-Version: 2.1\nName: nvidia-nvjitlink-cu12\nVersion: 12.4.127\n"
    info = "nvidia_nvjitlink_cu12-12.4.127.dist-info"
    members = (f"{info}/METADATA", metadata.encode()), (f"{info}/WHEEL", b"Wheel-Version: 1.0\n")
    put(planted, f"wheels/{name}", zip_of(*members))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "wheels")  # relative to the user's folder
    fetch("nvidia-nvjitlink-cu12==12.4.127", str(tmp_path / "to"))
    assert (tmp_path / "to" / name).is_file()
    assert not (tmp_path / "trace").exists()


def test_without_pip_and_uv_the_current_folder_is_not_asked(
    planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", without_pip(tmp_path / "venv"))
    with pytest.raises(Missing, match="without pip or uv"):
        fetch("x==1", "to")
    assert not (tmp_path / "trace").exists()
    assert program_path("ldconfig") is None
    assert Machine.here().run(["ldconfig", "-p"]) == ""
    assert (planted / "to").is_dir()


def test_programs_of_the_machine_get_no_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = put(tmp_path, "bin/nvidia-smi", b"#!/bin/sh\nexec env\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin:.")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    monkeypatch.setenv("UPLOAD_TOKEN", "secret")
    monkeypatch.setenv("LD_PRELOAD", "./none.so")
    lines = Machine.here().run(["nvidia-smi"]).splitlines()
    assert "CUDA_VISIBLE_DEVICES=1" in lines
    assert f"PATH={program.parent}:/usr/bin:/bin" in lines
    assert not [line for line in lines if line.startswith(("UPLOAD_TOKEN", "LD_PRELOAD"))]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("uv", "pip install --quiet --no-deps --python {python} --target {to}"),
        ("pip3", "download --quiet --no-deps --no-input --disable-pip-version-check --dest {to}"),
        ("pip", "download --quiet --no-deps --no-input --disable-pip-version-check --dest {to}"),
    ],
)
@pytest.mark.usefixtures("planted")
def test_a_tool_in_an_absolute_folder_of_path_runs_in_an_empty_one(
    name: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python, to = without_pip(tmp_path / "venv"), tmp_path / "to"
    monkeypatch.setattr("sys.executable", python)
    tool = noting(tmp_path / "tools", name)
    fetch("x==1", str(to))
    arguments, folder, seen = Path(f"{tool}.was").read_text().splitlines()
    assert arguments == f"{words.format(python=python, to=to)} --only-binary :all: x==1"
    assert Path(folder).parent == to
    assert seen.strip() == "uv.toml"  # an empty one, before others are looked for; no PYTHONPATH
    assert not (tmp_path / "trace").exists()


def test_a_setting_of_uv_around_the_cache_is_not_read(
    planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As uv looks for settings: in the folders around it, up to the first file."""
    monkeypatch.setattr("sys.executable", without_pip(tmp_path / "venv"))
    put(planted, "uv.toml", 'index-url = "file:///planted"\n')
    look = 'while [ ! -f uv.toml ]; do cd ..; done; cat uv.toml > "$0.was"'
    tool = put(tmp_path / "tools", "uv", f"#!/bin/sh\n{look}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    fetch("x==1", str(planted / "cache" / "to"))
    assert Path(f"{tool}.was").read_text() == ""


def test_secrets_of_the_job_are_not_given_to_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "UPLOAD_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "PYTHONSTARTUP",
        "LD_PRELOAD",
        "GITHUB_X",
    ):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("LD_LIBRARY_PATH", ":.:lib:/opt/lib")
    environment = _environment()
    assert "secret" not in environment.values()
    assert environment["LD_LIBRARY_PATH"] == "/opt/lib"


def test_relative_paths_in_the_settings_of_pip_and_uv_still_mean_the_users_folder(
    planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(planted, "ca.pem", "")
    monkeypatch.setenv("PIP_CERT", "ca.pem")
    monkeypatch.setenv("PIP_CONSTRAINT", "https://host/ca.pem ca.pem")
    monkeypatch.setenv("UV_FIND_LINKS", "bin,/usr")
    monkeypatch.setenv("PIP_INDEX_URL", "https://user@host/simple")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    environment = _environment()
    assert environment["PIP_CERT"] == str(planted / "ca.pem")
    assert environment["PIP_CONSTRAINT"] == f"https://host/ca.pem {planted / 'ca.pem'}"
    assert environment["UV_FIND_LINKS"] == f"{planted / 'bin'},/usr"
    assert environment["PIP_INDEX_URL"] == "https://user@host/simple"
    assert environment["HTTPS_PROXY"] == "http://proxy:3128"
    assert "PYTHONPATH" not in environment


@pytest.mark.slow
def test_the_verb_install_runs_nothing_of_the_current_folder(planted: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "ltocompat", "linkers", "install", "nvjitlink=12.4.127"]
    environ = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PIP_NO_INDEX": "1",
    }
    done = subprocess.run(
        command, cwd=planted, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 4
    assert "can't be downloaded: the index lacks it" in done.stderr
    assert not (tmp_path / "trace").exists()
