"""The house itself: imports run one way, rooms stay small, facts have sources."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


def test_a_bare_fatbin_loads_no_reader_of_what_it_is_not() -> None:
    unused = ("files.archives.zip", "files.archives.tar", "files.objects.elf", "targets.linkers")
    code = (
        "import sys; from ltocompat.cli import run\n"
        "run(['check', sys.argv[1], '--deploy-target', 'driver=580.95.05,gpu=h100'])\n"
        f"sys.exit(any('ltocompat.' + name in sys.modules for name in {unused}))"
    )
    fatbin = ROOT / "sample_artifacts/fatbin/nvcc-13.2-none.fatbin"
    subprocess.run([sys.executable, "-c", code, fatbin], check=True, capture_output=True)
