"""`init`: what it writes can be run and is checked by the schema beside it; nothing is overwritten."""

import json

import jsonschema

from worldloom.core.project import load_project
from worldloom.core.yamlio import read


def test_what_init_writes_runs_and_tells_floor_from_ceiling(command, here):
    done = command("init", "new/place")
    assert done.exit_code == 0
    assert "cd new/place" in done.stdout
    assert load_project(here / "new/place/worldloom.yaml").models["agent"].model == "embedded"
    played = command("run", "new/place/scenarios", "--agent", "careful", "--json")
    assert played.exit_code == 0, played.stderr
    assert {
        one["cast_name"]: one["metrics"]["SPR"]["mean"] for one in json.loads(played.stdout)["table"]
    } == {
        "literal": 0.0,
        "careful": 1.0,
    }


def test_the_scenario_names_its_schema_and_agrees_with_it(project):
    file = project / "scenarios/print-handouts.yaml"
    modeline, _, schema = file.read_text("utf-8").splitlines()[0].partition("$schema=")
    assert modeline == "# yaml-language-server: "
    schema = json.loads((file.parent / schema).read_text("utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.Draft7Validator(schema).validate(read(file).value)


def test_the_schema_finds_what_is_misspelt(project):
    schema = json.loads((project / "scenarios/scenario.schema.json").read_text("utf-8"))
    wrong = dict(read(project / "scenarios/print-handouts.yaml").value, user_promt="?")
    assert not jsonschema.Draft7Validator(schema).is_valid(wrong)


def test_nothing_is_overwritten(command, project):
    for name in ("worldloom.yaml", "scenarios/print-handouts.yaml", "scenarios/scenario.schema.json"):
        (project / name).write_text("mine: 1\n" if name.endswith(".yaml") else "{}", "utf-8")
    (project / "worldloom.yaml").write_text("runs_dir: mine\n", "utf-8")
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    done = command("init")
    assert done.exit_code == 0
    assert done.stdout.count("left as it was") == 3
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before


def test_a_file_in_the_way_is_said_and_left(command, here):
    (here / "scenarios").write_text("a file", "utf-8")
    done = command("init")
    assert done.exit_code == 2
    assert "scenarios is in the way" in done.stderr
    assert (here / "scenarios").read_text("utf-8") == "a file"
