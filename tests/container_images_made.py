"""Container images made for tests, as the tools that people use write them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping, Sequence

import zstandard


def archive(files: Mapping[str, bytes], *, of_folder: bool = False, mtime: float = 0) -> bytes:
    """A tar; ``of_folder``: as of ``tar -C FOLDER .``; a time with a fraction makes pax headers."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        if of_folder:
            top = tarfile.TarInfo("./")
            top.type = tarfile.DIRTYPE
            tar.addfile(top)
        for name, data in files.items():
            info = tarfile.TarInfo(f"./{name}" if of_folder else name)
            info.size, info.mtime = len(data), mtime
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


PACKED: tuple[Callable[[bytes], bytes], ...] = (bytes, gzip.compress, zstandard.compress)


def layer_of(files: Mapping[str, bytes]) -> bytes:
    """A layer with files alone; ``.wh.x`` removes x."""
    return archive(files)


def oci_layout(layers: Sequence[bytes], config: Mapping[str, object] | None = None) -> bytes:
    """As buildx and skopeo write it: an index in an index, and an attestation beside the image."""
    files: dict[str, bytes] = {}

    def blob(data: bytes) -> dict[str, object]:
        digest = hashlib.sha256(data).hexdigest()
        files[f"blobs/sha256/{digest}"] = data
        return {"digest": f"sha256:{digest}", "size": len(data)}

    def manifest(**parts: object) -> dict[str, object]:
        return blob(json.dumps({"schemaVersion": 2} | parts).encode())

    packed = [blob(PACKED[n % len(PACKED)](layer)) for n, layer in enumerate(layers)]
    of_image = blob(json.dumps(config or {"os": "linux", "architecture": "amd64"}).encode())
    image = manifest(config=of_image, layers=packed)
    attested = manifest(config=blob(b"{}"), layers=[blob(b'{"predicate": 1}')])
    attested["platform"] = {"os": "unknown", "architecture": "unknown"}
    inner = manifest(manifests=[image, attested])
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [inner]}).encode()
    files["oci-layout"] = b'{"imageLayoutVersion": "1.0.0"}'
    return archive(files)


def docker_archive(
    layers: Sequence[bytes], layer: str = "{:064x}/layer.tar", config: str = f"{99:064x}.json"
) -> bytes:
    """As docker wrote it up to 24; with other names of its files: as other tools write it."""
    files = {layer.format(n): data for n, data in enumerate(layers)}
    entry = {"Config": config, "RepoTags": ["app:1"], "Layers": list(files)}
    files |= {config: b"{}", "manifest.json": json.dumps([entry]).encode()}
    return archive(files)
