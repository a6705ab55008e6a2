"""Effects: what comes from outside is asked once, recorded, and after a crash treated as its class says."""

import asyncio
import json
import sqlite3

import pytest

from worldloom.core.errors import Divergence, ModelError, ToolError
from worldloom.models.model import Completion
from worldloom.runs.effect import Fate
from worldloom.runs.ending import REASONS, End


class Crash(BaseException):
    """The process dies here."""


class Meter:
    """A tool that keeps count; `crashes` says in which calls the process dies, before or after the work was done."""

    name = "meter"

    def __init__(self, effect_class, *, crashes=(), before=False, known=True, answer=None):
        self.effect_class, self.parameters = effect_class, {"type": "object"}
        self.keys, self.done = [], {}
        self.crashes, self.before, self.known, self.answer = crashes, before, known, answer
        self.seen = lambda: None

    async def call(self, arguments, idempotency_key):
        await asyncio.sleep(0)
        self.seen()
        self.keys.append(idempotency_key)
        if self.before and len(self.keys) in self.crashes:
            raise Crash
        answer = self.answer(arguments) if self.answer else {"reading": arguments["n"] * 10}
        self.done.setdefault(idempotency_key, answer)
        if len(self.keys) in self.crashes:
            raise Crash
        return answer

    async def lookup(self, idempotency_key):
        return self.done.get(idempotency_key, Fate.NEVER) if self.known else Fate.UNKNOWN


def three_readings(tool):
    async def play(ctx):
        for n in range(3):
            ctx.emit("begun.1", {"n": n})
            ctx.emit("read.1", {"value": await ctx.tool(tool, {"n": n})})

    return play


def uninterrupted(new_desk, effect_class):
    (row,) = new_desk("whole").play(three_readings(Meter(effect_class)))
    assert row.reason == "finished"
    return row.fingerprint


def crash(desk, play, **settings):
    with pytest.raises(BaseExceptionGroup) as died:
        desk.play(play, **settings)
    assert died.value.subgroup(Crash)


@pytest.mark.parametrize("effect_class", ["repeatable", "idempotent"])
def test_an_effect_that_may_be_asked_again_is_and_the_run_equals_the_uninterrupted_one(
    desk, new_desk, effect_class
):
    tool = Meter(effect_class, crashes=(2,))
    crash(desk, three_readings(tool))
    assert [type for type, _ in desk.events()] == ["begun.1", "tool.1", "read.1", "begun.1"]
    (row,) = desk.play(three_readings(tool))
    assert row.fingerprint == uninterrupted(new_desk, effect_class)
    assert len(tool.keys) == 4, "the call that was under way is the only one asked again"


def test_the_key_of_an_idempotent_call_is_the_same_after_a_crash_and_no_other_call_has_it(desk):
    tool = Meter("idempotent", crashes=(2,))
    crash(desk, three_readings(tool))
    desk.play(three_readings(tool))
    first, second, again, third = tool.keys
    assert second == again
    assert len({first, second, third}) == 3
    assert all(len(key) == 64 for key in tool.keys)


def test_two_episodes_never_share_an_idempotency_key(desk):
    tool = Meter("idempotent")
    desk.play(three_readings(tool), three_readings(tool))
    assert len(set(tool.keys)) == 6


@pytest.mark.parametrize("effect_class", ["idempotent", "once"])
def test_the_log_is_on_disk_before_the_call_is_sent(desk, effect_class):
    tool, seen = Meter(effect_class), []

    def look():
        with sqlite3.connect(desk.store.path) as connection:
            events = connection.execute("SELECT type FROM events ORDER BY seq").fetchall()
            intents = connection.execute("SELECT count(*) FROM intents").fetchone()[0]
        connection.close()
        seen.append((len(events), intents))

    tool.seen = look
    desk.play(three_readings(tool))
    committed = [1, 2, 3] if effect_class == "once" else [0, 0, 0]
    assert seen == list(zip([1, 4, 7], committed, strict=True))


@pytest.mark.parametrize("broken", [False, True])
def test_a_call_that_may_happen_once_is_in_doubt_after_a_crash_and_never_sent_again(desk, broken):
    tool = Meter("once", crashes=(2,), known=False)
    if broken:
        tool.done = None
        tool.call = Meter("once", crashes=(2,)).call
        tool.known = True  # lookup then breaks

    crash(desk, three_readings(tool))
    sent = len(tool.keys)
    (row,) = desk.play(three_readings(tool))
    assert (row.status, row.reason, row.fault) == ("ended", "in_doubt", "infrastructure")
    assert len(tool.keys) == sent
    assert [type for type, _ in desk.events()] == [
        "begun.1", "tool.1", "read.1", "begun.1", "stopped.1", "ended.1",
    ]  # fmt: skip
    desk.replay(three_readings(Meter("once")))


def test_a_tool_that_can_look_its_calls_up_gives_the_answer_of_the_one_that_was_sent(desk, new_desk):
    tool = Meter("once", crashes=(2,))
    crash(desk, three_readings(tool))
    (row,) = desk.play(three_readings(tool))
    assert row.reason == "finished"
    assert row.fingerprint == uninterrupted(new_desk, "once")
    assert len(tool.keys) == 3, "each call was sent once"


def test_a_call_that_certainly_never_arrived_is_sent_after_the_crash(desk, new_desk):
    tool = Meter("once", crashes=(2,), before=True)
    crash(desk, three_readings(tool))
    (row,) = desk.play(three_readings(tool))
    assert row.fingerprint == uninterrupted(new_desk, "once")
    assert len(tool.done) == 3


def test_an_answer_that_was_looked_up_and_cannot_be_recorded_leaves_the_call_in_doubt(desk):
    tool = Meter("once", crashes=(2,), answer=lambda arguments: {1, 2} if arguments["n"] else 0)
    crash(desk, three_readings(tool))
    (row,) = desk.play(three_readings(tool))
    assert (row.reason, len(tool.keys)) == ("in_doubt", 2)
    desk.replay(three_readings(tool))


def test_a_replay_calls_no_tool(desk):
    desk.play(three_readings(Meter("repeatable")))

    class Silent(Meter):
        async def call(self, arguments, idempotency_key):
            raise AssertionError("called in a replay")

    for effect_class in ("repeatable", "idempotent", "once"):
        desk.replay(three_readings(Silent(effect_class)))


def test_what_a_tool_refuses_goes_to_the_caller_and_is_recorded(desk):
    def refuse(arguments):
        raise ToolError("no such meter")

    async def play(ctx):
        try:
            await ctx.tool(Meter("repeatable", answer=refuse), {"n": 1})
        except ToolError as error:
            ctx.emit("heard.1", {"text": str(error)})

    (row,) = desk.play(play)
    assert row.reason == "finished"
    assert desk.events()[0][1]["answer"] == {"error": "no such meter"}
    assert desk.events()[1] == ("heard.1", {"text": "no such meter"})
    desk.replay(play)


def ends_with_a_refusal(arguments):
    raise ToolError("closed")


def breaks(arguments):
    raise ConnectionResetError("the line is dead")


def times_out(arguments):
    raise TimeoutError


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (ends_with_a_refusal, "closed"),
        (breaks, "ConnectionResetError"),
        (times_out, "TimeoutError"),
        (lambda arguments: {"pair": (1, 2)}, "RecordError"),
        (lambda arguments: float("nan"), "RecordError"),
    ],
)
def test_a_tool_that_breaks_ends_its_episode_and_no_other_and_the_replay_agrees(desk, answer, detail):
    broken = three_readings(Meter("repeatable", answer=answer))
    rows = desk.play(broken, three_readings(Meter("repeatable")))
    assert [row.reason for row in rows] == ["tool_failed", "finished"]
    assert rows[0].fault == "infrastructure"
    assert detail in rows[0].detail
    desk.replay(broken, three_readings(Meter("repeatable")))


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("overflow", "context_overflow"),
        ("refusal", "refused"),
        ("unreachable", "model_failed"),
        ("timeout", "model_failed"),
        ("overloaded", "model_failed"),
        ("rate_limited", "model_failed"),
        ("quota", "model_failed"),
        ("auth", "model_failed"),
        ("bad_reply", "model_failed"),
        ("bad_request", "model_failed"),
        ("not_found", "model_failed"),
    ],
)
def test_why_a_model_could_not_answer_is_why_the_episode_ended(desk, echo, ask, kind, reason):
    async def play(ctx):
        await ctx.model("agent", ask(f"from {ctx.seed}"))

    models = {
        "agent": echo(lambda request: ModelError(kind, "in its own words") if "0" in str(request) else "fine")
    }
    rows = desk.play(play, play, models=models)
    assert [(row.reason, row.fault) for row in rows] == [(reason, REASONS[reason][0]), ("finished", "none")]
    assert REASONS[reason][0] == ("agent" if reason in ("context_overflow", "refused") else "infrastructure")
    assert "in its own words" in rows[0].detail
    assert b"own words" not in b"".join(e.data for e in desk.store.events(0).values()), (
        "the wording is telemetry"
    )
    desk.store.close()
    desk.replay(play, play, models=models)


def test_a_model_with_a_bug_ends_its_episode_and_no_other_and_the_replay_agrees(desk, echo, ask):
    async def play(ctx):
        await ctx.model("agent", ask(f"from {ctx.seed}"))

    models = {"agent": echo(lambda request: KeyError("choices") if "0" in str(request) else "fine")}
    rows = desk.play(play, play, models=models)
    assert [row.reason for row in rows] == ["error", "finished"]
    assert "KeyError" in rows[0].detail
    desk.replay(play, play, models=models)


@pytest.mark.parametrize("telemetry", [{"latency_s": float("nan")}, {"tags": ("a",)}])
def test_telemetry_that_cannot_be_written_is_the_fault_of_its_model_alone(desk, echo, ask, telemetry):
    async def play(ctx):
        await ctx.model("agent", ask(f"from {ctx.seed}"))

    models = {
        "agent": echo(lambda request: Completion("x", telemetry=telemetry if "0" in str(request) else {}))
    }
    rows = desk.play(play, play, models=models)
    assert [row.reason for row in rows] == ["error", "finished"]
    desk.replay(play, play, models=models)


@pytest.mark.parametrize(
    "fault",
    [
        lambda ctx: ctx.emit("x.1", {"n": {1, 2}}),
        lambda ctx: 1 / 0,
        lambda ctx: [][0],
        lambda ctx: "\ud800".encode(),
    ],
)
def test_a_fault_of_the_program_is_an_error_of_its_episode_and_no_other(desk, fault):
    async def play(ctx):
        ctx.emit("begun.1", {"seed": ctx.seed})
        if ctx.seed == 0:
            fault(ctx)

    rows = desk.play(play, play)
    assert [(row.status, row.reason, row.fault) for row in rows] == [
        ("ended", "error", "infrastructure"), ("ended", "finished", "none"),
    ]  # fmt: skip
    assert rows[0].detail
    desk.replay(play, play)


def test_a_fault_whose_text_no_file_can_hold_does_not_stop_the_run(desk):
    async def play(ctx):
        raise ValueError("half a character: \ud83d")

    (row,) = desk.play(play)
    assert (row.reason, row.detail) == ("error", "ValueError: half a character: \ufffd")


def test_a_scorer_with_a_bug_costs_its_episode_the_scores_and_no_other_anything(desk):
    class Broken:
        async def score(self, record, ctx):
            raise ZeroDivisionError("no criteria")

    async def play(ctx):
        ctx.emit("x.1", {})

    rows = desk.play(play, play, scorer=Broken())
    assert [(row.status, row.reason) for row in rows] == [("ended", "finished")] * 2
    assert "not scored: ZeroDivisionError" in rows[0].detail
    assert desk.store.scores() == {}
    desk.store.close()


def test_the_wall_clock_is_read_once_and_replayed(desk):
    async def play(ctx):
        ctx.emit("now.1", {"seconds": await ctx.wall()})

    desk.play(play)
    (_, wall), (_, now), _ = desk.events()
    assert wall["answer"] == now["seconds"] > 1.7e9
    desk.replay(play)


def test_a_changed_request_is_named_by_its_key_and_its_answer_is_not_used(desk, echo, ask):
    def play_with(word):
        async def play(ctx):
            ctx.emit("begun.1", {})
            await ctx.model("agent", ask(word))

        return play

    models = {"agent": echo()}
    desk.play(play_with("hello"), models=models)
    with pytest.raises(Divergence) as found:
        desk.replay(play_with("hullo"), models=models)
    assert found.value.key == "1"
    assert found.value.recorded.startswith("model.1 with request")


def test_a_model_that_nobody_bound_is_named_with_what_there_is(desk, echo, ask):
    async def play(ctx):
        await ctx.model("agnet", ask("hello"))

    (row,) = desk.play(play, models={"agent": echo()})
    assert row.reason == "error"
    assert "'agnet'" in row.detail
    assert "'agent'?" in row.detail


def test_lone_surrogates_of_a_careless_model_are_mended_and_the_answer_is_marked(desk, echo, ask):
    async def play(ctx):
        answer = await ctx.model("agent", ask("hello"))
        ctx.emit("heard.1", {"text": answer.text, "mended": answer.mended})

    models = {"agent": echo(lambda request: "cut \ud83d")}
    desk.play(play, models=models)
    assert desk.events()[1] == ("heard.1", {"text": "cut \ufffd", "mended": True})
    desk.replay(play, models=models)


def test_every_reason_says_whose_fault_it_is():
    assert End("completed").fault == "none"
    assert {fault for fault, _ in REASONS.values()} <= {
        "none",
        "agent",
        "world",
        "judge",
        "infrastructure",
        "person",
    }


class Unsorted:
    name, parameters, effect_class = "unsorted", {}, "repeatable"

    async def call(self, arguments, idempotency_key):
        return {"b": 1.0, "a": [{"d": 2, "c": 3}]}

    async def lookup(self, idempotency_key):
        return None


def test_a_program_hears_live_what_it_will_hear_from_the_record(desk, echo, ask):
    async def play(ctx):
        said = await ctx.tool(Unsorted(), {})
        await ctx.model("agent", ask(json.dumps(said)))  # the order of keys is part of this prompt

    desk.play(play, models={"agent": echo()})
    assert desk.events()[1][1]["answer"]["text"] == '{"a": [{"c": 3, "d": 2}], "b": 1.0}'
    desk.replay(play, models={"agent": echo()})
