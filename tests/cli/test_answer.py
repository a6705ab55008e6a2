"""`answer`: a run that asks people is answered in other processes than the one that played it."""

import json

import pytest

from worldloom.runs.questions import Question

ROOM = """\
role: agent
name: polite
summary: Asks before it acts.
factory: .polite:build
"""
CODE = """\
from worldloom.agents.agent import Decision
from worldloom.core.action import Action


class Polite:
    async def act(self, memo, view, ctx):
        if memo:
            return Decision(None, True)
        leave = await ctx.ask(f"May I do it? {view.task}", choices=("yes", "no"))
        spec = view.actions[0]
        return Decision(Action(spec.name, {}) if leave == "yes" else None, True)


def build(config):
    return Polite()
"""


@pytest.fixture
def waiting(here, command):
    """A run in which every episode asks."""
    (here / "polite").mkdir()
    (here / "polite" / "room.yaml").write_text(ROOM, "utf-8")
    (here / "polite" / "polite.py").write_text(CODE, "utf-8")
    (here / "worldloom.yaml").write_text("rooms: [polite]\n", "utf-8")
    played = command("run", "--suite", "starter", "--agent", "polite", "--json")
    assert played.exit_code == 1, "it has not come to its end"
    return json.loads(played.stdout)


def test_of_a_question_of_any_length_the_beginning_is_shown_and_json_has_all(
    waiting, command, here, monkeypatch
):
    long = Question(0, "s", "1", "why? " * 600_000, ("yes" * 1000, "no"), "y" * 10_000)
    monkeypatch.setattr("worldloom.cli.asking.open_questions", lambda folder: [long])
    shown = command("answer", "last").stdout
    assert len(shown) < 20_000
    assert "why? why?" in shown
    assert "(3,000,000" in shown
    assert "All of it: worldloom answer runs/" in shown
    assert json.loads(command("answer", "last", "--json").stdout)[0]["question"] == long.question


def test_a_run_that_waits_says_so_lists_what_it_asks_and_goes_on_with_answers(waiting, command):
    assert waiting["status"] == "waiting"
    asked = json.loads(command("answer", "last", "--json").stdout)
    assert len(asked) == 4
    assert all(one["choices"] == ["yes", "no"] and one["answer"] is None for one in asked)
    shown = command("answer", "last").stdout
    assert "May I do it?" in shown
    first = asked[0]
    assert "Answer: worldloom answer runs/" in shown
    assert "Answer: worldloom answer runs/" in command("runs", "show", "last").stdout
    wrong = command("answer", "last", "maybe", "--episode", str(first["episode"]))
    assert wrong.exit_code == 2
    assert "allowed: yes, no" in wrong.stderr
    early = command("fork", "last", "--episode", first["episode"], "--at", first["at"], "--answer", "yes")
    assert (early.exit_code, "`worldloom answer` does that" in early.stderr) == (2, True)
    many = command("answer", "last", "yes")
    assert many.exit_code == 2
    assert "4 questions are open; say which is answered" in many.stderr
    assert command("resume", "last").exit_code == 1
    done = command("answer", "last", "yes", "--episode", str(first["episode"]), "--at", first["at"])
    assert done.exit_code == 0
    assert "Go on: worldloom resume" in done.stdout
    resumed = json.loads(command("resume", "last", "--json").stdout)
    ended = [row for row in resumed["episodes"] if row["cast_name"] == "polite" and row["status"] == "ended"]
    assert [(row["row"], row["steps"]) for row in ended] == [(first["episode"], 1)]
    for one in asked[1:]:
        command("answer", "last", "no", "--episode", str(one["episode"]))
    assert command("resume", "last").exit_code == 0
    assert command("replay", "last").exit_code == 0
    at = ("--episode", str(first["episode"]), "--at", first["at"])
    maybe = command("fork", "last", *at, "--answer", "maybe")
    assert maybe.exit_code == 2
    assert "allowed: yes, no" in maybe.stderr
    forked = command("fork", "last", *at, "--answer", "no", "--json")
    assert forked.exit_code == 0, forked.stderr
    (row,) = json.loads(forked.stdout)["episodes"]
    assert (row["reason"], row["steps"]) == ("completed", 0), "a person who says no"
    nothing = command("answer", "last", "yes")
    assert nothing.exit_code == 2
    assert "waits for an answer" in nothing.stderr
