"""A second ``ltocompat audit`` with trial links, beside the first of the same unchanged packages.

Run by hand: python tests/benchmarks/second_audit.py
The first run asks nvJitLinks (ltocompat linkers install nvjitlink=all comes first). The second
finds its answers and its summaries again. The third is a second run after ltocompat itself was
updated: summaries are read anew, the nvJitLinks' answers are still there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "wild"))

import wheels

PACKAGES = (
    ("nvidia-cusparse==12.9.4.2", "nvidia/cu13/lib/libcusparse.so.12"),
    ("libcuvs-cu13==26.10.0", "libcuvs/lib64/libcuvs.so"),
)
POLICY = """
[targets.prod]
driver = "580.95.05"
nvjitlink = "13.3"
gpu = ["h100", "l4"]
[targets.edge]
driver = "535"
nvjitlink = "13.0"
gpu = "a100"
[audit]
trial-link = true
"""
WANTED = 5.0


def main() -> None:
    paths = [
        str(next(wheels.member(*package).parents[_depth(package[1])].glob("*.whl")))
        for package in PACKAGES
    ]
    with tempfile.TemporaryDirectory() as folder:
        policy = Path(folder) / "ltocompat.toml"
        policy.write_text(POLICY, "utf-8")
        cache = Path(folder) / "cache"
        _lend_linkers(cache)
        environ = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        first, text = _audit(paths, policy, environ)
        second, again = _audit(paths, policy, environ)
        shutil.rmtree(next((cache / "ltocompat").glob("summaries-*")))
        updated, _ = _audit(paths, policy, environ)
    assert text == again, "the second audit says something else"
    print(f"first  {first:6.2f} s")
    print(f"second {second:6.2f} s: {first / second:.1f} times as fast")
    print(f"       {updated:6.2f} s after an update: {first / updated:.1f} times as fast")
    assert first >= WANTED * second


def _depth(member: str) -> int:
    return member.count("/")


def _lend_linkers(cache: Path) -> None:
    """The user's nvJitLinks in a cache that is otherwise empty."""
    base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    (cache / "ltocompat").mkdir(parents=True)
    (cache / "ltocompat" / "nvjitlink").symlink_to(base / "ltocompat" / "nvjitlink")


def _audit(paths: list[str], policy: Path, environ: dict[str, str]) -> tuple[float, str]:
    command = [sys.executable, "-m", "ltocompat", "audit", *paths, "--config", str(policy)]
    start = time.monotonic()
    done = subprocess.run(
        [*command, "--format", "json"], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return time.monotonic() - start, done.stdout


if __name__ == "__main__":
    main()
