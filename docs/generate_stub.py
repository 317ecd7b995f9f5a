"""Write the functions in ltocompat/__init__.pyi: python docs/generate_stub.py [--check].

Their parameters are the fields of the options, whose types stand in commands/options.py.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from generated_page import write_or_check

import ltocompat
from ltocompat.commands import options

FOLDER = Path(inspect.getfile(ltocompat)).parent
STUB = FOLDER / "__init__.pyi"
SIMPLE = (bool, int, str, type(None))
START, END = "# docs/generate_stub.py writes what follows.\n", "# So far.\n"


def stub() -> str:
    """The stub with the functions of today."""
    before, _, rest = STUB.read_text("utf-8").partition(START)
    _, _, behind = rest.partition(END)
    functions = "\n".join(_functions(_types()))
    return f"{before}{START}\n{functions}\n\n{END}{behind}"


def _functions(types: Mapping[tuple[str, str], str]) -> Iterator[str]:
    for path in sorted((FOLDER / "commands").glob("*.py")):
        module = f"ltocompat.commands.{path.stem}"
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and "@public" in _decorators(node):
                made = inspect.signature(getattr(importlib.import_module(module), node.name))
                kind = ast.unparse(node.args.args[0].annotation or node)
                own = {
                    each.arg: ast.unparse(each.annotation or each) for each in node.args.kwonlyargs
                }
                lines = [f"def {node.name}("]
                star = False
                for name, parameter in made.parameters.items():
                    alone = parameter.kind is inspect.Parameter.KEYWORD_ONLY
                    any_number = parameter.kind is inspect.Parameter.VAR_POSITIONAL
                    lines += ["    *,"] if alone and not star else []
                    star = star or alone or any_number
                    spelled = _widened(types.get((kind, name)) or own[name], any_number=any_number)
                    shown = repr(parameter.default) if type(parameter.default) in SIMPLE else "..."
                    shown = shown.replace("'", '"')  # as ruff writes it
                    default = "" if parameter.default is parameter.empty else f" = {shown}"
                    lines.append(f"    {'*' if any_number else ''}{name}: {spelled}{default},")
                yield "\n".join((*lines, f") -> {ast.unparse(node.returns or node)}: ..."))


def _decorators(node: ast.FunctionDef) -> str:
    return "".join(f"@{ast.unparse(each)}" for each in node.decorator_list)


def _types() -> dict[tuple[str, str], str]:
    """The types of the fields of each struct of options, as they are written, and of its bases."""
    tree = ast.parse(Path(inspect.getfile(options)).read_text("utf-8"))
    aliases: dict[str, ast.expr] = {}
    found: dict[tuple[str, str], str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            aliases |= {ast.unparse(target): node.value for target in node.targets}
        if isinstance(node, ast.ClassDef):
            for base in map(ast.unparse, node.bases):
                found |= {
                    (node.name, name): kind for (of, name), kind in found.items() if of == base
                }
            for field in node.body:
                if isinstance(field, ast.AnnAssign):
                    kind = aliases.get(ast.unparse(field.annotation), field.annotation)
                    if isinstance(kind, ast.Subscript) and ast.unparse(kind.value) == "Annotated":
                        kind = kind.slice.elts[0] if isinstance(kind.slice, ast.Tuple) else kind
                    text = re.sub(
                        r"(?<=tuple\[)'([^']*)'|'([^']* [^']*)'", r"\1\2", ast.unparse(kind)
                    ).replace("'", '"')
                    found[node.name, ast.unparse(field.target)] = text
    return found


def _widened(kind: str, *, any_number: bool) -> str:
    """One value or several, where an option has several."""
    several = re.fullmatch(r"tuple\[(.*), \.\.\.\]", kind)
    if several is None:
        return kind
    return several[1] if any_number else f"{several[1]} | Sequence[{several[1]}]"


if __name__ == "__main__":
    sys.exit(write_or_check({STUB: stub()}, __doc__))
