"""What of an earlier life holds: after a failure of the infrastructure, and when something else plays on."""

import contextlib

import pytest

from worldloom.core.errors import ModelError, ToolError
from worldloom.models.model import Completion
from worldloom.runs.effect import Fate


class Flaky:
    """A model that is down for the requests it is told; counts what it was asked."""

    id = "echo"

    def __init__(self, *down: str) -> None:
        self.down, self.asked = down, []

    async def complete(self, request):
        text = request.messages[-1].content[0].text
        self.asked.append(text)
        if text in self.down:
            raise ModelError("unreachable", "the server is gone")
        return Completion(text)


def chat(ask, *texts):
    async def play(ctx):
        for text in texts:
            reply = await ctx.model("agent", ask(text))
            ctx.emit("said.1", {"text": reply.text})

    return play


def retry(desk, play, model, **settings):
    """As a resume with `retry_failed`."""
    return desk.play(play, models={"agent": model}, failed=True, **settings)


def test_a_failed_episode_goes_on_from_what_failed(desk, new_desk, ask):
    play = chat(ask, "a", "b", "c")
    (row,) = desk.play(play, models={"agent": Flaky("b")})
    assert (row.status, row.reason, row.fault) == ("ended", "model_failed", "infrastructure")
    assert desk.play(play, models={"agent": Flaky()}) == [row], "only if it is asked for"
    again = Flaky()
    (row,) = retry(desk, play, again)
    assert (row.reason, again.asked) == ("finished", ["b", "c"])
    (whole,) = new_desk("whole").play(play, models={"agent": Flaky()})
    assert row.fingerprint == whole.fingerprint
    desk.replay(play, models={"agent": again})


def test_what_was_asked_because_of_a_failure_goes_and_what_was_asked_beside_it_stays(desk, new_desk, ask):
    async def child(ctx, item):
        reply = await ctx.model("agent", ask(item))
        again = await ctx.model("agent", ask(f"{reply.text} again"))
        return again.text

    async def play(ctx):
        settled = await ctx.settle(child, ["x", "y", "z"])
        told = [one.value or "failed" for one in settled]
        reply = await ctx.model("agent", ask(" ".join(told)))
        ctx.emit("said.1", {"text": reply.text})
        if "failed" in told:
            raise ModelError("unreachable", "not all could be asked")

    model = Flaky("y")
    (row,) = desk.play(play, models={"agent": model})
    assert row.reason == "model_failed"
    assert "x again failed z again" in model.asked
    again = Flaky()
    (row,) = retry(desk, play, again)
    assert row.reason == "finished"
    assert again.asked == ["y", "y again", "x again y again z again"]
    (whole,) = new_desk("whole").play(play, models={"agent": Flaky()})
    assert row.fingerprint == whole.fingerprint
    desk.replay(play, models={"agent": again})


@pytest.mark.parametrize("kind", ["refusal", "overflow"])
def test_an_agents_own_failure_is_not_retried(desk, ask, kind):
    class Refusing(Flaky):
        async def complete(self, request):
            raise ModelError(kind, "no")

    (row,) = desk.play(chat(ask, "a"), models={"agent": Refusing()})
    assert row.fault == "agent"
    assert retry(desk, chat(ask, "a"), Flaky()) == [row]


def test_an_episode_that_was_begun_with_something_else_begins_anew(desk, new_desk, ask):
    stopping = Flaky()
    real = stopping.complete

    async def complete(request):
        if len(stopping.asked) == 1:
            desk.executor.stop("cancelled")
        return await real(request)

    stopping.complete = complete
    (row,) = desk.play(chat(ask, "old", "b", "c"), models={"agent": stopping})
    assert (row.status, row.making) == ("cancelled", 0)
    other = Flaky()
    (row,) = desk.play(chat(ask, "new", "b", "c"), models={"agent": other}, making=1)
    assert (row.reason, row.making, other.asked) == ("finished", 1, ["new", "b", "c"])
    (whole,) = new_desk("whole").play(chat(ask, "new", "b", "c"), models={"agent": Flaky()})
    assert row.fingerprint == whole.fingerprint
    desk.replay(chat(ask, "new", "b", "c"), models={"agent": other})


class Till:
    """A side effect that may happen once."""

    name, parameters, effect_class = "till", {}, "once"

    def __init__(self, knows=True):
        self.calls, self.knows = {}, knows

    async def call(self, arguments, idempotency_key):
        assert idempotency_key not in self.calls, "twice"
        self.calls[idempotency_key] = dict(arguments)
        return dict(arguments)

    async def lookup(self, idempotency_key):
        return self.calls.get(idempotency_key, Fate.NEVER) if self.knows else Fate.UNKNOWN


@pytest.mark.parametrize(("pays", "end"), [(1, "finished"), (2, "in_doubt")])
def test_what_was_sent_once_is_not_sent_again_by_an_episode_that_begins_anew(desk, ask, pays, end):
    till = Till()

    def paying(n):
        async def play(ctx):
            await ctx.tool(till, {"n": n})
            await ctx.model("agent", ask("thanks"))
            await ctx.model("agent", ask("bye"))

        return play

    stopping = Flaky()
    stopping.complete = lambda request: _stopped(desk)
    (row,) = desk.play(paying(1), models={"agent": stopping})
    assert row.status == "cancelled"
    (row,) = desk.play(paying(pays), models={"agent": Flaky()}, making=1)
    assert row.reason == end, "another call under the same key: nobody knows what it would do"
    assert [*till.calls.values()] == [{"n": 1}]


async def _stopped(desk):
    desk.executor.stop("cancelled")
    return Completion("late")


def test_a_tool_that_broke_and_one_in_doubt_are_asked_again(desk, ask):
    class Broken(Till):
        async def call(self, arguments, idempotency_key):
            if self.knows:
                return await super().call(arguments, idempotency_key)
            raise OSError("down")

        async def lookup(self, idempotency_key):
            return await super().lookup(idempotency_key)

    till = Broken(knows=False)

    async def play(ctx):
        await ctx.tool(till, {"n": 1})

    (row,) = desk.play(play)
    assert row.reason == "tool_failed"
    (row,) = desk.play(play, failed=True)
    assert row.reason == "in_doubt", "it was sent, and the tool cannot tell what became of it"
    till.knows = True
    (row,) = desk.play(play, failed=True)
    assert (row.reason, [*till.calls.values()]) == ("finished", [{"n": 1}])
    desk.replay(play)


def test_a_tool_that_refuses_is_no_failure_of_the_infrastructure(desk, ask):
    class Refusing(Till):
        effect_class = "repeatable"

        async def call(self, arguments, idempotency_key):
            self.calls[len(self.calls)] = arguments
            raise ToolError("not so")

    till = Refusing()

    async def play(ctx):
        with contextlib.suppress(ToolError):
            await ctx.tool(till, {})
        await ctx.model("agent", ask("a"))

    desk.play(play, models={"agent": Flaky("a")})
    (row,) = retry(desk, play, Flaky())
    assert (row.reason, len(till.calls)) == ("finished", 1)
