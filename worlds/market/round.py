"""The round: listings → bids or training → scores → re-ranking → matching → work → reputation → training → pay.

`play` is pure: it asks nothing and draws every number by counter from (seed, component, round, agent, job or skill),
so that what one agent does leaves every other draw as it was.
"""

from dataclasses import dataclass, replace

import numpy as np

from worldloom.runs.chance import gumbels, normals, pairs, uniforms
from worldloom.runs.rounding import rounded
from worldloom.worlds.market.body import Audit
from worldloom.worlds.market.grouping import places
from worldloom.worlds.market.learning import performances, upgraded
from worldloom.worlds.market.matching import MATCHINGS
from worldloom.worlds.market.moves import NONE, Acts, MoveColumns, checked
from worldloom.worlds.market.pay import PAYS, incomes
from worldloom.worlds.market.record import RoundRecord
from worldloom.worlds.market.reputation import after_benchmarks, after_work
from worldloom.worlds.market.rules import A, Floats, Ints
from worldloom.worlds.market.scoring import log_scores
from worldloom.worlds.market.state import MarketState


@dataclass(frozen=True, eq=False)
class Works:
    """What was done in a round, by job; all shapes (works,)."""

    job: Ints
    seat: Ints
    skill: Ints
    price: Floats
    performance: Floats
    pay: Floats


def play(state: MarketState, moves: MoveColumns) -> MarketState:
    """The market after one more round, whose record is the last of its history.

    Raises:
        UsageError: two moves are of one agent, or one is of none.
    """
    assert not state.over, "the world refuses moves when the market is over"
    rules, body = state.rules, state.rules.body
    acts = checked(rules, state.listed, state.budget, moves)
    log_score = _scored(state, acts)
    works = _worked(state, acts, _matched(state, acts, log_score))
    skills = _learned(state, acts, works)
    trained = np.flatnonzero(acts.train != NONE)
    place = trained, acts.train[trained]
    benchmark = state.benchmark.copy()
    benchmark[place] = skills[place]
    evidence = after_work(state.evidence, body.reputation, works.seat, works.skill, works.performance)
    evidence = after_benchmarks(evidence, body.mechanism.portfolio_weight, *place, skills[place])
    record = _record(state, acts, log_score, works, _spread(skills[place], trained, len(rules.seats), 0.0))
    listed, budget = rules.listing(state.seed, state.round + 1)
    return replace(
        state,
        round=state.round + 1,
        listed=listed,
        budget=budget,
        skills=skills,
        evidence=evidence,
        benchmark=benchmark,
        reward=state.reward + record.income,
        done=state.done + np.bincount(works.seat, minlength=len(rules.seats)),
        history=(*state.history, record)[-body.history_rounds :],
    )


def _scored(state: MarketState, acts: Acts) -> Floats:
    """log(score) of each bid, shape (bids,). An audit shows the job the skill in place of the reputation."""
    mechanism, skill = state.rules.body.mechanism, state.rules.job_skill[acts.job]
    quality = state.reputation[acts.seat, skill]
    if isinstance(mechanism.verification, Audit):
        draws = uniforms(state.seed, "market.audit", state.round, pairs(acts.seat, skill))
        audited = draws < mechanism.verification.probability
        quality = np.where(audited, state.skills[acts.seat, skill], quality)
    return log_scores(mechanism.scoring, quality, acts.price, state.budget[acts.job])


def _matched(state: MarketState, acts: Acts, log_score: Floats) -> Ints:
    """The bid that each job takes, NONE if it takes none, shape (jobs,).

    Jobs rank their bidders by log(score) / T + Gumbel(0, 1), which makes the share of each bidder in the first place a
    softmax of scores^(1 / T); at random, by the Gumbel draw alone.
    """
    mechanism, jobs = state.rules.body.mechanism, len(state.listed)
    value = gumbels(state.seed, "market.ranking", state.round, pairs(acts.seat, acts.job))
    if mechanism.matching != "random":
        value = log_score / mechanism.temperature + value
    order = np.lexsort((acts.seat, -rounded(value), acts.job))
    kept = order[places(acts.job[order]) < mechanism.shortlist]
    lottery = uniforms(state.seed, "market.lottery", state.round, np.arange(jobs, dtype=np.uint64))
    match = MATCHINGS[mechanism.matching]
    taken = match(acts.job[kept], acts.seat[kept], acts.rank[kept], mechanism.capacity, jobs, lottery)
    return np.where(taken == NONE, NONE, np.append(kept, NONE)[taken])


def _worked(state: MarketState, acts: Acts, won: Ints) -> Works:
    """What comes of the matching."""
    body = state.rules.body
    job = np.flatnonzero(won != NONE)
    seat, price, skill = acts.seat[won[job]], acts.price[won[job]], state.rules.job_skill[job]
    noise = normals(state.seed, "market.performance", state.round, pairs(seat, job))
    performance = performances(body.learning, state.skills[seat, skill], noise)
    return Works(job, seat, skill, price, performance, PAYS[body.mechanism.pay](price, performance))


def _learned(state: MarketState, acts: Acts, works: Works) -> Floats:
    """Skills after the round: training upgrades for sure; each work, or an unmatched bidder's first choice, may."""
    rule = state.rules.body.learning
    draws = uniforms(state.seed, "market.learning", state.round, pairs(works.seat, works.job))
    by_work = draws < rule.by_doing
    idle = acts.bidding.copy()
    idle[works.seat] = False
    first = (acts.rank == 0) & idle[acts.seat]
    draws = uniforms(state.seed, "market.practice", state.round, acts.seat[first].astype(np.uint64))
    by_try = draws < rule.by_doing
    trained = np.flatnonzero(acts.train != NONE)
    seats = (trained, works.seat[by_work], acts.seat[first][by_try])
    skills = (acts.train[trained], works.skill[by_work], state.rules.job_skill[acts.job[first][by_try]])
    return upgraded(rule, state.skills, np.concatenate(seats), np.concatenate(skills))


def _record(
    state: MarketState, acts: Acts, log_score: Floats, works: Works, benchmark: Floats
) -> RoundRecord:
    """What happened, with what it brought to each agent."""
    mechanism, jobs = state.rules.body.mechanism, len(state.listed)
    return RoundRecord(
        state.rules,
        state.round,
        state.listed,
        state.budget,
        winner=_spread(works.seat, works.job, jobs, NONE),
        price=_spread(works.price, works.job, jobs, 0.0),
        performance=_spread(works.performance, works.job, jobs, 0.0),
        pay=_spread(works.pay, works.job, jobs, 0.0),
        train=acts.train,
        bidding=acts.bidding,
        fault=acts.fault,
        benchmark=benchmark,
        income=incomes(
            works.pay,
            works.seat,
            acts.bidding,
            tax_rate=mechanism.tax_rate,
            entry_cost=mechanism.entry_cost,
        ),
        bid_seat=acts.seat,
        bid_job=acts.job,
        bid_rank=acts.rank,
        bid_price=acts.price,
        bid_score=np.exp(log_score),
    )


def _spread(cells: A, place: Ints, count: int, empty: float) -> A:
    """A column of `count` cells that holds `cells` at their places."""
    column = np.full(count, empty, dtype=cells.dtype)
    column[place] = cells
    return column  # type: ignore[return-value]  # the same type of cells
