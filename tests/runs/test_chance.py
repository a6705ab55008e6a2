"""Chance depends on where it is asked for, never on who asked first."""

import asyncio
import random

import numpy as np
import pytest

from worldloom.runs import chance
from worldloom.runs.chance import generator, gumbels, normals, pairs, uniforms


def test_a_stream_is_that_of_its_seed_component_and_scope():
    def draws(*place):
        return tuple(generator(*place).random(4))

    base = draws(0, "agent", b"")
    assert draws(0, "agent", b"") == base
    places = [
        (1, "agent", b""),
        (0, "world", b""),
        (0, "agent", b"\0"),
        (0, "", b"agent"),
        (0, "agent", b"\x01"),
    ]
    assert len({base, *(draws(*place) for place in places)}) == 6


def test_the_same_draws_for_ever():
    """Golden: a record of today must replay tomorrow."""
    assert generator(7, "luck", b"\0\0\0\1").integers(1_000_000, size=4).tolist() == [
        696109,
        348778,
        332212,
        660733,
    ]
    seats = uniforms(7, "luck", 3, np.arange(3, dtype=np.uint64))
    assert seats.tolist() == [0.7220413448483081, 0.24788862701486925, 0.528059851880739]


def test_the_draw_of_a_seat_does_not_depend_on_the_other_seats():
    alone = [uniforms(1, "x", 2, np.array([seat], dtype=np.uint64))[0] for seat in (3, 1, 4, 1, 5)]
    together = uniforms(1, "x", 2, np.array([3, 1, 4, 1, 5], dtype=np.uint64))
    assert together.tolist() == alone
    assert len(set(together.tolist())) == 4


def test_rounds_components_indices_and_seeds_draw_for_themselves():
    seats = np.arange(1000, dtype=np.uint64)
    columns = [
        uniforms(0, "x", 0, seats), uniforms(1, "x", 0, seats), uniforms(0, "y", 0, seats),
        uniforms(0, "x", 1, seats), uniforms(0, "x", 0, seats, 1),
    ]  # fmt: skip
    for column in columns:
        assert column.min() >= 0.0
        assert column.max() < 1.0
        assert abs(column.mean() - 0.5) < 0.05
    assert np.abs(np.corrcoef(columns) - np.eye(5)).max() < 0.12


def test_normal_and_gumbel_draws_have_their_moments():
    seats = np.arange(40_000, dtype=np.uint64)
    normal, gumbel = normals(3, "x", 1, seats), gumbels(3, "x", 1, seats)
    assert abs(normal.mean()) < 0.02
    assert abs(normal.std() - 1) < 0.02
    assert abs((np.abs(normal) < 1.96).mean() - 0.95) < 0.005
    assert abs(gumbel.mean() - np.euler_gamma) < 0.03
    assert abs(gumbel.std() - np.pi / 6**0.5) < 0.03
    assert abs(np.corrcoef(normal, normals(3, "x", 1, seats, 1))[0, 1]) < 0.02


@pytest.mark.parametrize("draw", [normals, gumbels])
def test_other_draws_too_are_those_of_the_seat_alone(draw):
    seats = np.array([3, 1, 4, 2**40], dtype=np.uint64)
    together = draw(1, "x", 2, seats, 5)
    assert together.tolist() == [draw(1, "x", 2, seats[at : at + 1], 5)[0] for at in range(4)]
    assert np.isfinite(together).all()


def test_a_uniform_draw_of_0_is_no_infinity(monkeypatch):
    monkeypatch.setattr(chance, "uniforms", lambda *place: np.zeros(1))
    seats = np.zeros(1, dtype=np.uint64)
    assert 8.6 < normals(0, "x", 0, seats)[0] < 8.66
    assert -3.63 < gumbels(0, "x", 0, seats)[0] < -3.61


def test_pairs_have_numbers_of_their_own():
    first, second = np.meshgrid(np.arange(20), np.arange(30))
    assert len(set(pairs(first.ravel(), second.ravel()).tolist())) == 600
    assert pairs(np.array([1]), np.array([2])).tolist() == [2**32 + 2]


def test_children_draw_the_same_whoever_comes_first(desk):
    async def child(ctx, item):
        for _ in range(random.randrange(4)):
            await asyncio.sleep(0)
        ctx.emit(
            "drew.1", {"first": float(ctx.rng("luck").random()), "next": float(ctx.rng("luck").random())}
        )

    async def play(ctx):
        await ctx.map(child, range(8))

    rows = desk.play(play, play)
    again = [desk.events(0), desk.events(0)]
    drawn = [body["first"] for type, body in again[0] if type == "drew.1"]
    assert len(set(drawn)) == 8
    assert rows[0].fingerprint != rows[1].fingerprint, "they have different seeds"
    desk.replay(play, play)
