"""The sample project ``projects/kernels``: copied, built into a wheel, and changed bit by bit.

The wheel is written as its build backend would (PEP 427), with sums that pip checks.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from package_writer import zip_of
from samples import FOLDER

SOURCE = Path(__file__).parent / "projects" / "kernels"
TAG = "py3-none-manylinux_2_28_x86_64"
CODE = {
    "libaxpy.so": "objects/libsaxpy.so",
    "sm_90.cubin": "cubin/nvrtc-13.0-sm_90.cubin",
    "scale.ltoir": "ltoir/nvrtc-13.2-lto_80.ltoir",
}
"""File of the package -> sample."""


@dataclass(slots=True)
class Project:
    """A copy of the project.

    Attributes:
        folder: where it lies.
        code: file of the package -> sample.
    """

    folder: Path
    code: dict[str, str] = field(default_factory=lambda: dict(CODE))

    @classmethod
    def copy(cls, folder: Path) -> Project:
        shutil.copytree(SOURCE, folder, dirs_exist_ok=True)
        return cls(folder)

    def edit(self, old: str, new: str) -> None:
        """Change its pyproject.toml."""
        path = self.folder / "pyproject.toml"
        text = path.read_text("utf-8")
        assert text.count(old) == 1, old
        path.write_text(text.replace(old, new), "utf-8")

    def build(self, version: str | None = None) -> Path:
        """Build the wheel into dist."""
        value = tomllib.loads((self.folder / "pyproject.toml").read_text("utf-8"))["project"]
        version = version or value["version"]
        members = {
            "kernels/__init__.py": (self.folder / "kernels" / "__init__.py").read_bytes(),
            **{f"kernels/{name}": (FOLDER / text).read_bytes() for name, text in self.code.items()},
            **_metadata(value, version),
        }
        record = f"kernels-{version}.dist-info/RECORD"
        members[record] = _record(members, record)
        dist = self.folder / "dist"
        dist.mkdir(exist_ok=True)
        path = dist / f"kernels-{version}-{TAG}.whl"
        path.write_bytes(zip_of(*members.items()))
        return path


def _metadata(table: Mapping[str, object], version: str) -> dict[str, bytes]:
    requires = table["dependencies"]
    assert isinstance(requires, list)
    lines = ["Metadata-Version: 2.1", "Name: kernels", f"Version: {version}"]
    lines += [f"Requires-Dist: {require}" for require in requires]
    wheel = f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: false\nTag: {TAG}\n"
    folder = f"kernels-{version}.dist-info"
    return {
        f"{folder}/METADATA": "\n".join([*lines, ""]).encode(),
        f"{folder}/WHEEL": wheel.encode(),
    }


def _record(members: Mapping[str, bytes], record: str) -> bytes:
    def line(name: str, data: bytes) -> str:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        return f"{name},sha256={digest},{len(data)}"

    return "\n".join([*(line(*item) for item in members.items()), f"{record},,", ""]).encode()
