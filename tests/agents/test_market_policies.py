"""Fixed policies of a gig market: agent by agent and by columns they decide the same, whoever decides beside them."""

import asyncio
import json

import numpy as np
import pytest

from worldloom.agents.agent import AgentConfig, Decision
from worldloom.core.action import Action
from worldloom.core.errors import UsageError
from worldloom.core.registry import Registry
from worldloom.core.scenario import parse_scenario
from worldloom.runs.chance import gumbels, pairs, uniforms
from worldloom.runs.context import Context
from worldloom.worlds.market.moves import NONE, MoveColumns, checked, read_actions
from worldloom.worlds.market.world import build

SMALL = {"rounds": 30, "skills": ["writing", "coding", "design"], "jobs": {"per_skill": 3}}
MARKETS = {
    "default": {},
    "open": {"mechanism": {"disclosure": "open", "temperature": 0.05}},
    "few jobs": {"jobs": {"per_skill": 2, "listing_probability": 0.25}},
    "recession": {"shocks": [{"type": "recession", "block_rounds": 4}], "learning": {"by_doing": 0.5}},
    "one skill": {"skills": ["writing"], "jobs": {"per_skill": 7}, "mechanism": {"pay": "performance"}},
}
POLICIES = ("greedy_price", "fixed_list", "undercutter", "bandit", "q_learner")


@pytest.fixture(scope="module")
def registry():
    return Registry.discover()


@pytest.fixture(scope="module")
def market(registry):
    """A small market with the given parts of `world:`."""

    def make(agents=6, **world):
        text = json.dumps(
            {"kind": "market", "id": "m", "cast": {"a": "greedy_price"}, "world": {**SMALL, **world}}
        )
        return build(parse_scenario(text, "m.yaml", registry), [f"s{number}" for number in range(agents)])

    return make


def cohort(registry, name):
    return registry.get("agent", name).load()(AgentConfig(None))


def columns(state, seats, **more):
    """What seats of a cohort see."""
    seen = state.seen
    shown = {name: getattr(seen, name) for name in ("listed", "budget", "job_skill", "last_price", "stars")}
    return {
        **shown,
        "round": seen.round,
        "skills": seen.skills[seats],
        "reward": seen.reward[seats],
        **more,
    }


def hidden(state):
    """What the oracle is handed beside that."""
    mechanism, last = state.rules.body.mechanism, state.history[-1:]
    scoring, none = mechanism.scoring, np.zeros(0, dtype=np.int64)
    cells = {
        "rounds": state.rules.body.rounds,
        "weight": scoring.weight,
        "elasticity": scoring.elasticity,
        "rho": getattr(scoring, "rho", 0.0),
        "temperature": mechanism.temperature,
        "capacity": mechanism.capacity,
        "step": state.rules.body.learning.step,
        "by_performance": mechanism.pay == "performance",
        "skills": state.skills,
        "reputation": state.reputation,
        "bid_seat": last[0].bid_seat if last else none,
        "bid_job": last[0].bid_job if last else none,
        "bid_score": last[0].bid_score if last else np.zeros(0),
    }
    return {f"oracle_{name}": np.array(cell) for name, cell in cells.items()}


def decide(policy, memo, seats, seen, seed):
    return asyncio.run(policy.act_many(memo, seats, seen, Context.null(seed=seed)))


def play(world, policy, seed, decided, rounds=None, more=lambda state: {}):
    """Rounds of a market in which all follow a policy; `decided(state, moves)` is told of each."""
    state, memo, seats = world.initial(seed), {}, np.arange(len(world.rules.seats))
    for _ in range(rounds or world.rules.body.rounds):
        decision = decide(policy, memo, seats, columns(state, seats, **more(state)), seed)
        moves, memo = MoveColumns.of(**decision.moves), decision.memo
        decided(state, moves)
        state = asyncio.run(world.step(state, moves, Context.null(seed=seed))).state
    return state


class Plain:
    """A policy for one seat, written from its rule, in loops over what its view shows."""

    train_component, training = "", 0.0

    def __init__(self, seat, names, seed):
        self.seat, self.names, self.seed = seat, names, seed

    def draw(self, component, round):
        return float(uniforms(self.seed, component, round, np.array([self.seat], dtype=np.uint64))[0])

    async def act(self, memo, view, ctx):
        seen = view.context
        memo = self.learn(dict(memo or {}), seen)
        if not seen["listings"]:
            return Decision(None, {**memo, "decision": NONE})
        jobs, skill, trains = self.choose(memo, seen)
        if trains:
            return Decision(Action("train", {"skill": skill}), memo)
        most = view.actions[0].parameters["properties"]["bids"]["maxItems"]
        bids = [{"job": job["job"], "price": self.price(memo, job)} for job in jobs[: min(5, most)]]
        return Decision(Action("bid", {"bids": bids}), memo)

    def learn(self, memo, seen):
        return memo

    def choose(self, memo, seen):
        jobs = self.order(seen)
        return jobs, jobs[0]["skill"], self.draw(f"{self.name}.train", seen["round"]) < self.training


class PlainGreedy(Plain):
    name, training = "greedy_price", 0.1

    def order(self, seen):
        return sorted(seen["listings"], key=lambda job: -job["budget"])

    def price(self, memo, job):
        return 0.8 * job["budget"]


class PlainUndercutter(PlainGreedy):
    name = "undercutter"

    def learn(self, memo, seen):
        for row in seen["history"][-1]["jobs"] if seen["history"] else ():
            if "price" in row:
                memo[row["job"]] = row["price"]
        return memo

    def price(self, memo, job):
        last, budget = memo.get(job["job"]), job["budget"]
        return 0.8 * budget if last is None else min(max(0.95 * last, 0.1 * budget), 0.8 * budget)


class PlainFixedList(Plain):
    name, training = "fixed_list", 0.2

    def order(self, seen):
        first = int(self.draw("fixed_list.first", 0) * len(self.names))
        places = self.names[first:] + self.names[:first]
        return sorted(seen["listings"], key=lambda job: places.index(job["job"]))

    def price(self, memo, job):
        return 0.9 * job["budget"]


class PlainLearner(Plain):
    """What bandit and q_learner have in common: a trade, and decisions of which the last is to train."""

    def trade(self, seen):
        worth = {}
        for number, skill in enumerate(seen["skills"]):
            pay = [job["budget"] for job in seen["listings"] if job["skill"] == skill]
            if pay:
                place = pairs(np.array([self.seat]), np.array([number]))
                taste = gumbels(self.seed, f"{self.name}.taste", 0, place)
                log = np.log(np.array([seen["skills"][skill]])) + np.log(np.array([max(pay)])) + 0.25 * taste
                worth[skill] = float(np.rint(log * 2.0**40)[0])
        return max(worth, key=lambda skill: worth[skill])

    def decide(self, values, round):
        many = len(values)
        if self.draw(f"{self.name}.explore", round) < 0.1:
            return int(self.draw(f"{self.name}.any", round) * many)
        first = int(self.draw(f"{self.name}.first", 0) * many)
        return max(((first + k) % many for k in range(many)), key=lambda decision: values[decision])

    def choose(self, memo, seen):
        skill = self.trade(seen)
        memo["decision"] = self.decide(self.values(memo, seen, skill), seen["round"])
        jobs = [job for job in seen["listings"] if job["skill"] == skill]
        begin = int(self.draw(f"{self.name}.begin", seen["round"]) * len(jobs))
        return jobs[begin:] + jobs[:begin], skill, memo["decision"] == len(self.ratios)

    def price(self, memo, job):
        return self.ratios[memo["decision"]] * job["budget"]


class PlainBandit(PlainLearner):
    name, ratios = "bandit", (0.4, 0.6, 0.8, 1.0)

    def learn(self, memo, seen):
        memo["values"] = dict(memo.get("values", {}))
        taken = memo.get("decision", NONE)
        if taken != NONE:
            income, old = seen["reward"] - memo["reward"], memo["values"].get(str(taken))
            memo["values"][str(taken)] = income if old is None else old + 0.2 * (income - old)
        memo["reward"] = seen["reward"]
        return memo

    def values(self, memo, seen, skill):
        return [memo["values"].get(str(decision), float("inf")) for decision in range(5)]


class PlainQLearner(PlainLearner):
    name, ratios = "q_learner", (0.5, 0.7, 0.9)

    def learn(self, memo, seen):
        memo.setdefault("table", [[30.0] * 4 for _ in range(6)])
        memo["income"] = seen["reward"] - memo.get("reward", 0.0)
        memo["reward"] = seen["reward"]
        return memo

    def values(self, memo, seen, skill):
        level = seen["skills"][skill]
        state = 2 * ((level >= 0.6) + (level >= 0.8)) + (memo["income"] > 0)
        if (taken := memo.get("decision", NONE)) != NONE:
            table = memo["table"] = [list(row) for row in memo["table"]]
            row = table[memo["state"]]
            row[taken] += 0.2 * (memo["income"] + 0.9 * max(table[state]) - row[taken])
        memo["state"] = state
        return memo["table"][state]


PLAIN = {one.name: one for one in (PlainGreedy, PlainFixedList, PlainUndercutter, PlainBandit, PlainQLearner)}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", MARKETS)
@pytest.mark.parametrize("seed", [0, 1])
def test_agent_by_agent_and_by_columns_the_moves_are_equal_bit_for_bit(registry, market, policy, name, seed):
    world, total = market(**MARKETS[name]), 0
    agents = [PLAIN[policy](seat, world.rules.job_names, seed) for seat in range(6)]
    memos = [None] * 6

    def compare(state, moves):
        nonlocal total
        actions = {}
        for number, agent in enumerate(agents):
            seat = world.rules.seats[number]
            decision = asyncio.run(agent.act(memos[number], state.view(seat), Context.null(seed=seed)))
            memos[number] = decision.memo
            if decision.action:
                actions[seat] = decision.action
        plain = read_actions(world.rules, actions)
        assert plain.seat.tolist() == moves.seat.tolist()
        assert plain.train.tolist() == moves.train.tolist()
        places = moves.job.shape[1]
        assert plain.job[:, :places].tolist() == moves.job.tolist()
        assert (plain.job[:, places:] == NONE).all()
        assert plain.price[:, :places].tolist() == moves.price.tolist()
        assert checked(world.rules, state.listed, state.budget, moves).fault.tolist() == [0] * 6
        total += len(moves.seat)

    play(world, cohort(registry, policy), seed, compare)
    assert total > 60


@pytest.mark.parametrize("policy", [*POLICIES, "oracle"])
def test_a_seat_decides_the_same_whoever_else_is_in_its_cohort(registry, market, policy):
    world, one, seed = market(mechanism={"disclosure": "open"}), cohort(registry, policy), 3
    memo = {"own": {}, "half": {}, "all": {}}
    seats = {"own": np.array([4]), "half": np.array([1, 4, 5]), "all": np.arange(6)}
    state = world.initial(seed)
    for _ in range(12):
        moves = {}
        for name, group in seats.items():
            more = hidden(state) if policy == "oracle" else {}
            decided = decide(one, memo[name], group, columns(state, group, **more), seed)
            memo[name], moves[name] = decided.memo, decided.moves
        for name in ("half", "own"):
            rows = np.isin(moves["all"]["seat"], moves[name]["seat"])
            for column in ("train", "job", "price"):
                assert moves["all"][column][rows].tolist() == moves[name][column].tolist()
        state = asyncio.run(world.step(state, MoveColumns.of(**moves["all"]), Context.null())).state


@pytest.mark.parametrize("policy", [*POLICIES, "oracle"])
def test_no_policy_looks_at_jobs_that_are_not_listed(registry, market, policy):
    world, one = market(jobs={"per_skill": 4, "listing_probability": 0.5}), cohort(registry, policy)
    seats, state = np.arange(6), world.initial(5)
    seen = columns(state, seats, **hidden(state))
    odd = {**seen, "budget": np.where(state.listed, state.seen.budget, 1e6)}
    first, second = (decide(one, {}, seats, shown, 0).moves for shown in (seen, odd))
    assert {name: cells.tolist() for name, cells in first.items()} == {
        name: cells.tolist() for name, cells in second.items()
    }


@pytest.mark.parametrize("policy", [*POLICIES, "oracle"])
def test_what_the_market_says_of_bids_and_prices_is_kept_to(registry, market, policy):
    world = market(mechanism={"max_bids": 2, "minimum_price": 5.5}, jobs={"per_skill": 3})
    rules, sold = world.rules, 0

    def check(state, moves):
        nonlocal sold
        assert checked(rules, state.listed, state.budget, moves).fault.tolist() == [0] * 6
        sold += (moves.job != NONE).sum()

    def told(state):
        more = hidden(state) if policy == "oracle" else {}
        return {"max_bids": np.array(2), "minimum_price": np.array(5.5), **more}

    play(world, cohort(registry, policy), 1, check, more=told)
    assert sold > 20


def test_undercutters_drive_prices_down_where_they_are_shown_and_only_there(registry, market):
    ends = {}
    for disclosure in ("open", "sealed"):
        mechanism = {"disclosure": disclosure, "temperature": 0.05}
        state = play(
            market(mechanism=mechanism), cohort(registry, "undercutter"), 0, lambda state, moves: None
        )
        last = state.history[-1]
        ends[disclosure] = float((last.price / last.budget)[last.price > 0].mean())
    assert ends["sealed"] == pytest.approx(0.8, abs=0.01)
    assert 0.05 < ends["open"] < 0.4


def test_a_bandit_comes_to_ask_what_pays_where_it_is_alone(registry, market):
    world, asked = market(agents=1), []
    play(world, cohort(registry, "bandit"), 0, lambda state, moves: asked.append((state, moves)))
    late = [moves for _, moves in asked[15:]]
    ratios = [
        float(moves.price[0, 0] / state.seen.budget[moves.job[0, 0]])
        for state, moves in asked[15:]
        if moves.job[0, 0] != NONE
    ]
    assert len(late) == 15
    assert np.median(ratios) == pytest.approx(1.0)


def play_beside_others(registry, market, seed, **world):
    """Mean rewards of an oracle and of each group beside it."""
    one = market(agents=8, **world)
    groups = {"oracle": [0], "greedy_price": [1, 2], "fixed_list": [3, 4], "bandit": [5], "q_learner": [6, 7]}
    who, memos, state = {name: cohort(registry, name) for name in groups}, {}, one.initial(seed)
    while not state.over:
        moves = []
        for name, group in groups.items():
            seats, more = np.array(group), hidden(state) if name == "oracle" else {}
            decided = decide(who[name], memos.get(name, {}), seats, columns(state, seats, **more), seed)
            memos[name] = decided.memo
            moves.append(MoveColumns.of(**decided.moves))
        joined = moves[0]
        for each in moves[1:]:
            joined = joined.beside(each)
        state = asyncio.run(one.step(state, joined, Context.null())).state
    return [float(state.reward[group].mean()) for group in groups.values()]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["default", "open", "one skill"])
def test_the_oracle_earns_more_than_those_who_know_less(registry, market, name):
    rewards = [play_beside_others(registry, market, seed, **MARKETS[name]) for seed in range(12)]
    mean = np.mean(rewards, axis=0)
    assert mean[0] > 1.1 * mean[1:].max()


def test_the_oracle_says_what_it_needs_and_does_not_play_without_it(registry, market):
    one, state, seats = cohort(registry, "oracle"), market().initial(0), np.arange(6)
    assert set(one.needs) == set(hidden(state))
    with pytest.raises(UsageError, match="oracle_skills"):
        decide(one, {}, seats, columns(state, seats), 0)


def test_a_script_of_bids_and_trainings_is_played_round_by_round(registry, market, tmp_path):
    file = tmp_path / "moves.yaml"
    file.write_text("actions:\n- train: {skill: coding}\n- bid: {bids: [{job: coding-1, price: 2.5}]}\n")
    room = registry.get("agent", "scripted")
    agent = room.load()(AgentConfig(None, str(file), options=room.load("options")(str(file))))
    world, memo = market(jobs={"per_skill": 3, "listing_probability": 1}), None
    state = world.initial(0)
    for _ in range(3):
        decision = asyncio.run(agent.act(memo, state.view("s2"), Context.null()))
        memo, moves = decision.memo, {"s2": decision.action} if decision.action else {}
        state = asyncio.run(world.step(state, moves, Context.null())).state
    assert [row["did"] for row in state.view("s2").context["own_history"]] == ["train", "bid", "nothing"]
