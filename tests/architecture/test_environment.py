"""The environment holds what the locks name: hashed, from no named index, and with no code that starts by itself."""

import importlib.util
import re
import sysconfig
import tomllib
from pathlib import Path

import pytest

# A .pth file runs at every start of Python. setuptools brings the first one, the editable install the second.
KNOWN_PTH = {"distutils-precedence.pth", "_worldloom.pth"}
LOCKS = ("locks/pip.lock", "locks/worldloom.lock")
REQUIREMENT = re.compile(r"^([a-z0-9-]+)==(\S+)")


def pinned(text):
    """Name → versions of a lock."""
    found = {}
    for line in text.splitlines():
        if match := REQUIREMENT.match(line):
            found.setdefault(match[1], set()).add(match[2])
    return found


def test_no_package_has_planted_a_file_that_runs_at_every_start():
    found = {path.name for path in Path(sysconfig.get_path("purelib")).glob("*.pth")}
    assert found <= KNOWN_PTH


@pytest.mark.parametrize("folder", ["agents", "worlds", "memory", "tools", "graphs"])
def test_the_subject_folders_are_not_importable_under_their_bare_names(folder):
    assert importlib.util.find_spec(folder) is None
    assert importlib.util.find_spec(f"worldloom.{folder}") is not None


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_pins_and_hashes_everything_and_names_no_index(root, lock):
    text = (root / lock).read_text("utf-8")
    assert "://" not in text
    assert not re.search(r"^\s*--(?!hash=sha256:[0-9a-f]{64}( \\)?$)", text, re.MULTILINE)
    blocks = re.split(
        r"^(?=[A-Za-z0-9])", re.sub(r"^ *#.*\n", "", text, flags=re.MULTILINE), flags=re.MULTILINE
    )[1:]
    assert blocks
    assert [block for block in blocks if not REQUIREMENT.match(block) or "--hash=sha256:" not in block] == []


def test_the_lock_holds_every_dependency_that_is_declared(root):
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    declared = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for extra in project["project"]["optional-dependencies"].values():
        declared += extra
    names = {re.split(r"[^A-Za-z0-9-]", line)[0].lower() for line in declared}
    assert names - set(pinned((root / "locks/worldloom.lock").read_text("utf-8"))) == set()


def test_the_lock_holds_no_release_that_is_known_to_steal(root):
    versions = pinned((root / "locks/worldloom.lock").read_text("utf-8"))["litellm"]
    assert not versions & {"1.82.7", "1.82.8"}
