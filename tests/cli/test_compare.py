"""`runs compare`: what it prints, in JSON and in any width, and how it refuses."""

import json

import pytest


@pytest.fixture
def two(command, project):
    """Two runs of the example scenario and the starter suite: the floor `a`, then the ceiling `b`."""
    for agent, name in (("literal", "a"), ("careful", "b")):
        done = command("run", "--suite", "starter", "--agent", agent, "--epochs", "2")
        assert done.exit_code == 0, done.stderr
        made = next(one for one in (project / "runs").iterdir() if one.name not in ("a", "b"))
        made.rename(made.with_name(name))
    return project / "runs"


def test_the_verdict_the_table_and_what_it_would_take_are_shown_in_any_width(two, command, monkeypatch):
    for columns in (80, 140):
        monkeypatch.setenv("COLUMNS", str(columns))
        done = command("runs", "compare", "a", "b")
        assert done.exit_code == 0, done.stderr
        text = " ".join(done.stdout.split())
        assert "A: literal, a: 4 scenarios, 2 epochs, completed" in text
        assert "B: careful, b: 4 scenarios, 2 epochs, completed" in text
        assert (
            "no difference can be told: +1.00 [+0.02, +1.00] SPR over 4 scenarios; 6 are the fewest" in text
        )
        assert "SPR 0.00 1.00 +1.00 [+0.02, +1.00] 0.125 4 0 4" in text
        assert "SPR k any of k all of k n" in text
        assert "B 1 1.00 [0.51, 1.00] 1.00 [0.51, 1.00] 4" in text
        assert "No episode failed by a fault that is not the agent's." in text
        assert max(map(len, done.stdout.splitlines())) <= columns


def test_json_is_all_that_stands_on_stdout(two, command):
    done = command("runs", "compare", "last", "a", "--metric", "NSS", "--json")
    found = json.loads(done.stdout)
    assert (found["metric"], found["a"]["run"]) == ("NSS", str(two / "b"))
    assert found["verdict"].startswith("no difference can be told: -")
    assert found["differences"]["NSS"]["p"] == 0.125


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a", "a"), "A and B are the same run"),
        (("a", "nothing"), "no run 'nothing'"),
        (("a", "b", "--metric", "nss"), "did you mean 'NSS'?"),
        (("a",), "Missing argument 'B'"),
    ],
)
def test_what_cannot_be_compared_is_wrong_use(two, command, words, said):
    done = command("runs", "compare", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_the_help_fits_a_terminal(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = command("runs", "compare", "--help").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "compare" in command("runs", "--help").stdout
