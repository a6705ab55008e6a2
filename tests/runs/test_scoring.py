"""A scoring pass has a ledger of its own: what a judge says is asked once, recorded, resumed and replayed."""

import asyncio
import contextlib
import sqlite3

import pytest

from worldloom.core.errors import ModelError, RecordError
from worldloom.runs.rows import Score
from worldloom.runs.store import DEFAULT_SCORING
from worldloom.runs.usage import asked


class Judged:
    """Asks the model `judge` three times."""

    def __init__(self, ask) -> None:
        self.ask, self.said = ask, str

    async def score(self, record, ctx):
        answers = [await ctx.model("judge", self.ask(f"{n} of {len(record.events)}")) for n in range(3)]
        said = [self.said(answer.text) for answer in answers]
        return [Score("judged", float(said == ["yes"] * 3), 3, "share", "judge")]


async def play(ctx):
    ctx.emit("said.1", {"n": 1})


def yes(request):
    return "yes"


def test_what_a_judge_said_is_in_the_record_and_not_in_the_fingerprint(desk, new_desk, echo, ask):
    (judged,) = desk.play(play, models={"judge": echo(yes)}, scorer=Judged(ask))
    (plain,) = new_desk("plain").play(play)
    assert judged.fingerprint == plain.fingerprint
    assert (judged.model_calls, judged.models) == (0, "{}"), "a judge's calls are not the agent's"
    assert desk.store.scores()[0] == [Score("judged", 1.0, 3, "share", "judge")]
    assert [event.type for event in desk.store.events(0, DEFAULT_SCORING).values()] == ["model.1"] * 3
    assert [type for _, type, _ in desk.store.telemetry(0, DEFAULT_SCORING)].count("request.1") == 3
    assert not desk.store.telemetry(0)


def test_a_replay_scores_again_and_asks_no_judge(desk, echo, ask):
    desk.play(play, models={"judge": echo(yes)}, scorer=Judged(ask))
    desk.replay(play, models={"judge": echo()}, scorer=Judged(ask))
    with pytest.raises(Exception, match="diverges at key"):
        desk.replay(play, models={"judge": echo()}, scorer=Judged(lambda text: ask(text + "!")))


@pytest.mark.parametrize("answered", [0, 1, 2])
def test_a_pass_that_is_stopped_goes_on_where_it_was(desk, echo, ask, answered):
    class Stopping(echo):
        async def complete(self, request):
            if self.asked == answered:
                desk.executor.stop("cancelled")
                await asyncio.sleep(10)
            return await super().complete(request)

    (row,) = desk.play(play, models={"judge": Stopping(yes)}, scorer=Judged(ask))
    assert (row.status, desk.store.scores()) == ("running", {})
    judge = echo(yes)
    (row,) = desk.play(play, models={"judge": judge}, scorer=Judged(ask))
    assert (row.status, row.reason, judge.asked) == ("ended", "finished", 3 - answered)
    assert desk.store.scores()[0][0].value == 1.0
    desk.replay(play, models={"judge": judge}, scorer=Judged(ask))


def test_an_episode_that_was_cancelled_is_not_judged_and_says_so(desk, echo, ask):
    async def stopped(ctx):
        desk.executor.stop("cancelled")
        await ctx.model("judge", ask("the play's own question"))

    (row,) = desk.play(stopped, models={"judge": echo(yes)}, scorer=Judged(ask))
    assert (row.status, row.reason) == ("cancelled", "cancelled")
    assert row.detail.startswith("not scored: cancelled")
    desk.replay(stopped, models={"judge": echo(yes)}, scorer=Judged(ask))


def test_a_scorer_that_breaks_costs_one_episode_its_scores(desk, echo, ask):
    def broken(request):
        return ModelError("unreachable", "nobody is there")

    (row,) = desk.play(play, models={"judge": echo(broken)}, scorer=Judged(ask))
    assert (row.status, row.reason) == ("ended", "finished")
    assert row.detail == "not scored: the model could not answer (unreachable); nobody is there"
    desk.replay(play, models={"judge": echo()}, scorer=Judged(ask))


def test_usage_is_told_by_model(desk, echo, ask):
    async def two(ctx):
        for name in ("agent", "world", "agent"):
            await ctx.model(name, ask("hello"))

    (row,) = desk.play(two, models={"agent": echo(), "world": echo()})
    assert asked(row.models) == {"agent": (2, 20, 10, 0, 0), "world": (1, 10, 5, 0, 0)}
    assert (row.model_calls, row.prompt_tokens, row.completion_tokens) == (3, 30, 15)
    desk.replay(two, models={"agent": echo(), "world": echo()})


def tampered(desk, sql, *values):
    desk.store.close()
    with contextlib.closing(sqlite3.connect(desk.store.path)) as connection, connection:
        assert connection.execute(sql, values).rowcount > 0


@pytest.mark.parametrize(
    ("found", "put"),
    [('"text":"yes"', '"text":"yess"'), ('"completion_tokens":5', '"completion_tokens":6')],
)
def test_an_answer_of_a_judge_that_was_changed_is_named_also_if_no_score_changes(desk, echo, ask, found, put):
    scorer = Judged(ask)
    scorer.said = lambda text: "yes"
    desk.play(play, models={"judge": echo(yes)}, scorer=scorer)
    settings = {"models": {"judge": echo()}, "scorer": scorer}
    desk.replay(play, **settings)
    changed = "CAST(replace(CAST(data AS TEXT), ?, ?) AS BLOB)"
    tampered(desk, f"UPDATE events SET data = {changed} WHERE scoring = 'default'", found, put)
    (problem,) = desk.problems(play, **settings)
    assert problem.startswith("scored: ")


def test_another_judge_than_the_one_that_judged_is_named(desk, echo, ask):
    desk.play(play, models={"judge": echo(yes)}, scorer=Judged(ask))
    (problem,) = desk.problems(play, models={"judge": echo()}, scorer=Judged(ask), judge="another")
    assert problem.startswith("scored: ")


@pytest.mark.parametrize("value", ["abc", b"1"])
def test_a_score_that_is_no_number_is_named(desk, echo, ask, value):
    desk.play(play, models={"judge": echo(yes)}, scorer=Judged(ask))
    tampered(desk, "UPDATE scores SET value = ?", value)
    with pytest.raises(RecordError, match="a score of episode 0 has value"):
        desk.store.scores()
