"""The outside is asked again what is on record; how often it says the same is a statistic and changes nothing."""

import pytest

from worldloom.core.errors import ModelError, ToolError
from worldloom.models.model import Completion, Usage
from worldloom.runs.verification import Verification


class Lookup:
    """A tool; counts its calls."""

    name, parameters = "lookup", {}

    def __init__(self, effect_class="repeatable"):
        self.effect_class, self.calls, self.value = effect_class, 0, 1

    async def call(self, arguments, idempotency_key):
        self.calls += 1
        if arguments["n"] == 2:
            raise ToolError("no")
        return {"value": self.value}

    async def lookup(self, idempotency_key):
        raise AssertionError("nothing was in doubt")


def talking(ask, tool):
    async def play(ctx):
        for n in range(4):
            await ctx.model("agent", ask(f"say {n}"))
        for n in range(3):
            try:
                await ctx.tool(tool, {"n": n})
            except ToolError:
                continue
        await ctx.wall()

    return play


def again(desk, play, model):
    """What asking again finds; the replay must not mind."""
    verification = Verification()
    assert desk.problems(play, models={"agent": model}, live=True, verification=verification) == [None]
    return {one.what: one for one in verification.found()}


def test_each_answer_is_asked_for_again_and_compared_but_for_its_cost(desk, echo, ask):
    tool = Lookup()
    play = talking(ask, tool)
    desk.play(play, models={"agent": echo()})
    before = desk.everything_on_disk()

    def answer(request):
        text = request.messages[-1].content[0].text
        if text == "say 1":
            return "something else"
        return ModelError("unreachable", "down") if text == "say 2" else Completion(text, usage=Usage(1, 1))

    model, tool.value = echo(answer), 2
    found = again(desk, play, model)
    assert model.asked == 4
    said = found["model agent"]
    assert (said.same.value, said.same.n, said.silent) == (pytest.approx(2 / 3), 3, 1)
    assert said.examples == ("episode 0 at 1",)
    assert tool.calls == 3 + 2, "a refusal is no answer"
    assert (found["tool lookup"].same.value, found["tool lookup"].same.n) == (0.0, 2)
    assert found.keys() == {"model agent", "tool lookup"}, "the clock has moved on"
    assert desk.everything_on_disk() == before


@pytest.mark.parametrize("effect_class", ["idempotent", "once"])
def test_what_may_do_harm_is_not_asked_again(desk, echo, ask, effect_class):
    tool = Lookup(effect_class)
    desk.play(talking(ask, tool), models={"agent": echo()})
    assert again(desk, talking(ask, tool), echo()).keys() == {"model agent"}
    assert tool.calls == 3


def test_what_could_not_be_had_then_is_not_asked_again(desk, echo, ask):
    async def play(ctx):
        await ctx.model("agent", ask("x"))

    desk.play(play, models={"agent": echo(lambda _: ModelError("unreachable", "down"))})
    model = echo()
    assert again(desk, play, model) == {}
    assert model.asked == 0


def test_an_episode_is_not_asked_again_unless_that_is_wanted(desk, echo, ask):
    tool, model = Lookup(), echo()
    desk.play(talking(ask, tool), models={"agent": model})
    desk.replay(talking(ask, tool), models={"agent": model})
    assert (model.asked, tool.calls) == (4, 3)
