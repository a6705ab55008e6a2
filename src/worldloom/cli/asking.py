"""Asking: `answer`: what a run asks people, and their answers."""

from dataclasses import asdict
from pathlib import Path

from worldloom.api.asking import answer as give
from worldloom.api.asking import open_questions
from worldloom.cli.locating import find_run
from worldloom.cli.terminal import cell, command, near, put_json, say, shortened, stdout, table

_LONGEST = 400  # characters of a question, its choices or an answer that are shown; --json has all


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
        asks = shortened(one.question, _LONGEST)
        if one.choices:
            asks += f" ({shortened(', '.join(one.choices), _LONGEST)})"
        given = one.answer and shortened(one.answer, _LONGEST)
        made.add_row(*(cell(each) for each in (one.episode, one.scenario, one.at, asks, given)))
    screen.print(made)
    if any(
        len(text) > _LONGEST
        for one in asked
        for text in (one.question, ", ".join(one.choices), one.answer or "")
    ):
        say(screen, f"All of it: {command('answer', near(folder), '--json')}", wrap=False)
    unanswered = [one for one in asked if one.answer is None]
    if unanswered:
        first = unanswered[0]
        place_of = ("--episode", str(first.episode), "--at", first.at)
        say(screen, f"Answer: {command('answer', near(folder), 'TEXT', *place_of)}", wrap=False)
    if len(unanswered) < len(asked):
        say(screen, f"Go on: {command('resume', near(folder))}", wrap=False)
