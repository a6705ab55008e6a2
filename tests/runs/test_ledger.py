"""The one primitive: absent, append; equal, nothing; different, a divergence that no program can swallow."""

import asyncio

import numpy as np
import pytest

from worldloom.core.errors import Divergence, RecordError
from worldloom.core.event import Event
from worldloom.core.key import read_key
from worldloom.runs.context import Context
from worldloom.runs.ending import End
from worldloom.runs.episode import Episode
from worldloom.runs.ledger import Ledger
from worldloom.runs.program import play
from worldloom.testing import MemorySink

A, B, C = read_key("0"), read_key("1"), read_key("2")


def rows_of(ledger: Ledger) -> dict[bytes, Event]:
    return {event.key: event for event in ledger.rows()}


def test_what_is_absent_is_appended_once():
    sink = MemorySink()
    ledger = Ledger((0, ""), sink)
    ledger.record(B, "x.1", {"n": 2})
    ledger.record(A, "x.1", {"n": 1})
    assert [event.key for event in sink.events] == [B, A], "the sink hears in order of arrival"
    assert [event.key for event in ledger.rows()] == [A, B]


def test_what_is_present_and_equal_is_not_written_again():
    past = Ledger()
    past.record(A, "x.1", {"n": 1, "m": [0.1]})
    sink = MemorySink()
    ledger = Ledger((0, ""), sink, rows_of(past))
    ledger.record(A, "x.1", {"m": [0.1], "n": 1})
    assert sink.events == []
    assert ledger.fingerprint() == past.fingerprint()


@pytest.mark.parametrize(("type", "body"), [("x.1", {"n": 2}), ("y.1", {"n": 1}), ("x.1", {"n": 1.0})])
@pytest.mark.parametrize("may_grow", [True, False])
def test_what_is_present_and_different_diverges_and_names_both(type, body, may_grow):
    past = Ledger()
    past.record(A, "x.1", {"n": 1})
    with pytest.raises(Divergence) as found:
        Ledger((0, ""), None, rows_of(past), may_grow=may_grow).record(A, type, body)
    assert found.value.key == "0"
    assert found.value.recorded == 'x.1 {"n":1}'
    assert found.value.found is not None
    assert found.value.found.startswith(type)


def test_the_same_key_twice_in_one_life_must_say_the_same():
    ledger = Ledger()
    ledger.record(A, "x.1", {"n": 1})
    ledger.record(A, "x.1", {"n": 1})
    with pytest.raises(Divergence):
        ledger.record(A, "x.1", {"n": 2})


def test_a_replay_may_not_grow():
    with pytest.raises(Divergence) as found:
        Ledger(may_grow=False).record(A, "x.1", {})
    assert found.value.recorded is None
    with pytest.raises(Divergence, match=r"model\.1"):
        Ledger(may_grow=False).must_ask(A, "model.1", "ab" * 32)


def test_the_fingerprint_is_of_keys_types_and_bodies_and_not_of_arrival():
    one, other = Ledger(), Ledger()
    for ledger, order in ((one, (A, B, C)), (other, (C, A, B))):
        for key in order:
            ledger.record(key, "x.1", {"n": key.hex()})
    assert one.fingerprint() == other.fingerprint()
    prints = {one.fingerprint()}
    for key, type, body in ((A, "x.1", {}), (B, "x.1", {}), (A, "y.1", {}), (A, "x.1", {"a": 1})):
        ledger = Ledger()
        ledger.record(key, type, body)
        prints.add(ledger.fingerprint())
    assert len(prints) == 5


def test_neighbouring_fields_cannot_be_shifted_into_one_another():
    one, other = Ledger(), Ledger()
    one.record(A, "x.1", {})
    other.record(A + b"x", ".1", {})
    assert one.fingerprint() != other.fingerprint()


def test_telemetry_is_outside_the_fingerprint_and_silent_in_a_replay():
    sink, noted = MemorySink(), []
    sink.telemetry = lambda *row: noted.append(row)
    ledger = Ledger((3, ""), sink)
    before = ledger.fingerprint()
    ledger.note(A, "model.1", {"latency_s": 0.5})
    assert noted == [((3, ""), A, "model.1", b'{"latency_s":0.5}')]
    assert ledger.fingerprint() == before
    Ledger((3, ""), sink, may_grow=False).note(A, "model.1", {})
    assert len(noted) == 1


def test_a_large_body_is_a_blob_on_disk_and_whole_to_its_reader():
    sink = MemorySink()
    Ledger((0, ""), sink).record(A, "x.1", {"text": "ä" * 5000})
    (event,) = sink.events
    assert len(event.data) < 200
    assert event.body == {"text": "ä" * 5000}
    assert [len(blob) for blob in sink.blobs.values()] == [len('{"text":""}') + 10_000]


@pytest.mark.parametrize("body", [{"n": np.int64(1)}, {"n": float("nan")}, {"t": ("a",)}, {"s": "\ud800"}])
def test_what_cannot_be_recorded_is_refused_and_leaves_nothing_behind(body):
    sink = MemorySink()
    ledger = Ledger((0, ""), sink)
    with pytest.raises(RecordError, match=r"\$\."):
        ledger.record(A, "x.1", body)
    assert sink.events == []
    assert ledger.rows() == []


def life(program, recorded, *, may_grow):
    class Program:
        async def run(self, ctx: Context) -> End:
            return await program(ctx) or End("finished")

    ledger = Ledger((0, ""), None, recorded, may_grow=may_grow)
    asyncio.run(play(Program(), Episode(ledger)))
    return ledger


@pytest.mark.parametrize("may_grow", [True, False])
def test_a_program_that_swallows_a_divergence_is_found_out_at_the_smallest_key(may_grow):
    async def before(ctx):
        await ctx.map(emit(1), range(4))

    async def after(ctx):
        await ctx.settle(emit(2), reversed(range(4)))

    def emit(n):
        async def child(ctx, item):
            await asyncio.sleep(0)
            ctx.emit("x.1", {"n": n})

        return child

    recorded = rows_of(life(before, {}, may_grow=True))
    with pytest.raises(Divergence) as found:
        life(after, recorded, may_grow=may_grow)
    assert found.value.key == "0#0/0"


@pytest.mark.parametrize("may_grow", [True, False])
def test_a_life_that_misses_what_was_recorded_is_found_out(may_grow):
    async def before(ctx):
        for n in range(3):
            ctx.emit("x.1", {"n": n})

    async def after(ctx):
        ctx.emit("x.1", {"n": 0})

    recorded = rows_of(life(before, {}, may_grow=True))
    with pytest.raises(Divergence) as found:
        life(after, recorded, may_grow=may_grow)
    assert found.value.key == "1"
    assert found.value.recorded is not None
    assert found.value.recorded.startswith("x.1")


def test_a_context_without_a_record_forgets_what_is_emitted_and_can_be_used_again():
    ctx = Context.null()
    for n in range(2):
        node = ctx.node(1, "agent")
        node.emit("x.1", {"n": n})
    with pytest.raises(RecordError):
        ctx.node(1, "agent").emit("x.1", {"n": float("inf")})
