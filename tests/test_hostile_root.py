"""Somebody's file system under ``env --root``: nothing leads out of it, waits, or fills memory."""

from __future__ import annotations

import os
import signal
import time
import tracemalloc
from pathlib import Path

import machines
import pytest

from ltocompat.cli import run
from ltocompat.files import inside
from ltocompat.files.byteview import ByteView
from ltocompat.model.limits import MIB
from ltocompat.targets.linkers import Machine
from ltocompat.targets.machine.probe import probe

TOLD_OUTSIDE = "Model: \t\t a secret outside\n"
ASKED = (
    "/proc/driver/nvidia/version",
    "/proc/driver/nvidia/gpus/0000:01:00.0/information",
    "/etc/os-release",
    "/etc/ld.so.conf",
    "/etc/nv_tegra_release",
    "/usr/local/cuda/version.json",
    "/usr/local/cuda/version.txt",
    "/var/lib/dpkg/status",
)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    file = tmp_path / "outside"
    file.write_text(TOLD_OUTSIDE)
    return file


@pytest.fixture(params=["openat2", "name by name"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Systems that resolve a path inside of a folder, and others."""
    if request.param == "name by name":
        monkeypatch.setattr(inside, "_OPENAT2", 9_999)  # a call that no system has


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("links", [1, 39, 40, 41, 42, 100])
def test_no_number_of_links_leads_out(links: int, outside: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    folder = root / "proc" / "driver" / "nvidia" / "gpus" / "0"
    folder.mkdir(parents=True)
    names = [f"link{number}" for number in range(links)]
    for name, following in zip(names, [*names[1:], str(outside)], strict=True):
        (folder / name).symlink_to(following)
    (folder / "information").symlink_to(names[0])
    machine = Machine(str(root))
    path = "/proc/driver/nvidia/gpus/0/information"
    assert machine.text(path) is None
    assert machine.read_bytes(path, 100) is None
    assert not machine.exists(path)
    assert not machine.is_file(path)
    assert machine.size(path) is None
    assert TOLD_OUTSIDE.rsplit("\t", maxsplit=1)[-1].strip() not in repr(probe(machine))


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("links", [2, 39, 40])
def test_as_many_links_as_the_system_follows_are_followed(links: int, tmp_path: Path) -> None:
    for number in range(links):
        (tmp_path / f"link{number}").symlink_to(f"link{number + 1}")
    (tmp_path / f"link{links}").write_text("here")
    assert Machine(str(tmp_path)).text("/link0") == "here"


@pytest.mark.usefixtures("ways")
def test_a_folder_that_is_a_link_outwards_is_empty(outside: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "etc").symlink_to(outside.parent)
    machine = Machine(str(root))
    assert machine.text("/etc/outside") is None
    assert machine.files("/etc", "out*") == []
    assert machine.files("/", "etc/*", "etc/../../*", "*/outside") == []


@pytest.mark.usefixtures("ways")
def test_paths_go_up_no_further_than_the_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "here").write_text("here")
    (tmp_path / "here").write_text("outside")
    (root / "a" / "up").symlink_to("../../../here")
    (root / "a" / "far").symlink_to("/a/b/../../../../here")
    (root / "self").symlink_to("/proc/self/root/" + str(tmp_path / "here"))
    machine = Machine(str(root))
    for path in ("/here", "/../here", "/a/../../here", "/a/up", "/a/far", "a/b/../../here"):
        assert machine.text(path) == "here", path
        assert machine.real(path) == "/here", path
    assert machine.text("/self") is None
    assert machine.text("/here/..") is None
    assert machine.text("/here/x") is None


@pytest.mark.usefixtures("ways")
def test_patterns_of_several_folders_follow_links_inside_alone(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "targets" / "x" / "lib").mkdir(parents=True)
    (root / "targets" / "x" / "lib" / "libz.so").touch()
    (root / "targets" / ".hidden" / "lib").mkdir(parents=True)
    (root / "targets" / "y").symlink_to("/targets/x")
    (root / "targets" / "gone").symlink_to(tmp_path)
    (tmp_path / "lib").mkdir()
    found = Machine(str(root)).files("/targets", "*/lib", "*/lib/lib*.so", "none/lib", "x")
    expected = ["x", "x/lib", "x/lib/libz.so", "y/lib", "y/lib/libz.so"]
    assert found == [f"/targets/{name}" for name in expected]


def test_a_file_that_did_not_change_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"one")
    seen: list[bytes] = []

    def read(view: ByteView) -> bytes:
        seen.append(view.peek(0, 8))
        return seen[-1]

    machine = Machine(str(tmp_path))
    assert [machine.once("/x", read) for _ in range(3)] == [b"one"] * 3
    file.write_bytes(b"other")
    assert machine.once("/x", read) == b"other"
    assert seen == [b"one", b"other"]


@pytest.mark.usefixtures("ways")
def test_a_link_that_comes_and_goes_leads_nowhere(outside: Path, tmp_path: Path) -> None:
    """As the owner of a container may let one, while it is looked at from outside."""
    root = tmp_path / "root"
    there, elsewhere = root / "etc", tmp_path / "elsewhere"
    for folder in (there, elsewhere):
        (folder / "deep").mkdir(parents=True)
    for name in ("os-release", "deep/inside"):
        (there / name).write_text("safe")
    outside.rename(elsewhere / "os-release")
    for name in ("a-secret", "deep/a-secret"):
        (elsewhere / name).touch()
    machine = Machine(str(root))
    assert machine.text("/etc/os-release") == "safe"
    assert "/etc/deep/inside" in set(machine.files("/etc", "*", "*/*"))
    child = os.fork()
    if child == 0:
        while True:
            there.rename(root / "aside")
            there.symlink_to(elsewhere)
            there.unlink()
            (root / "aside").rename(there)
            time.sleep(0.0001)
    try:
        read = {machine.text("/etc/os-release") for _ in range(2_000)}
        listed = {path for _ in range(2_000) for path in machine.files("/etc", "*", "*/*")}
        there_is = any(machine.exists("/etc/a-secret") for _ in range(1_000))
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert read <= {"safe", None}
    assert listed <= {"/etc/os-release", "/etc/deep", "/etc/deep/inside"}
    assert not there_is


def test_pipes_are_no_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machines.plain_driver(tmp_path).machine()
    for path in ASKED:
        file = tmp_path / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        os.mkfifo(file)
    assert run(["env", "--root", str(tmp_path)]) in (0, 1)
    assert "internal error" not in capsys.readouterr().err


@pytest.mark.slow
def test_a_file_of_many_gigabytes_is_read_in_part(tmp_path: Path) -> None:
    for path in ASKED:
        file = tmp_path / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("wb") as sparse:
            sparse.truncate(6 << 30)
    tracemalloc.start()  # pages, which the system counts, differ by machine
    assert run(["env", "--root", str(tmp_path), "--format", "json"]) in (0, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * MIB
