"""Container images are one artifact: what a container sees, and what the image says of drivers."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import tarfile
from pathlib import Path

import pytest
from container_images_made import archive, docker_archive, layer_of, oci_layout
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import shared
from package_writer import tar_of
from packages_made import CUBIN_12_4, CUBIN_13_5, judged, told
from rule_cases import spares, strikes
from samples import FOLDER

from ltocompat import audit, check, diff, inspect, require, weigh
from ltocompat.cli import run
from ltocompat.commands.policy.gate import Audited
from ltocompat.facts import drivers, table
from ltocompat.files.archives.image_path import of_platform
from ltocompat.model.errors import UnreadableInput
from ltocompat.model.image import Module, Skipped
from ltocompat.model.verdict import Verdict
from ltocompat.packages.reading import package_of
from ltocompat.targets.versions.container import ContainerHost, least_admitted, satisfied

ON_550 = "driver=550.54.14,gpu=a100"
APP = "opt/app/x.cubin"
CUBIN_11_8 = (FOLDER / "cubin" / "nvrtc-11.8-sm_80.cubin").read_bytes()


def written(folder: Path, data: bytes, name: str = "image.tar") -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


def places(path: str) -> list[str]:
    found = [each for each in inspect(path) if isinstance(each, Module)]
    return [str(module.place).removeprefix(path) for module in found]


def reasons(path: str) -> list[str]:
    return [each.reason for each in inspect(path) if isinstance(each, Skipped)]


def test_an_archive_that_was_compressed_and_a_folder_say_the_same(tmp_path: Path) -> None:
    data = oci_layout([archive({APP: CUBIN_12_4}), archive({"opt/y.cubin": CUBIN_13_5})])
    path = written(tmp_path, data)
    packed = written(tmp_path, gzip.compress(data), "image.tar.gz")
    folder = tmp_path / "layout"
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        tar.extractall(folder, filter="data")
    assert places(path) == places(packed) == places(str(folder)) == ["::/opt/y.cubin", f"::/{APP}"]
    assert package_of(str(folder)) is not None


@pytest.mark.parametrize("layer", ["{:064x}.tar.gz", "layers/{}.tar", "{}/layer.tar"])
def test_layers_may_have_any_name_of_a_tar(tmp_path: Path, layer: str) -> None:
    """Jib and people write other names than docker: manifest.json decides, which may come last."""
    layers = [archive({APP: CUBIN_12_4}), archive({"opt/app/.wh.x.cubin": b""})]
    assert places(written(tmp_path, docker_archive(layers, layer, "config.json"))) == []


@pytest.mark.parametrize("folder", ["opt/app", "opt", "opt/other"])
def test_an_opaque_folder_has_nothing_of_lower_layers(tmp_path: Path, folder: str) -> None:
    """OCI image-spec, layer.md: all that lies below the folder of ``.wh..wh..opq`` is removed."""
    own = f"{folder}/own.cubin"
    upper = archive({f"{folder}/.wh..wh..opq": b"", own: CUBIN_12_4})
    left = {f"::/{APP}"} if folder == "opt/other" else set()
    found = places(written(tmp_path, oci_layout([archive({APP: CUBIN_12_4}), upper])))
    assert set(found) == {f"::/{own}"} | left


@pytest.mark.parametrize("form", [oci_layout, docker_archive])
@pytest.mark.parametrize(("of_folder", "mtime"), [(True, 0), (False, 1.5), (True, 1.5)])
def test_pax_headers_and_the_folder_of_all_files_may_come_first(
    tmp_path: Path, form: object, of_folder: bool, mtime: float
) -> None:
    """Python's tarfile and Go's archive/tar write times in pax headers; users pack a layout."""
    assert callable(form)
    data = form(
        [archive({APP: CUBIN_12_4}), archive({f"opt/app/.wh.{APP.rpartition('/')[2]}": b""})]
    )
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        files = {each.name: tar.extractfile(each) for each in tar}
    members = {name: file.read() for name, file in files.items() if file}
    again = archive(members, of_folder=of_folder, mtime=mtime)
    for name, packed in (("image.tar", again), ("image.tar.gz", gzip.compress(again))):
        path = written(tmp_path, packed, name)
        assert (places(path), reasons(path)) == ([], [])
        assert package_of(path) is not None


def of_platforms(folder: Path) -> str:
    """Of arm64, its code needs CUDA 13; of amd64, the image itself asks for it."""
    files: dict[str, bytes] = {}
    manifests = []
    for arch, cubin, env in (
        ("amd64", CUBIN_12_4, ["NVIDIA_REQUIRE_CUDA=cuda>=13.0"]),
        ("arm64", CUBIN_13_5, []),
    ):
        config = {"os": "linux", "architecture": arch, "config": {"Env": env}}
        with tarfile.open(fileobj=io.BytesIO(oci_layout([archive({APP: cubin})], config))) as tar:
            for member in tar:
                file = tar.extractfile(member)
                assert file is not None
                files[member.name] = file.read()
        manifests += json.loads(files["index.json"])["manifests"]
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": manifests}).encode()
    return written(folder, archive(files))


def test_each_image_of_several_platforms_is_an_artifact(tmp_path: Path) -> None:
    path = of_platforms(tmp_path)
    assert places(path) == [f":linux/{arch}::/{APP}" for arch in ("amd64", "arm64")]
    assert places(f"{path}:linux/arm64") == [f"::/{APP}"]
    found = {each.path.removeprefix(path): each.rules for each in check(path, ON_550, floors=False)}
    assert found[":linux/amd64"][0] == "ENV-01"
    assert "SASS-07" in found[":linux/arm64"]
    assert max(each.verdict for each in check(f"{path}:linux/arm64", ON_550)) is Verdict.FAIL
    with pytest.raises(UnreadableInput, match="no such image"):
        list(inspect(f"{path}:linux/s390x"))


def test_the_first_line_says_what_an_image_runs_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = "usr/lib/python3/dist-packages"
    record = b"alpha/k.cubin,,\nalpha-1.0.dist-info/METADATA,,\nalpha-1.0.dist-info/RECORD,,\n"
    files = {
        f"{site}/alpha/k.cubin": CUBIN_13_5,
        f"{site}/alpha-1.0.dist-info/METADATA": b"Name: alpha\nVersion: 1.0\n",
        f"{site}/alpha-1.0.dist-info/RECORD": record,
    }
    path = written(tmp_path, docker_archive([layer_of(files)]))
    new, old = "driver=580.65.06,gpu=a100", "driver=550.54.14,gpu=a100"
    for targets, code, first in (
        ((new, old), 1, "runs on A; on B, alpha fails: it needs driver 580.65.06"),
        ((old,), 1, "does not run on the target; alpha fails: it needs driver 580.65.06"),
        ((new,), 0, "runs on the target"),
    ):
        to = [word for target in targets for word in ("--deploy-target", target)]
        assert run(["check", path, *to]) == code
        assert capsys.readouterr().out.splitlines()[0] == first


def test_what_an_image_promises_elsewhere_does_not_keep_it_from_a_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {"os": "linux", "config": {"Env": ["NVIDIA_REQUIRE_CUDA=cuda>=12.4"]}}
    path = written(tmp_path, oci_layout([layer_of({APP: CUBIN_13_5})], config))
    assert run(["check", path, "--deploy-target", "driver=580.65.06,gpu=a100"]) == 1
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == "runs on the target"
    assert last.endswith("explain PKG-16")


@pytest.mark.parametrize("name", ["nginx:latest", "ghcr.io/owner/app:1.2", f"a@sha256:{'0' * 64}"])
def test_an_image_in_a_registry_is_to_be_saved_first(name: str) -> None:
    with pytest.raises(UnreadableInput) as caught:
        list(inspect(name))
    for way in (
        f"docker save -o image.tar {name} ",
        f"podman save -o image.tar {name};",
        f"skopeo copy docker://{name} docker-archive:image.tar)",
    ):
        assert way in str(caught.value)
    for path in ("image.tar", "dist/a.whl", "x.a::m.o"):
        with pytest.raises(UnreadableInput) as caught:
            list(inspect(path))
        assert "docker save" not in str(caught.value)


def test_platform_chooses_an_image(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = of_platforms(tmp_path)
    for verb in ("inspect", "check", "require", "audit", "inspect --weigh"):
        to = ["--deploy-target", ON_550] if verb == "check" else []
        run([*verb.split(), path, "--platform", "linux/arm64", *to])
        text = capsys.readouterr().out
        assert f"{path}:linux/arm64" in text
        assert "amd64" not in text
    assert run(["env", "--root", path, "--platform", "linux/amd64"]) == 0
    assert of_platform(path, "linux/arm64", or_file=True) == f"{path}:linux/arm64"
    assert of_platform(__file__, "linux/arm64", or_file=True) == __file__
    assert run(["require", path, "--platform", "linux/riscv64"]) == 2
    assert "it has linux/amd64, linux/arm64" in capsys.readouterr().err


def test_images_that_are_read_as_one_leave_it_open(tmp_path: Path) -> None:
    """Of standard input or a folder no image can be named; what one asks for is not held."""
    path = of_platforms(tmp_path)
    (verdict,) = check(Path(path).read_bytes(), "driver=580.65.06,gpu=a100", floors=False)
    assert verdict.verdict is Verdict.UNKNOWN
    assert any("2 images are read as one" in reason for reason in reasons(str(tmp_path)))


def test_a_compressed_image_says_what_it_asks_for(tmp_path: Path) -> None:
    asked = Path(image(tmp_path, "NVIDIA_REQUIRE_CUDA=cuda>=13.0", cubin=CUBIN_12_4)).read_bytes()
    packed = written(tmp_path, gzip.compress(asked), "image.tar.gz")
    (verdict,) = check(packed, ON_550, floors=False)
    assert (verdict.verdict, verdict.rules[0]) == (Verdict.FAIL, "ENV-01")


def test_what_is_broken_about_an_image_is_told(tmp_path: Path) -> None:
    layer = archive({APP: CUBIN_12_4})
    whole = oci_layout([layer])
    cut = written(tmp_path, oci_layout([layer[:1500]]), "cut.tar")
    assert any("says" in reason and "bytes follow" in reason for reason in reasons(cut))
    unended = layer[: 512 + len(CUBIN_12_4)]  # as umoci insert ends it
    for layers, name in (
        ([unended], APP),
        ([unended, archive({f"{APP}/x": bytes(8), "y": CUBIN_12_4})], "y"),
    ):
        ended = written(tmp_path, oci_layout(layers))
        assert (places(ended), reasons(ended)) == ([f"::/{name}"], [])
    headless = written(tmp_path, oci_layout([layer[:700]]), "headless.tar")
    assert reasons(headless)
    swapped = written(
        tmp_path, whole.replace(CUBIN_12_4, CUBIN_13_5[: len(CUBIN_12_4)]), "swapped.tar"
    )
    assert any("fetch the image again" in reason for reason in reasons(swapped))
    entry = {"Config": "c.json", "RepoTags": None, "Layers": ["gone.tar"]}
    absent = written(
        tmp_path, archive({"manifest.json": json.dumps([entry]).encode()}), "absent.tar"
    )
    assert reasons(absent) == ["the image needs this layer, which is missing"]
    out = written(tmp_path, oci_layout([archive({"../../etc/x.cubin": CUBIN_12_4})]), "out.tar")
    assert any("leads out" in reason for reason in reasons(out))


def test_a_part_of_an_image_that_is_there_twice_is_said_where_they_differ(tmp_path: Path) -> None:
    """Docker unpacks an archive, which keeps the last; others may take the first."""
    whole = docker_archive([archive({"x.cubin": CUBIN_12_4})])
    with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
        parts = [(each.name, tar.extractfile(each)) for each in tar.getmembers() if each.isfile()]
        files = [(name, file.read()) for name, file in parts if file is not None]
    name, layer = max(files, key=lambda each: len(each[1]))
    others = ([layer], [layer, layer], [layer[:-512]], [layer[:-512], layer])
    for number, same in enumerate(others):
        image = tar_of(*files, *((name, each) for each in same))
        found = reasons(written(tmp_path, image, "x.tar"))
        twice = [reason for reason in found if "two versions of this part" in reason]
        assert len(twice) == (0, 0, 1, 2)[number]


def test_devices_and_what_is_not_seen_leave_nothing_open(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        device = tarfile.TarInfo("dev/null")
        device.type, device.devmajor, device.devminor = tarfile.CHRTYPE, 1, 3
        tar.addfile(device)
        sparse = tarfile.TarInfo("opt/sparse.cubin")
        sparse.type = tarfile.GNUTYPE_SPARSE
        tar.addfile(sparse)
        tar.addfile(tarfile.TarInfo("opt/empty"))
    lower = out.getvalue()
    hidden = oci_layout([lower, archive({"opt/.wh.sparse.cubin": b"", APP: CUBIN_12_4})])
    path = written(tmp_path, hidden)
    assert (places(path), reasons(path)) == ([f"::/{APP}"], [])
    seen = written(tmp_path, oci_layout([lower]), "seen.tar")
    assert any("sparse" in reason for reason in reasons(seen))


def test_a_tar_that_only_begins_as_an_image_is_a_tar(tmp_path: Path) -> None:
    path = written(tmp_path, archive({"manifest.json": b"{}", "x.cubin": CUBIN_12_4}))
    assert places(path) == ["::x.cubin"]
    assert package_of(path) is None


GPUS = "NVIDIA_VISIBLE_DEVICES=all"


def image(folder: Path, *env: str, cubin: bytes = CUBIN_13_5) -> str:
    config = {"os": "linux", "architecture": "amd64", "config": {"Env": [GPUS, *env]}}
    return written(folder, oci_layout([archive({APP: cubin})], config))


BRANDS = "tesla unknown nvidia nvidiartx geforce geforcertx quadro quadrortx titan titanrtx"
SERVER_BRANDS = "unknown grid tesla nvidia quadro quadrortx nvidiartx vapps vpc vcs vws cloudgaming"


def official(cuda: str, *branches: int, brands: str = SERVER_BRANDS) -> str:
    """The line of an image of nvidia/cuda: brand by brand, the branches of its cuda-compat."""
    older = [
        f"brand={brand},driver>={branch},driver<{branch + 1}"
        for branch in branches
        for brand in brands.split()
    ]
    return f"NVIDIA_REQUIRE_CUDA=cuda>={cuda} {' '.join(older)}"


# As the Dockerfiles of nvidia/cuda 12.4.1 and 12.6.3 (dist/*/ubuntu2204/base) have them.
NVIDIAS = official("12.4", 470, 525, 535, brands=BRANDS)
SINCE_12_6 = official("12.6", 470, 535, 550)


@pytest.mark.parametrize(
    ("env", "cuda"),
    [
        (["NVIDIA_REQUIRE_CUDA=cuda>=12.4"], "12.4"),
        (["CUDA_VERSION=12.4.1"], "12.4"),
        (["NVIDIA_REQUIRE_CUDA=cuda>=12.0", "NVIDIA_REQUIRE_DRIVER=driver>=550"], "12.4"),
        (["NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470,driver<471"], "12.4"),
        ([NVIDIAS], "12.4"),
        (["NVIDIA_REQUIRE_CUDA=brand=tesla,driver>=525,driver<526"], "12.0"),
        (["NVIDIA_REQUIRE_CUDA=cuda>=12.4", "NVIDIA_DISABLE_REQUIRE=true"], None),
        (["CUDA_VERSION=unknown", "PATH=/bin"], None),
        ([], None),
    ],
)
def test_an_image_declares_the_oldest_driver_that_it_starts_on(
    tmp_path: Path, env: list[str], cuda: str | None
) -> None:
    package = package_of(image(tmp_path, *env))
    assert package is not None
    assert [str(each.cuda) for each in package.declared] == ([cuda] if cuda else [])


@spares("PKG-19")
def test_a_line_that_admits_drivers_on_which_the_code_fails_is_told(tmp_path: Path) -> None:
    # NGC's images of PyTorch 23.10 and Triton 23.12 ask for 9.0, older than all that is promised.
    for lax in ("NVIDIA_REQUIRE_CUDA=cuda>=9.0", SINCE_12_6):
        (problem,) = judged(image(tmp_path, lax))
        assert problem.rule == "PKG-16"
        assert problem.remedy.startswith("write NVIDIA_REQUIRE_CUDA=cuda>=13.0 alone, or compile")
    assert told(judged(image(tmp_path, "NVIDIA_REQUIRE_CUDA=cuda>=13.0"))) == {}


@strikes("PKG-19")
def test_a_line_that_is_missing_or_keeps_out_drivers_is_noted(tmp_path: Path) -> None:
    for env in ([], ["NVIDIA_REQUIRE_CUDA=cuda>=13.2"]):
        (problem,) = judged(image(tmp_path, *env))
        assert (problem.rule, problem.verdict) == ("PKG-19", Verdict.OK)
        assert "NVIDIA_REQUIRE_CUDA=cuda>=13.0" in problem.remedy
    for env in ([], ["NVIDIA_VISIBLE_DEVICES=void"], ["NVIDIA_DRIVER_CAPABILITIES=all"]):
        config = {"os": "linux", "config": {"Env": ["NVIDIA_REQUIRE_CUDA=cuda>=13.0", *env]}}
        (problem,) = judged(written(tmp_path, oci_layout([archive({APP: CUBIN_13_5})], config)))
        assert "pyxis" in problem.message  # enroot issue 205
        assert "NVIDIA_VISIBLE_DEVICES=all" in problem.remedy


def test_a_line_that_can_not_be_read_leaves_it_open(tmp_path: Path) -> None:
    (problem,) = judged(image(tmp_path, "NVIDIA_REQUIRE_CUDA=cuda=>12.4"))
    assert problem.rule == "PKG-11"
    assert "'cuda=>12.4'" in problem.message


SERVER, DESKTOP = "gpu=a100", "gpu=rtx3090"


@strikes("ENV-01")
@spares("ENV-01")
@pytest.mark.parametrize(
    ("env", "host", "verdict"),
    [
        (NVIDIAS, f"driver=535.54.03,{SERVER}", Verdict.OK),  # by its brand, whichever that is
        (NVIDIAS, f"driver=530.30.02,{SERVER}", Verdict.FAIL),
        (NVIDIAS, f"driver=550.54.14,{DESKTOP}", Verdict.OK),
        (NVIDIAS, f"driver=535.54.03,{DESKTOP}", Verdict.OK),
        # A GeForce of driver 550 is refused (llama.cpp issue 9665), since its brand isn't named.
        (SINCE_12_6, f"driver=550.163.01,{DESKTOP}", Verdict.FAIL),
        (SINCE_12_6, f"driver=560.28.03,{DESKTOP}", Verdict.OK),
        (SINCE_12_6, f"driver=550.163.01,{SERVER}", Verdict.OK),
        (SINCE_12_6, "driver=550.163.01,gpu=rtxa6000", Verdict.OK),
        (SINCE_12_6, "driver=550.163.01,gpu=sm_86", Verdict.UNKNOWN),
        (SINCE_12_6, "driver=545.23.06,gpu=sm_86", Verdict.FAIL),
        (NVIDIAS, f"driver=535.54.03+530.30.02,{SERVER}", Verdict.FAIL),
        (NVIDIAS, f"driver=535.54.03|530.30.02,{SERVER}", Verdict.UNKNOWN),
        ("CUDA_VERSION=12.4.1", f"driver=535.54.03,{SERVER}", Verdict.FAIL),
        ("NVIDIA_REQUIRE_CUDA=cuda>=11.0", f"driver=440.33.01,{SERVER}", Verdict.FAIL),
        # Release notes of CUDA 11.0: 9.0 came with 384.81, 10.1 with 418.39.
        ("NVIDIA_REQUIRE_CUDA=cuda>=10.1", f"driver=390.138,{SERVER}", Verdict.FAIL),
        ("NVIDIA_REQUIRE_CUDA=cuda>=9.0", f"driver=384.59,{SERVER}", Verdict.UNKNOWN),
        ("NVIDIA_REQUIRE_CUDA=cuda>=9.0", f"driver=384.81,{SERVER}", Verdict.OK),
        ("NVIDIA_REQUIRE_CUDA=cuda>=6.5", f"driver=319.37,{SERVER}", Verdict.UNKNOWN),
        ("NVIDIA_REQUIRE_CUDA=cuda>=12.4", f"driver=R570,{SERVER}", Verdict.OK),
        ("NVIDIA_REQUIRE_CUDA=cuda>=12.9", f"driver=R570,{SERVER}", Verdict.FAIL),
        ("NVIDIA_REQUIRE_DRIVER=driver>=570.100", f"driver=R570,{SERVER}", Verdict.UNKNOWN),
        (
            "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470,driver<471",
            f"driver=R570,{SERVER}",
            Verdict.OK,
        ),
        (
            "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=535,driver<536",
            f"driver=535.54.03,{SERVER}",
            Verdict.UNKNOWN,
        ),
        (
            "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=535,driver<536",
            f"driver=535.54.03,{DESKTOP}",
            Verdict.FAIL,
        ),
        ("NVIDIA_REQUIRE_ARCH=arch>=9.0", f"driver=550.54.14,{SERVER}", Verdict.FAIL),
        ("NVIDIA_REQUIRE_CUDA=nonsense", f"driver=550.54.14,{SERVER}", Verdict.UNKNOWN),
    ],
)
def test_an_image_that_does_not_start_on_a_driver_fails_there(
    tmp_path: Path, env: str, host: str, verdict: Verdict
) -> None:
    """NVIDIA's container toolkit, ``internal/requirements``: the conditions that it holds."""
    path = image(tmp_path, env, cubin=CUBIN_12_4)
    (result,) = (r for r in check(path, host) if r.gpu is not None)
    rules = [each.verdict for each in result.findings if each.rule == "ENV-01"]
    assert rules == ([] if verdict is Verdict.OK else [verdict])
    assert result.verdict >= verdict
    hidden = image(tmp_path, env, "NVIDIA_DISABLE_REQUIRE=1", cubin=CUBIN_12_4)
    assert all(each.rule != "ENV-01" for r in check(hidden, host) for each in r.findings)


@pytest.mark.parametrize(
    ("env", "driver", "remedy"),
    [
        # Release notes of CUDA 11.0: 9.0 came with 384.81, 10.1 with 418.39; 12.4: 550.54.14.
        ("NVIDIA_REQUIRE_CUDA=cuda>=9.0", "375.26", "update the driver to 384.81 or newer"),
        ("NVIDIA_REQUIRE_CUDA=cuda>=10.1", "390.138", "update the driver to 418.39 or newer"),
        ("NVIDIA_REQUIRE_CUDA=cuda>=12.4", "535.54.03", "update the driver to 550.54.14 or newer"),
        ("NVIDIA_REQUIRE_ARCH=arch>=9.0", "550.54.14", "use another image"),
        ("NVIDIA_REQUIRE_DRIVER=driver>=570.100", "R570", "name the exact driver and GPU"),
    ],
)
def test_the_driver_that_an_image_waits_for_is_named(
    tmp_path: Path, env: str, driver: str, remedy: str
) -> None:
    path = image(tmp_path, env, cubin=CUBIN_12_4)
    found = check(path, f"driver={driver},gpu=a100", floors=False)
    (told,) = {each.remedy for r in found for each in r.findings if each.rule == "ENV-01"}
    assert told.startswith(remedy)


def test_the_brands_that_start_an_image_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """NVML's, as ``nvidia-smi -q`` shows them under Product Brand."""
    line = "cuda>=12.4 brand=grid,driver>=470,driver<471 brand=tesla,driver>=535,driver<536 "
    path = image(
        tmp_path, f"NVIDIA_REQUIRE_CUDA={line}brand=nvidia,driver>=535,driver<536", cubin=CUBIN_12_4
    )
    found = check(path, "driver=535.54.03,gpu=a100", floors=False)
    (told,) = {each.message for r in found for each in r.findings if each.rule == "ENV-01"}
    assert "cuda>=12.4, or a GPU of brand nvidia or tesla (see Product Brand" in told
    report = str(path), "--deploy-target", "driver=535.54.03,gpu=a100"
    assert run(["check", *report]) == 3
    assert "or set NVIDIA_DISABLE_REQUIRE=1, since the code would run" in capsys.readouterr().out


def test_the_named_driver_is_the_oldest_that_starts_an_image() -> None:
    """For every CUDA release of NVIDIA's tables, those before branch 450 among them."""
    known = [(least, cuda) for cuda, least in drivers.earlier_drivers().items()]
    for branch in drivers.driver_branches():
        releases = {drivers.first_production(branch), *drivers.driver_releases(branch)}
        known += [(each, str(drivers.branch_cuda(branch))) for each in sorted(releases)]
    for cuda in dict.fromkeys(cuda for _, cuda in known):
        condition = f"cuda>={cuda} brand=tesla,driver>=470,driver<471"
        least = least_admitted((condition,))
        starts = [
            driver
            for driver, own in known
            if satisfied(condition, ContainerHost(own, str(driver), brands=("none",)))
        ]
        assert least == starts[0], cuda


@pytest.mark.parametrize(
    ("host", "verdict"),
    [
        ("driver=535.54.03,gpu=a100", Verdict.OK),  # lifted by cuda-compat
        ("driver=535.54.03,gpu=rtx3090", Verdict.FAIL),  # error 804
        ("driver=570.86.10,gpu=rtx3090", Verdict.FAIL),  # error 222: nothing is in front of it
        ("driver=575.51.03,gpu=rtx3090", Verdict.JIT),
        ("driver=535.54.03+575.51.03,gpu=rtx3090", Verdict.FAIL),
    ],
)
def test_cuda_compat_in_an_image_is_in_front_of_older_branches(
    tmp_path: Path, host: str, verdict: Verdict
) -> None:
    ptx = b".version 8.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n"
    ptx += b"{\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nst.global.u64 [%rd1], %rd1;\nret;\n}\n"
    files = {"opt/x.ptx": ptx}
    files["usr/local/cuda-12.9/compat/libcuda.so.575.51.03"] = shared("libcuda.so.1")
    path = written(tmp_path, oci_layout([archive(files)]))
    assert max(r.verdict for r in check(path, host)) is max(verdict, Verdict.JIT)


@pytest.mark.parametrize("asked", ["11.8", "12.6"])
def test_beside_cuda_compat_a_line_on_drivers_is_no_mistake(tmp_path: Path, asked: str) -> None:
    """Images of NVIDIA ask for an old driver and bring cuda-compat for servers, which it lifts."""
    config = {"config": {"Env": [GPUS, f"NVIDIA_REQUIRE_CUDA=cuda>={asked}"]}}
    lib = {"usr/local/cuda-12.9/compat/libcuda.so.575.51.03": shared("libcuda.so.1")}
    verdicts = []
    for files in ({APP: CUBIN_12_4}, {APP: CUBIN_12_4} | lib):
        path = written(tmp_path, oci_layout([archive(files)], config))
        found = [each for r in check(path, "driver=580.65.06,gpu=a100") for each in r.findings]
        verdicts.append([each.verdict for each in found if each.rule in ("PKG-16", "PKG-19")])
    assert verdicts == ([[Verdict.FAIL], [Verdict.OK]] if asked == "11.8" else [[Verdict.OK], []])


LIBCUDA = "usr/lib/x86_64-linux-gnu/libcuda.so.610.43.02"
STUBS = "usr/local/cuda/lib64/stubs/libcuda.so"
COPY = "LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs:/usr/local/cuda/compat"
"""For a libcuda that needs other libraries, as a driver's own does."""


@strikes("PKG-23")
@pytest.mark.parametrize(
    ("file", "env", "error"),
    [
        (LIBCUDA, "A=b", ""),
        ("usr/lib64/libcuda.so.1", "A=b", "error 34"),
        ("usr/lib/x86_64-linux-gnu/libcuda.so", "A=b", "error 34"),
        (STUBS, "LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs", "error 34"),
        ("opt/conf/stubs/libcuda.so", "A=b", "error 34"),
        ("usr/lib64/libcuda.so.1", COPY, "error 803"),
        (STUBS, COPY, "error 803"),
        ("usr/local/cuda/compat/libcuda.so.1", COPY, "error 803"),
    ],
)
def test_a_libcuda_in_an_image_is_told_with_the_line_that_brought_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, env: str, error: str
) -> None:
    """NVIDIA's engineers: don't install the driver in an image (nvidia-docker issues 417, 528)."""
    line = "RUN curl -fsSL https://ollama.com/install.sh | sh"
    config = {"os": "linux", "config": {"Env": [env]}, "history": [{"created_by": line}]}
    # Debian's libcuda 535 and 550 need five libraries, the stubs of CUDA 11.8 and 12.4 none: they
    # call nothing.
    needed = ("libc.so.6",) if env == COPY else ()
    files = {APP: CUBIN_12_4, file: shared("libcuda.so.1", needed=needed)}
    files["etc/ld.so.conf.d/app.conf"] = b"/opt/conf/stubs\n"
    path = written(tmp_path, oci_layout([archive(files)], config))
    assert run(["check", path, "--deploy-target", ON_550]) == 3
    text = capsys.readouterr().out
    assert "unknown[PKG-23]" in text
    assert error in text
    assert f"image.tar::/{file}" in text
    assert f"from {line}:\n  no package: PKG-23 in /{file}" in text
    assert run(["audit", path]) == (3 if error else 0)
    assert ("PKG-23" in capsys.readouterr().out) is bool(error)


IN_FRONT = "opt/driver/libcuda.so.535.54.03"
BESIDE = "usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03"
OF_UBUNTU = "usr/lib/nvidia-535/libcuda.so.535.54.03"


@pytest.mark.parametrize(
    ("file", "host", "expected"),
    [
        # LD_LIBRARY_PATH and ld.so.conf come before the folder that the host's libcuda is put into.
        (IN_FRONT, "driver=550.54.14,gpu=a100", "CMP-03"),
        (IN_FRONT, "driver=535.129.03,gpu=a100", "CMP-03"),
        (IN_FRONT, "driver=535.54.03,gpu=a100", ""),
        (IN_FRONT, "driver=525.60.13,gpu=rtx3090", "CMP-02"),
        # As cuda-compat of 12.9 would be.
        ("opt/driver/libcuda.so.575.57.08", "driver=535.54.03,gpu=a100", ""),
        ("opt/driver/libcuda.so.575.57.08", "driver=535.54.03,gpu=rtx3090", "CMP-02"),
        (OF_UBUNTU, "driver=550.54.14,gpu=a100", "CMP-03"),
        # Beside the host's, ldconfig leads libcuda.so.1 to the newer one (libnvidia-container
        # issue 266), and newer container tools to the host's.
        (BESIDE, "driver=550.54.14,gpu=a100", ""),
        (BESIDE, "driver=535.54.03,gpu=a100", ""),
        (BESIDE, "driver=525.60.13,gpu=a100", "PKG-23"),
        (BESIDE, "driver=525.60.13,gpu=rtx3090", "PKG-23"),
    ],
)
@pytest.mark.parametrize("by", ["LD_LIBRARY_PATH", "ld.so.conf"])
def test_a_drivers_libcuda_in_an_image_is_judged_on_a_known_driver(
    tmp_path: Path, file: str, host: str, expected: str, by: str
) -> None:
    folder = f"/{file.rpartition('/')[0]}"
    env = [f"{by}={folder}"] if by == "LD_LIBRARY_PATH" else ["A=b"]
    # Debian lists the folders of its libraries, too.
    conf = f"/usr/lib/x86_64-linux-gnu\n{folder if by == 'ld.so.conf' else ''}\n".encode()
    files = {APP: CUBIN_11_8, file: shared("libcuda.so.1"), "etc/ld.so.conf.d/a.conf": conf}
    path = written(tmp_path, oci_layout([archive(files)], {"config": {"Env": env}}))
    found = [each for r in check(path, host) for each in r.findings]
    worst = Verdict.UNKNOWN if expected == "PKG-23" else Verdict.FAIL
    bad = [each for each in found if each.verdict > Verdict.UNDOCUMENTED]
    assert {each.rule for each in bad} == ({expected} if expected else set())
    assert {each.verdict for each in bad} == ({worst} if expected else set())
    assert {str(each.example) for each in bad} == ({f"{path}::/{file}"} if expected else set())


@pytest.mark.parametrize("file", [IN_FRONT, BESIDE, "usr/local/cuda/compat/libcuda.so.610.43.02"])
@pytest.mark.parametrize("env", ["A=b", "LD_LIBRARY_PATH=/opt/driver"])
def test_code_in_an_image_needs_the_driver_that_it_needs_anywhere(
    tmp_path: Path, file: str, env: str
) -> None:
    """The libcuda that an image brings decides which one loads, not what its code needs."""
    config = {"os": "linux", "architecture": "amd64", "config": {"Env": [env]}}
    files = {APP: CUBIN_11_8, file: shared("libcuda.so.1")}
    (image,) = require(written(tmp_path, oci_layout([archive(files)], config)))
    (tmp_path / "app.cubin").write_bytes(CUBIN_11_8)
    (alone,) = require(tmp_path / "app.cubin")
    assert (image.services, image.driver_sass) == (alone.services, alone.driver_sass)


LISTED = ("LD_LIBRARY_PATH", "ld.so.conf", "")


@settings(deadline=None, max_examples=40)
@given(
    folder=st.sampled_from(
        ["opt/driver", "usr/lib/nvidia-535", "usr/local/nvidia/lib64", "usr/lib64", "opt/compat"]
    ),
    version=st.sampled_from(["535.54.03", "550.163.01", "610.43.02"]),
    by=st.sampled_from(LISTED),
    asked=st.sampled_from([None, "gpu=a100", "driver=550.163.01,gpu=a100"]),
)
def test_a_libcuda_in_front_of_an_unknown_driver_leaves_the_verdict_open(
    tmp_path_factory: pytest.TempPathFactory, folder: str, version: str, by: str, asked: str | None
) -> None:
    """It fails on each host whose driver has another version, which nobody can know to be none."""
    file = f"{folder}/libcuda.so.{version}"
    env = [f"LD_LIBRARY_PATH=/opt/x:/{folder}"] if by == "LD_LIBRARY_PATH" else ["A=b"]
    conf = f"/{folder}\n".encode() if by == "ld.so.conf" else b""
    files = {APP: CUBIN_11_8, file: shared("libcuda.so.1"), "etc/ld.so.conf.d/a.conf": conf}
    data = oci_layout([archive(files)], {"os": "linux", "config": {"Env": env}})
    path = written(tmp_path_factory.mktemp("front"), data)
    found = check(path, asked) if asked else [a.result for a in audit(path) if type(a) is Audited]
    told = [each for r in found for each in r.findings if each.rule == "PKG-23"]
    open_ = [each for each in told if each.verdict is Verdict.UNKNOWN]
    in_front = by and folder != "usr/lib64"
    newer = folder == "usr/lib64" and version == "610.43.02"
    expected = newer if asked and "driver" in asked else in_front
    assert bool(open_) is bool(expected)
    assert {str(each.example) for each in open_} <= {f"{path}::/{file}"}
    assert len(open_) <= 1


@spares("PKG-23")
@pytest.mark.parametrize(
    ("file", "env"),
    [
        (STUBS, "LIBRARY_PATH=/usr/local/cuda/lib64/stubs"),  # as nvidia/cuda has it, for ld
        ("usr/local/cuda-13.3/compat/libcuda.so.610.43.02", "LD_LIBRARY_PATH=/opt"),
        ("usr/local/cuda/compat/libcuda.so.1", "A=b"),
        ("usr/lib/x86_64-linux-gnu/libcudart.so.12", "LD_LIBRARY_PATH=/opt"),
        ("opt/driver/libcuda.so.535.54.03", "LD_LIBRARY_PATH=/opt"),
        ("usr/lib/x86_64-linux-gnu/stubs/libcuda.so", "A=b"),  # Debian's nvidia-cuda-dev
        ("usr/lib/x86_64-linux-gnu/libcuda.so.py", "A=b"),
        ("usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1", "A=b"),  # of Jetsons
        ("usr/lib/x86_64-linux-gnu/libc.so.6", "LD_LIBRARY_PATH=:/opt"),
    ],
)
def test_a_libcuda_that_no_loader_takes_is_no_mistake(tmp_path: Path, file: str, env: str) -> None:
    files = {APP: CUBIN_12_4, file: shared("libcuda.so.1")}
    path = written(tmp_path, oci_layout([archive(files)], {"config": {"Env": [env]}}))
    assert all(each.rule != "PKG-23" for r in check(path, ON_550) for each in r.findings)


def test_what_is_wrong_with_cuda_compat_lies_in_its_library(tmp_path: Path) -> None:
    """One reason on a GeForce, however many files have code: the package is not for it."""
    compat = "usr/local/cuda-12.1/compat/libcuda.so.530.30.02"
    files = {APP: CUBIN_12_4, "opt/y.cubin": CUBIN_12_4, compat: shared("libcuda.so.1")}
    path = written(tmp_path, oci_layout([archive(files)]))
    (result,) = (r for r in check(path, "driver=525.60.13,gpu=rtx3090") if r.gpu)
    (finding,) = (each for each in result.findings if each.rule.startswith("CMP"))
    assert (finding.rule, finding.module_count) == ("CMP-02", 2)
    assert str(finding.example) == f"{path}::/{compat}"
    assert [each.path for each in finding.origins] == [f"/{compat}"]


def test_what_is_wrong_with_code_beside_cuda_compat_lies_in_the_code(tmp_path: Path) -> None:
    compat, text = "usr/local/cuda-12.4/compat/libcuda.so.550.54.15", "opt/y.ptx"
    ptx = (FOLDER / "ptx" / "nvrtc-13.5-compute_80.ptx").read_bytes()
    path = written(tmp_path, oci_layout([archive({text: ptx, compat: shared("libcuda.so.1")})]))
    (result,) = (r for r in check(path, "driver=525.60.13,gpu=a100") if r.gpu)
    (found,) = (each for each in result.findings if each.rule == "PTX-01")
    assert str(found.example) == f"{path}::/{text}"


def test_an_image_of_windows_is_not_held_to_drivers_of_linux(tmp_path: Path) -> None:
    """NVIDIA's container tools, which read these variables, are of Linux."""
    for system, expected in (("linux", {"PKG-19"}), ("windows", set[str]())):
        data = oci_layout([archive({APP: CUBIN_12_4})], {"os": system, "architecture": "amd64"})
        results = check(written(tmp_path, data), "driver=580.65.06,gpu=a100")
        rules = {each.rule for r in results for each in r.findings}
        assert rules & {"PKG-16", "PKG-19"} == expected


@pytest.mark.parametrize("arch", ["amd64", "arm64", ""])
@pytest.mark.parametrize("system", ["linux", "linux-aarch64", ""])
def test_an_image_for_another_processor_fails_where_the_target_names_its_system(
    tmp_path: Path, arch: str, system: str
) -> None:
    """nvidia-docker issue 1519: an image for linux/amd64 on a Jetson."""
    data = oci_layout([archive({APP: CUBIN_12_4})], {"os": "linux", "architecture": arch})
    keys = ["driver=580.65.06,gpu=a100", *([f"os={system}"] if system else [])]
    found = check(written(tmp_path, data), ",".join(keys))
    told = {e.rule for r in found for e in r.findings if "exec format error" in e.message}
    other = {"linux": "arm64", "linux-aarch64": "amd64"}.get(system)
    assert told == ({"ENV-01"} if arch and arch == other else set())


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_an_archive_of_several_platforms_fails_on_none_of_their_machines(
    tmp_path: Path, machine: str
) -> None:
    found = [*check(of_platforms(tmp_path), f"driver=595.58.03,gpu=a100,os=linux-{machine}")]
    assert max(each.verdict for each in found) < Verdict.UNKNOWN
    told = {
        (each.path.rpartition("/")[2], e.rule, e.level)
        for each in found
        for e in each.findings
        if "exec format error" in e.message
    }
    other = "arm64" if machine == "x86_64" else "amd64"
    assert told == {(other, "ENV-01", "note")}


@pytest.mark.parametrize("version", ["470.82.01", "580.65.06", "610.43.02"])
def test_a_libcuda_in_a_folder_of_the_system_keeps_wsl_from_starting_an_image(
    tmp_path: Path, version: str
) -> None:
    """nvidia-container-toolkit issues 289 and 371, whatever the version of either driver is."""
    lib = {f"usr/lib/x86_64-linux-gnu/libcuda.so.{version}": shared("libcuda.so.1")}
    path = written(tmp_path, oci_layout([archive({APP: CUBIN_12_4} | lib)]))
    for system, expected in (("wsl2", True), ("linux", version > "580.65.06")):
        found = check(path, f"driver=580.65.06,gpu=a100,os={system}")
        told = [e for r in found for e in r.findings if (e.rule, e.level) == ("PKG-23", "warning")]
        assert [e.verdict for e in told] == ([Verdict.UNKNOWN] if expected else [])
        assert ("file exists" in "".join(e.message for e in told)) is (system == "wsl2")


def test_a_libcuda_of_a_branch_without_facts_is_told_in_front_of_another_driver(
    tmp_path: Path,
) -> None:
    """nixpkgs issue 45734: libcuda 390.25 in a folder of LD_LIBRARY_PATH, and driver 390.67."""
    folder = "nix/store/x-nvidia-x11-390.25-4.14.32/lib"
    lib = {f"{folder}/libcuda.so.390.25": shared("libcuda.so.1"), APP: CUBIN_12_4}
    config = {"os": "linux", "config": {"Env": [f"LD_LIBRARY_PATH=/{folder}"]}}
    path = written(tmp_path, oci_layout([archive(lib)], config))
    for driver, differs in (("390.67", True), ("390.25", False)):
        found = [e for r in check(path, f"driver={driver},gpu=gtx1080ti") for e in r.findings]
        assert any("803" in e.message for e in found if e.rule == "PKG-23") is differs


def test_an_empty_libcuda_of_a_committed_container_is_told(tmp_path: Path) -> None:
    """WSL issue 8274: docker commit keeps an empty file where the driver's was mounted."""
    for row in table("driver_folders")["system"] + table("driver_folders")["driver"]:
        folder = row["folder"].replace("*", "x86_64").replace("[0-9]", "5").lstrip("/")
        files = {APP: CUBIN_12_4, f"{folder}/libcuda.so": b""}
        path = written(tmp_path, oci_layout([archive(files)]))
        results = check(path, "driver=580.65.06,gpu=a100")
        (found,) = (e for r in results for e in r.findings if e.rule == "PKG-23")
        assert (found.verdict, "docker commit" in found.message) == (Verdict.UNKNOWN, True)


def test_what_an_image_says_of_drivers_is_compared_with_that_of_another(tmp_path: Path) -> None:
    for name, line in (("old", "cuda>=12.4"), ("new", "cuda>=12.8")):
        (tmp_path / name).mkdir()
        image(tmp_path / name, f"NVIDIA_REQUIRE_CUDA={line}", cubin=CUBIN_12_4)
    found = diff(tmp_path / "old/image.tar", tmp_path / "new/image.tar")
    assert [(each.kind, each.old, each.new) for each in found.changes] == [
        ("requires", ("NVIDIA_REQUIRE_CUDA=cuda>=12.4",), ("NVIDIA_REQUIRE_CUDA=cuda>=12.8",))
    ]


SITE = "usr/lib/python3/site-packages"
INSTALLED = {
    "cupy_cuda12x 13.6.0 (pip)": {
        f"{SITE}/cupy/x.cubin": CUBIN_13_5,
        f"{SITE}/cupy_cuda12x-13.6.0.dist-info/RECORD": (
            b'"cupy/x.cubin",sha256=a,1\ncupy/x.py,,\ncupy_cuda12x-13.6.0.dist-info/RECORD,,\n'
        ),
    },
    "foo-gpu 1.0 (conda)": {
        "opt/conda/lib/x.cubin": CUBIN_13_5,
        "opt/conda/conda-meta/foo-gpu-1.0-h12_0.json": b'{"files": ["lib/x.cubin"]}',
    },
    "libx9 1:2.0-1 (dpkg)": {
        "usr/lib/x86_64-linux-gnu/x.cubin": CUBIN_13_5,
        "var/lib/dpkg/info/libx9:amd64.list": b"/.\n/lib\n/lib/x86_64-linux-gnu/x.cubin\n",
        "var/lib/dpkg/status": b"Package: a\n\nPackage: libx9\nStatus: ok\nVersion: 1:2.0-1\n\n",
    },
    "libx10 3.0 (dpkg)": {
        "usr/lib/y.cubin": CUBIN_13_5,
        "var/lib/dpkg/status.d/libx10": b"Package: libx10\nArchitecture: arm64\nVersion: 3.0\n",
        "var/lib/dpkg/status.d/libx10.md5sums": b"%032x  usr/lib/y.cubin\n" % 7,
    },
    "gpu 1.2-r0 (apk)": {
        "usr/libexec/x.cubin": CUBIN_13_5,
        "lib/apk/db/installed": (
            b"C:Q1\nP:musl\nV:1.2.4\nF:lib\nR:x.so\nZ:Q1\n\nP:gpu\nV:1.2-r0\nF:usr\nF:usr/libexec\n"
            b"R:x.cubin\n\n"
        ),
    },
    "": {APP: CUBIN_13_5},
}
HISTORY = [
    {"created_by": "ENV X=1", "empty_layer": True},
    {"created_by": "RUN |1 A=b /bin/sh -c pip install cupy-cuda12x # buildkit"},
    {"created_by": "/bin/bash -o pipefail -c conda install foo-gpu"},
    {"created_by": "/bin/sh -c apt-get update  &&  apt-get install libx9"},
    {"created_by": "bazel build ..."},
    {"created_by": "RUN apk add gpu"},
    {"created_by": "/bin/sh -c #(nop) COPY file:1 in /opt/app "},
]
LINES = (
    "RUN pip install cupy-cuda12x",
    "RUN conda install foo-gpu",
    "RUN apt-get update && apt-get install libx9",
    "bazel build ...",
    "RUN apk add gpu",
    "COPY file:1 in /opt/app",
)


def of_managers(folder: Path, history: object = HISTORY) -> str:
    layers = [archive(files) for files in INSTALLED.values()]
    return written(folder, oci_layout(layers, {"os": "linux", "history": history}))


def test_findings_say_whose_the_files_of_an_image_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = of_managers(tmp_path)
    (found,) = (r for r in check(path, ON_550, floors=False) if r.verdict is Verdict.FAIL)
    (finding,) = (each for each in found.findings if each.verdict is Verdict.FAIL)
    told = {each.path: (each.distribution, each.layer) for each in finding.origins}
    names = [name.replace("_", "-") for name in INSTALLED]
    first = [f"/{next(iter(files))}" for files in INSTALLED.values()]
    assert told == dict(zip(first, zip(names, LINES, strict=True), strict=True))
    run(["check", path, "--deploy-target", ON_550])
    text = capsys.readouterr().out
    for line, name, file in zip(LINES, names, first, strict=True):
        assert f"from {line}:\n  {name or 'no package'}: {finding.rule} in {file}" in text


def test_without_a_history_the_distributions_are_told_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for history in ([], HISTORY[:-1], "nonsense"):
        run(["check", of_managers(tmp_path, history), "--deploy-target", ON_550])
        text = capsys.readouterr().out
        assert "from a layer whose origin the image does not record:" in text
        assert "foo-gpu 1.0 (conda): " in text


def test_of_two_lists_the_upper_layer_counts_and_a_removed_one_does_not(tmp_path: Path) -> None:
    old, new = (
        archive({f"{SITE}/a/x.cubin": CUBIN_13_5, f"{SITE}/a-{v}.dist-info/RECORD": b"a/x.cubin,,"})
        for v in ("1", "2")
    )
    gone = archive({f"{SITE}/.wh.a-2.dist-info": b""})
    for layers, name in (([old, new], "a 2 (pip)"), ([old, new, gone], "a 1 (pip)")):
        path = written(tmp_path, oci_layout(layers))
        (found,) = (r for r in check(path, ON_550, floors=False) if r.verdict is Verdict.FAIL)
        assert {each.distribution for f in found.findings for each in f.origins} == {name}


def test_the_weight_of_an_image_is_told_by_layer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    size = len(CUBIN_13_5)
    lower = archive({"opt/a.cubin": CUBIN_13_5, "opt/big": bytes(1 << 20), "opt/b": b"1234"})
    upper = archive({"opt/.wh.big": b"", "opt/b": CUBIN_12_4, "opt/c.cubin": CUBIN_12_4})
    lines = [{"created_by": "COPY a"}, {"created_by": "RUN rm big"}]
    (found,) = weigh(written(tmp_path, oci_layout([lower, upper], {"history": lines})))
    assert [(each.history, each.size, each.hidden, each.stored) for each in found.layers] == [
        ("COPY a", size + (1 << 20) + 4, (1 << 20) + 4, size),
        ("RUN rm big", 2 * len(CUBIN_12_4), 0, 2 * len(CUBIN_12_4)),
    ]
    run(["inspect", "--weigh", str(tmp_path / "image.tar")])
    text = capsys.readouterr().out
    assert "the image still ships 1.0 MiB of files hidden by later layers" in text


def dpkg(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.skipif(not Path("/var/lib/dpkg/info").is_dir(), reason="no Debian")
def test_the_packages_of_this_debian_are_those_that_dpkg_names(tmp_path: Path) -> None:
    lists = sorted(Path("/var/lib/dpkg/info").glob("lib*.list"))[:200]
    named = {p: p.read_text().splitlines() for p in lists}
    files = [f for each in named.values() for f in each if f.endswith(".so.6") or ".so.1" in f][:50]
    inside = {file.lstrip("/"): CUBIN_13_5 for file in files}
    status = Path("/var/lib/dpkg/status")
    inside |= {str(p).lstrip("/"): p.read_bytes() for p in (*lists, status)}
    path = written(tmp_path, oci_layout([archive(inside)]))
    (found,) = (r for r in check(path, ON_550, floors=False) if r.verdict is Verdict.FAIL)
    told = {each.path: each.distribution for f in found.findings for each in f.origins}
    assert len(told) >= 10
    for file, name in told.items():
        owner = dpkg("dpkg", "-S", file).split(":")[0]
        assert (
            name
            == dpkg("dpkg-query", "-f", "${Package} ${Version} (dpkg)\n", "-W", owner).split("\n")[
                0
            ]
        )


@pytest.mark.parametrize(
    ("env", "least"),
    [
        ("PATH=/usr/bin", "525.60.13"),
        ("NVIDIA_REQUIRE_CUDA=cuda>=11.0", "525.60.13"),
        ("NVIDIA_REQUIRE_CUDA=cuda>=12.4", "550.54.14"),
        ("NVIDIA_REQUIRE_CUDA=cuda>=13.0", "580.65.06"),
        ("NVIDIA_REQUIRE_CUDA=cuda>=12.0 cuda>=12.8", "525.60.13"),
        ("NVIDIA_REQUIRE_DRIVER=driver>=570", "570.26"),
        (SINCE_12_6, "560.28.03"),
        ("NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470,driver<471", "550.54.14"),
    ],
)
def test_require_names_the_drivers_on_which_an_image_starts(
    tmp_path: Path, env: str, least: str
) -> None:
    """What ``require`` names passes ``check``, and the next older driver doesn't."""
    path = image(tmp_path, env, cubin=CUBIN_12_4)
    (found,) = require(path)
    (service,) = (each for each in found.services if each.number == 80)
    assert service.driver is not None
    assert str(service.driver) == least
    older = max(each for each in drivers.production_drivers() if each < service.driver)
    for driver, passes in ((service.driver, True), (older, False)):
        (result,) = check(path, f"driver={driver},gpu=sm_80", floors=False)
        assert (result.verdict <= Verdict.JIT) is passes, (driver, result.findings)
    (line,) = (each for each in found.lines if each.where == "container")
    assert line.text.endswith(f"cuda>={drivers.branch_cuda(service.driver.branch)}")
