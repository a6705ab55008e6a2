"""What models cost: a function of what the projections tell and of prices, and never 0 where it is unknown."""

import json

import pytest

from worldloom.runs.cost import GpuPrice, Priced, Prices, TokenPrice, cost_of, union
from worldloom.runs.rows import EpisodeRow

TOKENS = TokenPrice(2.0, 10.0)
GPUS = GpuPrice(3.6, 2)


def row(models, scoring="{}", started_at=None, seconds=None):
    return EpisodeRow(
        0, "id", "s", "", "toy", 0, 0, models=models, scoring_models=scoring, started_at=started_at, seconds=seconds
    )  # fmt: skip


def prices(**named):
    return Prices("EUR", {name: Priced(f"m-{name}", price) for name, price in named.items()})


def test_tokens_are_priced_by_the_million_and_the_judge_counts():
    rows = [
        row('{"agent":[2,500000,50000,0,0]}', '{"judge":[1,100000,0,0,0]}'),
        row('{"agent":[1,500000,50000,1,0]}'),
    ]
    cost = cost_of(rows, prices(agent=TOKENS, judge=TOKENS))
    assert [(part.names, part.model, part.value) for part in cost.parts] == [
        (["agent"], "m-agent", 3.0),
        (["judge"], "m-judge", 0.2),
    ]
    assert (cost.value, cost.currency) == (3.2, "EUR")
    assert json.loads(json.dumps(cost.to_json()))["value"] == 3.2


@pytest.mark.parametrize(
    ("models", "why"),
    [
        ('{"agent":[2,10,5,0,0],"world":[1,10,5,0,0]}', "no price for m-world"),
        ('{"agent":[2,10,5,0,0],"stranger":[1,10,5,0,0]}', "no price for stranger"),
        ('{"agent":[2,10,5,0,1]}', "the server of m-agent counted no tokens of 1 answer"),
        ('{"agent":[9,0,0,2,3]}', "the server of m-agent counted no tokens of 3 answers"),
    ],
)
def test_what_has_no_price_and_what_was_not_counted_is_unknown_and_not_0(models, why):
    cost = cost_of([row(models)], prices(agent=TOKENS, world=None))
    assert cost.value is None
    assert [part.why for part in cost.parts if part.value is None] == [why]


@pytest.mark.parametrize("models", ["{}", '{"agent":[0,0,0,0,0]}'])
def test_a_model_that_was_not_asked_costs_nothing_priced_or_not(models):
    cost = cost_of([row(models)], prices(agent=None))
    assert (cost.value, cost.parts) == (0.0, [])


@pytest.mark.parametrize(
    ("spans", "seconds"),
    [
        ([], 0),
        ([(5, 8)], 3),
        ([(0, 4), (2, 6)], 6),
        ([(2, 3), (0, 10), (4, 5)], 10),
        ([(7, 9), (0, 2), (2, 3)], 5),
        ([(1, 1)], 0),
    ],
)
def test_seconds_that_several_episodes_share_are_paid_once(spans, seconds):
    assert union(spans) == seconds


def test_gpus_are_paid_while_an_episode_that_asks_the_model_is_under_way():
    rows = [
        row('{"agent":[1,1,1,0,0]}', started_at=100.0, seconds=30.0),
        row('{"agent":[1,1,1,0,0]}', started_at=120.0, seconds=30.0),
        row("{}", started_at=200.0, seconds=999.0),
        row('{"agent":[1,1,1,0,1]}', started_at=300.0, seconds=10.0),
    ]
    (part,) = cost_of(rows, prices(agent=GPUS)).parts
    assert part.gpu_seconds == 2 * (50 + 10)
    assert part.value == pytest.approx(120 / 3600 * 3.6)


def test_a_server_of_agent_and_judge_is_paid_once():
    both = Prices("USD", {"agent": Priced("m", GPUS), "judge": Priced("m", GPUS)})
    (part,) = cost_of([row('{"agent":[1,1,1,0,0]}', '{"judge":[1,1,1,0,0]}', 0.0, 50.0)], both).parts
    assert (part.names, part.gpu_seconds) == (["agent", "judge"], 100.0)


@pytest.mark.parametrize("price", [None, TOKENS, GPUS])
def test_prices_come_out_of_a_manifest_as_they_went_in(price):
    written = prices(agent=price)
    assert Prices.from_json(json.loads(json.dumps(written.to_json()))) == written
