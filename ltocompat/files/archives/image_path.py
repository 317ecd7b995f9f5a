"""Paths of container images: ``image.tar``, or ``image.tar:linux/arm64`` where it has several."""

from __future__ import annotations

import errno
import os
import re

from ltocompat.files.archives.compressed import plain_image
from ltocompat.files.archives.container_image import (
    ContainerImage,
    archive_of,
    images_in,
    platform_of,
)
from ltocompat.files.archives.layout_folder import is_layout, view_of_layout
from ltocompat.files.byteview import ByteView
from ltocompat.files.regular import OpenedFile, open_regular
from ltocompat.model.errors import UsageError
from ltocompat.model.limits import DEFAULT_LIMITS, Budget, Limits
from ltocompat.model.location import Location

# nginx:latest, ghcr.io/owner/app:1.2, app@sha256:...: a name, and a tag or a digest.
_REFERENCE = re.compile(r"[a-z0-9][a-z0-9._/:-]{0,254}(?::\w[\w.-]{0,127}|@sha256:[0-9a-f]{64})")


def how_to_save(path: str) -> str:
    """Return how to save the image that a path names in a registry; empty for other paths."""
    if os.path.lexists(archive_of(path)) or not _REFERENCE.fullmatch(path):
        return ""
    docker, skopeo = f"save -o image.tar {path}", f"docker://{path} docker-archive:image.tar"
    return (
        f"; if it is a container image, save it, then name image.tar: docker {docker} "
        f"(or podman {docker}; or skopeo copy {skopeo})"
    )


def view_of(path: str, limits: Limits) -> ByteView:
    """Open the bytes of a regular file, or of a layout as one archive.

    Raises:
        OSError: there is no such file, or it can't be read.
        ValueError: no file can have this path.
    """
    archive = archive_of(path)
    if is_layout(archive):
        return view_of_layout(archive, limits)
    return ByteView(OpenedFile(open_regular(archive)))


def image_view(path: str, limits: Limits) -> ByteView | None:
    """Open the bytes of a layout, or of an archive with the image in a path; None for others.

    Raises:
        OSError: the archive can't be read, or has no such image.
    """
    named = archive_of(path) != path
    if not (named or is_layout(path)):
        return None
    view, budget = view_of(path, limits), Budget(limits)
    if named and not images_in(plain_image(view, budget), Location(path), budget):
        raise FileNotFoundError(errno.ENOENT, "the archive has no such image", path)
    return view


def image_paths(place: Location, limits: Limits) -> list[Location]:
    """Return the place; for an archive of several images, the path of each image."""
    images = _images(place.path, limits)
    if len(images) < 2 or not place.is_file:
        return [place]
    return [Location(f"{place.path}:{image.name}") for image in images]


def of_platform(path: str, platform: str, *, or_file: bool = False) -> str:
    """Return the path of the image for a platform, ``linux/arm64``; with ``or_file``, of any file.

    Raises:
        UsageError: the path is not an archive of images, or has no single image for that platform.
    """
    images = _images(path, DEFAULT_LIMITS)
    if or_file and not images:
        return path
    has = {image.name: platform_of(image.config) or image.name for image in images}
    fits = [name for name, own in has.items() if f"{own}/".startswith(f"{platform}/")]
    if len(fits) != 1:
        which = ", ".join(has.values()) or "no image"
        raise UsageError(f"{path} has no single image for --platform {platform!r}; it has {which}")
    return f"{path}:{fits[0]}" if len(images) > 1 else path


def _images(path: str, limits: Limits) -> list[ContainerImage]:
    if not (os.path.isfile(path) or is_layout(path)):
        return []
    budget = Budget(limits)
    return images_in(plain_image(view_of(path, limits), budget), Location(path), budget)
