"""The answer of ``env`` on recorded machines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import machines
import pytest
from machines import Recorded
from msgspec.structs import replace
from report_values import valid_json, written
from syrupy.assertion import SnapshotAssertion

from ltocompat.cli import run
from ltocompat.commands.env import Surroundings, env, problems_of, save
from ltocompat.model.errors import LtocompatError
from ltocompat.report import Options
from ltocompat.report.verbs.env import REPORT
from ltocompat.targets import parse
from ltocompat.targets.machine.probe import probe
from ltocompat.targets.machine.save import target_of

MACHINES: tuple[Callable[[Path], Recorded], ...] = (
    machines.plain_driver,
    machines.compat_by_library_path,
    machines.wsl2,
    machines.jetson,
    machines.cuda_container,
    machines.conda,
    machines.two_nvjitlinks,
    machines.stub_first,
    machines.nothing,
)
Captured = pytest.CaptureFixture[str]


def looked_at(make: Callable[[Path], Recorded], root: Path) -> Surroundings:
    found = probe(make(root).machine())
    return Surroundings(found, target_of(found, make.__name__), problems_of(found))


@pytest.mark.parametrize("make", MACHINES, ids=lambda make: make.__name__)
def test_facts_with_sources_then_libraries_then_findings(
    make: Callable[[Path], Recorded], tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    text = written("table", REPORT, [looked_at(make, tmp_path)], Options(width=120))
    assert text.replace(str(tmp_path), "ROOT") == snapshot


def test_a_variable_of_thousands_of_characters_pads_no_row_to_its_length(tmp_path: Path) -> None:
    found = looked_at(machines.nothing, tmp_path)
    long = ("NVIDIA_REQUIRE_CUDA", "cuda>=13.0" + " brand=tesla,driver>=470,driver<471" * 100)
    found = replace(found, environment=replace(found.environment, variables=(long,)))
    lines = written("table", REPORT, [found]).splitlines()
    assert max(map(len, lines)) < 200
    assert "NVIDIA_REQUIRE_CUDA  cuda>=13.0 brand=tesla" in "\n".join(lines)
    assert long[1] in written("json", REPORT, [found])


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_folder_of_a_list_of_folders_is_cut(tmp_path: Path, width: int) -> None:
    """The loader asks them in their order."""
    found = looked_at(machines.nothing, tmp_path)
    listed = ":".join(f"/opt/vendor{number}/cuda/lib64" for number in range(3))
    variables = (("LD_LIBRARY_PATH", listed),)
    found = replace(found, environment=replace(found.environment, variables=variables))
    text = written("table", REPORT, [found], Options(width=width))
    assert listed in "".join(text.split())


@pytest.mark.parametrize("make", MACHINES, ids=lambda make: make.__name__)
def test_json_is_as_its_schema_says(make: Callable[[Path], Recorded], tmp_path: Path) -> None:
    value = valid_json(written("json", REPORT, [looked_at(make, tmp_path)]))
    assert value["schema"] == "ltocompat/env/v1"


def test_a_saved_machine_is_a_deploy_target_again(tmp_path: Path) -> None:
    found = looked_at(machines.plain_driver, tmp_path / "root")
    file = tmp_path / "prod.toml"
    assert save(found, file) == "prod"
    (target,) = parse([str(file)])
    assert target.name == "prod"
    assert target.driver is not None
    assert target.driver.values == found.target.driver.values if found.target.driver else False
    assert target.gpus == found.target.gpus
    with pytest.raises(LtocompatError, match="name a new file"):
        save(found, file)


def test_the_verb_looks_at_another_root(tmp_path: Path, capsys: Captured) -> None:
    machines.plain_driver(tmp_path).machine()
    assert run(["env", "--root", str(tmp_path), "--format", "json"]) in (0, 1)
    value = valid_json(capsys.readouterr().out)
    assert value["environment"]["kernel_driver"]["version"] == "580.95.05"
    assert run(["env", "--root", str(tmp_path / "gone")]) == 2
    assert "give the root of a file system" in capsys.readouterr().err


def test_this_machine_can_be_looked_at(capsys: Captured) -> None:
    assert run(["env"]) in (0, 1)
    assert "kernel driver" in capsys.readouterr().out
    assert env().environment.python
