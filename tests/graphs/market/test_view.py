"""Pictures of a market: they are computed from the record, show what it says, and stay small in large markets."""

import asyncio
import json

import networkx as nx
import numpy as np
import pytest

from worldloom.core.canonical import canonical
from worldloom.core.event import Event
from worldloom.core.registry import Registry
from worldloom.core.scenario import parse_scenario
from worldloom.graphs.market.network import MOST_AGENTS, MOST_JOBS, bids_graph
from worldloom.graphs.market.summary import ROUND
from worldloom.graphs.market.view import MOST_BARS, MOST_GROUPS, WINDOW, past_of, pictures
from worldloom.runs.block import pack_columns
from worldloom.worlds.market import metrics
from worldloom.worlds.market.moves import NONE, MoveColumns
from worldloom.worlds.market.world import build


class Recorder:
    """A context that keeps what is emitted."""

    def __init__(self):
        self.events, self.blobs = [], {}

    def emit(self, type, body):
        self.events.append(Event(len(self.events).to_bytes(4, "big"), type, canonical(dict(body))))

    def emit_block(self, type, columns):
        body, blob = pack_columns(columns)
        self.blobs[blob.sha256] = blob.data
        self.emit(type, body)


class Episode:
    """A market that was played by chance, and its record."""

    def __init__(self, cast, *, rounds=6, asked=(), **world):
        groups = {name: {"agent": "random", "count": count} for name, count in cast.items()}
        body = {"rounds": rounds, "skills": ["writing", "coding"], "jobs": {"per_skill": 3}, **world}
        text = json.dumps({"kind": "market", "id": "m", "cast": groups, "world": body})
        self.scenario = parse_scenario(text, "m.yaml", Registry.discover())
        self.recorder, self.records = Recorder(), []
        market, rng = build(self.scenario), np.random.default_rng(0)
        state = market.initial(0)
        while not state.over:
            for seat in asked:
                self.recorder.emit(
                    "decided.1", {"seat": seat, "action": None, "rationale": f"It is round {state.round}."}
                )
            moved = asyncio.run(market.step(state, _moves(state, rng), self.recorder))
            state = moved.state
            for fact in moved.facts:
                self.recorder.emit(ROUND, fact)
            self.records.append(state.history[-1])
        self.after = state

    def pictures(self, events=None):
        events = self.recorder.events if events is None else events
        return {one.name: one for one in pictures(self.scenario, events, self.recorder.blobs.__getitem__)}


def _moves(state, rng):
    """Two in three bid for two jobs, one in three trains; some ask too much, and are refused."""
    agents, listed = len(state.rules.seats), np.flatnonzero(state.listed)
    train = np.where(rng.random(agents) < 0.3, rng.integers(0, 2, agents), NONE)
    job, price = np.full((agents, 2), NONE), np.zeros((agents, 2))
    for seat in np.flatnonzero(train == NONE) if len(listed) > 1 else ():
        job[seat] = rng.choice(listed, 2, replace=False)
        price[seat] = state.budget[job[seat]] * rng.choice([0.5, 0.8, 1.2], p=[0.5, 0.4, 0.1])
    return MoveColumns.of(np.arange(agents), train, job, price)


@pytest.fixture(scope="module")
def small():
    return Episode({"low": 3, "high": 2}, rounds=12, asked=("low-1",))


@pytest.fixture(scope="module")
def large():
    crowd = {f"g{number}": 10 for number in range(10)}
    return Episode(crowd, rounds=110, jobs={"per_skill": 30}, history_rounds=1)


def test_a_record_tells_the_rounds_again(small):
    past = past_of(small.scenario, small.recorder.events, small.recorder.blobs.__getitem__)
    for told, played in zip(past.rounds, small.records, strict=True):
        for name in ("winner", "train", "fault", "bid_seat", "bid_job", "income"):
            assert np.array_equal(getattr(told, name), getattr(played, name)), name
    assert np.array_equal(past.rewards[-1], small.after.reward)


def test_the_pictures_are_json(small):
    shown = json.loads(json.dumps([one.to_json() for one in small.pictures().values()], allow_nan=False))
    kinds = {one["name"]: one["kind"] for one in shown}
    assert kinds == {
        "market": "network",
        "wealth": "lines",
        "skill": "lines",
        "prices": "lines",
        "work": "lines",
        "beveridge": "scatter",
        "lorenz": "lines",
        "earners": "bars",
        "diary": "table",
    }


def test_wealth_is_the_mean_reward_of_each_group(small):
    low, high = small.pictures()["wealth"].series
    assert (low.name, high.name) == ("low", "high")
    assert low.y[-1] == pytest.approx(small.after.reward[:3].mean())
    assert high.y[-1] == pytest.approx(small.after.reward[3:].mean())
    assert all(a <= b <= c for a, b, c in zip(low.low, low.y, low.high, strict=True))


def test_skill_and_prices_are_what_showed_in_the_last_rounds(small):
    shown, asked = [], []
    for record in small.records[-WINDOW:]:
        done = record.performance[record.winner == 3]
        trained = [record.benchmark[3]] if record.train[3] != NONE else []
        shown += [done.mean()] if len(done) else trained
        ratio = (record.bid_price / record.budget[record.bid_job])[record.bid_seat == 3]
        asked += [ratio.mean()] if len(ratio) else []
    one = Episode({"low": 3, "a": 1, "b": 1}, rounds=12).pictures()  # the same play, each alone
    assert {series.name: series for series in one["skill"].series}["a"].y[-1] == pytest.approx(np.mean(shown))
    assert {series.name: series for series in one["prices"].series}["a"].y[-1] == pytest.approx(
        np.mean(asked)
    )
    assert one["prices"].series[-1].name == "winning bids"


def test_a_group_of_one_has_no_band(small):
    alone = Episode({"low": 3, "a": 1}).pictures()["wealth"].series
    assert (len(alone[0].low), len(alone[1].low)) == (6, 0)


def test_the_lorenz_curve_and_the_bars_show_how_rewards_are_shared(small):
    shown, reward = small.pictures(), small.after.reward
    curve = shown["lorenz"].series[0]
    assert (curve.x[0], curve.y[0], curve.x[-1], curve.y[-1]) == (0, 0, 1, pytest.approx(1))
    below = 2 * np.trapezoid(curve.y, curve.x)
    assert 1 - below == pytest.approx(metrics.gini(reward))
    assert f"{metrics.gini(reward):.2f}" in shown["lorenz"].title
    assert [bar.value for bar in shown["earners"].bars] == sorted(reward.tolist(), reverse=True)


def test_the_network_has_an_edge_for_every_bid_and_a_thick_one_for_every_win(small):
    picture = small.pictures()["market"]
    assert picture.parts == ("all", *(f"round-{number}" for number in range(12)))
    whole, *rounds = picture.frames
    for frame, record in zip(rounds, small.records, strict=True):
        pairs = {(edge.left, edge.right) for edge in frame.edges}
        assert pairs == set(zip(record.bid_seat.tolist(), record.bid_job.tolist(), strict=True))
        won = {(edge.left, edge.right) for edge in frame.edges if edge.thick}
        assert won == {(seat, job) for job, seat in enumerate(record.winner.tolist()) if seat != NONE}
    assert sum(edge.thin for edge in whole.edges) == sum(len(record.bid_seat) for record in small.records)


def test_the_graph_of_bids_is_bipartite(small):
    graph = bids_graph(small.records)
    agents = {node for node, told in graph.nodes(data=True) if told["bipartite"] == 0}
    assert nx.is_bipartite(graph)
    assert {graph.nodes[node]["name"] for node in agents} == set(small.after.rules.seats)
    assert all((one in agents) != (other in agents) for one, other in graph.edges)


def test_the_diary_says_what_an_agent_saw_did_won_and_earned_and_why(small):
    diary = small.pictures()["diary"]
    assert diary.columns[-1] == "why"
    page = diary.part("low-1").pages[0]
    assert [row[0] for row in page.rows] == list(range(12))
    assert [row[-1] for row in page.rows] == [f"It is round {number}." for number in range(12)]
    assert page.rows[-1][5] == pytest.approx(small.after.reward[0], abs=0.01)
    every = [row for one in diary.pages for row in one.rows]
    done = {row[2].split()[0].rstrip(":") for row in every}
    assert done == {"bid", "trained", "refused", "nothing"}
    assert all("jobs at" in row[1] for row in every)
    for row in every:
        assert (row[3] is not None) == (row[4] > 0)
    assert diary.part("low-2").pages[0].rows[0][-1] is None


def test_where_nobody_was_asked_the_diary_has_no_column_for_reasons():
    assert "why" not in Episode({"a": 2}, rounds=1).pictures()["diary"].columns


def test_nothing_is_shown_before_a_round_has_ended_and_then_only_what_has_ended(small):
    assert small.pictures(events=[]) == {}
    ends = [place for place, event in enumerate(small.recorder.events) if event.type == ROUND]
    assert small.pictures(small.recorder.events[: ends[0]]) == {}
    part = small.pictures(small.recorder.events[: ends[2] - 1])
    assert len(part["wealth"].series[0].x) == 2
    assert part["market"].parts == ("all", "round-0", "round-1")


def test_a_market_in_which_nothing_happens_has_gaps_and_no_error():
    idle = Episode({"a": 1}, rounds=2, jobs={"per_skill": 1, "listing_probability": 0})
    shown = idle.pictures()
    json.dumps([one.to_json() for one in shown.values()], allow_nan=False)
    assert set(shown["prices"].series[0].y) == {None}
    assert set(shown["work"].series[1].y) == {None}
    assert shown["diary"].pages[0].rows[0][1] == "no jobs"


def test_pictures_of_a_large_market_stay_small_and_titles_say_what_was_left_out(large):
    shown = large.pictures()
    market = shown["market"]
    assert (len(market.lefts), len(market.rights), len(market.frames)) == (MOST_AGENTS, MOST_JOBS, 101)
    assert "the 12 richest and 12 poorest of 100 agents; the 24 of 60 jobs" in market.title
    assert "100 of 110 rounds" in market.title
    assert market.parts[-1] == "round-109"
    assert len(shown["earners"].bars) == MOST_BARS
    assert "poorest of 100 agents" in shown["earners"].title
    assert len(shown["wealth"].series) == MOST_GROUPS
    assert "of 10 groups" in shown["wealth"].title
    assert len(shown["diary"].pages) == 24
    assert len(shown["lorenz"].series[0].x) <= 101
    assert len(json.dumps([one.to_json() for one in shown.values()])) < 600_000
    reward = large.after.reward
    best = {large.after.rules.seats[seat] for seat in np.argsort(-reward, kind="stable")[:12]}
    assert best <= {node.name for node in market.lefts}


def test_the_same_record_gives_the_same_pictures(small):
    first, again = (json.dumps([one.to_json() for one in small.pictures().values()]) for _ in range(2))
    assert first == again
