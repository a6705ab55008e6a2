"""Heavy packages are imported in one place each, and nothing is imported or run from a text."""

import pytest

# Where a package may be imported; the gate of `api` is `build_graph`.
ONLY_IN = {
    "langgraph": ("graphs/", "src/worldloom/api.py", "src/worldloom/api/"),
    "litellm": ("src/worldloom/models/gateway.py",),
    "matplotlib": ("src/worldloom/cli/reports/svg.py",),
    "torch": (),
    "transformers": (),
}
# Names come from `room.yaml` and from the table of public names, and from nowhere else.
BY_NAME_ONLY_IN = ("src/worldloom/__init__.py", "src/worldloom/core/registry.py")
BY_NAME = (
    "importlib.import_module",
    "importlib.__import__",
    "builtins.__import__",
    "runpy",
    "pkgutil.resolve_name",
)
FROM_TEXT = ("builtins.eval", "builtins.exec", "builtins.compile", "pickle", "marshal", "shelve")


def of(uses, words):
    return [(line, name) for line, name in uses if any(name == w or name.startswith(f"{w}.") for w in words)]


def breaches(names, words, allowed):
    found = {path: of(uses, words) for path, uses in names.items() if not path.startswith(tuple(allowed))}
    return {path: lines for path, lines in found.items() if lines}


@pytest.mark.parametrize("package", ONLY_IN)
def test_a_heavy_package_is_imported_in_its_own_place_only(names, package):
    assert breaches(names, [package], ONLY_IN[package]) == {}


def test_only_the_registry_and_the_public_names_import_by_name(names):
    assert breaches(names, BY_NAME, BY_NAME_ONLY_IN) == {}


def test_no_text_is_run_as_code_or_read_as_objects(names):
    assert breaches(names, FROM_TEXT, ()) == {}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (
            ["langgraph"],
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from langgraph.graph import StateGraph",
        ),
        (["litellm"], "def f():\n    import litellm"),
        (["torch"], "import torch.nn as nn"),
        (BY_NAME, "from importlib import import_module as load\nload('x')"),
        (BY_NAME, "__import__('x')"),
        (FROM_TEXT, "eval('1 + 1')"),
        (FROM_TEXT, "run = exec"),
        (FROM_TEXT, "from pickle import loads"),
    ],
)
def test_a_breach_is_found(names_in, words, code):
    assert breaches({"worlds/x.py": names_in(code)}, words, ("graphs/",))


def test_what_has_the_same_name_by_chance_is_no_breach(names_in):
    code = "import re\nre.compile('a')\nmodel.eval()\ngraph.compile()\nimport torchless"
    assert breaches({"worlds/x.py": names_in(code)}, (*FROM_TEXT, "torch"), ()) == {}
