"""Starting: `init`: a project file, a first scenario and the JSON Schema that editors check scenarios against.

Nothing is ever overwritten: what is there already is left alone, and said.
"""

import json
import shlex
from importlib.resources import files
from pathlib import Path

from worldloom.cli.terminal import say, stdout
from worldloom.core.errors import UsageError
from worldloom.core.project import FILE_NAME, find_project
from worldloom.core.registry import Registry
from worldloom.core.schema import scenario_schema

SCENARIO = "scenarios/print-handouts.yaml"
SCHEMA = "scenarios/scenario.schema.json"
"""Beside the scenarios, whose modeline names it: the two move together."""

_NEXT = (
    (f"worldloom run {SCENARIO} --agent careful", "the way that passes; asks no model"),
    (f"worldloom run {SCENARIO} --max-steps 8", f"a small model; yours: see {FILE_NAME}"),
    ("worldloom doctor", "is everything there?"),
)


def init(folder: Path) -> None:
    """Write the files of a new project into a folder, which is made if it is not there.

    Raises:
        UsageError: the folder cannot be written.
    """
    registry = Registry.discover(find_project(folder))
    schema = json.dumps(scenario_schema(registry), indent=2, ensure_ascii=False) + "\n"
    texts = {FILE_NAME: _template("project.yaml"), SCENARIO: _template("scenario.yaml"), SCHEMA: schema}
    screen = stdout()
    for name, text in texts.items():
        path = folder / name
        state = "written" if _write(path, text) else "left as it was"
        say(screen, f"{state + ':':16}{path}", wrap=False)
    say(screen, "\nNext:")
    if folder != Path():
        say(screen, f"  cd {shlex.quote(str(folder))}", wrap=False)
    for words, why in _NEXT:
        say(screen, f"  {words:<58} # {why}", wrap=False)


def _template(name: str) -> str:
    return files("worldloom.cli").joinpath("templates", name).read_text("utf-8")


def _write(path: Path, text: str) -> bool:
    """Write a new file; False if there is one already."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        if path.parent.is_dir():
            return False
        raise UsageError(f"{path.parent} is in the way: it is no folder") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
    return True
