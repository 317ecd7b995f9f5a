"""Tasks for those who work on ltocompat: ``nox -l`` lists them, ``nox -s tests`` runs one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import nox

_PINS = ".github/actions/ltocompat/requirements.txt"

nox.options.sessions = ["lint", "tests"]
nox.options.reuse_existing_virtualenvs = True


def _install(session: nox.Session) -> None:
    session.install("-q", "-e", ".[test]")


@nox.session
def tests(session: nox.Session) -> None:
    """All tests that need no network; words behind ``--`` go to pytest."""
    _install(session)
    session.run("python", "-m", "pytest", "-n", "auto", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Types, style, the walls between the rooms, and the sums of the samples."""
    _install(session)
    session.run("mypy")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")
    session.run("python", "sample_artifacts/build.py", "--check")


@nox.session
def docs(session: nox.Session) -> None:
    """Write the pages that are generated, make the site in build/site, and follow its links."""
    session.install("-q", "-e", ".[docs]")
    session.run("python", "docs/generate_rules.py")
    session.run("python", "docs/generate_policy.py")
    session.run("python", "docs/generate_stub.py")
    session.run("python", "docs/generate_survey.py")
    session.run("python", "-m", "sphinx", "-q", "-W", "-n", "--keep-going", "docs", "build/site")
    session.run("python", "docs/check_links.py", "build/site")


@nox.session
def audit_ourselves(session: nox.Session) -> None:
    """Our workflow files and our dependencies, by zizmor and pip-audit."""
    session.install("-q", "-e", ".", "pip-audit", "zizmor")
    session.run("zizmor", "--offline", "--persona", "pedantic", ".github")
    versions = Path(session.create_tmp(), "versions.txt")
    frozen = session.run("pip", "freeze", "--exclude-editable", silent=True)
    versions.write_text(str(frozen), "utf-8")
    # --strict: what no advisory can be looked up for would else pass.
    session.run("pip-audit", "--strict", "--disable-pip", "--no-deps", "-r", str(versions))


@nox.session
def pins(session: nox.Session) -> None:
    """The versions that the action and the template install, with the hashes: once a release."""
    build = Path(session.create_tmp(), "build.in")
    requires = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
    build.write_text("\n".join(requires), "utf-8")
    session.install("-q", "uv")
    session.run(
        *("uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-annotate"),
        *("--no-header", "--upgrade", "--python-version", "3.11", "pyproject.toml", str(build)),
        *("--output-file", _PINS),
    )
    template = Path("templates/ltocompat.gitlab-ci.yml")
    before, mark, after = template.read_text("utf-8").partition("LTOCOMPAT_PINS: |\n")
    (_, rest) = re.split(r"^(?= {0,5}\S)", after, maxsplit=1, flags=re.MULTILINE)
    pinned = "".join(f"      {line}\n" for line in Path(_PINS).read_text("utf-8").splitlines())
    template.write_text(before + mark + pinned + rest, "utf-8")


@nox.session
def wild(session: nox.Session) -> None:
    """Tests on real wheels of hundreds of MB and real nvJitLinks, which they download."""
    _install(session)
    session.run("python", "-m", "pytest", "-m", "wild", *session.posargs)


@nox.session
def nightly(session: nox.Session) -> None:
    """All cases of tests of which the slow tier takes a part."""
    _install(session)
    session.run("python", "-m", "pytest", "-n", "auto", "-m", "nightly", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """What was found once, then every reader on changed bytes: ``nox -s fuzz -- --minutes 30``."""
    _install(session)
    session.run("python", "-m", "pytest", "tests/test_fuzz.py")
    session.run("python", "tests/fuzz/fuzz.py", *session.posargs)


@nox.session
def laws(session: nox.Session) -> None:
    """The laws on examples that are drawn anew each time."""
    _install(session)
    explore = "--hypothesis-profile=explore"
    session.run(
        "python",
        "-m",
        "pytest",
        "-n",
        "auto",
        explore,
        "-m",
        "not wild",
        "tests/property",
        *session.posargs,
    )


@nox.session
def mutants(session: nox.Session) -> None:
    """Sixty small changes of the code, drawn by the commit, held against the tests that meet it."""
    _install(session)
    session.run("python", "tests/mutants.py", *session.posargs)


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def dist(session: nox.Session) -> None:
    """Build sdist and wheel, install the wheel, and run the tests out of the unpacked sdist."""
    folder = Path(session.create_tmp())
    session.install("-q", "build")
    session.run("python", "-m", "build", "-q", "-o", str(folder), ".")
    again = Path(session.create_tmp(), "again")
    session.run("python", "-m", "build", "-q", "-o", str(again), ".")
    for built in sorted(again.iterdir()):
        if built.read_bytes() != (folder / built.name).read_bytes():
            session.error(f"{built.name} is not the same when it is built again")
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    session.install("-q", str(wheel))
    session.run("ltocompat", "inspect", "sample_artifacts/objects/bin2c.o")
    session.run("tar", "-xzf", str(sdist), "-C", str(folder), external=True)
    session.chdir(folder / sdist.name.removesuffix(".tar.gz"))
    session.install("-q", "-e", ".[test]")
    session.run("python", "-m", "pytest", "-n", "auto", *session.posargs)


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Every benchmark, each a ratio against a peer in the same run."""
    _install(session)
    for path in session.posargs or (
        "tests/benchmarks/inspect_vs_cuobjdump.py",
        "tests/benchmarks/check_vs_inspect.py",
        "tests/benchmarks/wheel_vs_inflation.py",
        "tests/benchmarks/trial_vs_plain_loop.py",
        "tests/benchmarks/second_audit.py",
        "tests/benchmarks/explain_long_texts.py",
    ):
        session.run("python", path)


@nox.session
def facts(session: nox.Session) -> None:
    """Draft a CUDA release, or an update of one that is known: ``nox -s facts -- 13.6``."""
    _install(session)
    session.run("python", "tests/draft_release.py", *session.posargs)


@nox.session
def rehearsal(session: nox.Session) -> None:
    """The quick tests with the tables of a made-up next release, without and with a driver."""
    _install(session)
    for words in ([], ["--driver"]):
        session.run("python", "tests/rehearse_release.py", *words, "--", "-n", "auto")
