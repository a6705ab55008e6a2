"""Is B better than A: against closed forms, all that can be counted out, and worlds whose truth is known."""

import itertools
import math

import numpy as np
import pytest

from worldloom.core.errors import UsageError
from worldloom.runs import comparison
from worldloom.runs.agreement import wilson
from worldloom.runs.comparison import FEWEST, difference, mde, sign_flips


def generator(key):
    return np.random.Generator(np.random.Philox(key=key))


def scored(scores):
    """Scores by scenario, one a seed."""
    return [(name, seed, value) for name, row in scores.items() for seed, value in enumerate(row)]


def runs(differences):
    """Two runs of one episode a scenario whose scores differ by these."""
    a = [(f"{n:03}", 0, 0.5 - value / 2) for n, value in enumerate(differences)]
    b = [(f"{n:03}", 0, 0.5 + value / 2) for n, value in enumerate(differences)]
    return a, b


def test_the_difference_is_a_mean_over_scenarios_and_not_over_episodes():
    a = scored({"easy": [0.0] * 9, "hard": [1.0]})
    b = scored({"easy": [1.0] * 9, "hard": [1.0]})
    found = difference(a, b)
    assert (found.a, found.b, found.difference) == (0.5, 1.0, 0.5)
    assert (found.better, found.worse, found.scenarios, found.pairs) == (1, 0, 2, 10)


@pytest.mark.parametrize("differences", [(0.5, 0.25, -0.25, 1.0), (0.1, 0.3, -0.2, 0.4, 0.7)])
def test_the_interval_is_that_of_all_resamples_counted_out(differences):
    means = [sum(draw) / len(draw) for draw in itertools.product(differences, repeat=len(differences))]
    found = difference(*runs(differences))
    assert (found.low, found.high) == pytest.approx(tuple(np.percentile(means, [2.5, 97.5])), abs=0.03)


@pytest.mark.parametrize(("gained", "lost"), [(1, 0), (6, 0), (5, 1), (12, 3), (40, 22), (7, 7)])
def test_for_one_episode_a_scenario_the_test_is_mcnemars(gained, lost):
    """Two-sided binomial test of the discordant pairs against 1/2; concordant ones do not count."""
    n, most = gained + lost, max(gained, lost)
    p = min(1.0, 2 * sum(math.comb(n, k) for k in range(most, n + 1)) / 2**n)
    assert sign_flips([1.0] * gained + [-1.0] * lost + [0.0] * 9) == pytest.approx(p)


@pytest.mark.parametrize("unit", [1, 4, 60, math.pi])
def test_the_test_is_that_of_all_signs_counted_out(unit):
    """Multiples of a fraction are counted out; others are drawn, here 20,000 times for a p of about 0.1 or more."""
    sizes = generator(3).integers(-6, 9, size=11) / unit
    sums = [abs(np.dot(signs, sizes)) for signs in itertools.product((-1, 1), repeat=len(sizes))]
    exact = np.mean(np.array(sums) >= abs(sizes.sum()) - 1e-9)
    assert sign_flips(sizes) == pytest.approx(exact, abs=1e-12 if unit != math.pi else 0.01)


def test_fewer_scenarios_than_can_tell_anything_tell_nothing_however_often_they_are_played():
    for n in range(1, FEWEST + 2):
        a = scored({str(name): [0.0] * 50 for name in range(n)})
        b = scored({str(name): [1.0] * 50 for name in range(n)})
        assert difference(a, b).p == 2 / 2**n
        assert difference(a, b).told == (n >= FEWEST)


def test_episodes_of_one_scenario_are_no_independent_evidence():
    """Ten epochs that always end alike must neither narrow the interval nor lower p."""
    one, other = {str(n): [float(n % 3 == 0)] for n in range(20)}, {str(n): [float(n % 2)] for n in range(20)}
    once = difference(scored(one), scored(other))
    often = difference(
        scored({name: row * 10 for name, row in one.items()}),
        scored({name: row * 10 for name, row in other.items()}),
    )
    assert (often.low, often.high, often.p) == (once.low, once.high, once.p)
    assert often.pairs == 200


def test_episodes_are_paired_by_seed_where_the_runs_share_any():
    a = [("x", 0, 0.0), ("x", 1, 1.0), ("x", 2, 0.0), ("only-a", 0, 1.0)]
    b = [("x", 1, 0.0), ("x", 2, 0.0), ("x", 3, 1.0)]
    found = difference(a, b)
    assert found.by_seed
    assert (found.a, found.b, found.pairs, found.scenarios) == (0.5, 0.0, 2, 1)
    assert found.unpaired == 3, "seed 0 of A, seed 3 of B, and the scenario that only A has"


def test_where_the_runs_share_no_seed_as_many_episodes_of_each_are_compared():
    found = difference([("x", 0, 1.0)], [("x", 101, 0.0), ("x", 100, 1.0), ("x", 102, 1.0)])
    assert not found.by_seed
    assert (found.a, found.b, found.pairs, found.unpaired) == (1.0, 1.0, 1, 2)


def test_what_has_no_score_on_one_side_counts_on_neither():
    a = scored({"x": [1.0, None, 0.0, None], "y": [None]})
    b = scored({"x": [1.0, 0.0, None, None], "y": [1.0]})
    found = difference(a, b)
    assert (found.a, found.b, found.pairs, found.scenarios, found.unscored) == (1.0, 1.0, 1, 1, 4)


def test_a_run_does_not_win_by_failing_where_it_would_have_lost():
    """B passes 10 scenarios that A does not, and fails in 12, of which A passes all."""
    a = scored({f"{n:02}": [float(n >= 10)] for n in range(22)})
    b = scored({f"{n:02}": [1.0 if n < 10 else None] for n in range(22)})
    found = difference(a, b)
    assert found.told and found.difference == 1.0
    assert found.against == pytest.approx((10 - 12) / 22)
    assert not found.stands
    few = difference(a[:11], b[:11])
    assert few.against == pytest.approx(9 / 11)
    assert few.stands
    mirrored = difference(b, a)
    assert (mirrored.difference, mirrored.against, mirrored.stands) == (-1.0, pytest.approx(2 / 22), False)


def test_what_is_missing_has_no_worst_case_in_a_score_without_bounds():
    found = difference([("x", 0, 12.0), ("y", 0, None)], [("x", 0, 3.0), ("y", 0, 4.0)])
    assert (found.difference, found.against, found.unscored) == (-9.0, None, 1)


@pytest.mark.parametrize("each", [0.0, 1.0, -0.25])
def test_where_no_scenario_differs_from_another_the_interval_says_how_many_might(each):
    """Up to Wilson's share of scenarios could have any difference from -1 to 1."""
    found = difference(*runs([each] * 12))
    others = wilson(0, 12)[1]
    low, high = (1 - others) * each - others, (1 - others) * each + others
    assert (found.low, found.high) == pytest.approx((low, high))
    without_bounds = difference([("x", 0, 10.0), ("y", 0, 9.0)], [("x", 0, 12.0), ("y", 0, 11.0)])
    assert (without_bounds.difference, without_bounds.low, without_bounds.high) == (2.0, None, None)


def test_nothing_in_common_is_no_difference_and_one_scenario_has_no_interval():
    for a, b in [([], []), ([("x", 0, 1.0)], [("y", 0, 1.0)]), ([("x", 0, None)], [("x", 0, 1.0)])]:
        found = difference(a, b)
        assert (found.difference, found.p, found.scenarios, found.told) == (None, None, 0, False)
    one = difference([("x", 0, 0.0)], [("x", 0, 1.0)])
    assert (one.difference, one.low, one.high, one.told) == (1.0, None, None, False)


def test_the_same_scores_in_any_order_give_the_same_numbers_and_swapped_runs_the_opposite():
    rng = generator(9)
    a = scored({str(n): list(rng.random(3)) for n in range(15)})
    b = scored({str(n): list(rng.random(3)) for n in range(15)})
    found, swapped = difference(a, b), difference(b, a)
    assert difference(reversed(a), reversed(b)) == found
    assert swapped.difference == -found.difference
    assert (swapped.low, swapped.high) == pytest.approx((-found.high, -found.low), abs=0.01)
    assert swapped.p == pytest.approx(found.p, abs=0.01)


@pytest.mark.parametrize(
    ("effect", "scenarios", "critical"),
    [(0.2, 199, 1.9720), (0.5, 34, 2.0345), (0.8, 15, 2.1448), (1.0, 10, 2.2622)],
)
def test_the_scenarios_that_are_needed_are_those_of_the_t_test(effect, scenarios, critical):
    """With them, and not with a tenth fewer, 80 % of simulated t-tests find the effect (`critical`: of Student's t)."""
    values = np.array([1.0, -1.0] * 20) * 0.1
    values += effect * values.std(ddof=1)
    assert difference(*runs(values)).power.scenarios == scenarios
    drawn = generator(1).normal(effect, 1.0, size=(20_000, scenarios))
    t = drawn.mean(1) / drawn.std(1, ddof=1) * math.sqrt(scenarios)
    assert 0.79 < np.mean(np.abs(t) > critical) < 0.84


def test_what_can_be_detected_with_the_scenarios_that_are_needed_is_the_difference():
    values = np.tile([0.3, -0.1, 0.2, 0.0, -0.2, 0.1], 30)
    found = difference(*runs(values))
    needed = found.power.scenarios
    scale = math.sqrt((len(values) - 1.92) / (needed - 1.92))
    assert found.power.detectable * scale == pytest.approx(found.difference, rel=0.01)


def test_epochs_help_as_far_as_scenarios_do_not_differ():
    """Each scenario has the difference 0.1, and episodes vary by 0.5 about it: var / E must come down to a bound."""
    rng = generator(4)
    noise = rng.normal(0, 0.5, size=(30, 4))
    noise -= noise.mean(axis=1, keepdims=True)
    b = {f"{n:02}": list(0.1 + noise[n]) for n in range(30)}
    found = difference(scored({name: [0.0] * 4 for name in b}), scored(b))
    assert found.power.detectable is None and found.power.why == "no scenario differs from another"
    b = {f"{n:02}": list(0.1 + (0.01 if n % 2 else -0.01) + noise[n]) for n in range(30)}
    power = difference(scored({name: [0.0] * 4 for name in b}), scored(b)).power
    within = (noise**2).sum() / (30 * 3)
    bound = (0.1 / (1.959964 + 0.841621)) ** 2 * (30 - 1.92)
    assert power.epochs == math.ceil(within / bound), (
        "between scenarios the estimate is 0: they vary less than chance"
    )


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        ([[0.0]] * 4, [[1.0]] * 4, "fewer than 6 scenarios"),
        ([[0.0], [1.0]] * 4, [[1.0], [0.0]] * 4, "there is no difference"),
        ([[0.0], [1.0], [0.0]] * 3, [[1.0], [0.0], [1.0]] * 3, "one episode a scenario"),
        ([[0.0] * 2, [1.0] * 2, [0.0] * 2] * 3, [[1.0] * 2, [0.0] * 2, [1.0] * 2] * 3, "differ too much"),
    ],
)
def test_where_it_cannot_be_told_how_often_to_play_the_reason_is_given(a, b, why):
    found = difference(scored(dict(enumerate(map(list, a)))), scored(dict(enumerate(map(list, b)))))
    assert found.power.epochs is None
    assert why in found.power.why


def played(rng, chances, epochs):
    return [(f"{n:03}", e, float(rng.random() < p)) for n, p in enumerate(chances) for e in range(epochs)]


@pytest.mark.slow
@pytest.mark.parametrize(("scenarios", "epochs"), [(8, 1), (20, 4)])
def test_no_difference_is_told_too_often_where_there_is_none(monkeypatch, scenarios, epochs):
    """300 comparisons of an agent with itself: 5 % false ones at most, and 3.7 % more by chance (3 standard errors)."""
    monkeypatch.setattr("worldloom.runs.statistics.RESAMPLES", 500)
    rng, told = generator(11), 0
    for _ in range(300):
        chances = rng.beta(0.7, 0.7, size=scenarios)
        told += difference(played(rng, chances, epochs), played(rng, chances, epochs)).told
    assert told / 300 <= 0.087


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenarios", "epochs", "least"),
    [(6, 5, 0.83), (10, 5, 0.87), (20, 5, 0.90), (50, 5, 0.91), (20, 1, 0.91)],
)
def test_the_interval_covers_the_truth_as_often_as_the_docs_say(scenarios, epochs, least):
    rng, covered = generator(12), 0
    for _ in range(1000):
        chances = rng.beta(0.7, 0.7, size=scenarios)
        found = difference(played(rng, chances, epochs), played(rng, chances, epochs))
        covered += found.low <= 0 <= found.high
    assert least <= covered / 1000 <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize(("scenarios", "epochs"), [(40, 1), (40, 5)])
def test_a_design_finds_what_it_is_said_to_find_four_times_in_five(monkeypatch, scenarios, epochs):
    """Scores as `mde` assumes them: mean 0.5, half of the variance between scenarios, half of that shared."""
    monkeypatch.setattr("worldloom.runs.statistics.RESAMPLES", 500)
    monkeypatch.setattr(comparison, "FLIPS", 1000)
    rng, told, effect = generator(13), 0, mde(scenarios, epochs)
    own = math.sqrt(0.25 * 0.5 * 0.5)
    for _ in range(300):
        common = rng.normal(0.5, own, size=(scenarios, 1))
        a, b = (
            common
            + rng.normal(0, own, size=(scenarios, 1))
            + rng.normal(0, math.sqrt(0.125), (scenarios, epochs))
            for _ in range(2)
        )
        one, other = ({f"{n:02}": list(row) for n, row in enumerate(side)} for side in (a, b + effect))
        told += difference(scored(one), scored(other)).told
    assert told / 300 == pytest.approx(0.8, abs=0.07)


def test_what_a_design_can_find_follows_the_closed_form():
    z = 1.959964 + 0.841621
    assert mde(100) == pytest.approx(z * math.sqrt(2 * 0.25 * (0.25 + 0.5) / 98.08), rel=1e-6)
    assert mde(100, 5) == pytest.approx(z * math.sqrt(2 * 0.25 * (0.25 + 0.1) / 98.08), rel=1e-6)
    assert mde(100, between=1.0, shared=1.0) == 0.0
    assert mde(100, 1000, between=0.0) < 0.01


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"scenarios": 5}, "scenarios is 5; allowed: a whole number from 6"),
        ({"scenarios": 10, "epochs": 0}, "epochs is 0"),
        ({"scenarios": 10, "mean": 1.5}, "mean is 1.5; allowed: 0 to 1"),
        ({"scenarios": 10, "shared": math.nan}, "shared is nan"),
    ],
)
def test_a_design_that_cannot_be_is_refused(words, said):
    with pytest.raises(UsageError, match=said):
        mde(**words)


def test_many_scenarios_of_many_epochs_are_tested_by_draws_and_agree_with_the_normal_distribution(
    monkeypatch,
):
    values = generator(5).normal(0.05, 1.0, size=2000)
    z = values.sum() / math.sqrt((values**2).sum())
    assert sign_flips(values) == pytest.approx(math.erfc(abs(z) / math.sqrt(2)), abs=0.01)
    whole = np.array([3, -1, 2, 2, -2, 1, 1] * 20) / 5
    exact = sign_flips(whole)
    monkeypatch.setattr(comparison, "_WORK", 0)
    assert sign_flips(whole) == pytest.approx(exact, abs=0.01)
