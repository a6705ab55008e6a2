"""Imports run downwards only: import-linter holds the floors that pyproject.toml draws, and would notice a breach."""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

LINT = Path(sysconfig.get_path("scripts"), "lint-imports")


def lint(root, source):
    """Run the contracts of the repository over the package below `source`."""
    return subprocess.run(
        [LINT, "--no-cache", "--config", root / "pyproject.toml"],
        env={**os.environ, "PYTHONPATH": str(source)},
        cwd=source,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def house(root, tmp_path):
    """A copy of the package as it is imported, in which rooms can be built without touching the checkout."""
    shutil.copytree(
        root / "src/worldloom", tmp_path / "worldloom", ignore=shutil.ignore_patterns("__pycache__")
    )
    return tmp_path


def plant(house, path, code):
    file = house / "worldloom" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    (file.parent / "__init__.py").touch()
    file.write_text(code, "utf-8")


def test_the_floors_hold(root):
    done = lint(root, root / "src")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("core/planted.py", "import worldloom.models\n"),
        ("models/planted.py", "from worldloom import runs\n"),
        ("memory/planted.py", "import worldloom.tools\n"),
        ("worlds/planted.py", "import worldloom.agents\n"),
        (
            "agents/planted.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import worldloom.graphs\n",
        ),
        ("attic/planted.py", "import worldloom.core\n"),
    ],
)
def test_an_import_that_climbs_is_found(root, house, path, code):
    plant(house, path, code)
    done = lint(root, house)
    assert done.returncode == 1
    assert "imports run downwards only BROKEN" in done.stdout
