"""Limits of money and of a whole run: they come from outside, are recorded where they strike, and replay there."""

import asyncio
import contextlib
import itertools
import json

import pytest

from worldloom.core.errors import UsageError
from worldloom.models.model import Completion
from worldloom.runs.cost import Priced, Prices, TokenPrice
from worldloom.runs.ending import RUN_LIMIT
from worldloom.runs.limits import Limits, RunLimits
from worldloom.runs.rows import Score
from worldloom.runs.store import DEFAULT_SCORING

PRICES = Prices(
    "USD", {name: Priced(name, TokenPrice(50_000, 100_000)) for name in ("agent", "world", "judge")}
)
"""An answer of `echo` has 10 tokens of prompt and 5 of its own, so it costs 1."""


def chat(ask, turns=4):
    async def play(ctx):
        for turn in range(turns):
            answer = await ctx.model("agent", ask(f"turn {turn} of {ctx.seed}"))
            ctx.emit("said.1", {"text": answer.text})

    return play


def endless(ask):
    async def play(ctx):
        for turn in itertools.count():
            await ctx.model("world", ask(f"world {turn}"), budgeted=False)
            await ctx.model("agent", ask(f"turn {turn}"))

    return play


def wide(ask):
    async def child(ctx, item):
        for turn in range(9):
            await ctx.model("agent", ask(f"{item} {turn}"))

    async def play(ctx):
        await ctx.settle(child, range(4))

    return play


@pytest.fixture
def uneven(echo):
    """As `echo`, and some answers take longer than others."""

    class Uneven(echo):
        begun = 0

        async def complete(self, request):
            self.begun += 1
            for _ in range(self.begun * 5 % 7):
                await asyncio.sleep(0)
            return await super().complete(request)

    return Uneven


def answers(desk, rows):
    """How many answers are on record, those to judges included."""
    with contextlib.closing(desk.store) as store:
        found = [store.events(row.row, scoring) for row in rows for scoring in ("", DEFAULT_SCORING)]
    return sum(event.type == "model.1" for events in found for event in events.values())


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("shape", [endless, wide])
def test_a_limit_on_cost_ends_an_episode_for_good_and_replays(desk, uneven, ask, shape, concurrency):
    model, world = uneven(), uneven()
    settings = {"models": {"agent": model, "world": world}, "limits": Limits(cost=3.0), "prices": PRICES}
    rows = desk.play(*[shape(ask)] * 3, concurrency=concurrency, **settings)
    assert {(row.status, row.reason, row.fault) for row in rows} == {("ended", "cost_limit", "agent")}
    assert model.begun + world.begun == answers(desk, rows), "what is under way has been paid, and is kept"
    most = 3 if shape is endless else 6  # 4 at a time
    assert all(3 <= json.loads(row.models)["agent"][2] // 5 <= most for row in rows)
    assert desk.store.scores().keys() == {0, 1, 2}, "what ended at a limit is scored"
    desk.replay(*[shape(ask)] * 3, **settings)


def test_a_crash_between_the_answer_that_reached_the_limit_and_the_stop_buys_no_further_answer(
    desk, echo, ask
):
    async def dies(ctx):
        await ctx.model("agent", ask("turn 0 of 0"))
        ctx.emit("said.1", {"text": "turn 0 of 0"})
        await ctx.model("agent", ask("turn 1 of 0"))
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    model, limits = echo(), Limits(cost=2.0)
    with pytest.raises(asyncio.CancelledError):
        desk.play(dies, models={"agent": model}, limits=limits, prices=PRICES)
    (row,) = desk.play(chat(ask), models={"agent": model}, limits=limits, prices=PRICES)
    assert (row.reason, model.asked) == ("cost_limit", 2)


def test_an_answer_whose_tokens_nobody_counted_uses_up_a_limit_on_cost(desk, echo, ask):
    model = echo(lambda request: Completion("fine"))
    settings = {"models": {"agent": model}, "limits": Limits(cost=1000.0), "prices": PRICES}
    (row,) = desk.play(chat(ask), **settings)
    assert (row.reason, row.models) == ("cost_limit", '{"agent":[2,0,0,0,1]}')
    desk.replay(chat(ask), **settings)


class Judged:
    """Asks a judge twice."""

    def __init__(self, ask) -> None:
        self.ask = ask

    async def score(self, record, ctx):
        for n in range(2):
            await ctx.model("judge", self.ask(f"{n} of {len(record.events)}"))
        return [Score("judged", 1.0, 1, "share", "judge")]


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize(
    "run_limits",
    [
        RunLimits(model_calls=0),
        RunLimits(model_calls=5),
        RunLimits(model_calls=17),
        RunLimits(tokens=100),
        RunLimits(cost=7.0),
    ],
    ids=str,
)
def test_a_run_stopped_by_its_limit_goes_on_to_what_it_would_have_been(
    desk, new_desk, echo, uneven, ask, run_limits, concurrency
):
    plays, models = [chat(ask)] * 5, {"agent": uneven(), "judge": uneven()}
    rows = desk.play(
        *plays,
        models=models,
        concurrency=concurrency,
        scorer=Judged(ask),
        run_limits=run_limits,
        prices=PRICES,
    )
    assert (desk.executor.stop_reason, desk.executor.unfinished > 0) == (RUN_LIMIT, True)
    assert {row.status for row in rows} <= {"ended", RUN_LIMIT, "running", "planned"}
    assert {row.fault for row in rows if row.status == RUN_LIMIT} <= {"person"}
    asked = sum(model.begun for model in models.values())
    assert asked == answers(desk, rows), "what is under way has been paid, and is kept"
    if run_limits.model_calls is not None:
        assert asked == run_limits.model_calls
    else:
        assert 7 <= asked <= 7 + concurrency - 1
    desk.replay(*plays, models=models, scorer=Judged(ask))
    rows = desk.play(
        *plays,
        models=models,
        concurrency=concurrency,
        scorer=Judged(ask),
        run_limits=RunLimits(model_calls=30),
    )
    assert sum(model.begun for model in models.values()) == 5 * (4 + 2), "nothing is asked, or counted, twice"
    whole = new_desk("whole").play(*plays, models={"agent": echo(), "judge": echo()}, scorer=Judged(ask))
    assert [row.fingerprint for row in rows] == [row.fingerprint for row in whole]
    assert [row.scored for row in rows] == [row.scored for row in whole]
    assert {row.scoring_models for row in rows} == {'{"judge":[2,20,10,0,0]}'}


def test_the_limit_on_a_runs_wall_time_gives_up_what_is_under_way(desk, new_desk, echo, ask):
    class Slow(echo):
        async def complete(self, request):
            if self.asked == 6:
                await asyncio.Event().wait()
            return await super().complete(request)

    plays = [chat(ask)] * 3
    rows = desk.play(*plays, models={"agent": Slow()}, concurrency=1, run_limits=RunLimits(wall_s=0.05))
    assert [row.status for row in rows] == ["ended", RUN_LIMIT, "planned"]
    desk.replay(*plays, models={"agent": echo()})
    rows = desk.play(*plays, models={"agent": echo()})
    whole = new_desk("whole").play(*plays, models={"agent": echo()})
    assert [row.fingerprint for row in rows] == [row.fingerprint for row in whole]


def test_an_answer_whose_tokens_nobody_counted_uses_up_a_runs_tokens(desk, echo, ask):
    model = echo(lambda request: Completion("fine"))
    desk.play(chat(ask), models={"agent": model}, run_limits=RunLimits(tokens=1000))
    assert (desk.executor.stop_reason, model.asked) == (RUN_LIMIT, 1)


def test_a_limit_that_is_just_enough_is_none(desk, echo, ask):
    (row,) = desk.play(chat(ask), models={"agent": echo()}, run_limits=RunLimits(model_calls=4))
    assert (row.status, desk.executor.stop_reason, desk.executor.unfinished) == ("ended", None, 0)


@pytest.mark.parametrize("ours", [True, False])
def test_a_cancel_after_the_limit_gives_up_what_the_limit_let_go_on(desk, echo, ask, ours):
    """The limit lets a call under way come to its end; whoever does not want to wait for it has to be heard."""

    class Hanging(echo):
        async def complete(self, request):
            if request.messages[0].content[0].text.endswith("of 0"):
                strikes, struck = desk.executor.meter.on_limit, asyncio.Event()
                desk.executor.meter.on_limit = lambda: (strikes(), struck.set())
                await struck.wait()
                if ours:
                    desk.executor.stop("cancelled")
                else:
                    asyncio.current_task().cancel()
                await asyncio.Event().wait()
            return await super().complete(request)

    with contextlib.nullcontext() if ours else pytest.raises(asyncio.CancelledError):
        rows = desk.play(*[chat(ask)] * 2, models={"agent": Hanging()}, run_limits=RunLimits(model_calls=2))
        assert {row.status for row in rows} == {RUN_LIMIT}


@pytest.mark.parametrize("kind", [Limits, RunLimits])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cost", 0),
        ("cost", -1.0),
        ("cost", float("nan")),
        ("cost", "1"),
        ("wall_s", True),
        ("tokens", -1),
        ("model_calls", 1.5),
    ],
)
def test_limits_out_of_range_are_refused_by_name(kind, name, value):
    with pytest.raises(UsageError, match=f"{name} is"):
        kind(**{name: value})
