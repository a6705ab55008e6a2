"""pass@k, pass^k and the parts of the variance: against subsets counted out, closed forms, and known truths."""

import itertools
import math

import numpy as np
import pytest

from worldloom.runs.agreement import wilson
from worldloom.runs.repeats import at_k, variance
from worldloom.runs.statistics import bootstrap_interval


def generator(key):
    return np.random.Generator(np.random.Philox(key=key))


def test_both_chances_are_those_of_all_subsets_counted_out():
    outcomes = {"x": [1, 0, 0, 1, 1], "y": [0, 0, 0, 0, 1], "z": [1, 1, 1, 1, 1]}
    found = at_k((name, float(value)) for name, row in outcomes.items() for value in row)
    assert [one.k for one in found] == [1, 2, 4, 5]
    for one in found:
        subsets = [list(itertools.combinations(row, one.k)) for row in outcomes.values()]
        some = np.mean([np.mean([any(subset) for subset in each]) for each in subsets])
        every = np.mean([np.mean([all(subset) for subset in each]) for each in subsets])
        assert (one.any.mean, one.all.mean) == pytest.approx((some, every))
        assert (one.any.scenarios, one.any.episodes) == (3, 15)


@pytest.mark.parametrize("chance", [0.1, 0.5, 0.9])
def test_both_estimates_are_unbiased(chance):
    """Over all that 6 episodes can come to, their means are 1 - (1 - p)^k and p^k."""
    expected = {k: [0.0, 0.0] for k in (1, 2, 4, 6)}
    for passed in range(7):
        weight = math.comb(6, passed) * chance**passed * (1 - chance) ** (6 - passed)
        for one in at_k(("x", float(n < passed)) for n in range(6)):
            expected[one.k][0] += weight * one.any.mean
            expected[one.k][1] += weight * one.all.mean
    for k, (some, every) in expected.items():
        assert (some, every) == pytest.approx((1 - (1 - chance) ** k, chance**k))


def test_a_scenario_counts_only_up_to_the_episodes_that_it_has():
    found = at_k([("x", 1.0), ("x", 1.0), ("x", None), ("y", 0.0), ("z", None)])
    assert [(one.k, one.all.mean, one.all.scenarios, one.all.episodes) for one in found] == [
        (1, 0.5, 2, 3),
        (2, 1.0, 1, 2),
    ]
    assert found[0].any.unscored == 2


def test_where_scores_are_no_passes_there_is_no_chance_of_passing():
    assert at_k([("x", 1.0), ("x", 0.5)]) == []
    assert at_k([("x", None)]) == []
    assert at_k([]) == []


def test_intervals_are_over_scenarios_and_where_none_differs_from_another_they_are_wilsons():
    mixed = at_k([("a", 1.0), ("a", 0.0), ("b", 1.0), ("b", 1.0), ("c", 0.0), ("c", 0.0)])
    assert (mixed[0].all.low, mixed[0].all.high) == bootstrap_interval(np.array([0.5, 1.0, 0.0]))
    alike = at_k([(name, 1.0) for name in "abcdefgh"] * 3)
    assert (alike[-1].all.low, alike[-1].all.high) == wilson(8, 8)
    alone = at_k([("a", 1.0), ("a", 0.0)])
    assert (alone[0].any.mean, alone[0].any.low) == (0.5, None)


def drawn(rng, sizes, parts):
    """Scores of scenarios with given numbers of episodes a seed; `parts`: variances of scenario, seed and repeat."""
    deviations = [math.sqrt(part) for part in parts]
    for scenario, seeds in enumerate(sizes):
        of_scenario = rng.normal(0, deviations[0])
        for seed, repeats in enumerate(seeds):
            of_seed = rng.normal(0, deviations[1])
            for _ in range(repeats):
                yield str(scenario), seed, of_scenario + of_seed + rng.normal(0, deviations[2])


def test_with_as_many_episodes_everywhere_the_parts_are_those_of_the_table_of_variance():
    rng = generator(1)
    values = rng.normal(0, 1, size=(12, 5)) + rng.normal(0, 2, size=(12, 1))
    found = variance((str(n), e, value) for n, row in enumerate(values) for e, value in enumerate(row))
    within = values.var(axis=1, ddof=1).mean()
    between = values.mean(axis=1).var(ddof=1)
    assert found.seed == pytest.approx(within)
    assert found.scenario == pytest.approx(between - within / 5)
    assert found.repeat is None
    assert found.standard_error == pytest.approx(math.sqrt(between / 12)), "that of the means of scenarios"
    assert found.shares == pytest.approx({"scenario": 1 - within / 5 / between, "seed": within / 5 / between})
    assert found.endless_epochs == pytest.approx(math.sqrt(found.scenario / 12))
    assert (found.scenarios, found.episodes) == (12, 60)


def test_with_repeats_the_parts_are_those_of_the_nested_table_of_variance():
    values = np.array([value for *_, value in drawn(generator(2), [[3] * 4] * 10, (4, 2, 1))]).reshape(
        10, 4, 3
    )
    found = variance(
        (str(n), seed, value)
        for n, seeds in enumerate(values)
        for seed, row in enumerate(seeds)
        for value in row
    )
    repeat = values.var(axis=2, ddof=1).mean()
    seed = values.mean(axis=2).var(axis=1, ddof=1).mean() - repeat / 3
    between = values.mean(axis=(1, 2)).var(ddof=1)
    assert (found.repeat, found.seed) == pytest.approx((repeat, seed))
    assert found.scenario == pytest.approx(between - seed / 4 - repeat / 12)
    assert sum(found.shares.values()) == pytest.approx(1)


@pytest.mark.parametrize("parts", [(1.0, 0.5, 0.25), (0.5, 0.8, 1.0)])
def test_with_any_numbers_of_episodes_the_parts_are_right_on_average(parts):
    rng = generator(3)
    sizes = [[1, 2], [3], [1, 1, 1, 2], [2, 2], [4, 1], [1], [2, 3, 1], [1, 1]] * 4
    found = [variance(drawn(rng, sizes, parts)) for _ in range(400)]
    means = [np.mean([getattr(one, name) for one in found]) for name in ("scenario", "seed", "repeat")]
    assert means == pytest.approx(parts, abs=0.06), "within 3 standard errors of 400 draws"


def test_seeds_that_were_played_only_in_one_scenario_or_once_tell_what_they_can():
    assert variance([]).scenarios == 0
    assert variance([("x", 0, None)]).standard_error is None
    once = variance([("x", 0, 1.0), ("y", 0, 0.0)])
    assert (once.scenario, once.seed, once.repeat, once.standard_error) == (0.5, None, None, None)
    alone = variance([("x", 0, 1.0), ("x", 1, 0.0)])
    assert (alone.scenario, alone.seed, alone.standard_error) == (None, 0.5, None)
    same_seed = variance([("x", 0, 1.0), ("x", 0, 0.0), ("y", 0, 1.0), ("y", 0, 0.0)])
    assert (same_seed.seed, same_seed.repeat, same_seed.shares) == (
        None,
        0.5,
        {"scenario": 0.0, "repeat": 1.0},
    )
    still = variance([("x", 0, 1.0), ("x", 1, 1.0), ("y", 0, 1.0), ("y", 1, 1.0)])
    assert (still.standard_error, still.shares, still.endless_epochs) == (0.0, {}, None)


def test_scores_in_any_order_give_the_same_parts():
    values = list(drawn(generator(4), [[2, 1], [3, 3], [1]], (1, 1, 1)))
    assert variance(values) == variance(reversed(values))
