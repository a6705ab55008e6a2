"""Asking: what the waiting episodes of a run ask people, and how their answers get into it."""

from pathlib import Path

from worldloom.core.errors import UsageError, offer
from worldloom.runs.questions import Question, put_answer, questions
from worldloom.runs.store import RunStore


def open_questions(folder: Path) -> list[Question]:
    """The questions for which episodes of a run wait, answered meanwhile or not.

    Raises:
        UsageError: there is no such run.
    """
    with RunStore(folder) as store:
        return questions(store)


def answer(folder: Path, text: str, *, episode: int | None = None, at: str | None = None) -> Question:
    """Answer a question; `resume` then goes on with its episode.

    Args:
        episode, at: which question, as `open_questions` tells; they may be left out if only one can be meant.

    Returns:
        The question that was answered.

    Raises:
        UsageError: no question is open, none or several are meant, or the answer is none of the choices.
        RecordError: the answer cannot be written.
    """
    with RunStore(folder) as store:
        asked = questions(store)
        if not asked:
            raise UsageError(f"no episode of {folder} waits for an answer")
        meant = [one for one in asked if episode in (None, one.episode) and at in (None, one.at)]
        if not meant:
            where = (
                f"episode {episode}"
                if at is None
                else at
                if episode is None
                else f"episode {episode} at {at}"
            )
            choices = [f"episode {one.episode} at {one.at}" for one in asked]
            raise UsageError(f"nothing is asked by {where}{offer(where, choices)}")
        unanswered = [one for one in meant if one.answer is None] or meant
        if len(unanswered) > 1:
            places = "\n".join(f"  --episode {one.episode} --at {one.at}" for one in unanswered)
            raise UsageError(f"{len(unanswered)} questions are open; say which is answered:\n{places}")
        put_answer(store, unanswered[0], text)
        return unanswered[0]
