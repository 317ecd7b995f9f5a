"""Write ltocompat/facts/library_results.toml: result codes of NVIDIA's libraries, by name and text.

usage: python measure_result_names.py NVRTC_FOLDER PYNVML_FILE NVPTXCOMPILER_HEADER DATE

NVRTC is asked itself (nvrtcGetErrorString); NVML's names and texts are those of NVIDIA's own
binding, the package nvidia-ml-py; nvPTXCompiler's names are those of its header, in the package
nvidia-cuda-nvcc-cu12.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterator
from pathlib import Path

_ROW = '  {{ number = {}, name = "{}", text = "{}", source = "{}", date = {} }},'
_HEADER = """\
# Result codes of NVRTC (enum nvrtcResult), NVML (enum nvmlReturn_t) and nvPTXCompiler
# (enum nvPTXCompileResult), with their words;
# tests/measure_result_names.py writes this file. Those of nvJitLink are in nvjitlink_results.toml.
"""


def nvrtc(folder: Path, header: str) -> Iterator[tuple[int, str, str]]:
    """Yield the results of an NVRTC: numbers, names, and the words of its header's comments."""
    library = ctypes.CDLL(str(next(folder.rglob("libnvrtc.so.*"))))
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    for name, number in re.findall(r"\b(NVRTC_(?:SUCCESS|ERROR_\w+))\s*=\s*(\d+)", header):
        said = library.nvrtcGetErrorString(int(number)).decode()
        assert said == name, (said, name)
        yield int(number), name, _words(name.removeprefix("NVRTC_").replace("_", " "))


def nvml(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield the results of NVML as its Python binding has them."""
    numbers = dict(re.findall(r"^(NVML_(?:SUCCESS|ERROR_\w+))\s*=\s*(\d+)", source, re.MULTILINE))
    texts = dict(re.findall(r"(NVML_(?:SUCCESS|ERROR_\w+)):\s*\"([^\"]+)\"", source))
    for name, number in numbers.items():
        words = texts.get(name, name.removeprefix("NVML_").replace("_", " "))
        yield int(number), name, _words(words)


def ptx_compiler(header: str) -> Iterator[tuple[int, str, str]]:
    """Yield the results of nvPTXCompiler as its header has them."""
    named = r"\b(NVPTXCOMPILE_(?:SUCCESS|ERROR_\w+))\s*=\s*(\d+)"
    for name, number in re.findall(named, header):
        yield int(number), name, _words(name.removeprefix("NVPTXCOMPILE_").replace("_", " "))


def _words(text: str) -> str:
    return text.lower().removeprefix("error ").rstrip(".")


def main() -> None:
    """Print the table."""
    folder, binding, ptx = map(Path, sys.argv[1:4])
    date = sys.argv[4]
    header = next(folder.rglob("nvrtc.h")).read_text()
    print(_HEADER)
    print("error = [")
    for number, name, text in nvrtc(folder, header):
        print(_ROW.format(number, name, text, "nvrtc.h and nvrtcGetErrorString of 13.5.37", date))
    for number, name, text in nvml(binding.read_text()):
        print(_ROW.format(number, name, text, "nvidia-ml-py 13.615.71", date))
    for number, name, text in ptx_compiler(ptx.read_text()):
        print(_ROW.format(number, name, text, "nvPTXCompiler.h of 12.0.140 and 12.9.86", date))
    print("]")


if __name__ == "__main__":
    main()
