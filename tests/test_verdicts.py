"""How requirements, targets and trials become verdicts, and how those fold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rule_cases import spares, strikes
from rules import image

from ltocompat.commands.advice import told_trials
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup, together_as_one
from ltocompat.model.image import (
    CudaLibrary,
    HostBinary,
    ImageKind,
    Producer,
    Role,
    Skipped,
)
from ltocompat.model.location import Location
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.trial_answer import TrialOutcome, Trials, link_key
from ltocompat.model.verdict import Result, Verdict, worst
from ltocompat.rules.engine.judge_artifact import results
from ltocompat.scan.summarize import _regrouped
from ltocompat.targets import parse
from ltocompat.targets.linkers import Tool
from ltocompat.trial.link_job import LinkJob
from ltocompat.trial.try_links import _plan

PLACE = Location("libexample.so")
H100 = "driver=580.95.05,nvjitlink=13.0,gpu=h100"


def sass(arch: str, cuda: str | None = None, **more: object) -> ImageSignature:
    return image(ImageKind.SASS, arch, cuda, **more)


def ptx(arch: str, isa: str) -> ImageSignature:
    return image(ImageKind.PTX, arch, isa=isa)


def ltoir(arch: str, *releases: str) -> ImageSignature:
    made = tuple(map(Release.parse, releases))
    version = releases[0] if len(releases) == 1 else None
    maker = Producer(Role.COMPILER, None, version, made, "container")
    return image(ImageKind.LTOIR, arch, made_by=(maker,))


def group(
    *images: ImageSignature, count: int = 1, registered: bool | None = True, **more: object
) -> ModuleGroup:
    trials: Trials = more.get("trials", {})  # type: ignore[assignment]
    device_link = bool(more.get("needs_device_link"))
    return ModuleGroup(
        ModuleSignature(images, registered, device_link), trials, count, PLACE.at(0x40)
    )


def judged(*groups: ModuleGroup, target: str = H100, skipped: int = 0) -> Result:
    gone = [Skipped(PLACE.at(0x80), "the region is cut off", 10)] * skipped
    summary = ArtifactSummary("libexample.so", list(groups), gone, skipped)
    (one,) = parse([target])
    (result,) = results(summary, one)
    return result


def rules(result: Result) -> list[str]:
    return [finding.rule for finding in result.findings]


@strikes("IMG-04")
@spares("IMG-04")
def test_a_tenth_of_what_another_gpu_has_is_hardly_anything() -> None:
    hardly = judged(group(sass("sm_90"), count=334), group(sass("sm_80"), count=3345))
    assert (hardly.verdict, set(rules(hardly))) == (Verdict.OK, {"PTX-07", "IMG-04"})
    (finding,) = [finding for finding in hardly.findings if finding.rule == "IMG-04"]
    assert finding.message == (
        "334 modules with kernels are for sm_90, and 3,345 are for sm_80: "
        "the code was probably not built for sm_90"
    )
    few = judged(group(sass("sm_90"), count=335), group(sass("sm_80"), count=3345))
    assert rules(few) == ["PTX-07"]


def test_an_artifact_fails_when_nothing_serves_the_gpu() -> None:
    result = judged(group(sass("sm_80"), count=3))
    assert result.verdict is Verdict.FAIL
    assert rules(result) == ["SASS-06", "PTX-07"]
    assert result.findings[0].module_count == 3
    assert "SASS sm_80" in result.findings[0].message


def test_code_that_only_some_of_the_possible_drivers_refuse_does_not_fail() -> None:
    """Although other code fails on all of them; without such code, the last driver's is shown."""
    newer, old = group(ptx("compute_70", isa="9.5")), group(sass("sm_70", "12.0"))
    either = "driver=470.82.01|535.54.03,gpu=v100"
    result = judged(newer, old, target=either)
    assert {finding.rule: finding.verdict for finding in result.findings if finding.verdict} == {
        "PTX-01": Verdict.FAIL,
        "DRV-01": Verdict.UNKNOWN,
    }
    apart = judged(old, target="driver=470.82.01|595.45.04,gpu=v100")
    assert (apart.verdict, rules(apart)[:-1]) == (Verdict.FAIL, ["DRV-04"])


def test_modules_with_the_same_reason_share_a_line_of_why() -> None:
    """A cuBLAS has thousands, of dozens of signatures that come to the same."""
    several = group(sass("sm_90"), count=2), group(sass("sm_90"), sass("sm_80"), count=3)
    (line,) = judged(*several).why
    assert line.startswith("5 modules (e.g. ")


def test_ptx_without_kernels_harms_nobody() -> None:
    newer = ptx("compute_75", isa="9.5")
    result = judged(group(sass("sm_90")), group(replace(newer, has_kernels=False), count=5))
    assert result.verdict is Verdict.OK
    assert result.coverage.without_kernels == 5


def test_a_loose_fatbin_of_both_kinds_gets_a_line_for_each_way() -> None:
    both = group(ltoir("lto_80", "13.0"), sass("sm_90", "13.0"), registered=None)
    summary = ArtifactSummary("both.fatbin", [both])
    (target,) = parse([H100])
    assert [(result.route, result.verdict) for result in results(summary, target)] == [
        ("load", Verdict.OK),
        ("link", Verdict.OK),
    ]


def test_several_artifacts_in_one_link_need_the_newest_of_their_linkers() -> None:
    library = ArtifactSummary("libcufft.a", [group(ltoir("lto_80", "12.4"), registered=False)])
    callback = ArtifactSummary(
        "callback.fatbin", [group(ltoir("lto_80", "12.9"), registered=False)]
    )
    whole = together_as_one([library, callback])
    (target,) = parse(["nvjitlink=12.6,gpu=h100"])
    (result,) = results(whole, target)
    assert result.path == "libcufft.a + callback.fatbin"
    assert result.verdict is Verdict.FAIL
    assert "12.9" in result.findings[0].message


def test_a_linker_inside_links_what_lies_beside_it_whatever_the_target_has() -> None:
    inside = CudaLibrary("libnvJitLink", "static", None, "13.4.92", "banner")
    host = HostBinary(
        place=PLACE, format="ELF", machine="x86-64", type="shared library", libraries=(inside,)
    )
    fragments = [group(ltoir("lto_80", "13.0"), registered=False)]
    (target,) = parse(["driver=580.95.05,nvjitlink=12.4,gpu=h100"])
    (alone,) = results(ArtifactSummary("libwarp.so", fragments), target)
    (own,) = results(ArtifactSummary("libwarp.so", fragments, hosts=[host]), target)
    assert (alone.verdict, own.verdict) == (Verdict.FAIL, Verdict.OK)
    assert own.target == target


@pytest.mark.parametrize(
    ("file", "releases", "verdict"),
    [
        ("libcuda.so.1", ("11.8",), Verdict.UNKNOWN),  # its driver links it, whatever else is there
        ("libnvJitLink.so.12", ("11.8",), Verdict.FAIL),
        ("libnvrtc.so.11.2", ("11.8",), Verdict.FAIL),  # nothing says that it calls the driver
        (
            "libcuda.so.1",
            ("11.8", "12.4"),
            Verdict.FAIL,
        ),  # which something has to link by nvJitLink
    ],
)
def test_ltoir_of_cuda_11_is_for_the_driver_where_a_library_asks_for_no_nvjitlink(
    file: str, releases: tuple[str, ...], verdict: Verdict
) -> None:
    opened = CudaLibrary(file.partition(".")[0], "opened", file, None, "string")
    host = HostBinary(
        place=PLACE, format="ELF", machine="x86-64", type="shared library", libraries=(opened,)
    )
    fragments = [group(ltoir("lto_80", release), registered=False) for release in releases]
    (target,) = parse(["driver=520.61.05,nvjitlink=12.4,gpu=a100"])
    (result,) = results(ArtifactSummary("libcusparse.so.11", fragments, hosts=[host]), target)
    assert result.verdict is verdict


STRADDLING = ltoir("lto_80", "13.3", "13.4", "13.5")


def tried(
    outcome: str, cause: str | None = None, linker: str = "13.3", by: str = "nvJitLink"
) -> Trials:
    answer = TrialOutcome(f"{by} {linker}.33", outcome, cause, "it says so")
    key = link_key(Release.parse(linker), SmArch.parse("sm_90"), offline=by == "nvlink")
    return {key: answer}


@pytest.mark.parametrize(
    ("image", "linker", "trials", "verdict", "text"),
    [
        (STRADDLING, "13.3", {}, Verdict.UNKNOWN, "LTO-01"),
        (STRADDLING, "13.3", tried("accepted"), Verdict.OK, None),
        (STRADDLING, "13.3", tried("refused", "ltoir too new"), Verdict.FAIL, "LTO-01"),
        (STRADDLING, "13.3", tried("crashed"), Verdict.UNKNOWN, "TRIAL"),
        (ltoir("lto_80", "13.3"), "13.3", tried("crashed"), Verdict.UNKNOWN, "TRIAL"),
        # What ended early says nothing: the rules decide, and what was open stays so.
        (STRADDLING, "13.3", tried("timed out"), Verdict.UNKNOWN, "TRIAL"),
        (ltoir("lto_80", "13.3"), "13.3", tried("timed out"), Verdict.OK, "TRIAL"),
        (ltoir("lto_80", "12.4"), "13.3", tried("timed out"), Verdict.UNDOCUMENTED, "TRIAL"),
        (ltoir("lto_80", "13.4"), "13.3", tried("timed out"), Verdict.FAIL, "LTO-01"),
        (ltoir("lto_80", "12.4"), "13.3", tried("linked"), Verdict.UNDOCUMENTED, "LTO-02"),
        (ltoir("lto_80", "13.3"), "13.3", tried("refused"), Verdict.FAIL, "TRIAL-DISAGREES"),
        (ltoir("lto_80", "13.4"), "13.3", tried("linked"), Verdict.FAIL, "TRIAL-DISAGREES"),
        (
            replace(ltoir("lto_75a", "13.3"), in_fatbin=False),
            "13.3",
            tried("linked"),
            Verdict.UNDOCUMENTED,
            "TRIAL",
        ),
        (
            replace(ltoir("lto_75a", "13.3"), in_fatbin=False),
            "13.3",
            tried("refused", "instruction unsupported"),
            Verdict.FAIL,
            "TRIAL",
        ),
    ],
)
@strikes("TRIAL", "TRIAL-DISAGREES")
@spares("TRIAL", "TRIAL-DISAGREES")
def test_a_trial_settles_what_is_open_and_never_makes_a_verdict_better_than_documented(
    image: ImageSignature, linker: str, trials: Trials, verdict: Verdict, text: str | None
) -> None:
    module_group = replace(group(image, registered=False), trials=trials)
    result = judged(module_group, target=f"driver=580,nvjitlink={linker},gpu=h100")
    assert result.verdict is verdict
    if text is None:
        assert not result.findings
    else:
        assert text in rules(result)


@given(
    arch=st.sampled_from(["lto_75", "lto_80", "lto_90", "lto_90a", "lto_100f"]),
    releases=st.lists(
        st.sampled_from(["11.8", "12.4", "12.9", "13.0", "13.3", "13.4"]), min_size=1, unique=True
    ),
    linker=st.sampled_from(["12.4", "12.9", "13.0", "13.3", "13.5"]),
    gpu=st.sampled_from(["sm_80", "sm_90", "sm_100"]),
    in_fatbin=st.booleans(),
)
def test_a_fragment_is_compiled_whole_where_the_rules_leave_it_open(
    arch: str, releases: list[str], linker: str, gpu: str, *, in_fatbin: bool
) -> None:
    image = replace(ltoir(arch, *sorted(releases)), in_fatbin=in_fatbin)
    module = group(image, registered=False)
    plan = _plan(module.signature, LinkJob(Tool.NVJITLINK, *parsed(linker, gpu)))
    open_ = judged(module, target=f"driver=580,nvjitlink={linker},gpu={gpu}").verdict
    if plan is not None and open_ is not Verdict.FAIL:
        assert plan.compiled == (open_ is Verdict.UNKNOWN)


def test_trials_that_ended_early_are_told_beside_the_answer() -> None:
    trials = tried("timed out")
    groups = [replace(group(STRADDLING, registered=False), trials=trials) for _ in range(2)]
    notes = list(told_trials(ArtifactSummary("libx.so", groups)))
    assert [note.message.partition(";")[0] for note in notes] == [
        "libx.so: 2 trials of nvJitLink 13.3.33 ended early: it says so"
    ]
    assert not list(told_trials(ArtifactSummary("libx.so", [group(STRADDLING)])))


def test_answers_of_linkers_are_told_by_linker_and_architecture() -> None:
    groups = [
        replace(group(STRADDLING, registered=False, count=2), trials=tried(outcome))
        for outcome in ("linked", "linked", "accepted", "refused")
    ]
    notes = list(told_trials(ArtifactSummary("libx.so", groups)))
    (arch,) = {arch for _, arch in tried("linked")}
    (told,) = [note.message.split(": ", 2) for note in notes]
    assert told[:2] == ["libx.so", "tried"]
    assert told[2].split(", ") == [
        f"nvJitLink 13.3.33 linked 4 modules for {arch}",
        f"nvJitLink 13.3.33 accepted 2 modules for {arch}",
        f"nvJitLink 13.3.33 refused 2 modules for {arch}",
    ]


def parsed(linker: str, gpu: str) -> tuple[Release, SmArch]:
    return Release.parse(linker), SmArch.parse(gpu)


@pytest.mark.parametrize(
    ("made_by", "trials", "verdict", "text"),
    [
        ("13.3", tried("linked"), Verdict.FAIL, "LTO-01"),  # nvJitLink was asked, and is not meant
        ("13.3", tried("linked", by="nvlink", linker="13.2"), Verdict.FAIL, "TRIAL-DISAGREES"),
        ("13.2", tried("refused", by="nvlink", linker="13.2"), Verdict.FAIL, "TRIAL-DISAGREES"),
        ("13.2", tried("linked", by="nvlink", linker="13.2"), Verdict.OK, None),
        ("13.2", tried("crashed", by="nvlink", linker="13.2"), Verdict.UNKNOWN, "TRIAL"),
    ],
)
def test_what_needs_a_device_link_is_settled_by_nvlink_alone(
    made_by: str, trials: Trials, verdict: Verdict, text: str | None
) -> None:
    fragment = ltoir("lto_80", made_by)
    module_group = replace(group(fragment, registered=False), trials=trials)
    signature = replace(module_group.signature, needs_device_link=True)
    result = judged(
        replace(module_group, signature=signature),
        target="driver=580,nvjitlink=13.3,nvlink=13.2,gpu=h100",
    )
    assert result.verdict is verdict
    assert text is None or text in rules(result)


@given(st.lists(st.sampled_from(list(Verdict))))
def test_folding_takes_the_worst(verdicts: list[Verdict]) -> None:
    assert worst(verdicts) == max(verdicts, default=Verdict.NOT_FOR_GPU)


ARTIFACTS = st.lists(
    st.sampled_from(
        [
            group(sass("sm_90", "13.0")),
            group(sass("sm_80", "12.4")),
            group(ptx("compute_80", isa="8.4")),
            group(ptx("compute_80", isa="9.5")),
            group(ltoir("lto_80", "12.4"), registered=False),
            group(STRADDLING, registered=False),
            group(ltoir("lto_80", "13.0")),
        ]
    ),
    min_size=1,
    max_size=5,
)


@given(ARTIFACTS)
def test_another_module_never_makes_a_verdict_better_unless_nothing_served(
    groups: list[ModuleGroup],
) -> None:
    fewer, more = judged(*groups), judged(*groups, group(STRADDLING, registered=False))
    served = fewer.coverage.served > 0
    assert more.verdict >= fewer.verdict or not served
    assert more.coverage.modules == fewer.coverage.modules + 1


def test_nothing_is_missed_where_no_image_of_a_module_has_kernels() -> None:
    empty = replace(sass("sm_75"), has_kernels=False)
    assert judged(group(empty)).verdict is Verdict.OK
    assert judged(group(empty, sass("sm_80"))).verdict is Verdict.FAIL  # the other may have some


def needing_linker(*imports: str) -> HostBinary:
    """Has libnvJitLink.so.13 loaded with it, as the server of libcuopt."""
    asked = CudaLibrary("libnvJitLink", "needed", "libnvJitLink.so.13", None, "DT_NEEDED")
    return HostBinary(
        place=Location("x.whl", ("server",)),
        format="ELF",
        machine="x86-64",
        type="executable",
        needed=("libnvJitLink.so.13",),
        libraries=(asked,),
        nvjitlink_imports=imports,
    )


def test_a_linker_that_is_only_loaded_leaves_no_link_open() -> None:
    """A target without nvJitLink decides nothing of it; one of another major fails the load."""
    idle = ArtifactSummary("x.whl", [], hosts=[needing_linker()])
    calling = ArtifactSummary("x.whl", [], hosts=[needing_linker("__nvJitLinkCreate_13_0")])
    silent, other = parse(["driver=580.95.05,gpu=h100", "driver=580.95.05,gpu=h100,nvjitlink=12.9"])
    (nothing,) = results(idle, silent)
    assert (nothing.without_device_code, nothing.not_judged) == (True, ())
    (open_,) = results(calling, silent)
    assert open_.not_judged == ("link",)
    (failed,) = results(idle, other)
    assert failed.verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("soname", "narrowed"), [("libcusparse.so.12", True), ("libx.so.1", False)]
)
def test_only_nvidia_makes_all_code_of_a_library_with_one_release(
    soname: str, narrowed: bool
) -> None:
    """Others link LTO-IR that another build wrote beside SASS of their own."""
    linker = CudaLibrary("libnvJitLink", "needed", "libnvJitLink.so.12", None, "DT_NEEDED")
    host = HostBinary(
        place=PLACE,
        format="ELF",
        machine="x86-64",
        type="shared library",
        soname=soname,
        libraries=(linker,),
    )
    inner = group(sass("90", "12.4"), ltoir("90", "12.4", "12.5"))
    (found,) = _regrouped({(): inner}, host).values()
    (maker,) = found.signature.images[1].made_by
    assert (maker.releases == (Release(12, 4),)) == narrowed


def test_code_that_works_undocumented_in_a_trial_says_which_rule_and_how_to_mend_it() -> None:
    image = replace(ltoir("lto_75a", "13.3"), in_fatbin=False)
    module_group = replace(group(image, registered=False), trials=tried("linked"))
    result = judged(module_group, target="driver=580,nvjitlink=13.3,gpu=h100")
    (finding,) = (each for each in result.findings if each.rule == "TRIAL")
    assert finding.verdict is Verdict.UNDOCUMENTED
    assert "(LTO-04: LTO-IR lto_75a" in finding.message
    assert finding.remedy.startswith("link for sm_75a")
