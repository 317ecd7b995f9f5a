"""docs/policy.md and the JSON Schema of a policy: every key is read as it is shown."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ltocompat.cli import run
from ltocompat.commands.policy.key_list import PolicyKey, keys_of_tables, schema
from ltocompat.commands.policy.reading import read_policy
from ltocompat.commands.policy.values import Policy
from ltocompat.model.errors import UsageError

DOCS = Path(__file__).parents[1] / "docs"
TODAY = dt.date(2026, 11, 21)
KEYS = [(table, key) for table, keys in keys_of_tables().items() for key in keys if key.example]
LOCK = """
version = 1
[[package]]
name = "libx"
version = "1.0"
source = { editable = "." }
dependencies = [{ name = "nvidia-nvjitlink" }]
[[package]]
name = "nvidia-nvjitlink"
version = "13.2.78"
source = { registry = "https://index.example/simple" }
"""


def policy_with(table: str, key: PolicyKey) -> str:
    """A policy with the example of one key, and what else its table needs."""
    target = '[targets.oldest]\nnvjitlink = "13.3"\n'
    line = f"{key.name} = {key.example}\n"
    if table == "targets.NAME":
        return target + line if key.name != "nvjitlink" else f"[targets.oldest]\n{line}"
    if table not in ("audit.ignore", "audit.allow"):
        return f"{target}[{table}]\n{line}"
    needed = {each.name: each.example for each in keys_of_tables()[table] if not each.default}
    needed |= {"rule": '"PTX-06"', key.name: key.example}
    lines = "".join(f"{name} = {value}\n" for name, value in needed.items())
    return f"{target}[[{table}]]\n{lines}"


def plain(value: Any) -> Any:  # noqa: ANN401 - whatever TOML can say
    """TOML as JSON: editors take a date for its text."""
    return json.loads(json.dumps(value, default=str))


def conforms(text: str) -> bool:
    return bool(jsonschema.Draft202012Validator(schema()).is_valid(plain(tomllib.loads(text))))


def read(folder: Path, text: str) -> Policy:
    (folder / "uv.lock").write_text(LOCK, "utf-8")
    path = folder / "ltocompat.toml"
    path.write_text(text, "utf-8")
    return read_policy(str(path), TODAY)


def test_the_page_is_current() -> None:
    command = [sys.executable, str(DOCS / "generate_policy.py"), "--check"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")


def test_the_schema_is_one_and_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert run(["schema", "policy"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()


@pytest.mark.parametrize(("table", "key"), KEYS, ids=[f"{t}.{k.name}" for t, k in KEYS])
def test_the_example_of_a_key_is_read_and_changes_the_policy(
    tmp_path: Path, table: str, key: PolicyKey
) -> None:
    text = policy_with(table, key)
    assert conforms(text)
    found = read(tmp_path, text)
    without = '[targets.oldest]\nnvjitlink = "13.3"\n'
    # What the example says is what holds without it; a Python matters to a lock file alone.
    same = {("audit", "targets"), ("audit", "fail-on")}
    same |= {("targets.NAME", "nvjitlink"), ("targets.NAME", "python"), ("targets.NAME", "lock")}
    assert (found != read(tmp_path, without)) is ((table, key.name) not in same)


DEFAULTS = [(t, k) for t, k in KEYS if k.default and k.default[0] in '"[{f']


@pytest.mark.parametrize(("table", "key"), DEFAULTS, ids=[f"{t}.{k.name}" for t, k in DEFAULTS])
def test_a_default_that_is_written_changes_nothing(
    tmp_path: Path, table: str, key: PolicyKey
) -> None:
    bare = PolicyKey(key.name, key.default)
    text = policy_with(table, bare)
    assert conforms(text)
    needed = policy_with(
        table,
        next(k for k in keys_of_tables()[table] if not k.default) if "audit." in table else bare,
    )
    written, left_out = (
        read(tmp_path, text),
        read(tmp_path, needed.replace(f"{key.name} = {key.default}\n", "")),
    )
    assert written.exceptions == left_out.exceptions
    assert (written.fail_on, written.trial_links) == (left_out.fail_on, left_out.trial_links)
    assert (written.require_archs, written.variants) == (left_out.require_archs, left_out.variants)


MISTAKES = [
    "[audits]",
    "[audit]\nfail_on = 'fail'",
    "[audit]\ntargets = 'prod'",
    "[audit]\ntargets = []",
    "[audit]\nrequire-archs = ['']",
    "[audit]\nmax-bytes = '1 qB'",
    "[audit]\nrequire-archs = [90]",
    "[audit]\nrequire-gpus = 'h100'",
    "[audit]\nrequire-gpus = [90]",
    "[audit]\nleast-driver = 525.60",
    "[audit]\nleast-driver = 'new'",
    "[audit]\nfail-on = 'ok'",
    "[audit]\nfail-on = true",
    "[audit]\ntrial-link = 'yes'",
    "[audit]\ntrial-link = [13.3]",
    "[audit]\ntrial-link = []",
    "[audit]\ntrial-links = true",
    "[audit]\nno-device-code = true",
    "[audit]\nvariants = 'libx*.so'",
    "[audit]\nvariants = ['']",
    "[audit]\nprovided-by = ['torch']",
    "[audit]\nprovided-by = {torch = 'libcudart.so.13'}",
    "[audit]\nignore = 'all'",
    "[[audit.ignore]]\nrul = 'PTX-06'",
    "[[audit.ignore]]\nreason = 'x'",
    "[[audit.ignore]]\nrule = 'PTX-66'\nreason = 'x'\nexpires = 2099-12-31",
    "[[audit.ignore]]\nrule = 'PTX-06'",
    "[[audit.ignore]]\nrule = 'PTX-06'\nreason = ' '\nexpires = 2099-12-31",
    "[[audit.ignore]]\nrule = 'PTX-06'\nreason = 'x'",
    "[[audit.ignore]]\nrule = 'PTX-06'\nreason = 'x'\nexpires = 'soon'",
    "[promise]\nsas = []",
    "[promise]\nsass = 'sm_80'",
    "[promise]\nsass = ['hopper']",
    "[promise]\nsass = ['compute_80']",
    "[promise]\nsass = [true]",
    "[promise]\ndriver = 525.60",
    "[promise]\ndriver = 'new'",
    "[promise]\nnvjitlink = 12.1",
    "[targets.new]\ndrivr = '580'",
    "[targets.new]\ndriver = 580.65",
    "[targets.new]\ndriver = ''",
    "[targets.new]\ngpu = [90]",
    "[targets.new]\nnvjitlink = true",
    "[targets]\nnew = 90",
]


@pytest.mark.parametrize("text", MISTAKES)
def test_the_schema_rejects_what_the_reader_rejects(tmp_path: Path, text: str) -> None:
    whole = f"[targets.prod]\ndriver = '580'\n{text}\n" if "[targets]" not in text else text
    with pytest.raises(UsageError):
        read(tmp_path, whole)
    assert not conforms(whole)


def test_what_is_copied_from_a_pyproject_means_the_same_in_a_file_of_its_own(
    tmp_path: Path,
) -> None:
    own = '[targets.prod]\ndriver = "580"\n[promise]\nsass = ["sm_90"]\n[audit]\nfail-on = "jit"\n'
    pasted = own.replace("[", "[tool.ltocompat.").replace("= [tool.ltocompat.", "= [")
    found, meant = read(tmp_path, pasted), read(tmp_path, own)
    assert found.targets == meant.targets
    assert (found.promise, found.fail_on) == (meant.promise, meant.fail_on)
    assert (found.table, meant.table) == ("[tool.ltocompat.audit]", "[audit]")
    with pytest.raises(UsageError, match=r"has both .targets. and .tool.ltocompat.; write all"):
        read(tmp_path, own + pasted.replace("targets.prod", "targets.other"))


def test_a_variable_of_the_environment_is_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cpu.bin").write_bytes(b"no device code")
    (tmp_path / "mine.toml").write_text("[targets.prod]\ndriver = '580'\n", "utf-8")
    monkeypatch.setenv("LTOCOMPAT_CONFIG", "mine.toml")
    assert run(["audit", "cpu.bin"]) == 3
    assert "policy mine.toml" in capsys.readouterr().out
    monkeypatch.setenv("LTOCOMPAT_ALLOW_EMPTY", "1")
    assert run(["audit", "cpu.bin"]) == 0
    monkeypatch.setenv("LTOCOMPAT_FAIL_ON", "never")
    assert run(["audit", "cpu.bin"]) == 2
    assert run(["audit", "cpu.bin", "--fail-on", "fail"]) == 0  # the command line beats it
    page = (DOCS / "policy.md").read_text("utf-8")
    for name in ("CONFIG", "ALLOW_EMPTY", "FAIL_ON", "TRIAL_LINK", "TRACEBACK"):
        assert f"`LTOCOMPAT_{name}`" in page
