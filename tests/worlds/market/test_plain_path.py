"""A slow market that goes agent by agent, written from the paper's formulas alone, equals the columns bit for bit."""

import numpy as np
import pytest

from worldloom.runs.chance import gumbels, normals, uniforms

CONFIGS = {
    "default": {},
    "ces": {"mechanism": {"scoring": {"rule": "ces", "rho": -1.5, "weight": 0.3, "elasticity": 2}}},
    "study": {
        "mechanism": {"temperature": 0.01, "pay": "performance", "capacity": 1, "shortlist": 2},
        "learning": {"by_doing": 0.5, "performance_noise": 0.3},
        "reputation": {"decay": 0.5, "prior_weight": 2, "prior_window": 3},
        "shocks": [{"type": "recession", "block_rounds": 2}],
    },
    "random": {"mechanism": {"matching": "random", "capacity": 2}},
    "policy": {
        "mechanism": {
            "tax_rate": 0.25,
            "entry_cost": 0.5,
            "minimum_price": 0.4,
            "portfolio_weight": 1.5,
            "verification": {"rule": "audit", "probability": 0.5},
        }
    },
}


def one(ufunc, *numbers):
    """A ufunc on single numbers, as a column of one."""
    return float(ufunc(*(np.array([float(number)]) for number in numbers))[0])


class PlainMarket:
    """Loops and dictionaries; of the engine it shares the counter hash and numpy's ufuncs."""

    def __init__(self, body, seats, seed):
        self.body, self.seats, self.seed, self.round = body, seats, seed, 0
        self.jobs = [(f"{s}-{n + 1}", s) for s in body.skills for n in range(body.jobs.per_skill)]
        self.skill = {(a, s): body.learning.initial_skill for a in seats for s in body.skills}
        self.good = dict.fromkeys(self.skill, 0.0)
        self.bad = dict.fromkeys(self.skill, 0.0)
        self.seen = {s: [] for s in body.skills}
        self.reward = dict.fromkeys(seats, 0.0)
        self.done = dict.fromkeys(seats, 0)

    def draw(self, kind, component, first, second=None):
        number = first if second is None else (first << 32) | second
        seats = np.array([number], dtype=np.uint64)
        return float(kind(self.seed, f"market.{component}", self.round, seats)[0])

    def listing(self):
        base = list(self.body.jobs.budgets)
        for shock in self.body.shocks:
            if (self.round // shock.block_rounds) % shock.cycle_blocks == shock.block:
                base = [shock.budget]
        found = {}
        for number, (job, skill) in enumerate(self.jobs):
            noise = self.body.jobs.budget_noise * self.draw(normals, "budget", number)
            budget = max(0.1, base[self.body.skills.index(skill) % len(base)] + noise)
            if self.draw(uniforms, "listing", number) < self.body.jobs.listing_probability:
                found[job] = budget
        return found

    def reputation(self, agent, skill):
        rule, seen = self.body.reputation, self.seen[skill][-self.body.reputation.prior_window :]
        total = 0.0
        for performance in seen:
            total += performance
        prior = total / len(seen) if seen else rule.initial_prior
        good, bad = self.good[agent, skill], self.bad[agent, skill]
        return (good + rule.prior_weight * prior) / (good + bad + rule.prior_weight)

    def allowed(self, action, budget):
        """The bids of an action in order, or the skill to train, or None."""
        if action.name == "train":
            return action.arguments["skill"]
        bids = [(bid["job"], bid["price"]) for bid in action.arguments["bids"]]
        lowest = self.body.mechanism.minimum_price
        sound = all(job in budget and 0 < price <= budget[job] and price >= lowest for job, price in bids)
        return bids if sound else None

    def log_score(self, agent, skill, price, budget):
        rule, verification = self.body.mechanism.scoring, self.body.mechanism.verification
        quality = self.reputation(agent, skill)
        if verification.rule == "audit":
            place = self.seats.index(agent), self.body.skills.index(skill)
            if self.draw(uniforms, "audit", *place) < verification.probability:
                quality = self.skill[agent, skill]
        q, w = one(np.log, max(quality, 2.0**-20)), rule.weight
        s = -rule.elasticity * (one(np.log, price) - one(np.log, budget))
        if rule.rule == "ces":
            parts = one(np.log, w) + rule.rho * q, one(np.log, 1 - w) + rule.rho * s
            u = one(np.logaddexp, *parts) / rule.rho
        else:
            u = w * q + (1 - w) * s
        return -one(np.logaddexp, 0, -u)

    def preferences(self, bids, budget):
        """job -> its shortlist, best first."""
        mechanism, lists = self.body.mechanism, {}
        for number, (job, skill) in enumerate(self.jobs):
            rows = []
            for seat, agent in enumerate(self.seats):
                for wanted, price in bids.get(agent, []):
                    if wanted == job:
                        value = self.draw(gumbels, "ranking", seat, number)
                        if mechanism.matching != "random":
                            value = (
                                self.log_score(agent, skill, price, budget[job]) / mechanism.temperature
                                + value
                            )
                        rows.append((-one(np.rint, value * 2.0**40), seat, agent))
            lists[job] = [agent for _, _, agent in sorted(rows)][: mechanism.shortlist]
        return lists

    def match(self, bids, lists):
        """job -> agent: the agents refuse, round after round, what they want least; or jobs choose by lot."""
        capacity, held = self.body.mechanism.capacity, {agent: [] for agent in self.seats}
        names = [job for job, _ in self.jobs]
        if self.body.mechanism.matching == "random":
            lots = sorted((self.draw(uniforms, "lottery", number), number) for number in range(len(names)))
            for _, number in lots:
                free = [agent for agent in lists[names[number]] if len(held[agent]) < capacity]
                if free:
                    held[free[0]].append(names[number])
            return {job: agent for agent, jobs in held.items() for job in jobs}
        left = {job: list(agents) for job, agents in lists.items()}
        while True:
            taken = {job for jobs in held.values() for job in jobs}
            asking = [job for job in names if job not in taken and left[job]]
            if not asking:
                return {job: agent for agent, jobs in held.items() for job in jobs}
            for job in asking:
                held[left[job].pop(0)].append(job)
            for agent, jobs in held.items():
                order = [job for job, _ in bids.get(agent, [])]
                held[agent] = sorted(jobs, key=order.index)[:capacity]

    def play(self, actions):
        learning, mechanism, budget = self.body.learning, self.body.mechanism, self.listing()
        allowed = {a: self.allowed(actions[a], budget) for a in self.seats if a in actions}
        bids = {a: found for a, found in allowed.items() if isinstance(found, list)}
        won = self.match(bids, self.preferences(bids, budget))
        works, income, upgrades = [], dict.fromkeys(self.seats, 0.0), []
        pays = []
        for number, (job, skill) in enumerate(self.jobs):
            if job in won:
                agent, seat = won[job], self.seats.index(won[job])
                noise = learning.performance_noise * self.draw(normals, "performance", seat, number)
                performance = min(1.0, max(0.0, self.skill[agent, skill] * (1 + noise)))
                price = dict(bids[agent])[job]
                pays.append(price * performance if mechanism.pay == "performance" else price)
                income[agent] += pays[-1]
                works.append((agent, skill, performance))
                if self.draw(uniforms, "learning", seat, number) < learning.by_doing:
                    upgrades.append((agent, skill))
        for seat, agent in enumerate(self.seats):
            if isinstance(allowed.get(agent), str):
                upgrades.append((agent, allowed[agent]))
            elif agent in bids and agent not in won.values():
                draw = self.draw(uniforms, "practice", seat)
                first = dict(self.jobs)[bids[agent][0][0]]
                upgrades += [(agent, first)] if draw < learning.by_doing else []
        for place in upgrades:
            self.skill[place] = 1 - (1 - self.skill[place]) * (1 - learning.step)
        for agent, skill, performance in works:
            self.good[agent, skill] = self.body.reputation.decay * self.good[agent, skill] + performance
            self.bad[agent, skill] = self.body.reputation.decay * self.bad[agent, skill] + (1 - performance)
            self.seen[skill].append(performance)
            self.done[agent] += 1
        for agent, skill in allowed.items():
            if isinstance(skill, str) and mechanism.portfolio_weight:
                self.good[agent, skill] += mechanism.portfolio_weight * self.skill[agent, skill]
                self.bad[agent, skill] += mechanism.portfolio_weight * (1 - self.skill[agent, skill])
        part = mechanism.tax_rate * float(np.sum(np.array(pays))) / len(self.seats)
        for agent in self.seats:
            cost = mechanism.entry_cost if agent in bids else 0.0
            self.reward[agent] += income[agent] * (1 - mechanism.tax_rate) + part - cost
        self.round += 1


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_agent_by_agent_and_by_columns_are_equal_bit_for_bit(market, step, anything, name, seed):
    world = market(7, **CONFIGS[name])
    plain = PlainMarket(world.rules.body, world.rules.seats, seed)
    state = world.initial(seed)
    seats, skills = world.rules.seats, world.rules.body.skills
    for round in range(world.rules.body.rounds):
        assert plain.listing() == {
            job: float(state.budget[number])
            for number, job in enumerate(world.rules.job_names)
            if state.listed[number]
        }
        moves = anything(world, state, 1000 * seed + round)
        plain.play(moves)
        state = step(world, state, moves).state
        assert [plain.skill[a, s] for a in seats for s in skills] == state.skills.ravel().tolist()
        assert [plain.good[a, s] for a in seats for s in skills] == state.evidence.good.ravel().tolist()
        assert [plain.bad[a, s] for a in seats for s in skills] == state.evidence.bad.ravel().tolist()
        assert [plain.reputation(a, s) for a in seats for s in skills] == state.reputation.ravel().tolist()
        assert list(plain.reward.values()) == state.reward.tolist()
        assert list(plain.done.values()) == state.done.tolist()
    assert sum(plain.done.values()) > 20
