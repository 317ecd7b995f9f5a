"""The house itself: imports run one way, rooms stay small, facts have sources."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from every_case import every

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "ltocompat"
MODULES = sorted(PACKAGE.rglob("*.py"))


def test_every_fact_has_a_source_and_a_date() -> None:
    import tomllib

    for path in sorted((PACKAGE / "facts").glob("*.toml")):
        with path.open("rb") as file:
            tables = tomllib.load(file)
        for rows in tables.values():
            assert all(row["source"] and row["date"] for row in rows), path


UNUSED = {
    "check": "files.archives.zip files.archives.folder files.objects.elf files.output "
    "targets.linkers scan.variants scan.shipped_linker commands.trials",
    "inspect": "files.archives.zip files.objects.elf files.output packages "
    "commands.check commands.trials scan.variants rules.engine.judge_module",
}
MOST = {"check": 152, "inspect": 111}
"""Modules of the package that a verdict on a bare fatbin, or its list, may import."""


@every("verb", MOST)
def test_a_bare_fatbin_loads_no_reader_of_what_it_is_not(verb: str) -> None:
    code = (
        "import sys; from ltocompat.cli import run\n"
        "run(sys.argv[1:])\n"
        "print(*(m for m in sys.modules if m.split('.')[0] == 'ltocompat'), file=sys.stderr)"
    )
    fatbin = str(ROOT / "sample_artifacts/fatbin/nvcc-13.2-none.fatbin")
    target = ("--deploy-target", "driver=580.95.05,gpu=h100") if verb == "check" else ()
    command = [sys.executable, "-c", code, verb, fatbin, *target]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stderr.split()
    assert not {f"ltocompat.{name}" for name in UNUSED[verb].split()} & {*loaded}
    assert len(loaded) <= MOST[verb]
