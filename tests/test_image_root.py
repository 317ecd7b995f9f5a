"""``env --root IMAGE``: a saved image is looked at as the same image is when it lies unpacked."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
from collections.abc import Callable
from pathlib import Path

import machines
import pytest
from container_images_made import archive, docker_archive, oci_layout
from machines import Recorded, shared

from ltocompat.cli import run
from ltocompat.commands.env import env
from ltocompat.model.errors import UsageError
from ltocompat.targets.linkers import Machine
from ltocompat.targets.machine.probe import probe

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NOISE = {"opt/app/big.bin": bytes(1 << 10), "usr/lib/libother.so": b"x"}


def layers_of(root: Path, seed: int) -> list[bytes]:
    """The tree in three layers, its folders first, with copies that a later layer replaces."""
    out = [io.BytesIO() for _ in range(3)]
    tars = [tarfile.open(fileobj=file, mode="w") for file in out]  # noqa: SIM115 - closed below
    draw = random.Random(seed)  # noqa: S311 - of a test
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_dir() and not path.is_symlink():
            continue
        layer = draw.randrange(3)
        tars[layer].add(path, name)
        if layer and not path.is_symlink():
            info = tarfile.TarInfo(name)
            info.size = 4
            tars[layer - 1].addfile(info, io.BytesIO(b"old\n"))
    for tar in tars:
        tar.close()
    return [*(file.getvalue() for file in out), archive(NOISE)]


def of_an_image(made: Recorded, *, cache: bool = True) -> Recorded:
    """The machine without what no image has."""
    made.machine(cache=cache)
    for name in ("proc", "sys"):
        for path in sorted((made.root / name).rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
    (made.root / ".dockerenv").unlink(missing_ok=True)
    return made


QUICK = (machines.compat_by_conf, machines.cuda_container)


@pytest.mark.parametrize(
    "make",
    [pytest.param(make, marks=() if make in QUICK else pytest.mark.slow) for make in machines.ALL],
    ids=lambda make: make.__name__,
)
def test_an_image_is_seen_as_its_unpacked_files_are(
    tmp_path: Path, make: Callable[[Path], Recorded]
) -> None:
    (tmp_path / "root").mkdir()
    # By its cache, which says where everything is; else by the loader's folders.
    made = of_an_image(make(tmp_path / "root"), cache=make is machines.compat_by_conf)
    config = {"os": "linux", "config": {"Env": [f"{k}={v}" for k, v in made.environ.items()]}}
    image = tmp_path / "image.tar"
    image.write_bytes(gzip.compress(oci_layout(layers_of(made.root, 1), config)))
    environ = {"PATH": PATH, "container": "image"} | made.environ
    unpacked = probe(Machine(str(made.root), environ))
    assert env(image).environment == unpacked
    with tarfile.open(image) as tar:
        tar.extractall(tmp_path / "layout", filter="data")
    assert env(tmp_path / "layout").environment == unpacked


@pytest.mark.parametrize("prefix", ["usr", "usr/local"])
@pytest.mark.parametrize("folder", ["python3.12/site-packages", "python3/dist-packages"])
def test_a_folder_has_the_packages_of_its_image(tmp_path: Path, prefix: str, folder: str) -> None:
    made = machines.nothing(tmp_path / "root")
    site = f"/{prefix}/lib/{folder}"
    metadata = "Metadata-Version: 2.1\nName: nvidia-cuda-nvrtc-cu12\nVersion: 12.4.127\n"
    made.put(f"{site}/nvidia_cuda_nvrtc_cu12-12.4.127.dist-info/METADATA", metadata)
    made.put(f"{site}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12", shared("libnvrtc.so.12"))
    made.put("/etc/os-release", "ID=debian\n")
    image = tmp_path / "image.tar"
    image.write_bytes(oci_layout(layers_of(made.root, 1), {"os": "linux"}))
    found, of_image = env(made.root).environment, env(image).environment
    assert found.compilers
    assert (found.compilers, found.wheels) == (of_image.compilers, of_image.wheels)


def test_a_stub_and_cuda_compat_in_an_image_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "root").mkdir()
    made = of_an_image(machines.compat_by_conf(tmp_path / "root"))
    folder = "/usr/local/cuda-12.4/targets/x86_64-linux/lib"
    made.put(f"{folder}/libcudart.so.12.4.127", shared("libcudart.so.12"))
    made.put("/usr/local/cuda-12.4/version.json", '{"cuda": {"version": "12.4.1"}}')
    made.link("/usr/lib/libcudart.so.12", f"{folder}/libcudart.so.12.4.127")
    image = tmp_path / "image.tar"
    image.write_bytes(docker_archive(layers_of(made.root, 2)))
    assert run(["env", "--root", str(image), "--notes"]) in (0, 1)
    text = capsys.readouterr().out
    assert "CMP-04" in text
    row = next(line for line in text.splitlines() if "libcudart" in line)
    assert "12.4.127" in row
    assert "dlopen" in row or "default" in row


def test_what_is_no_image_or_leads_out_ends_in_a_sentence(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    image = tmp_path / "image.tar"
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, target in (("etc", str(outside)), ("lib", "../../outside"), ("a", "a")):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            tar.addfile(link)
    files = {"etc/ld.so.conf": b"/x\n", "lib/libcuda.so.1": b"x", "a/b/libcuda.so": b"x"}
    files |= {"../../outside/libnvrtc.so": b"x", "libcuda.so/libcuda.so": b"x", "libcuda.so": b""}
    image.write_bytes(oci_layout([out.getvalue(), archive(files)]))
    told = env(image).environment.problems
    assert not list(outside.iterdir())
    assert any("/libcuda.so: no file can have this path" in each for each in told)
    for data in (b"no archive", archive({"manifest.json": b"[]"})):
        (tmp_path / "file").write_bytes(data)
        with pytest.raises(UsageError, match="is neither a folder nor a single image; docker save"):
            env(tmp_path / "file")
    with pytest.raises(UsageError, match="there is no"):
        env(tmp_path / "gone")
