"""A file whose name promises a package and whose bytes are none is unreadable, not empty."""

from __future__ import annotations

import io
import random
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from package_writer import COMPRESSORS, conda_of, tar_of, zip_of
from packages_made import wheel
from samples import FOLDER

import ltocompat
from ltocompat.cli import run
from ltocompat.model.errors import UnreadableInput, UsageError
from ltocompat.model.image import Skipped

Captured = pytest.CaptureFixture[str]
CUBIN = (FOLDER / "cubin" / "nvrtc-13.0-sm_90.cubin").read_bytes()
TARGET = ["--deploy-target", "driver=580.95.05,gpu=h100"]
HTML = b"<html><title>404</title></html>"
ZIP, TAR = zip_of(("k/x.cubin", CUBIN)), tar_of(("k/x.cubin", CUBIN))
AR = b"!<arch>\n"


def member(name: str, data: bytes) -> bytes:
    return f"{name:16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode() + data


RPM = Path(__file__).parent / "data" / "rpm" / "acme-w6.xzdio.rpm"
DEB = AR + member("debian-binary/", b"2.0\n")
BYTES: dict[str, bytes] = {
    "a page": HTML,
    "nothing": b"",
    "a pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
    "random bytes": random.Random(7).randbytes(5_000),  # noqa: S311 - of no secret
    "zeros": bytes(10_240),
    "nearly a cubin": b"\x7fELG" + CUBIN[4:],
    "a zip": ZIP,
    "half a zip": ZIP[: len(ZIP) // 2],
    "a zip of nothing": zip_of(),
    "a page with the end of a zip": HTML + zip_of() + HTML,
    "a tar": TAR,
    "a conda package": conda_of(("k/x.cubin", CUBIN)),
    "a Debian package": DEB,
    "an RPM package": RPM.read_bytes(),
    "an archive": AR + member("x.o/", CUBIN),
    "an object": (FOLDER / "objects" / "aarch64.o").read_bytes(),
    "a cubin": CUBIN,
    "PTX": (FOLDER / "ptx" / "nvcc-13.0-compute_80.ptx").read_bytes(),
    "LTO-IR": (FOLDER / "ltoir" / "nvrtc-13.0-lto_80.ltoir").read_bytes(),
    "a fatbin": (FOLDER / "fatbin" / "nvcc-13.0-plain.fatbin").read_bytes(),
    "half a library": (FOLDER / "objects" / "saxpy.dll").read_bytes()[:100],
    "a script": b"/* GNU ld script\n*/\nGROUP ( /lib/libm-2.36.a )\n",
    **{f"a tar{end}": pack(TAR) for end, pack in COMPRESSORS.items() if end},
    **{f"a page{end}": pack(HTML) for end, pack in COMPRESSORS.items() if end},
    **{f"nothing{end}": pack(b"") for end, pack in COMPRESSORS.items() if end},
    **{f"zeros{end}": pack(bytes(10_240)) for end, pack in COMPRESSORS.items() if end},
}


def is_zip(data: bytes) -> bool:
    try:
        return bool(zipfile.ZipFile(io.BytesIO(data)).namelist())
    except zipfile.BadZipFile:
        return False


def is_tar(data: bytes) -> bool:
    try:
        plain = zstd_plain(data) if data.startswith(b"\x28\xb5\x2f\xfd") else data
        return bool(tarfile.open(fileobj=io.BytesIO(plain)).getnames())
    except tarfile.TarError:
        return False


def zstd_plain(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


def is_conda(data: bytes) -> bool:
    return data == BYTES["a conda package"]


def is_deb(data: bytes) -> bool:
    return data == DEB


def is_rpm(data: bytes) -> bool:
    return data == RPM.read_bytes()


def is_library(data: bytes) -> bool:
    objects = ("an archive", "a script", "an object", "a cubin", "half a library")
    return data == DEB or data in [BYTES[name] for name in objects]


def is_code(data: bytes) -> bool:
    no_code = ("a page", "nothing", "a pointer", "random bytes", "zeros", "nearly a cubin")
    return data not in [BYTES[name] for name in (*no_code, "a page with the end of a zip")]


def is_image(data: bytes) -> bool:
    libraries = ("a script", "half a library")
    return is_code(data) and data not in [BYTES[name] for name in libraries]


def is_packed(data: bytes) -> bool:
    return any(data == BYTES[name] for name in BYTES if name.endswith(tuple(COMPRESSORS)[1:]))


# What Python's own readers unpack; of other formats what was made as one.
KEEPS: dict[Callable[[bytes], bool], Sequence[str]] = {
    is_zip: (".whl", ".zip", ".egg", ".WHL", ".nupkg", ".jar", ".apk"),
    is_conda: (".conda",),
    is_tar: (
        *(".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz", ".tbz2", ".tar.xz", ".txz"),
        *(".tar.zst", ".tzst"),
    ),
    is_deb: (".deb",),
    is_rpm: (".rpm",),
    is_library: (".a", ".lib"),
    is_image: (".cubin", ".fatbin", ".ptx", ".ltoir"),
    is_code: (".so", ".o", ".dll"),
    is_packed: (".so.gz", ".so.bz2", ".so.xz", ".so.zst"),
}


@pytest.mark.parametrize(
    ("suffix", "keeps"), [(suffix, keeps) for keeps, ends in KEEPS.items() for suffix in ends]
)
def test_a_name_is_held_to_what_other_programs_unpack_by_it(
    suffix: str, keeps: Callable[[bytes], bool], tmp_path: Path
) -> None:
    path = tmp_path / f"x-1.0-py3-none-any{suffix}"
    for name, data in BYTES.items():
        path.write_bytes(data)
        try:
            list(ltocompat.inspect(path))
            held = True
        except UnreadableInput:
            held = False
        assert held is keeps(data), name


def test_an_archive_that_is_not_read_here_is_not_taken_for_an_empty_one(
    tmp_path: Path, capsys: Captured
) -> None:
    for suffix in (".rar", ".7z", ".tar.lz4"):
        path = tmp_path / f"x{suffix}"
        path.write_bytes(b"7z\xbc\xaf\x27\x1c" + BYTES["random bytes"])
        assert run(["audit", str(path)]) == 3
        assert "unpack it and name the folder" in " ".join(capsys.readouterr().out.split())


VERBS: dict[str, list[str]] = {
    "inspect": [],
    "extract": ["-o", "out"],
    "check": TARGET,
    "audit": [],
    "require": [],
    "matrix": [],
    "init": ["-o", "new.toml"],
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("what", ["a page", "nothing", "random bytes", "a page.gz"])
def test_no_verb_takes_it_for_a_package_without_device_code(
    verb: str, what: str, folder: Path
) -> None:
    bad = folder / ("x-1.0.tar.gz" if what.endswith(".gz") else "x-1.0-py3-none-any.whl")
    bad.write_bytes(BYTES[what])
    good = str(wheel(folder, {"k/x.cubin": CUBIN}))
    if verb == "audit":
        policy = '[targets.x]\ndriver = "580.95.05"\ngpu = "h100"\n[audit]\n'
        (folder / "ltocompat.toml").write_text(f'{policy}no-device-code = "pass"\n', "utf-8")
    empty = ["--allow-empty"] if verb in ("check", "audit") else []
    assert run([verb, good, *VERBS[verb]]) == 0
    (folder / "new.toml").unlink(missing_ok=True)
    for paths in ([str(bad)], [good, str(bad)], [str(bad), good]):
        assert run([verb, *paths, *empty, *VERBS[verb]]) == 3, paths


def test_a_comparison_and_a_survey_take_it_for_none_either(tmp_path: Path) -> None:
    bad = tmp_path / "x-1.0-py3-none-any.whl"
    bad.write_bytes(HTML)
    good = str(wheel(tmp_path, {"k/x.cubin": CUBIN}))
    assert run(["diff", str(bad), good]) == run(["diff", good, str(bad)]) == 3
    survey = ["survey", "run", "--jobs", "1", "--output", str(tmp_path / "out")]
    assert run([*survey, str(bad)]) == 3


def test_the_python_functions_raise(tmp_path: Path) -> None:
    bad = tmp_path / "x-1.0-py3-none-any.whl"
    bad.write_bytes(HTML)
    with bad.open("rb") as file:
        for source in (bad, file):
            with pytest.raises(UnreadableInput, match="not a zip archive"):
                list(ltocompat.read(source))
    for ask in (ltocompat.audit, ltocompat.require, ltocompat.matrix):
        with pytest.raises(UnreadableInput, match="not a zip archive"):
            list(ask(str(bad)))


def test_the_python_functions_want_a_path() -> None:
    with pytest.raises(UsageError, match="no path is named"):
        list(ltocompat.audit([]))
    for ask in (ltocompat.inspect, ltocompat.require, ltocompat.matrix, ltocompat.weigh):
        with pytest.raises(UsageError, match="no path is named"):
            list(ask())
    with pytest.raises(UsageError, match="no source is named"):
        list(ltocompat.read())


def test_a_file_of_a_folder_is_skipped_and_the_rest_is_read(
    tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "x.cubin").write_bytes(CUBIN)
    (tmp_path / "x.zip").write_bytes(HTML)
    skipped = [each for each in ltocompat.inspect(tmp_path) if isinstance(each, Skipped)]
    assert [each.place.path for each in skipped] == [str(tmp_path / "x.zip")]
    assert run(["extract", str(tmp_path), "-o", str(tmp_path / "out")]) == 3
    assert list((tmp_path / "out").iterdir())
    capsys.readouterr()


def test_names_that_promise_no_package_promise_nothing_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "x.cubin").write_bytes(CUBIN)
    for name in ("pickle.gz", "libm.a", "spice.lib", "data.7z"):
        (tmp_path / name).write_bytes(b"x\x9c\x01\x00" + HTML)
    assert run(["inspect", str(tmp_path)]) == run(["check", str(tmp_path), *TARGET]) == 0


def test_a_broken_zip_among_the_test_data_of_a_wheel_is_quiet(tmp_path: Path) -> None:
    data = {"k/x.cubin": CUBIN, "k/tests/bad.zip": HTML, "k/tests/bad.tar.gz": b""}
    path = str(wheel(tmp_path, data))
    assert run(["check", path, *TARGET]) == run(["inspect", path]) == 0


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("verb", [*VERBS, "diff"])
def test_a_folder_without_files_is_no_answer(verb: str, folder: Path) -> None:
    good = str(wheel(folder, {"k/x.cubin": CUBIN}))
    (folder / "empty" / "inside").mkdir(parents=True)
    options = VERBS.get(verb, [])
    beside = [["empty", good], [good, "empty"]]
    for paths in beside if verb == "diff" else [["empty"], *beside]:
        assert run([verb, *paths, *options]) == 3, paths
    if verb in ("check", "audit"):
        assert run([verb, "empty", *options, "--allow-empty"]) == 0


@pytest.mark.usefixtures("folder")
def test_no_file_is_no_pass_whatever_a_policy_says_of_device_code(
    folder: Path, capsys: Captured
) -> None:
    policy = '[targets.x]\ndriver = "580"\n[audit]\nno-device-code = "pass"\n'
    (folder / "ltocompat.toml").write_text(policy, "utf-8")
    (folder / "empty").mkdir()
    for words, code in ([], 2), (["dist/*.whl"], 2), (["empty"], 3):
        assert run(["audit", *words]) == code
        assert "has no file; build" in capsys.readouterr().err
        assert run(["audit", *words, "--allow-empty"]) == 0


def test_a_survey_of_no_package_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    words = ["survey", "run", "--jobs", "1", "--output", str(tmp_path / "out")]
    for _ in range(2):
        assert run([*words, str(tmp_path / "empty")]) == 3


@pytest.mark.parametrize("verb", ["inspect", "audit"])
@pytest.mark.parametrize("end", ["<&-", "</dev/null"])
def test_standard_input_that_gives_nothing_is_not_read_as_an_empty_file(
    verb: str, end: str, tmp_path: Path
) -> None:
    line = f'"$0" -m ltocompat {verb} - {end}'
    command = ["sh", "-c", line, sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert "standard input" in done.stderr
