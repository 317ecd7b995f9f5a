"""The largest inputs tried for each limit, with the time and memory that they took: docs/limits.md.

Run by hand, as root on Linux: python tests/benchmarks/limits.py [WORD ...] [--write]
WORD: only the rows with it in their name. --write: the page is written anew, with all rows.
Every input is made here, some of them of gigabytes in the folder for temporary files. Each row is
one run of the command line.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from fatbin_writer import KINDS, EntrySpec, entry
from package_writer import TAR_END, tar_header, zip_of, zstd
from quines import gzip_quine, tar_gz_quine, zip_quine
from samples import FOLDER

PAGE = Path(__file__).parents[2] / "docs" / "limits.md"
BEGIN, END = "<!-- measured -->", "<!-- end -->"
FATBIN = FOLDER / "fatbin" / "nvfatbin-13.5-default.fatbin"
TARGET = "driver=550,gpu=h100"
PLAIN = (1,)
"""The exit code of the check that the last rows are measured with, without what they take away."""
MIB = 1 << 20


class Row(NamedTuple):
    """One input.

    Attributes:
        what: it, in a few words.
        limit: the field of ``Limits`` that ends it, or what else holds.
        make: makes it in an empty folder, and gives the words of the command line.
        around: a line of the shell around ``COMMAND``.
        codes: exit codes that are right.
    """

    what: str
    limit: str
    make: Callable[[Path], list[str]]
    around: str = "COMMAND"
    codes: tuple[int, ...] = (0, 3)


def _file(folder: Path, name: str, *parts: bytes) -> list[str]:
    with (folder / name).open("wb") as file:
        file.writelines(parts)
    return ["inspect", str(folder / name)]


def zip_of_members(folder: Path, count: int) -> list[str]:
    heads, rows = [], []
    for number in range(count):
        name = b"%07d" % number
        fields = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 0x21, 0, 0, 0, len(name), 0)
        rows.append(
            b"PK\1\2\x14\0" + fields + struct.pack("<HHHII", 0, 0, 0, 0, 37 * number) + name
        )
        heads.append(b"PK\3\4" + fields + name)
    body, directory = b"".join(heads), b"".join(rows)
    counts = (count & 0xFFFF, count & 0xFFFF, len(directory), len(body), 0)
    return _file(
        folder, "x.zip", body, directory, struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, *counts)
    )


def tar_of_members(folder: Path, count: int) -> list[str]:
    block = tar_header(b"x.txt", 0)
    return _file(folder, "x.tar", block * count, TAR_END)


def tiny_images(folder: Path, count: int, region: int) -> list[str]:
    one = entry(EntrySpec(KINDS["ptx"], b".version 8.4\n.target sm_80\n"))
    whole = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(one) * region) + one * region
    with (folder / "x.fatbin").open("wb") as file:
        for _ in range(count // region):
            file.write(whole)
    return ["inspect", str(folder / "x.fatbin")]


def nested(folder: Path, depth: int) -> list[str]:
    data = FATBIN.read_bytes()
    for number in range(depth):
        data = zip_of(("x.zip", data)) if number % 2 else zstd(data)
    return _file(folder, "x.zip", data)


def bomb(folder: Path, size: int) -> list[str]:
    with (
        zipfile.ZipFile(folder / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("x.fatbin", "w", force_zip64=True) as member,
    ):
        for _ in range(size // MIB):
            member.write(bytes(MIB))
    return ["inspect", str(folder / "x.zip")]


def large_image(folder: Path, kind: str, size: int) -> list[str]:
    text = b".version 8.4\n.target sm_80\n" + os.urandom(4096) * (size // 4096)
    one = entry(EntrySpec(KINDS["ptx"], text, compression=kind))
    head = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(one))
    return [*_file(folder, "x.fatbin", head, one), "--kernels"]


def sparse(folder: Path, size: int) -> list[str]:
    with (folder / "x.bin").open("wb") as file:
        file.truncate(size)
    return ["inspect", str(folder / "x.bin")]


def folders(folder: Path, count: int) -> list[str]:
    for number in range(count):
        (folder / f"{number % 500}" / f"{number}").mkdir(parents=True)
    return ["inspect", str(folder)]


def lock(folder: Path, name: str, unit: bytes, size: int) -> list[str]:
    head = b'lock-version = "1.0"\n' if name.endswith(".toml") else b""
    (folder / name).write_bytes(head + unit * ((size - len(head)) // len(unit)))
    return ["check", str(FATBIN), "--deploy-target", f"lock={folder / name},gpu=h100"]


def plain(folder: Path) -> list[str]:
    del folder
    return ["check", str(FATBIN), "--deploy-target", TARGET]


def _after_one_run(folder: Path, change: Callable[[Path], None]) -> list[str]:
    """The same once more, after what the first run kept was changed."""
    cache = folder / "cache"
    (folder / "x.fatbin").write_bytes(FATBIN.read_bytes() * 200)
    words = ["check", str(folder / "x.fatbin"), "--deploy-target", TARGET]
    places = {**os.environ, "XDG_CACHE_HOME": str(cache), "XDG_STATE_HOME": str(folder / "state")}
    command = [sys.executable, "-m", "ltocompat", *words]
    subprocess.run(command, env=places, capture_output=True, check=False)
    for path in folder.rglob("*"):
        change(path)
    return words


def skewed(folder: Path) -> list[str]:
    def to_the_year_2200(path: Path) -> None:
        os.utime(path, (7_258_118_400, 7_258_118_400))

    return _after_one_run(folder, to_the_year_2200)


def of_a_newer_version(folder: Path) -> list[str]:
    def other_bytes(path: Path) -> None:
        if path.is_file() and "cache" in path.parts:
            path.write_bytes(b"ltocompat 99.0\n" + path.read_bytes()[::-1])

    return _after_one_run(folder, other_bytes)


_PROC = "unshare -m sh -c 'mount -t tmpfs none /proc && exec \"$@\"' - COMMAND"
_READ_ONLY = (
    "unshare -m sh -c 'for f in / /tmp /var/tmp /dev/shm; do mount --bind $f $f && "
    'mount -o remount,ro,bind $f; done; exec "$@"\' - '
    "env HOME=/proc/none XDG_CACHE_HOME=/proc/none XDG_STATE_HOME=/proc/none COMMAND"
)
_SMALL = (
    "unshare -m sh -c 'mount -t tmpfs -o size=64m none /mnt; "
    'head -c 17179869184 /dev/zero | TMPDIR=/mnt "$@"\' - COMMAND'
)
_FORKLESS = """
import runpy, sys
from ltocompat.trial import sandbox
assert sandbox.refuse(("fork", "vfork", "clone", "clone3"), {})
sys.argv[1:3] = []
runpy.run_module("ltocompat", run_name="__main__", alter_sys=True)
"""
_NO_FORK = f"{shlex.quote(sys.executable)} -c {shlex.quote(_FORKLESS)} ARGUMENTS"
_AGAIN = "env XDG_CACHE_HOME=FOLDER/cache XDG_STATE_HOME=FOLDER/state COMMAND"
_CLOSED = "sh -c 'exec \"$@\" {}' - COMMAND"

ROWS = (
    Row("a zip of 200,000 members", "`members`", lambda f: zip_of_members(f, 200_000)),
    Row("a zip of 1,000,000 members", "`members`", lambda f: zip_of_members(f, 1_000_000)),
    Row("a tar of 1,000,000 members", "`members`", lambda f: tar_of_members(f, 1_000_000)),
    Row("300,000 empty folders", "`members`", lambda f: folders(f, 300_000)),
    Row("archives nested 1,000 deep", "`depth`", lambda f: nested(f, 1_000)),
    Row("a zip that holds itself", "`depth`", lambda f: _file(f, "x.zip", zip_quine())),
    Row("a gzip stream that holds itself", "`depth`", lambda f: _file(f, "x.gz", gzip_quine())),
    Row("a tar.gz that holds itself", "`depth`", lambda f: _file(f, "x.tar.gz", tar_gz_quine())),
    Row("a zip of 8 GiB of zeros", "`unpacked_ratio`", lambda f: bomb(f, 8 << 30)),
    Row("1,000,000 good images in one region", "`entries`", lambda f: tiny_images(f, 10**6, 10**6)),
    Row("10,000,000 good images", "`seconds`", lambda f: tiny_images(f, 10**7, 10**6)),
    Row(
        "an image of 900 MiB, compressed with Zstandard",
        "`image_ratio`",
        lambda f: large_image(f, "zstd", 900 * MIB),
    ),
    Row(
        "an image of 250 MiB, compressed with LZ4",
        "`window_bytes`",
        lambda f: large_image(f, "lz4", 250 * MIB),
    ),
    Row("a file of 64 GiB of zeros", "`seconds`", lambda f: sparse(f, 64 << 30)),
    Row(
        "16 GiB on standard input, 64 MiB of disk",
        "`spool_bytes`, the disk",
        lambda _: ["inspect", "-"],
        _SMALL,
    ),
    Row(
        "a lock file in TOML, 16 MiB",
        "`tables_bytes`",
        lambda f: lock(f, "pylock.toml", b"[[packages]]\nname = 'x'\n", 16 * MIB),
        codes=(2,),
    ),
    Row(
        "a lock file in YAML, 16 MiB",
        "`tables_bytes`",
        lambda f: lock(f, "pixi.lock", b"- {a: b}\n", 16 * MIB),
        codes=(2,),
    ),
    Row(
        "a requirements.txt of 16 MiB",
        "`tables_bytes`",
        lambda f: lock(f, "requirements.txt", b"a==1.0\n", 16 * MIB),
        codes=(2,),
    ),
    Row("files and caches with dates in the year 2200", "same exit code", skewed, _AGAIN, PLAIN),
    Row("a cache of another version", "same exit code", of_a_newer_version, _AGAIN, PLAIN),
    Row("no /proc", "same exit code", plain, _PROC, PLAIN),
    Row("no process can be started", "same exit code", plain, _NO_FORK, PLAIN),
    Row("nothing can be written", "same exit code", plain, _READ_ONLY, PLAIN),
    Row("standard input closed", "same exit code", plain, _CLOSED.format("<&-"), PLAIN),
    Row(
        "all standard streams closed",
        "same exit code",
        plain,
        _CLOSED.format("<&- >&- 2>&-"),
        PLAIN,
    ),
)


class Measured(NamedTuple):
    """What one run took.

    Attributes:
        code: its exit code.
        seconds: CPU time of it and its children.
        memory: the most that one of its processes had, MiB.
        said: its last sentence.
        answer: all of its answer.
    """

    code: int
    seconds: float
    memory: int
    said: str
    answer: str


def made(row: Row, folder: str) -> list[str]:
    """Make the input in a process of its own: its memory would count as that of the run."""
    script = [sys.executable, __file__, "--make", row.what, folder]
    done = subprocess.run(script, capture_output=True, check=True, text=True)
    return list(json.loads(done.stdout))


def measured(row: Row) -> Measured:
    """Make the input, run, and take the input away."""
    with tempfile.TemporaryDirectory() as name:
        words = made(row, name)
        command = [sys.executable, "-m", "ltocompat", *words, "--quiet"]
        line = row.around.replace("FOLDER", name).replace("COMMAND", shlex.join(command))
        line = line.replace("ARGUMENTS", shlex.join(command[1:]))
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            shell = ["sh", "-c", line]
            child = subprocess.Popen(shell, stdout=out, stderr=err, start_new_session=True)
            ends = time.monotonic() + 1500
            while not (found := os.wait4(child.pid, os.WNOHANG))[0]:
                if time.monotonic() > ends:
                    os.killpg(child.pid, signal.SIGKILL)
                time.sleep(0.05)
            _, status, used = found
            child.returncode = os.waitstatus_to_exitcode(status)
            size = out.seek(0, os.SEEK_END)
            out.seek(max(0, size - 100_000))
            err.seek(0)
            answer = out.read().decode("utf-8", "replace").replace(name, "")
            said = err.read(5000).decode("utf-8", "replace").replace(name, "").strip()
    last = said.splitlines()[-1] if said else ""
    return Measured(
        child.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss >> 10, last, answer
    )


def main(words: list[str]) -> int:
    """Print the rows as a table of Markdown; 1 where one ended in a wrong way."""
    if words[:1] == ["--make"]:
        row = next(row for row in ROWS if row.what == words[1])
        print(json.dumps(row.make(Path(words[2]))))
        return 0
    wanted = [word for word in words if not word.startswith("-")]
    lines = ["| input | limit | exit | CPU s | MiB |", "|---|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    wrong = 0
    for row in ROWS:
        if wanted and not any(word in row.what for word in wanted):
            continue
        found = measured(row)
        lines.append(
            f"| {row.what} | {row.limit} | {found.code} | {found.seconds:.1f} | {found.memory} |"
        )
        print(lines[-1], flush=True)
        print(f"    {found.said[:200]}", file=sys.stderr, flush=True)
        if found.code not in row.codes:
            wrong += 1
            print(f"    WRONG: exit code {found.code}", file=sys.stderr)
    if "--write" in words:
        text = PAGE.read_text("utf-8")
        (before, rest), after = text.split(BEGIN), text.split(END)[1]
        new = {line.split("|")[1]: line for line in (*rest.split(END)[0].splitlines()[2:], *lines)}
        kept = [new[name] for name in (f" {row.what} " for row in ROWS) if name in new]
        table = "\n".join((*lines[:2], *kept))
        PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", "utf-8")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
