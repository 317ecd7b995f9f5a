"""Policies: read from either file, and every mistake is told by file and key."""

from __future__ import annotations

import datetime as dt
import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltocompat.commands.policy.baseline import Baseline, read_baseline, write_baseline
from ltocompat.commands.policy.gate import Audited, audited
from ltocompat.commands.policy.reading import find_policy, read_policy
from ltocompat.commands.policy.values import Policy, PolicyException
from ltocompat.model.arch import Release
from ltocompat.model.errors import UsageError
from ltocompat.model.location import Location
from ltocompat.model.target import Target
from ltocompat.model.verdict import Coverage, Finding, Level, Result, Verdict

TODAY = dt.date(2026, 11, 21)
TARGETS = """
[targets.prod]
driver = "580"
nvjitlink = ">=13.2,<14"
gpu = ["h100", "l4"]
[targets.edge]
driver = "535"
gpu = "t4"
"""
WHOLE = """
[promise]
sass = ["sm_80", "90a", 100]
ptx = ["compute_90"]
driver = "550"
nvjitlink = "12.4"
[audit]
targets = ["edge", "prod"]
require-archs = ["sm_90", "compute_90", "lto_80"]
least-driver = "525"
fail-on = "undocumented"
trial-link = ["13.3", "13.2"]
no-device-code = "pass"
ignore = [
  {rule = "ptx-06", path = "libx*.so", target = "edge", reason = "later", expires = 2026-11-21},
  {rule = "LTO-10b", kernel = "*run*", reason = "measured", expires = "2027-01-31"},
]
"""


def written(folder: Path, text: str, name: str = "ltocompat.toml") -> str:
    path = folder / name
    path.write_text(text, "utf-8")
    return str(path)


def test_a_policy_says_it_all(tmp_path: Path) -> None:
    path = written(tmp_path, TARGETS + WHOLE)
    policy = read_policy(path, TODAY)
    assert policy.source == path
    assert [target.name for target in policy.targets] == ["edge", "prod"]
    promise = policy.promise
    assert promise is not None
    assert [str(arch) for arch in promise.sass] == ["sm_80", "sm_90a", "sm_100"]
    assert [str(arch) for arch in promise.ptx] == ["compute_90"]
    assert str(promise.driver) == "550.54.14"  # as below
    assert (promise.nvjitlink, promise.source) == (Release(12, 4), path)
    assert [str(require_arch) for require_arch in policy.require_archs] == [
        "sm_90",
        "compute_90",
        "lto_80",
    ]
    assert str(policy.least_driver) == "525.60.13"  # the branch's first production release
    assert policy.fail_on is Verdict.UNDOCUMENTED
    assert policy.trial_links
    assert policy.trial_releases == (Release(13, 3), Release(13, 2))
    assert policy.allow_empty
    first, second = policy.exceptions
    assert (first.rule, first.path, first.target) == ("PTX-06", "libx*.so", "edge")
    assert (first.kernel, second.kernel) == ("*", "*run*")
    assert first.expires == TODAY  # its last day
    assert (second.rule, second.path, second.target) == ("LTO-10b", "*", "*")
    assert second.expires == dt.date(2027, 1, 31)


def test_a_policy_above_the_repository_is_not_obeyed(tmp_path: Path) -> None:
    written(tmp_path, TARGETS)
    inner = tmp_path / "checkout" / "python"
    inner.mkdir(parents=True)
    assert find_policy(str(inner)) == str(tmp_path / "ltocompat.toml")
    (tmp_path / "checkout" / ".git").mkdir()
    assert find_policy(str(inner)) is None
    written(tmp_path / "checkout", TARGETS)
    assert find_policy(str(inner)) == str(tmp_path / "checkout" / "ltocompat.toml")


def test_of_two_policies_in_one_folder_none_is_obeyed_unseen(tmp_path: Path) -> None:
    """What README puts into a pyproject.toml, beside the file that init wrote."""
    written(tmp_path, TARGETS)
    other = written(tmp_path, '[tool.ltocompat.audit]\nmax-bytes = "1MB"\n', "pyproject.toml")
    with pytest.raises(UsageError, match=r"two policies, .*ltocompat.toml and .*pyproject.toml"):
        find_policy(str(tmp_path))
    Path(other).write_text("[tool.ruff]\n", "utf-8")
    assert find_policy(str(tmp_path)) == str(tmp_path / "ltocompat.toml")


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="gives files away")
def test_a_policy_of_another_user_is_not_obeyed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, TARGETS)
    os.chown(tmp_path / "ltocompat.toml", 65534, 65534)
    with pytest.raises(UsageError, match=r"not to you or root; .* --config"):
        find_policy(str(tmp_path))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "ltocompat"))
    with pytest.raises(UsageError, match="not to you or root"):
        find_policy(str(tmp_path))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path.parent))  # the checkout of a CI job
    assert find_policy(str(tmp_path)) is not None
    monkeypatch.delenv("GITHUB_WORKSPACE")
    monkeypatch.setenv("SUDO_UID", "65534")
    assert find_policy(str(tmp_path)) is not None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[audits]", "the file has no key 'audits' (did you mean audit?)"),
        ("[audit]\nfail_on = 'fail'", "[audit] has no key 'fail_on' (did you mean fail-on?)"),
        ("audit = 3", "audit is 3; write a table [audit]"),
        ("[audit]\ntargets = 'prod'", "audit.targets is 'prod'; write targets = ["),
        ("[audit]\ntargets = []", 'audit.targets is []; write targets = ["oldest"]'),
        ("[audit]\ntargets = ['prd']", "audit.targets names 'prd' (did you mean prod"),
        ("[audit]\nrequire-archs = ['hoper']", "audit.require-archs: 'hoper' is not a known GPU"),
        (
            "[audit]\nmax-bytes = '100 mb!'",
            "audit.max-bytes: '100 mb!' is not a size; write it like",
        ),
        ("[audit]\nrequire-archs = [90]", "audit.require-archs is [90]; write"),
        ("[audit]\nleast-driver = 525.60", 'audit.least-driver is 525.6; write least-driver = "'),
        ("[audit]\nleast-driver = 'new'", "audit.least-driver is 'new', which is not a driver"),
        ("[audit]\nfail-on = 'ok'", "audit.fail-on is 'ok'; write fail-on = \"fail\" | "),
        ("[audit]\nfail-on = true", "audit.fail-on is True"),
        ("[audit]\ntrial-link = 'yes'", "audit.trial-link is 'yes'; write trial-link = true"),
        ("[audit]\ntrial-link = [13.3]", "audit.trial-link is [13.3]; write trial-link = true"),
        ("[audit]\ntrial-link = ['13']", "audit.trial-link: '13' is not a release of"),
        (
            "[audit]\ntrial-link = ['12.4']",
            "audit.trial-link names 12.4, which no target has; the targets' nvJitLinks are: 13.2",
        ),
        (
            "[audit]\nno-device-code = true",
            'audit.no-device-code is True; write no-device-code = "pass" | "undecided"',
        ),
        ("[audit]\nignore = 'all'", "audit.ignore is 'all'; write a table [[audit.ignore]]"),
        ("[audit]\nignore = [3]", "audit.ignore is [3]; write a table [[audit.ignore]]"),
        ("[audit.provided-by]\n'a.b' = [' ']", "audit.provided-by is {'a.b': [' ']}; write"),
        ("[[audit.ignore]]\nrul = 'PTX-06'", "audit.ignore[0] has no key 'rul'"),
        (
            "[[audit.ignore]]\nreason = 'x'",
            'audit.ignore[0] has no rule, no expires; write rule = "PTX-06", expires = 2099-12-31',
        ),
        (
            "[[audit.ignore]]\nrule = 'PTX-66'\nreason = 'x'\nexpires = 2099-12-31",
            "audit.ignore[0].rule is 'PTX-66' (did you mean",
        ),
        ("[[audit.ignore]]\nrule = 'PTX-06'", "audit.ignore[0] has no reason, no expires"),
        ("[[audit.ignore]]\nrule = 'PTX-06'\nreason = ' '", "audit.ignore[0].reason is ' '"),
        ("[[audit.ignore]]\nrule = 'PTX-06'\nreason = 'x'", "audit.ignore[0] has no expires"),
        (
            "[[audit.ignore]]\nrule = 'PTX-06'\nreason = 'x'\nexpires = 'soon'",
            "audit.ignore[0].expires is 'soon'; write expires = 2099-12-31",
        ),
        (
            "[[audit.ignore]]\nrule = 'PTX-06'\nreason = 'x'\nexpires = 2026-11-20",
            "audit.ignore[0] (PTX-06) expired on 2026-11-20; fix the finding",
        ),
        (
            (
                "[[audit.ignore]]\nrule = 'PTX-06'\nreason = 'x'\nexpires = 2027-01-01\n"
                "verdict = 'not for this GPU'"
            ),
            "audit.ignore[0].verdict is 'not for this GPU'; write verdict = \"fail\"",
        ),
        ("[promise]\nsas = []", "[promise] has no key 'sas' (did you mean sass?)"),
        ("[promise]\ncolour = 1", "no key 'colour'; the keys are sass, ptx, driver, nvjitlink"),
        ("[promise]\nsass = 'sm_80'", "promise.sass is 'sm_80'; write sass = [\"sm_80\""),
        ("[promise]\nsass = ['hopper']", "promise.sass: 'hopper' is not an architecture"),
        ("[promise]\nsass = [true]", "promise.sass is [True]; write sass = ["),
        ("[promise]\nsass = ['compute_80']", "promise.sass takes no compute_80; write sass = ["),
        ("[promise]\nptx = ['sm_80']", "promise.ptx takes no sm_80; write ptx = ["),
        ("[promise]\ndriver = 525.60", "promise.driver is 525.6; write driver = "),
        ("[promise]\ndriver = 'new'", "promise.driver is 'new', which is not a driver; write"),
        ("[promise]\nnvjitlink = 12.1", "promise.nvjitlink is 12.1; write nvjitlink = "),
        ("promise = 'all'", "promise is 'all'; write a table [promise]"),
        ('["a` - at `$[0].audit"]', "the file has no key 'a` - at `$[0].audit'; the keys are"),
    ],
)
def test_a_mistake_is_told_by_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, f"{text}\n{TARGETS}" if text[0] != "[" else TARGETS + text)
    with pytest.raises(UsageError) as caught:
        read_policy(path, TODAY)
    assert str(caught.value).startswith(path)
    assert said in str(caught.value)


def finding(verdict: Verdict, message: str = "PTX for sm_90", member: str = "a/libx.so") -> Finding:
    place = Location("dist/libx-1.0-py3-none-any.whl").member(member)
    return Finding(
        verdict,
        message,
        module_count=1,
        example=place,
        subject="PTX alone",
        rule="PTX-06",
        level=Level.WARNING,
        source="",
    )


def result(*findings: Finding, path: str = "dist/libx-1.0-py3-none-any.whl") -> Result:
    worst = max(each_finding.verdict for each_finding in findings)
    target = Target(name="edge")
    return Result(path, target, None, None, worst, Coverage(2, ptx=2), (), findings, ())


def policy_with(*exceptions: PolicyException, fail_on: Verdict = Verdict.FAIL) -> Policy:
    target = Target(name="edge")
    return Policy(source="x.toml", targets=(target,), fail_on=fail_on, exceptions=exceptions)


NOTHING = Baseline()


def held(judged: Result, policy: Policy, baseline: Baseline = NOTHING) -> Audited:
    (found,) = audited([judged], policy, baseline)
    return found


def ignore(path: str = "*", target: str = "*") -> PolicyException:
    return PolicyException(rule="PTX-06", reason="x", expires=TODAY, path=path, target=target)


@pytest.mark.parametrize(
    ("pattern", "covered"),
    [
        ("*", True),
        ("libx*.so", True),
        ("a/libx.so", True),
        ("*.whl", True),
        ("dist/*", True),
        ("libx*.whl", True),
        ("liby*.so", False),
        ("libx", False),
    ],
)
def test_an_ignore_names_the_artifact_or_a_file_in_it(pattern: str, covered: bool) -> None:
    decided = held(result(finding(Verdict.FAIL)), policy_with(ignore(pattern)))
    assert decided.failed is not covered
    assert decided.result.verdict is Verdict.FAIL  # it fails there all the same


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "x", "findings": []}', "[" * 100_000])
def test_what_is_no_baseline_is_told(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text, "known.json")
    with pytest.raises(UsageError, match="is not a baseline; write one with"):
        read_baseline(path)


def test_only_a_baseline_is_replaced_by_one(tmp_path: Path) -> None:
    wheel = tmp_path / "libx.whl"
    wheel.write_text("precious")
    with pytest.raises(UsageError, match="is not a baseline"):
        write_baseline(str(wheel), [])
    assert wheel.read_text() == "precious"
    path = str(tmp_path / "known.json")
    assert write_baseline(path, [result(finding(Verdict.FAIL))]) == 1
    assert write_baseline(path, []) == 0
    assert read_baseline(path).findings == {}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
KEYS = (
    "targets",
    "require-archs",
    "least-driver",
    "fail-on",
    "trial-link",
    "no-device-code",
    "ignore",
    "other",
)
IGNORE = st.dictionaries(st.sampled_from(["rule", "path", "target", "reason", "expires"]), VALUES)


@given(
    audit=st.dictionaries(
        st.sampled_from(KEYS), VALUES | st.lists(IGNORE | st.just({"rule": "PTX-06"}), max_size=2)
    )
)
def test_any_value_of_any_key_is_read_or_told(
    audit: dict[str, object], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = written(tmp_path_factory.mktemp("policy"), TARGETS)
    tables = {**tomllib.loads(TARGETS), "audit": audit}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ltocompat.targets.text_file.read_toml", lambda *_: tables)
        text = path
        try:
            read_policy(path, TODAY)
        except UsageError as error:
            text = str(error)
    assert text.startswith(path)
