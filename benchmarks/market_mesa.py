"""The gig market written for mesa 3.3 as its tutorials write models; what market.py compares worldloom with.

Agents with a `step` that `shuffle_do` calls, a model that lets the jobs choose, and a DataCollector with reporters for
the model and the agents. Rules, numbers and policies are those of worldloom's market with its defaults: half of the
agents are `greedy_price`, half `fixed_list`. In `Market` every agent looks for jobs itself in its step, as in the
tutorials; in `SharedMarket` what is the same for all, the best-paid jobs, is worked out once a round; `VectorMarket` is
that with the jobs' choice in numpy.

    MESA_PYTHON benchmarks/market_mesa.py plain|shared|vector AGENTS JOBS ROUNDS     # a line on stdin is a seed

Every answer is a line of JSON: seconds by the wall clock and of processor time, and what the market came to.
"""

import bisect
import heapq
import json
import math
import os
import sys
import time

import mesa
import numpy as np

SKILLS, BUDGETS = 5, (10.0, 8.0, 6.0, 4.0)
LISTING, BUDGET_NOISE, LOWEST_BUDGET = 0.8, 0.05, 0.1
INITIAL_SKILL, STEP, BY_DOING, PERFORMANCE_NOISE = 0.4, 0.1, 0.1, 0.05
DECAY, PRIOR_WEIGHT, PRIOR_WINDOW, INITIAL_PRIOR = 0.85, 1.0, 5, 0.5
WEIGHT, TEMPERATURE, SHORTLIST, CAPACITY, MAX_BIDS = 0.6, 0.2, 5, 3, 5
LOWEST_REPUTATION = 2.0**-20


class Job:
    """What a client asks for, round after round."""

    def __init__(self, number, skill):
        self.number = number
        self.skill = skill
        self.budget = 0.0
        self.bids = []  # of this round: (worker, rank, price)


class Worker(mesa.Agent):
    """Somebody who bids, trains and has a reputation."""

    def __init__(self, model):
        super().__init__(model)
        self.skill = [INITIAL_SKILL] * SKILLS
        self.good = [0.0] * SKILLS
        self.bad = [0.0] * SKILLS
        self.reward = 0.0
        self.works = 0  # in this round
        self.wanted = None  # its first bid of this round

    def upgrade(self, skill):
        """Learn something."""
        self.skill[skill] = 1.0 - (1.0 - self.skill[skill]) * (1.0 - STEP)

    def reputation(self, skill):
        """In [0, 1]."""
        good, bad = self.good[skill], self.bad[skill]
        return (good + PRIOR_WEIGHT * self.model.prior(skill)) / (good + bad + PRIOR_WEIGHT)

    def step(self):
        """Bid for some jobs, or train."""
        self.works, self.wanted = 0, None
        jobs = self.jobs()
        if not jobs:
            return
        if self.random.random() < self.training:
            self.upgrade(jobs[0].skill)
            return
        self.wanted = jobs[0]
        for rank, job in enumerate(jobs):
            self.model.bid(self, job, rank, self.ratio * job.shown_budget)

    def work(self, job, price):
        """Do a job, be paid, and be remembered for it."""
        skill = job.skill
        noise = 1.0 + PERFORMANCE_NOISE * self.random.gauss(0.0, 1.0)
        performance = min(1.0, max(0.0, self.skill[skill] * noise))
        self.reward += price
        self.works += 1
        self.good[skill] = DECAY * self.good[skill] + performance
        self.bad[skill] = DECAY * self.bad[skill] + 1.0 - performance
        return performance


class GreedyPrice(Worker):
    """The best-paid jobs."""

    ratio, training = 0.8, 0.1

    def jobs(self):
        """Jobs that it wants, the most wanted first."""
        return self.model.best_paid()


class FixedList(Worker):
    """The same jobs every round."""

    ratio, training = 0.9, 0.2

    def __init__(self, model):
        super().__init__(model)
        self.first = self.random.randrange(len(model.jobs))

    def jobs(self):
        """Jobs that it wants, the most wanted first."""
        listed, numbers = self.model.listed, self.model.numbers
        at = bisect.bisect_left(numbers, self.first)
        return [listed[(at + place) % len(listed)] for place in range(min(MAX_BIDS, len(listed)))]


def unemployment(model):
    """Share of the bidders without work."""
    bidders = [worker for worker in model.agents if worker.wanted is not None]
    return sum(worker.works == 0 for worker in bidders) / len(bidders) if bidders else None


def price_ratio(model):
    """Mean winning price as a share of the budget."""
    return sum(model.ratios) / len(model.ratios) if model.ratios else None


def gini(model):
    """Of all rewards."""
    rewards = sorted(worker.reward for worker in model.agents)
    count, total = len(rewards), sum(rewards)
    if total == 0:
        return 0.0
    return sum((2 * place - count - 1) * reward for place, reward in enumerate(rewards, 1)) / (count * total)


class Market(mesa.Model):
    """Workers and jobs."""

    def __init__(self, agents, jobs, seed=None):
        super().__init__(seed=seed)
        self.jobs = [Job(number, number * SKILLS // jobs) for number in range(jobs)]
        self.recent = [[] for _ in range(SKILLS)]
        self.ratios, self.output = [], 0.0
        GreedyPrice.create_agents(self, agents // 2)
        FixedList.create_agents(self, agents - agents // 2)
        self.datacollector = mesa.DataCollector(
            model_reporters={
                "unemployment": unemployment,
                "price_ratio": price_ratio,
                "output": "output",
                "gini": gini,
            },
            agent_reporters={"reward": "reward"},
        )

    def prior(self, skill):
        """What is thought of those who are not known in a skill."""
        recent = self.recent[skill]
        return sum(recent) / len(recent) if recent else INITIAL_PRIOR

    def bid(self, worker, job, rank, price):
        """Take a bid."""
        job.bids.append((worker, rank, price))

    def step(self):
        """One round."""
        self.list_jobs()
        self.agents.shuffle_do("step")
        self.settle(self.match(self.preferences()))
        self.datacollector.collect(self)

    def list_jobs(self):
        """Show the jobs of this round."""
        self.listed = []
        for job in self.jobs:
            job.bids = []
            base = BUDGETS[job.skill % len(BUDGETS)]
            job.budget = max(LOWEST_BUDGET, base + BUDGET_NOISE * self.random.gauss(0.0, 1.0))
            job.shown_budget = math.floor(job.budget * 100.0) / 100.0
            if self.random.random() < LISTING:
                self.listed.append(job)
        self.numbers = [job.number for job in self.listed]

    def best_paid(self):
        """The jobs with the highest budgets, the best first."""
        return heapq.nsmallest(MAX_BIDS, self.listed, key=lambda job: (-job.shown_budget, job.number))

    def preferences(self):
        """The bids that each job considers, best first."""
        shortlists = {}
        for job in self.listed:
            ranked = []
            for number, (worker, rank, price) in enumerate(job.bids):
                quality = max(worker.reputation(job.skill), LOWEST_REPUTATION)
                utility = quality**WEIGHT * (price / job.budget) ** (WEIGHT - 1.0)
                draw = -math.log(-math.log(max(self.random.random(), 2.0**-54)))
                value = math.log(utility / (1.0 + utility)) / TEMPERATURE + draw
                ranked.append((-value, number, worker, rank, price))
            shortlists[job] = [found[2:] for found in heapq.nsmallest(SHORTLIST, ranked)]
        return shortlists

    def match(self, shortlists):
        """Gale and Shapley's deferred acceptance, jobs proposing, workers with room for several; job -> its bid."""
        left = {job: iter(bids) for job, bids in shortlists.items()}
        taken, held = {}, {}
        for first in shortlists:
            proposing = first
            while proposing is not None:
                bid = next(left[proposing], None)
                if bid is None:
                    break
                worker, rank, _ = bid
                offers = held.setdefault(worker, [])
                if len(offers) < CAPACITY:
                    heapq.heappush(offers, (-rank, proposing.number, proposing))
                    taken[proposing] = bid
                    proposing = None
                elif -rank > offers[0][0]:
                    _, _, lost = heapq.heapreplace(offers, (-rank, proposing.number, proposing))
                    taken[proposing] = bid
                    del taken[lost]
                    proposing = lost
        return taken

    def settle(self, taken):
        """Work, pay and learning."""
        self.ratios, self.output = [], 0.0
        performed = [[] for _ in range(SKILLS)]
        lessons = []
        for job in self.listed:
            if job not in taken:
                continue
            worker, _, price = taken[job]
            performance = worker.work(job, price)
            self.ratios.append(price / job.budget)
            self.output += job.budget * performance
            performed[job.skill].append(performance)
            if self.random.random() < BY_DOING:
                lessons.append((worker, job.skill))
        for worker in self.agents:
            if worker.wanted is not None and not worker.works and self.random.random() < BY_DOING:
                lessons.append((worker, worker.wanted.skill))
        for worker, skill in lessons:
            worker.upgrade(skill)
        for skill, found in enumerate(performed):
            self.recent[skill] = (self.recent[skill] + found)[-PRIOR_WINDOW:]


class SharedMarket(Market):
    """What is the same for all agents is worked out once a round."""

    def list_jobs(self):
        """Show the jobs of this round."""
        super().list_jobs()
        self.best = super().best_paid()

    def best_paid(self):
        """The jobs with the highest budgets, the best first."""
        return self.best


class VectorMarket(SharedMarket):
    """The jobs score, rank and cut their bids as columns."""

    def __init__(self, agents, jobs, seed=None):
        super().__init__(agents, jobs, seed)
        self.bids = []

    def bid(self, worker, job, rank, price):
        """Take a bid."""
        self.bids.append((worker, job, rank, price))

    def preferences(self):
        """The bids that each job considers, best first."""
        bids, self.bids = self.bids, []
        if not bids:
            return {job: [] for job in self.listed}
        number = np.array([job.number for _, job, _, _ in bids])
        good = np.array([worker.good[job.skill] for worker, job, _, _ in bids])
        bad = np.array([worker.bad[job.skill] for worker, job, _, _ in bids])
        priors = np.array([self.prior(skill) for skill in range(SKILLS)])
        skill = np.array([job.skill for job in self.jobs])[number]
        ratio = (
            np.array([price for _, _, _, price in bids]) / np.array([job.budget for job in self.jobs])[number]
        )
        quality = np.maximum(
            (good + PRIOR_WEIGHT * priors[skill]) / (good + bad + PRIOR_WEIGHT), LOWEST_REPUTATION
        )
        utility = quality**WEIGHT * ratio ** (WEIGHT - 1.0)
        value = np.log(utility / (1.0 + utility)) / TEMPERATURE + self.rng.gumbel(size=len(bids))
        shortlists = {job: [] for job in self.listed}
        for place in np.lexsort((-value, number)).tolist():
            worker, job, rank, price = bids[place]
            if len(shortlists[job]) < SHORTLIST:
                shortlists[job].append((worker, rank, price))
        return shortlists


def life(kind, agents, jobs, rounds, seed):
    """One market from beginning to end."""
    wall, cpu = time.perf_counter(), time.process_time()
    market = kind(agents, jobs, seed=seed)
    for _ in range(rounds):
        market.step()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    found = market.datacollector.get_model_vars_dataframe()
    means = {name: float(found[name].mean()) for name in ("unemployment", "price_ratio", "output")}
    return {"wall": wall, "cpu": cpu, **means, "gini": float(found["gini"].iloc[-1])}


def main():
    """Play a market for every seed on stdin."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    kind = {"plain": Market, "shared": SharedMarket, "vector": VectorMarket}[sys.argv[1]]
    agents, jobs, rounds = map(int, sys.argv[2:5])
    print(json.dumps({"version": mesa.__version__}), flush=True)
    for line in sys.stdin:
        print(json.dumps(life(kind, agents, jobs, rounds, int(line))), flush=True)


if __name__ == "__main__":
    main()
