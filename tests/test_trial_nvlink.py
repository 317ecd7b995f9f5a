"""Links with nvlink, where a script stands for it; the real ones are asked in tests/wild."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest
import recorded
from libraries_made import GCC, needs_gcc
from msgspec.structs import replace
from samples import FOLDER

from ltocompat.commands.check import check
from ltocompat.files.images.cubin import Cubin
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.image import Image, ImageKind, Producer, Role
from ltocompat.model.location import Location
from ltocompat.model.trial_answer import TOO_NEW
from ltocompat.scan.walk import ScanSettings
from ltocompat.targets.linkers import Cache, Linker, Tool
from ltocompat.targets.linkers.cache import InstalledFile, InstallOrigin
from ltocompat.trial.cached_linker import outcome_of
from ltocompat.trial.diagnosis import sharpened
from ltocompat.trial.link_inputs import SingleLink, gather_all
from ltocompat.trial.link_pool import Pool
from ltocompat.trial.logs import Reason, explain
from ltocompat.trial.outputs import contents
from ltocompat.trial.try_single_link import ALONE_REFUSED, link_all
from ltocompat.trial.values import (
    DEFAULT_TRIAL_LIMITS,
    LANDLOCK,
    SECCOMP,
    Answer,
    InputKind,
    LinkOutcome,
    Request,
    Step,
    TrialImpossible,
    TrialInput,
    TrialLimits,
)

pytestmark = needs_gcc

SCRIPT = """#!{python} -IS
import os, signal, sys
words = sys.argv[1:]
if words == ["--version"]:
    print("Cuda compilation tools, release 13.5, V13.5.37")
    sys.exit()
(output,) = [words[n + 1] for n, word in enumerate(words) if word == "-o"]
files = [word for word in words if word.startswith("input")]
first = open(files[0], "rb").read()
if first == b"crash":
    os.kill(os.getpid(), signal.SIGSEGV)
if first == b"loop":
    while True: pass
if first == b"refuse":
    print("nvlink fatal   : Input file '" + files[-1] + "' newer than toolkit (135 vs 130)")
    sys.exit(1)
if first == b"open":
    print("nvlink error   : Undefined reference to 'f' in '" + files[0] + "'")
    sys.exit(255)
nvvm = [word.partition("=")[2] for word in words if word.startswith("-nvvmpath=")]
library = [open(folder + "/lib64/libnvvm.so").read() for folder in nvvm]
endings = [file.partition(".")[2] for file in files]
options = [word for word in words if word[0] == "-"][:2]
print("HOME" in os.environ, endings, files, options, library, first)
open(output, "wb").write(b"no cubin")
"""


@pytest.fixture
def nvlink(tmp_path: Path) -> str:
    """A script in the place of nvlink, with its libnvvm beside it as in our cache.

    No sandbox lets a script run, which starts another program: seccomp alone holds it here.
    """
    program = tmp_path / "nvlink"
    program.write_text(SCRIPT.format(python=sys.executable))
    program.chmod(0o755)
    (tmp_path / "libnvvm.so.4").write_text("libnvvm")
    return str(program)


def ask(
    nvlink: str, *inputs: tuple[InputKind, bytes], limits: TrialLimits = DEFAULT_TRIAL_LIMITS
) -> Answer:
    named = tuple(TrialInput(f"place-{n}", kind, data) for n, (kind, data) in enumerate(inputs))
    limits = replace(limits, sandbox=(SECCOMP,))
    with Pool(nvlink, workers=1, limits=limits, tool=Tool.NVLINK) as pool:
        assert pool.release == Release(13, 5)
        (answer,) = pool.run([Request(named, ("-arch=sm_90", "-lto"))])
    return answer


def test_inputs_have_the_endings_that_nvlink_knows_them_by(nvlink: str) -> None:
    kinds = (*InputKind,)
    answer = ask(nvlink, *((kind, b"%d" % kind) for kind in kinds))
    endings = ["cubin", "ptx", "ltoir", "fatbin", "o", "a", "o"]
    names = [f"place-{number}" for number in range(len(kinds))]
    options = "['-arch=sm_90', '-lto']"
    assert answer.log.startswith(f"False {endings} {names} {options} ['libnvvm'] b'1'")
    assert (answer.outcome, answer.step) == (LinkOutcome.ACCEPTED, Step.COMPLETE)
    assert answer.output_size == len(b"no cubin")
    assert (answer.seconds.complete or 0) > 0


def test_the_zero_byte_behind_ptx_is_no_part_of_the_file(nvlink: str) -> None:
    assert ask(nvlink, (InputKind.PTX, b".version 8.0\0")).log.endswith("b'.version 8.0'")


LEAVING = """
#include <errno.h>
#include <stdio.h>
#include <string.h>
int main(int count, char **words) {
  char path[4096] = "";
  if (!strcmp(words[1], "--version")) return !puts("release 13.5, V13.5.37");
  fread(path, 1, sizeof path - 1, fopen("input0.o", "r"));
  puts(fopen("output", "w") ? "done" : strerror(errno));
  puts(fopen("here", "w") ? "done" : strerror(errno));
  puts(fopen(path, "w") ? "done" : strerror(errno));
  return 1;
}
"""


@pytest.mark.parametrize(
    ("beside", "endings"),
    [
        ((), "['fatbin']"),
        (("cubin/nvrtc-12.4-sm_80-rdc.cubin",), "['o', 'cubin']"),
        (("objects/constants.o",), "['fatbin', 'o']"),
    ],
)
def test_objects_stay_objects_where_nvlink_takes_them(
    nvlink: str, beside: Sequence[str], endings: str
) -> None:
    """nvlink 13.0 to 13.5 refuses LTO-IR of objects, and nothing else, without libcudadevrt.

    Beside SASS or PTX it takes the objects, and loses LTO-IR that it gets in loose fatbins. Objects
    without device code are given to linkers, too, as builds do.
    """
    paths = [str(FOLDER / name) for name in ("objects/nvcc-13.5-lto.o", *beside)]
    inputs = gather_all(paths, ScanSettings())
    limits = replace(DEFAULT_TRIAL_LIMITS, sandbox=(SECCOMP,))
    with Pool(nvlink, workers=1, limits=limits, tool=Tool.NVLINK) as pool:
        answer = link_all(pool, SingleLink(inputs, SmArch(80), Release(13, 5)))
    assert endings in answer.log


def test_an_object_without_code_for_the_target_is_no_input_beside_ltoir(
    nvlink: str, tmp_path: Path
) -> None:
    """nvlink 13.0 to 13.5 leaves it out with libcudadevrt, and refuses the link without."""
    data = {made.file: made.data for made in recorded.parts()[1]}
    names = ("kernel-first-lto_80-13.5.o", "function-helper-lto_90-13.5.o")
    for name in names:
        (tmp_path / name).write_bytes(data[name])
    inputs = gather_all([str(tmp_path / name) for name in names], ScanSettings())
    limits = replace(DEFAULT_TRIAL_LIMITS, sandbox=(SECCOMP,))
    with Pool(nvlink, workers=1, limits=limits, tool=Tool.NVLINK) as pool:
        given = [
            link_all(pool, SingleLink(inputs, SmArch(number), Release(13, 5))).log
            for number in (86, 90)
        ]
    assert ["['fatbin']" in given[0], "['fatbin', 'fatbin']" in given[1]] == [True, True]


class Told:
    """A pool whose nvlink gives the answers that it was told, one to each link."""

    tool, lacks_device_runtime = Tool.NVLINK, False

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)

    def run(self, _: object, __: object = None) -> list[Answer]:
        return [self._answers.pop(0)]


@pytest.mark.parametrize(
    ("alone", "outcome", "reason"),
    [
        (LinkOutcome.UNRESOLVED, "lost", "the link succeeds, but without the kernels of "),
        # A table of functions is refused alone, whether or not a kernel uses it.
        (LinkOutcome.REFUSED, "accepted", ALONE_REFUSED),
        (LinkOutcome.ACCEPTED, "linked", ""),
    ],
)
def test_a_link_with_nvlink_proves_nothing_of_ltoir_that_can_not_be_linked_alone(
    alone: LinkOutcome, outcome: str, reason: str
) -> None:
    """nvlink 13.0 to 13.4 returns 0 where it loses LTO-IR beside SASS, and prints nothing."""
    names = ("ltoir/nvrtc-12.4-lto_80.ltoir", "cubin/nvrtc-12.4-sm_80-rdc.cubin")
    inputs = gather_all([str(FOLDER / name) for name in names], ScanSettings())
    fine = Answer(outcome=LinkOutcome.LINKED, step=Step.COMPLETE, release=Release(13, 0))
    told = Told(replace(fine, kernels_in_output=1), replace(fine, outcome=alone))
    answer = link_all(cast("Pool", told), SingleLink(inputs, SmArch(80), Release(13, 0)))
    nvlink = Linker(Release(13, 0), "13.0.88", "nvlink", "", "", machine="x86-64", tool=Tool.NVLINK)
    tried = outcome_of(nvlink, answer, whole=True)
    assert (tried.outcome, tried.proves) == (outcome, outcome == "linked")
    assert tried.reason.startswith(reason)


def test_kernels_of_the_device_runtime_are_none_of_the_inputs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A link with -lto of objects brings 32 of libcudadevrt (nvlink 13.0.88)."""
    data = (FOLDER / "cubin/nvrtc-12.4-sm_80.cubin").read_bytes()
    of_runtime = "__nv_static_52__f4510a67_22_cuda_device_runtime_cu_3ecce0c0__Z6memset"
    monkeypatch.setattr(Cubin, "kernels", lambda _: (of_runtime, "mine"))
    assert contents("Cubin", data, ["mine", "other"])["kernels"] == 1
    assert contents("Cubin", data, ["mine", "other"])["lost"] == ["other"]


def test_nvlink_writes_its_output_and_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    program = tmp_path / "nvlink"
    compiled(program, LEAVING)
    with Pool(program, workers=1, tool=Tool.NVLINK) as pool:
        (folder,) = Path(tempfile.gettempdir()).glob("ltocompat-*")  # of all forks
        path = TrialInput("a.o", InputKind.OBJECT, f"{folder}/left".encode())
        (answer,) = pool.run([Request((path,), ("-arch=sm_80",))])
        there = "Permission denied" if LANDLOCK in pool.sandbox else "done"
        assert answer.log.split("\n") == ["done", there, there]


def test_a_refusal_is_confirmed_at_once_and_names_the_place(nvlink: str) -> None:
    answer = ask(nvlink, (InputKind.OBJECT, b"refuse"), (InputKind.CUBIN, b""))
    assert (answer.outcome, answer.code, answer.confirmed) == (LinkOutcome.REFUSED, 1, True)
    assert answer.code_name == "exit status 1"
    assert explain(answer.log, "nvlink") == Reason(
        "cubin too new", "place-1 holds code of CUDA 13.5, but this nvlink is from CUDA 13.0"
    )


def test_an_open_symbol_says_nothing_of_compatibility(nvlink: str) -> None:
    answer = ask(nvlink, (InputKind.OBJECT, b"open"))
    assert (answer.outcome, answer.unresolved) == (LinkOutcome.UNRESOLVED, ("f",))


def test_a_crash_is_an_answer(nvlink: str) -> None:
    answer = ask(nvlink, (InputKind.LTOIR, b"crash"))
    assert (answer.outcome, answer.signal) == (LinkOutcome.CRASHED, "SIGSEGV")
    assert answer.confirmed


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param(TrialLimits(cpu_seconds=0), marks=pytest.mark.slow),
        TrialLimits(wall_seconds=0.5),
    ],
    ids=["cpu", "clock"],
)
def test_an_nvlink_that_does_not_end_is_stopped_with_its_process(
    nvlink: str, limits: TrialLimits
) -> None:
    assert ask(nvlink, (InputKind.LTOIR, b"loop"), limits=limits).outcome is LinkOutcome.TIMED_OUT
    running = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if _ours(path)]
    assert not [words for words in running if nvlink.encode() in words]


def _ours(path: Path) -> bool:
    try:
        return path.stat().st_uid == os.getuid() and bool(path.read_bytes())
    except OSError:
        return False


def test_nothing_is_left_behind(
    nvlink: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    ask(nvlink, (InputKind.OBJECT, b"x"))
    ask(nvlink, (InputKind.LTOIR, b"loop"), limits=TrialLimits(wall_seconds=0.5))
    assert not list(folder.iterdir())


def test_a_program_that_is_no_nvlink_is_not_asked(tmp_path: Path) -> None:
    program = tmp_path / "nvlink"
    compiled(program, "int main(void) { return 0; }")
    pool = Pool(program, tool=Tool.NVLINK)
    with pytest.raises(TrialImpossible, match="is not nvlink; it prints no nvlink version"), pool:
        pass
    program.write_text("#!/bin/sh\necho hello\n")
    pool = Pool(program, tool=Tool.NVLINK)
    with pytest.raises(TrialImpossible, match="name the program itself, not a script"), pool:
        pass


@pytest.mark.parametrize(
    ("log", "cause", "words"),
    [
        # As nvlink 13.0.88 and 13.5.37 write them.
        ("nvlink fatal   : LTO objects found, use -dlto", "lto not enabled", "-dlto"),
        ("nvlink fatal   : should only see nvvm files when -lto", "lto not enabled", "-dlto"),
        (
            "nvlink fatal   : Cicc option values for '-maxrregcount' do not match",
            "options differ",
            "different values of -maxrregcount",
        ),
        ("nvlink fatal   : '-ftz' do not match", "options differ", "different values of -ftz"),
        (
            "nvlink fatal   : Input file 'a.cubin' arch does not match target 'sm_90'",
            "other architecture",
            "a.cubin is SASS for another architecture than sm_90",
        ),
        (
            (
                "nvlink info    : a.ltoir: parse Invalid value (Producer: 'LLVM20.0.0' Reader: "
                "'LLVM 7.0.1')NVVM_ERROR_COMPILATION\nnvlink fatal   : elfLink JIT compile failed"
            ),
            "ltoir arch too new",
            "has the format LLVM20.0.0",
        ),
        (
            "nvlink fatal   : Value 'sm_70' is not defined for option 'arch'",
            "target unsupported",
            "does not link for the architecture sm_70",
        ),
        ("nvlink fatal   : elfLink linker library load error", "no libnvvm", "needs libnvvm"),
        ("nvlink fatal   : elfLink nvvm error", "bad ltoir", "this nvlink can't use the LTO-IR"),
        (
            "nvlink fatal   : Could not open input file 'a.o'",
            "bad input",
            "this nvlink can't use the input a.o",
        ),
    ],
)
def test_texts_of_nvlink_are_read(log: str, cause: str, words: str) -> None:
    found = explain(log, "nvlink")
    assert found is not None
    assert found.cause == cause
    assert words in found.sentence


NVLINK = Linker(
    Release(13, 0), "13.0.88", "/n", "PATH", "file banner", machine="x86-64", tool=Tool.NVLINK
)
VAGUE = Reason("bad ltoir", "it is damaged, or from a newer toolkit; the log does not say which")


def image(kind: ImageKind, arch: str, made_by: str, problems: tuple[str, ...] = ()) -> Image:
    releases = tuple(map(Release.parse, made_by.split()))
    maker = Producer(Role.COMPILER, None, made_by if len(releases) == 1 else None, releases, "test")
    return Image(
        place=Location("x"),
        kind=kind,
        kind_number=None,
        arch=SmArch.parse(arch),
        made_by=(maker,),
        stored_size=1,
        size=1,
        problems=problems,
    )


@pytest.mark.parametrize(
    ("images", "sentence"),
    [
        (
            (image(ImageKind.LTOIR, "lto_80", "13.5"),),
            "the LTO-IR for lto_80 was made by 13.5, newer than this nvlink 13.0.88",
        ),
        (
            (image(ImageKind.SASS, "sm_90", "12.4"),),
            "the SASS for sm_90 is for a different architecture than the link's sm_80",
        ),
        (
            (image(ImageKind.SASS, "sm_80", "12.4"), image(ImageKind.PTX, "compute_90", "12.4")),
            "the PTX for compute_90 is for a different architecture than the link's sm_80",
        ),
        (
            (image(ImageKind.SASS, "sm_80", "12.4", ("its table is cut",)),),
            "the SASS for sm_80 is damaged: its table is cut",
        ),
        (
            (image(ImageKind.LTOIR, "lto_75", "12.4"),),
            (
                "nvlink 13.0.88 can't use this input: its headers show no newer version and no "
                "other architecture, so the input is damaged"
            ),
        ),
        (
            (image(ImageKind.LTOIR, "lto_75", "12.9 13.0 13.1"),),
            (
                "the LTO-IR for lto_75 was made by one of {12.9, 13.0, 13.1}; "
                "either that compiler is newer than this nvlink 13.0.88, or the image is "
                "damaged"
            ),
        ),
        ((), VAGUE.sentence),
    ],
    ids=["newer", "architecture", "one-of-two", "damaged", "by-elimination", "open", "unknown"],
)
def test_what_a_log_leaves_open_the_bytes_decide(images: tuple[Image, ...], sentence: str) -> None:
    assert sharpened(VAGUE, images, NVLINK, SmArch(80)).sentence == sentence


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        ("13.5", "the LTO-IR for lto_80 was made by 13.5, newer than this nvlink 13.0.88"),
        ("12.9 13.5", "too new"),
        ("12.4", "too new"),
    ],
)
def test_a_refusal_of_newer_code_names_the_release_that_made_it(made: str, sentence: str) -> None:
    found = sharpened(
        Reason(TOO_NEW, "too new"), (image(ImageKind.LTOIR, "lto_80", made),), NVLINK, SmArch(80)
    )
    assert (found.cause, found.sentence) == (TOO_NEW, sentence)


def test_a_log_that_is_plain_stays_as_it_is() -> None:
    plain = Reason("duplicate symbol", "two inputs define f")
    newer = image(ImageKind.LTOIR, "lto_80", "13.5")
    assert sharpened(plain, (newer,), NVLINK, SmArch(80)) is plain


REFUSING = """
#include <stdio.h>
#include <string.h>
int main(int count, char **words) {
  if (count == 2 && !strcmp(words[1], "--version"))
    return !printf("Cuda compilation tools, release 13.5, V13.5.37\\n");
  printf("nvlink fatal   : elfLink nvvm error\\n");
  return 1;
}
"""


def compiled(program: Path, source: str) -> None:
    subprocess.run([GCC, "-x", "c", "-", "-o", program], input=source.encode(), check=True)


@pytest.fixture
def refusing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache for trials whose nvlink 13.5.37 refuses everything."""
    processor = {"x86_64": "x86-64", "aarch64": "AArch64"}[platform.machine()]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache = Cache.of(tool=Tool.NVLINK)
    with cache.part() as part:
        program = Path(part) / "nvlink"
        compiled(program, REFUSING)
        file = InstalledFile("nvlink", program.stat().st_size, "", "w")
        cache.keep(part, InstallOrigin("13.5.37", (file,), "test", processor))


@pytest.mark.parametrize(
    ("name", "refused", "cache"),
    [
        ("nvcc-13.5-rdc-axpy.o", True, True),
        pytest.param("nvcc-13.5-rdc-axpy.o", True, False, marks=pytest.mark.slow),
        pytest.param("nvcc-13.5-lto.o", True, True, marks=pytest.mark.slow),
        pytest.param("libaxpy.a", True, True, marks=pytest.mark.slow),
        ("nvcc-13.5-plain.o", False, True),  # the runtime loads it: no linker is asked
    ],
)
@pytest.mark.usefixtures("refusing")
def test_the_nvlink_of_a_target_is_asked_about_what_needs_a_device_link(
    *, name: str, refused: bool, cache: bool
) -> None:
    path, target = FOLDER / "objects" / name, "nvlink=13.5,gpu=sm_80"
    found = [*check(path, [target], trial_link=True, cache=cache)]
    again = [*check(path, [target], trial_link=True, cache=cache)]
    assert found == again
    messages = [finding.message for result in found for finding in result.findings]
    assert any("nvlink 13.5.37 refuses it" in text for text in messages) == refused
