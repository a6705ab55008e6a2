"""Every argument of the Python API that cannot be used is a UsageError that names it; nothing is written then."""

import math

import pytest

import worldloom as wl


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"epochs": "2"}, "epochs is '2'"),
        ({"epochs": 0}, "epochs is 0"),
        ({"seed": "a"}, "seed is 'a'"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**63}, "seed is 9223372036854775808"),
        ({"concurrency": 1.5}, "concurrency is 1.5"),
        ({"max_steps": 0}, "max_steps is 0"),
        ({"paths": ""}, "names nothing"),
        ({"paths": ["a\0b"]}, "names nothing"),
        ({"paths": [3]}, "3 is no path"),
        ({"runs_dir": "a\0b"}, "names nothing"),
        ({"model": ""}, "the model's name is empty"),
        ({"paths": (), "suite": ""}, "there is no suite ''"),
        ({"paths": (), "suite": ["starter"]}, "there is no suite"),
    ],
)
def test_a_run_refuses_it(files, runs, speaking, wrong, said):
    with pytest.raises(wl.UsageError) as refused:
        wl.run(**{"paths": files, "model": "m", "runs_dir": runs, **wrong})
    assert said in str(refused.value)
    assert not runs.exists()


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
