"""The sessions in the README and in the guide: what is typed, and what must come back."""

from __future__ import annotations

import io
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ltocompat.cli import run
from ltocompat.model.version import PROJECT_URL

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
GUIDE = ROOT / "docs" / "guide.md"
SITE = ROOT / "docs"
GUIDES = tuple(sorted((SITE / "guides").glob("*.md")))
PAGES = (README, SITE / "index.md", SITE / "start.md", GUIDE, *GUIDES)
CI = ROOT / "docs" / "ci.md"
PICTURE = ROOT / "sample_artifacts" / "matrix.svg"
PAGE_PICTURE = ROOT / "docs" / "page.png"
# What the picture shows; Chromium takes it, where there is one, when the pages are rewritten.
PAGE_COMMAND = [
    "check",
    "sample_artifacts/fatbin/nvcc-13.0-none.fatbin",
    "sample_artifacts/fatbin/nvcc-13.2-none.fatbin",
    "sample_artifacts/fatbin/nvfatbin-13.5-mixed-makers.fatbin",
    "sample_artifacts/fatbin-ltoir/nvfatbin-13.1-of-13.1-lto_80.fatbin",
    "--deploy-target",
    "name=fleet,driver=580.95.05,nvjitlink=13.1,gpu=a100+h100+b200",
    "--deploy-target",
    "name=new,driver=615.10,nvjitlink=13.5,gpu=h100+b200",
]
# A trial asks nvJitLinks, which have to be installed first.
_BLOCK = re.compile(r"^```console( trial)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Session:
    """One command and the output that the README shows; whether it asks nvJitLinks."""

    command: str
    shown: str
    trial: bool

    def output(self) -> str:
        words = shlex.split(self.command)
        assert words[0] == "ltocompat"
        written = io.StringIO()
        with chdir(ROOT), redirect_stdout(written):
            # 1: something was found, 3: something could not be read; both are shown.
            assert run(words[1:]) in (0, 1, 3)
        return written.getvalue()


def policy() -> str:
    """The policy to paste into a pyproject.toml."""
    (found,) = (block for block in _toml() if "[tool.ltocompat" in block)
    return found


def cibuildwheel() -> list[dict[str, list[str]]]:
    """The keys of cibuildwheel to paste beside: without a policy, and with one."""
    found = (block for block in _toml() if "[tool.cibuildwheel" in block)
    return [tomllib.loads(block)["tool"]["cibuildwheel"] for block in found]


def _toml() -> list[str]:
    texts = (page.read_text("utf-8") for page in (README, CI))
    return [block for text in texts for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]


def sessions() -> list[Session]:
    return [session for page in PAGES for session in _sessions_of(page)]


def _sessions_of(page: Path) -> list[Session]:
    found = []
    for trial, block in _BLOCK.findall(page.read_text("utf-8")):
        command, _, shown = block.partition("\n")
        found.append(Session(command.removeprefix("$ "), shown, bool(trial)))
    return found


def picture_address(picture: Path) -> str:
    """Of a picture in the README, which a package index shows, too."""
    return PROJECT_URL + picture.relative_to(ROOT).as_posix()


def draw(path: Path) -> None:
    """The picture in the README: what ``matrix`` says of two samples."""
    inputs = ["fatbin-ltoir/nvfatbin-12.9-of-12.9-lto_80.fatbin", "fatbin/nvcc-13.0-balance.fatbin"]
    with chdir(PICTURE.parent), redirect_stdout(io.StringIO()):
        assert run(["matrix", *inputs, "--svg", str(path)]) == 0


def page(path: Path) -> None:
    """The page of which the README has a picture."""
    with chdir(ROOT), redirect_stdout(io.StringIO()):
        assert run([*PAGE_COMMAND, "--format", f"html={path}"]) == 1


def photograph(page_path: Path) -> None:
    """Take the picture of the page, as it opens."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return
    look = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1000,800"]
    shot = f"--screenshot={PAGE_PICTURE}"
    subprocess.run([chromium, *look, shot, page_path.as_uri()], check=True)


def rewrite(*, trials: bool = True) -> None:
    """Put the present picture, its address and outputs into the pages; read what changed.

    Args:
        trials: also of the commands that ask nvJitLinks, which have to be installed.
    """
    draw(PICTURE)
    with TemporaryDirectory() as folder:
        page(Path(folder) / "page.html")
        photograph(Path(folder) / "page.html")
    for page_path in PAGES:
        text = page_path.read_text("utf-8")
        for session in _sessions_of(page_path):
            if session.trial and not trials:
                continue
            block = f"```console{' trial' if session.trial else ''}\n$ {session.command}\n"
            text = text.replace(f"{block}{session.shown}```", f"{block}{session.output()}```")
        for picture in (PICTURE, PAGE_PICTURE):
            address = f"]({picture_address(picture)})"
            text = re.sub(rf"\]\(\S*/{re.escape(picture.name)}\)", address, text)
        page_path.write_text(text, "utf-8")


if __name__ == "__main__":
    rewrite(trials="--no-trials" not in sys.argv)
