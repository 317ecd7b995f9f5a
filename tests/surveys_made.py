"""Surveys made for tests: of wheels with device code of the samples, and with none."""

from __future__ import annotations

from pathlib import Path

from packages_made import CUBIN_12_4, CUBIN_13_5, LTOIR_12_4, LTOIR_13_5, wheel
from samples import FOLDER

from ltocompat.commands.survey.options import RunOptions
from ltocompat.commands.survey.run import Tally, run

PTX = (FOLDER / "ptx" / "nvrtc-13.5-compute_80.ptx").read_bytes()
FATBIN = (FOLDER / "fatbin" / "nvfatbin-13.5-sm_90a.fatbin").read_bytes()
ARM = "py3-none-manylinux_2_28_aarch64"
WINDOWS = "cp311-cp311-win_amd64"


def packages(folder: Path) -> Path:
    """Ten wheels, among them one that is broken."""
    folder.mkdir(parents=True, exist_ok=True)
    wheel(folder, {"k/x.cubin": CUBIN_12_4}, name="only-sass", version="1.0")
    wheel(folder, {"k/x.cubin": CUBIN_13_5}, name="only-sass", version="2.0")
    wheel(folder, {"k/x.ptx": PTX}, name="only-ptx", version="1.0")
    wheel(folder, {"k/x.fatbin": FATBIN}, name="hopper", version="1.0")
    wheel(folder, {"k/x.cubin": CUBIN_12_4}, name="arm", version="1.0", tag=ARM)
    wheel(folder, {"k/x.cubin": CUBIN_12_4}, name="windows", version="1.0", tag=WINDOWS)
    pins = ["nvidia-nvjitlink-cu12>=12.0"]
    wheel(folder, {"k/x.ltoir": LTOIR_12_4}, pins, name="linked", version="1.0")
    pins = ["nvidia-nvjitlink>=13.0"]
    wheel(folder, {"k/x.ltoir": LTOIR_13_5}, pins, name="linked", version="2.0", extras=["fast"])
    wheel(folder, {"pure/__init__.py": b""}, ["numpy>=2"], name="pure", version="1.0")
    (folder / "broken-1.0-py3-none-any.whl").write_bytes(b"PK\x03\x04 and then nothing")
    return folder


def example(folder: Path) -> Path:
    """The dataset of a survey of these wheels."""
    packages(folder / "packages")
    survey(folder / "packages", folder / "survey")
    return folder / "survey"


def survey(source: Path, folder: Path, *targets: str, append: bool = False) -> Tally:
    """Survey a folder; what was done."""
    options = RunOptions((str(source),), str(folder), targets, jobs=1, append=append)
    (tally,) = (record for record in run(options) if isinstance(record, Tally))
    return tally
