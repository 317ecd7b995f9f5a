"""The bench on which samples are made: one tool runs at a time, on named inputs, in a clean folder.

Every tool runs in the same absolute folder with relative paths to everything else, because nvcc
hashes the path of its source into module ids and debug information keeps the working directory.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from product import Image, Member, Product, history, releases, stored
from toolchains import NVCC, NVFATBIN, NVJITLINK, NVRTC, PTX_ISA, PTXAS, PackageCache

BENCH = Path("/tmp/ltocompat-samples")
SOURCE_TIME = (946684800, 946684800)
SHIM = Path(__file__).with_name("shim.py")


class Workshop:
    """Runs the tools. Results are remembered, so that samples may share their intermediates."""

    def __init__(self, cache: PackageCache, sources: Path) -> None:
        self._cache = cache
        self._sources = {path.name: path.read_bytes() for path in sources.iterdir()}
        self._memory: dict[object, bytes] = {}
        shutil.rmtree(BENCH, ignore_errors=True)
        (BENCH / "toolkits").mkdir(parents=True)

    def run(
        self,
        argv: Sequence[str],
        inputs: Mapping[str, bytes],
        output: str,
        environment: Mapping[str, str] | None = None,
    ) -> bytes:
        """Run a command in a folder holding the sources and `inputs`; return the file `output`."""
        key = (tuple(argv), tuple(sorted(inputs.items())), output)
        if key in self._memory:
            return self._memory[key]
        folder = BENCH / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, data in {**self._sources, **inputs}.items():
            (folder / name).write_bytes(data)
            os.utime(folder / name, SOURCE_TIME)  # debug information tells it
        result = subprocess.run(
            argv,
            cwd=folder,
            env={**os.environ, "LC_ALL": "C", "SOURCE_DATE_EPOCH": "0", **(environment or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode != 0:
            raise RuntimeError(f"{shlex.join(argv)}\n{result.stdout}{result.stderr}")
        self._memory[key] = (folder / output).read_bytes()
        return self._memory[key]

    def _library(
        self, package: str, pattern: str, request: Mapping[str, object], inputs: Mapping[str, bytes]
    ) -> bytes:
        """Call a vendor library through the shim."""
        library = self._cache.file(package, pattern)
        # A relative path, so that the request (and what is remembered of it) is free of the cache.
        link = BENCH / "toolkits" / package
        if not link.exists():
            link.symlink_to(library.parent)
        table = {**request, "library": f"../toolkits/{package}/{library.name}"}
        return self.run(
            [sys.executable, str(SHIM), "request.json"],
            {**inputs, "request.json": json.dumps(table).encode()},
            "out",
            {"LD_LIBRARY_PATH": str(library.parent)},
        )

    def nvrtc(self, release: str, source: str, arch: str, want: str, *options: str) -> Product:
        """Compile `source` with NVRTC for a real architecture ("sm_90a").

        `want` is "CUBIN", "PTX" or "LTOIR" (which needs -dlto, added here).
        """
        package = NVRTC[release]
        flags = [f"-arch={arch}", *(["-dlto"] if want == "LTOIR" else []), *options]
        request = {"tool": "nvrtc", "source": source, "options": flags, "want": want}
        data = self._library(package, "libnvrtc.so*", request, {})
        number = arch.removeprefix("sm_")
        version = package.partition("==")[2]
        image = {
            "CUBIN": Image("sass", arch, (release,), relocatable="-rdc=true" in options),
            "PTX": Image("ptx", f"compute_{number}", (release,), ptx_isa=PTX_ISA[release]),
            "LTOIR": Image("ltoir", f"lto_{number}", (release,)),
        }[want]
        command = f"nvrtc-{version} {source} {' '.join(flags)}"
        return Product(
            data.rstrip(b"\0") if want == "PTX" else data,
            *("nvrtc", version, package),
            (command,),
            (replace(image, debug="-G" in options),),
        )

    def nvfatbin(
        self, release: str, members: Sequence[Member], *options: str, algorithm: str
    ) -> Product:
        """Pack members with nvFatbin, which compresses with `algorithm` under these options."""
        package = NVFATBIN[release]
        version = package.partition("==")[2]
        request = {
            "tool": "nvfatbin",
            "options": options,
            "members": [
                {
                    "add": member.add,
                    "file": f"member{number}",
                    "arch": member.arch,
                    "identifier": member.identifier,
                    "options": member.options,
                }
                for number, member in enumerate(members)
            ],
        }
        inputs = {f"member{number}": member.product.data for number, member in enumerate(members)}
        data = self._library(package, "libnvfatbin.so*", request, inputs)
        added = " ".join(f"Add{member.add}({member.arch})" for member in members) or "(nothing)"
        command = " ".join([f"nvfatbin-{version}", *options, added])
        return Product(
            data,
            *("nvfatbin", version, package),
            history((member.product for member in members), command),
            tuple(
                stored(image, options, algorithm)
                for member in members
                for image in member.product.images
            ),
        )

    def nvjitlink(
        self, release: str, inputs: Sequence[Product], want: str, *options: str
    ) -> Product:
        """Link LTO-IR or relocatable cubins with nvJitLink into a "Cubin" or "LTOIR"."""
        package = NVJITLINK[release]
        version = package.partition("==")[2]
        members = {f"input{number}": product for number, product in enumerate(inputs)}
        kinds = {"sass": 1, "ptx": 2, "ltoir": 3}
        request = {
            "tool": "nvjitlink",
            "suffix": release.replace(".", "_"),
            "options": options,
            "want": want,
            "members": [
                {"file": name, "kind": kinds[product.images[0].kind]}
                for name, product in members.items()
            ],
        }
        data = self._library(
            package,
            "libnvJitLink.so*",
            request,
            {name: product.data for name, product in members.items()},
        )
        arch = next(option for option in options if option.startswith("-arch=")).partition("=")[2]
        made_by = releases(image.made_by for product in inputs for image in product.images)
        if want == "LTOIR":
            image = Image("ltoir", arch.replace("sm", "lto"), made_by, linked_by=(release,))
        else:
            # With LTO it is the linker's own compiler that makes the code.
            compilers = (release,) if "-lto" in options else made_by
            image = Image("sass", arch, compilers, linked_by=(release,))
        command = f"nvjitlink-{version} {' '.join(options)} -> {want}"
        package_facts = ("nvjitlink", version, package)
        return Product(data, *package_facts, history(inputs, command), (image,))

    def ptxas(self, release: str, ptx: Product, arch: str, *options: str) -> Product:
        """Assemble PTX for a real architecture."""
        package = PTXAS[release]
        version = package.partition("==")[2]
        # ptxas writes its own name into the cubin, so the folder tells the release, not the link.
        link = BENCH / "toolkits" / package
        if not link.exists():
            link.symlink_to(self._cache.file(package, "ptxas").parent)
        flags = [f"-arch={arch}", *options, "in.ptx", "-o", "out.cubin"]
        program = f"../toolkits/{package}/ptxas"
        data = self.run([program, *flags], {"in.ptx": ptx.data}, "out.cubin")
        image = Image("sass", arch, (release,), relocatable="-c" in options, debug="-g" in options)
        command = f"ptxas-{version} {' '.join(flags)}"
        return Product(data, "ptxas", version, package, history((ptx,), command), (image,))

    def toolkit(
        self,
        release: str,
        command: str,
        output: str,
        images: Sequence[Image],
        inputs: Mapping[str, Product] | None = None,
    ) -> Product:
        """Run a program of nvcc's tree (nvcc, nvlink, bin2c); the caller says what comes out."""
        self._merge_toolkit(release)
        program, _, arguments = command.partition(" ")
        # Names made from a process id would end up in symbol tables; --keep gives plain ones.
        keep = "--keep " if program == "nvcc" else ""
        made = inputs or {}
        data = self.run(
            ["sh", "-ec", f"../toolkits/{release}/bin/{program} {keep}{arguments}"],
            {name: product.data for name, product in made.items()},
            output,
        )
        package = NVCC[release][0]
        version = package.partition("==")[2]
        line = f"{program}-{version} {arguments}"
        facts = (program, version, package)
        return Product(data, *facts, history(made.values(), line), tuple(images))

    def _merge_toolkit(self, release: str) -> None:
        """Fetch nvcc's tree, and put libnvvm where nvlink looks for it (the packages do not)."""
        link = BENCH / "toolkits" / release
        if link.exists():
            return
        tree = self._cache.fetch(*NVCC[release]) / "nvidia" / "cu13"
        libnvvm = tree / "nvvm" / "lib64" / "libnvvm.so"
        if not libnvvm.exists():
            libnvvm.parent.mkdir()
            libnvvm.symlink_to(Path("..", "..", "lib", "libnvvm.so.4"))
        link.symlink_to(tree)

    def host(
        self,
        command: str,
        output: str,
        inputs: Mapping[str, Product],
        images: Sequence[Image] | None = None,
        package: str = "",
    ) -> Product:
        """Run host programs (g++, ar, objcopy) through the shell on products.

        The product still names the CUDA tool of its first input. `package` is a PyPI package whose
        folder the command finds as $PACKAGE.
        """
        environment = {"PYTHON": sys.executable, "ZIG_GLOBAL_CACHE_DIR": str(BENCH / "zig")}
        if package:
            environment["PACKAGE"] = str(self._cache.fetch(package))
        data = self.run(
            ["sh", "-ec", command],
            {name: product.data for name, product in inputs.items()},
            output,
            environment,
        )
        first = next(iter(inputs.values()))  # an executable is described by its first device object
        all_images = tuple(image for product in inputs.values() for image in product.images)
        return replace(
            first,
            data=data,
            commands=history(inputs.values(), re.sub(r"\s+", " ", command)),
            images=all_images if images is None else tuple(images),
        )
