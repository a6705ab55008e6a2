"""Files and functions stay short enough to be read, and are called after what they hold."""

import ast
from pathlib import PurePath

import pytest

FILE_LINES = 400
FUNCTION_LINES = 50
SAYING_NOTHING = {"base", "common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}


def length(function):
    """Lines of a function from `def` to its end, its docstring not counted."""
    first = function.body[0]
    documented = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(function.body) > 1
    )
    docstring = first.end_lineno - first.lineno + 1 if documented else 0
    return function.end_lineno - function.lineno + 1 - docstring


def long_functions(tree):
    return [
        (node.name, length(node))
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and length(node) > FUNCTION_LINES
    ]


def resolved_files(tree):
    """Lines on which a path made from `__file__` is resolved, which would leave the links of the checkout."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"resolve", "realpath"}
        and any(isinstance(part, ast.Name) and part.id == "__file__" for part in ast.walk(node))
    ]


def test_no_file_is_longer_than_it_can_be_read(files, root):
    long = {str(file.relative_to(root)): len(file.read_text("utf-8").splitlines()) for file in files}
    assert {name: lines for name, lines in long.items() if lines > FILE_LINES} == {}


def test_no_function_is_longer_than_it_can_be_read(modules):
    assert {path: long_functions(tree) for path, tree in modules.items() if long_functions(tree)} == {}


def test_no_module_or_folder_has_a_name_that_says_nothing(files, root):
    words = {file: {PurePath(part).stem for part in file.relative_to(root).parts} for file in files}
    assert [str(file) for file, parts in words.items() if parts & SAYING_NOTHING] == []


def test_no_module_resolves_the_links_of_the_checkout(modules):
    assert {path: resolved_files(tree) for path, tree in modules.items() if resolved_files(tree)} == {}


@pytest.mark.parametrize(
    ("lines", "found"), [(FUNCTION_LINES, []), (FUNCTION_LINES + 1, [("f", FUNCTION_LINES + 1)])]
)
def test_the_length_of_a_function_leaves_out_its_docstring(lines, found):
    code = 'def f():\n    """One.\n\n    Two.\n    """\n' + "    x = 1\n" * (lines - 1)
    assert long_functions(ast.parse(code)) == found


def test_a_resolved_file_is_found():
    assert resolved_files(ast.parse("Path(__file__).resolve().parent")) == [1]
    assert resolved_files(ast.parse("os.path.realpath(__file__)")) == [1]
    assert resolved_files(ast.parse("Path(path).resolve()")) == []
