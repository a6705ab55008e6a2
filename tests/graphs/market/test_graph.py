"""A market as a graph: agents and cohorts side by side, limits, what is hidden, replay, and runs by name."""

import asyncio

import pytest

import worldloom as wl
from worldloom.agents.cohort import Cohort
from worldloom.graphs.market.scorer import MarketScorer
from worldloom.models import factory
from worldloom.models.model import Completion, Usage
from worldloom.models.scripted import ScriptedModel
from worldloom.runs.context import Context
from worldloom.runs.store import RunStore

MIXED = """\
kind: market
id: mixed
world:
  rounds: 4
  skills: [writing, code]
  jobs: {per_skill: 3, budgets: [10, 6]}
cast:
  greedy: {agent: greedy_price, count: 3}
  knowing: oracle
  talking: {agent: react, count: 2}
  other: {agent: cot, model: hosted_vllm/other}
"""


@pytest.fixture
def market(tmp_path, monkeypatch):
    """`market(text)` writes a scenario; every model that is opened says something that is no reply."""
    monkeypatch.chdir(tmp_path)
    opened = []

    def open_model(spec, **_):
        opened.append(spec.model)
        return ScriptedModel(lambda _: Completion("hm", usage=Usage(5, 1)), name=spec.model)

    monkeypatch.setattr(factory, "open_model", open_model)

    def write(text=MIXED):
        file = tmp_path / "market.yaml"
        file.write_text(text, "utf-8")
        return file

    write.opened = opened
    return write


def events(result, type, row=0):
    with RunStore(result.folder) as store:
        return [event.body for event in store.events(row).values() if event.type == type]


def test_a_mixed_market_runs_by_name_with_the_models_its_cast_names_and_replays(market):
    result = wl.run(market(), model="hosted_vllm/m", base_url="http://127.0.0.1:1/v1", epochs=2)
    assert {row.reason for row in result.episodes} == {"finished"}
    assert sorted(market.opened) == ["hosted_vllm/m", "hosted_vllm/other"]
    assert result.episodes[0].cast_name == "cast (hosted_vllm/m,hosted_vllm/other)"
    decided = events(result, "decided.1")
    assert [one["seat"] for one in decided] == ["talking-1", "talking-2", "other"] * 4
    assert all(one["action"] is None and one["fault"] for one in decided), "no move, and why"
    assert [one["round"] for one in events(result, "round.1")] == [0, 1, 2, 3]
    (summary,) = events(result, "market.1")
    assert summary["group"] == ["greedy"] * 3 + ["knowing", "talking", "talking", "other"]
    for concurrency in (1, 8):
        assert {one.problem for one in wl.replay(result.folder, concurrency=concurrency)} == {None}


def test_it_is_recorded_once_who_was_handed_what_is_hidden(market):
    (handed,) = events(wl.run(market(), model="m", base_url="http://127.0.0.1:1/v1"), "handed.1")
    assert handed["group"] == "knowing"
    assert "oracle_skills" in handed["hidden"]


def test_a_market_ends_at_the_limit_on_steps_and_is_scored_as_far_as_it_came(market):
    text = MIXED.replace(
        "  talking: {agent: react, count: 2}\n  other: {agent: cot, model: hosted_vllm/other}\n", ""
    )
    result = wl.run(market(text), max_steps=2)
    (row,) = result.episodes
    assert (row.reason, row.steps) == ("step_limit", 2)
    assert {score.name for score in result.scores[0]} >= {"gini", "unemployment", "share:greedy"}
    assert len(events(result, "market.1")) == 1
    assert {one.problem for one in wl.replay(result.folder)} == {None}
    (whole,) = wl.run(market(text.replace("rounds: 4", "rounds: 60"))).episodes
    assert (whole.reason, whole.steps) == ("finished", 60), "its own end is the limit if nobody names one"


def test_who_plays_is_said_in_the_scenario_and_nowhere_else(market, tmp_path):
    with pytest.raises(wl.UsageError, match="names who plays in `cast`; allowed: only a model"):
        wl.run(market(), agent="greedy_price")
    with pytest.raises(
        wl.UsageError, match=r"the agent 'greedy_price' cannot play .*of kind 'aaw'\n  allowed: careful"
    ):
        wl.run(suite="starter", agent="greedy_price")
    both = wl.load_suite("starter")[0].file
    with pytest.raises(wl.UsageError, match="one run for each"):
        wl.run([market(), both])
    for cast, problem in (
        ("cast: {}", "nobody takes part"),
        ("cast: {a-1: greedy_price, a: {agent: greedy_price, count: 2}}", "a seat 'a-1', and so has 'a-1'"),
        ("cast: {a: greedy_prize}", "the agent 'greedy_prize'"),
    ):
        with pytest.raises(wl.DocumentError, match=problem):
            wl.load_scenario(market(MIXED[: MIXED.index("cast:")] + cast))


def test_from_python_it_is_an_ordinary_langgraph_graph(market):
    from worldloom.graphs.config import GraphConfig
    from worldloom.graphs.market.graph import build
    from worldloom.worlds.market.world import build as world

    class Idle:
        async def act_many(self, memo, seats, seen, ctx):
            from worldloom.agents.cohort import Decisions

            empty = seats[:0]
            moves = {"seat": empty, "train": empty, "job": empty[:, None], "price": empty[:, None] * 0.5}
            return Decisions(moves)

    assert isinstance(Idle(), Cohort)
    text = MIXED[: MIXED.index("cast:")] + "cast: {idle: {agent: greedy_price, count: 2}}"
    scenario = wl.load_scenario(market(text))
    graph = build(GraphConfig(scenario, world(scenario), {"idle": Idle()}))
    final = asyncio.run(graph.ainvoke({}, context=Context.null()))
    assert final["ended"].reason == "finished"
    assert len(final["past"]) == 4
    assert final["world"].reward.sum() == 0


def test_every_metric_of_a_market_and_of_its_groups_is_explained(market):
    text = MIXED.replace("  rounds: 4\n", "  rounds: 4\n  shocks: [{type: recession, block_rounds: 1}]\n")
    result = wl.run(market(text), model="hosted_vllm/m", base_url="http://127.0.0.1:1/v1")
    assert {name.partition(":")[0] for name in result.metrics} == set(MarketScorer.about)
