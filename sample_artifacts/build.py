"""Makes every sample artifact from our own sources with tools from PyPI, and breaks some of them.

    python sample_artifacts/build.py                     make everything
    python sample_artifacts/build.py --only 'cubin/*'    make some of it
    python sample_artifacts/build.py --check             compare the files with the manifest

What can be in a file is written to MANIFEST.toml from the commands that made it, never by reading
the file. Host parts depend on the machine's g++ and binutils; another version of them changes the
bytes of `objects/`, and the manifest with them.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import os
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from product import Image, Product
from recipes import broken, cubins, fatbins, ltoir, objects
from recipes.recipe import Broken, Sample
from toolchains import PackageCache
from workshop import Workshop

HERE = Path(__file__).parent
MANIFEST = HERE / "MANIFEST.toml"
RECIPES: tuple[Callable[[], Iterator[Sample | Broken]], ...] = (
    ltoir.samples,
    fatbins.samples,
    cubins.samples,
    objects.samples,
    broken.samples,
)
HEADER = """\
# Written by build.py; do not edit.
# What each sample is, how it was made, and which images it must hold (in file order).
"""

Entry = dict[str, Any]


def recipes() -> list[Sample | Broken]:
    """All recipes; the broken ones come after the samples they are made from."""
    return [recipe for samples in RECIPES for recipe in samples()]


def image_table(image: Image) -> Entry:
    """What the manifest says of an image."""
    table: Entry = {
        "kind": image.kind,
        "arch": image.arch,
        "made_by": list(image.made_by),
        "compression": image.compression,
        "debug": image.debug,
    }
    if image.linked_by:
        table["linked_by"] = list(image.linked_by)
    if image.kind == "ltoir":
        table["scrambled"] = image.scrambled
    if image.kind == "sass":
        table["relocatable"] = image.relocatable
    if image.ptx_isa is not None:
        table["ptx_isa"] = image.ptx_isa
    return table


def describe(recipe: Sample | Broken, data: bytes, product: Product | None) -> Entry:
    """The manifest's entry for a file."""
    entry: Entry = {
        "path": recipe.path,
        "sha256": hashlib.sha256(data).hexdigest(),
        "size": len(data),
    }
    if isinstance(recipe, Broken):
        return {**entry, "from": recipe.original, "broken": recipe.how}
    assert product is not None
    return {
        **entry,
        "tool": product.tool,
        "version": product.version,
        "package": product.package,
        "command": " && ".join(product.commands),
        "images": [image_table(image) for image in product.images],
    }


def build(shop: Workshop, recipe: Sample | Broken) -> Entry:
    """Make one file and describe it."""
    product = None
    if isinstance(recipe, Sample):
        product = recipe.make(shop)
        data = product.data
    else:
        data = recipe.edit((HERE / recipe.original).read_bytes())
    path = HERE / recipe.path
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return describe(recipe, data, product)


def read_manifest() -> dict[str, Entry]:
    """The manifest's entries by path."""
    if not MANIFEST.exists():
        return {}
    entries: list[Entry] = tomllib.loads(MANIFEST.read_text()).get("artifact", [])
    return {entry["path"]: entry for entry in entries}


def toml_lines(entry: Entry) -> Iterator[str]:
    """One [[artifact]] of the manifest. JSON's strings, numbers and lists are TOML's too."""
    yield "\n[[artifact]]"
    for key, value in entry.items():
        if key != "images" or not value:
            yield f"{key} = {json.dumps(value)}"
    for image in entry.get("images", []):
        yield "[[artifact.images]]"
        for key, value in image.items():
            yield f"{key} = {json.dumps(value)}"


def write_manifest(entries: dict[str, Entry]) -> None:
    """Write the entries in the order of the recipes, dropping those that have none."""
    ordered = [entries[recipe.path] for recipe in recipes() if recipe.path in entries]
    lines = [HEADER.rstrip("\n"), *(line for entry in ordered for line in toml_lines(entry))]
    MANIFEST.write_text("\n".join(lines) + "\n")


def check() -> list[str]:
    """What differs between the manifest, the recipes and the files; nothing if all is well."""
    entries = read_manifest()
    wanted = {recipe.path for recipe in recipes()}
    problems = [f"{path}: not in the manifest" for path in sorted(wanted - entries.keys())]
    problems += [f"{path}: no recipe makes it" for path in sorted(entries.keys() - wanted)]
    for path, entry in entries.items():
        file = HERE / path
        if not file.exists():
            problems.append(f"{path}: missing")
        elif hashlib.sha256(file.read_bytes()).hexdigest() != entry["sha256"]:
            problems.append(f"{path}: sha256 differs from the manifest")
    return problems


def default_cache() -> Path:
    """Where downloaded packages are kept unless told otherwise."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "ltocompat-samples"


def main() -> int:
    """Parse the command line and do what it says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cache", type=Path, default=default_cache(), help="folder for packages")
    parser.add_argument("--only", default="*", help="make only paths that match this pattern")
    parser.add_argument("--check", action="store_true", help="verify the files; no network")
    options = parser.parse_args()
    if options.check:
        problems = check()
        print("\n".join(problems) or "all samples are as the manifest says")
        return 1 if problems else 0
    shop = Workshop(PackageCache(options.cache.resolve()), HERE / "src")
    entries = read_manifest()
    for recipe in recipes():
        if fnmatch.fnmatch(recipe.path, options.only):
            entries[recipe.path] = build(shop, recipe)
            print(f"{entries[recipe.path]['size']:8} {recipe.path}", flush=True)
    write_manifest(entries)
    return 0


if __name__ == "__main__":
    sys.exit(main())
