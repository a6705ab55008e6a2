"""The source as the architecture tests see it: every shipped module parsed once, and the names it uses.

A name is resolved through the module's imports, so that `from os import environ as e; e["X"]` is seen as
`os.environ`. What hangs on something that was not imported is known by its last word only: `group.create_task`
is seen as `?.create_task`, and a builtin as `builtins.eval`.
"""

import ast
import builtins
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(os.path.abspath(__file__)).parents[2]
SHIPPED = ("src/worldloom", "agents", "worlds", "memory", "tools", "graphs")
Use = tuple[int, str]


def python_files(folders: tuple[str, ...]) -> Iterator[Path]:
    """Every Python file below the folders, not following links: the five are walked under their own names."""
    for folder in folders:
        for path, below, names in os.walk(ROOT / folder):
            below[:] = sorted(name for name in below if name != "__pycache__")
            yield from (Path(path, name) for name in sorted(names) if name.endswith(".py"))


def imported(tree: ast.AST) -> Iterator[tuple[int, str, str, str]]:
    """Of each import: its line, the full name, the local name that it binds, and what that stands for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                # `import a.b` binds a; `import a.b as c` binds a.b.
                first = alias.name.split(".")[0]
                yield node.lineno, alias.name, alias.asname or first, alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield node.lineno, name, alias.asname or alias.name, name


def dotted(node: ast.expr) -> list[str]:
    """`a.b.c` as its words; an expression that does not begin with a name begins with "?"."""
    if isinstance(node, ast.Attribute):
        return [*dotted(node.value), node.attr]
    return [node.id] if isinstance(node, ast.Name) else ["?"]


def uses(tree: ast.AST) -> list[Use]:
    """Every imported or used name of a module with its line."""
    local_names = {}
    found = []
    for line, name, local, meaning in imported(tree):
        found.append((line, name))
        local_names[local] = meaning
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute | ast.Name):
            continue
        first, *rest = dotted(node)
        if first in local_names:
            found.append((node.lineno, ".".join([local_names[first], *rest])))
        elif rest:
            found.append((node.lineno, f"?.{rest[-1]}"))
        elif hasattr(builtins, first):
            found.append((node.lineno, f"builtins.{first}"))
    return found


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def modules() -> dict[str, ast.Module]:
    """Every shipped module, by its path from the root."""
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text("utf-8"), str(path))
        for path in python_files(SHIPPED)
    }


@pytest.fixture(scope="session")
def names(modules: dict[str, ast.Module]) -> dict[str, list[Use]]:
    """What every shipped module imports or uses, by its path from the root."""
    return {path: uses(tree) for path, tree in modules.items()}


@pytest.fixture(scope="session")
def names_in() -> Callable[[str], list[Use]]:
    """The same for a piece of code, so that each rule can be shown to bite."""
    return lambda code: uses(ast.parse(code))


@pytest.fixture(scope="session")
def files() -> list[Path]:
    """Every Python file that people read: what ships, the tests and the benchmarks."""
    return list(python_files((*SHIPPED, "tests", "benchmarks")))
