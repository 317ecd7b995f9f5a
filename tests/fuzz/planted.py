"""Twenty mistakes of somebody who did not write the fuzzer, for ``put_back.py --planted``.

A place that can't be read is dropped, an image is lost, a damaged file gets a better verdict, a
loop is slow or has no bound, a file stays open.
"""

from __future__ import annotations

from fuzz.mistakes import Bug, bug

_TAR, _ZIP, _AR = (f"files/archives/{name}.py" for name in ("tar", "zip", "archive"))
_WALK, _LAYERS = "files/fatbin/walk.py", "files/archives/container_image.py"

PLANTED: tuple[Bug, ...] = (
    bug(
        "a tar may end behind any file",
        "told",
        _TAR,
        "        if not block and self._may_end:\n",
        "        if not block:\n",
    ),
    bug(
        "bytes behind the end of a tar are not told",
        "told",
        _TAR,
        "    if other:\n        reason = f",
        "    if other < 0:\n        reason = f",
    ),
    bug(
        "a sparse file of a tar is passed over",
        "tar",
        _TAR,
        "    while more:\n",
        "    while more or header.sparse:\n",
    ),
    bug(
        "a zip may have fewer members than its end says",
        "told",
        _ZIP,
        "        if count & 0xFFFF != end.members & 0xFFFF:\n",
        "        if count & 0xFFFF > end.members & 0xFFFF:\n",
    ),
    bug(
        "bytes of a zip that belong to no member are not told",
        "told",
        _ZIP,
        "            if start - position > _SMALL_GAP and not is_zero(",
        "            if start - position > 1 << 30 and not is_zero(",
    ),
    bug(
        "a member of a zip that can't be unpacked is left out",
        "told",
        _ZIP,
        "            yield Skipped(place, str(error), entry.packed, error.limit)\n",
        "            del error\n",
    ),
    bug(
        "a member of an archive of objects that is cut is as long as it is",
        "told",
        _AR,
        "            yield Skipped(place.member(name), reason, view.size - data)\n",
        "            del reason\n",
    ),
    bug(
        "members of an archive stand at odd places",
        "packed",
        _AR,
        "        position = end + end % 2\n",
        "        position = end + end % 4\n",
    ),
    bug(
        "a cubin in a host file that can't be read is passed over",
        "told",
        _WALK,
        "            if whole and hit.needle != ZSTD_MAGIC:\n",
        "            if whole and hit.needle == ZSTD_MAGIC:\n",
    ),
    bug(
        "an image that can't be described is told by its entry alone",
        "told",
        "scan/describe.py",
        "        unread = Skipped(stored.entry.place, str(error), "
        "stored.entry.stored_size, error.limit)\n",
        "        unread = None\n",
    ),
    bug(
        "an image may be for another GPU than its entry says",
        "told",
        "scan/describe.py",
        "    if len(numbers) > 1 and numbers != _SM_110:\n",
        "    if len(numbers) > 2:\n",
    ),
    bug(
        "an image may have fewer bytes than it says",
        "told",
        "files/codec.py",
        "    if len(data) != declared:\n",
        "    if len(data) > declared:\n",
    ),
    bug(
        "a directory of images that ends early",
        "fatbin",
        "files/fatbin/region.py",
        '        if len(header) < _ENTRY.size:\n            raise Malformed(f"the directory',
        '        if not header:\n            raise Malformed(f"the directory',
    ),
    bug(
        "comments of PTX are looked through again for each kernel",
        "ptx",
        "files/images/ptx.py",
        "            behind = at + 1\n",
        "            behind = 0\n",
    ),
    bug(
        "a section that reaches outside of a library is clipped",
        "told",
        "files/objects/structure.py",
        "    if inside < size:\n        problems.append(",
        "    if inside < size:\n        (lambda _: None)(",
    ),
    bug(
        "a library without sections may end in a segment",
        "told",
        "files/objects/elf.py",
        "file_size < size and not self.headers:\n",
        "file_size < size and self.headers:\n",
    ),
    bug(
        "a layer that an archive lacks is not missed",
        "told",
        _LAYERS,
        '            yield Skipped(place, "the image needs this layer, which is missing")\n',
        "            del place\n",
    ),
    bug(
        "a layer may have another digest than its name",
        "told",
        _LAYERS,
        "    if found != match[1]:\n",
        "    if not found:\n",
    ),
    bug(
        "a PE file that is cut in front of its header",
        "told",
        "scan/walk.py",
        "            elif lost_pe_header(view, place.innermost):\n",
        "            elif lost_pe_header(view, place.innermost) and view.size < 0:\n",
    ),
    bug(
        "the table of names of a library may be anything",
        "told",
        "files/objects/elf.py",
        " or rows[index][_KIND] != layout.SHT_STRTAB:\n",
        ":\n",
    ),
)

# Ten more of the same kinds, written down before the fuzzer was made better for the others. Places
# that are not told, and the file that stays open, were drawn by dice from all there are.
FRESH: tuple[Bug, ...] = (
    bug(
        "a folder of a package whose name leads out",
        "told",
        "files/archives/member.py",
        "            yield Skipped(self.place.member(name[:_LONGEST]), _LEADS_OUT)\n",
        "            yield from ()\n",
    ),
    bug(
        "a damaged ELF header is that of another file",
        "told",
        "scan/walk.py",
        '                yield Skipped(place, "its ELF header is truncated or damaged", view.size)'
        "\n",
        "                pass\n",
    ),
    bug(
        "wrappers that can't be followed are passed over",
        "told",
        "files/objects/wrappers.py",
        "    if lost:\n",
        "    if lost < 0:\n",
    ),
    bug(
        "tables of a host file that can't be read are not told",
        "told",
        "files/objects/structure.py",
        '        problems.append(f"{what} cannot be read: {error}")\n',
        "        del error\n",
    ),
    bug(
        "a compressed file ends with its first stream",
        "packed",
        "files/archives/unpacking.py",
        "        if magic is None or not _skip_zeros(source, budget):\n",
        "        if magic is None or source.left >= 0:\n",
    ),
    bug(
        "a file of a layer that a hard link alone shows is lost",
        "packed",
        _LAYERS,
        "                links.setdefault(file, self.kept.keep(name))\n",
        "                self.kept.keep(name)\n",
    ),
    bug(
        "PTX that is cut is as good as whole",
        "told",
        "files/images/ptx.py",
        '        PtxFlaw.CUT: b"\\0" in text or _is_cut(code[:-1]),\n',
        "        PtxFlaw.CUT: False,\n",
    ),
    bug(
        "bytes that can't be read are forgotten beside a verdict",
        "damage",
        "rules/engine/artifact_findings.py",
        "    if summary.skipped_count:  #",
        "    if summary.skipped_count and not judged:  #",
    ),
    bug(
        "a file beside a thin archive stays open",
        "packed",
        "files/regular.py",
        "    def __del__(self) -> None:\n        os.close(self._own)\n",
        "",
    ),
    bug(
        "every library that another needs is read, however many",
        "elf",
        "files/objects/elf.py",
        "        return map(self._text, self.budget.timed(offsets, slow=True))\n",
        "        return map(self._text, offsets)\n",
    ),
)

# Ten by a third author, two of each kind, whose sums were written down before anything of the
# fuzzer was read.
THIRD: tuple[Bug, ...] = (
    bug(
        "an archive of objects may end in less than a header",
        "told",
        _AR,
        "    while position < view.size:\n        budget.check_time()\n        try:\n",
        "    while position + _HEADER_SIZE <= view.size:\n        budget.check_time()\n"
        "        try:\n",
    ),
    bug(
        "a config of an image may have another digest than its name",
        "told",
        _LAYERS,
        "        self.unread += _false_digest(layer, self._place.member(name), self._budget)\n",
        "        del layer\n",
    ),
    bug(
        "a magic that two windows of the scan share is not found",
        "moved",
        _WALK,
        "self._view.peek(start, _WINDOW + _OVERLAP)",
        "self._view.peek(start, _WINDOW)",
    ),
    bug(
        "a member of a zip with the name of a folder is none",
        "told",
        _ZIP,
        '        if name.endswith("/") and not entry.unpacked:\n',
        '        if name.endswith("/"):\n',
    ),
    bug(
        "a cubin may be for another GPU of the generation that its entry says",
        "told",
        "scan/describe.py",
        "    if entry_arch and entry_arch.number != header.arch.number:\n",
        "    if entry_arch and entry_arch.number // 10 != header.arch.number // 10:\n",
    ),
    bug(
        "an image may be of an older version than its entry says",
        "told",
        "scan/describe.py",
        "    if text is not None and text != version:\n",
        "    if text is not None and text < version:\n",
    ),
    bug(
        "what is no regular file is refused and stays open",
        "beside",
        "files/regular.py",
        "        return fd\n    os.close(fd)\n",
        "        return fd\n",
    ),
    bug(
        "of the decoded images at hand the last alone is counted",
        "scales",
        "model/limits.py",
        "            self._size += len(data)\n",
        "            self._size = len(data)\n",
    ),
    bug(
        "each long name of an archive copies the names behind it",
        "scales",
        _AR,
        'names[offset : offset + 4096].partition(b"\\n")[0]',
        'names[offset:].partition(b"\\n")[0]',
    ),
    bug(
        "the line of each kernel of PTX is looked for from the start",
        "scales",
        "files/images/ptx.py",
        'line = text.rfind(b"\\n", behind, at) + 1',
        'line = text.rfind(b"\\n", 0, at) + 1',
    ),
)
