"""The wheel, built from the sdist by the locked back end, is what the checkout is, and sits well with others."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# Where each folder of the checkout stands in the wheel.
PLACES = {
    "src/worldloom": "worldloom",
    "agents": "worldloom/agents",
    "worlds": "worldloom/worlds",
    "memory": "worldloom/memory",
    "tools": "worldloom/tools",
    "graphs": "worldloom/graphs",
}


def run(*command, cwd):
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={
            name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONSAFEPATH"}
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(root, tmp_path_factory):
    """Built as `make build` does it: an sdist, and the wheel from that."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-P", "-m", "build", "--no-isolation", "--outdir", out, root, cwd=out)
    [built] = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """A fresh environment with the wheel, a stranger's package `agents`, and the locked dependencies by reference.

    The reference is a .pth line: it brings the folder's packages but not its own .pth files, and so not the
    editable install.
    """
    home = tmp_path_factory.mktemp("fresh")
    venv.create(home, with_pip=False)
    python = home / "bin/python"
    packages = Path(
        run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home).strip()
    )
    (packages / "agents").mkdir()
    (packages / "agents/__init__.py").write_text("OWNER = 'someone else'\n", "utf-8")
    install = ("install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", wheel)
    run(sys.executable, "-P", "-m", "pip", "--python", python, *install, cwd=home)
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    return python


def test_its_only_top_level_name_is_worldloom(wheel):
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"worldloom"}


def test_it_holds_the_files_of_the_checkout_and_no_others(wheel, root):
    on_disk = set()
    for folder, place in PLACES.items():
        for path, below, names in os.walk(root / folder):
            # Hidden folders are caches of tools; one that shipped would be one file too many below.
            below[:] = [name for name in below if name != "__pycache__" and not name.startswith(".")]
            on_disk |= {
                f"{place}/{(Path(path) / name).relative_to(root / folder).as_posix()}" for name in names
            }
    shipped = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert shipped == on_disk
    assert "worldloom/py.typed" in shipped


def test_every_module_imports_from_any_working_directory(wheel, python, tmp_path):
    modules = [
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in zipfile.ZipFile(wheel).namelist()
        if name.endswith(".py") and not name.endswith("__main__.py")
    ]
    code = f"""
import importlib
for module in {modules!r}:
    importlib.import_module(module)
import worldloom
print(worldloom.__file__)
"""
    where = run(python, "-W", "error", "-c", code, cwd=tmp_path).strip()
    assert Path(where).is_relative_to(python.parents[1])


def test_its_command_works(python, tmp_path):
    assert "run" in run(python.parent / "worldloom", "--help", cwd=tmp_path)


def test_it_leaves_a_strangers_agents_package_alone(python, tmp_path):
    code = "import agents, worldloom.agents; print(agents.OWNER, worldloom.agents.__name__)"
    assert run(python, "-c", code, cwd=tmp_path).strip() == "someone else worldloom.agents"
