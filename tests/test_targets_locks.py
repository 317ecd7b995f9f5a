"""Deploy targets that lock files pin: files of real tools, and what pip reads by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ltocompat.facts.gpus import GpuModel, gpu_models
from ltocompat.model.arch import Release
from ltocompat.model.errors import UsageError
from ltocompat.model.target import Quantifier, Target, VersionSet
from ltocompat.targets import parse

LOCKS = Path(__file__).parent / "data" / "locks"
FORMATS = ("uv.lock", "pylock.toml", "requirements.txt")


def locked(lock: Path | str, keys: str = "", where: Path | None = None) -> Target:
    (target,) = parse([f"lock={lock}{keys}"], where=str(where or "."))
    return target


def said(known: VersionSet[Release] | None) -> list[str]:
    assert known is not None
    return [str(release) for release in known.values]


def written(tmp_path: Path, content: str, keys: str = ",python=3.11") -> Target:
    (tmp_path / "requirements.txt").write_text(content)
    return locked("requirements.txt", keys, tmp_path)


@pytest.mark.parametrize("name", [*FORMATS, "poetry.lock", "conda-lock.yml", "pixi.lock"])
def test_markers_are_evaluated_for_the_system_of_the_target(name: str) -> None:
    lock = LOCKS / "by_system" / name
    assert said(locked(lock).nvjitlink) == ["12.4"]
    assert said(locked(lock, ",os=wsl2").nvjitlink) == ["12.4"]
    assert said(locked(lock, ",os=windows").nvjitlink) == ["12.9"]
    assert said(locked(lock).nvrtc) == ["12.6"]  # what uv chose of >=12.4,<12.7


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_toolkit_brings_is_pinned_by_itself_in_a_lock(name: str) -> None:
    target = locked(LOCKS / "toolkit" / name)
    assert target.nvjitlink == VersionSet("13.0.88", (Release(13, 0),), Quantifier.ONE_OF, name)
    assert said(target.nvrtc) == ["13.0"]


def test_extras_of_two_majors_are_two_candidates() -> None:
    nvjitlink = locked(LOCKS / "two_majors" / "uv.lock").nvjitlink
    assert said(nvjitlink) == ["12.8", "13.3"]
    assert nvjitlink is not None
    assert not nvjitlink.every
    assert nvjitlink.text == "nvidia-nvjitlink-cu12 12.8.93 or nvidia-nvjitlink 13.3.33"
    # Exported with one of them, there is one candidate.
    assert said(locked(LOCKS / "two_majors" / "pylock.toml").nvjitlink) == ["13.3"]


def test_a_range_is_every_release_that_pip_may_choose(tmp_path: Path) -> None:
    nvjitlink = written(tmp_path, "nvidia-nvjitlink-cu12>=12.4,<13\n").nvjitlink
    assert said(nvjitlink) == ["12.4", "12.5", "12.6", "12.8", "12.9"]
    assert nvjitlink is not None
    assert nvjitlink.every
    assert nvjitlink.source == "requirements.txt: >=12.4,<13"


def test_python_is_that_of_the_target(tmp_path: Path) -> None:
    lines = (
        "nvidia-nvjitlink-cu12==12.4.127; python_version < '3.12'\n"
        "nvidia-nvjitlink-cu12==12.9.86; python_version >= '3.12'\n"
    )
    assert said(written(tmp_path, lines, ",python=3.11").nvjitlink) == ["12.4"]
    assert said(written(tmp_path, lines, ",python=3.12.4").nvjitlink) == ["12.9"]


def test_machines_are_called_as_python_calls_them(tmp_path: Path) -> None:
    lines = (
        "nvidia-nvjitlink-cu12==12.4.127; platform_machine == 'aarch64'\n"
        "nvidia-nvjitlink-cu12==12.8.93; platform_machine == 'x86_64'\n"
        "nvidia-nvjitlink-cu12==12.9.86; platform_machine == 'AMD64'\n"
    )
    assert said(written(tmp_path, lines, ",os=linux-aarch64").nvjitlink) == ["12.4"]
    assert said(written(tmp_path, lines, ",os=linux").nvjitlink) == ["12.8"]
    assert said(written(tmp_path, lines, ",os=windows").nvjitlink) == ["12.9"]


@pytest.mark.parametrize("model", gpu_models(), ids=lambda model: model.name)
def test_the_gpu_shows_the_machine_where_the_target_does_not(
    tmp_path: Path, model: GpuModel
) -> None:
    lines = (
        "nvidia-nvjitlink-cu12==12.4.127; platform_machine == 'aarch64'\n"
        "nvidia-nvjitlink-cu12==12.8.93; platform_machine == 'x86_64'\n"
    )
    expected = "12.4" if model.tegra or model.cpu == "arm" else "12.8"
    assert said(written(tmp_path, lines, f",gpu={model.name}").nvjitlink) == [expected]
    assert said(written(tmp_path, lines, f",gpu={model.name},os=linux").nvjitlink) == ["12.8"]
    mixed = written(tmp_path, lines, f",gpu={model.name}+h100")
    assert said(mixed.nvjitlink) == ["12.8"]


def test_everything_that_a_requirements_file_may_hold_is_read(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "more.txt").write_text("-r ../requirements.txt\nsix\n-c pins.txt\n")
    (tmp_path / "sub" / "pins.txt").write_text("nvidia-cuda-nvrtc-cu12==12.6.85\n")
    target = written(
        tmp_path,
        "# a comment, that goes on \\\n"
        "--index-url https://example.invalid/simple\n"
        "-e git+https://example.invalid/x.git#egg=x\n"
        "./local/folder\n"
        "numpy[extra]>=2 ; sys_platform == 'linux'  # why\n"
        "--requirement=sub/more.txt\n"
        "other @ https://example.invalid/other-1.0.tar.gz\n"
        "nvidia-nvjitlink-cu12 \\\n"
        "    == 12.4.127 \\\n"
        "    --hash=sha256:06b3b9b25bf3f8af351d664978ca26a16d2c5127dbd53c0497e28d1fb9611d57 \\\n"
        "    # via x\n",
    )
    assert (said(target.nvjitlink), said(target.nvrtc)) == (["12.4"], ["12.6"])


WHEEL = "nvidia_nvjitlink_cu12-12.4.127-py3-none-manylinux2014_x86_64.whl"


@pytest.mark.parametrize(
    "line",
    [
        f"nvidia-nvjitlink-cu12 @ file:///wheels/{WHEEL}#sha256=00",
        f"https://example.invalid/{WHEEL}",
        f"./wheels/{WHEEL}",
    ],
)
def test_the_name_of_a_wheel_tells_its_version(tmp_path: Path, line: str) -> None:
    assert said(written(tmp_path, line).nvjitlink) == ["12.4"]


def test_constraints_narrow_what_is_required(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("nvidia-nvjitlink-cu12<12.6\n")
    target = written(tmp_path, "-c c.txt\nnvidia-nvjitlink-cu12>=12.4\n")
    assert said(target.nvjitlink) == ["12.4", "12.5"]


def test_extras_of_a_pylock_are_read_one_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "pylock.toml").write_text(
        'lock-version = "1.0"\nextras = ["cu12", "cu13"]\ndependency-groups = ["dev"]\n'
        '[[packages]]\nname = "nvidia-nvjitlink-cu12"\nversion = "12.8.93"\n'
        "marker = \"'cu12' in extras and 'cu13' not in extras\"\n"
        '[[packages]]\nname = "nvidia-nvjitlink"\nversion = "13.3.33"\n'
        "marker = \"'cu13' in extras and 'cu12' not in extras\"\n"
        '[[packages]]\nname = "nvidia-cuda-nvrtc"\nversion = "13.3.33"\n'
        "marker = \"'dev' in dependency_groups\"\n"
    )
    target = locked("pylock.toml", where=tmp_path)
    assert said(target.nvjitlink) == ["12.8", "13.3"]
    assert target.nvrtc is None


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("r.txt", "numpy==2.0\n", "has no nvidia-nvjitlink, nvidia-cuda-nvrtc"),
        ("c.yml", "package: 3", "a value has the type str, not a list"),
        ("c.yml", "package: [3]", "a value has the type str, not a table"),
        ("c.yml", "a: [", "is not a YAML file"),
        ("pixi.lock", "environments: {default: 3}", "a value has the type str, not a table"),
        ("r.txt", "nvidia-nvjitlink==13.0.88; sys_platform == 'x'", "for linux and Python 3."),
        ("r.txt", "Package Version\n------- -------\n", "r.txt:1: this line is not a requirement"),
        ("r.txt", "-r none.txt\n", "r.txt:1: the file that this line includes can't be read"),
        ("r.txt", "-r https://example.invalid/r.txt\n", "download the file"),
        ("r.txt", "nvidia-nvjitlink-cu12>=13\n", "the tables have no nvJitLink"),
        ("r.txt", "nvidia-nvjitlink-cu12==12.4.127,<12\n", "no nvidia-nvjitlink-cu12 satisfies"),
        ("r.txt", "\0\1", "is not a text file"),
        ("poetry.lock", '[[package]]\nname = "x"\n[metadata]\n', "is not a lock file"),
        (
            "uv.lock",
            "version = 1\npackage = 3\n",
            "the type int, not a list of tables",
        ),
        (
            "uv.lock",
            "version = 1\n[[package]]\nname = 3\n",
            "the type int, not a string",
        ),
        ("pylock.toml", 'lock-version = "1.0"\n', "has no nvidia-nvjitlink"),
    ],
    ids=range(16),
)
def test_a_lock_that_says_nothing_ends_in_a_sentence(
    tmp_path: Path, name: str, content: str, part: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UsageError) as caught:
        locked(name, where=tmp_path)
    assert part in str(caught.value)
    assert name in str(caught.value)


HIDDEN = "c0ffee5ec2e7"
ELSEWHERE = {
    "machine h login me password {}": "r.txt uv.lock c.yml",
    "-r {}": "r.txt",
    "-c {}.txt": "r.txt",
    "--requirement={}": "r.txt",
    "-r https://{}@host/r.txt": "r.txt",
    "--index-url https://{}@host": "r.txt",
    '[a."{0}"]\n[a."{0}"]': "uv.lock pylock.toml",
    "a = {{{0} = 1, {0} = 2}}": "uv.lock pylock.toml",
    '"{0}" = 1\n"{0}" = 2': "uv.lock pylock.toml",
    "{} {}": "uv.lock pylock.toml c.yml",
    "a: *{}": "c.yml pixi.lock",
    "a: &{0} 1\nb: *{0}\n%{0}": "c.yml pixi.lock",
    "{}: [": "c.yml pixi.lock",
    "package: {}": "c.yml pixi.lock",
}


@pytest.mark.parametrize(
    ("line", "name"), [(line, name) for line, names in ELSEWHERE.items() for name in names.split()]
)
def test_a_lock_that_leads_elsewhere_tells_no_line_of_what_is_there(
    line: str, name: str, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").write_text(line.format(HIDDEN, HIDDEN))
    (tmp_path / name).symlink_to("elsewhere")
    (tmp_path / "includes.txt").write_text("-c elsewhere\n")
    for lock in (name, "includes.txt"):
        with pytest.raises(UsageError) as caught:
            locked(lock, where=tmp_path)
        assert HIDDEN not in str(caught.value)


_PIECES = (
    "nvidia-nvjitlink nvidia-nvjitlink-cu12 cuda-toolkit == >= < ~= === , 12.4 12.4.127 13 ; @ -r "
    "python_version '3.11' ( ) \n \\\n # ./x.whl --hash=a [extra] != .* 99999999 and"
)
_WORDS = st.sampled_from(_PIECES.split(" "))


@settings(max_examples=200, deadline=None)
@given(
    content=st.one_of(
        st.binary(max_size=60),
        st.lists(_WORDS, max_size=12).map(lambda words: "".join(words).encode()),
    ),
    name=st.sampled_from(("r.txt", "uv.lock", "pylock.toml", "pixi.lock")),
)
def test_any_file_ends_in_a_target_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str
) -> None:
    folder = tmp_path_factory.mktemp("lock")
    (folder / name).write_bytes(content)
    try:
        locked(name, where=folder)
    except UsageError as error:
        assert str(error)  # noqa: PT017


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "none.txt", "."])
def test_a_path_that_no_file_can_have_ends_in_a_sentence(tmp_path: Path, path: str) -> None:
    with pytest.raises(UsageError):
        locked(path, where=tmp_path)
