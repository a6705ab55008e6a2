"""Asking: `answer`: what a run asks people, and their answers."""

from dataclasses import asdict
from pathlib import Path

from worldloom.api.asking import answer as give
from worldloom.api.asking import open_questions
from worldloom.cli.locating import find_run
from worldloom.cli.terminal import cell, command, near, put_json, say, stdout, table


def answer(
    name: str, text: str | None, *, episode: int | None, at: str | None, place: Path | None, as_json: bool
) -> None:
    """Answer a question of a run, or list those that are open.

    Raises:
        WorldloomError: there is no such run or question, or the answer is none of its choices.
    """
    folder, screen = find_run(name, place), stdout()
    if text is not None:
        give(folder, text, episode=episode, at=at)
    asked = open_questions(folder)
    if as_json:
        put_json([asdict(one) for one in asked])
        return
    if not asked:
        say(screen, f"No episode of {near(folder)} waits for an answer.", wrap=False)
        return
    made = table("episode", "scenario", "key", "question", "answer", right=("episode",))
    for one in asked:
        choices = f" ({', '.join(one.choices)})" if one.choices else ""
        made.add_row(
            *(cell(each) for each in (one.episode, one.scenario, one.at, one.question + choices, one.answer))
        )
    screen.print(made)
    unanswered = [one for one in asked if one.answer is None]
    if unanswered:
        first = unanswered[0]
        place_of = ("--episode", str(first.episode), "--at", first.at)
        say(screen, f"Answer: {command('answer', near(folder), 'TEXT', *place_of)}", wrap=False)
    if len(unanswered) < len(asked):
        say(screen, f"Go on: {command('resume', near(folder))}", wrap=False)
