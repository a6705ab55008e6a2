"""What `import worldloom as wl` hands out: one table, seen alike by Python and by type checkers."""

import ast

import pytest

import worldloom


@pytest.fixture(scope="module")
def tree(root):
    return ast.parse((root / "src/worldloom/__init__.py").read_text("utf-8"))


def test_the_table_the_list_and_the_type_checkers_agree(tree):
    for_type_checkers = {
        alias.asname or alias.name: f"{node.module}:{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("worldloom.")
        for alias in node.names
    }
    assert for_type_checkers == worldloom._WHERE
    assert set(worldloom.__all__) == {*worldloom._WHERE, "__version__"}
    assert dir(worldloom) == sorted(worldloom.__all__)


@pytest.mark.parametrize("name", worldloom.__all__)
def test_each_public_name_can_be_had(name):
    assert getattr(worldloom, name) is not None
    assert getattr(worldloom, name) is getattr(worldloom, name)


def test_a_misspelt_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'rnu'"):
        worldloom.rnu  # noqa: B018 - the access is the test
