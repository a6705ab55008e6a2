"""A further pass of scoring has its own ledger and rows, is resumed, and leaves everything else as it was."""

import asyncio
import contextlib
import sqlite3

import pytest

from worldloom.core.errors import Divergence, RecordError, UsageError
from worldloom.runs.rescoring import Pass, rescore
from worldloom.runs.rows import Score


class Asking:
    """Asks the model `judge` twice about an episode."""

    def __init__(self, ask) -> None:
        self.ask = ask

    async def score(self, record, ctx):
        said = [(await ctx.model("judge", self.ask(f"{n}"))).text for n in range(2)]
        return [Score("judged", float(said == ["yes"] * 2), 2, "share", "judge")]


async def play(ctx):
    ctx.emit("said.1", {"n": ctx.seed})


def yes(request):
    return "yes"


@pytest.fixture
def again(desk, ask):
    """Scores all episodes of the desk again; a life of its own, as after a crash."""

    def run(judge, *, scorer=None, name="second", rows=None, **options):
        passes = [Pass(row, scorer or Asking(ask), name) for row in rows or desk.store.episodes()]
        with contextlib.closing(desk.store), desk.store.writing() as writer:
            return asyncio.run(rescore(desk.store, writer, passes, {"judge": judge}, **options))

    return run


def test_a_second_pass_stands_beside_the_first_and_touches_nothing_else(desk, again, echo):
    before = desk.play(play, play, play)
    scores, seen = desk.store.scores(), []
    found = again(echo(yes), on_scored=seen.append)
    assert found == [[Score("judged", 1.0, 2, "share", "judge")]] * 3
    assert len(seen) == 3
    assert desk.store.episodes() == before
    assert desk.store.scores() == scores
    assert desk.store.scores("second") == dict(enumerate(found))
    assert [len(desk.store.events(row, "second")) for row in range(3)] == [2, 2, 2]
    desk.replay(play, play, play)


@pytest.mark.parametrize("concurrency", [1, 2, 64])
def test_what_is_scored_is_not_asked_again(desk, again, echo, concurrency):
    desk.play(*[play] * 5)
    judge = echo(yes)
    first = again(judge, concurrency=concurrency)
    assert again(judge, concurrency=concurrency) == first
    assert judge.asked == 10


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE scores SET value = 0.0 WHERE scoring = 'second'",
        "UPDATE scores SET detail = 'x' WHERE scoring = 'second'",
        "DELETE FROM events WHERE scoring = 'second'",
        "UPDATE events SET data = x'7b7d' WHERE scoring = 'second'",
    ],
)
def test_a_pass_whose_scores_its_events_do_not_give_is_named(desk, again, echo, tampering):
    desk.play(play)
    again(echo(yes))
    with contextlib.closing(sqlite3.connect(desk.store.path)) as connection, connection:
        assert connection.execute(tampering).rowcount > 0
    with pytest.raises(ExceptionGroup) as found:
        again(echo(yes))
    assert all(isinstance(error, RecordError) for error in found.value.exceptions)


@pytest.mark.parametrize("answered", range(6))
def test_a_pass_that_is_cut_short_goes_on_where_it_was(desk, again, echo, answered):
    desk.play(play, play, play)

    class Cut(echo):
        async def complete(self, request):
            if self.asked == answered:  # whoever scores is cancelled: the way that Ctrl-C takes
                asyncio.current_task().cancel()
            return await super().complete(request)

    with contextlib.suppress(asyncio.CancelledError):
        again(Cut(yes), concurrency=1)
    judge = echo(yes)
    found = again(judge, concurrency=1)
    assert judge.asked == 6 - answered
    assert [scores[0].value for scores in found] == [1.0, 1.0, 1.0]


def test_passes_of_other_names_do_not_know_of_one_another(desk, again, echo):
    desk.play(play)
    assert again(echo(yes), name="one")[0][0].value == 1.0
    assert again(echo(), name="two")[0][0].value == 0.0
    assert desk.store.scores("one")[0][0].value == 1.0


def test_a_pass_that_asks_something_else_than_what_it_had_asked_is_named(desk, again, echo, ask):
    desk.play(play, play)

    class Half(Asking):
        async def score(self, record, ctx):
            await super().score(record, ctx)
            raise UsageError("cut off")

    with pytest.raises(ExceptionGroup):
        again(echo(yes), scorer=Half(ask), concurrency=1)
    with pytest.raises(ExceptionGroup) as raised:
        again(echo(yes), scorer=Asking(lambda text: ask(text + "!")), concurrency=1)
    assert isinstance(raised.value.exceptions[0], Divergence)


@pytest.mark.parametrize("name", ["", "default"])
def test_the_names_of_the_record_itself_are_not_free(desk, again, echo, name):
    desk.play(play)
    with pytest.raises(UsageError, match="cannot be called"):
        again(echo(yes), name=name)


def test_only_what_has_ended_is_scored(desk, again, echo):
    desk.create(1)
    with pytest.raises(UsageError, match="has not ended"):
        again(echo(yes))


def test_secrets_are_masked_in_what_a_judge_says(desk, again, echo):
    desk.play(play)
    again(echo(lambda request: "the key is hunter2"), mend=lambda data: data.replace(b"hunter2", b"<secret>"))
    assert b"hunter2" not in desk.everything_on_disk()
