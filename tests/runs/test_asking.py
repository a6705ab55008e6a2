"""A person is asked: the episode waits, costs nothing meanwhile, and goes on with the answer, in whatever process."""

import asyncio
import contextlib
import json
import sqlite3

import pytest
from langgraph.graph import START, StateGraph

from worldloom.core.errors import Ended, UsageError
from worldloom.graphs.node import HouseState, house_node
from worldloom.runs.context import Context
from worldloom.runs.questions import put_answer, questions, unheard


def answer(desk, *texts):
    """Answer the open questions in their order; None leaves one open."""
    with contextlib.closing(desk.store):
        for question, text in zip(questions(desk.store), texts, strict=True):
            if text is not None:
                put_answer(desk.store, question, text)


def asked(desk):
    with contextlib.closing(desk.store):
        return [(one.episode, one.question, one.answer) for one in questions(desk.store)]


def approval(ask):
    """Talks, asks for leave, talks on."""

    async def play(ctx):
        await ctx.model("agent", ask("before"))
        said = await ctx.ask("May I?", choices=("yes", "no"))
        reply = await ctx.model("agent", ask(f"after {said}"))
        ctx.emit("done.1", {"text": reply.text})

    return play


def test_an_episode_waits_and_goes_on_with_the_answer_as_if_it_had_never_waited(desk, new_desk, echo, ask):
    model = echo()
    (row,) = desk.play(approval(ask), models={"agent": model})
    assert (row.status, row.reason, row.fault, model.asked) == ("waiting", "waiting", "person", 1)
    assert asked(desk) == [(0, "May I?", None)]
    with contextlib.closing(desk.store):
        assert desk.store.scores() == {}, "nothing is scored that has not ended"
    desk.replay(approval(ask), models={"agent": model})
    answer(desk, "yes")
    (row,) = desk.play(approval(ask), models={"agent": model})
    assert (row.status, row.reason, model.asked) == ("ended", "finished", 2)
    assert desk.events()[-2] == ("done.1", {"text": "after yes"})
    assert asked(desk) == []
    desk.replay(approval(ask), models={"agent": model})
    (here,) = new_desk("there").play(approval(ask), models={"agent": echo()})
    there = new_desk("there")
    answer(there, "yes")
    (again,) = there.play(approval(ask), models={"agent": echo()})
    assert again.fingerprint == row.fingerprint != here.fingerprint


def board(ask, width=4):
    """Asks several people at once, each about an item of theirs; afterwards one more thing is said."""

    async def child(ctx, item):
        said = await ctx.ask(f"Item {item}?")
        reply = await ctx.model("agent", ask(f"{item} is {said}"))
        return reply.text

    async def play(ctx):
        settled = await ctx.settle(child, range(width))
        told = [one.value if one.error is None else "nobody answered" for one in settled]
        await ctx.model("agent", ask(" and ".join(told)))

    return play


def test_parallel_answers_reach_those_who_asked_in_whatever_order_they_come(desk, echo, ask):
    model = echo()
    desk.play(board(ask), models={"agent": model})
    assert model.asked == 0, (
        "nothing goes on above the children, although the program swallows what ended them"
    )
    answer(desk, None, None, "green", "blue")
    desk.play(board(ask), models={"agent": model})
    assert model.asked == 2
    assert [question for _, question, _ in asked(desk)] == ["Item 0?", "Item 1?"]
    answer(desk, "red", None)
    (row,) = desk.play(board(ask), models={"agent": model})
    assert row.status == "waiting"
    answer(desk, "white")
    (row,) = desk.play(board(ask), models={"agent": model})
    assert row.status == "ended"
    assert model.asked == 5, "nothing was asked twice"
    last = [body["answer"]["text"] for type, body in desk.events() if type == "model.1"][-1]
    assert last == "0 is red and 1 is white and 2 is green and 3 is blue"
    desk.replay(board(ask), models={"agent": model})


def test_siblings_run_to_their_end_and_no_later_superstep_begins(desk, echo, ask):
    async def asking(state, ctx):
        await ctx.ask("Well?")
        return {}

    async def talking(state, ctx):
        await ctx.model("agent", ask("beside"))
        return {}

    async def later(state, ctx):
        await ctx.model("agent", ask("after"))
        return {}

    graph = StateGraph(HouseState)
    for name, node in (("asking", asking), ("talking", talking), ("later", later)):
        graph.add_node(name, house_node(node))
    graph.add_edge(START, "asking")
    graph.add_edge(START, "talking")
    graph.add_edge(["asking", "talking"], "later")  # and does not look at `ended`
    compiled = graph.compile()

    async def play(ctx):
        await ctx.subgraph("drawn", compiled, {})

    model = echo()
    (row,) = desk.play(play, models={"agent": model})
    assert (row.status, model.asked) == ("waiting", 1)
    answer(desk, "well")
    (row,) = desk.play(play, models={"agent": model})
    assert (row.status, model.asked) == ("ended", 2)
    desk.replay(play, models={"agent": model})


def test_an_answer_to_a_question_that_has_changed_is_not_used(desk):
    async def one(ctx):
        await ctx.ask("Old?")

    async def other(ctx):
        ctx.emit("new.1", {})
        await ctx.ask("New?")

    desk.play(one)
    answer(desk, "yes")
    with contextlib.closing(sqlite3.connect(desk.store.path)) as connection, connection:
        connection.execute("DELETE FROM events")
        connection.execute("UPDATE answers SET key = ?", (b"\0\0\0\2",))
    (row,) = desk.play(other)
    assert row.status == "waiting"
    assert [question for _, question, _ in asked(desk)] == ["New?"]


def test_only_a_choice_is_an_answer_and_it_may_be_changed_until_it_is_heard(desk, ask, echo):
    desk.play(approval(ask), models={"agent": echo()})
    with pytest.raises(
        UsageError, match=r"'yse' is no answer to 'May I\?', did you mean 'yes'\?\n  allowed: yes, no"
    ):
        answer(desk, "yse")
    answer(desk, "no")
    answer(desk, "yes")
    desk.play(approval(ask), models={"agent": echo()})
    assert ("done.1", {"text": "after yes"}) in desk.events()


def test_only_an_answer_wakes_an_episode(desk, ask, echo):
    (row,) = desk.play(approval(ask), models={"agent": echo()})
    with contextlib.closing(desk.store):
        assert not unheard(desk.store, row)
    answer(desk, "no")
    with contextlib.closing(desk.store):
        assert unheard(desk.store, row)


def test_an_episode_that_waits_and_was_stopped_elsewhere_goes_on_without_an_answer(desk, echo, ask):
    def stopping(request):
        desk.executor.stop("cancelled")
        return "stopped"

    async def child(ctx, item):
        await (ctx.ask("Well?") if item == 0 else ctx.model("agent", ask("x")))
        await ctx.model("agent", ask("y"))

    async def play(ctx):
        await ctx.map(child, range(2))

    (row,) = desk.play(play, models={"agent": echo(stopping)})
    assert row.status == "cancelled"
    (row,) = desk.play(play, models={"agent": echo()})
    assert row.status == "waiting"


def test_an_ordinary_graph_asks_whoever_is_given_or_ends():
    async def person(question, choices):
        return json.dumps([question, list(choices)])

    def ask(ctx, question, **more):
        return asyncio.run(ctx.ask(question, **more))

    assert ask(Context.null(person=person), "Q") == '["Q", []]'
    with pytest.raises(Ended, match="waiting"):
        ask(Context.null(), "Q")
    with pytest.raises(Ended, match="UsageError"):
        ask(Context.null(person=person), "Q", choices=("a", "b"))


def test_an_answer_to_another_question_is_not_shown_and_wakes_nobody(desk):
    async def one(ctx):
        await ctx.ask("Old?")

    async def other(ctx):
        await ctx.ask("New?")

    desk.play(one)
    answer(desk, "yes")
    desk.play(other, making=1)
    assert asked(desk) == [(0, "New?", None)]
    with contextlib.closing(desk.store):
        (row,) = desk.store.episodes()
        assert not unheard(desk.store, row)


def test_what_comes_after_an_open_question_is_not_asked_yet(desk):
    async def play(ctx):
        for question in ("First?", "Second?"):
            with contextlib.suppress(Ended):
                await ctx.ask(question)

    desk.play(play)
    assert asked(desk) == [(0, "First?", None)]
    answer(desk, "yes")
    desk.play(play)
    assert asked(desk) == [(0, "Second?", None)]


def test_an_answer_that_comes_too_late_is_refused_and_not_kept(desk, ask, echo):
    desk.play(approval(ask), models={"agent": echo()})
    with contextlib.closing(desk.store):
        (question,) = questions(desk.store)
    answer(desk, "no")
    desk.play(approval(ask), models={"agent": echo()})
    with (
        contextlib.closing(desk.store),
        pytest.raises(UsageError, match=r"episode 0 does not wait for an answer at \S+ any more"),
    ):
        put_answer(desk.store, question, "yes")
    with contextlib.closing(desk.store):
        assert [said for _, said in desk.store.answers(0).values()] == ["no"]


class Asking:
    """A scorer that asks a person."""

    async def score(self, record, ctx):
        await ctx.ask("Was it good?")


def test_a_scorer_that_asks_a_person_has_no_scores_and_says_why(desk, new_desk):
    async def play(ctx):
        ctx.emit("done.1", {})

    (row,) = desk.play(play, scorer=Asking())
    assert (row.status, row.reason) == ("ended", "finished")
    assert "a scorer cannot ask a person" in row.detail
    desk.replay(play, scorer=Asking())
