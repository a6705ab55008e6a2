"""Every argument of the Python API that cannot be used is a UsageError that names it; nothing is written then."""

import json
import math
from pathlib import Path

import pytest

import worldloom as wl


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"epochs": "2"}, "epochs is '2'"),
        ({"epochs": 0}, "epochs is 0"),
        ({"epochs": 10**9}, "epochs is 1000000000; allowed: a whole number from 1 to 100000"),
        ({"epochs": 50_001}, "epochs is 50001 for 2 scenarios; allowed: at most 100,000 episodes"),
        ({"epochs": 10**5000}, "epochs is a number of thousands of digits"),
        ({"seed": "a"}, "seed is 'a'"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**63}, "seed is 9223372036854775808"),
        ({"concurrency": 1.5}, "concurrency is 1.5"),
        ({"max_steps": 0}, "max_steps is 0"),
        ({"paths": ""}, "names nothing"),
        ({"paths": ["a\0b"]}, "names nothing"),
        ({"paths": [3]}, "3 is no path"),
        ({"runs_dir": "a\0b"}, "names nothing"),
        ({"paths": 5}, "5 is no path"),
        ({"paths": (), "suite": ""}, "there is no suite ''"),
        ({"paths": (), "suite": ["starter"]}, "there is no suite"),
        ({"limits": 5}, "limits is 5"),
        ({"world": None}, "world is None"),
    ]
    + [
        ({"world": "model", "judge": "m", name: value}, f"{name} is {value!r}; allowed: ")
        for name in ("agent", "model", "base_url", "world", "world_model", "world_base_url", "judge", "judge_base_url")
        for value in (5, True, Path("x"), "", " ")
    ],
)  # fmt: skip
def test_a_run_refuses_it(files, runs, speaking, wrong, said):
    with pytest.raises(wl.UsageError) as refused:
        wl.run(**{"paths": files, "model": "m", "runs_dir": runs, **wrong})
    assert said in str(refused.value)
    assert not runs.exists()


IGNORED = [
    ({"world": "rules:x"}, "the world `rules` takes no argument, and was given 'x'"),
    ({"agent": "careful", "model": "m"}, "model is given, but the agent 'careful' asks no model"),
    ({"agent": "careful", "base_url": "http://h/v1"}, "base_url is given, but the agent 'careful' asks no model"),
    ({"world_model": "m"}, "world_model is given, but the world 'rules' asks no model"),
    ({"world_base_url": "http://h/v1"}, "world_base_url is given, but the world 'rules' asks no model"),
    ({"judge_base_url": "http://h/v1"}, "judge_base_url is given, but there is no judge"),
]  # fmt: skip


@pytest.mark.parametrize(("unused", "said"), IGNORED)
def test_a_run_refuses_what_it_would_ignore(files, runs, speaking, unused, said):
    with pytest.raises(wl.UsageError, match="; allowed: ") as refused:
        wl.run(files, runs_dir=runs, **unused)
    assert said in str(refused.value)
    assert not runs.exists()


def test_what_the_project_file_says_of_models_may_be_of_no_use(files, runs):
    models = {
        purpose: {"model": f"openai/{purpose}", "base_url": "http://h/v1"} for purpose in ("agent", "world")
    }
    Path("worldloom.yaml").write_text(json.dumps({"models": models}), "utf-8")
    assert wl.run(files, agent="careful", runs_dir=runs).status == "completed"


@pytest.mark.parametrize(
    "wrong",
    [{"steps": 0}, {"steps": None}, {"tokens": -5}, {"model_calls": 1.5}, {"repeats": "3"}]
    + [{"wall_s": seconds} for seconds in (0, -1, math.nan, math.inf, "1", True)],
)
def test_limits_refuse_it(wrong):
    with pytest.raises(wl.UsageError, match=f"^{next(iter(wrong))} is .*; allowed: "):
        wl.Limits(**wrong)


def test_other_doors_refuse_it(runs):
    for call in (wl.resume, wl.replay, wl.load_scenario, wl.load_suite):
        for value in ("", None, 5, "\0"):
            with pytest.raises(wl.UsageError):
                call(value)
