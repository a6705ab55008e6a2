"""`sweep`: a table with a row for each variant, a picture of one number, and that it is a run like others."""

import csv
import io
import json

import pytest

from worldloom.runs.rows import Score
from worldloom.runs.store import RunStore, put_episode, put_scores, put_value

STUDY = """\
study: how long
scenario: scenarios/SCENARIO
vary: {limits.steps: [1, 3, 9]}
seeds: 5
"""


@pytest.fixture
def swept(project, command):
    """Plays a study of the example scenario; called with a text, that study."""
    (scenario,) = (project / "scenarios").glob("*.yaml")

    def sweep(*words, text=STUDY):
        (project / "study.yaml").write_text(text.replace("SCENARIO", scenario.name))
        return command("sweep", "study.yaml", *words)

    return sweep


def flat(text):
    return " ".join(text.split())


def test_the_table_has_a_row_for_each_variant_and_says_what_its_unit_is(swept):
    done = swept("--agent", "random")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("how long: 3 variants of ")
    assert lines[0].endswith(", seeds 0 to 4, completed")
    assert lines[1].split() == ["steps", "SPR", "NSS", "explore", "seeds", "failed"]
    assert [line.split()[0] for line in lines[3:6]] == ["1", "3", "9"]
    assert "Means are over its seeds" in flat(done.stdout)
    assert "NSS by limits.steps\n" in done.stdout
    assert done.stdout.count("●") >= 3
    assert "Replay: worldloom replay runs/" in done.stdout


def test_where_no_single_number_varies_nothing_is_drawn(swept):
    text = STUDY.replace("vary: {limits.steps: [1, 3, 9]}", "variants: {short: {limits.steps: 1}, long: {}}")
    done = swept("--agent", "random", text=text)
    assert done.exit_code == 0, done.stderr
    assert "●" not in done.stdout
    assert done.stdout.splitlines()[1].split()[:2] == ["variant", "steps"]
    assert any(line.split()[:2] == ["long", "default"] for line in done.stdout.splitlines())


def test_only_the_metrics_that_the_study_names_are_shown_and_a_misspelt_one_is_told(swept):
    done = swept("--agent", "random", text=STUDY + "metrics: [NSS, SPRR]\n")
    assert done.stdout.splitlines()[1].split() == ["steps", "NSS", "seeds", "failed"]
    assert "No metric 'SPRR' was scored, did you mean 'SPR'?" in flat(done.stdout)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_tables_and_pictures_keep_to_the_width_of_the_screen(swept, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = swept("--agent", "random").stdout.split("Record: ")[0]
    assert max(len(line) for line in text.splitlines()) <= columns


def test_it_is_shown_resumed_replayed_and_exported_as_other_runs(swept, command):
    table = swept("--agent", "random").stdout.split("Each variant")[0]
    shown = command("runs", "show", "last").stdout
    assert shown.startswith(table)
    assert "Against steps=1, seed by seed:" in shown
    assert command("replay", "last").exit_code == 0
    assert command("resume", "last").stdout.startswith(table)
    rows = list(csv.DictReader(io.StringIO(command("runs", "export", "last", "--format", "csv").stdout)))
    assert any("steps=3" in value for value in rows[-2].values())
    assert "how long" in command("runs", "list").stdout


def test_its_report_says_what_that_of_any_run_says_but_for_the_table(swept, command, project):
    assert swept("--agent", "random", "--max-steps", 7).exit_code == 0
    (folder,) = (project / "runs").iterdir()
    unjudged = Score("It was done with care.", None, 1, "criterion", "unscored", "there is no judge")
    with RunStore(folder).writing() as writer:
        broken = {"reason": "tool_failed", "fault": "infrastructure", "detail": "the pump broke"}
        put_value(writer, "resumed", [{"made_with": {}, "model_ids": {}}])
        put_episode(writer, 3, **broken, making=1)
        put_scores(writer, 4, [Score("NSS", 1.0, 1, "share", "rubric"), unjudged])
    text = flat(command("runs", "show", "last").stdout)
    for said in (
        "Failed, by no fault of the agent, and left out of the metrics: 1",
        "tool_failed: the pump broke",
        "Not all of one make: 1 of 21 episodes",
        "Unscored, and counted neither way: 1 criterion",
        "Limits of an episode: 7 steps",
    ):
        assert said in text
    assert "means over scenarios" not in text, "its table is over seeds, and says so"


def test_json_holds_the_rows(swept):
    found = json.loads(swept("--agent", "random", "--json").stdout)
    assert [row["values"] for row in found["sweep"]["rows"]] == [
        {"limits.steps": steps} for steps in (1, 3, 9)
    ]
    assert found["sweep"]["rows"][0]["metrics"]["SPR"]["seeds"] == 5


def test_a_fault_is_told_at_its_line_with_the_nearest_key(swept, project):
    done = swept("--agent", "random", text=STUDY.replace("limits.steps", "limits.stepps"))
    assert done.exit_code == 2
    assert "study.yaml:3:8: there is no 'stepps' in limits" in done.stderr
    assert "did you mean 'steps'?" in done.stderr
    assert not (project / "runs").exists()


def test_run_says_how_a_study_is_played(swept, command):
    swept("--agent", "random")
    done = command("run", "study.yaml")
    assert done.exit_code == 2
    assert "worldloom sweep" in done.stderr
