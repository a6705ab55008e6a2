"""What a market offers in a round: which jobs, at which budgets, in which shocks."""

import numpy as np
import pytest

from worldloom.core.errors import UsageError
from worldloom.runs.chance import normals, uniforms
from worldloom.worlds.market.rules import shown_budgets


def test_a_budget_is_its_base_and_noise_and_at_least_a_tenth(market):
    rules = market(jobs={"per_skill": 2, "budgets": [10, 0.1], "budget_noise": 0.5}).rules
    _, budget = rules.listing(7, 3)
    noise = normals(7, "market.budget", 3, np.arange(6, dtype=np.uint64))
    assert budget.tolist() == [
        max(0.1, base + 0.5 * n) for base, n in zip([10, 10, 0.1, 0.1, 10, 10], noise, strict=True)
    ]
    assert 0.1 in budget.tolist()


def test_a_job_is_shown_with_its_probability(market):
    rules = market(jobs={"per_skill": 2000}).rules
    listed, budget = rules.listing(1, 0)
    draws = uniforms(1, "market.listing", 0, np.arange(6000, dtype=np.uint64))
    assert listed.tolist() == (draws < 0.8).tolist()
    assert abs(listed.mean() - 0.8) < 0.02
    assert abs(np.std(budget[:2000]) - 0.05) < 0.005
    assert market(jobs={"listing_probability": 1}).rules.listing(1, 0)[0].all()
    assert not market(jobs={"listing_probability": 0}).rules.listing(1, 0)[0].any()


def test_base_budgets_go_by_skill_and_begin_anew(market):
    rules = market(skills=list("abcdef")).rules
    assert rules.base_budgets(0).tolist() == [10, 8, 6, 4, 10, 8]
    assert rules.job_names[:5] == ("a-1", "a-2", "b-1", "b-2", "c-1")
    assert rules.job_skill.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def test_a_recession_comes_in_block_1_of_every_3_blocks_of_10_rounds(market):
    rules = market(rounds=70, shocks=[{"type": "recession"}]).rules
    poor = [round for round in range(70) if rules.base_budgets(round).tolist() == [1, 1, 1]]
    assert poor == [*range(10, 20), *range(40, 50)]
    assert rules.base_budgets(20).tolist() == [10, 8, 6]


def test_a_market_change_lasts_and_a_later_shock_overrides_it(market):
    change = {"type": "market_change", "round": 5, "budgets": [4, 6]}
    rules = market(rounds=30, shocks=[change, {"type": "recession"}]).rules
    assert [rules.base_budgets(round).tolist() for round in (4, 5, 10, 20)] == [
        [10, 8, 6],
        [4, 6, 4],
        [1, 1, 1],
        [4, 6, 4],
    ]


def test_a_shown_budget_is_in_cents_and_never_above_the_budget():
    budget = np.array([9.999, 0.1, np.nextafter(0.57, 0), 12.0])
    shown = shown_budgets(budget)
    assert (shown <= budget).all()
    assert shown.tolist() == [9.99, 0.1, shown[2], 12.0]


@pytest.mark.parametrize("seats", [["a", "a"], []])
def test_agents_must_have_names_that_differ(market, scenario, seats):
    from worldloom.worlds.market.body import body_of
    from worldloom.worlds.market.rules import rules_for

    with pytest.raises(UsageError, match="each once"):
        rules_for(body_of(scenario()), seats, "")


def test_columns_are_read_only(market):
    state = market().initial(0)
    for column in (state.listed, state.budget, state.skills, state.evidence.good, state.reputation):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
