"""The package in docs/example is built and gated as its page says."""

import re
import shutil
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest
from samples import FOLDER

from ltocompat.cli import run

EXAMPLE = FOLDER.parent / "docs" / "example"


@pytest.mark.wild
def test_the_example_passes_until_it_promises_a_gpu_too_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "example"
    shutil.copytree(EXAMPLE, project)
    page = (project / "README.md").read_text("utf-8")
    copy, build, audit = re.findall(r"^ {7}(\S.*)$", page, re.MULTILINE)
    assert (build, audit) == ("pip wheel --no-deps -w dist .", "ltocompat audit")
    _, sample, folder = copy.split()
    shutil.copy(EXAMPLE / sample, project / folder)
    subprocess.run([sys.executable, "-m", *build.split()], cwd=project, check=True)
    with chdir(project):
        assert run(audit.split()[1:]) == 0
        assert capsys.readouterr().out.startswith("audit passed")
        policy = project / "pyproject.toml"
        policy.write_text(policy.read_text("utf-8").replace('"l4"]', '"l4", "h100"]'), "utf-8")
        assert run(audit.split()[1:]) == 1
        assert "PTX-01" in capsys.readouterr().out.partition("\n\n")[0]
