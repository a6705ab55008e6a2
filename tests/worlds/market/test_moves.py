"""What the rules do not allow is an event and a no-op, and never wins."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldloom.core.action import Action
from worldloom.core.errors import UsageError
from worldloom.worlds.market.moves import FAULT_NAMES, FAULTS, MoveColumns, checked, read_actions

ALL = {"jobs": {"per_skill": 2, "listing_probability": 1}, "learning": {"by_doing": 0}}


def bids(*rows):
    return {"bids": [dict(zip(("job", "price"), row, strict=True)) for row in rows]}


REFUSED = [
    ("bid", bids(("writing-1", 0)), "price_not_positive"),
    ("bid", bids(("writing-1", -1.5)), "price_not_positive"),
    ("bid", bids(("writing-1", math.nan)), "price_not_positive"),
    ("bid", bids(("writing-1", -math.inf)), "price_not_positive"),
    ("bid", bids(("writing-1", math.inf)), "price_above_budget"),
    ("bid", bids(("writing-1", 10**400)), "price_above_budget"),
    ("bid", bids(("writing-1", -(10**400))), "price_not_positive"),
    ("bid", bids(("writing-1", 11)), "price_above_budget"),
    ("bid", bids(("writing-1", 5), ("coding-1", 9)), "price_above_budget"),
    ("bid", bids(("painting-1", 5)), "unknown_job"),
    ("bid", bids(("writing-3", 5)), "unknown_job"),
    ("bid", bids(("writing-1", 5), ("writing-1", 4)), "doubled_job"),
    ("bid", bids(*(("writing-1", 5) for _ in range(6))), "too_many_bids"),
    ("bid", bids(("writing-1", "5")), "malformed"),
    ("bid", bids(("writing-1", "nan")), "malformed"),
    ("bid", bids(("writing-1", True)), "malformed"),
    ("bid", bids(("writing-1", None)), "malformed"),
    ("bid", bids((0, 5)), "malformed"),
    ("bid", bids(([], 5)), "malformed"),
    ("bid", {"bids": []}, "malformed"),
    ("bid", {"bids": {"job": "writing-1", "price": 5}}, "malformed"),
    ("bid", {"bids": ["writing-1"]}, "malformed"),
    ("bid", {"bids": [{"job": "writing-1", "price": 5, "note": "please"}]}, "malformed"),
    ("bid", {"bids": [{"job": "writing-1"}]}, "malformed"),
    ("bid", {}, "malformed"),
    ("bid", {**bids(("writing-1", 5)), "skill": "writing"}, "malformed"),
    ("train", {"skill": "painting"}, "unknown_skill"),
    ("train", {"skill": 0}, "malformed"),
    ("train", {"skill": ["writing"]}, "malformed"),
    ("train", {}, "malformed"),
    ("wait", {}, "unknown_action"),
    ("", {}, "unknown_action"),
]


@pytest.mark.parametrize(("name", "arguments", "fault"), REFUSED)
def test_a_move_that_cannot_be_is_an_event_and_a_no_op(market, step, bid, name, arguments, fault):
    world = market(2, **ALL)
    state = world.initial(0)
    done = step(world, state, {"a": Action(name, arguments), "b": bid(("writing-1", 9.5))})
    alone = step(world, state, {"b": bid(("writing-1", 9.5))})
    record = done.state.history[-1]
    assert FAULT_NAMES[record.fault[0]] == fault
    assert done.facts[0]["refused"] == {fault: 1}
    assert not done.feedback["a"].success
    assert FAULTS[fault] in done.feedback["a"].message
    assert 0 not in record.winner.tolist()
    assert record.winner[0] == 1
    for column in ("skills", "reward", "done", "benchmark"):
        assert np.array_equal(getattr(done.state, column), getattr(alone.state, column))
    assert np.array_equal(done.state.evidence.good, alone.state.evidence.good)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["writing-1", "coding", "", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=7)
        | st.dictionaries(st.sampled_from(["bids", "job", "price", "skill", "x"]), inner)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["bid", "train"]), json_values)
def test_no_arguments_break_the_round(market, step, name, arguments):
    world = market(2, **ALL)
    state = step(world, world.initial(0), {"a": Action(name, arguments), "b": Action("bid", {})}).state
    record = state.history[-1]
    assert FAULT_NAMES[record.fault[1]] == "malformed"
    assert record.fault[0] or record.bidding[0] or record.train[0] >= 0


def test_a_job_that_is_not_listed_cannot_be_bid_for(market, step, bid):
    world = market(jobs={"listing_probability": 0})
    done = step(world, world.initial(0), {"a": bid(("writing-1", 5))})
    assert done.facts[0]["refused"] == {"unlisted_job": 1}
    assert done.facts[0]["vacancy"] is None


def test_a_bid_at_the_budget_is_allowed_and_the_next_float_is_not(market, step, bid):
    world = market(**ALL)
    budget = float(world.initial(0).budget[0])
    assert step(world, world.initial(0), {"a": bid(("writing-1", budget))}).feedback["a"].success
    above = math.nextafter(budget, math.inf)
    assert not step(world, world.initial(0), {"a": bid(("writing-1", above))}).feedback["a"].success


def test_a_bid_below_the_minimum_price_is_refused(market, step, bid):
    world = market(**ALL, mechanism={"minimum_price": 2})
    moves = {"a": bid(("writing-1", 1.99)), "b": bid(("writing-1", 2))}
    done = step(world, world.initial(0), moves)
    assert done.facts[0]["refused"] == {"price_below_minimum": 1}
    assert done.state.history[-1].winner[0] == 1


def test_a_seat_that_is_not_there_is_told_so_and_changes_nothing(market, step, bid):
    world = market(**ALL)
    done = step(world, world.initial(0), {"z": bid(("writing-1", 5)), "a": bid(("writing-1", 5))})
    assert done.feedback["z"].message.startswith("There is no seat 'z'")
    assert (
        done.state.fingerprint()
        == step(world, world.initial(0), {"a": bid(("writing-1", 5))}).state.fingerprint()
    )


def columns(seat, train=None, job=None, price=None):
    rows = len(seat)
    return MoveColumns.of(
        np.array(seat, dtype=np.int64),
        np.array(train or [-1] * rows, dtype=np.int64),
        np.array(job or [[-1]] * rows, dtype=np.int64),
        np.array(price or [[0.0]] * rows, dtype=np.float64),
    )


@pytest.mark.parametrize(
    ("moves", "fault"),
    [
        (columns([0], [0], [[1]], [[5.0]]), "malformed"),
        (columns([0], [3]), "unknown_skill"),
        (columns([0], [-2]), "unknown_skill"),
        (columns([0], None, [[6]], [[5.0]]), "unknown_job"),
        (columns([0], None, [[-2]], [[5.0]]), "unknown_job"),
        (columns([0], None, [[1, -1, 1]], [[5.0, 0, 5]]), "doubled_job"),
        (columns([0], None, [[0, 1, 2, 3, 4, 5]], [[1.0] * 6]), "too_many_bids"),
        (columns([0], None, [[0, -1]], [[math.nan, 1]]), "price_not_positive"),
        (columns([0], None, [[0, -1]], [[math.inf, 1]]), "price_above_budget"),
        (columns([0], None, [[-1, 0]], [[math.nan, 5.0]]), ""),
        (columns([0]), ""),
    ],
)
def test_columns_are_held_to_the_same_rules(market, moves, fault):
    world = market(**ALL)
    state = world.initial(0)
    acts = checked(world.rules, state.listed, state.budget, moves)
    assert FAULT_NAMES[acts.fault[0]] == fault
    assert len(acts.seat) == int((moves.job >= 0).sum()) * (not fault)


def test_empty_places_do_not_count_in_the_order_of_bids(market):
    world = market(**ALL)
    state = world.initial(0)
    moves = columns([2, 0], None, [[-1, 3, -1, 1], [2, -1, -1, 4]], [[0, 1.0, 0, 2], [3.0, 0, 0, 4]])
    acts = checked(world.rules, state.listed, state.budget, moves)
    rows = zip(*(column.tolist() for column in (acts.seat, acts.rank, acts.job, acts.price)), strict=True)
    assert list(rows) == [(0, 0, 2, 3), (0, 1, 4, 4), (2, 0, 3, 1), (2, 1, 1, 2)]


def test_a_cohort_and_single_agents_move_side_by_side(market, bid, train):
    world = market(4, **ALL)
    named = read_actions(world.rules, {"d": train("coding"), "a": bid(("coding-1", 5), ("writing-2", 6))})
    both = columns([1, 2], [0, -1], [[-1], [3]], [[0], [7.0]]).beside(named)
    assert both.seat.tolist() == [1, 2, 0, 3]
    assert both.job.tolist() == [
        [-1] * 5,
        [3, -1, -1, -1, -1],
        [2, 1, -1, -1, -1],
        [-1] * 5,
    ]
    state = world.initial(0)
    assert checked(world.rules, state.listed, state.budget, both).train.tolist() == [-1, 0, -1, 1]


@pytest.mark.parametrize("seat", [[0, 0], [3], [-1]])
def test_a_cohort_that_names_agents_twice_or_wrongly_is_a_mistake_in_code(market, step, seat):
    world = market(**ALL)
    with pytest.raises(UsageError, match="not there, or twice"):
        step(world, world.initial(0), columns(seat))


def test_columns_of_another_shape_or_type_are_a_mistake_in_code():
    with pytest.raises(UsageError, match="'train' has dtype float64"):
        MoveColumns.of(
            np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros((1, 1), dtype=np.int64), np.zeros((1, 1))
        )
    with pytest.raises(UsageError, match="prices"):
        columns([0], None, [[1, 2]], [[1.0]])
