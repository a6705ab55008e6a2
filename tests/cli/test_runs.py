"""`runs list`, `show` and `export`, and how a person names a run."""

import asyncio
import csv
import io
import json
import os
import shutil

import pytest

from worldloom.graphs.aaw.scorer import AawScorer
from worldloom.models.model import Completion, Usage
from worldloom.models.scripted import ScriptedModel
from worldloom.runs.store import RunStore, put_episode, put_value


@pytest.fixture
def three(played):
    """Three runs: `first`, `second` and `secret`, begun in this order."""
    place = played.parent
    for number, name in enumerate(("secret", "first", "second")):
        shutil.copytree(played, place / name)
        os.utime(place / name / "run.lock", (1000 + (number or 3), 1000 + (number or 3)))
    shutil.rmtree(played)
    return place


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("first", "first"),
        ("fi", "first"),
        ("last", "secret"),
        ("secr", "secret"),
        ("runs/second", "second"),
        ("runs/second/run.sqlite", "second"),
    ],
)
def test_a_run_is_found_by_path_name_start_of_its_name_and_age(three, command, name, meant):
    assert f"Record: runs/{meant}" in command("runs", "show", name).stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sec", "2 runs in runs begin with 'sec': secret, second"),
        ("sceond", "did you mean 'second'?"),
        ("nothing", "allowed: the path of a run, last, secret, second, first"),
        ("", "no run ''"),
        ("../..", "no run '../..'"),
        ("x" * 5000, "no run"),
    ],
)
def test_a_name_that_means_no_run_or_several_is_refused(three, command, name, said):
    done = command("runs", "show", name)
    assert done.exit_code == 2
    assert said in done.stderr.replace(str(three), "runs")


def test_where_there_is_no_run_the_message_says_how_one_is_made(here, command):
    done = command("replay", "last")
    assert done.exit_code == 2
    assert "`worldloom run` makes one" in done.stderr
    done = command("runs", "list")
    assert (done.exit_code, done.stdout) == (0, "")
    assert command("runs", "list", "--json").stdout == "[]\n"


def test_runs_are_listed_with_the_newest_last(three, command):
    done = command("runs", "list")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[0] for line in lines if line and line[0] in ("first", "second", "secret")] == [
        "first",
        "second",
        "secret",
    ]
    listed = json.loads(command("runs", "list", "--json").stdout)[0]
    assert (listed["name"], listed["status"], listed["episodes"], listed["ended"]) == (
        "first",
        "completed",
        2,
        2,
    )
    assert listed["contestant"] == "careful"


def test_one_unreadable_run_does_not_hide_the_others(three, command):
    (three / "first" / "run.sqlite").write_bytes(b"no database" * 100)
    for sidecar in (three / "first").glob("run.sqlite-*"):
        sidecar.unlink()
    listed = {run["name"]: run for run in json.loads(command("runs", "list", "--json").stdout)}
    assert (listed["first"]["status"], listed["second"]["status"]) == ("unreadable", "completed")
    assert command("runs", "list").exit_code == 0
    done = command("runs", "show", "first")
    assert done.exit_code == 1
    assert "run.sqlite" in done.stderr
    assert "not a database" in done.stderr


def test_a_folder_for_runs_can_be_named(three, command, monkeypatch):
    three.rename(three.parent / "elsewhere")
    assert len(json.loads(command("runs", "list", "--json", "--runs-dir", "elsewhere").stdout)) == 3
    monkeypatch.setenv("WORLDLOOM_RUNS_DIR", "elsewhere")
    assert "Record: elsewhere/second" in command("runs", "show", "second").stdout


def test_show_has_a_row_for_every_episode(played, command):
    done = command("runs", "show", "last")
    rows = [line.split() for line in done.stdout.splitlines() if " print-handouts " in line]
    assert [row[:3] for row in rows] == [
        ["0", "print-handouts", "literal"],
        ["1", "print-handouts", "careful"],
    ]
    assert json.loads(command("runs", "show", "last", "--json").stdout)["status"] == "completed"


def test_the_csv_has_a_line_for_every_episode_with_its_metrics(played, command):
    done = command("runs", "export", "last", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["cast_name"], row["SPR"], row["reason"]) for row in rows] == [
        ("literal", "0.0", "completed"),
        ("careful", "1.0", "completed"),
    ]
    assert not [name for name in rows[0] if "copies" in name], "criteria are in the JSON only"


def test_an_export_is_written_to_a_new_file_and_to_no_other(played, command, here):
    done = command("runs", "export", "last", "-o", "out.json")
    assert (done.exit_code, done.stdout) == (0, "")
    assert json.loads((here / "out.json").read_text("utf-8"))["status"] == "completed"
    (here / "out.json").write_text("mine", "utf-8")
    again = command("runs", "export", "last", "-o", "out.json")
    assert again.exit_code == 2
    assert (here / "out.json").read_text("utf-8") == "mine"


def test_an_unknown_format_is_refused_with_those_that_there_are(played, command):
    done = command("runs", "export", "last", "--format", "xml")
    assert done.exit_code == 2
    assert "allowed: json, csv, paper" in done.stderr


def test_the_record_of_the_paper_holds_the_contestants_episodes(played, command):
    done = command("runs", "export", "last", "--format", "paper")
    assert done.exit_code == 0, done.stderr
    (entry,) = json.loads(done.stdout)
    assert entry["scenario_id"] == "print-handouts"
    assert [step["action"] for step in entry["trajectory"]["steps"]][-1] == "print_handout"
    assert entry["evaluation"]["pass_rate"] == 1.0


def test_one_episode_is_shown_event_by_event_with_its_scores(played, command):
    shown = command("runs", "show", "last", "--episode", "1").stdout
    assert shown.startswith("episode 1: print-handouts, careful")
    for word in ("decided", "stepped", "ended", "SPR", "check"):
        assert word in shown
    whole = json.loads(command("runs", "show", "last", "--episode", "1", "--json").stdout)
    assert [event["type"] for event in whole["events"]][-1] == "ended.1"
    assert whole["scores"][0]["name"] == "SPR"


def test_an_episode_that_is_not_there_is_refused_with_what_is(played, command):
    done = command("runs", "show", "last", "--episode", "9")
    assert done.exit_code == 2
    assert "allowed: 0 to 1" in done.stderr


def test_whatever_is_asked_of_a_killed_run_it_is_interrupted_and_its_episodes_are_cut_short(
    project, command, serve, careful
):
    assert command("run", "scenarios", "--model", "m", "--base-url", serve(careful).url).exit_code == 0
    (folder,) = (project / "runs").iterdir()
    command("run", "scenarios", "--agent", "careful")
    with RunStore(folder).writing() as writer:
        put_value(writer, "status", "running")
        put_episode(writer, 2, status="running", reason=None, fault=None)
        asyncio.run(writer.durable())
        assert "Not in it: 1 episode under way." in command("runs", "show", folder.name).stdout
    report = command("runs", "show", folder.name).stdout
    assert report.splitlines()[0].endswith(", interrupted")
    assert "Not in it: 1 episode cut short." in report
    other = next(each.name for each in (project / "runs").iterdir() if each != folder)
    told = (
        command("runs", "show", folder.name, "--json"),
        command("runs", "export", folder.name),
        command("runs", "compare", other, folder.name, "--json"),
    )
    shown, exported, compared = (json.loads(done.stdout) for done in told)
    assert {shown["status"], exported["status"], compared["b"]["status"]} == {"interrupted"}
    listed = {run["name"]: run["status"] for run in json.loads(command("runs", "list", "--json").stdout)}
    assert listed == {folder.name: "interrupted", other: "completed"}


@pytest.mark.parametrize("name", ["m", "embedded", "embedded:smollm2"])
def test_a_run_tells_which_model_simulated_its_worlds_and_what_that_took(project, command, monkeypatch, name):
    def simulate(request):
        lawful = json.dumps({"thought_process": "", "success": False, "message": "Not now."})
        return Completion("{}" if len(request.messages) == 2 else lawful, usage=Usage(7, 2))

    monkeypatch.setattr(
        "worldloom.models.factory.open_model", lambda spec, **_: ScriptedModel(simulate, name=spec.model)
    )
    monkeypatch.setattr("worldloom.cli.running.have_weights", lambda specs: None)
    done = command("run", "scenarios", "--agent", "careful", "--world", "model", "--world-model", name)
    assert done.exit_code == 0, done.stderr
    text = " ".join(done.stdout.split())
    # One step of the literal path and four of the careful one, each asked twice; 9 tokens a call.
    assert f"World: simulated by {name}. " in text
    assert (
        "it took 5.0 calls and 45 tokens, which the table leaves out. Replies that could not be used: 5."
        in text
    )
    assert ("The small embedded model is no simulator" in text) is (name != "m")
    told = json.loads(command("runs", "show", "last", "--json").stdout)["simulator"]
    assert told == {"model": name, "calls": 5.0, "tokens": 45.0, "unusable": 5}


def test_a_run_whose_worlds_follow_rules_names_no_simulator(played, command):
    assert "World: simulated" not in command("runs", "show", "last").stdout
    assert json.loads(command("runs", "show", "last", "--json").stdout)["simulator"] is None


def test_a_run_whose_careful_path_fails_says_so(project, command):
    file = project / "scenarios/print-handouts.yaml"
    text = file.read_text("utf-8")
    file.write_text(text.partition("\npaths:")[0] + "\npaths: {careful: [printer.get_status: {}]}\n", "utf-8")
    done = command("run", "scenarios", "--agent", "random")
    assert done.exit_code == 0, done.stderr
    assert "The careful path does not pass in print-handouts" in " ".join(done.stdout.split())


def test_last_is_the_run_begun_last_whatever_was_written_since(played, command):
    assert command("run", "scenarios", "--agent", "random").exit_code == 0
    newest = json.loads(command("runs", "list", "--json").stdout)[-1]["name"]
    (played / "run.lock").touch()
    assert json.loads(command("runs", "list", "--json").stdout)[-1]["name"] == newest


def test_what_a_metric_is_stands_below_the_table_as_the_scorer_says_it(played, command):
    shown = " ".join(command("runs", "show", "last").stdout.split())
    for name, meaning in AawScorer.about.items():
        assert f"{name}: {meaning}" in shown


def test_a_run_is_shown_whose_scenarios_cannot_be_read_any_more(played, command, monkeypatch):
    def unreadable(*_):
        raise RuntimeError("a room that breaks")

    monkeypatch.setattr("worldloom.cli.reports.metrics.parse_scenario", unreadable)
    done = command("runs", "show", "last")
    assert (done.exit_code, "SPR" in done.stdout, "SPR:" in done.stdout) == (0, True, False)
