"""`run` and what it prints: the table, the reasons, the limits, what to do next."""

import json
import re


def test_a_run_shows_floor_ceiling_and_contestant_and_says_what_to_do_next(command, project):
    done = command("run", "scenarios", "--agent", "random")
    assert done.exit_code == 0, done.stderr
    names = [line.split("  ")[0] for line in done.stdout.splitlines()]
    assert names.index("literal (floor)") < names.index("careful (ceiling)") < names.index("random")
    folder = next((project / "runs").iterdir()).name
    for text in (
        "SPR",
        "NSS",
        "explore",
        "steps",
        "tokens",
        "failed",
        "Ended: ",
        "Limits of an episode: 50 steps",
    ):
        assert text in done.stdout
    assert f"Record: runs/{folder}" in done.stdout
    assert f"worldloom replay runs/{folder}" in done.stdout
    assert f"recording 3 episodes in runs/{folder}" in done.stderr


def test_the_score_is_that_of_the_rubric_and_no_reason_to_fail(command, project):
    done = command("run", "scenarios", "--agent", "literal", "--json")
    assert done.exit_code == 0
    table = {line["cast_name"]: line for line in json.loads(done.stdout)["table"]}
    assert table["literal"]["metrics"]["SPR"]["mean"] == 0
    assert table["careful"]["metrics"]["SPR"]["mean"] == 1
    assert table["careful"]["metrics"]["NSS"]["mean"] == 1


def test_json_is_all_that_stands_on_stdout(command, project, serve, careful):
    server = serve(careful)
    done = command("run", "scenarios", "--model", "m", "--base-url", server.url, "--epochs", "2", "--json")
    assert done.exit_code == 0
    result = json.loads(done.stdout)
    assert result["status"] == "completed"
    assert [row["cast_name"] for row in result["episodes"]] == ["literal", "careful", "m", "m"]
    assert [row["seed"] for row in result["episodes"]][-2:] == [0, 1]


def test_a_model_behind_a_server_is_evaluated(command, project, serve, careful):
    server = serve(careful)
    done = command("run", "scenarios", "--model", "hosted_vllm/m", "--base-url", server.url)
    assert done.exit_code == 0
    row = next(line for line in done.stdout.splitlines() if line.startswith("hosted_vllm/m"))
    assert row.split()[1:] == ["1", "1.00", "1.00", "0.33", "3.0", "36", "0"]
    assert "135 million" not in done.stdout


def test_a_run_is_cut_to_the_steps_that_are_allowed(command, project, serve, careful):
    server = serve(careful[:1])
    done = command("run", "scenarios", "--model", "m", "--base-url", server.url, "--max-steps", "3")
    assert done.exit_code == 0
    assert "step_limit 1 (the limit on steps was reached)" in done.stdout
    assert "Limits of an episode: 3 steps" in done.stdout


def test_the_environment_names_a_model_and_a_flag_overrides_it(command, project, serve, careful, monkeypatch):
    server = serve(careful)
    monkeypatch.setenv("WORLDLOOM_MODEL", "other")
    monkeypatch.setenv("WORLDLOOM_BASE_URL", server.url)
    assert "\nother " in command("run", "scenarios").stdout
    assert "\nm " in command("run", "scenarios", "--model", "m").stdout


def test_failures_of_the_server_are_shown_and_counted_apart(command, project, serve):
    server = serve(["not what was asked for"])
    server.answer = lambda body: 1 / 0  # the connection breaks
    done = command("run", "scenarios", "--model", "m", "--base-url", server.url)
    assert done.exit_code == 0, "the run came to its end"
    assert "Failed, by no fault of the agent, and left out of the metrics: 1" in done.stdout
    assert "print-handouts, m, model_failed: " in done.stdout


def test_a_table_that_does_not_fit_puts_intervals_below_their_means(command, here, serve, monkeypatch):
    server = serve(['{"thought_process": "", "action": "TASK_COMPLETE"}'])
    name = "hosted_vllm/Someone/A-Model-With-A-Long-Name-8B"
    assert command("run", "--suite", "everyday", "--model", name, "--base-url", server.url).exit_code == 0
    for columns in (80, 100, 150):
        monkeypatch.setenv("COLUMNS", str(columns))
        shown = command("runs", "show", "last").stdout.partition("Metrics:")[0]
        assert max(len(line) for line in shown.splitlines()) <= columns
        assert len(re.findall(r"\[0\.\d\d, \d\.\d\d\]", shown)) >= 10, (
            f"an interval is broken at {columns} columns"
        )
    assert name in shown


def test_without_a_path_the_starter_suite_is_played_with_limits_of_its_own(command, here):
    done = command("run", "--agent", "careful")
    assert done.exit_code == 0, done.stderr
    assert "starter: 4 scenarios" in done.stdout
    assert "Limits of an episode: 10 steps" in done.stdout


def test_the_embedded_model_is_said_to_prove_the_machinery_only(command, project, monkeypatch):
    """Weights are pulled before anything begins; what would load them is not there in this test."""
    pulled = []
    monkeypatch.setattr("worldloom.cli.pulling.open_model", lambda spec: None)
    monkeypatch.setattr("worldloom.cli.pulling.pull_shown", lambda screen, wanted: pulled.append(wanted.name))
    done = command("run", "scenarios", "--model", "embedded", "--base-url", "http://127.0.0.1:9/v1")
    assert pulled == ["smollm2"]
    assert (done.exit_code, list(project.glob("runs/*"))) == (2, [])
    assert "takes no base URL" in done.stderr
