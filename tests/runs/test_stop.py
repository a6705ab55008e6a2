"""A stop from outside: recorded where it struck, replayed there, and taken back when the episode goes on."""

import asyncio

import pytest
from langgraph.graph import START, StateGraph

from worldloom.core.errors import Ended
from worldloom.graphs.node import HouseState, house_node
from worldloom.runs.effect import EFFECTS, Fate
from worldloom.runs.ending import End
from worldloom.runs.limits import Limits
from worldloom.runs.past import what_holds


@pytest.fixture
def stopping(desk, echo):
    """A model that stops the run when it is asked for the n-th time, and then never answers."""

    def make(at, reason="cancelled"):
        class Stopping(echo):
            cancelled = 0

            async def complete(self, request):
                completion = await super().complete(request)
                if self.asked >= at:
                    if self.asked == at:
                        desk.executor.stop(reason)
                    try:
                        await asyncio.Event().wait()
                    except asyncio.CancelledError:
                        self.cancelled += 1
                        raise
                return completion

        return Stopping()

    return make


def chat(ask, turns=4):
    async def play(ctx):
        for turn in range(turns):
            answer = await ctx.model("agent", ask(f"turn {turn} of {ctx.seed}"))
            ctx.emit("said.1", {"text": answer.text})

    return play


def test_a_cancel_in_a_model_call_is_recorded_at_the_key_of_the_call(desk, ask, stopping):
    model = stopping(at=3)
    (row,) = desk.play(chat(ask), models={"agent": model})
    assert (row.status, row.reason, row.fault) == ("cancelled", "cancelled", "person")
    assert model.cancelled == 1, "the call under way was given up"
    assert desk.events()[4:] == [
        ("stopped.1", {"at": "model.1", "reason": "cancelled"}),
        ("ended.1", desk.events()[5][1]),
    ]
    assert desk.events()[5][1]["reason"] == "cancelled"
    assert row.steps == 0
    assert row.model_calls == 3


def test_the_replay_of_a_cancelled_episode_stops_where_it_was_stopped(desk, ask, stopping):
    model = stopping(at=3)
    desk.play(chat(ask), models={"agent": model})
    desk.replay(chat(ask), models={"agent": model})


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_cancelled_episode_goes_on_to_the_fingerprint_of_an_uninterrupted_one(
    desk, new_desk, echo, ask, stopping, at
):
    desk.play(chat(ask), models={"agent": stopping(at=at)})
    again = echo()
    (row,) = desk.play(chat(ask), models={"agent": again})
    (whole,) = new_desk("whole").play(chat(ask), models={"agent": echo()})
    assert (row.status, row.reason) == ("ended", "finished")
    assert row.fingerprint == whole.fingerprint
    assert again.asked == 4 - (at - 1), "what was answered is not asked again"
    desk.replay(chat(ask), models={"agent": again})


def test_episodes_that_had_not_begun_stay_planned_and_are_played_on_resume(
    desk, new_desk, echo, ask, stopping
):
    plays = [chat(ask)] * 12
    rows = desk.play(*plays, models={"agent": stopping(at=6)}, concurrency=3)
    assert {row.status for row in rows} == {"planned", "cancelled"} | {
        "ended" for row in rows if row.reason == "finished"
    }
    assert [row.status for row in rows].count("planned") >= 8
    rows = desk.play(*plays, models={"agent": echo()}, concurrency=5)
    whole = new_desk("whole").play(*plays, models={"agent": echo()}, concurrency=1)
    assert [row.fingerprint for row in rows] == [row.fingerprint for row in whole]


def graph_play(node):
    """An episode that is a graph of one node."""
    graph = StateGraph(HouseState)
    graph.add_node("agent", house_node(node))
    graph.add_edge(START, "agent")
    compiled = graph.compile()

    async def play(ctx):
        final = await ctx.subgraph("toy", compiled, {})
        return final.get("ended") or End("finished")

    return play


def test_a_cancel_in_the_first_call_of_a_graph_node_replays_and_goes_on(desk, new_desk, echo, ask, stopping):
    """The key of that call is also the key at which the node itself could have been stopped."""

    async def node(state, ctx):
        ctx.usage.steps += 1
        answer = await ctx.model("agent", ask("hello"))
        ctx.emit("said.1", {"text": answer.text})
        return {}

    play = graph_play(node)
    model = stopping(at=1)
    (row,) = desk.play(play, models={"agent": model})
    assert row.model_calls == 1
    desk.replay(play, models={"agent": model})
    (row,) = desk.play(play, models={"agent": echo()})
    assert row.fingerprint == new_desk("whole").play(play, models={"agent": echo()})[0].fingerprint


def test_a_stop_between_two_nodes_is_recorded_at_the_node_that_did_not_begin(desk):
    async def node(state, ctx):
        raise AssertionError("must not begin")

    async def play(ctx):
        desk.executor.stop("cancelled")
        return await graph_play(node)(ctx)

    async def again(ctx):
        return await graph_play(node)(ctx)

    desk.play(play)
    assert desk.events()[0] == ("stopped.1", {"at": "node", "reason": "cancelled"})
    desk.replay(again)


def fan_out(ask, width=6):
    """Asks for all at once, tolerates who fails, and concludes something from it."""

    async def child(ctx, item):
        answer = await ctx.model("agent", ask(f"item {item}"))
        ctx.emit("said.1", {"text": answer.text})
        return answer.text

    async def play(ctx):
        settled = await ctx.settle(child, range(width))
        ctx.emit("counted.1", {"answered": sum(one.error is None for one in settled)})

    return play


class Half:
    """Answers items 0 to 2, stops the run, and leaves the others waiting."""

    def __init__(self, echo, desk):
        self.echo, self.desk, self.id = echo(), desk, "echo"

    async def complete(self, request):
        completion = await self.echo.complete(request)
        if int(completion.text.split()[1]) > 2:
            await asyncio.Event().wait()
        if completion.text == "item 2":
            self.desk.executor.stop("cancelled")
        return completion

    async def context_length(self):
        return None


def test_siblings_each_stop_for_themselves_and_answers_that_came_are_kept(desk, new_desk, echo, ask):
    (row,) = desk.play(fan_out(ask), models={"agent": Half(echo, desk)})
    assert row.status == "cancelled", "although the program took the stop for a failure of its children"
    kinds = [type for type, _ in desk.events()]
    assert kinds.count("stopped.1") == 3
    assert kinds.count("model.1") == 3
    desk.replay(fan_out(ask), models={"agent": echo()})
    again = echo()
    (row,) = desk.play(fan_out(ask), models={"agent": again})
    assert again.asked == 3
    (whole,) = new_desk("whole").play(fan_out(ask), models={"agent": echo()})
    assert row.fingerprint == whole.fingerprint, "what was concluded from the stop was taken away"
    desk.replay(fan_out(ask), models={"agent": echo()})


def test_what_was_concluded_after_a_stop_goes_and_what_the_outside_said_stays():
    from worldloom.core.event import Event

    rows = [
        (b"1", "model.1"),
        (b"2", "said.1"),
        (b"3", "stopped.1"),
        (b"4", "tool.1"),
        (b"5", "counted.1"),
        (b"6", "ended.1"),
    ]
    kept, undone = what_holds([Event(key, type, b"{}") for key, type in rows])
    assert list(kept) == [b"1", b"2", b"4"]
    assert undone == [b"3", b"5", b"6"]
    assert {"model.1", "tool.1", "wall.1", "ask.1"} == EFFECTS


@pytest.mark.parametrize("shape", ["chat", "fan_out", "graph"])
def test_a_stop_while_the_past_is_played_again_waits_until_the_past_is_over(
    desk, new_desk, echo, ask, stopping, shape
):
    async def node(state, ctx):
        await fan_out(ask)(ctx)
        return {}

    play = {"chat": chat(ask), "fan_out": fan_out(ask), "graph": graph_play(node)}[shape]
    (row,) = desk.play(play, models={"agent": stopping(at=3) if shape == "chat" else Half(echo, desk)})
    assert row.status == "cancelled"
    answers = [type for type, _ in desk.events()].count("model.1")
    assert answers in (2, 3)

    async def stopped_at_once(ctx):
        desk.executor.stop("cancelled")
        return await play(ctx)

    again = echo()
    (row,) = desk.play(stopped_at_once, models={"agent": again})
    assert (row.status, row.reason, again.asked) == ("cancelled", "cancelled", 0)
    assert [type for type, _ in desk.events()].count("model.1") == answers, "no answer was lost"
    desk.replay(play, models={"agent": again})
    (row,) = desk.play(play, models={"agent": again})
    (whole,) = new_desk("whole").play(play, models={"agent": echo()})
    assert row.fingerprint == whole.fingerprint


def test_the_limit_on_wall_time_ends_the_episode_for_good_and_replays(desk, echo, ask):
    class Slow(echo):
        async def complete(self, request):
            if self.asked == 2:
                await asyncio.Event().wait()
            return await super().complete(request)

    limits = Limits(wall_s=0.05)
    (row,) = desk.play(chat(ask), models={"agent": Slow()}, limits=limits)
    assert (row.status, row.reason, row.fault) == ("ended", "wall_limit", "infrastructure")
    desk.replay(chat(ask), models={"agent": echo()}, limits=limits)


def test_a_call_that_may_happen_once_and_was_cancelled_is_in_doubt_when_the_run_goes_on(desk):
    class Slow:
        name, parameters, effect_class, called = "pay", {}, "once", 0

        async def call(self, arguments, idempotency_key):
            self.called += 1
            desk.executor.stop("cancelled")
            await asyncio.Event().wait()

        async def lookup(self, idempotency_key):
            return Fate.UNKNOWN

    tool = Slow()

    async def play(ctx):
        await ctx.tool(tool, {"amount": 5})

    (row,) = desk.play(play)
    assert row.status == "cancelled"
    (row,) = desk.play(play)
    assert (row.reason, tool.called) == ("in_doubt", 1)
    desk.replay(play)


def test_a_cancel_reaches_everything_after_it_no_call_starts_and_no_process_lives(desk, echo, ask):
    processes, late = [], []

    class Asked(echo):
        async def complete(self, request):
            if desk.executor.stop_reason is not None:
                late.append(request)
            return await super().complete(request)

    class Working:
        """Works in a process of its own, and ends it however it is left."""

        name, parameters, effect_class = "work", {}, "repeatable"

        async def call(self, arguments, idempotency_key):
            process = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE)
            processes.append(process)
            try:
                if len(processes) == 6:
                    desk.executor.stop("cancelled")
                return await process.wait()
            finally:
                process.kill()
                await process.wait()

    async def child(ctx, item):
        await ctx.model("agent", ask(f"first {item}"))
        await ctx.tool(Working(), {"item": item})
        await ctx.model("agent", ask(f"then {item}"))

    async def play(ctx):
        await ctx.settle(child, range(2))
        await ctx.model("agent", ask("and at last"))

    class Judged:
        async def score(self, record, ctx):
            await ctx.model("judge", ask("how was it?"))
            return []

    rows = desk.play(*[play] * 5, models={"agent": Asked(), "judge": Asked()}, concurrency=3, scorer=Judged())
    assert [row.status for row in rows] == ["cancelled"] * 3 + ["planned"] * 2
    assert late == []
    assert [process.returncode is not None for process in processes] == [True] * 6


def test_a_cancel_that_is_not_ours_stays_a_cancel(desk, ask, echo):
    """Whoever cancels the task in which a run plays gets it back cancelled, and the run can be resumed."""

    class Waiting(echo):
        async def complete(self, request):
            desk.outer.cancel()
            await asyncio.Event().wait()

    async def outside(run):
        desk.outer = asyncio.current_task()
        await run

    real, asyncio.run = asyncio.run, lambda run: real(outside(run))
    try:
        with pytest.raises(asyncio.CancelledError):
            desk.play(chat(ask), models={"agent": Waiting()})
    finally:
        asyncio.run = real
    (row,) = desk.play(chat(ask), models={"agent": echo()})
    assert row.reason == "finished"


@pytest.mark.parametrize("in_an_effect", [True, False])
def test_waiting_for_something_that_was_cancelled_is_a_fault_and_no_cancel(desk, echo, ask, in_an_effect):
    """Else the episode would vanish from the run without a word, and those behind it with it."""

    async def wait(*_):
        gone = asyncio.get_running_loop().create_future()
        gone.cancel()
        await gone

    model = echo()
    if in_an_effect:
        model.complete = wait

    async def play(ctx):
        await (ctx.model("agent", ask("hello")) if in_an_effect else wait())

    rows = desk.play(play, play, play, models={"agent": model}, concurrency=1)
    assert [(row.status, row.reason) for row in rows] == [("ended", "error")] * 3
    desk.replay(play, play, play, models={"agent": model})


def test_a_reason_that_nobody_knows_is_an_error_of_its_episode_and_no_other(desk):
    async def play(ctx):
        if ctx.seed == 0:
            raise Ended("bored", "after all")
        return End("tired") if ctx.seed == 1 else None

    rows = desk.play(play, play, play)
    assert [row.reason for row in rows] == ["error", "error", "finished"]
    assert "'bored'; after all" in rows[0].detail
