"""Files of packages that their users don't run: they decide nothing of what is judged."""

from __future__ import annotations

from collections.abc import Iterable

_TESTS = frozenset({"test", "tests"})
# NVIDIA's, for links that others make: on Linux and Windows (CUDA 12.0 to 13.5).
_DEVICE_RUNTIME = frozenset({"libcudadevrt.a", "cudadevrt.lib"})


def among_tests(folders: Iterable[str]) -> bool:
    """Whether one of these names of folders is that of a package's own tests."""
    return not _TESTS.isdisjoint(folders)


def is_device_runtime(name: str) -> bool:
    """Whether this is the name of NVIDIA's archive of device runtime functions."""
    return name.lower() in _DEVICE_RUNTIME
