"""What a baseline forgives of the next release, on files of real compilers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from packages_made import wheel
from report_values import valid_json
from samples import FOLDER

from ltocompat.cli import run

pytestmark = pytest.mark.usefixtures("folder")

Captured = pytest.CaptureFixture[str]
PTX_13 = "ptx/nvrtc-13.0-compute_80.ptx"  # ISA 9.0: driver 580
SM_80, SM_90, SM_70 = (f"cubin/nvrtc-12.9-sm_{number}.cubin" for number in (80, 90, 70))
KNOWN = ("--baseline", "known.json")


def build(version: str, members: dict[str, str], name: str = "libx", *requires: str) -> str:
    """A wheel of samples, by the names of its members."""
    files = {member: (FOLDER / path).read_bytes() for member, path in members.items()}
    return str(wheel(Path(), files, requires, name=name, version=version))


def policy(*lines: str, driver: str = "535", gpu: str = '"h100"', name: str = "prod") -> None:
    text = f'[targets.{name}]\ndriver = "{driver}"\ngpu = [{gpu}]\n[audit]\n'
    Path("ltocompat.toml").write_text(text + "\n".join(lines), "utf-8")


def write(path: str) -> None:
    assert run(["audit", path, "--write-baseline", "known.json", "-q"]) == 0
    assert run(["audit", path, *KNOWN, "-q"]) == 0


def growth(path: str, capsys: Captured) -> str:
    """What is said of a release that fails: the first line of the report."""
    capsys.readouterr()
    assert run(["audit", path, *KNOWN]) == 1
    return capsys.readouterr().out.partition("\n")[0]


def test_a_release_that_fails_on_more_gpus_is_new_there(capsys: Captured) -> None:
    policy(driver="580", gpu='"b200", "h100", "a100"')
    write(build("1.0", {"k/a.cubin": SM_80, "k/b.cubin": SM_90}))
    line = growth(build("1.1", {"k/a.cubin": SM_70}), capsys)
    assert "SASS-06" in line
    assert "(known on b200; new on h100, a100)" in line
    assert "on prod (h100" in line


def test_a_loose_file_is_one_from_wherever_it_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy()
    for name in ("build", "other"):
        Path(name).mkdir()
        shutil.copy(FOLDER / PTX_13, f"{name}/x.ptx")
    write("build/x.ptx")
    assert run(["audit", str(folder / "build" / "x.ptx"), *KNOWN, "-q"]) == 0
    assert run(["audit", "other/x.ptx", *KNOWN, "-q"]) == 1
    assert run(["audit", "build/x.ptx", "other/x.ptx", *KNOWN, "-q"]) == 1
    monkeypatch.chdir(folder / "build")
    assert run(["audit", "x.ptx", "--baseline", "../known.json", "-q"]) == 0
    monkeypatch.chdir("/")
    path, config = str(folder / "build" / "x.ptx"), str(folder / "ltocompat.toml")
    words = ["--config", config, "--baseline", str(folder / "known.json"), "-q"]
    assert run(["audit", path, *words]) == 0


def test_a_baseline_of_another_form_is_told_and_written_anew(capsys: Captured) -> None:
    Path("known.json").write_text('{"schema": "ltocompat/baseline/v1", "findings": []}', "utf-8")
    path = build("1.0", {"k/b.ptx": PTX_13}, "libp")
    assert run(["audit", path, *KNOWN]) == 2
    message = capsys.readouterr().err
    assert "known.json has another format, ltocompat/baseline/v1; " in message
    assert "write it again with: ltocompat audit --write-baseline known.json\n" in message
    write(path)
    assert run(["audit", path, *KNOWN, "-q"]) == 0


@pytest.mark.parametrize("schema", ["v1", "v2"])
@pytest.mark.parametrize(
    "rows",
    ["null", "3", "[3]", "[{}]", '[{"rule": 3}]', '[{"extent": {"h100": [{"modules": -1}]}}]'],
)
def test_a_baseline_that_is_damaged_is_told(schema: str, rows: str, capsys: Captured) -> None:
    text = f'{{"schema": "ltocompat/baseline/{schema}", "findings": {rows}}}'
    Path("known.json").write_text(text, "utf-8")
    assert run(["audit", str(FOLDER / SM_90), *KNOWN]) == 2
    assert "write it again with: ltocompat audit --write-baseline known.json" in (
        capsys.readouterr().err
    )


def allow(path: str, verdict: str, *more: str, rule: str = "PTX-01", reason: str = "r") -> str:
    keys = {"rule": rule, "path": path, "verdict": verdict, "reason": reason}
    lines = [f'{key} = "{value}"' for key, value in keys.items()]
    return "\n".join(["[[audit.allow]]", *lines, *more])


@pytest.mark.parametrize("beside", [[], [allow("a.ptx", "unknown", reason="too little")]])
def test_what_is_allowed_for_good_says_why(beside: list[str], capsys: Captured) -> None:
    policy(*beside, allow("a.ptx", "fail", reason="nobody has it"))
    path = build("1.0", {"k/a.ptx": PTX_13})
    assert run(["audit", path]) == 0
    out = capsys.readouterr().out
    passed = f"audit passed: {path}; policy ltocompat.toml; not counted: 1 allowed\n"
    assert out.startswith(passed)
    assert "fail (allowed)" in out
    assert "allowed (nobody has it): fail PTX-01 on prod: " in out
    assert run(["audit", path, "--format", "json"]) == 0
    value = valid_json(capsys.readouterr().out)
    found = [each for shown in value["results"] for each in shown["findings"] if each["allow"]]
    (each,) = found
    assert (each["standing"], each["ignore"], each["allow"]["path"]) == ("allowed", None, "a.ptx")
    assert value["summary"]["findings"]["allowed"] == 1
    write(path)  # an exception hands nothing over to a baseline
    assert json.loads(Path("known.json").read_text("utf-8"))["findings"] == []


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ([allow("*.ptx", "fail")], 0),
        ([allow("*.ptx", "unknown")], 1),
        ([allow("*.ptx", "fail"), allow("k/a.ptx", "unknown")], 1),
        ([allow("k/a.ptx", "unknown"), allow("*.ptx", "fail")], 1),
        ([allow("*.ptx", "unknown"), allow("k/a.ptx", "fail")], 0),
        ([allow("libx::k/a.ptx", "fail")], 0),
        ([allow("liby::k/a.ptx", "fail")], 1),
        ([allow("*", "fail", 'gpu = "H100"')], 0),
        ([allow("*", "fail", 'gpu = ["a100"]')], 1),
        ([allow("*", "fail", "gpu = []")], 1),
        ([allow("*", "fail"), allow("*", "unknown", 'gpu = "h100"')], 1),
        ([allow("*", "fail", "modules = 1")], 0),
        ([allow("*", "fail", "modules = 0")], 1),
        ([allow("*", "fail", 'asks = ["driver 580.65.06"]')], 0),
        ([allow("*", "fail", 'asks = ["driver 581"]')], 0),
        ([allow("*", "fail", 'asks = ["driver 550.54.14"]')], 1),
        ([allow("*", "fail", 'about = "PTX"')], 0),
        ([allow("*", "fail", 'about = "SASS*"')], 1),
        ([allow("*", "fail", 'target = "prod"')], 0),
        ([allow("*", "fail"), allow("*", "jit", 'target = "prod"')], 1),
    ],
)
def test_the_narrower_of_two_exceptions_decides_and_forgives_no_more_than_it_says(
    lines: list[str], code: int, capsys: Captured
) -> None:
    policy(*lines)
    assert run(["audit", build("1.0", {"k/a.ptx": PTX_13})]) == code
    out = capsys.readouterr().out
    assert ("exceptions" in out) is (len(lines) > 1 or bool(code))


def test_an_exception_that_forgives_less_is_named_where_the_remedy_is(capsys: Captured) -> None:
    policy(allow("a.ptx", "unknown"))
    assert run(["audit", build("1.0", {"k/a.ptx": PTX_13}), "--format", "json"]) == 1
    (shown,) = valid_json(capsys.readouterr().out)["results"]
    remedy = shown["findings"][0]["remedy"]
    assert remedy.endswith("; audit.allow[0] (PTX-01 in a.ptx) accepts unknown at most")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('rule = "PTX-01"\nreason = "x"\nverdict = "fail"', "audit.allow[0] has no path"),
        ('rule = "PTX-01"\nreason = "x"\npath = "x"', "audit.allow[0] has no verdict"),
        ('rule = "PTX-01"\nverdict = "fail"\npath = "x"', "audit.allow[0] has no reason"),
        ("expires = 2099-01-01", "audit.allow[0] has no key 'expires'"),
        (
            'rule = "PTX-01"\nreason = "x"\npath = "x"\nverdict = "ok"',
            "audit.allow[0].verdict is 'ok'; write verdict = ",
        ),
        (
            'rule = "PTX-01"\nreason = "x"\npath = "x"\nverdict = "fail"\ngpu = "h1"',
            "audit.allow[0].gpu: ",
        ),
        (
            'rule = "PTX-01"\nreason = "x"\npath = "x"\nverdict = "fail"\nmodules = -1',
            "audit.allow[0].modules is -1; write modules = 3",
        ),
    ],
)
def test_a_mistake_in_what_is_allowed_is_told(table: str, said: str, capsys: Captured) -> None:
    policy(f"[[audit.allow]]\n{table}")
    assert run(["audit", str(FOLDER / SM_90)]) == 2
    assert said in capsys.readouterr().err
