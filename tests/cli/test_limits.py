"""`--limit`, `--run-limit` and the line that says what a run cost."""

import json

import pytest

PRICES = "prices:\n  m: {prompt: 1000, completion: 10000}\n"


@pytest.fixture
def limited(command, project, serve, careful):
    """Runs the model `m`, which has a price, with further words."""
    server = serve(careful)
    (project / "worldloom.yaml").write_text(PRICES)
    return lambda *words: command("run", "scenarios", "--model", "m", "--base-url", server.url, *words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--limit", "token=5"), "did you mean 'tokens'?"),
        (("--limit", "tokens"), "each as NAME=VALUE"),
        (("--limit", "steps=5"), "--max-steps"),
        (("--run-limit", "steps=5"), "--max-steps"),
        (("--run-limit", "repeats=5"), "allowed: model_calls, tokens, wall_s, cost"),
        (("--limit", "tokens=many"), "tokens is 'many'; allowed: a whole number"),
        (("--limit", "tokens=-1"), "tokens is -1"),
        (("--run-limit", "wall_s=soon"), "wall_s is 'soon'; allowed: a number"),
        (("--run-limit", "wall_s=nan"), "allowed: seconds, more than 0"),
        (("--limit", "cost=0"), "allowed: money, more than 0"),
        (("--limit", "tokens=1", "--limit", "tokens=2"), "given twice"),
    ],
)
def test_what_is_no_limit_is_refused_with_what_is_allowed(limited, project, words, said):
    done = limited(*words)
    assert done.exit_code == 2
    assert said in done.stderr.replace("\n", " ")
    assert not (project / "runs").exists()


def test_limits_of_an_episode_leave_the_usual_steps_alone_and_are_told(limited):
    done = limited(
        "--limit", "tokens=20", "--limit", "cost=0.5", "--limit", "repeats=2", "--limit", "wall_s=100"
    )
    assert done.exit_code == 0, done.stderr
    assert "Limits of an episode: 50 steps; 20 tokens; 100.0 seconds; 0.5 USD; 2 times" in done.stdout
    assert "token_limit" in done.stdout


def test_a_run_that_has_used_what_it_may_exits_with_1_and_says_how_to_go_on(limited, command, project):
    done = limited("--run-limit", "model_calls=2", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["status"] == "run_limit"
    shown = command("runs", "show", "last").stdout
    assert "Stopped: what --run-limit allows has been used." in shown
    assert "worldloom resume runs/" in shown
    done = command("resume", "last", "--run-limit", "model_calls=1")
    assert (done.exit_code, "run_limit" in done.stdout) == (1, True)
    done = command("resume", "last")
    assert (done.exit_code, "completed" in done.stdout) == (0, True)
    assert command("replay", "last").exit_code == 0


def test_a_run_and_each_episode_say_what_they_cost(limited, command):
    done = limited()
    # Four answers of 7 tokens of prompt and 2 of their own: 0.108.
    assert "Cost: 0.11 USD (agent m 0.11)." in done.stdout
    assert "Cost: 0.11 USD (agent m 0.11)." in command("runs", "show", "last", "--episode", "2").stdout
    assert "Cost" not in command("runs", "show", "last", "--episode", "0").stdout
    assert json.loads(command("runs", "show", "last", "--json").stdout)["cost"]["value"] == pytest.approx(
        0.108
    )


def test_gpu_seconds_are_named_where_they_are_what_was_priced(limited, project):
    (project / "worldloom.yaml").write_text("currency: EUR\nprices:\n  m: {gpu_hour: 3600000, gpus: 1}\n")
    line = next(line for line in limited().stdout.splitlines() if line.startswith("Cost: "))
    assert " EUR (agent m " in line
    assert line.endswith(" GPU-seconds).")


def test_an_unknown_cost_is_told_as_unknown_with_what_to_do(limited, project):
    (project / "worldloom.yaml").write_text("runs_dir: runs\n")
    assert (
        "Cost: unknown: no price for m; name it under prices in worldloom.yaml, for the next run."
        in limited().stdout
    )
    done = limited("--run-limit", "cost=1")
    assert done.exit_code == 2
    assert "'m' has no price" in done.stderr
