"""What a project promises: read with errors that name file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from ltocompat.model.arch import Release
from ltocompat.model.errors import UsageError
from ltocompat.packages.promise import read_promise

WHOLE = """
[promise]
sass = ["sm_80", "90a", 100]
ptx = ["compute_90"]
driver = "525.60.13"
nvjitlink = "12.4"
"""


def test_a_promise_has_architectures_a_driver_and_a_linker(tmp_path: Path) -> None:
    file = tmp_path / "ltocompat.toml"
    file.write_text(WHOLE)
    found = read_promise(str(file))
    assert found is not None
    assert [str(arch) for arch in found.sass] == ["sm_80", "sm_90a", "sm_100"]
    assert [str(each_arch) for each_arch in found.ptx] == ["compute_90"]
    assert str(found.driver) == "525.60.13"
    assert found.nvjitlink == Release(12, 4)
    assert found.source == str(file)


def test_a_branch_is_its_first_production_release(tmp_path: Path) -> None:
    file = tmp_path / "ltocompat.toml"
    file.write_text('[promise]\ndriver = "550"')
    found = read_promise(str(file))
    assert found is not None
    assert str(found.driver) == "550.54.14"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[promise]\nsas = ["sm_80"]', r"\[promise\] has no key 'sas'; did you mean sass\?"),
        ("[promise]\ncolour = 1", "no key 'colour'; known are sass, ptx, driver, nvjitlink"),
        ('[promise]\nsass = "sm_80"', 'sass in .promise. is not a list; write sass = ."sm_80"'),
        ('[promise]\nsass = ["hopper"]', "sass in .promise.: 'hopper' is not an architecture"),
        ("[promise]\nsass = [true]", "sass in .promise.: True is not an architecture"),
        ('[promise]\nsass = ["compute_80"]', "sass in .promise. takes no compute_80"),
        ('[promise]\nptx = ["sm_80"]', "ptx in .promise. takes no sm_80"),
        ("[promise]\ndriver = 525.60", "driver in .promise. is 525.6, which is no driver"),
        ('[promise]\ndriver = "new"', "driver in .promise. is 'new', which is no driver"),
        ("[promise]\nnvjitlink = 12.1", "nvjitlink in .promise. is 12.1, which is no release"),
        ('promise = "all"', "promise is not a table"),
        ("[promise", "is not a TOML file"),
    ],
)
def test_mistakes_name_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "ltocompat.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=said) as caught:
        read_promise(str(file))
    assert str(caught.value).startswith(str(file))
