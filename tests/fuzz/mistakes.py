"""Mistakes that break a law, to be put back: what ``put_back.py`` has the fuzzer find.

Each is a substitution in a file below ``ltocompat``: a text of it, and what a mistake makes of it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bug:
    """A mended bug, or a mistake.

    Attributes:
        name: in the table.
        target: what reads there.
        file: below ``ltocompat``.
        changes: texts of that file, and what they were.
    """

    name: str
    target: str
    file: str
    changes: tuple[tuple[str, str], ...]


def bug(name: str, target: str, file: str, new: str, old: str) -> Bug:
    return Bug(name, target, file, ((new, old),))


_WALK, _ZIP = "files/fatbin/walk.py", "files/archives/zip.py"

MISTAKES = (
    bug(
        "bytes of a fatbin section that belong to no region are not told",
        "damage",
        _WALK,
        "            yield Skipped(self._place.at(offset), reason, size)\n        for",
        "            del reason\n        for",
    ),
    bug(
        "an entry that can't be read is dropped",
        "damage",
        _WALK,
        "                unread.append("
        "Skipped(at, str(error), entry.end - entry.offset, error.limit))\n",
        "                del at, error\n",
    ),
    bug(
        "a region that breaks off is read in part without a word",
        "damage",
        _WALK,
        "        if region.broken is not None:\n            place",
        "        if region.broken is not None and not region:\n            place",
    ),
    bug(
        "bytes behind a cubin in its file are not told",
        "damage",
        _WALK,
        "            return replace(image, entry=replace(image.entry, problems=(problem,)))\n",
        "            return image\n",
    ),
    bug(
        "a cubin whose header is damaged is a file without device code",
        "damage",
        _WALK,
        "            if whole and hit.needle != ZSTD_MAGIC:\n",
        "            if not whole and hit.needle == b'':\n",
    ),
    bug(
        "a wrapper that points at a damaged region is not told",
        "damage",
        _WALK,
        "            if self._accounting.leaves_out(offset):\n",
        "            if offset < 0:\n",
    ),
    bug(
        "wrappers that point at no region are not told",
        "damage",
        "files/objects/wrappers.py",
        "    if astray:\n",
        "    if astray < 0:\n",
    ),
    bug(
        "what a name promises is not looked for",
        "damage",
        "files/archives/promised.py",
        "    return host is not None and not host.machine.isdecimal()\n",
        "    return True\n",
    ),
    bug(
        "the checksum of a member of a zip is not taken",
        "damage",
        _ZIP,
        "            for _ in _checked(chunks(data, 0, data.size, self._budget), entry.crc):\n",
        "            for _ in chunks(data, 0, data.size, self._budget):\n",
    ),
    bug(
        "a zip that can't be read on ends there",
        "damage",
        _ZIP,
        '        yield Skipped(place, f"the archive can\'t be read: {error}", view.size)\n',
        "        return\n",
    ),
    bug(
        "a static library that can't be read on ends there",
        "damage",
        "files/archives/archive.py",
        "            yield Skipped(place, reason, view.size - position)\n",
        "            del reason\n",
    ),
    bug(
        "a stream that is cut is as long as it is",
        "damage",
        "files/archives/compressed.py",
        "        yield Skipped(place, str(error), view.size)\n",
        "        return\n",
    ),
    bug(
        "the fourth image of a region is lost",
        "cuobjdump",
        _WALK,
        "            try:\n                images.add(number, entry)\n",
        "            try:\n                images.add(number, entry) if number != 3 else 0\n",
    ),
    bug(
        "a word of PTX's flaws that was saved is another when it is read",
        "saved",
        "model/image.py",
        '        return words.get(text) or words.get("unknown") or next(iter(cls))\n',
        '        return words.get("unknown") or words.get(text) or next(iter(cls))\n',
    ),
    bug(
        "whether a module is registered is not read back",
        "saved",
        "commands/comparison/saved.py",
        "        module = project(Module, each)\n",
        "        module = project(Module, each, registered=None)\n",
    ),
    bug(
        "SARIF knows warnings and notes alone",
        "formats",
        "report/formats/sarif.py",
        '        "level": str(finding.level),\n',
        '        "level": str(finding.level).replace("error", "warning"),\n',
    ),
    bug(
        "JUnit takes what fails for what passes",
        "formats",
        "report/formats/junit.py",
        "    if Level.ERROR in loud or (",
        "    if Level.NOTE in loud or (",
    ),
    bug(
        "annotations of errors are warnings",
        "formats",
        "report/formats/github.py",
        'Level.ERROR: "error", Level.WARNING',
        'Level.ERROR: "warning", Level.WARNING',
    ),
    bug(
        "a verdict that fails does not end in 1",
        "formats",
        "report/exit_status.py",
        "        self._worst = worst((self._worst, record.counted))\n        self._modules",
        "        self._worst = worst((self._worst, min(record.counted, Verdict.UNKNOWN)))\n"
        "        self._modules",
    ),
    bug(
        "a baseline forgets how many modules fail",
        "known",
        "commands/policy/baseline.py",
        "row.modules, row.asked)",
        "0, row.asked)",
    ),
    bug(
        "a page of an index that nests too deeply",
        "index",
        "packages/index_answers.py",
        'is not {what}", ValueError, RecursionError)',
        'is not {what}", ValueError)',
    ),
    bug(
        "a survey's texts that are none",
        "survey",
        "commands/survey/dataset.py",
        "errors = (OSError, ValueError, KeyError, extra",
        "errors = (OSError, KeyError, extra",
    ),
)
