"""Threads on images and hosts, rebuilt: one command says what ended the thread."""

from __future__ import annotations

import io
import itertools
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from container_images_made import oci_layout
from machines import shared
from samples import FOLDER

from ltocompat import check, env
from ltocompat.cli import run

THREADS: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "data" / "image_threads.toml").read_text()
)["thread"]
LEVELS = {"fail": 1, "unknown": 3}
PTX = """.version {version}
.target {target}
.address_size 64
.visible .entry k(.param .u64 p)
{{
.reg .b64 %rd<2>;
ld.param.u64 %rd1, [p];
st.global.u64 [%rd1], %rd1;
ret;
}}
"""


def content(name: str) -> bytes:
    if name in ("libcuda", "libc"):
        return shared("libcuda.so.1" if name == "libcuda" else "libc.so.6")
    if name.startswith("text "):
        return name.removeprefix("text ").encode()
    if name.startswith("ptx "):
        _, version, target = name.split()
        return PTX.format(version=version, target=target).encode()
    return (FOLDER / name).read_bytes()


def image(thread: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, target in thread.get("links", {}).items():
            link = tarfile.TarInfo(path.lstrip("/"))
            link.type, link.linkname = tarfile.SYMTYPE, target
            tar.addfile(link)
        for path, name in thread["files"].items():
            data = content(name)
            info = tarfile.TarInfo(path.lstrip("/"))
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    config = {"os": "linux", "config": {"Env": thread.get("env", [])}}
    config["architecture"] = thread.get("arch", "amd64")
    return oci_layout([out.getvalue()], config)


@pytest.mark.slow
def test_one_command_says_what_ended_each_thread(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "image.tar"
    wrong = []
    for thread in THREADS:
        path.write_bytes(image(thread))
        looked = thread.get("command") == "env"
        words = ["env", "--root", str(path)] if looked else ["check", str(path), "--deploy-target"]
        code = run([*words, *([] if looked else [thread["host"]])])
        text = capsys.readouterr().out
        told = thread.get("rule", "") in text and all(word in text for word in thread["words"])
        level = thread.get("level", "fail")
        failed = looked or (code == LEVELS[level] and f"{level}[{thread['rule']}]" in text)
        cured = "after" not in thread or run([*words, thread["after"]]) == 0
        capsys.readouterr()
        if (told and failed and cured) is ("missed" in thread):
            wrong.append((thread["address"], code, told, failed, cured, text))
    assert len(THREADS) == 53
    assert not wrong


FOLDERS = ("/usr/local/cuda/compat", "/usr/local/cuda-12.9/compat", "/opt/forward", "")


@pytest.mark.slow
def test_check_takes_the_libcuda_that_the_loader_of_the_image_finds(tmp_path: Path) -> None:
    """The look at its loader (``env --root``), which is held against LD_DEBUG, knows the answer."""
    path = tmp_path / "image.tar"
    own = ("/usr/local/cuda-12.9/compat", "/usr/lib/x86_64-linux-gnu", "/opt/forward")
    for conf, searched, folder in itertools.product(FOLDERS, FOLDERS, own):
        files = {
            "/app/x.cubin": "cubin/nvrtc-12.4-sm_80.cubin",
            "/usr/lib/x86_64-linux-gnu/libc.so.6": "libc",
            f"{folder}/libcuda.so.575.57.08": "libcuda",
            "/etc/ld.so.conf": "text include /etc/ld.so.conf.d/*.conf",
            "/etc/ld.so.conf.d/app.conf": f"text {conf}",
        }
        links = {"/usr/local/cuda": "cuda-12.9", f"{folder}/libcuda.so.1": "libcuda.so.575.57.08"}
        variables = [f"LD_LIBRARY_PATH={searched}"] if searched else []
        path.write_bytes(image({"files": files, "links": links, "env": variables}))
        driver = env(path).environment.user_driver
        found = driver and ("CMP-03" if driver.is_compat_package else "PKG-23")
        results = check(path, "driver=580.65.06,gpu=a100")
        told = {each.rule for result in results for each in result.findings}
        assert told & {"CMP-03", "PKG-23"} == ({found} if found else set()), (conf, searched)
