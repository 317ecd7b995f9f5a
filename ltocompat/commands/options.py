"""Every option of every use case, spelled once: its type, its default and its line of help.

The command line is made of these structs (``cli/verb.py``), and the public functions fill them and
raise the errors of single paths, which are values among the records.
Types whose import is slow stand in quotes: nothing here needs them, so that ``--help`` is fast.
"""

import functools
import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from inspect import Parameter
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    BinaryIO,
    ForwardRef,
    Literal,
    ParamSpec,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import Struct

from ltocompat.model.errors import LtocompatError, UsageError
from ltocompat.model.failure import Failure, Note, Progress, reporter
from ltocompat.model.generic import R
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.model.trial_answer import AUTO
from ltocompat.model.verdict import Route, Verdict
from ltocompat.model.words import bytes_of
from ltocompat.scan.filters import ImageFilter
from ltocompat.scan.sources import Source, is_one_source

if TYPE_CHECKING:
    from ltocompat.commands.deployment_target import TargetLike
    from ltocompat.commands.policy.baseline import Baseline
    from ltocompat.commands.policy.values import Policy
    from ltocompat.model.target import Target
    from ltocompat.scan.walk import ScanSettings

P = ParamSpec("P")
_ANY_NUMBER = Parameter.VAR_POSITIONAL
OnError = Callable[[LtocompatError], None]
StrPath = str | os.PathLike[str]
DEPLOY_TARGET = "--deploy-target"
MOST_JOBS = (1, 9999)
# The words that ``--forbid`` accepts.
CHANGES = ("lost-arch", "driver-rose", "nvjitlink-rose", "lost-ptx")


class Option(Struct, frozen=True):
    """The command-line form of an option; a field without one can be set only in Python.

    Attributes:
        help: its help; empty: the field's line in the docstring of its struct.
        flags: its flags; empty: one flag made from its name.
        metavar: the placeholder of its value.
        choices: the words that it accepts; they are its metavar and its shell completions.
        complete: returns shell completions; other words are valid, too.
        env: True if an environment variable also sets it: ``LTOCOMPAT_`` and the name of its flag.
        parse: converts the typed text to the value; None: keep the text.
        within: the smallest and the largest integer that it accepts.
        after: the option before it in the help; None: the field above it.
        words: values that a flag accepts after ``=``; without one, it is true.
    """

    help: str = ""
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    complete: Callable[[], list[str]] | None = None
    env: bool = False
    parse: Callable[[Any], Any] | None = None
    within: tuple[int, int] | None = None
    after: str | None = None
    words: tuple[str, ...] = ()


class Argument(Option, frozen=True):
    """A positional argument."""


def several(annotation: object) -> bool:
    """Return whether an option of this type accepts any number of values."""
    return get_origin(_plain(annotation)) is tuple


def _plain(annotation: Any) -> Any:  # noqa: ANN401 - a type
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


@functools.cache
def fields_of(options: type[Struct]) -> dict[str, tuple[Any, Any]]:
    """Return the annotation and the default of each field; ``Parameter.empty`` for no default.

    Fields of base classes are included.
    """
    found: dict[str, Any] = {}
    for base in reversed(options.__mro__):
        found |= inspect.get_annotations(base, eval_str=True)
    names, defaults = options.__struct_fields__, options.__struct_defaults__
    every = (*[Parameter.empty] * (len(names) - len(defaults)), *defaults)
    return {name: (found[name], default) for name, default in zip(names, every, strict=True)}


def public(
    options: type[Struct], *by_place: str, without: Sequence[str] = ("platform",)
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Make a public function from one that takes options: its parameters are their fields.

    Its other parameters come last. The types are in ``ltocompat/__init__.pyi``.

    Args:
        options: the struct that the function takes.
        by_place: the positional parameters; a name with ``*`` accepts any number of values.
        without: fields that only the command line has.
    """
    fields = fields_of(options)
    kinds: dict[str, Any] = {
        name.strip("*"): _ANY_NUMBER if name[0] == "*" else Parameter.POSITIONAL_OR_KEYWORD
        for name in by_place
    }
    keywords = [name for name in fields if name not in {*kinds, *without}]
    # What all functions have comes last.
    keywords.sort(key=ReadOptions.__struct_fields__.__contains__)
    kinds |= dict.fromkeys(keywords, Parameter.KEYWORD_ONLY)
    parameters = [
        Parameter(name, kind, default=Parameter.empty if kind is _ANY_NUMBER else fields[name][1])
        for name, kind in kinds.items()
    ]

    def made(function: Callable[..., R]) -> Callable[..., R]:
        plain = inspect.signature(function)
        _, *beside = plain.parameters.values()
        signature = plain.replace(parameters=[*parameters, *beside])

        @functools.wraps(function)
        def call(*args: object, **kwargs: object) -> R:
            none = {name: () for name, kind in kinds.items() if kind is _ANY_NUMBER}
            try:
                given = none | (bound := signature.bind(*args, **kwargs).arguments)
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            values = {name: given.pop(name) for name in kinds if name in given}
            values |= {n: as_tuple(values[n]) for n in values if several(fields[n][0])}
            for name, value in values.items():
                _expect(value, fields[name][0], f"{function.__name__}()", name)
            environment = "paths" not in bound and values.get("python") is not None
            if values.get("paths") == () and not environment:  # a pattern that matches nothing
                named(())
            return function(options(**values), **given)

        call.__annotations__ = {}
        vars(call)["__signature__"] = signature
        return call

    return made


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Make a public function without options say which argument has a wrong type."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with suppress(TypeError):  # of a missing or unknown argument, about which Python speaks
            kinds = get_type_hints(function)
            for name, value in signature.bind(*args, **kwargs).arguments.items():
                _expect(value, kinds[name], f"{function.__name__}()", name)
        return function(*args, **kwargs)

    return call


def _expect(value: object, kind: Any, function: str, name: str) -> None:  # noqa: ANN401 - a type
    """Check that an argument of a public function has its type.

    Raises:
        UsageError: it has not.
    """
    kind = _plain(kind)
    kind = _late_type(kind) if isinstance(kind, str | ForwardRef) else kind
    if get_origin(kind) is tuple and isinstance(value, tuple):
        for each in value:
            _expect(each, get_args(kind)[0], function, name)
    elif kind != Source and not _fits(value, kind):  # sources are checked where they are opened
        words = re.sub(r"[a-z_.]+\.(?=[A-Z])", "", inspect.formatannotation(kind))
        raise UsageError(f"{function} takes {words} as {name}, not {value!r:.60}")


def _late_type(quoted: str | ForwardRef) -> Any:  # noqa: ANN401 - a type
    """Return a type that stands in quotes."""
    import ltocompat

    late = {name: getattr(ltocompat, name) for name in ("Baseline", "Policy", "Target")}
    text = quoted if isinstance(quoted, str) else quoted.__forward_arg__
    return eval(text, globals(), late | {"TargetLike": object})  # noqa: S307 - our own text


def _fits(value: object, kind: Any) -> bool:  # noqa: ANN401 - a type
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in inner)
    if origin is Literal:
        return value in inner
    if origin is Sequence:
        return isinstance(value, Sequence) and all(_fits(each, inner[0]) for each in value)
    return hasattr(value, "read") if origin is BinaryIO else isinstance(value, origin)


def as_tuple(values: Any) -> tuple[Any, ...]:  # noqa: ANN401 - one value or several
    """Return one value or several values as a tuple."""
    if isinstance(values, Iterable) and not is_one_source(values):
        return tuple(values)
    return (values,)


def named(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Paths as texts.

    Raises:
        UsageError: there are none, for example since a pattern matches nothing.
    """
    texts = [os.fspath(path) for path in paths]
    if not texts:
        raise UsageError("no path is named; name a file, a folder or a package")
    return texts


def answers(records: Iterable[R | Failure | Note], on_error: OnError | None) -> Iterator[R]:
    """Yield the records without failures and notes.

    Args:
        records: the records of a command.
        on_error: called with the error of each failure, while the others go on; None: raise it.

    Raises:
        LtocompatError: a path gave no answer, and ``on_error`` is None.
    """
    for record in records:
        if not isinstance(record, Failure):
            if not isinstance(record, Note):
                yield record
            continue
        error = record.error or LtocompatError(record.message)
        if on_error is None:
            raise error
        on_error(error)


def with_failures(groups: Iterable[Iterable[R]]) -> Iterator[R | Failure]:
    """Yield the records of each group in turn; an error that ends a group is a ``Failure``."""
    for records in groups:
        try:
            yield from records
        except LtocompatError as error:
            yield Failure.of(error)


def complete_target() -> list[str]:
    """Return completions: the project's target names, then every word in the tables."""
    from ltocompat.targets.inline import KEYS
    from ltocompat.targets.reading import names_of_project
    from ltocompat.targets.words import target_words

    _, names = names_of_project(".")
    words = [f"{word.key}={word.value}" for word in target_words()]
    return [*names, *(f"{key}=" for key in KEYS), *words]


# Options that several use cases have.
Paths = Annotated[
    tuple[Source, ...],
    Argument(
        "Files, folders, packages, places in files (libx.a::m.o@0x40), or - (standard input).",
        metavar="PATH...",
    ),
]
InstallLinkers = Annotated[bool, Option("Install the missing linkers for trials.", env=True)]
Platform = Annotated[
    str | None,
    Option(
        "Read only the image for this platform, if there are several.",
        metavar="OS/ARCH",
        after="paths",
    ),
]
_TARGET = Option(flags=(DEPLOY_TARGET,), metavar="TARGET", complete=complete_target)
OUTPUT = ("-o", "--output")


class ReadOptions(Struct, frozen=True, kw_only=True):
    """Options of every command that reads files.

    Attributes:
        limits: upper limits on sizes, counts and time for reading one file.
        progress: called while files are read.
    """

    limits: Limits = DEFAULT_LIMITS
    progress: Callable[[Progress], None] | None = None

    @property
    def settings(self) -> "ScanSettings":
        """The settings for reading files."""
        # Imported here: no help needs them.
        from ltocompat.scan.walk import ScanSettings

        return ScanSettings(limits=self.limits, progress=reporter(self.progress))


class VerdictOptions(ReadOptions, frozen=True, kw_only=True):
    """Options of the commands that check for deploy targets: ``check`` and ``audit``.

    Attributes:
        trial_link: Also try real linkers. This needs no GPU and no driver. =auto tries only
            installed linkers, and only for unknown verdicts.
        trial_load: Also load the modules on this machine's GPUs.
        beside: A wheel, a conda package, an environment, or a folder of wheels that will be
            installed together with the checked packages. A *.dist-info folder, a lock file and a
            pip report (pip install --dry-run --report) also work. Repeatable.
        cache: Ask the linkers again; ignore cached answers.
        allow_empty: Pass if there is no device code, or no file at all.
    """

    trial_link: Annotated[bool | Literal["auto"], Option(env=True, words=(AUTO,))] = False
    trial_load: Annotated[bool, Option(env=True)] = False
    install_linkers: InstallLinkers = False
    beside: Annotated[tuple[StrPath, ...], Option(flags=("--with",), metavar="FILE")] = ()
    cache: Annotated[bool, Option(flags=("--no-cache",), env=True)] = True
    allow_empty: Annotated[bool, Option(env=True, after="verbose")] = False


class CheckOptions(VerdictOptions, frozen=True):
    """Options of ``check``: files and targets.

    Attributes:
        paths: Files, folders, packages, places in files (libx.a::m.o@0x40), or - (standard input).
            Default: all packages of the environment of --python, or of the active environment.
        targets: Where the code will run: for example 12.4 or R550 or driver=580.65.06,gpu=h100+l4
            or prod.toml:edge, or a name in pyproject.toml. Repeatable. Default: this machine.
        route: If modules can be both loaded and linked, check only this route (default: both
            routes).
        together: Treat all linkable inputs as the inputs of a single link.
        python: Check the environment of this interpreter.
        floors: also check whether the metadata of packages allow versions that are too old for
            their code.
    """

    paths: Annotated[tuple[Source, ...], Argument(metavar="[PATH...]")] = ()
    targets: Annotated[tuple["TargetLike", ...], _TARGET] = ()
    route: Annotated[Route | str | None, Option(choices=tuple(Route))] = None
    together: Annotated[bool, Option()] = False
    python: Annotated[str | None, Option(metavar="PYTHON")] = None
    floors: bool = True
    platform: Platform = None


class AuditOptions(VerdictOptions, frozen=True):
    """Options of ``audit``; policy and baseline are values, or the files that have them.

    Attributes:
        paths: Packages, libraries, folders, or places in files (default: dist/*).
        policy: The policy file. Default: the nearest ltocompat.toml, or pyproject.toml with
            [tool.ltocompat]. Without a policy, only the rules that need no target apply.
        targets: The target on which releases will run; it replaces the policy's targets. The syntax
            is the same as for check. Repeatable.
        require_archs: Architectures for which every artifact must have code. They are written as in
            TORCH_CUDA_ARCH_LIST, as for CMake (80-real;90), as for nvcc (-gencode ...), or as names
            (sm_90, hopper).
        max_bytes: Fail if a file is larger than this size, such as 100MB, 1GiB or 104857600.
        max_member_bytes: Fail if an unpacked file inside a wheel is larger than this size.
        baseline: A file of known findings, which don't make the audit fail.
        write_baseline: Write the current findings to this file, which later runs can read with
            --baseline.
        dataset: The dataset of a survey. If a package fails, the answer names the newest release of
            this package that works, as found in the survey.
        fail_on: the mildest verdict that counts; None: the policy's.
        outputs: output files of reports, which must not be inputs.
    """

    paths: Annotated[tuple[StrPath, ...], Argument(metavar="[PATH...]")] = ()
    policy: Annotated[
        "Policy | StrPath | None", Option(flags=("--config",), metavar="FILE", env=True)
    ] = None
    targets: Annotated[tuple["Target | StrPath", ...], _TARGET] = ()
    require_archs: Annotated[tuple[str, ...], Option(metavar="ARCHS")] = ()
    max_bytes: Annotated[int | None, Option(metavar="SIZE", parse=bytes_of)] = None
    max_member_bytes: Annotated[int | None, Option(metavar="SIZE", parse=bytes_of)] = None
    baseline: Annotated["Baseline | str | None", Option(metavar="FILE", env=True)] = None
    write_baseline: Annotated[str | None, Option(metavar="FILE")] = None
    dataset: Annotated[str | None, Option(metavar="DIR")] = None
    fail_on: Verdict | None = None
    outputs: tuple[str, ...] = ()
    platform: Platform = None


class InitOptions(ReadOptions, frozen=True):
    """Options of ``init``.

    Attributes:
        paths: Packages (default: dist/*).
        output: The file to write. If the file exists, init compares the policies, and never changes
            the file. Default: the nearest policy, or ltocompat.toml if there is none.
    """

    paths: Annotated[tuple[StrPath, ...], Argument(metavar="[PATH...]")] = ()
    output: Annotated[str | None, Option(flags=OUTPUT, metavar="FILE")] = None
    install_linkers: InstallLinkers = False


class SummaryOptions(ReadOptions, frozen=True):
    """Options of an answer that names no deploy target, such as ``matrix``.

    Attributes:
        paths: Files, folders, packages, places in files (libx.a::m.o@0x40), or - (standard input).
            Default: all packages of the environment of --python, or of the active environment.
        python: Read the environment of this interpreter.
        trial_link: Also try real linkers; this needs no GPU and no driver.
    """

    paths: Annotated[tuple[Source, ...], Argument(metavar="[PATH...]")] = ()
    python: Annotated[str | None, Option(metavar="PYTHON")] = None
    trial_link: Annotated[bool, Option(env=True)] = False
    install_linkers: InstallLinkers = False
    platform: Platform = None


class MatrixOptions(SummaryOptions, frozen=True):
    """Options of ``matrix``.

    Attributes:
        targets: Show one table instead, with a column for each deploy target, such as R550,
            prod.toml:edge, or nodes.json (the nodes of a cluster). Repeatable.
    """

    targets: Annotated[tuple["TargetLike", ...], _TARGET] = ()


class RequireOptions(SummaryOptions, frozen=True):
    """Options of ``require``.

    Attributes:
        together: Treat all linkable inputs as the inputs of a single link.
        why: Show which rules, bytes and packages set each minimum version.
        survey: The dataset of a survey. If a package sets a minimum version, the answer names the
            newest release in the survey that requires less. For a lock file, the answer has the
            minimum versions that the pinned releases need. --platform selects the processor
            (default: the processor that the inputs are for).
    """

    together: Annotated[bool, Option(after="paths")] = False
    why: Annotated[bool, Option()] = False
    survey: Annotated[str | None, Option(metavar="DIR")] = None


class DiffOptions(ReadOptions, frozen=True):
    """Options of ``diff``.

    Attributes:
        old: A file, package, folder, place in a file, or saved JSON output of inspect. - reads
            standard input.
        new: The newer release: a file, package, folder, place in a file, or saved JSON output of
            inspect. - reads standard input.
        forbid: Exit with 1 after such a change. Repeatable; commas can also separate the values.
            lost-arch: an architecture of SASS or LTO-IR is gone, or all code for a GPU is gone.
            lost-ptx: an architecture of PTX is gone, or PTX that was the only code for a GPU.
        kernels: Compare the names of kernels, which takes longer.
    """

    old: Annotated[StrPath, Argument(metavar="OLD")]
    new: Annotated[StrPath, Argument(metavar="NEW")]
    forbid: Annotated[tuple[str, ...], Option(choices=CHANGES)] = ()
    kernels: Annotated[bool, Option(flags=("--kernels/--no-kernels",))] = True


class ExplainOptions(Struct, frozen=True):
    """Options of ``explain``.

    Attributes:
        text: a rule's ID, or an error text.
        every: List all rules.
        python: Look for the cause in the packages of this interpreter.
        here: Assume this machine's driver, GPU and nvJitLink if the text doesn't name them.
        places: files in which to look for the cause.
        progress: called while the files are read.
    """

    text: str = ""
    every: Annotated[bool, Option(flags=("--all",))] = False
    python: Annotated[str | None, Option(metavar="PYTHON")] = None
    here: Annotated[bool, Option()] = False
    places: tuple[StrPath, ...] = ()
    progress: Callable[[Progress], None] | None = None


class WeighOptions(ReadOptions, frozen=True):
    """Options of ``weigh``; the command line has it as ``inspect --weigh``.

    Attributes:
        kernels: Count the kernels; with --images, list their names; with --weigh, rank the kernels.
        keep_gpus: With --weigh, show how many bytes slim saves if it keeps only code for these
            GPUs, such as h100+l4.
        jobs: Number of processes that read files (default: one per core, but at most 12 for one
            file).
    """

    paths: Paths
    kernels: Annotated[bool, Option()] = False
    keep_gpus: Annotated[tuple[str, ...], Option(flags=("--keep-gpu",), metavar="GPU")] = ()
    jobs: Annotated[int | None, Option(metavar="NUMBER", within=MOST_JOBS, after="verbose")] = None
    platform: Platform = None


class InspectOptions(WeighOptions, frozen=True):
    """Options of ``inspect``.

    Attributes:
        hashes: List one row per image, like --images, with the image's SHA-256.
        trial_link: Try one nvJitLink after another until one accepts the scrambled LTO-IR; this
            shows which release made it.
        where: the selected images; None: all.
    """

    hashes: Annotated[bool, Option(flags=("--hash",))] = False
    trial_link: Annotated[bool, Option()] = False
    install_linkers: InstallLinkers = False
    where: ImageFilter | None = None


class ExtractOptions(ReadOptions, frozen=True):
    """Options of ``extract``.

    Attributes:
        places: Files, folders, or places in files. Write a place as inspect prints it.
        output: The folder for new files. The folder is created if missing, and no file in it is
            replaced.
        where: the images that are meant; None: all of them.
    """

    places: Annotated[tuple[StrPath, ...], Argument(metavar="PLACE...")]
    output: Annotated[StrPath, Option(flags=OUTPUT, metavar="DIR")]
    where: ImageFilter | None = None


class SlimOptions(ReadOptions, frozen=True):
    """Options of ``slim``.

    Attributes:
        paths: Libraries, objects, archives, executables, wheels, zips, conda packages, or folders.
        output: The new file, or a folder for the new files. If there are several inputs, OUT is a
            folder. If the input is a wheel and OUT has no suffix, OUT is a folder, too.
        keep_gpus: Keep code for these GPUs, such as h100+l4. Repeatable. Default: all GPUs.
        keep_archs: Keep images of these architectures, such as sm_90,compute_120. Repeatable.
        targets: Keep code for the GPUs of this deploy target. Repeatable.
        policy: Keep code for all that this policy file names in targets, require-gpus and
            require-archs.
        ptx: Remove PTX that only future GPUs would use.
        pack: Compress Zstandard code again. MODE is size, balance, or a level from 1 to 19. For
            other code, add --to-zstd.
        to_zstd: With --pack, also use Zstandard for code that is uncompressed or compressed with
            LZ4. Drivers before 550.54.14 (CUDA 12.4) can't read the new code.
        max_bytes: Remove code until the new file has at most this size, such as 95M.
        build: Build number in the names of the new wheels.
        in_place: Change the files inside the given folder, such as an environment. Copies of the
            original files are written to the output folder.
    """

    paths: Annotated[tuple[StrPath, ...], Argument(metavar="PATH...")]
    output: Annotated[StrPath, Option(flags=OUTPUT, metavar="OUT")]
    keep_gpus: Annotated[tuple[str, ...], Option(flags=("--keep-gpu",), metavar="GPU")] = ()
    keep_archs: Annotated[tuple[str, ...], Option(flags=("--keep-arch",), metavar="ARCH")] = ()
    targets: Annotated[tuple["TargetLike", ...], _TARGET] = ()
    policy: Annotated["Policy | StrPath | None", Option(flags=("--config",), metavar="FILE")] = None
    ptx: Annotated[bool, Option(flags=("--no-ptx",))] = True
    pack: Annotated[str | int | None, Option(metavar="MODE")] = None
    to_zstd: Annotated[bool, Option()] = False
    max_bytes: Annotated[int | None, Option(metavar="SIZE", parse=bytes_of)] = None
    build: Annotated[str | None, Option(metavar="NUMBER")] = None
    in_place: Annotated[bool, Option()] = False


class RepairOptions(ReadOptions, frozen=True):
    """Options of ``repair``.

    Attributes:
        wheels: Wheels to repair.
        output: The folder for new files. The folder is created if missing, and no file in it is
            replaced.
        dry_run: Show the changes without writing anything.
        only: Fix only the findings of this rule. Repeatable.
        beside: Packages that will be installed with these wheels, as in check. Repeatable.
    """

    wheels: Annotated[tuple[StrPath, ...], Argument(metavar="WHEEL...")]
    output: Annotated[StrPath | None, Option(flags=OUTPUT, metavar="DIR")] = None
    dry_run: Annotated[bool, Option()] = False
    only: Annotated[tuple[str, ...], Option(metavar="RULE")] = ()
    beside: Annotated[tuple[StrPath, ...], Option(flags=("--with",), metavar="FILE")] = ()


class LinkOptions(ReadOptions, frozen=True):
    """Options of ``link``.

    Attributes:
        places: LTO-IR, PTX, relocatable cubins, fatbins, objects, archives, or places in files.
        arch: The target architecture, such as sm_90. With --each, the default is the architecture
            of each image.
        linkers: The linker, such as nvlink=13.5, nvjitlink=12.4.127 or nvlink=PATH. Repeat this
            option to compare several linkers. Default: the newest nvJitLink.
        output: Write the linked cubin to a new file.
        each: Link every image separately, not all together.
        add_only: With --each, add each image to a linker, but don't link. This is fast and shows
            whether the linker accepts the LTO-IR version.
        where: the images that are meant; None: all of them.
    """

    places: Annotated[tuple[StrPath, ...], Argument(metavar="PLACE...")]
    arch: Annotated[str | None, Option(metavar="SM")] = None
    linkers: Annotated[tuple[str, ...], Option(flags=("--linker",), metavar="LINKER=VERSION")] = ()
    output: Annotated[StrPath | None, Option(flags=OUTPUT, metavar="FILE")] = None
    each: Annotated[bool, Option()] = False
    add_only: Annotated[bool, Option()] = False
    install_linkers: InstallLinkers = False
    where: ImageFilter | None = None


class EnvOptions(Struct, frozen=True):
    """Options of ``env``.

    Attributes:
        save: Also write a new TOML file that describes the machine as a deploy target.
        root: Look at the file system below DIR, or at a saved image (docker save, OCI layout).
    """

    save: Annotated[StrPath | None, Option(metavar="FILE")] = None
    root: Annotated[StrPath | None, Option(metavar="DIR")] = None
    platform: Annotated[
        str | None, Option("Read the image for this platform.", metavar="OS/ARCH")
    ] = None


class SelfTestOptions(Struct, frozen=True):
    """Options of ``selftest``.

    Attributes:
        nvjitlink: The nvJitLink to link with: 12.4, 12.4.127 or a path. Default: the nvJitLink that
            programs of this Python load. If there is none, the default is the newest nvJitLink that
            was installed for trials.
    """

    nvjitlink: Annotated[str | None, Option(metavar="VERSION")] = None
    install_linkers: InstallLinkers = False


class FactsOptions(Struct, frozen=True):
    """Options of ``facts``: none, since it prints all tables."""


class TargetsOptions(Struct, frozen=True):
    """Options of ``targets``: the words to list.

    Attributes:
        word: List only entries that contain this word, such as hopper, 4090, 12.4 or R550.
    """

    word: Annotated[str | None, Argument(metavar="[WORD]")] = None


class RemoveOptions(Struct, frozen=True):
    """Which linkers to remove.

    Attributes:
        wanted: A linker and its version: nvjitlink=12.4 (its newest patch release), nvlink=13.5.37,
            nvlink=all.
    """

    wanted: Annotated[tuple[str, ...], Argument(metavar="LINKER=VERSION...")]


class InstallOptions(RemoveOptions, frozen=True):
    """Which linkers to install.

    Attributes:
        allow_unknown: Also install versions whose SHA-256 sum is not known.
    """

    allow_unknown: Annotated[bool, Option()] = False
    progress: Callable[[Progress], None] | None = None
