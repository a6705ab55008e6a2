"""`fidelity`: the table, the same facts as JSON, and that it is a run like others."""

import json

import pytest

SAID = json.dumps({"thought_process": "", "success": True, "message": '{"ok":true}'})


@pytest.fixture
def measured(project, command, serve):
    """A fidelity run over the example scenario with a simulator that always says the same."""
    server = serve([SAID])
    words = ("--world-model", "m", "--world-base-url", server.url, "--random", 1, "--repeats", 2)
    return lambda *more: command("fidelity", "scenarios", *words, *more)


def flat(text):
    return " ".join(text.split())


def test_the_table_names_each_share_with_its_n_and_the_published_figures(measured):
    done = measured()
    assert done.exit_code == 0, done.stderr
    text = flat(done.stdout)
    assert "each call put to it 2 times" in text
    for name in ("exact", "action type", "message", "accepted", "unreadable", "read that wrote", "self type"):
        assert f"\n{name} " in done.stdout, name
    assert "93.3" in text
    assert "measured on other scenarios" in text
    assert "a simulator that never changes anything has an action type of" in text
    assert "1 scenario is too few for intervals to be trusted." in text
    for name in ("literal", "careful", "random"):
        assert f"\n{name} " in done.stdout
    assert "Replay: worldloom replay runs/" in text
    assert "recording 3 episodes" in done.stderr


def test_json_holds_the_same_facts(measured):
    found = json.loads(measured("--json").stdout)
    assert found["fidelity"]["repeats"] == 2
    exact = found["fidelity"]["all"]["exact"]
    assert exact["scenarios"] == 1
    assert exact["n"] == sum(part["measures"]["exact"]["n"] for part in found["fidelity"]["by_trajectory"])
    assert found["fidelity"]["all"]["self_exact"]["value"] == 1.0
    assert found["fidelity"]["published_best_on_other_scenarios"] == {"self_exact": 0.933, "self_type": 0.986}


def test_it_is_shown_resumed_replayed_and_exported_as_other_runs(measured, command):
    table = measured().stdout
    shown = command("runs", "show", "last")
    assert shown.exit_code == 0
    assert shown.stdout.startswith(table)
    assert command("runs", "show", "last", "--episode", 1).exit_code == 0
    assert command("replay", "last").exit_code == 0
    again = command("resume", "last")
    assert (again.exit_code, again.stdout) == (0, table)
    for format in ("json", "csv"):
        assert command("runs", "export", "last", "--format", format).exit_code == 0


def test_it_is_exported_and_drawn_by_the_graph_that_played_it_and_not_by_the_scenarios_own(measured, command):
    measured()
    exported = command("runs", "export", "last", "--format", "paper")
    assert (exported.exit_code, exported.stdout) == (2, "")
    assert "there is no format 'paper'\n  allowed: json, csv\n" in exported.stderr
    assert "played by the graph 'fidelity'" in command("runs", "draw", "last", "--episode", 0).stderr


def test_with_one_repeat_it_says_what_consistency_needs(project, command, serve):
    server = serve([SAID])
    done = command(
        "fidelity", "scenarios", "--world-model", "m", "--world-base-url", server.url, "--repeats", 1
    )
    assert "Consistency needs each call twice or more: --repeats." in flat(done.stdout)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--repeats", "0"), "--repeats"),
        (("--random", "-1"), "--random"),
        (("--record", "nowhere.json"), "there is no such file"),
        (("--suite", "nothing"), "nothing"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(project, command, words, said):
    paths = () if "--suite" in words else ("scenarios",)
    done = command("fidelity", *paths, *words)
    assert done.exit_code == 2
    assert said in done.stderr


def test_its_help_fits_a_terminal_and_says_what_is_compared(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = command("fidelity", "--help").stdout
    assert max(len(line) for line in text.splitlines()) <= 80
    for name in ("--world-model", "--random", "--record", "--repeats", "--max-steps", "--json"):
        assert name in text
