"""Paste: what `require` prints for an artifact holds together, as one deploy target.

A target has one driver and one nvJitLink for all routes. So each GPU's floors, the sentence above
the table and the lines to paste are held against every line of `check` at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from generated_artifacts import ARTIFACTS, GROUPS, HOSTS, WHERE, artifact
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from report_values import valid_json, written
from samples import FOLDER

from ltocompat import check, require
from ltocompat.cli import run
from ltocompat.facts import drivers, nvjitlink_minors
from ltocompat.model.arch import SmArch
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup
from ltocompat.model.image import CudaLibrary, HostBinary
from ltocompat.model.requirement import NEXT, GpuSupport, PasteLine, Required
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Result, Route, Verdict
from ltocompat.report import Options
from ltocompat.report.verbs.require import REPORT
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.rules.engine.judge_artifact import results
from ltocompat.rules.engine.routes import routes
from ltocompat.targets import parse

BRANCHES = drivers.driver_branches()
LINKERS = sorted(nvjitlink_minors())
BOTH_WAYS = [group for group in GROUPS if len(routes(group.signature)) > 1]
LINKED = [group for group in GROUPS if routes(group.signature) == (Route.LINK,)]
"""Modules of samples that can be loaded and linked, and those that are linked alone."""

WINDOWS = HostBinary(place=WHERE, format="PE", machine="x86-64", type="shared library")
WITH_BOTH = st.builds(
    artifact,
    st.builds(
        lambda *parts: [group for part in parts for group in part],
        st.lists(st.sampled_from(BOTH_WAYS), min_size=1, max_size=2),
        st.lists(st.sampled_from(LINKED), max_size=1),
        st.lists(st.sampled_from(GROUPS), max_size=1),
    ),
    st.one_of(HOSTS, st.just([WINDOWS])),
)
"""Artifacts with modules that can go both ways, beside others."""


def _of_newest(group: ModuleGroup) -> bool:
    """Return whether its code is of the newest toolkit, which no driver compiles yet."""
    makers = [maker for image in group.signature.images for maker in image.made_by]
    return bool(makers) and all(max(LINKERS) in maker.releases for maker in makers)


NEWEST = [group for group in GROUPS if _of_newest(group)]
BEYOND = st.builds(
    lambda *parts: artifact(list(parts), []),
    st.sampled_from(LINKED),
    st.sampled_from([group for group in NEWEST if Route.LINK in routes(group.signature)]),
    st.sampled_from([group for group in NEWEST if len(group.signature.images) > 1]),
)
"""LTO-IR beside code that a linker takes for some GPUs, and that drivers can't load on others."""

EVERY = st.one_of(WITH_BOTH, ARTIFACTS, BEYOND)


def of_sample(name: str) -> ModuleGroup:
    """The first module of a sample."""
    return next(group for group in GROUPS if group.example.path.endswith(name))


LTO_BEYOND = artifact(
    [
        of_sample("nvfatbin-12.4-of-12.2-lto_80.fatbin"),
        of_sample("nvrtc-13.5-sm_80-rdc.cubin"),
        of_sample("nvcc-13.5-none.fatbin"),
    ],
    [],
)
"""Its LTO-IR of 12.2 is linked for all GPUs; those with a driver ask for nvJitLink 13.5."""

STEP = 5
STARTS = st.integers(0, STEP - 1)
many = settings(max_examples=40, deadline=None)


def judged(summary: ArtifactSummary, *words: str, number: int) -> list[Result]:
    """What `check` says for a GPU on a target that is spelled as a user does."""
    (target,) = parse([",".join([f"gpu=sm_{number}", *words])])
    assert all(isinstance(gpu, Gpu) for gpu in target.gpus)
    return list(results(summary, target))


def failing(found: Iterable[Result], service: GpuSupport) -> list[Result]:
    """The lines of `check` that are worse than `require` says; where it says none does, it may."""
    floors = {floor.route: floor for floor in service.routes}
    if None not in floors:  # on a target without a linker PTX is but loaded
        floors[None] = max(service.routes, key=lambda floor: floor.verdict)
    return [
        result
        for result in found
        if not (floor := floors[result.route]).beyond
        and floor.coverage.served
        and result.verdict > max(floor.verdict, Verdict.JIT)
    ]


def objections(found: Iterable[Result]) -> set[tuple[str, str]]:
    """The rules that keep verdicts from being good, each with what it saw."""
    findings = (finding for result in found for finding in result.findings)
    return {(each.rule, each.evidence) for each in findings if each.verdict > Verdict.JIT}


def with_floors(answer: Required) -> list[GpuSupport]:
    return [service for service in answer.services if service.driver is not None]


@given(EVERY, STARTS)
@many
def test_the_floors_of_a_gpu_pass_together(summary: ArtifactSummary, start: int) -> None:
    for service in with_floors(required(summary))[start::STEP]:
        linker = service.nvjitlink or LINKERS[-1]
        for driver in (service.driver, service.last_driver):
            words = (f"driver={driver}", f"nvjitlink={linker}")
            assert not failing(judged(summary, *words, number=service.number), service), words


@given(EVERY, STARTS)
@many
def test_the_branch_that_ends_a_span_is_the_last_that_passes(
    summary: ArtifactSummary, start: int
) -> None:
    for service in with_floors(required(summary))[start::STEP]:
        assert service.last_driver is not None
        assert str(service.last_driver) == f"R{service.last_driver.branch}"
        for branch in [each for each in BRANCHES if each > service.last_driver.branch][:1]:
            linker = f"nvjitlink={service.nvjitlink or LINKERS[-1]}"
            at_last = judged(
                summary, f"driver={service.last_driver}", linker, number=service.number
            )
            after = judged(summary, f"driver={branch}", linker, number=service.number)
            # What bytes that nobody could read leave open hides that the verdict is worse.
            assert failing(after, service) or objections(after) - objections(at_last), branch


def of_lines(lines: Iterable[PasteLine]) -> list[str]:
    """The lines to paste as a target spells them."""
    words = {}
    for line in lines:
        if line.where == "container":
            words["container"] = line.text.replace("NVIDIA_REQUIRE_CUDA", "container")
        elif line.where == "pip" and line.text:
            words["nvjitlink"] = f"nvjitlink>{line.text.partition('>')[2]}"
    return list(words.values())


def of_build(answer: Required, service: GpuSupport) -> list[str]:
    """The nvlink of a build, for objects that nothing links later, so that no line asks for it."""
    asked = any(line.where == "pip" and line.text for line in answer.lines)
    return [] if asked or service.nvjitlink is None else [f"nvlink={service.nvjitlink}"]


def excepted(line: PasteLine) -> dict[int, str]:
    """The GPUs that a note names, and what it says of them."""
    found = {}
    for part in line.note.split("; "):
        match = re.fullmatch(r"((?:sm_\d+(?:, )?)+) (.*)", part)
        if match:
            found.update({int(number): match[2] for number in re.findall(r"sm_(\d+)", match[1])})
    return found


WAITING = artifact([of_sample("nvcc-13.0-rdc-scale.o")], [])
"""An object that nvlink links when a program is built."""


@given(EVERY, STARTS)
@example(LTO_BEYOND, 0)
@example(WAITING, 0)
@many
def test_lines_to_paste_pass_together(summary: ArtifactSummary, start: int) -> None:
    answer = required(summary)
    words = of_lines(answer.lines)
    if not any(word.startswith("container") for word in words):
        return
    others = {number for line in answer.lines for number in excepted(line)}
    plain = [
        service
        for service in with_floors(answer)
        if service.number not in others and not service.hardly
    ]
    later = {n for line in answer.lines for n, note in excepted(line).items() if "from" in note}
    # Its minimum versions do for some GPU.
    assert any(service.number not in later for service in with_floors(answer)), answer.lines
    for service in plain[start % max(1, len(plain)) :: STEP]:
        target = (*of_build(answer, service), *words)
        found = judged(summary, *target, number=service.number)
        assert not failing(found, service), (target, service)


def noted(line: PasteLine, number: int, base: str) -> tuple[str, str]:
    """From which version on a line does for a GPU, and up to which; empty where there is no end."""
    text = excepted(line).get(number, "")
    first, last = (re.search(rf"{word} (\S+)", text) for word in ("from", "to"))
    return first[1] if first else base, last[1] if last else ""


@given(EVERY, STARTS)
@many
def test_gpus_that_notes_except_pass_with_what_they_say(
    summary: ArtifactSummary, start: int
) -> None:
    answer = required(summary)
    lines = {line.where: line for line in answer.lines if line.text}
    if "container" not in lines:
        return
    of_driver, of_linker = lines["container"], lines.get("pip")
    least = of_driver.note.split()[1]
    for service in [each for each in with_floors(answer) if not each.hardly][start::STEP]:
        driver, last = noted(of_driver, service.number, least)
        linker = str(LINKERS[-1])
        if of_linker is not None:
            floor = re.findall(r">=([\d.]+)", of_linker.text)[0]
            linker, _ = noted(of_linker, service.number, floor)
        for version in (driver, last or str(BRANCHES[-1])):
            words = (f"driver={version}", f"nvjitlink={linker}")
            assert not failing(judged(summary, *words, number=service.number), service), words


def spans(text: str, known: list[int]) -> dict[int, str]:
    """``525.60.13 on sm_80-87 (sm_88: 580.65.06)``: what is said of each GPU."""
    found: dict[int, str] = {}
    for archs, span in re.findall(r"(sm_[\d, -]+): ([^;()]+)", text):
        for part in archs.removeprefix("sm_").split(", "):
            low, _, high = part.partition("-")
            found |= {n: span for n in known if int(low) <= n <= int(high or low)}
    return found


@given(EVERY, STARTS)
@many
def test_the_sentence_above_the_table_holds_together(summary: ArtifactSummary, start: int) -> None:
    answer = required(summary)
    text = written("table", REPORT, [answer], Options(quiet=True))
    sentence = re.sub(r"\n +", " ", text).splitlines()[-1]  # a long one is wrapped
    match = re.fullmatch(
        r"(?:Runs|May run) with (?:driver )?(.*?) on (sm_[^(;]+?)( \(.*?\))?(;.*)?", sentence
    )
    if match is None:
        # Without kernels, the sentence names the driver of the runtime, which some GPU has.
        least = min((each.driver for each in answer.services if each.driver), default=None)
        idle = f"It has no kernels: any GPU that a driver >= {least} supports will do"
        assert least is None or sentence.startswith(idle), sentence
        return
    known = [service.number for service in answer.services if service.name != NEXT]
    of_drivers = spans(f"{match[2]}: {match[1].removeprefix('>= ')}{match[3] or ''}", known)
    links = match[4] or ""
    base = re.search(r">=\s?([\d.]+)", links)
    for service in with_floors(answer)[start::STEP]:
        if service.number not in of_drivers:
            assert service.hardly or service.name == NEXT, sentence
            continue
        installed = base[1] if base else str(LINKERS[-1])
        linker = spans(links, known).get(service.number, installed)
        # Where none links for a GPU, that of the others is there, and code is loaded beside it.
        linker = installed if linker == "none known" else linker.split()[0]
        first, _, last = of_drivers[service.number].removesuffix(" only").partition(" to ")
        for driver in (first.removesuffix(" or older"), last or str(BRANCHES[-1])):
            words = (f"driver={driver}", f"nvjitlink={linker}")
            found = judged(summary, *words, number=service.number)
            assert not failing(found, service), (sentence, words)


def test_the_line_of_drivers_is_for_the_linkers_of_the_line_beside_it() -> None:
    # sm_101 is known to 12.8 and 12.9 alone, whose code an older driver runs than that of 13.x,
    # which needs R580 (CUDA Compatibility guide).
    name = "nvfatbin-12.4-of-12.0-lto_80"
    ltoir = next(group for group in GROUPS if name in group.example.path)
    opened = CudaLibrary("libnvJitLink", "opened", "libnvJitLink.so.13", None, "name")
    host = replace(WINDOWS, format="ELF", libraries=(opened,))
    lines = {line.where: line.text for line in required(artifact([ltoir], [host])).lines}
    assert lines["pip"] == "nvidia-nvjitlink>=13.0,<14"
    assert lines["container"] == "NVIDIA_REQUIRE_CUDA=cuda>=13.0"


NEWEST_BRANCH = f"R{drivers.driver_branches()[-1]}"
BOTH_ROUTES = [
    # What nvJitLink 12 makes is CUDA 12 code: R525 or newer (CUDA Compatibility guide).
    ("ptx/nvrtc-11.8-compute_80.ptx", 80, "525.60.13", NEWEST_BRANCH, "12.0"),
    # From 13.2 on SASS of sm_80 is linked for sm_87; what 13.x makes needs R580 (the same guide).
    ("cubin/nvrtc-12.4-sm_80-rdc.cubin", 87, "580.65.06", NEWEST_BRANCH, "13.2"),
    # Volta's last branch is R580 (NVIDIA UNIX driver deprecation schedule).
    ("cubin/nvrtc-12.9-sm_70.cubin", 70, "525.60.13", "R580", None),
]


@pytest.mark.parametrize(("name", "number", "driver", "last", "linker"), BOTH_ROUTES)
def test_the_floors_that_nvidia_documents(
    name: str, number: int, driver: str, last: str, linker: str | None
) -> None:
    path = FOLDER / name
    (answer,) = require(path)
    (service,) = [each for each in answer.services if each.number == number]
    assert str(service.driver) == driver
    assert str(service.last_driver) == last
    assert service.nvjitlink is None or str(service.nvjitlink) == linker
    words = f",nvjitlink={linker}" if linker else ""
    for version in (driver, last):
        found = list(check(path, f"gpu=sm_{number},driver={version}{words}"))
        assert max(each.verdict for each in found) <= max(f.verdict for f in service.routes)


def linker_line(answer: Required) -> PasteLine:
    (line,) = [line for line in answer.lines if line.where == "pip"]
    return line


def test_the_lines_are_those_of_gpus_that_need_no_other_nvjitlink() -> None:
    ptx, for_13 = of_sample("nvrtc-11.8-compute_80.ptx"), of_sample("of-13.0-lto_75-none.fatbin")
    answer = required(artifact([ptx, for_13], []))
    (container,) = [line.text for line in answer.lines if line.where == "container"]
    # sm_101, which no nvJitLink 13 links for, would do with R570; all others need R580.
    assert container == "NVIDIA_REQUIRE_CUDA=cuda>=13.0"
    assert "sm_101 with no known version" in linker_line(answer).note
    sentence = written("table", REPORT, [answer], Options(quiet=True))
    assert "nvidia-nvjitlink>=13.0,<14 (sm_101: none known; sm_107: 13.4)" in sentence


def test_the_nvjitlink_is_one_that_all_routes_of_a_gpu_take() -> None:
    opens = CudaLibrary("libnvJitLink", "needed", "libnvJitLink.so.12", None, "name")
    host = replace(WINDOWS, format="ELF", libraries=(opens,))
    answer = required(artifact([of_sample("nvrtc-12.4-sm_80-rdc.cubin")], [host]))
    assert linker_line(answer).text == "nvidia-nvjitlink-cu12>=12.4,<13"
    # From 13.2 on it would be linked for sm_87 and sm_88, and no longer be the one that is opened;
    # no driver loads it there, so that nothing is asked for them.
    assert not linker_line(answer).note


def test_gpus_that_nothing_serves_need_no_nvjitlink() -> None:
    made_by_12_3 = of_sample("ltoir/nvrtc-12.3-lto_80.ltoir")
    answer = required(artifact([made_by_12_3], [], unread=True))
    assert linker_line(answer).text == "nvidia-nvjitlink-cu12>=12.3,<13"


def test_a_line_ends_where_every_gpu_that_is_served_does() -> None:
    volta = next(group for group in GROUPS if str(group.example).endswith("nvrtc-12.9-sm_70.cubin"))
    (image,) = volta.signature.images
    old = replace(image, arch=SmArch(60))  # Pascal alone: a cubin of sm_70 runs on Turing, too
    alone = artifact([replace(volta, signature=replace(volta.signature, images=(old,)))], [])
    answer = required(alone)
    (container,) = [line.text for line in answer.lines if line.where == "container"]
    assert container == "NVIDIA_REQUIRE_CUDA=cuda>=12.0,cuda<13.1"  # R590 is CUDA 13.1
    assert "__cuda >=12.0,<13.1" in [line.text for line in answer.lines]
    assert not failing(judged(alone, *of_lines(answer.lines), number=60), answer.services[0])


OLD_PTX = "//\n.version {isa}\n.target sm_50\n.address_size 64\n.visible .entry k() {{ trap; }}\n"


@pytest.mark.parametrize(
    ("isa", "least"),
    [
        ("4.1", "450.51.05 or older"),  # CUDA 6.5, whose driver is older than the tables
        ("6.4", "418.39"),  # CUDA 10.1 (release notes of CUDA 11.0)
        ("6.5", "440.33"),
        ("7.1", "455.23"),  # CUDA 11.1 (PTX ISA, release notes)
    ],
)
def test_a_floor_with_which_the_tables_begin_may_be_too_high(
    isa: str, least: str, tmp_path: Path
) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(OLD_PTX.format(isa=isa), "utf-8")
    (answer,) = require(path)
    (service,) = [each for each in answer.services if each.number == 60]
    loaded = service.routes[0]
    assert loaded.or_older is ("or older" in least)
    text = written("table", REPORT, [answer], Options(why=True))
    assert f"driver for all PTX   {least}\n" in text
    assert f"{least} to R580" in text
    value = valid_json(written("json", REPORT, [answer]))["artifacts"][0]
    assert value["driver_ptx"] == least.removesuffix(" or older")
    assert value["driver_or_older"] == (["ptx"] if loaded.or_older else [])
    assert not any("older" in line.text for line in answer.lines)


def test_sass_of_cuda_11_has_a_floor_that_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    """R450 is the first branch of the tables, and the one that NVIDIA documents for CUDA 11."""
    path = FOLDER / "cubin" / "nvrtc-11.8-sm_80.cubin"
    assert run(["require", str(path)]) == 0
    assert "450.51.05" in (text := capsys.readouterr().out)
    assert "or older" not in text


def test_lines_of_several_artifacts_hold_together(capsys: pytest.CaptureFixture[str]) -> None:
    cubin = FOLDER / "cubin"
    names = ["ltoir/nvrtc-12.4-lto_80.ltoir", "ptx/nvrtc-12.9-compute_80.ptx"]
    paths = [str(FOLDER / name) for name in names]
    pasted = {}
    for where in ("pip", "conda", "container"):
        assert run(["require", *paths, "--for", where]) == 0
        lines = capsys.readouterr().out.splitlines()
        pasted[where] = [line for line in lines if not line.startswith("#")]
    assert pasted["pip"] == ["nvidia-nvjitlink-cu12>=12.9,<13"]
    assert sorted(pasted["conda"]) == [
        "- __cuda >=12.9",
        "- __cuda_arch >=8.0",
        "- libnvjitlink >=12.9,<13",
    ]
    words = "gpu=sm_80,nvjitlink>=12.9,<13,container=cuda>=12.9"
    assert all(each.verdict <= Verdict.JIT for path in paths for each in check(path, words))
    apart = [
        paths[0],
        str(cubin / "nvrtc-12.9-sm_70.cubin"),
        str(FOLDER / "ptx/nvcc-13.0-compute_80.ptx"),
    ]
    assert run(["require", *apart, "--for", "conda"]) == 0
    text = capsys.readouterr().out
    assert "# libnvjitlink >=12.4,<13 and libnvjitlink >=13.0,<14 exclude each other" in text
    assert "# no known GPU and driver run all artifacts" in text
    assert "\n- libnvjitlink" not in text
