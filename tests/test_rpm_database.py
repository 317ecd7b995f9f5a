"""The database of rpm in a container image says whose its files are, as rpm itself says."""

from __future__ import annotations

import random
import shutil
import sqlite3
import struct
import subprocess
from pathlib import Path

import pytest
from container_images_made import archive, oci_layout
from packages_made import CUBIN_13_5

from ltocompat import Limits, Skipped, check, inspect
from ltocompat.files.archives.rpm_database import files_in
from ltocompat.files.byteview import ByteView
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import Budget
from ltocompat.model.verdict import Verdict

PACKAGE = Path(__file__).parent / "data" / "rpm" / "acme-w.ufdio.rpm"
HEADER = b"\x8e\xad\xe8\x01\0\0\0\0"
RPM = pytest.mark.skipif(shutil.which("rpmbuild") is None, reason="no rpm")
BY_RPM = "[%{FILENAMES}|%{=NAME} %{=VERSION}-%{=RELEASE} (rpm)\n]"
SPEC = """Name: {name}
Version: {version}
Release: 3.el9
Summary: made here
License: MIT
BuildArch: noarch
%description
Made here.
%install
mkdir -p "%{{buildroot}}/opt/{name}/a b" %{{buildroot}}/usr/lib64
touch "%{{buildroot}}/opt/{name}/a b/é.so" %{{buildroot}}/usr/lib64/lib{name}.so.1
%files
"/opt/{name}/a b"
/usr/lib64/lib{name}.so.1
"""


def database(folder: Path, sql: str = "CREATE TABLE Packages(hnum INTEGER, blob BLOB)") -> bytes:
    """A database as rpm writes it: a header is kept without the magic that it has in a package."""
    header = PACKAGE.read_bytes().rpartition(HEADER)[2]
    entries, size = struct.unpack_from(">II", header)
    header = header[: 8 + 16 * entries + size]
    path = folder / "rpmdb.sqlite"
    with sqlite3.connect(path) as made:
        made.execute("PRAGMA journal_mode = WAL")
        made.execute(sql)
        if "TABLE" in sql:
            made.execute("INSERT INTO Packages VALUES(1, ?)", [header])
    made.close()
    return path.read_bytes()


def files_of(data: bytes) -> list[tuple[str, str]]:
    return list(files_in(ByteView.of(data), Budget(Limits(seconds=5))))


@RPM
@pytest.mark.slow
def test_the_files_of_packages_are_those_that_rpm_names(tmp_path: Path) -> None:
    for name, version in (("one", "1.0"), ("two", "2.0~rc1"), ("three", "3")):
        spec = tmp_path / f"{name}.spec"
        spec.write_text(SPEC.format(name=name, version=version))
        values = f"_rpmdir {tmp_path}/rpms", f"_topdir {tmp_path}", "_build_id_links none"
        words = [word for each in values for word in ("--define", each)]
        build = ["rpmbuild", "-bb", *words, str(spec)]
        subprocess.run(build, check=True, capture_output=True)
    rpm = ["rpm", "--dbpath", str(tmp_path / "db")]
    packages = [*map(str, (tmp_path / "rpms").rglob("*.rpm")), str(PACKAGE)]
    subprocess.run([*rpm, "-i", "--justdb", "--nodeps", "--ignorearch", *packages], check=True)
    listed = subprocess.run([*rpm, "-qa", "--qf", BY_RPM], check=True, capture_output=True)
    expected = [tuple(line.split("|")) for line in listed.stdout.decode().splitlines()]
    data = (tmp_path / "db" / "rpmdb.sqlite").read_bytes()
    assert len(expected) > 10
    assert sorted(files_of(data)) == sorted(expected)


@pytest.mark.parametrize("folder", ["usr/lib/sysimage/rpm", "var/lib/rpm"])
def test_findings_name_the_package_of_rpm(tmp_path: Path, folder: str) -> None:
    file = "usr/lib64/acme/libsaxpy.so.1"
    image = tmp_path / "image.tar"
    files = {file: CUBIN_13_5, f"{folder}/rpmdb.sqlite": database(tmp_path)}
    image.write_bytes(oci_layout([archive(files)]))
    results = check(str(image), "driver=550.54.14,gpu=a100", floors=False)
    origins = [
        each for r in results if r.verdict is Verdict.FAIL for f in r.findings for each in f.origins
    ]
    assert {(each.path, each.distribution) for each in origins} == {
        (f"/{file}", "libacme 1.0-1 (rpm)")
    }


def test_a_broken_database_is_told_and_hides_nothing(tmp_path: Path) -> None:
    image = tmp_path / "image.tar"
    files = {"usr/lib/sysimage/rpm/rpmdb.sqlite": database(tmp_path)[:5000], "x.cubin": CUBIN_13_5}
    image.write_bytes(oci_layout([archive(files)]))
    (skipped,) = (each for each in inspect(str(image)) if isinstance(each, Skipped))
    assert str(skipped.place).endswith("::/usr/lib/sysimage/rpm/rpmdb.sqlite")
    assert "the RPM database can't be read: " in skipped.reason
    (row,) = (r for r in check(str(image), "driver=550.54.14,gpu=a100") if r.gpu)
    assert {each.rule for each in row.findings} == {"IMG-02", "SASS-07"}


ENDLESS = (
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT 1, x AS blob FROM n"
)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (f"CREATE VIEW Packages(hnum, blob) AS {ENDLESS}", "not authorized"),
        ("CREATE VIEW Packages AS SELECT 1, randomblob(1000000000) AS blob", "not authorized"),
        ("CREATE TABLE Other(x)", "no such table"),
        ("CREATE TABLE Packages(hnum, blob AS (zeroblob(1000000000)))", "not authorized|too big"),
    ],
)
def test_a_database_of_a_foreign_schema_ends_in_a_sentence(
    tmp_path: Path, sql: str, reason: str
) -> None:
    path = tmp_path / "x.sqlite"
    with sqlite3.connect(path) as made:
        made.execute(sql)
        if "AS (" in sql and "TABLE" in sql:
            made.execute("INSERT INTO Packages VALUES(1)")
    made.close()
    with pytest.raises(Malformed, match=reason):
        files_of(path.read_bytes())


def test_changed_bytes_give_files_or_a_sentence(tmp_path: Path) -> None:
    data, dice = database(tmp_path), random.Random(7)  # noqa: S311 - not for secrets
    broken = 0
    for _ in range(400):
        changed = bytearray(data)
        for _ in range(dice.choice((1, 8, 64))):
            changed[dice.randrange(len(data))] = dice.randrange(256)
        try:
            files_of(bytes(changed)[: dice.choice((len(data), dice.randrange(len(data))))])
        except Malformed:
            broken += 1
    assert 20 < broken < 400
