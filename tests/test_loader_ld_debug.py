"""Libraries built with gcc: our loader answers as ``LD_DEBUG=libs`` says that ld.so did."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from libraries_made import build, needs_gcc, said_by_loader

from ltocompat.targets.linkers import Machine
from ltocompat.targets.machine.loaded import BindRule
from ltocompat.targets.machine.loader import Loader

pytestmark = needs_gcc
Answers = list[tuple[str, str | None, str]]


def both(
    program: Path,
    opened: Sequence[Path | str] = (),
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> tuple[Answers, Answers]:
    """What ld.so did, and what we say that it does."""
    environ, folder, names = (
        environ or {},
        folder or program.parent,
        [str(record) for record in opened],
    )
    real = said_by_loader(program, names, environ, folder)
    loader = Loader(Machine(environ=environ, folder=str(folder)), str(program))
    for name in names:
        loader.load(name)
    ours = [
        (resolved.asked, resolved.path, resolved.found_by if resolved.rule else "not found")
        for resolved in loader.history
        if resolved.rule not in (BindRule.LOADED, BindRule.PATH)
        and not resolved.asked.startswith(("ld-", "/"))
    ]
    return real, ours


def agreed(
    program: Path,
    opened: Sequence[Path | str] = (),
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> dict[str, tuple[str | None, str]]:
    """Both say the same; by name what was found, in relation to the program's folder."""
    real, ours = both(program, opened, environ, folder)
    assert ours == real
    found = {}
    for name, path, rule in ours:
        found[name] = (path and os.path.relpath(path, program.parent), rule)
    return found


def chain(tmp_path: Path, rpath: str | None = None, runpath: str | None = None) -> Path:
    """A program that needs liba.so, which needs libb.so; both in lib."""
    second = build(tmp_path / "lib/libb.so")
    first = build(tmp_path / "lib/liba.so", needs=[second])
    return build(tmp_path / "program", needs=[first], program=True, rpath=rpath, runpath=runpath)


def test_rpath_is_inherited_by_what_a_library_needs(tmp_path: Path) -> None:
    found = agreed(chain(tmp_path, rpath="$ORIGIN/lib"))
    assert found["liba.so"] == ("lib/liba.so", "RPATH of program")
    assert found["libb.so"] == ("lib/libb.so", "RPATH of program")


def test_runpath_is_not_inherited(tmp_path: Path) -> None:
    found = agreed(chain(tmp_path, runpath="${ORIGIN}/lib"))
    assert found["liba.so"] == ("lib/liba.so", "RUNPATH of program")
    assert found["libb.so"] == (None, "not found")


@pytest.mark.parametrize(("tags", "wins"), [("rpath", "lib"), ("runpath", "other")])
def test_ld_library_path_comes_behind_rpath_and_before_runpath(
    tmp_path: Path, tags: str, wins: str
) -> None:
    program = chain(tmp_path, **{tags: "$ORIGIN/lib"})
    build(tmp_path / "other/liba.so")
    found = agreed(program, environ={"LD_LIBRARY_PATH": f"/nowhere:{tmp_path}/other/"})
    assert found["liba.so"][0] == f"{wins}/liba.so"


def test_a_runpath_in_between_cuts_off_only_its_own_library(tmp_path: Path) -> None:
    third = build(tmp_path / "lib/libc3.so")
    second = build(tmp_path / "lib/libb.so", needs=[third])
    first = build(tmp_path / "lib/liba.so", needs=[second], runpath="$ORIGIN/../lib")
    program = build(tmp_path / "program", needs=[first], program=True, rpath="$ORIGIN/lib")
    found = agreed(program)
    assert found["libb.so"][1] == "RUNPATH of liba.so"
    assert found["libc3.so"][1] == "RPATH of program"


def test_rpath_counts_for_nothing_beside_a_runpath(tmp_path: Path) -> None:
    library = build(tmp_path / "lib/liba.so", runpath="/nowhere")
    build(tmp_path / "lib/libb.so")
    needs = build(tmp_path / "lib/libd.so", needs=[tmp_path / "lib/libb.so"], runpath="/nowhere")
    program = build(tmp_path / "p", needs=[library, needs], program=True, rpath="$ORIGIN/lib")
    assert agreed(program)["libb.so"] == (None, "not found")


def test_a_soname_that_is_loaded_wins_over_every_folder(tmp_path: Path) -> None:
    first = build(tmp_path / "one/libx.so.1")
    build(tmp_path / "two/libx.so.1")
    user = build(tmp_path / "two/libuser.so", needs=[first], runpath="$ORIGIN")
    program = build(tmp_path / "program", program=True)
    found = agreed(program, [first, user])
    assert "libx.so.1" not in found  # not even looked for
    found = agreed(program, [user])
    assert found["libx.so.1"] == ("two/libx.so.1", "RUNPATH of libuser.so")


def test_an_opened_path_is_another_library_than_its_loaded_soname(tmp_path: Path) -> None:
    first = build(tmp_path / "one/libx.so.1")
    second = build(tmp_path / "two/libx.so.1")
    program = build(tmp_path / "program", program=True)
    loader = Loader(Machine(), str(program))
    loader.load(str(first))
    (opened,) = loader.load(str(second))
    (by_name,) = loader.load("libx.so.1")
    assert (opened.path, by_name.path) == (str(second), str(first))
    assert agreed(program, [first, second, "libx.so.1"]).keys() == {"libc.so.6"}


def test_a_file_of_another_soname_answers_to_both_names(tmp_path: Path) -> None:
    library = build(tmp_path / "lib/libplain.so", soname="libx.so.7")
    build(tmp_path / "other/libx.so.7")
    user = build(tmp_path / "lib/libuser.so", needs=[library])
    program = build(tmp_path / "program", program=True, rpath="$ORIGIN/lib")
    found = agreed(program, ["libplain.so", user], {"LD_LIBRARY_PATH": f"{tmp_path}/other"})
    assert "libx.so.7" not in found


def test_origin_is_the_folder_of_the_link_for_libraries(tmp_path: Path) -> None:
    build(tmp_path / "real/beside/libb.so")
    build(tmp_path / "link/beside/libb.so")
    first = build(
        tmp_path / "real/liba.so",
        needs=[tmp_path / "real/beside/libb.so"],
        runpath="$ORIGIN/beside",
    )
    (tmp_path / "link/liba.so").symlink_to(first)
    program = build(tmp_path / "program", program=True)
    found = agreed(program, [tmp_path / "link/liba.so"])
    assert found["libb.so"] == ("link/beside/libb.so", "RUNPATH of liba.so")


def test_origin_is_the_real_folder_for_programs(tmp_path: Path) -> None:
    program = chain(tmp_path, rpath="$ORIGIN/lib")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/program").symlink_to(program)
    real, ours = both(tmp_path / "bin/program")
    assert ours == real
    assert ours[0][1] == f"{tmp_path}/lib/liba.so"


def test_lib_and_platform_stand_for_what_glibc_was_built_with(tmp_path: Path) -> None:
    for folder in ("lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"):
        build(tmp_path / folder / "liba.so")
    for folder in ("x86_64", "haswell", "xeon_phi", "aarch64"):
        build(tmp_path / folder / "libb.so")
    needs = [tmp_path / "lib/liba.so", tmp_path / "x86_64/libb.so"]
    program = build(
        tmp_path / "program",
        needs=needs,
        program=True,
        rpath="$ORIGIN/$LIB:$ORIGIN/$PLATFORM:$ORIGIN/$LIBS",
    )
    found = agreed(program)
    assert found["liba.so"][0]
    assert found["libb.so"][0]


def test_empty_and_relative_folders_are_those_where_one_stands(tmp_path: Path) -> None:
    build(tmp_path / "here/liba.so")
    build(tmp_path / "here/sub/libb.so")
    program = build(tmp_path / "program", program=True)
    loader = Loader(
        Machine(environ={"LD_LIBRARY_PATH": ":sub"}, folder=f"{tmp_path}/here"), str(program)
    )
    assert loader.load("liba.so")[0].path == f"{tmp_path}/here/liba.so"
    assert loader.load("libb.so")[0].path == f"{tmp_path}/here/sub/libb.so"
    real = said_by_loader(
        program, ["liba.so", "libb.so"], {"LD_LIBRARY_PATH": ":sub"}, tmp_path / "here"
    )
    assert [name for name, *_ in real if name != "libc.so.6"] == ["liba.so", "libb.so"]


def test_libraries_of_other_processors_are_passed_over(tmp_path: Path) -> None:
    good = build(tmp_path / "two/liba.so")
    data = bytearray(good.read_bytes())
    data[18:20] = (21).to_bytes(2, "little")  # PowerPC64
    (tmp_path / "one").mkdir()
    (tmp_path / "one/liba.so").write_bytes(data)
    program = build(tmp_path / "program", program=True)
    path = f"{tmp_path}/one:{tmp_path}/two"
    assert agreed(program, ["liba.so"], {"LD_LIBRARY_PATH": path})["liba.so"][0] == "two/liba.so"


def test_a_file_that_is_no_library_ends_the_search(tmp_path: Path) -> None:
    build(tmp_path / "two/liba.so")
    (tmp_path / "one").mkdir()
    (tmp_path / "one/liba.so").write_text("INPUT(libreal.so)" + " " * 99)
    program = build(tmp_path / "program", program=True)
    path = f"{tmp_path}/one:{tmp_path}/two"
    assert agreed(program, ["liba.so"], {"LD_LIBRARY_PATH": path})["liba.so"][0] is None
    loader = Loader(Machine(environ={"LD_LIBRARY_PATH": path}), str(program))
    assert (
        loader.load("liba.so")[0].problem == f"liba.so: {tmp_path}/one/liba.so: invalid ELF header"
    )


def test_folders_for_better_processors_come_first(tmp_path: Path) -> None:
    for level in ("x86-64-v2", "x86-64-v3", "x86-64-v4"):
        build(tmp_path / "lib/glibc-hwcaps" / level / "liba.so")
    build(tmp_path / "lib/liba.so")
    program = build(tmp_path / "program", program=True)
    agreed(program, ["liba.so"], {"LD_LIBRARY_PATH": f"{tmp_path}/lib"})


def test_the_cache_knows_the_system_libraries(tmp_path: Path) -> None:
    program = build(tmp_path / "program", program=True, flags=["-lm"])
    found = agreed(program, ["libstdc++.so.6"])
    assert found["libm.so.6"][1] == found["libstdc++.so.6"][1] == "ld.so.cache"


def test_libraries_linked_without_the_default_folders_find_nothing_there(tmp_path: Path) -> None:
    library = build(tmp_path / "liba.so", flags=["-Wl,-z,nodefaultlib", "-lm"])
    program = build(tmp_path / "program", program=True)
    assert agreed(program, [library])["libm.so.6"] == (None, "not found")


def test_preloaded_libraries_come_before_what_the_program_needs(tmp_path: Path) -> None:
    extra = build(tmp_path / "extra/libextra.so", needs=[build(tmp_path / "extra/libdeep.so")])
    build(tmp_path / "extra/liba.so")
    program = chain(tmp_path, runpath="$ORIGIN/lib")
    agreed(program, [], {"LD_PRELOAD": str(extra), "LD_LIBRARY_PATH": f"{tmp_path}/extra"})
    loader = Loader(Machine(environ={"LD_PRELOAD": str(extra)}), str(program))
    assert loader.loaded[1].path == str(extra)


@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 24))]
)
def test_random_processes(tmp_path: Path, seed: int) -> None:
    """Libraries of a few names in several folders, which need each other in every which way."""
    rng = random.Random(seed)  # noqa: S311 - the same processes each time
    folders = ["a", "b", "c"]
    names = [f"lib{letter}.so.1" for letter in "pqrst"]
    template = {name: build(tmp_path / "template" / name) for name in names}

    def tags() -> tuple[str | None, str | None]:
        paths = ":".join(f"$ORIGIN/../{text}" for text in rng.sample(folders, rng.randint(1, 2)))
        return rng.choice([(None, None), (paths, None), (None, paths)])

    for index, name in enumerate(names):
        for folder in rng.sample(folders, rng.randint(1, 3)):
            later = names[index + 1 :]
            needs = [template[text] for text in rng.sample(later, rng.randint(0, len(later)))]
            rpath, runpath = tags()
            build(tmp_path / folder / name, needs=needs, rpath=rpath, runpath=runpath)
    needs = [template[each_text] for each_text in rng.sample(names, 2)]
    rpath, runpath = tags()
    program = build(
        tmp_path / "bin/program", needs=needs, program=True, rpath=rpath, runpath=runpath
    )
    path = ":".join(f"{tmp_path}/{one}" for one in rng.sample(folders, rng.randint(0, 2)))
    environ = {"LD_LIBRARY_PATH": path} if path else {}
    real, ours = both(program, rng.sample(names, 2), environ)
    # Where something is missing, ld.so gives up before it has looked for all the rest.
    missing = [index for index, texts in enumerate(real) if texts[1] is None]
    until = missing[0] + 1 if missing else None
    # LD_DEBUG names a folder after the first file that listed it, so rules are left out.
    assert [our[:2] for our in ours[:until]] == [each_texts[:2] for each_texts in real[:until]]
