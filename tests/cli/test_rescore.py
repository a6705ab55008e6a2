"""`runs rescore`, and what `runs list`, `show`, `compare` and `export` make of a further pass of scoring."""

import csv
import io
import json
import os
import re
import signal
import subprocess

import pytest

from worldloom.runs.store import RunStore


def says(verdict):
    return json.dumps({"reasoning": "so it is", "verdict": verdict})


PROSE = "evaluation_rubric:\n  - {criterion: It was done with care., pass_condition: Nothing was torn.}\n"


@pytest.fixture
def judged(project, command, serve):
    """A run of the careful agent, judged by a server that always says yes; its folder."""
    file = next((project / "scenarios").glob("*.yaml"))
    file.write_text(file.read_text("utf-8").replace("evaluation_rubric:\n", PROSE), "utf-8")
    server = serve([says("met")])
    done = command("run", "scenarios", "--agent", "careful", "--judge", "m", "--judge-base-url", server.url)
    assert done.exit_code == 0, done.stderr
    return next(one for one in (project / "runs").iterdir())


@pytest.fixture
def no(serve):
    """The options for a judge, called n, who always says no."""
    return ("--judge", "n", "--judge-base-url", serve([says("not_met")], names=("n",)).url)


def flat(text):
    return " ".join(text.split())


@pytest.mark.parametrize("columns", [80, 120])
def test_what_another_judge_changes_is_shown_in_any_width(judged, command, no, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    done = command("runs", "rescore", "last", *no)
    assert done.exit_code == 0, done.stderr
    assert "episodes scored: 2 of 2" in done.stderr
    text = flat(done.stdout)
    assert "scenarios: pass n against default old: default, judged by m new: n, judged by n" in text
    assert "SPR 1.00 0.00 -1.00 1" in text
    assert re.search(r"print-handouts: .*0 +2 +0 +0 +0", done.stdout)
    assert "1 print-handouts careful 1 criterion; SPR 1.00 → 0.00; NSS 1.00 →" in text
    assert "Judges: 2 criteria have a verdict in both passes" in text
    assert "As before: episodes, fingerprints and the pass default (run " in text
    assert f"worldloom runs show runs/{judged.name} --scoring n" in text
    assert max(map(len, done.stdout.splitlines()[:-1])) <= columns, "but for the command, which stays whole"


def test_where_no_episode_has_other_scores_every_metric_is_unchanged(played, command):
    text = command("runs", "rescore", "last").stdout
    assert "No episode has other scores than before." in text
    for metric in ("SPR", "NSS", "explore"):
        (line,) = (line for line in text.splitlines() if line.startswith(metric))
        assert line.split()[-2:] == ["unchanged", "1"]


def test_without_a_judge_there_are_only_checks_and_json_is_all_that_stands_on_stdout(judged, command):
    found = json.loads(command("runs", "rescore", "last", "--json").stdout)
    assert (found["scoring"]["name"], found["scoring"]["judge"]) == ("checks", None)
    assert found["verdicts"]["counts"]["now_unscored"] == 2
    assert found["untouched"] is True


def test_the_passes_of_a_run_are_listed_shown_and_exported(judged, command, no):
    assert "scored again" not in command("runs", "list").stdout
    command("runs", "rescore", "last", *no)
    command("runs", "rescore", "last")
    assert "checks, n" in command("runs", "list").stdout
    assert json.loads(command("runs", "list", "--json").stdout)[0]["scorings"] == ["checks", "n"]

    assert "Scored again: checks (checks only); n (judged by n)." in flat(
        command("runs", "show", "last").stdout
    )
    text = flat(command("runs", "show", "last", "--scoring", "n").stdout)
    assert text.startswith("Scores of the pass n, judged by n")
    assert "Judge: n judged 2 of 2 criteria" in text
    shown = json.loads(command("runs", "show", "last", "--scoring", "n", "--json").stdout)
    assert (shown["scoring"], [*shown["scorings"]], shown["judge"]["model"]) == ("n", ["checks", "n"], "n")
    one = command("runs", "show", "last", "--episode", "1", "--scoring", "n", "--json")
    assert json.loads(one.stdout)["scores"][0]["value"] == 0.0

    for scoring, spr in (("default", "1.0"), ("n", "0.0"), ("checks", "")):
        done = command("runs", "export", "last", "--format", "csv", "--scoring", scoring)
        assert [*csv.DictReader(io.StringIO(done.stdout))][1]["SPR"] == spr
    assert json.loads(command("runs", "export", "last", "--scoring", "n").stdout)["scoring"] == "n"
    paper = json.loads(command("runs", "export", "last", "--format", "paper", "--scoring", "n").stdout)
    assert paper[0]["evaluation"]["pass_rate"] < 1.0


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "show", "last"),
        ("runs", "show", "last", "--episode", "0"),
        ("runs", "export", "last"),
        ("runs", "export", "last", "--format", "paper"),
    ],
)
def test_an_unknown_pass_is_refused_with_those_that_there_are(judged, command, words):
    command("runs", "rescore", "last")
    done = command(*words, "--scoring", "cheks")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "no pass of scoring 'cheks', did you mean 'checks'?\n  allowed: default, checks" in done.stderr


def test_two_runs_are_compared_by_a_further_pass(judged, command):
    assert command("run", "scenarios", "--agent", "literal").exit_code == 0
    other = next(one.name for one in judged.parent.iterdir() if one.name != judged.name)
    for name in (judged.name, other):
        assert command("runs", "rescore", name).exit_code == 0
    done = command("runs", "compare", other, judged.name, "--scoring", "checks", "--metric", "NSS")
    assert done.exit_code == 0, done.stderr
    assert "completed, scoring checks (checks only)" in flat(done.stdout)
    assert "the judge differs" not in done.stdout
    found = json.loads(command("runs", "compare", other, judged.name, "--scoring", "checks", "--json").stdout)
    assert found["a"]["scoring"] == "checks"


def test_a_judge_that_does_not_answer_leaves_no_pass_behind(judged, command):
    done = command("runs", "rescore", "last", "--judge", "n", "--judge-base-url", "http://127.0.0.1:9/v1")
    assert done.exit_code == 2
    assert "does not answer" in done.stderr
    with RunStore(judged) as store:
        assert store.value("scorings") is None


def test_ctrl_c_ends_with_130_and_the_same_command_goes_on(judged, command, serve, python):
    server = serve([says("met")], names=("n",), hold=frozenset({3, 4}))
    words = ["runs", "rescore", "last", "--judge", "n", "--judge-base-url", server.url]
    process = subprocess.Popen(
        [*python, *words, "--concurrency", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    try:
        assert server.held.wait(60)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, stdout) == (130, "")
    assert "the same command goes on with the rest" in stderr
    assert "Traceback" not in stderr
    server.release.set()
    before = server.chats
    done = command(*words)
    assert done.exit_code == 0, done.stderr
    assert server.chats - before == 2, "the first episode's two answers are kept"


def test_the_help_fits_a_terminal(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = command("runs", "rescore", "--help").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "rescore" in command("runs", "--help").stdout
