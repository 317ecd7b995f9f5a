"""Deploy targets as files describe them: real outputs, each in disguises that pastes go through."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ltocompat.facts.drivers import branch_cuda, branch_of
from ltocompat.model.arch import Release
from ltocompat.model.errors import UsageError
from ltocompat.model.target import Target
from ltocompat.model.verdict import Verdict
from ltocompat.rules.constraints import driver_of_cuda, driver_of_major
from ltocompat.targets import parse
from ltocompat.targets.versions.container import read_container
from ltocompat.targets.versions.drivers import read_driver

OUTPUTS = tomllib.loads((Path(__file__).parent / "data" / "inventory.toml").read_text())["output"]
DISGUISES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "quoted in Markdown": lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
    "of Windows": lambda text: text.replace("\n", "\r\n"),
    "coloured": lambda text: text.replace("NVIDIA ", "\x1b[32mNVIDIA\x1b[0m "),
    "in a page": lambda text: f"<details><pre>\n{text.replace('<', '&lt;')}</pre></details>\n",
    "with single blanks": lambda text: "\n".join(" ".join(s.split()) for s in text.splitlines()),
    "in one line": lambda text: json.dumps(json.loads(text)) if text[0] == "{" else text,
    "indented": lambda text: "".join(f"    {line}\n" for line in text.splitlines()),
    "behind a prompt": lambda text: f"user@host:~$ cat output\n{text}",
}
STRUCTURED = ("apiVersion", "{", "FROM", "# FROM", "name:", "channels:")


def told(where: Path, text: str) -> list[Target] | str:
    """The targets of a file, or the sentence that asks."""
    (where / "machine").write_text(text, newline="")
    try:
        return list(parse(["machine"], where=str(where)))
    except UsageError as error:
        return str(error)


def facts(target: Target) -> dict[str, Any]:
    known = {
        "driver": target.driver is not None
        and len(target.driver.values) == 1
        and target.driver.text,
        "os": str(target.system),
        "sms": sorted({gpu.arch.number for gpu in target.gpus}),
        "nodes": list(target.nodes),
    }
    for part in ("nvjitlink", "nvrtc"):
        found = getattr(target, part)
        known[part] = [str(value) for value in found.values] if found else []
    return known


def expected(output: dict[str, Any]) -> dict[str, Any]:
    parts = {part: output.get(part, []) for part in ("nvjitlink", "nvrtc", "nodes", "sms")}
    return {"driver": output.get("driver", False), "os": output.get("os", "linux"), **parts}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_outputs_are_read_or_what_they_do_not_tell_is_asked_for(
    disguise: str, tmp_path: Path
) -> None:
    for output in OUTPUTS:
        answer = told(tmp_path, DISGUISES[disguise](output["text"]))
        if (
            output["text"].startswith(STRUCTURED)
            and disguise != "as it is"
            and isinstance(answer, str)
        ):
            continue  # blanks mean something there: it may be refused, and is never misread
        if "asks" in output:
            assert output["asks"] in answer, output["address"]
            if "driver" in output:
                (target,) = parse(["smi=machine,gpu=sm_75"], where=str(tmp_path))
                assert facts(target) == expected(output | {"sms": [75]}), output["address"]
            continue
        assert not isinstance(answer, str), (output["address"], answer)
        (target,) = answer
        if container := output.get("container"):
            assert target.driver is not None
            assert target.driver.values == read_container(container, "").values
            assert facts(target) | {"driver": False} == expected(output), output["address"]
        else:
            assert facts(target) == expected(output), output["address"]


def nodes(*kinds: tuple[int, str, str]) -> str:
    """Nodes of Kubernetes: how many, their driver (empty: no label) and product."""
    items: list[dict[str, Any]] = [{"kind": "Node", "metadata": {"name": "control", "labels": {}}}]
    for count, driver, product in kinds:
        for _ in range(count):
            labels = {"nvidia.com/gpu.product": product}
            labels |= {"nvidia.com/cuda.driver-version.full": driver} if driver else {}
            items.append({"kind": "Node", "metadata": {"name": f"n{len(items)}", "labels": labels}})
    return json.dumps({"kind": "List", "items": items}, indent=1)


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    text = nodes((14, "550.54.15", "NVIDIA-A100-SXM4-40GB"), (3, "535.161.08", "Tesla-T4-SHARED"))
    (tmp_path / "nodes.json").write_text(text)
    return tmp_path


LABELS = {
    "kubernetes.io/arch": "arm64",
    "nvidia.com/cuda.driver-version.full": "550.107.02",
    "nvidia.com/gpu.compute.major": "9",
    "nvidia.com/gpu.compute.minor": "0",
    "nvidia.com/gpu.product": "NVIDIA-GH200-480GB",
}
SHOWN = [f"{key}={value}" for key, value in LABELS.items()]


TABLE = f"""NAME   STATUS   ROLES    AGE   VERSION   LABELS
a1     Ready    <none>   2d    v1.30.1   kubernetes.io/arch=arm64,kubernetes.io/os=linux
b1     Ready    <none>   2d    v1.30.1   {",".join(SHOWN)}
"""
DESCRIBED = f"""Name:
Name:               b1
Roles:              <none>
Labels:             {(chr(10) + " " * 20).join(SHOWN)}
Annotations:        volumes.kubernetes.io/controller-managed-attach-detach: true
"""


@pytest.mark.parametrize("text", [TABLE, DESCRIBED], ids=["--show-labels", "describe"])
def test_labels_are_read_as_text_too(tmp_path: Path, text: str) -> None:
    labelled = {"kind": "Node", "metadata": {"name": "b1", "labels": LABELS}}
    expected = told(tmp_path, json.dumps(labelled))
    for disguise in ("as it is", "quoted in Markdown", "of Windows", "behind a prompt"):
        assert told(tmp_path, DISGUISES[disguise](text)) == expected


def bare(driver: str, product: str) -> dict[str, str]:
    """The labels of a node by themselves."""
    major, minor, revision = driver.split(".")
    labels = {"driver-version.full": driver, "driver-version.major": major}
    labels |= {"driver-version.minor": minor, "driver-version.revision": revision}
    found = {f"nvidia.com/cuda.{key}": value for key, value in labels.items()}
    return found | {"nvidia.com/gpu.count": "8", "nvidia.com/gpu.product": product}


BARE: dict[str, Callable[[dict[str, str]], str]] = {
    "lines of its file": lambda labels: "".join(f"{k}={v}\n" for k, v in labels.items()),
    "YAML": lambda labels: "".join(f'{k}: "{v}"\n' for k, v in labels.items()),
    "YAML without quotes": lambda labels: "".join(f"    {k}: {v}\n" for k, v in labels.items()),
    "JSON": lambda labels: json.dumps(labels) + "\n",
    "JSON in lines": lambda labels: json.dumps({"labels": labels}, indent=2) + "\n",
}


@pytest.mark.parametrize("disguise", ["as it is", "quoted in Markdown", "of Windows"])
@pytest.mark.parametrize("form", BARE)
def test_labels_by_themselves_are_a_node_and_never_one_of_two(
    form: str, disguise: str, tmp_path: Path
) -> None:
    """As gpu-feature-discovery writes them, or as kubectl -o jsonpath shows them."""
    first, second = bare("550.54.15", "NVIDIA-A100-SXM4-80GB"), bare("535.161.08", "Tesla-T4")
    for labels, expected in (
        ([first], [("550.54.15", [80])]),
        ([first, second], [("550.54.15", [80]), ("535.161.08", [75])]),
    ):
        answer = told(tmp_path, DISGUISES[disguise]("".join(map(BARE[form], labels))))
        assert not isinstance(answer, str), answer
        found = [facts(target) for target in answer]
        assert sorted((each["driver"], each["sms"]) for each in found) == sorted(expected)


def test_a_policy_names_a_fleet(fleet: Path) -> None:
    (fleet / "ltocompat.toml").write_text('[targets.cluster]\nnodes = "nodes.json"\n')
    assert parse(["cluster"], where=str(fleet)) == parse(["nodes.json"], where=str(fleet))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            "nodes=smi.txt",
            "smi.txt; it accepts output of kubectl get nodes",
        ),
        ("slurm=nodes.json", "nodes.json; it accepts output"),
        ("smi=none.txt", "there is no file"),
        ("smi=smi.txt,nodes=nodes.json", "nodes and smi both name the machines"),
        ("both.txt", "outputs with different drivers (525.105.17 and 560.35.03); keep one"),
        ("two.txt", "has 2 reports of nvidia-smi; give a file for each machine"),
        ("cut.txt", "has an unreadable line about a GPU; give driver= and gpu= instead"),
        ("cut.json", "is not valid JSON"),
        (
            "image=pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime",
            "names CUDA 12.4, but not the drivers that it starts on",
        ),
        (
            "pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime",
            "names CUDA 12.4, but not the drivers that it starts on",
        ),
        ("Dockerfile", "$BASE has no value here; give it a default: ARG BASE=..."),
        ("ngc.Dockerfile", "pytorch:24.05-py3 names neither a CUDA release nor the drivers"),
        ("nvcr.io/nvidia/pytorch:24.12-py3", "names neither a CUDA release nor the drivers"),
        ("tensorflow/tensorflow:2.17.0-gpu", "names neither a CUDA release nor the drivers"),
        ("rapidsai/base:24.12-cuda12.5-py3.12", "names CUDA 12.5, but not the drivers"),
        ("ghcr.io/some-body/cu-app/x:v1-cu124", "names CUDA 12.4, but not the drivers"),
        ("ghcr.io/some-body/torch-cu118:1.2.3", "names CUDA 11.8, but not the drivers"),
        ("ghcr.io/some-body/ocu124:latest", "names neither a CUDA release nor the drivers"),
        ("torch.Dockerfile", "names CUDA 12.4, but not the drivers that it starts on"),
        ("nvcr.io/nvidia/tritonserver:24.05-py3", "give driver= as well"),
    ],
)
def test_a_file_that_does_not_tell_ends_in_a_sentence(fleet: Path, text: str, part: str) -> None:
    smi = next(output["text"] for output in OUTPUTS if "Tesla M60" in output["text"])
    (fleet / "smi.txt").write_text(smi)
    (fleet / "both.txt").write_text(smi + "Nvidia driver version: 560.35.03\n")
    (fleet / "two.txt").write_text(smi + smi)
    (fleet / "cut.txt").write_text(
        smi + "|   1  Tesla M60\n           Off  | 00000000:00:1F.0 Off |\n"
    )
    (fleet / "cut.json").write_text((fleet / "nodes.json").read_text()[:-9])
    (fleet / "Dockerfile").write_text("ARG BASE\nFROM $BASE\n")
    (fleet / "torch.Dockerfile").write_text(
        "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\nRUN make\n"
    )
    (fleet / "ngc.Dockerfile").write_text("FROM nvcr.io/nvidia/pytorch:24.05-py3\nRUN make\n")
    with pytest.raises(UsageError) as caught:
        parse([text], where=str(fleet))
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "container", "nvrtc", "nvjitlink"),
    [
        ("FROM nvidia/cuda:12.4.1-base-ubuntu22.04", "cuda>=12.4", [], []),
        ("FROM nvcr.io/nvidia/cuda:11.8.0-cudnn8-runtime-ubi8", "cuda>=11.8", ["11.8"], []),
        # It begins with nvidia/cuda:12.4.1-cudnn9-devel-ubuntu22.04.
        ("FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel", "cuda>=12.4", ["12.4"], []),
        (
            (
                "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\n"
                "ENV NVIDIA_REQUIRE_CUDA=cuda>=12.2"
            ),
            "cuda>=12.2",
            ["12.4"],
            [],
        ),
        (
            (
                "ARG V=12.4.1\nFROM --platform=linux/amd64 nvidia/cuda:${V}-devel-ubi8 AS b\n"
                "RUN make\nFROM nvidia/cuda:12.8.1-runtime-ubuntu24.04\nCOPY --from=build /app /app"
            ),
            "cuda>=12.8",
            ["12.8"],
            ["12.8"],
        ),
        (
            "FROM nvidia/cuda:12.4.1-devel-ubi8 AS a\nFROM a\nENV NVIDIA_REQUIRE_CUDA=cuda>=12.2",
            "cuda>=12.2",
            ["12.4"],
            ["12.4"],
        ),
        # What torch brings hides the image's own.
        (
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN pip install torch",
            "cuda>=12.4",
            [],
            [],
        ),
        (
            (
                "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n"
                "RUN pip install --no-cache-dir \\\n    nvidia-nvjitlink-cu12==12.8.93 numpy && ls"
            ),
            "cuda>=12.4",
            [],
            ["12.4", "12.8"],
        ),
        (
            (
                "FROM --platform=linux/arm64 nvidia/cuda:12.4.1-base-ubuntu22.04\n"
                "RUN pip install \"nvidia-nvjitlink-cu12==12.8.93;platform_machine=='aarch64'\""
                " \"nvidia-nvjitlink-cu12==12.9.86;platform_machine=='x86_64'\""
            ),
            "cuda>=12.4",
            [],
            ["12.8"],
        ),
        (
            (
                "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nCOPY requirements.txt .\n"
                "RUN pip3 install -r requirements.txt"
            ),
            "cuda>=12.4",
            ["12.6"],
            [],
        ),
    ],
)
def test_a_dockerfile_is_its_last_stage(
    tmp_path: Path, lines: str, container: str, nvrtc: list[str], nvjitlink: list[str]
) -> None:
    (tmp_path / "app.dockerfile").write_text(f"# syntax=docker/dockerfile:1\n{lines}\n")
    (tmp_path / "requirements.txt").write_text("nvidia-cuda-nvrtc-cu12==12.6.77\nnumpy\n")
    (target,) = parse(["app.dockerfile"], where=str(tmp_path))
    assert target.driver is not None
    assert target.driver.values == read_container(container, "").values
    known = facts(target)
    assert (known["nvrtc"], known["nvjitlink"]) == (nvrtc, nvjitlink)


def test_the_model_of_a_processor_is_no_gpu(tmp_path: Path) -> None:
    """collect_env has the lines of lscpu."""
    text = next(each["text"] for each in OUTPUTS if "Nvidia driver version" in each["text"])
    assert told(tmp_path, f"{text}Model:                              85\n") == told(tmp_path, text)


@pytest.mark.parametrize("key", ["driver=550.54.14", "container=cuda>=12.4"])
def test_what_the_sentence_asks_for_is_enough(tmp_path: Path, key: str) -> None:
    (tmp_path / "Dockerfile").write_text("FROM nvcr.io/nvidia/pytorch:24.05-py3\n")
    for image in ("Dockerfile", "nvcr.io/nvidia/pytorch:24.05-py3"):
        (target,) = parse([f"image={image},{key}"], where=str(tmp_path))
        assert target.driver is not None
        assert str(target.driver.values[0]) == "550.54.14"


def test_an_image_is_a_target_by_its_name() -> None:
    name = "nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04"
    (target,) = parse([name])
    assert facts(target)["nvjitlink"] == ["12.4"]
    (with_gpu,) = parse([f"image={name},gpu=h100"])
    assert with_gpu == replace(
        target,
        name="nvjitlink=12.4,nvrtc=12.4,gpu=h100,container=cuda>=12.4",
        gpus=with_gpu.gpus,
        sources=with_gpu.sources,
    )


@pytest.mark.parametrize(
    ("line", "releases"),
    [
        ("libnvjitlink=12.4", ["12.4"]),
        ("libnvjitlink 12.4.*", ["12.4"]),
        ("conda-forge::libnvjitlink=12.4.127=h59595ed_0", ["12.4"]),
        ("libnvjitlink==12.4.127", ["12.4"]),
        ("libnvjitlink>=12.4,<12.6", ["12.4", "12.5"]),
        ("cuda-version=12.6", ["12.6"]),
        ("nvidia/label/cuda-12.4.0::cuda-toolkit=12.4.0", ["12.4"]),
    ],
)
def test_an_environment_asks_for_versions_as_conda_writes_them(
    tmp_path: Path, line: str, releases: list[str]
) -> None:
    (tmp_path / "environment.yml").write_text(f"name: e\ndependencies:\n  - python\n  - {line}\n")
    (target,) = parse(["environment.yml"], where=str(tmp_path))
    assert facts(target)["nvjitlink"] == releases


SMI = re.compile(r"Driver Version: ([0-9.]+) +CUDA Version: ([0-9]+\.[0-9]+)")
SAID = sorted({pair for output in OUTPUTS for pair in SMI.findall(output["text"])})


@pytest.mark.parametrize(("driver", "cuda"), SAID)
def test_a_driver_is_of_the_cuda_release_that_nvidia_smi_says(driver: str, cuda: str) -> None:
    """It loads what that release writes: its PTX, and its SASS of a new CUDA major."""
    (value,) = read_driver(driver, "").values
    release = Release.parse(cuda)
    assert branch_cuda(branch_of(value)) == release
    assert driver_of_cuda(release).judge(value) is Verdict.OK
    assert driver_of_major(release.major).judge(value) is Verdict.OK
