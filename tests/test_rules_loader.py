"""Libraries built with gcc against stand-ins for nvJitLink: what is predicted, ld.so then says."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from libraries_made import build, needs_gcc
from machines import host_at
from msgspec.structs import replace
from rule_cases import spares, strikes

from ltocompat.model.arch import Release
from ltocompat.model.environment import Environment
from ltocompat.model.errors import LtocompatError
from ltocompat.model.image import CudaLibrary, HostBinary
from ltocompat.model.location import Location
from ltocompat.model.verdict import Verdict
from ltocompat.rules.catalogue import found_about, rules_about
from ltocompat.rules.linker_imports import exports
from ltocompat.rules.rule import Component, Problem, Requirement
from ltocompat.targets.linkers import Cache, Machine
from ltocompat.targets.machine.library_on_machine import look_at
from ltocompat.targets.machine.loaded import BindRule as Found
from ltocompat.targets.machine.loaded import Library

pytestmark = needs_gcc
FUNCTIONS = ("Create", "AddData", "Complete", "Destroy", "GetLinkedCubin")
# Opens its argument as Python opens extension modules: every symbol is bound at once.
OPEN = """
import ctypes, sys
try:
    ctypes.CDLL(sys.argv[1])
except OSError as error:
    print(error)
"""


def nvjitlink(folder: Path, minor: str, plain: bool | None = None) -> Path:
    """A stand-in that exports what nvJitLink of this minor does, under one version node."""
    major, newest = map(int, minor.split("."))
    release = Release(major, newest)
    plain = release >= Release(12, 3) if plain is None else plain
    functions = [*FUNCTIONS, *(["GetLinkedLTOIR"] if release >= Release(13, 2) else [])]
    names = [f"__nvJitLink{name}_{major}_{k}" for name in functions for k in range(newest + 1)]
    names += [f"nvJitLink{name}" for name in functions] if plain else []
    soname = f"libnvJitLink.so.{major}"
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "exports.map"
    script.write_text(soname + " { global: *; };\n")
    source = "".join(f"int {name}(void) {{ return 0; }}\n" for name in names)
    return build(folder / soname, source=source, flags=[f"-Wl,--version-script={script}"])


def user(
    path: Path,
    names: Sequence[str],
    linked: Path,
    *,
    runpath: str | None = None,
    rpath: str | None = None,
    program: bool = False,
) -> Path:
    """A library that calls these functions, linked with one that has them."""
    calls = "".join(f"int {name}(void);\n" for name in names)
    sums = " + ".join(f"{name}()" for name in names)
    body = f"int {'main' if program else 'used'}(void) {{ return {sums}; }}\n"
    return build(
        path, needs=[linked], runpath=runpath, rpath=rpath, source=calls + body, program=program
    )


def opened(path: Path, environ: Mapping[str, str] | None = None) -> str:
    """What the real loader says of a library that Python opens; empty when it loads."""
    done = subprocess.run(
        [sys.executable, "-c", OPEN, str(path)],
        env={**(environ or {})},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def refused(path: Path, environ: Mapping[str, str] | None = None) -> str:
    """The same, of a library that doesn't load."""
    text = opened(path, environ)
    assert text
    return text


def started(path: Path, environ: Mapping[str, str] | None = None) -> str:
    """What the real loader says of a program."""
    done = subprocess.run(
        [str(path)],
        env={"LD_BIND_NOW": "1", **(environ or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr.strip()


def looked(
    path: Path, environ: Mapping[str, str] | None = None, environment: Environment | None = None
) -> Library:
    machine = Machine(environ=environ or {}, folder=str(path.parent))
    found = environment or Environment(python=sys.executable)
    return look_at(machine, found, str(path), host_at(machine, str(path)))


def problems(library: Library) -> list[Problem]:
    found = list(found_about("Library", library))
    assert all(
        each_problem.message and each_problem.remedy and each_problem.evidence
        for each_problem in found
    )
    return found


def told(library: Library) -> dict[str, str]:
    return {problem.rule: problem.message for problem in problems(library)}


def required(host: HostBinary) -> list[Requirement]:
    return list(found_about("HostBinary", host))


def a_host(*imports: str, needed: str = "libnvJitLink.so.12") -> HostBinary:
    libraries = (CudaLibrary("libnvJitLink", "needed", needed, None, "DT_NEEDED"),)
    return HostBinary(
        place=Location("libx.so"),
        format="ELF",
        machine="x86-64",
        type="shared library",
        nvjitlink_imports=imports,
        libraries=libraries if needed else (),
    )


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A stand-in for nvJitLink of each of these minors."""
    folder = tmp_path_factory.mktemp("releases")
    minors = ("12.0", "12.1", "12.2", "12.3", "12.4", "12.6")
    return {minor: nvjitlink(folder / minor, minor) for minor in minors}


OTHER_SYMBOLS = (
    ["__nvJitLinkCreate_12_4"],
    ["__nvJitLinkCreate_12_4", "__nvJitLinkAddData_12_4", "__nvJitLinkComplete_12_4"],
    ["__nvJitLinkDestroy_12_3", "__nvJitLinkGetLinkedCubin_12_3", "__nvJitLinkAddData_12_3"],
)


@pytest.mark.parametrize(
    "names",
    [
        ["__nvJitLinkComplete_12_6", "__nvJitLinkAddData_12_4", "__nvJitLinkCreate_12_1"],
        *(pytest.param(names, marks=pytest.mark.slow) for names in OTHER_SYMBOLS),
    ],
)
@strikes("NJL-01")
@spares("NJL-01")
def test_the_symbol_that_is_missing_is_the_one_that_the_loader_names(
    tmp_path: Path, names: list[str], releases: dict[str, Path]
) -> None:
    library = user(tmp_path / "libuser.so", names, releases["12.6"])
    for minor, linked in releases.items():
        environ = {"LD_LIBRARY_PATH": str(linked.parent)}
        text = opened(library, environ)
        found = told(looked(library, environ))
        assert found.keys() == ({"NJL-01"} if text else set()), minor
        if text:
            assert found["NJL-01"].endswith(f"the loader says: {text}"), minor


def test_a_program_is_told_from_a_library(tmp_path: Path) -> None:
    program = user(
        tmp_path / "program",
        ["__nvJitLinkCreate_12_4"],
        nvjitlink(tmp_path / "new", "12.4"),
        program=True,
    )
    nvjitlink(tmp_path / "old", "12.3")
    environ = {"LD_LIBRARY_PATH": f"{tmp_path}/old"}
    text = started(program, environ)
    assert "undefined symbol: __nvJitLinkCreate_12_4, version libnvJitLink.so.12" in text
    assert (
        told(looked(program, environ))["NJL-01"].rpartition("undefined")[2]
        == text.rpartition("undefined")[2]
    )


@strikes("NJL-04")
@spares("NJL-04", "NJL-05")
def test_plain_names_come_with_12_3(tmp_path: Path) -> None:
    library = user(
        tmp_path / "lib/libuser.so", ["nvJitLinkCreate"], nvjitlink(tmp_path / "new", "12.3")
    )
    nvjitlink(tmp_path / "old", "12.2")
    environ = {"LD_LIBRARY_PATH": f"{tmp_path}/old"}
    found = told(looked(library, environ))
    assert found.keys() == {"NJL-04"}
    assert found["NJL-04"].endswith(refused(library, environ))
    assert not told(looked(library, {"LD_LIBRARY_PATH": f"{tmp_path}/new"}))


@strikes("NJL-05")
def test_linked_ltoir_comes_with_13_2_under_older_names_too(tmp_path: Path) -> None:
    linked = nvjitlink(tmp_path / "new", "13.2")
    library = user(tmp_path / "lib/libuser.so", ["__nvJitLinkGetLinkedLTOIR_13_0"], linked)
    nvjitlink(tmp_path / "old", "13.1")
    environ = {"LD_LIBRARY_PATH": f"{tmp_path}/old"}
    found = told(looked(library, environ))
    assert found.keys() == {"NJL-05"}
    assert found["NJL-05"].endswith(refused(library, environ))


@strikes("NJL-02")
def test_ld_library_path_hides_what_the_runpath_means(tmp_path: Path) -> None:
    meant = nvjitlink(tmp_path / "site-packages/nvidia/nvjitlink/lib", "12.4")
    library = user(
        tmp_path / "site-packages/nvidia/cusparse/lib/libuser.so",
        ["__nvJitLinkCreate_12_4"],
        meant,
        runpath="$ORIGIN/../../nvjitlink/lib",
    )
    taken = nvjitlink(tmp_path / "old", "12.1")
    environ = {"LD_LIBRARY_PATH": f"{tmp_path}/old"}
    found = told(looked(library, environ))
    assert found.keys() == {"NJL-01", "NJL-02"}
    assert found["NJL-01"].endswith(refused(library, environ))
    assert found["NJL-02"] == (
        "libuser.so gets nvJitLink 12.1 via LD_LIBRARY_PATH instead of 12.4 via RUNPATH of "
        "libuser.so"
    )
    evidence = next(
        problem.evidence for problem in problems(looked(library, environ)) if "02" in problem.rule
    )
    assert evidence == f"{taken} instead of {meant}"
    assert not opened(library)
    assert not told(looked(library))


@spares("NJL-02", "NJL-10", "NJL-03")
def test_rpath_is_not_hidden(tmp_path: Path) -> None:
    meant = nvjitlink(tmp_path / "own", "12.4")
    library = user(
        tmp_path / "lib/libuser.so", ["__nvJitLinkCreate_12_4"], meant, rpath="$ORIGIN/../own"
    )
    nvjitlink(tmp_path / "old", "12.1")
    environ = {"LD_LIBRARY_PATH": f"{tmp_path}/old"}
    assert not opened(library, environ)
    assert not told(looked(library, environ))


def test_a_copy_that_is_loaded_already_wins(tmp_path: Path) -> None:
    old = nvjitlink(tmp_path / "old", "12.1")
    new = nvjitlink(tmp_path / "new", "12.4")
    first = user(
        tmp_path / "first/libfirst.so", ["__nvJitLinkCreate_12_1"], old, rpath=str(old.parent)
    )
    library = build(
        tmp_path / "lib/libuser.so",
        needs=[first, new],
        rpath=f"{first.parent}:{new.parent}",
        source="int __nvJitLinkCreate_12_4(void);\n"
        "int f(void) { return __nvJitLinkCreate_12_4(); }\n",
    )
    found = looked(library)
    assert found.nvjitlink is not None
    assert found.nvjitlink.path == str(new)  # breadth first: its own need comes before first's
    assert opened(library) == ""
    environ = {"LD_PRELOAD": str(old)}
    preloaded = looked(library, environ)
    assert preloaded.nvjitlink is not None
    assert preloaded.nvjitlink.path == str(old)
    assert told(preloaded)["NJL-01"].endswith(refused(library, environ))


@strikes("NJL-03")
def test_another_major_is_no_substitute(tmp_path: Path) -> None:
    library = user(
        tmp_path / "lib/libuser.so", ["__nvJitLinkCreate_12_4"], nvjitlink(tmp_path / "a", "12.4")
    )
    other = nvjitlink(tmp_path / "other", "13.0")
    environ = {"LD_LIBRARY_PATH": f"{tmp_path}/other"}
    copy = looked(
        user(tmp_path / "x/libx.so", ["__nvJitLinkCreate_13_0"], other, rpath=str(other.parent))
    ).nvjitlink
    assert copy is not None
    environment = Environment(python=sys.executable, nvjitlinks=(copy,))
    found = told(looked(library, environ, environment))
    assert found.keys() == {"NJL-03"}
    assert found["NJL-03"].startswith("libuser.so needs libnvJitLink.so.12, ")
    assert found["NJL-03"].endswith(refused(library, environ))


@strikes("NJL-10")
def test_what_is_found_nowhere_is_named_with_who_needs_it(tmp_path: Path) -> None:
    behind = build(tmp_path / "gone/libgone.so.3")
    between = build(tmp_path / "lib/libbetween.so", needs=[behind])
    library = build(tmp_path / "lib/libuser.so", needs=[between], runpath="$ORIGIN")
    text = opened(library)
    assert text == "libgone.so.3: cannot open shared object file: No such file or directory"
    (problem,) = problems(looked(library))
    assert (problem.rule, problem.verdict) == ("NJL-10", Verdict.OK)  # a program may bring it
    assert problem.message.startswith(
        f"libbetween.so needs libgone.so.3, and the loader says: {text}"
    )
    program = build(tmp_path / "program", needs=[between], rpath=f"{tmp_path}/lib", program=True)
    (problem,) = problems(looked(program))
    assert problem.verdict is Verdict.FAIL
    assert text in started(program)


def test_the_libcuda_of_a_machine_without_driver_comes_later(tmp_path: Path) -> None:
    driver = build(tmp_path / "gone/libcuda.so.1")
    program = build(tmp_path / "program", needs=[driver], program=True)
    (problem,) = problems(looked(program))
    assert (problem.rule, problem.verdict) == ("NJL-10", Verdict.UNKNOWN)
    assert "comes with the driver" in problem.message


@strikes("NJL-08")
def test_builtins_of_one_minor(tmp_path: Path) -> None:
    builtins = build(tmp_path / "cuda/libnvrtc-builtins.so.12.6")
    library = build(tmp_path / "lib/libuser.so", needs=[builtins])
    (problem,) = problems(looked(library))
    assert (problem.rule, problem.verdict) == ("NJL-08", Verdict.FAIL)
    assert problem.message.endswith(refused(library))
    environ = {"LD_LIBRARY_PATH": f"{tmp_path}/cuda"}
    assert opened(library, environ) == ""
    (problem,) = problems(looked(library, environ))
    assert (problem.rule, problem.verdict) == ("NJL-08", Verdict.OK)


def test_a_name_that_is_opened_is_looked_for_as_dlopen_from_there(tmp_path: Path) -> None:
    meant = nvjitlink(tmp_path / "own", "12.6")
    source = 'const char *name = "libnvJitLink.so.12";\n'
    library = build(tmp_path / "lib/libuser.so", runpath="$ORIGIN/../own", source=source)
    found = looked(library)
    assert found.nvjitlink is not None
    assert (found.nvjitlink.path, found.nvjitlink.found_via) == (
        str(meant),
        "RUNPATH of libuser.so",
    )
    assert found.declared is None
    nvjitlink(tmp_path / "old", "12.1")
    hidden = looked(library, {"LD_LIBRARY_PATH": f"{tmp_path}/old"})
    assert hidden.nvjitlink is not None
    assert hidden.nvjitlink.release == Release(12, 1)
    assert told(hidden).keys() == {"NJL-02"}
    lost = looked(build(tmp_path / "alone/libuser.so", source=source))
    assert lost.nvjitlink is None
    assert not told(lost)


def test_a_library_of_a_wheel_without_runpath_is_meant_to_get_its_wheel(tmp_path: Path) -> None:
    meant = nvjitlink(tmp_path / "site-packages/nvidia/cu13/lib", "13.2")
    library = user(tmp_path / "site-packages/pkg/libuser.so", ["__nvJitLinkCreate_13_0"], meant)
    conf = tmp_path / "root"
    (conf / "etc").mkdir(parents=True)
    (conf / "etc/ld.so.conf").write_text("/old\n")
    nvjitlink(conf / "old", "13.0")
    for path in (meant, library):
        where = conf / "home" / path.relative_to(tmp_path)
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(path.read_bytes())
    machine, user_path = Machine(str(conf)), "/home/site-packages/pkg/libuser.so"
    found = look_at(machine, Environment(), user_path, host_at(machine, user_path))
    assert found.nvjitlink is not None
    assert found.nvjitlink.found_via == Found.CONF
    assert found.declared is not None
    assert (found.declared.version, found.declared.found_via) == ("13.2", "its own packages")
    assert [problem.rule for problem in problems(found)] == ["NJL-02"]


@pytest.mark.parametrize(
    ("name", "since"),
    [
        ("__nvJitLinkCreate_12_0", "12.0"),
        ("__nvJitLinkCreate_12_4", "12.4"),
        ("nvJitLinkVersion", "12.3"),
        ("nvJitLinkGetLinkedLTOIR", "13.2"),
    ],
)
def test_what_is_exported_since_when(name: str, since: str) -> None:
    floor = Release.parse(since)
    assert exports(floor, name)
    assert not exports(Release(floor.major, floor.minor - 1), name)
    for copy in Cache.of().installed():  # of this user, where some are
        if f"__nvJitLinkCreate_{copy.release.major}_0" == name:
            assert exports(copy.release, name)


@pytest.mark.parametrize(
    ("linker", "verdicts"),
    [
        ("12.3", {"NJL-01": Verdict.FAIL, "NJL-03": Verdict.OK}),
        ("12.4", {"NJL-01": Verdict.OK, "NJL-03": Verdict.OK}),
        ("12.9", {"NJL-01": Verdict.OK, "NJL-03": Verdict.OK}),
        ("13.0", {"NJL-01": Verdict.OK, "NJL-03": Verdict.FAIL}),
    ],
)
def test_a_target_is_judged_by_symbols_and_by_soname(
    linker: str, verdicts: dict[str, Verdict]
) -> None:
    host = a_host("__nvJitLinkAddData_12_1", "__nvJitLinkComplete_12_4")
    found = {requirement.rule: requirement for requirement in required(host)}
    release = Release.parse(linker)
    assert {
        key: each_requirement.constraint.judge(release) for key, each_requirement in found.items()
    } == verdicts
    assert found["NJL-01"].subject == "the imported __nvJitLinkComplete_12_4"
    assert found["NJL-01"].consequence == (
        "undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12"
    )


@spares("NJL-09")
def test_symbols_without_a_soname_are_judged_alone() -> None:
    (found,) = required(a_host("__nvJitLinkComplete_12_4", needed=""))
    assert found.constraint.judge(Release(13, 0)) is Verdict.FAIL
    assert str(found.constraint) == ">= 12.4, < 13"


@spares("NJL-08")
def test_builtins_ask_nvrtc_for_a_minor(tmp_path: Path) -> None:
    builtins = build(tmp_path / "libnvrtc-builtins.so.12.4")
    host = looked(build(tmp_path / "libuser.so", needs=[builtins])).host
    (found,) = required(host)
    assert (found.rule, found.component) == ("NJL-08", Component.NVRTC)
    verdicts = [found.constraint.judge(Release(12, minor)) for minor in (3, 4, 5)]
    assert verdicts == [Verdict.FAIL, Verdict.OK, Verdict.FAIL]


def test_a_windows_file_fails_in_the_words_of_windows() -> None:
    host = replace(a_host("__nvJitLinkCreate_12_4", needed="nvJitLink_120_0.dll"), format="PE")
    found = {requirement.rule: requirement for requirement in required(host)}
    assert found["NJL-01"].consequence.endswith("(error 127): __nvJitLinkCreate_12_4")
    assert found["NJL-03"].constraint.judge(Release(13, 0)) is Verdict.FAIL
    assert found["NJL-03"].consequence.endswith("(error 126): nvJitLink_120_0.dll")


@strikes("NJL-09")
def test_a_static_copy_is_noted(tmp_path: Path) -> None:
    source = 'const char *a = "NVJITLINK_TRACE_MESSAGES";\n'
    host = looked(build(tmp_path / "libuser.so", source=source)).host
    (found,) = required(host)
    assert (found.rule, found.component) == ("NJL-09", Component.NONE)
    assert found.constraint.judge(None) is Verdict.OK
    assert found.constraint.noted(None)


@pytest.mark.parametrize(
    ("compilers", "linkers", "verdict"),
    [
        (["12"], ["12"], None),
        (["11.2"], ["12"], None),
        (["12"], ["13"], None),
        (["13"], ["12"], Verdict.UNKNOWN),
        (["12", "13"], ["12"], Verdict.UNKNOWN),
        (["12", "13"], ["12", "13"], Verdict.OK),
        (["13"], [], None),
    ],
)
def test_a_file_that_takes_nvrtc_of_a_newer_major_than_nvjitlink(
    compilers: list[str], linkers: list[str], verdict: Verdict | None, tmp_path: Path
) -> None:
    """As in gs-madrona: libnvrtc.so.13 of the machine, libnvJitLink.so.12 of the package."""
    names = [f"libnvrtc.so.{n}" for n in compilers] + [f"libnvJitLink.so.{n}" for n in linkers]
    source = "".join(f'const char *n{i} = "{name}";\n' for i, name in enumerate(names))
    host = looked(build(tmp_path / "libuser.so", source=source)).host
    found = [each.constraint.judge(None) for each in required(host) if each.rule == "NJL-07"]
    assert found == ([] if verdict is None else [verdict])


@pytest.mark.parametrize("count", [30, pytest.param(150, marks=pytest.mark.slow)])
def test_a_broken_library_ends_in_a_value_or_a_sentence(tmp_path: Path, count: int) -> None:
    linked = nvjitlink(tmp_path / "new", "12.4")
    whole = user(tmp_path / "libuser.so", ["__nvJitLinkCreate_12_4"], linked).read_bytes()
    dice = random.Random(12)  # noqa: S311 - no secret
    # A machine of these two files: without the cache and the Python of this one, which would be
    # read anew for each broken library.
    machine = Machine(str(tmp_path), {"LD_LIBRARY_PATH": "/new"})
    for _ in range(count):
        data = bytearray(whole[: dice.choice([len(whole), dice.randrange(len(whole))])])
        for _ in range(dice.randrange(1, 8)):
            if data:
                data[dice.randrange(len(data))] = dice.randrange(256)
        (tmp_path / "libbroken.so").write_bytes(data)
        try:
            host = host_at(machine, "/libbroken.so")
            problems(look_at(machine, Environment(), "/libbroken.so", host))
        except LtocompatError as error:
            assert "\n" not in str(error)  # noqa: PT017 - both ends are fine


def test_every_rule_of_this_file_has_a_loader_behind_it() -> None:
    ids = {rule.id for rule in rules_about("Library")}
    assert ids == {"NJL-01", "NJL-02", "NJL-03", "NJL-04", "NJL-05", "NJL-08", "NJL-10"}
    assert {
        each_rule.id for each_rule in rules_about("HostBinary") if each_rule.id.startswith("NJL")
    } == {
        *(f"NJL-0{number}" for number in (1, 3, 4, 5, 7, 8, 9)),
    }
